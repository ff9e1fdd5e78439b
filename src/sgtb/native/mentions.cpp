// Mentions: the token ranges of a text that may be names, by the shapes of the tokens.
#include <algorithm>

#include "bind.hpp"
#include "check.hpp"
#include "interrupt.hpp"

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
};

// Where a token stands.
enum Position : uint8_t {
    FRESH = 1,     // a sentence or a quotation begins with it
    HEADLINE = 2,  // its sentence has no plain lower-case word
    LOUD = 4,      // its sentence is all in capitals
};

// At least so many words in capitals make a line a headline, and not a name.
constexpr int64_t LOUD_WORDS = 3;

// Tokens: starts and ends are code points of the text.
struct PageTokens {
    Ints shapes;
    Longs starts, ends;
    Bytes after_empty_line;
};

// named: the shapes that words of a name have; max_length: code points.
struct NameLimits {
    int64_t named, max_words, max_tokens, max_length;
};

// Token ranges, `last` included, ordered by `first`, then by `last`.
struct NameRanges {
    Array<int32_t> first, last;
};

}  // namespace

SGTB_RECORD(PageTokens, shapes, starts, ends, after_empty_line)
SGTB_RECORD(NameLimits, named, max_words, max_tokens, max_length)
SGTB_RECORD(NameRanges, first, last)

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
        int64_t words = 0;
        bool linked = false, comma = false;
        for (int64_t j = i; j < std::min(stop, i + limits.max_tokens); ++j) {
            if (tokens.ends[j] - tokens.starts[i] > limits.max_length) return;
            if (j > i && tokens.after_empty_line[j]) return;
            const bool joined = j > i && glued(j);
            bool may_end = false;
            if (has(j, WORD)) {
                words += !joined;
                const bool name_like =
                    joined || has(j, limits.named) || (linked && has(j, PLAIN));
                if (words > limits.max_words || !(name_like || has(j, LINK))) return;
                may_end = name_like && !comma;
                linked = has(j, LINK);
            } else if (joined && has(j, INNER | MARK)) {
                may_end = has(j, MARK);
            } else if (!has(j, FREE)) {
                return;
            }
            if (may_end && !goes_on(j, stop)) found(j);
            comma = (comma || has(j, COMMA)) && !has(j, LINK | FREE);
        }
    }

    // HEADLINE and LOUD for the tokens of a sentence.
    uint8_t style(int64_t first, int64_t stop) const {
        int64_t upper = 0;
        int32_t all = 0;
        for (int64_t i = first; i < stop; ++i) {
            if (!has(i, WORD)) continue;
            upper += has(i, UPPER);
            all |= tokens.shapes[i];
        }
        const bool loud = upper >= LOUD_WORDS && !(all & SMALL);
        return static_cast<uint8_t>((all & PLAIN ? 0 : HEADLINE) | (loud ? LOUD : 0));
    }
};

void check_page(const PageTokens& tokens, Array<const int64_t, 2> sentences) {
    constexpr int64_t far = int64_t{1} << 40;  // differences of places do not overflow
    const int64_t n = tokens.shapes.size();
    SGTB_CHECK_LENGTHS(n, tokens.starts, tokens.ends, tokens.after_empty_line);
    check_range(tokens.starts, 0, far, "tokens.starts");
    check_range(tokens.ends, 0, far, "tokens.ends");
    check_equal(sentences.shape(1), 2, "sentences");
    int64_t before = 0;
    for (int64_t s = 0; s < sentences.shape(0); ++s) {
        check_value(sentences(s, 0), before, n + 1, "sentences");
        check_value(sentences(s, 1), sentences(s, 0), n + 1, "sentences");
        before = sentences(s, 1);
    }
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

}  // namespace

void bind_mentions(nb::module_& module) {
    SGTB_BIND(find_name_ranges, tokens, sentences, limits, positions, out);
    nb::module_ shapes = module.def_submodule("token_shape_bits");
    const std::pair<const char*, int32_t> bits[] = {
        {"WORD", WORD},   {"NAME", NAME},         {"UPPER", UPPER}, {"SMALL", SMALL},
        {"COMMON", COMMON}, {"DATE", DATE},       {"LINK", LINK},   {"PARTICLE", PARTICLE},
        {"THE", THE},     {"INNER", INNER},       {"COMMA", COMMA}, {"FREE", FREE},
        {"PLAIN", PLAIN}, {"TITLE", TITLE},       {"LEAD", LEAD},   {"MARK", MARK},
        {"QUOTE", QUOTE}, {"FRESH", FRESH},       {"HEADLINE", HEADLINE}, {"LOUD", LOUD}};
    for (const auto& [name, bit] : bits) shapes.attr(name) = bit;
}

}  // namespace sgtb
