// Wikitext: the plain text and the links of a page, from its MediaWiki markup. No Python here.
//
// Three passes over the bytes, each with a stack of what is open: comments, tags and braces;
// brackets and tables; then the text. A byte is looked at a bounded number of times, apart from
// searches that remember how far they came, so time and space are linear in the length of the
// page, whatever it holds. Any bytes are allowed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "array.hpp"

namespace sgtb::wikitext {

using Place = int32_t;  // a place in a page's bytes

// The bytes of a page, of 1 GiB at most; behind them, zeros are read.
class Source {
public:
    static constexpr std::size_t MAX_SIZE = 1 << 30;

    explicit Source(std::string_view bytes) : text(bytes) {
        SGTB_ASSERT(bytes.size() <= MAX_SIZE);
    }
    Place size() const { return static_cast<Place>(text.size()); }
    uint8_t operator[](Place at) const {
        SGTB_ASSERT(at >= 0);
        return at < size() ? static_cast<uint8_t>(text[at]) : 0;
    }
    // Where a string begins, from `at` on; the end if nowhere.
    Place find(std::string_view wanted, Place at) const {
        return static_cast<Place>(std::min(text.find(wanted, at), text.size()));
    }

    const std::string_view text;
};

// What a span is. First tags: from DROP on, their contents are not, or not on their own terms,
// part of the text around them, and end at the first closing tag; from REF on, these are wikitext.
// The last two are no spans, but what may be open beside them while text is written.
enum class Kind : uint8_t {
    UNKNOWN, REMOVED, SPACE, BREAK, DROP, NOWIKI, PRE, REF, CAPTIONS, UNSEEN,
    COMMENT, TEMPLATE, VARIANT, LINK, EXTERNAL, TABLE, HEADING, MUTED,
};

// A piece of markup: begin .. inner and close .. end, with contents between `inner` and `close`.
//
//     [ [ t a r g e t | a n c h o r ] ]          { { a { { b } } } }
//     ^   ^           ^             ^   ^        ^   ^           ^   ^
//   begin inner      pipe        close end     begin inner    close end
//
// What a span does not have is -1. The colon ends a link's prefix, such as `File`.
struct Span {
    Kind kind;
    Place begin, inner, close, end;
    Place pipe = -1, colon = -1;
    bool hidden = false;  // a link that shows nothing where it stands
};

// First and second pass: the spans in the order in which they begin. `steps` measures the time.
std::vector<Span> find_spans(const Source& source, int64_t& steps);

inline constexpr Place LONGEST_NAME = 32;  // of tags and characters, in bytes

// What the text depends on beside the page, in UTF-8.
struct Lexicon {
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    std::unordered_map<std::string, std::string, Hash, std::equal_to<>> characters;  // "amp": "&"
    std::unordered_set<std::string, Hash, std::equal_to<>> lower_case;  // letters
};

// Where a link stands.
enum Flag { IN_TEMPLATE = 1, IN_REF = 2, IN_TABLE = 4, IN_CAPTION = 8, HIDDEN = 16, IN_LIST = 32 };

struct Range {
    int32_t begin, end;
};

struct Link {
    Range target;         // bytes of `targets`
    Range anchor{0, 0};   // bytes of `text`, or of `aside` where the link has no place
    Range place{-1, -1};  // code points of `text`
    int32_t line;         // of `text`
    int flags;
};

struct Plain {
    std::string text, aside, targets;
    std::vector<Link> links;
    std::vector<Range> bold;  // code points of `text`
};

// Third pass. Goes into every span, since links may stand anywhere, but writes only what is shown.
Plain write_plain(const Source& source, const std::vector<Span>& spans, const Lexicon& lexicon,
                  int64_t& steps);

// ---- what the passes share

using ByteSet = std::array<bool, 256>;

constexpr ByteSet bytes_of(std::string_view members) {
    ByteSet set{};
    for (const char c : members) set[static_cast<uint8_t>(c)] = true;
    return set;
}

constexpr uint8_t small(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 32 : byte; }
constexpr bool is_alphanumeric(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || (small(byte) >= 'a' && small(byte) <= 'z');
}
constexpr bool is_white(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
constexpr bool is_blank(uint8_t byte) { return byte == ' ' || byte == '\t'; }

}  // namespace sgtb::wikitext
