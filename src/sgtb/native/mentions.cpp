// Mentions: the token ranges of a text that may be names, by the shapes of the tokens.
#include <algorithm>
#include <vector>

#include "bind.hpp"
#include "check.hpp"
#include "interrupt.hpp"
#include "ragged.hpp"

namespace sgtb {

namespace {

// What a token looks like; linking/mentions/token_shapes.py sets the bits.
enum Shape : int32_t {
    WORD = 1 << 0,       // it has a letter or a digit
    NAME = 1 << 1,       // a word with a capital, with a digit, or without case
    UPPER = 1 << 2,      // a word whose letters, two or more, are all capitals
    SMALL = 1 << 3,      // a word whose letters are all lower case
    COMMON = 1 << 4,     // a function word in any case: a name only in capitals (US, WHO)
    DATE = 1 << 5,       // a month or a day of the week
    LINK = 1 << 6,       // a lower-case word that occurs inside names
    PARTICLE = 1 << 7,   // a lower-case word that family names begin with
    THE = 1 << 8,        // the article
    INNER = 1 << 9,      // a sign that may directly follow a word inside a name
    COMMA = 1 << 10,     // an inner sign that more often ends a name
    FREE = 1 << 11,      // a sign that may stand between the words of a name
    PLAIN = 1 << 12,     // a lower-case word that is neither COMMON nor LINK
    TITLE = 1 << 13,     // a word that stands between a country or a company and a person
    LEAD = 1 << 14,      // a function word that often stands directly before a name
    MARK = 1 << 15,      // a sign that continues a word: a vowel of Devanagari, a joiner
    QUOTE = 1 << 16,     // an opening quotation mark
    CLOSER = 1 << 17,    // a closing quotation mark
    CAPITAL = 1 << 18,   // a word with an initial capital
    PERIOD = 1 << 19,    // a full stop
    SHORT = 1 << 20,     // a word that a full stop may follow inside a name: J., St., Jr.
    AND = 1 << 21,       // the sign &
    OF = 1 << 22,        // the lower-case word "of"
    HEAD = 1 << 23,      // a word that "of" joins to a name: University, Bank
    SUFFIX = 1 << 24,    // a word that only ends names: Jr, Inc, GmbH
    ROLE = 1 << 25,      // a title that is no family name: president, striker
    MODIFIER = 1 << 26,  // a word that belongs to the title after it: foreign, vice
    ORDINARY = 1 << 27,  // a word that unknown names do not contain, even with a capital
};

// Where a token stands.
enum Position : uint8_t {
    FRESH = 1,     // a sentence or a quotation begins with it
    HEADLINE = 2,  // its sentence has no lower-case words but LINK
    LOUD = 4,      // its sentence is all in capitals
};

// Lower-case words, other than LINK, inside or at the end of a name: "Delta team".
constexpr int64_t PLAIN_WORDS = 2;
// Words between quotation marks inside an unknown name.
constexpr int64_t QUOTED_WORDS = 3;

// At least so many words in capitals make a line a headline, and not a name.
constexpr int64_t LOUD_WORDS = 3;

// What stands before a token.
enum Break : uint8_t {
    LINE = 1,  // a line break
    WIDE = 2,  // an empty line or a tab
};

// Tokens: starts and ends are code points of the text.
struct PageTokens {
    Ints shapes;
    Longs starts, ends;
    Bytes after_break;
};

// named: the shapes that words of a name have; max_length: code points.
struct NameLimits {
    int64_t named, max_words, max_tokens, max_length;
};

// Token ranges, `last` included, ordered by `first`, then by `last`.
struct NameRanges {
    Array<int32_t> first, last;
};

// Token ranges, `last` included, in order, and whether a title stands directly before them.
struct NameRuns {
    Array<int32_t> first, last;
    Array<uint8_t> titled;
};

// What a tagger observes at n tokens: hashes u4[n, H] of the text; then one value each.
struct Observed {
    Array<const uint32_t, 2> hashes;
    Bytes rule, position, share, repeated;
    Ints shape;
};

}  // namespace

SGTB_RECORD(PageTokens, shapes, starts, ends, after_break)
SGTB_RECORD(NameLimits, named, max_words, max_tokens, max_length)
SGTB_RECORD(NameRanges, first, last)
SGTB_RECORD(NameRuns, first, last, titled)
SGTB_RECORD(Observed, hashes, rule, position, share, repeated, shape)

namespace {

struct Page {
    const PageTokens& tokens;
    const NameLimits& limits;

    bool has(int64_t i, int64_t bits) const { return (tokens.shapes[i] & bits) != 0; }

    // Whether no white space stands between a token and the one before it.
    bool glued(int64_t i) const { return tokens.ends[i - 1] == tokens.starts[i]; }

    // Whether the word of token i continues in the next one.
    bool goes_on(int64_t i, int64_t stop) const {
        return i + 1 < stop && (has(i + 1, MARK) || (has(i, MARK) && has(i + 1, WORD))) &&
               glued(i + 1);
    }

    bool may_start(int64_t i, int64_t first, int64_t stop) const {
        if (i > first && has(i - 1, MARK) && glued(i)) return false;  // inside a word
        if (has(i, limits.named)) return true;
        if (i + 1 == stop) return false;
        return (has(i, THE | PARTICLE) && has(i + 1, limits.named)) ||
               (has(i, PARTICLE) && has(i + 1, PARTICLE));  // van der Sar
    }

    // Call `found` with the last token of each range from token i on that may be a name.
    template <class Found>
    void each_end(int64_t i, int64_t stop, Found found) const {
        int64_t words = 0, plain = 0;
        bool linked = false, comma = false, quoted = false;
        for (int64_t j = i; j < std::min(stop, i + limits.max_tokens); ++j) {
            if (tokens.ends[j] - tokens.starts[i] > limits.max_length) return;
            if (j > i && (tokens.after_break[j] & WIDE)) return;
            const bool joined = j > i && glued(j);
            bool may_end = false;
            if (has(j, WORD)) {
                words += !joined;
                const bool named = joined || has(j, limits.named);
                const bool lower = !named && has(j, PLAIN);
                plain += lower && !linked;
                if (words > limits.max_words || plain > PLAIN_WORDS) return;
                if (!(named || lower || has(j, LINK))) return;
                may_end = (named || lower) && !comma && !quoted;
                linked = has(j, LINK);
            } else if (quoted && joined && has(j, CLOSER)) {
                quoted = false;
            } else if (j > i && !joined && has(j, QUOTE) && !quoted) {
                quoted = true;
            } else if (joined && has(j, INNER | MARK)) {
                may_end = has(j, MARK);
            } else if (!has(j, FREE)) {
                return;
            }
            if (may_end && !goes_on(j, stop)) found(j);
            comma = (comma || has(j, COMMA)) && !has(j, LINK | FREE);
        }
    }

    // Whether token j follows token j - 1 within one name of the sentence.
    bool follows(int64_t j, int64_t stop) const {
        return j < stop && tokens.starts[j] - tokens.ends[j - 1] <= 1 && !tokens.after_break[j];
    }

    // Whether token j may be a word of an unknown name.
    bool name_word(int64_t j) const {
        return has(j, CAPITAL) && !has(j, DATE | ORDINARY) && (!has(j, COMMON) || has(j, UPPER));
    }

    // The token after a word and the full stop that belongs to it.
    int64_t after_word(int64_t j, int64_t stop) const {
        const bool dotted = has(j, SHORT) && j + 1 < stop && has(j + 1, PERIOD) && glued(j + 1);
        return j + 1 + dotted;
    }

    // Whether token j is a title before a name or after one, rather than a part of the name.
    bool is_title(int64_t j, int64_t stop) const {
        if (!name_word(j) || !has(j, TITLE | ROLE)) return false;
        const int64_t k = after_word(j, stop);
        const bool named_next = follows(k, stop) && name_word(k);
        if (has(j, MODIFIER)) return named_next && has(k, TITLE | ROLE);
        return has(j, ROLE) || named_next;
    }

    // The next word of an unknown name after its word j, or -1: white space, particles, "of", & or
    // words in quotation marks may stand between.
    int64_t next_word(int64_t j, int64_t stop) const {
        int64_t k = after_word(j, stop);
        if (!follows(k, stop)) return -1;
        if (has(k, SUFFIX)) return k;
        if (has(k, PARTICLE)) {
            while (has(k, PARTICLE) && follows(k + 1, stop)) ++k;
        } else if (has(j, HEAD) && has(k, OF)) {
            if (!follows(++k, stop)) return -1;
            if (has(k, THE) && !follows(++k, stop)) return -1;
        } else if (has(k, AND)) {
            if (!follows(++k, stop)) return -1;
        } else if (has(k, QUOTE) && !glued(k)) {
            int64_t closer = k + 1;
            while (closer < stop && closer - k <= QUOTED_WORDS && follows(closer, stop) &&
                   has(closer, WORD))
                ++closer;
            if (closer == k + 1 || closer >= stop || !has(closer, CLOSER) || !glued(closer) ||
                !follows(closer + 1, stop))
                return -1;
            k = closer + 1;
        }
        return name_word(k) && !is_title(k, stop) ? k : -1;
    }

    // HEADLINE and LOUD for the tokens of a sentence.
    uint8_t style(int64_t first, int64_t stop) const {
        int64_t upper = 0;
        bool lower = false;
        int32_t all = 0;
        for (int64_t i = first; i < stop; ++i) {
            if (!has(i, WORD)) continue;
            upper += has(i, UPPER);
            lower |= has(i, SMALL) && !has(i, LINK);
            all |= tokens.shapes[i];
        }
        const bool loud = upper >= LOUD_WORDS && !(all & SMALL);
        return static_cast<uint8_t>((lower ? 0 : HEADLINE) | (loud ? LOUD : 0));
    }
};

constexpr int64_t far = int64_t{1} << 40;  // differences of places do not overflow

// Check the first token of each sentence and the one after its last; return the number of tokens.
int64_t check_sentences(Array<const int64_t, 2> sentences, int64_t n) {
    check_equal(sentences.shape(1), 2, "sentences");
    int64_t before = 0, covered = 0;
    for (int64_t s = 0; s < sentences.shape(0); ++s) {
        check_value(sentences(s, 0), before, n + 1, "sentences");
        check_value(sentences(s, 1), sentences(s, 0), n + 1, "sentences");
        before = sentences(s, 1);
        covered += before - sentences(s, 0);
    }
    return covered;
}

void check_page(const PageTokens& tokens, Array<const int64_t, 2> sentences) {
    const int64_t n = tokens.shapes.size();
    SGTB_CHECK_LENGTHS(n, tokens.starts, tokens.ends, tokens.after_break);
    check_range(tokens.starts, 0, far, "tokens.starts");
    check_range(tokens.ends, 0, far, "tokens.ends");
    check_sentences(sentences, n);
}

// Write the token ranges that may be names to `out`, and the positions of words; returns how many
// ranges there are. A sentence is its first token and the one after its last.
int64_t find_name_ranges(PageTokens tokens, Array<const int64_t, 2> sentences, NameLimits limits,
                         Array<uint8_t> positions, NameRanges out) {
    check_page(tokens, sentences);
    const int64_t n = tokens.shapes.size();
    check_value(limits.max_tokens, 0, n + 1, "limits.max_tokens");
    check_equal(positions.size(), n, "positions");
    SGTB_CHECK_LENGTHS(n * limits.max_tokens, out.first, out.last);
    const Page page{tokens, limits};
    Interrupt interrupt;
    int64_t n_found = 0;
    for (int64_t s = 0; s < sentences.shape(0); ++s) {
        interrupt.check();
        const int64_t first = sentences(s, 0), stop = sentences(s, 1);
        const uint8_t style = page.style(first, stop);
        bool fresh = true;  // only signs since the sentence or a quotation began
        for (int64_t i = first; i < stop; ++i) {
            if (!page.has(i, WORD)) {
                fresh |= page.has(i, QUOTE);
                continue;
            }
            positions[i] = static_cast<uint8_t>(style | (fresh ? FRESH : 0));
            fresh = false;
            if (!page.may_start(i, first, stop)) continue;
            page.each_end(i, stop, [&](int64_t last) {
                out.first[n_found] = static_cast<int32_t>(i);
                out.last[n_found++] = static_cast<int32_t>(last);
            });
        }
    }
    return n_found;
}

// Write the token ranges that look like one name, known or not, to `out`; returns how many there
// are. They do not overlap.
int64_t find_name_runs(PageTokens tokens, Array<const int64_t, 2> sentences, NameRuns out) {
    check_page(tokens, sentences);
    SGTB_CHECK_LENGTHS(tokens.shapes.size(), out.first, out.last, out.titled);
    const Page page{tokens, {}};
    Interrupt interrupt;
    int64_t n_found = 0;
    for (int64_t s = 0; s < sentences.shape(0); ++s) {
        interrupt.check();
        const int64_t stop = sentences(s, 1);
        bool titled = false;
        int64_t i = sentences(s, 0);
        while (i < stop) {
            if (page.is_title(i, stop)) {
                titled = true;
                i = page.after_word(i, stop);
                titled &= page.follows(i, stop);
                continue;
            }
            if (!page.name_word(i) || page.has(i, SUFFIX)) {
                titled = false;
                ++i;
                continue;
            }
            int64_t last = i;
            for (int64_t j = page.next_word(i, stop); j >= 0; j = page.next_word(j, stop)) {
                last = j;
                if (page.has(j, SUFFIX)) break;
            }
            out.first[n_found] = static_cast<int32_t>(i);
            out.last[n_found] = static_cast<int32_t>(last);
            out.titled[n_found++] = titled;
            titled = false;
            i = last + 1;
        }
    }
    return n_found;
}

// Write the hashed clues of every token: u4[n, K]. The sentences have all tokens.
//
// A clue is made of parts, pairs of a column and a place relative to the token; 1 stands for what is
// outside the sentence. Columns: the hashes, then the other fields.
void mix_clues(Observed observed, Array<const int64_t, 2> sentences, Ragged<const int64_t> parts,
               Array<uint32_t, 2> out) {
    const int64_t n = observed.hashes.shape(0), n_hashes = observed.hashes.shape(1);
    const int64_t n_columns = n_hashes + 5, n_clues = parts.indptr.size() - 1;
    SGTB_CHECK_LENGTHS(n, observed.rule, observed.position, observed.share, observed.repeated,
                       observed.shape);
    check_equal(check_sentences(sentences, n), n, "sentences");
    check_at_least(parts.indptr.size(), 1, "parts.indptr");
    check_ragged(parts, n_clues, "parts");
    for (int64_t k = 0; k < n_clues; ++k) {
        check_equal(parts[k].size() % 2, 0, "parts");
        for (int64_t p = 0; p < parts[k].size(); p += 2) {
            check_value(parts[k][p], 0, n_columns, "parts");
            check_value(parts[k][p + 1], -far, far, "parts");
        }
    }
    check_shape(out, {n, n_clues}, "out");
    std::vector<uint32_t> columns;
    columns.reserve(static_cast<std::size_t>(n * n_columns));
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t h = 0; h < n_hashes; ++h) columns.push_back(observed.hashes(i, h));
        columns.insert(columns.end(),
                       {observed.rule[i], observed.position[i], observed.share[i],
                        observed.repeated[i], static_cast<uint32_t>(observed.shape[i])});
    }
    Interrupt interrupt;
    for (int64_t s = 0; s < sentences.shape(0); ++s) {
        interrupt.check();
        const int64_t first = sentences(s, 0), stop = sentences(s, 1);
        for (int64_t i = first; i < stop; ++i)
            for (int64_t k = 0; k < n_clues; ++k) {
                auto mixed = static_cast<uint32_t>(k + 1);
                for (int64_t p = parts.indptr[k]; p < parts.indptr[k + 1]; p += 2) {
                    const int64_t j = i + parts.data[p + 1];
                    mixed ^= first <= j && j < stop ? columns[j * n_columns + parts.data[p]] : 1;
                    mixed *= 0x9E3779B1;
                    mixed ^= mixed >> 15;
                }
                out(i, k) = mixed;
            }
    }
}

}  // namespace

void bind_mentions(nb::module_& module) {
    SGTB_BIND(find_name_ranges, tokens, sentences, limits, positions, out);
    SGTB_BIND(find_name_runs, tokens, sentences, out);
    SGTB_BIND(mix_clues, observed, sentences, parts, out);
    nb::module_ shapes = module.def_submodule("token_shape_bits");
    const std::pair<const char*, int32_t> bits[] = {
        {"WORD", WORD},       {"NAME", NAME},         {"UPPER", UPPER},       {"SMALL", SMALL},
        {"COMMON", COMMON},   {"DATE", DATE},         {"LINK", LINK},         {"PARTICLE", PARTICLE},
        {"THE", THE},         {"INNER", INNER},       {"COMMA", COMMA},       {"FREE", FREE},
        {"PLAIN", PLAIN},     {"TITLE", TITLE},       {"LEAD", LEAD},         {"MARK", MARK},
        {"QUOTE", QUOTE},     {"CLOSER", CLOSER},     {"CAPITAL", CAPITAL},   {"PERIOD", PERIOD},
        {"SHORT", SHORT},     {"AND", AND},           {"OF", OF},             {"HEAD", HEAD},
        {"SUFFIX", SUFFIX},   {"ROLE", ROLE},         {"MODIFIER", MODIFIER}, {"ORDINARY", ORDINARY},
        {"FRESH", FRESH},     {"HEADLINE", HEADLINE}, {"LOUD", LOUD},
        {"LINE", LINE},       {"WIDE", WIDE}};
    for (const auto& [name, bit] : bits) shapes.attr(name) = bit;
}

}  // namespace sgtb
