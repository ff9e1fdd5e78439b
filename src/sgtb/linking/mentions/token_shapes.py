"""Token shapes: what single tokens look like, as bits, for the search of names."""

import re
import unicodedata

from sgtb.native import token_shape_bits as w
from sgtb.text.normalization import STOP_WORDS, has_digit

_OTHER_LANGUAGES = frozenset(
    # German
    "aber alle allem allen aller als also am an auch auf aus bei beim bin bis da damals damit "
    "dann das dass dazu dem den denn der des dich die dies diese diesem diesen dieser dieses "
    "doch dort du durch ein eine einem einen einer eines er es euch für gegen gestern hat hatte "
    "heute hier ich ihm ihn ihnen ihr ihre im in ins ist ja jede jeder jetzt kein keine man mehr "
    "mein meine mich mir mit nach nachdem nicht noch nun nur ob oder ohne schon sehr seit sich "
    "sie sind so sogar um und uns unter viele vom von vor wann war waren warum was weil wenn wer "
    "wie wir wird wo wurde wurden zu zum zur zwei zwischen über "
    # Spanish and Portuguese
    "al algunos ante antes aquel aquella aquí así aunque ayer cada como con contra cual cuando "
    "cuándo dicen donde dos durante el ella ellas ellos en entre era esa ese eso esta este esto "
    "está foi fue fueron gracias había hace hasta hay hoy la las le les lo los mañana mi "
    "mientras muchos muy más nada nas ni no nos nosotros nunca não o os otra otro para pela pelo "
    "pero poco por porque pues que quien qué se según ser si sido sin sobre solo son su sus são "
    "sí también tanto te tiene todo todos tras tu uma un una unos y ya yo é "
    # French and Italian
    "ainsi anche après au aujourd'hui aussi autour aux avant avec ce ces cet cette che chez chi "
    "comme dal dalla dans degli dei delle depuis deux donc dopo elle elles est et eux gli ha "
    "hanno ieri il ils je lors mais même ne nel nella nous oggi ogni on ou où par pas pendant "
    "perché più pour puis quand quando quel questa questo qui sa sans selon ses sono sont sotto "
    "sous sulla sur tous tra très une vers vous "
    # Russian
    "а без более бы был была были было быть в во вы где для до его ее если есть еще её ещё же за "
    "здесь и из или им их к как когда который ко ли между меня мне мой мы на над наш не него нее "
    "нет но ну о об однако он она они оно от перед по под после потому почему при про с сам со "
    "так также там то только тут ты у уже хотя чем что чтобы эта эти это этот я".split()
)
"""Function words of other languages, which begin sentences; particles of names are not listed."""
_ENGLISH = frozenset(
    "about above after again against all almost along already also although always am among "
    "another any anyone anything are around away back because before behind being below between "
    "both can could did do does down during each either else even ever every everyone everything "
    "few first finally further here hence him how however if indeed inside instead into just "
    "last later least less like many maybe me meanwhile might mine more moreover most much must "
    "my near neither never next no nobody none nor nothing now off often once one only other "
    "others our ours out outside over own perhaps rather same second several shall should since "
    "so some someone something sometimes soon still such than them then there these those though "
    "three through throughout thus today together tomorrow too towards two under unless until up "
    "upon us very we well what whatever when whenever where whether while whom whose why within "
    "without would yes yesterday yet you your yours n't 're 'll 've 'd 'm".split()
)
_COMMON = STOP_WORDS | _ENGLISH | _OTHER_LANGUAGES
_ORDINARY = frozenset(
    "actually additionally admittedly afterwards allegedly apparently basically besides certainly "
    "clearly consequently conversely currently earlier elsewhere especially eventually evidently "
    "formerly fortunately frankly generally historically honestly hopefully importantly initially "
    "interestingly ironically likewise locally luckily mainly mostly naturally nonetheless "
    "nevertheless nowadays obviously occasionally officially originally otherwise overall "
    "presumably previously probably recently regardless reportedly sadly seemingly similarly "
    "simply strangely subsequently suddenly supposedly surely surprisingly therefore thankfully "
    "thrice tonight traditionally twice typically ultimately understandably unfortunately usually "
    "chapter christmas dear easter ex figure former good happy late madam morning page please "
    "section table thank thanks volume zero one two three four five six seven eight nine ten "
    # German
    "außerdem das dem der deshalb die ein eine endlich gestern heute im inzwischen leider morgen "
    "natürlich plötzlich später trotzdem vielleicht zuerst zum zur "
    # Spanish and Portuguese
    "además ahora amanhã ayer después entonces finalmente hoje hoy luego ontem quizás un una "
    # French and Italian
    "adesso alors bientôt demain domani enfin ensuite hier infine maintenant malheureusement poi "
    "purtroppo une "
    # Russian
    "вчера завтра сегодня теперь сейчас потом наконец".split()
)
_DATE = frozenset(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday".split()
)
_PARTICLE = frozenset(
    "af al ap av bin da dal de del della der den di dos du el ibn la le ten ter van von zu".split()
)
_LINK = _PARTICLE | frozenset(
    "a am an and as at by dans das des do e en et for from in into les los n no of on or sur the "
    "to und upon vs with y".split()
)
_LEAD = frozenset(
    "the a an and are as at but by did does during for from had has if in into inside is like near "
    "of on or outside since so than that this to under until was were when where while with "
    "without after against among before between".split()
)
_SUFFIX = frozenset(
    "ab ag bv co corp corporation gmbh inc incorporated jr kg limited llc llp ltd nv oy plc sa se "
    "spa sr".split()
)
_SHORT = _SUFFIX | frozenset(
    "bros capt col dr ft gen gov hon jr lt maj mr mrs ms mt prof rep rev sen sgt sr st".split()
)
_HEAD = frozenset(
    "academy archdiocese association bank bay bishop board bureau chamber church city college "
    "commonwealth confederation council county court department diocese duchy faculty federation "
    "gulf house institute isle kingdom league ministry museum office organisation organization "
    "province republic school society state university".split()
)
_ROLE = frozenset(
    "actor actress ambassador analyst archbishop archduke attorney capt captain chairman "
    "chairwoman champion chancellor coach colonel commissioner congressman congresswoman consul "
    "corporal defender director dr emperor empress forward goalkeeper gov governor keeper leader "
    "lt manager mayor midfielder minister miss mr mrs ms officer patriarch premier president prof "
    "professor representative secretary sen senator sergeant sgt sheikh singer sir skipper "
    "spokesman spokeswoman striker sultan treasurer tsar winger writer "
    # German, Spanish and Portuguese, French and Italian
    "bundeskanzler bundeskanzlerin frau herr herrn kanzler kanzlerin ministerin präsident "
    "präsidentin ministra ministro presidenta presidente senhor senhora señor señora madame "
    "mademoiselle ministre monsieur présidente président signor signora".split()
)
_MODIFIER = frozenset(
    "assistant chief deputy executive farm finance foreign interior prime trade treasury "
    "vice".split()
)
_TITLE = frozenset(
    "ambassador archbishop archduke assistant attorney bishop captain cardinal chairman chancellor "
    "chief coach colonel commissioner congressman consul corporal deputy director dr emperor "
    "empress executive farm finance foreign general governor interior justice king lord major "
    "marshal mayor minister mr mrs ms officer patriarch pope premier president prime prince "
    "princess prof professor queen rabbi representative secretary senator sergeant sheikh sir "
    "spokesman sultan trade treasury tsar vice".split()
)
_SIGNS: dict[str, int] = {
    **dict.fromkeys("'’-–‐‑:!·־", w.INNER),
    ".": w.INNER | w.PERIOD,
    ",": w.INNER | w.COMMA,
    "&": w.FREE | w.AND,
    **dict.fromkeys(("/", "'s", "’s", "'S", "’S"), w.FREE),
    **dict.fromkeys("“„«‘", w.QUOTE),
    '"': w.QUOTE | w.CLOSER,
    **dict.fromkeys("”»", w.CLOSER),
}
_LISTS = (
    (w.COMMON, _COMMON),
    (w.DATE, _DATE),
    (w.THE, frozenset(("the",))),
    (w.LEAD, _LEAD),
    (w.TITLE, _TITLE),
    (w.ORDINARY, _ORDINARY),
    (w.SHORT, _SHORT),
    (w.HEAD, _HEAD),
    (w.ROLE, _ROLE),
    (w.MODIFIER, _MODIFIER),
)
_LISTED: dict[str, int] = {}  # the bits of listed words
for _bit, _words in _LISTS:
    for _word in _words:
        _LISTED[_word] = _LISTED.get(_word, 0) | _bit
_SMALL_LISTS = ((w.LINK, _LINK), (w.PARTICLE, _PARTICLE), (w.OF, frozenset(("of",))))
_CONTRACTION = re.compile(
    r"(?:he|here|i|it|let|she|that|there|they|we|what|who|you)['’](?:d|ll|m|re|s|ve)|[a-z]+n['’]t"
)
_ADJECTIVE = re.compile(r"[-–](?:backed|based|born|bound|controlled|held|led|owned|run|style)$")


def shape_of(text: str) -> int:
    """Return the bits of a token."""
    if text in _SIGNS:
        return _SIGNS[text]
    if not (text.isalnum() or any(c.isalnum() for c in text)):
        return _sign(text)
    lower = text.lower()
    shape: int = w.WORD | _LISTED.get(lower, 0)
    if text[0].isupper() or text[0].istitle():
        shape |= w.CAPITAL if len(text) > 1 else w.CAPITAL | w.SHORT
    if _ADJECTIVE.search(text):
        shape |= w.ORDINARY
    if _CONTRACTION.fullmatch(lower):
        shape |= w.COMMON
    if lower in _SUFFIX and (shape & w.CAPITAL or text in ("gmbh", "plc")):
        shape |= w.SUFFIX
    if text.isupper() and sum(c.isalpha() for c in text) > 1:
        shape |= w.UPPER
    if not _is_small(text) or has_digit(text):
        shape |= w.NAME
        return shape
    shape |= w.SMALL | sum(bit for bit, words in _SMALL_LISTS if text in words)
    return shape if shape & (w.COMMON | w.LINK) else shape | w.PLAIN


def _is_small(text: str) -> bool:
    # Georgian letters have capitals that nobody begins a name with: not small, but without case.
    return text.islower() and any(c.title() != c for c in text)


def _sign(text: str) -> int:
    if all(c in "\u200c\u200d" or unicodedata.category(c)[0] == "M" for c in text):
        return int(w.MARK)
    return int(w.INNER) if all(unicodedata.category(c) == "Cf" for c in text) else 0
