// Name variants by the rules of name_variants.py, for names of Latin letters.
//
// That module describes the rules, has the words they use, and makes the variants of other names.
#include "name_variants.hpp"

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "check.hpp"

namespace sgtb {

namespace {

using Text = std::u16string;  // all plain characters fit, and short words need no allocation
using View = std::u16string_view;
using Words = std::vector<View>;

// ---- characters

// Whether the functions below know a character: those of ASCII, Latin letters that have one upper
// and one lower form, and a few marks.
bool is_plain(uint32_t c) {
    if (c < 0x80) return c >= 0x20 && c < 0x7F;
    if (c < 0x100) return c >= 0xC0 && c != 0xD7 && c != 0xDF && c != 0xF7 && c != 0xFF;
    if (c < 0x17F) return c != 0x130 && c != 0x131 && c != 0x138 && c != 0x149 && c != 0x178;
    return c == 0x2013 || c == 0x2014 || c == 0x2019;
}

bool is_digit(char16_t c) { return c >= '0' && c <= '9'; }

bool is_upper(char16_t c) {
    if (c < 0x80) return c >= 'A' && c <= 'Z';
    if (c < 0x100) return c < 0xDF;
    if (c >= 0x17F) return false;
    const bool odd = (c >= 0x139 && c <= 0x148) || c >= 0x179;
    return (c % 2 == 1) == odd;
}

bool is_letter(char16_t c) {
    if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return c < 0x17F;
}

bool is_word(char16_t c) { return is_letter(c) || is_digit(c) || c == '_'; }

char16_t lower(char16_t c) {
    return !is_upper(c) ? c : static_cast<char16_t>(c + (c < 0x100 ? 0x20 : 1));
}

char16_t upper(char16_t c) {
    if (!is_letter(c) || is_upper(c)) return c;
    return static_cast<char16_t>(c - (c < 0x100 ? 0x20 : 1));
}

template <char16_t (*change)(char16_t)>
Text changed(View text) {
    Text out(text);
    for (char16_t& c : out) c = change(c);
    return out;
}

Text lower(View text) { return changed<lower>(text); }
Text upper(View text) { return changed<upper>(text); }

// As str.isupper: there is a letter, and all are capitals.
bool all_upper(View text) {
    bool some = false;
    for (const char16_t c : text) {
        if (is_letter(c) && !is_upper(c)) return false;
        some |= is_upper(c);
    }
    return some;
}

bool all_letters(View text) {
    for (const char16_t c : text)
        if (!is_letter(c)) return false;
    return !text.empty();
}

bool has(View text, char16_t c) { return text.find(c) != text.npos; }

View stripped(View text, View marks) {
    const std::size_t begin = text.find_first_not_of(marks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(marks) + 1 - begin);
}

Text bare(View word) { return lower(stripped(word, u".,")); }

Words split(View text) {
    Words words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = text.find_first_not_of(u' ', at);
        if (begin == text.npos) break;
        at = std::min(text.find(u' ', begin), text.size());
        words.push_back(text.substr(begin, at - begin));
    }
    return words;
}

Text joined(const Words& words, std::size_t begin, std::size_t end) {
    Text out;
    for (std::size_t i = begin; i < end; ++i) {
        if (i > begin) out += u' ';
        out += words[i];
    }
    return out;
}

Text joined(std::initializer_list<View> words) { return joined(Words(words), 0, words.size()); }

Text replaced(View text, View part, View other) {
    Text out;
    for (std::size_t at = 0;;) {
        const std::size_t found = text.find(part, at);
        out += text.substr(at, std::min(found, text.size()) - at);
        if (found == text.npos) return out;
        out += other;
        at = found + part.size();
    }
}

// Decode UTF-8; false: some characters are not plain.
bool decode(std::string_view text, Text& out) {
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const auto [code, size] = character_at(text, i);
        if (!is_plain(code)) return false;
        out += static_cast<char16_t>(code);
        i += size;
    }
    return true;
}

// UTF-8 of plain characters.
std::string encoded(View text) {
    std::string out;
    for (const char16_t c : text) put_utf8(out, c);
    return out;
}

// ---- words of the rules

Text text_of(nb::handle text) {
    std::string_view utf8;
    Text out;
    if (!utf8_of(text.ptr(), utf8) || !decode(utf8, out))
        Path{"words"}.fail("texts of Latin letters are needed");
    return out;
}

using WordSet = std::unordered_set<Text>;
using WordMap = std::unordered_map<Text, Text>;

WordSet set_of(nb::handle words) {
    WordSet out;
    for (nb::handle word : words) out.insert(text_of(word));
    return out;
}

WordMap map_of(nb::handle pairs) {
    WordMap out;
    for (auto [key, value] : nb::borrow<nb::dict>(pairs)) out[text_of(key)] = text_of(value);
    return out;
}

// A part of a word, in one spelling and in the other.
struct Respelling {
    Text part, other;
    bool begins, middle, ends;
};

}  // namespace

class VariantMaker::Rules {
public:
    Rules(nb::dict words, nb::dict maps, nb::handle spelt, nb::dict places, std::size_t max_names,
          std::size_t max_variants)
        : max_names_(max_names), max_variants_(max_variants),
          small_(set_of(words["small"])), particles_(set_of(words["particles"])),
          titles_(set_of(words["titles"])), generations_(set_of(words["generations"])),
          legal_(set_of(words["legal"])), numerals_(set_of(words["numerals"])),
          kinds_(set_of(words["kinds"])), institutions_(set_of(words["institutions"])),
          roman_(map_of(maps["roman"])), arabic_(map_of(maps["arabic"])),
          saints_(map_of(maps["saints"])) {
        for (auto [name, others] : places) {
            std::string_view normal;
            if (!utf8_of(name.ptr(), normal)) Path{"places"}.fail("names are needed");
            for (nb::handle other : others)
                places_[std::string(normal)].push_back(text_of(other));
        }
        for (nb::handle pair : spelt) {
            const Text one = text_of(pair[0]), two = text_of(pair[1]);
            add_respelling(spellings_[0], one, two);
            add_respelling(spellings_[1], two, one);
        }
    }

    // Find the variants of an entity's names; false: some names are for Python.
    bool make(const NameForms& forms, const std::vector<std::string_view>& names,
              std::string_view type) {
        forms_ = &forms;
        found_.clear();
        made_.clear();
        known_.clear();
        std::vector<Text> base;
        if (!read_names(names, base)) return false;
        const int kind = kind_of(type);
        for (const auto& rule : RULES) {
            if (!(rule.kinds >> kind & 1)) continue;
            const std::size_t first = found_.size();
            for (const Text& name : base) {
                variants_.clear();
                (this->*rule.make)(name);
                for (Text& variant : variants_)
                    if (!add(std::move(variant))) return false;
                if (found_.size() >= max_variants_) return true;
            }
            if (rule.first) base.insert(base.end(), found_.begin() + first, found_.end());
        }
        return true;
    }

    const std::vector<Text>& found() const { return found_; }

private:
    struct Rule {
        int kinds;  // bits of kind_of
        void (Rules::*make)(View);
        bool first;
    };

    static constexpr int ANY = 31, PER = 2, ORG = 4, LOC = 8, MISC = 16, NONE = 1;

    static int kind_of(std::string_view type) {
        constexpr std::string_view kinds[] = {"", "PER", "ORG", "LOC", "MISC"};
        for (int i = 1; i < 5; ++i)
            if (type == kinds[i]) return i;
        return 0;
    }

    static const std::array<Rule, 17> RULES;

    // Parts of words by their first letter, in the order of the rules.
    using Respellings = std::array<std::vector<Respelling>, 26>;

    static void add_respelling(Respellings& table, const Text& part, const Text& other) {
        const View plain = stripped(part, u"|-");
        if (plain.empty() || plain[0] < u'a' || plain[0] > u'z')
            Path{"spelt"}.fail("a part of a word begins with a small letter");
        table[plain[0] - u'a'].push_back({Text(plain), Text(stripped(other, u"|-")),
                                          part.front() == u'|', part.front() == u'-',
                                          part.back() == u'|'});
    }

    bool read_names(const std::vector<std::string_view>& names, std::vector<Text>& base) {
        for (const std::string_view utf8 : names) {
            std::string normal;
            if (!forms_->append(utf8, normal)) return false;
            known_.insert(std::move(normal));
            if (!made_.emplace(utf8).second || !has_latin(utf8) || base.size() == max_names_)
                continue;
            if (!decode(utf8, base.emplace_back())) return false;
        }
        return true;
    }

    static bool has_latin(std::string_view text) {
        const auto latin = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
        for (std::size_t i = 1; i < text.size(); ++i)
            if (latin(text[i - 1]) && latin(text[i])) return true;
        return false;
    }

    // Add a variant if it is new; false: it is for Python.
    bool add(Text variant) {
        if (found_.size() >= max_variants_ || !made_.insert(encoded(variant)).second) return true;
        const Words words = split(variant);
        const Text whole = joined(words, 0, words.size());
        const View text = stripped(whole, u" ,");
        if (text.size() < 2) return true;
        std::string normal;
        if (!forms_->append(encoded(text), normal)) return false;
        if (normal.size() > 1 && normal.size() <= MAX_KEY && known_.insert(normal).second)
            found_.emplace_back(text);
        return true;
    }

    void yield(Text variant) {
        if (variants_.size() < max_variants_) variants_.push_back(std::move(variant));
    }

    // ---- rules, in the order of that module

    void without_brackets(View name) {
        if (!has(name, u'(') && !has(name, u'[')) return;
        Text out;
        for (std::size_t i = 0; i < name.size();) {
            const std::size_t open = std::min(name.find_first_not_of(u' ', i), name.size());
            if (open < name.size() && (name[open] == u'(' || name[open] == u'[')) {
                const std::size_t close = name.find_first_of(u"()[]", open + 1);
                if (close != name.npos && (name[close] == u')' || name[close] == u']')) {
                    i = close + 1;
                    continue;
                }
            }
            out += name[i++];
        }
        yield(std::move(out));
    }

    void without_article(View name) {
        if (lower(name.substr(0, 4)) == u"the ") yield(Text(name.substr(4)));
    }

    void without_ends(View name, const WordSet& first, const WordSet& last) {
        const Words words = split(name);
        std::size_t begin = 0, end = words.size();
        while (end - begin > 1 && end > begin && first.count(bare(words[begin])))
            yield(joined(words, ++begin, end));
        while (end - begin > 1 && end > begin && last.count(bare(words[end - 1])))
            yield(joined(words, begin, --end));
    }

    void without_title(View name) { without_ends(name, titles_, generations_); }
    void without_legal_form(View name) { without_ends(name, {}, legal_); }

    void turned(View name) {
        if (!has(name, u',')) return;
        Words parts;
        for (std::size_t at = 0; at <= name.size();) {
            const std::size_t end = std::min(name.find(u',', at), name.size());
            parts.push_back(stripped(name.substr(at, end - at), u" "));
            if (parts.back().empty()) return;
            at = end + 1;
        }
        if (parts.size() < 2 || parts.size() > 4 || generations_.count(bare(parts.back()))) return;
        yield(joined(Words(parts.rbegin(), parts.rend()), 0, parts.size()));
        if (parts.size() > 2)
            yield(joined({joined(parts, 1, parts.size()), parts.front()}));
    }

    void before_comma(View name) {
        if (has(name, u',')) yield(Text(name.substr(0, name.find(u','))));
    }

    void person(View name) {
        const Words words = split(name);
        if (words.size() < 2 || has(name, u',')) return;
        for (const View word : words)
            if (!is_letter(word[0])) return;
        const Text first = bare(words.front());
        if (titles_.count(first) || first == u"the" || generations_.count(bare(words.back())))
            return;
        for (const View word : words)
            if (word == u"of" || word == u"the") return yield(Text(words[0]));
        const std::size_t last = words.size() - 1;
        std::size_t begin = last;
        while (begin > 1 && particles_.count(lower(words[begin - 1]))) --begin;
        const Text surname = joined(words, begin, words.size());
        yield(surname);
        if (begin < last) yield(Text(words[last]));
        const auto initial = [&](std::size_t i) { return Text{words[i][0], u'.'}; };
        if (stripped(words[0], u".").size() > 1) {
            yield(Text(words[0]));
            yield(joined({initial(0), surname}));
        }
        if (begin < 2) return;
        yield(joined({words[0], surname}));
        for (const View space : {View(u" "), View(u"")}) {
            Text out = initial(0);
            for (std::size_t i = 1; i < begin; ++i) out.append(space).append(initial(i));
            yield(out + u" " + surname);
        }
        Text out(words[0]);
        for (std::size_t i = 1; i < begin; ++i) out.append(u" ").append(initial(i));
        yield(out + u" " + surname);
    }

    void without_quotes(View name) {
        const auto quote = [](char16_t c) { return c == u'"' || c == u'\''; };
        for (std::size_t i = 0; i < name.size();) {
            const std::size_t open = std::min(name.find_first_not_of(u' ', i), name.size());
            const std::size_t close = open < name.size() && quote(name[open])
                                          ? name.find_first_of(u"\"'", open + 1)
                                          : name.npos;
            const std::size_t next =
                close == name.npos ? name.npos : name.find_first_not_of(u' ', close + 1);
            const std::size_t size = close - open - 1;
            if (next == name.npos || (open > 0 && is_word(name[open - 1])) || size < 2 ||
                size > 40 || is_word(name[close + 1])) {
                ++i;
                continue;
            }
            const View inner = name.substr(open + 1, size);
            const Text whole = joined({name.substr(0, i), name.substr(next)});
            const Text rest(stripped(whole, u" "));
            yield(rest);
            yield(Text(inner));
            yield(joined({inner, split(rest).back()}));
            i = next;
        }
    }

    void place(View name) {
        const std::size_t space = name.rfind(u' ');
        if (space != name.npos && space > 0 && is_kind(name.substr(space + 1)))
            yield(Text(name.substr(0, space)));
        kind_first(name);
        const std::size_t head = name.find(u' ');
        if (head != name.npos && head + 1 < name.size())
            if (const auto saint = saints_.find(bare(name.substr(0, head)));
                saint != saints_.end())
                yield(joined({saint->second, name.substr(head + 1)}));
        std::string normal;
        if (!forms_->append(encoded(name), normal)) return;  // then `read_names` has failed
        if (const auto others = places_.find(normal); others != places_.end())
            for (const Text& other : others->second) yield(other);
    }

    bool is_kind(View word) const { return kinds_.count(lower(word)) != 0; }

    void kind_first(View name) {
        if (lower(name.substr(0, 4)) == u"the ") name.remove_prefix(4);
        const std::size_t end = name.find(u' ');
        if (end == name.npos) return;
        const View word = name.substr(0, end);
        const Text small = lower(word);
        if (!is_kind(word) && small != u"republic" && small != u"kingdom" &&
            small != u"commonwealth")
            return;
        const std::size_t begin = lower(name.substr(end, 4)) == u" of " && name.size() > end + 4
                                      ? end + 4
                                      : end + 1;
        if (begin < name.size()) yield(Text(name.substr(begin)));
    }

    void university(View name) {
        const std::size_t of = name.find(u" of "), space = name.rfind(u' ');
        bool same = false;
        if (of != name.npos && institutions_.count(Text(name.substr(0, of)))) {
            View rest = name.substr(of + 4);
            if (rest.starts_with(u"the ")) rest.remove_prefix(4);
            yield(joined({rest, name.substr(0, of)}));
            same = space != name.npos && name.substr(space + 1) == name.substr(0, of);
        }
        if (space != name.npos && space > 0 && !same &&
            institutions_.count(Text(name.substr(space + 1))))
            yield(joined({name.substr(space + 1), u"of", name.substr(0, space)}));
    }

    void ampersand(View name) {
        if (has(name, u'&'))
            yield(replaced(name, u"&", u" and "));
        else if (name.find(u" and ") != name.npos)
            yield(replaced(name, u" and ", u" & "));
    }

    void of(View name) {
        const std::size_t first = name.find(u" of ");
        if (first == name.npos || has(name, u',')) return;
        View rest = name.substr(first + 4);
        if (rest.starts_with(u"the ")) rest.remove_prefix(4);
        if (rest.find(u" of ") == rest.npos) yield(joined({rest, name.substr(0, first)}));
    }

    void numeral(View name) {
        const Words words = split(name);
        if (words.size() < 2) return;
        for (std::size_t i = 0; i < words.size(); ++i) {
            const Text word(words[i]);
            if (!numerals_.count(word) ||
                (i == 0 && (word == u"I" || word == u"V" || word == u"X")))
                continue;
            const auto arabic = arabic_.find(word);
            const Text other = upper(arabic != arabic_.end() ? arabic->second
                                                             : roman_.at(lower(word)));
            Words changed = words;
            changed[i] = other;
            yield(joined(changed, 0, changed.size()));
        }
    }

    void hyphen(View name) {
        if (has(name, u'-')) yield(replaced(name, u"-", u""));
    }

    void spelling(View name) {
        const Text small = lower(name);
        for (const auto& table : spellings_) {
            Text out;
            std::size_t copied = 0;
            for (std::size_t i = 0; i < name.size(); ++i) {
                const Respelling* found = respelt_at(table, small, i);
                if (!found) continue;
                out.append(name.substr(copied, i - copied));
                out.append(cased(found->other, name.substr(i, found->part.size())));
                copied = i + found->part.size();
                i = copied - 1;
            }
            if (copied) yield(out.append(name.substr(copied)));
        }
    }

    static const Respelling* respelt_at(const Respellings& table, View text, std::size_t i) {
        const auto word_at = [&](std::size_t at) { return at < text.size() && is_word(text[at]); };
        if (text[i] < u'a' || text[i] > u'z') return nullptr;
        for (const Respelling& one : table[text[i] - u'a']) {
            if (!text.substr(i).starts_with(one.part)) continue;
            if (one.begins && i > 0 && word_at(i - 1)) continue;
            if (one.middle && !(i >= 3 && word_at(i - 1) && word_at(i - 2) && word_at(i - 3)))
                continue;
            const std::size_t end = i + one.part.size();
            const bool mark = end < text.size() && (text[end] == u's' || text[end] == u'd');
            if (one.ends && word_at(end) && !(mark && !word_at(end + 1))) continue;
            return &one;
        }
        return nullptr;
    }

    static Text cased(View word, View as_in) {
        if (all_upper(as_in)) return upper(word);
        Text out(word);
        if (is_upper(as_in[0])) {
            out = lower(word);
            out[0] = upper(out[0]);
        }
        return out;
    }

    void number(View name) {
        const std::size_t space = name.rfind(u' ');
        const View last = space == name.npos ? name : name.substr(space + 1);
        if (last.size() < 4 || !all_letters(last) || all_upper(last) || has(name, u',')) return;
        const auto ends = [&](std::initializer_list<View> endings) {
            for (const View ending : endings)
                if (name.ends_with(ending)) return true;
            return false;
        };
        const auto cut = [&](std::size_t n, View end) {
            yield(Text(name.substr(0, name.size() - n)).append(end));
        };
        if (ends({u"ies"})) {
            cut(3, u"y");
        } else if (ends({u"sses", u"uses", u"xes", u"ches", u"shes"})) {
            cut(2, u"");
            cut(1, u"");
        } else if (ends({u"ses"})) {
            cut(2, u"is");
            cut(1, u"");
        } else if (ends({u"sis"})) {
            cut(2, u"es");
        } else if (ends({u"s"}) && !ends({u"ss", u"us", u"is"})) {
            cut(1, u"");
        } else if (ends({u"y"}) && !has(u"aeiou", name[name.size() - 2])) {
            cut(1, u"ies");
        } else if (ends({u"ss", u"us", u"x", u"ch", u"sh"})) {
            cut(0, u"es");
        } else if (!ends({u"s"})) {
            cut(0, u"s");
        }
    }

    // A comma, a bracket, an initial between words, or a list.
    static bool no_acronym(View name) {
        if (name.find_first_of(u",([") != View::npos) return true;
        if (name.starts_with(u"List of ") || name.starts_with(u"Lists of ")) return true;
        for (std::size_t i = 0; i + 3 < name.size(); ++i)
            if (name[i] == u' ' && name[i + 1] >= u'A' && name[i + 1] <= u'Z' &&
                name[i + 2] == u'.' && name[i + 3] == u' ')
                return true;
        return false;
    }

    void acronym(View name) {
        if (std::count(name.begin(), name.end(), u' ') < 2 || no_acronym(name)) return;
        Words words, large;
        for (std::size_t i = 0; i < name.size();) {
            if (!is_letter(name[i])) {
                ++i;
                continue;
            }
            const std::size_t end = std::min(name.find_first_of(u" -", i), name.size());
            words.push_back(name.substr(i, end - i));
            if (!small_.count(lower(words.back()))) large.push_back(words.back());
            i = end;
        }
        if (large.size() < 3 || large.size() > 7) return;
        yield(initials(large));
        if (words.size() > large.size() &&
            std::find(large.begin(), large.end(), words[0]) != large.end())
            yield(initials(words));
    }

    Text initials(const Words& words) const {
        Text out;
        for (const View word : words) {
            const bool numeral = all_upper(word) && roman_.count(lower(word));
            out += numeral ? word : word.substr(0, 1);
        }
        return upper(out);
    }

    std::size_t max_names_, max_variants_;
    WordSet small_, particles_, titles_, generations_, legal_, numerals_, kinds_, institutions_;
    WordMap roman_, arabic_, saints_;
    std::unordered_map<std::string, std::vector<Text>> places_;
    Respellings spellings_[2];
    const NameForms* forms_ = nullptr;
    std::vector<Text> variants_, found_;
    std::unordered_set<std::string> made_, known_;
};

const std::array<VariantMaker::Rules::Rule, 17> VariantMaker::Rules::RULES = {{
    {ANY, &Rules::without_brackets, true},
    {NONE | PER | MISC, &Rules::turned, true},
    {LOC | ORG, &Rules::before_comma, true},
    {ANY, &Rules::without_article, true},
    {PER, &Rules::without_title, true},
    {PER, &Rules::without_quotes, true},
    {ORG, &Rules::without_legal_form, true},
    {PER, &Rules::person, false},
    {LOC, &Rules::place, false},
    {NONE | ORG, &Rules::university, false},
    {ANY, &Rules::ampersand, false},
    {NONE | MISC, &Rules::of, false},
    {ANY, &Rules::numeral, false},
    {ANY, &Rules::hyphen, false},
    {NONE | ORG | LOC | MISC, &Rules::spelling, false},
    {NONE | MISC, &Rules::number, false},
    {NONE | ORG | LOC | MISC, &Rules::acronym, false},
}};

VariantMaker::VariantMaker(nb::dict words, nb::dict maps, nb::handle spelt, nb::dict places,
                           std::size_t max_names, std::size_t max_variants)
    : rules_(std::make_unique<Rules>(words, maps, spelt, places, max_names, max_variants)) {}

VariantMaker::VariantMaker(const VariantMaker& other)
    : rules_(std::make_unique<Rules>(*other.rules_)) {}

VariantMaker::~VariantMaker() = default;

bool VariantMaker::make(const NameForms& forms, const std::vector<std::string_view>& names,
                        std::string_view type, std::vector<std::string>& out) {
    if (!rules_->make(forms, names, type)) return false;
    for (const Text& one : rules_->found()) out.push_back(encoded(one));
    return true;
}

namespace {

// The variants of an entity's names; None: some names are for Python.
nb::object variants_of(VariantMaker& maker, const NameForms& forms, nb::handle names,
                       nb::handle type) {
    std::string_view kind;
    if (!utf8_of(type.ptr(), kind)) Path{"type"}.fail("a text is needed");
    std::vector<std::string_view> given;
    for (nb::handle name : names)
        if (!utf8_of(name.ptr(), given.emplace_back())) return nb::none();
    std::vector<std::string> found;
    if (!maker.make(forms, given, kind, found)) return nb::none();
    nb::list out;
    for (const std::string& one : found) out.append(string_of(one));
    return out;
}

}  // namespace

void bind_name_variants(nb::module_& module) {
    nb::class_<VariantMaker>(module, "VariantMaker")
        .def(nb::init<nb::dict, nb::dict, nb::handle, nb::dict, std::size_t, std::size_t>())
        .def("make", &variants_of);
}

}  // namespace sgtb
