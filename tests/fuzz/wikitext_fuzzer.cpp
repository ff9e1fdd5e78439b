// Fuzz target of the wikitext passes: any bytes give a sound result, in linear time and space.
//
//     cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DSGTB_FUZZ=ON
//     ninja -C build/fuzz
//     mkdir -p build/fuzz/corpus
//     build/fuzz/wikitext_fuzzer -max_total_time=30 -timeout=10 -max_len=4096
//         -dict=tests/fuzz/wikitext.dict build/fuzz/corpus tests/fuzz/wikitext_seeds
#include <cstdio>
#include <cstdlib>

#include "wikitext.hpp"

using namespace sgtb::wikitext;

#define REQUIRE(condition)                                                     \
    do {                                                                       \
        if (!(condition)) {                                                    \
            std::fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
            std::abort();                                                      \
        }                                                                      \
    } while (false)

static bool within(Range range, int64_t size) {
    return 0 <= range.begin && range.begin <= range.end && range.end <= size;
}

// Lines have single blanks, none at their ends, and are not empty.
static void check_white_space(const std::string& text) {
    bool white = true;
    for (const char c : text) {
        const bool is_white = c == ' ' || c == '\n';
        REQUIRE(!(white && is_white) && (is_white || static_cast<uint8_t>(c) > ' '));
        white = is_white;
    }
    REQUIRE(text.empty() || !white);
}

static void check_spans(const std::vector<Span>& spans, int64_t size) {
    Place last = 0;
    for (const Span& span : spans) {
        REQUIRE(last <= span.begin && within({span.begin, span.end}, size));
        REQUIRE(within({span.begin, span.inner}, span.end));
        REQUIRE(span.close < 0 ? span.kind == Kind::TABLE : span.inner <= span.close);
        REQUIRE(span.kind == Kind::TABLE || span.close <= span.end);
        REQUIRE(span.pipe < 0 || within({span.inner, span.pipe}, span.close));
        REQUIRE(span.colon < 0 || within({span.inner, span.colon}, span.close));
        last = span.begin;
    }
}

static void check_plain(const Plain& plain, bool ascii) {
    int64_t points = 0, lines = 0;
    for (const char c : plain.text) {
        points += (c & 0xC0) != 0x80;
        lines += c == '\n';
    }
    for (const Link& link : plain.links) {
        const bool placed = link.place.begin >= 0;
        REQUIRE(within(link.target, std::ssize(plain.targets)));
        REQUIRE(within(link.anchor, std::ssize(placed ? plain.text : plain.aside)));
        REQUIRE(placed ? within(link.place, points) : link.place.end == -1);
        REQUIRE(!(placed && link.flags & (HIDDEN | IN_TEMPLATE | IN_REF | IN_CAPTION)));
        REQUIRE(link.line >= 0 && link.line <= lines + 1);
    }
    int32_t end = 0;
    for (const Range& range : plain.bold) {
        REQUIRE(within({end, range.begin}, range.end) && range.begin < range.end);
        end = range.end;
    }
    REQUIRE(end <= points);
    if (ascii) check_white_space(plain.text);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    static const Lexicon lexicon{
        {{"amp", "&"}, {"lt", "<"}, {"nbsp", "\u00a0"}, {"nGt", "\u226b\u20d2"}, {"copy", "©"}},
        {"a", "b", "e", "s", "é", "ж"}};
    const Source source({reinterpret_cast<const char*>(data), size});
    const bool ascii = std::all_of(data, data + size, [](uint8_t byte) { return byte < 128; });
    const int64_t length = static_cast<int64_t>(size) + 10;
    int64_t steps = 0;
    std::vector<Span> spans = find_spans(source, steps);
    check_spans(spans, source.size());
    // Links with some prefixes are hidden: `Image:` is, `File:` is not.
    for (Span& span : spans) span.hidden = span.colon >= 0 && source[span.inner] % 2 == 1;
    const Plain plain = write_plain(source, spans, lexicon, steps);
    check_plain(plain, ascii);
    REQUIRE(steps <= 40 * length);
    REQUIRE(std::ssize(plain.text) + std::ssize(plain.aside) + std::ssize(plain.targets) <=
            4 * length);
    return 0;
}
