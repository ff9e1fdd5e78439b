"""Language editions of Wikipedia: codes, namespaces, redirect keywords, disambiguation templates.

The tables have what a dump does not contain. Editions that are missing from a table still work,
because MediaWiki accepts the English words in every edition.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

LANGUAGES = frozenset(
    """
    aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az
    azb ba ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br
    bs btm bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de
    dga din diq dsb dtp dty dv dz ee egl el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon
    fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak
    haw he hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam
    jbo jv ka kaa kab kaj kbd kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv
    kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg
    mh mhr mi min mk ml mn mni mnw mo mos mr mrj ms mt mus mwl my myv mzn na nah nan nap nds
    nds-nl ne new ng nia nl nn no nb nov nqo nr nrm nso nup nv ny oc olo om or os pa pag pam pap
    pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue
    rup rw sa sah sat sc scn sco sd se sg sgs sh shi shn si simple sk skr sl sm smn sn so sq sr
    srn ss st stq su sv sw syl szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to tpi tr
    trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu xal xh xmf yi
    yo yue za zea zgh zh zh-classical zh-cn zh-min-nan zh-tw zh-yue zu
    """.split()
)
"""Language codes, as used in interlanguage links."""

SISTERS = frozenset(
    """
    b betawiki bugzilla c commons d doi dpd foundation gerrit incubator m mail meta
    metawikimedia metawikipedia mw mwod mwot n nost oeis otrs otrswiki outreach outreachwiki
    phab phabricator q s sep11 species strategy testwiki tools toollabs toolforge translatewiki
    v voy vrts w wikia wikibooks wikidata wikimania wikimedia wikinews wikiquote wikisource
    wikispecies wikiversity wikivoyage wiktionary wikt wmf
    """.split()
)
"""Prefixes of links to sister projects."""

NAMESPACES: Mapping[str, int] = {
    "media": -2,
    "special": -1,
    "talk": 1,
    "user": 2,
    "user talk": 3,
    "project": 4,
    "project talk": 5,
    "wikipedia": 4,
    "wikipedia talk": 5,
    "wp": 4,
    "wt": 5,
    "file": 6,
    "file talk": 7,
    "image": 6,
    "image talk": 7,
    "mediawiki": 8,
    "mediawiki talk": 9,
    "template": 10,
    "template talk": 11,
    "tm": 10,
    "help": 12,
    "help talk": 13,
    "category": 14,
    "category talk": 15,
}
"""English namespace names and their aliases, valid in every edition; lower case."""

ENGLISH_NAMESPACES: Mapping[str, int] = {
    "portal": 100,
    "portal talk": 101,
    "book": 108,
    "book talk": 109,
    "draft": 118,
    "draft talk": 119,
    "education program": 446,
    "education program talk": 447,
    "timedtext": 710,
    "timedtext talk": 711,
    "module": 828,
    "module talk": 829,
}
"""Further namespaces of the English Wikipedia, for dumps without site information."""

_FILE = """
af:Beeld ar:صورة az:Şəkil be:Выява bg:Картинка bn:চিত্র br:Skeudenn bs:Slika ca:Imatge cs:Soubor
cy:Delwedd da:Billede da:Fil de:Bild de:Datei el:Αρχείο el:Εικόνα eo:Dosiero es:Archivo
es:Imagen et:Pilt eu:Irudi eu:Fitxategi fa:پرونده fa:تصویر fi:Kuva fi:Tiedosto fr:Fichier
gl:Ficheiro gl:Imaxe he:קובץ he:תמונה hi:चित्र hr:Datoteka hr:Slika hu:Fájl hu:Kép hy:Պատկեր
id:Berkas id:Gambar is:Mynd it:Immagine ja:画像 ja:ファイル ka:სურათი ka:ფაილი kk:Сурет ko:그림
ko:파일 la:Fasciculus la:Imago lb:Bild lb:Fichier lt:Vaizdas lv:Attēls mk:Слика mk:Податотека
ml:ചിത്രം ml:പ്രമാണം mr:चित्र ms:Imej ms:Fail nds:Bild nl:Afbeelding nl:Bestand nn:Bilde nn:Fil
no:Bilde no:Fil oc:Imatge pl:Grafika pl:Plik pt:Imagem pt:Ficheiro pt:Arquivo ro:Imagine
ro:Fișier ro:Fişier ru:Изображение ru:Файл sh:Slika sh:Datoteka sk:Súbor sk:Obrázok sl:Slika
sq:Figura sq:Skeda sr:Слика sr:Датотека sr:Slika sr:Datoteka sv:Bild sv:Fil ta:படிமம் te:బొమ్మ
te:దస్త్రం th:ภาพ th:ไฟล์ tr:Resim tr:Dosya uk:Зображення uk:Файл ur:تصویر ur:ملف vi:Hình
vi:Tập_tin zh:文件 zh:图像 zh:圖像 zh:檔案 zh:档案
"""
_CATEGORY = """
pl:Kategoria sr:Kategorija uk:Категорія ro:Categorie vi:Thể_loại zh:分类 zh:分類 ru:К
be:Катэгорыя he:קטגוריה ar:تصنيف fa:رده ja:カテゴリ ko:분류
"""
_USER = """
de:Benutzerin de:Benutzer es:Usuaria es:Usuario fr:Utilisateur fr:Utilisatrice pl:Wikipedysta
pl:Wikipedystka pl:Użytkownik pt:Usuário pt:Usuária pt:Utilizador pt:Utilizadora ru:Участник
ru:Участница ru:У cs:Wikipedista cs:Wikipedistka cs:Uživatel cs:Uživatelka uk:Користувач
uk:Користувачка it:Utente
"""
_PROJECT = """
fr:Wikipédia pt:Wikipédia es:Wikipedia ru:Википедия ru:ВП uk:Вікіпедія uk:ВП ko:백과 he:ויקיפדיה
zh:维基百科 zh:維基百科 pl:Wikipedia cs:Wikipedie
"""


def _by_language(table: str, number: int) -> list[tuple[str, str, int]]:
    pairs = (entry.split(":", 1) for entry in table.split())
    return [(code, name.replace("_", " ").lower(), number) for code, name in pairs]


def namespace_aliases(language: str) -> dict[str, int]:
    """Return further names of namespaces in an edition, lower case: former and gendered ones."""
    return {name: number for code, name, number in _ALIASES if code == language}


_ALIASES = (
    *_by_language(_FILE, 6),
    *_by_language(_CATEGORY, 14),
    *_by_language(_USER, 2),
    *_by_language(_PROJECT, 4),
)

# Underscores stand for spaces here, as words are separated by space.
_REDIRECT = """
REDIRECT AANSTUUR WEITERLEITUNG تحويل YÖNLƏNDİR İSTİQAMƏTLƏNDİRMƏ ЙҮНӘЛТЕҮ ПЕРАНАКІРАВАННЕ
ПЕРАНАКІРАВАНЬНЕ ПРЕНАСОЧВАНЕ ВИЖ পুনর্নির্দেশ পুনর্নির্দেশনা ADKAS PREUSMJERI ڕەوانەکردن
PŘESMĚRUJ AIL-CYFEIRIO OMDIRIGERING OMDIRIGER ΑΝΑΚΑΤΕΥΘΥΝΣΗ ALIDIREKTU ALIDIREKTI REDIRECCIÓN
REDIRECCION REDIRECCIÓ SUUNA BIRZUZENDU BERBIDERATU تغییرمسیر تغییر_مسیر OHJAUS UUDELLEENOHJAUS
REDIRECTION REDIRÈCCION TROCHFERWIZING ATHSHEOLADH REDIRECIONAMENTO REDIRECIONAR הפניה
पुनर्प्रेषित अनुप्रेषित ÁTIRÁNYÍTÁS ՎԵՐԱՀՂՈՒՄ ALIH TILVÍSUN RINVIA RINVIO RIMANDO 転送
リダイレクト გადამისამართება АЙДАУ ಪುನರ್ನಿರ್ದೇಶನ 넘겨주기 ÖMLEIDE DOORVERWIEZING PERADRESAVIMAS
PĀRADRESĀCIJA ПРЕНАСОЧУВАЊЕ ВИДИ തിരിച്ചുവിടുക തിരിച്ചുവിടൽ पुनर्निर्देशन पुर्ननिर्देशन
पुनर्निर्देश LENCONG RINDIRIZZA بور WIEDERLEIDEN DEURVERWIEZING DOORVERWIJZING ਰੀਡਿਰੈਕਟ
PRZEKIERUJ PATRZ TAM PUSAPUNA REDIRECTEAZA REDIRECȚIONARE ПЕРЕНАПРАВЛЕНИЕ ПЕРЕНАПР पुनर्निदेशन
යළියොමුව PRESMERUJ PREUSMERITEV RIDREJTO ПРЕУСМЕРИ PREUSMERI STIR வழிமாற்று దారిమార్పు
เปลี่ยนทาง YÖNLENDİRME YÖNLENDİR ЮНӘЛТҮ YÜNÄLTÜ ПЕРЕНАПРАВЛЕННЯ رجوع_مکرر YOʻNALTIRISH
YO'NALTIRISH ĐỔI 重定向 重新導向 重新导向 ווייטערפירן ПЕРЕНАПРАВЛЕЊЕ OHJUABIN
"""
REDIRECT_WORDS = tuple(word.replace("_", " ") for word in _REDIRECT.split())
"""The redirect keyword in its local spellings, without the # before it."""

_KEYWORD = "|".join(re.escape(word).replace(r"\ ", "[ _]") for word in REDIRECT_WORDS)
_REDIRECT_LINE = re.compile(
    rf"\s*[#＃](?:{_KEYWORD})\s*:?\s*\[\[([^\[\]|\n]*)(?:\|[^\[\]\n]*)?\]\]", re.IGNORECASE
)


def redirect_target(text: str) -> str | None:
    """Return the redirect target in a page's text, as written; None: not a redirect."""
    match = _REDIRECT_LINE.match(text.removeprefix("\ufeff"))
    return match[1].strip() if match else None


_DISAMBIGUATION = """
aimai airport_disambiguation airportdis anlam_ayrım anlam_ayrımı apartigilo argipen aðgreining
begriffsklärung bio-dab biology_disambiguation bk bkl call_sign_disambiguation callsigndis
caselaw_disambiguation chinese_title_disambig chinese_title_disambiguation church_disambiguation
county_index dab dbig desamb desambig desambiguacion desambiguació desambiguación desambiguação
desambiguaçom dez dezambiguizare dis disam disamb disambig disambig-acronym
disambig-chinese-char-title disambig-class disambig-cleanup disambigdpc disambigg disambig-geo
disambign disambig-plants disambig_page disambigua disambiguasi disambiguate disambiguation
disambiguation_cleanup disambiguation_page disambiguation-cleanup discretiva dmbox dp dpintro
doorverwijspagina dubbelsinnig efternamn egyért egyértelműsítő_lap enzyme_index etternavn
first_name fish_index fleirtyding flertydig flertydig_titel förgrening förnamn geo-dis geodab
geodis given_name given_names given-name gren grenside hndab hndis hndis-cleanup homonymes
homonymie homónimos hospital_disambiguation human_name_disambiguation
human_name_disambiguation_cleanup kthjellim letter_disambiguation
letter-number_combination_disambiguation letter–number_combination_disambiguation
letter-numbercombdisambig letternumbercombdisambig lettercombdisambig lake_index location_index
mathdab mathematical_disambiguation mathematics_disambiguation mehrdüdig_begreep
military_unit_disambiguation mil-unit-dis mountain_index mountainindex music_disambiguation
namensklärung namnförgrening namnlista nozīmju_atdalīšana nuorodinis numberdis
number_disambiguation nyahkekaburan one_letter_disambig ortnamn paronymie patronyme patronymie
peker personnamn phonetics_disambiguation place_name_disambiguation plant_common_name
point_index político_desambiguación portal_disambiguation prénom razdvojba razločitev
river_index road_disambiguation road_index roadindex roaddis rozcestník rozlišovacia_stránka
school_disambiguation schooldis set_index set_index_article setindex ship_index shipindex sia
sigle soortenindex species_latin_name_abbreviation_disambiguation
species_latin_name_disambiguation split_dab sport_index sportindex station_disambiguation
storm_index strona_ujednoznaczniająca surname surnames tank_index
taxonomic_authority_disambiguation taxonomy_disambiguation template_disambiguation toponymie
trang_định_hướng township_disambiguation tropical_cyclone_set_index ujednoznacznienie
wp_disambig wikipedia_disambiguation višeznačna_odrednica višeznačnica čvor định_hướng täpsustus
täpsustuslehekülg täsmennys täsmennyssivu αποσαφήνιση бажаркә вишезначна_одредница
многозначность неадназначнасць неоднозначность неоднозначність однофамильцы однофамільці
пояснение појаснување список_однофамильцев тёзки тезоименитство фамилия айрық күп_мәгънәле
күп_мәғәнәлелек բազմիմաստություն მრავალმნიშვნელოვანი არაორაზროვნება פירושונים דף_פירושונים توضيح
ابهام‌زدایی ضد_ابہام बहुविकल्पी दुजेकरण দ্ব্যর্থতা_নিরসন แก้กำกวม വിവക്ഷകൾ അയോഗ്യത அயோக்கியம்
బహు_అర్ధాల అయోమయ_నివృత్తి 曖昧さ回避 人名の曖昧さ回避 地名の曖昧さ回避 同名の曖昧さ回避 消歧义
消歧義 消歧义页 消歧義頁 人名消歧义 人名消歧義 地名消歧义 地名消歧義 搞清楚 동음이의 동명이인
동음이의어
"""
DISAMBIGUATION_TEMPLATES = frozenset(
    name.replace("_", " ").casefold() for name in _DISAMBIGUATION.split()
)
"""Templates of disambiguation pages and lists of name bearers; case folded."""

_DISAMBIGUATION_ENDS = (" disambiguation", "disambig", " dab", " homonymes", "の曖昧さ回避")
_REFERRING = ("r ", "voir ", "redirect ", "nota ", "other ")
"""Prefixes of templates that only refer to disambiguation pages: redirect labels, hatnotes."""

_ENDINGS = """
disambiguation|Begriffsklärung|homonymie|desambiguación|disambigua|doorverwijspagina|
ujednoznacznienie|desambiguação|desambiguació|значения|неоднозначность|значення|olika betydelser|
förgrening|曖昧さ回避|消歧义|消歧義|消歧义页|消歧義頁|동음이의|rozcestník|rozlišovacia stránka|
egyértelműsítő lap|anlam ayrımı|توضيح|ابهام‌زدایی|פירושונים|peker|andre betydninger|fleirtyding|
flertydig|täsmennyssivu|apartigilo|razdvojba|вишезначна одредница|višeznačna odrednica|čvor|
razločitev|dezambiguizare|định hướng|disambiguasi|nyahkekaburan|αποσαφήνιση|nuorodinis|
nozīmju atdalīšana|täpsustus|пояснение|појаснување|бажаркә|argipen|homónimos|discretiva|
dubbelsinnig|aðgreining|kthjellim|բազմիմաստություն|მრავალმნიშვნელოვანი|बहुविकल्पी|
দ্ব্যর্থতা নিরসন|แก้ความกำกวม|неадназначнасць|айрық
"""
DISAMBIGUATION_ENDINGS = frozenset(
    ending.strip().casefold() for ending in _ENDINGS.replace("\n", "").split("|")
)
"""Qualifiers in parentheses at the end of titles of disambiguation pages; case folded."""

_TEMPLATE = re.compile(r"\{\{([^{}|\[\]<>]{1,100})")
_MAGIC_WORD = "__DISAMBIG__"


def is_disambiguation(title: str, text: str) -> bool:
    """Return whether a page is a disambiguation page, by its title and templates."""
    if title.endswith(")"):
        _, _, ending = title[:-1].rpartition("(")
        if ending.casefold() in DISAMBIGUATION_ENDINGS:
            return True
    text = without_sections(without_sections(text, "<!--", "-->"), "<nowiki>", "</nowiki>")
    if _MAGIC_WORD in text:
        return True
    return any(_marks_disambiguation(name) for name in _TEMPLATE.findall(text))


@lru_cache(maxsize=1 << 14)
def _marks_disambiguation(template: str) -> bool:
    name = " ".join(template.replace("_", " ").split()).casefold()
    name = name.removeprefix("template:").lstrip()
    if name in DISAMBIGUATION_TEMPLATES:
        return True
    return name.endswith(_DISAMBIGUATION_ENDS) and not name.startswith(_REFERRING)


def without_sections(text: str, opening: str, closing: str) -> str:
    """Return a text without everything between two marks; an unclosed mark is kept."""
    start = text.find(opening)
    if start < 0:
        return text
    kept = []
    end = 0
    while start >= 0:
        stop = text.find(closing, start + len(opening))
        if stop < 0:
            break
        kept.append(text[end:start])
        end = stop + len(closing)
        start = text.find(opening, end)
    kept.append(text[end:])
    return "".join(kept)
