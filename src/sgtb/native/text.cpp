// Text: tokens, names found in running text, pages counted, rows of decimal numbers.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>

#include "bind.hpp"
#include "check.hpp"
#include "interrupt.hpp"
#include "word_table.hpp"

namespace sgtb {

namespace {

std::string_view text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(bytes.size())};
}

// ---- tokens of ASCII text; text/tokenization.py has the rules for any text

// White space as Python has it.
bool is_gap(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

class AsciiText {
public:
    explicit AsciiText(std::string_view text) : text_(text) {}

    // The end of the token that begins at a position.
    std::size_t token_end(std::size_t i) const {
        if (const std::size_t end = initials_end(i)) return end;
        if (const std::size_t end = number_end(i)) return end;
        if (is_genitive(i)) return i + 2;
        if (is_word(at(i))) return word_end(i);
        const char sign = at(i);  // ... and -- are one token
        if (sign != '.' && sign != '-') return i + 1;
        return skip(i, [&](char c) { return c == sign; });
    }

private:
    // A character, 0 behind the end.
    char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

    template <class Matches>
    std::size_t skip(std::size_t i, Matches matches) const {
        while (i < text_.size() && matches(text_[i])) ++i;
        return i;
    }

    // U.S. and U.S.A; 0: no such token.
    std::size_t initials_end(std::size_t i) const {
        const std::size_t first = i;
        while (is_letter(at(i)) && at(i + 1) == '.') i += 2;
        if (i - first < 4) return 0;
        return is_letter(at(i)) && !is_word(at(i + 1)) ? i + 1 : i;
    }

    // 1,234.5 and 12:30; 0: no such token.
    std::size_t number_end(std::size_t i) const {
        if (!is_digit(at(i))) return 0;
        const std::size_t whole = i = skip(i, is_digit);
        while ((at(i) == '.' || at(i) == ',' || at(i) == ':') && is_digit(at(i + 1)))
            i = skip(i + 1, is_digit);
        return i > whole ? i : 0;
    }

    // 's, but not the beginning of 'scuse.
    bool is_genitive(std::size_t i) const {
        return at(i) == '\'' && (at(i + 1) == 's' || at(i + 1) == 'S') && !is_word(at(i + 2));
    }

    // AT&T, O'Brien and so-called.
    std::size_t word_end(std::size_t i) const {
        i = skip(i, is_word);
        while ((at(i) == '-' || at(i) == '&' || (at(i) == '\'' && !is_genitive(i))) &&
               is_word(at(i + 1)))
            i = skip(i + 1, is_word);
        return i;
    }

    std::string_view text_;
};

// Write the starts and ends of the tokens of an ASCII text; returns how many there are.
int64_t find_ascii_tokens(Bytes text, Array<int64_t> starts, Array<int64_t> ends) {
    SGTB_CHECK_LENGTHS(text.size(), starts, ends);
    check_range(text, 0, 128, "text");
    const AsciiText given(text_of(text));
    int64_t n = 0;
    for (int64_t i = 0; i < text.size();) {
        if (is_gap(static_cast<char>(text[i]))) {
            ++i;
            continue;
        }
        starts[n] = i;
        i = static_cast<int64_t>(given.token_end(static_cast<std::size_t>(i)));
        ends[n++] = i;
    }
    return n;
}

// ---- hashes of names, made of the hashes of their words

constexpr uint64_t HASH_START = 0xCBF29CE484222325, HASH_PRIME = 0x100000001B3;

uint64_t with_byte(uint64_t word, uint8_t byte) { return (word ^ byte) * HASH_PRIME; }

uint64_t with_word(uint64_t name, uint64_t word) {
    uint64_t mixed = (name * HASH_PRIME) ^ word;
    mixed = (mixed ^ (mixed >> 33)) * 0xFF51AFD7ED558CCD;
    mixed = (mixed ^ (mixed >> 33)) * 0xC4CEB9FE1A85EC53;
    return mixed ^ (mixed >> 33);
}

// Hash names that lie one after the other, words with single spaces.
void hash_names(Bytes names, Longs offsets, Array<uint64_t> out) {
    check_offsets(offsets, out.size(), names.size(), "offsets");
    for (int64_t i = 0; i < out.size(); ++i) {
        uint64_t name = HASH_START, word = HASH_START;
        for (int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
            if (names[k] == ' ') {
                name = with_word(name, word);
                word = HASH_START;
            } else {
                word = with_byte(word, names[k]);
            }
        }
        out[i] = with_word(name, word);
    }
}

// ---- a hash table of bounded size: in how many pages each key occurs

class PageCounter {
public:
    explicit PageCounter(int64_t memory) {
        const auto slots = static_cast<uint64_t>(memory) / sizeof(Slot);
        resize(std::max<uint64_t>(1 << 10, std::bit_floor(slots)));
    }

    // Whether so many keys more fit. An empty table grows, another has to be drained first.
    bool make_room(uint64_t keys) {
        // A quarter of the slots stays free so that search stays short.
        auto room = [&] { return slots_.size() - slots_.size() / 4; };
        if (used_ == 0)
            while (keys > room()) resize(2 * slots_.size());
        return used_ + keys <= room();
    }

    void begin_page() { ++page_; }

    // Count a key, once per page. There must be room for it.
    void count(uint64_t key) {
        std::size_t at = (key * 0x9E3779B97F4A7C15) >> 32 & mask_;
        while (slots_[at].pages != 0 && slots_[at].key != key) at = (at + 1) & mask_;
        Slot& slot = slots_[at];
        if (slot.pages == 0) {
            slot.key = key;
            ++used_;
        } else if (slot.last == page_) {
            return;
        }
        slot.last = page_;
        ++slot.pages;
    }

    int64_t used() const { return static_cast<int64_t>(used_); }

    // Write all keys and their counts, and forget them.
    void drain(Array<uint64_t> keys, Array<uint32_t> pages) {
        int64_t i = 0;
        for (Slot& slot : slots_) {
            if (slot.pages == 0) continue;
            keys[i] = slot.key;
            pages[i++] = slot.pages;
            slot.pages = 0;
        }
        used_ = 0;
        page_ = 0;
    }

    std::mutex guard;  // held while counting or draining

private:
    struct Slot {
        uint64_t key;
        uint32_t last;   // the page that counted the key last, as its number since the last drain
        uint32_t pages;  // 0: the slot is free
    };

    void resize(std::size_t size) {
        slots_.assign(size, {0, 0, 0});
        mask_ = size - 1;
    }

    std::vector<Slot> slots_;  // a power of two
    std::size_t mask_ = 0, used_ = 0;
    uint32_t page_ = 0;
};

PageCounter* make_page_counter(int64_t memory) {
    check_value(memory, 0, INT64_MAX, "memory");
    return new PageCounter(memory);
}

int64_t count_keys(PageCounter* counter) {
    std::lock_guard lock(counter->guard);
    return counter->used();
}

void drain_counter(PageCounter* counter, Array<uint64_t> keys, Array<uint32_t> pages) {
    std::lock_guard lock(counter->guard);
    SGTB_CHECK_LENGTHS(counter->used(), keys, pages);
    counter->drain(keys, pages);
}

// Count the pairs of entities that are linked near each other, page by page: each link with up
// to `window` of the next ones in its line. Entity -1: none.
//
// Counts the pages from link `first` on; returns where the page begins that found no room.
int64_t count_pairs(PageCounter* counter, Longs page, Ints line, Ints entity, int64_t window,
                    int64_t first) {
    const int64_t n = page.size();
    SGTB_CHECK_LENGTHS(n, line, entity);
    check_value(window, 0, 1 << 16, "window");
    check_value(first, 0, n + 1, "first");
    std::lock_guard lock(counter->guard);
    Interrupt interrupt;
    for (int64_t begin = first, end; begin < n; begin = end) {
        interrupt.check();
        for (end = begin + 1; end < n && page[end] == page[begin];) ++end;
        if (!counter->make_room((end - begin) * window)) return begin;
        counter->begin_page();
        for (int64_t i = begin; i < end; ++i) {
            if (entity[i] < 0) continue;
            int64_t seen = 0;
            for (int64_t j = i + 1; j < end && seen < window && line[j] == line[i]; ++j) {
                if (entity[j] < 0) continue;
                ++seen;
                if (entity[j] == entity[i]) continue;
                const uint64_t low = std::min(entity[i], entity[j]);
                const uint64_t high = std::max(entity[i], entity[j]);
                counter->count(low << 32 | high);
            }
        }
    }
    return n;
}

// ---- names in running text, by their hashes

// A Bloom filter: `bits` say of a hash that it is no name, or that it may be one.
constexpr int PROBES = 3;

void check_filter(Bytes bits) {
    if (!std::has_single_bit(static_cast<uint64_t>(bits.size())))
        fail("bits", "length " + std::to_string(bits.size()) + " is no power of two");
}

uint64_t filter_bit(Bytes bits, uint64_t hash, uint64_t probe) {  // double hashing
    const uint64_t low = hash & 0x7FFFFFFF, high = hash >> 33;
    return (low + (high << 8) + probe * (high | 1)) & (bits.size() * 8 - 1);
}

bool may_be_name(Bytes bits, uint64_t hash) {
    for (int probe = 0; probe < PROBES; ++probe) {
        const uint64_t bit = filter_bit(bits, hash, probe);
        if (!(bits[bit >> 3] >> (bit & 7) & 1)) return false;
    }
    return true;
}

void set_name_bits(Array<uint8_t> bits, Array<const uint64_t> hashes) {
    check_filter(bits);
    for (const uint64_t hash : hashes)
        for (int probe = 0; probe < PROBES; ++probe) {
            const uint64_t bit = filter_bit(bits, hash, probe);
            bits[bit >> 3] |= static_cast<uint8_t>(1 << (bit & 7));
        }
}

constexpr int64_t MAX_WORDS = 6;  // of a name

// Count the names in pages of text: words with single spaces, lines ended by \n, pages by \f.
//
// Counts the pages from `at` on; returns where the page begins that found no room.
int64_t find_names(PageCounter* counter, Bytes bits, Bytes text, int64_t at) {
    check_filter(bits);
    check_value(at, 0, text.size() + 1, "at");
    std::lock_guard lock(counter->guard);
    Interrupt interrupt;
    while (at < text.size()) {
        interrupt.check();
        const std::string_view rest = text_of(text).substr(at);
        const std::string_view page = rest.substr(0, rest.find('\f'));
        const auto n_words = std::ranges::count(page, ' ') + std::ranges::count(page, '\n') + 1;
        if (!counter->make_room(n_words * MAX_WORDS)) return at;
        counter->begin_page();
        uint64_t begun[MAX_WORDS];  // a ring: sequences of words that end here, by their first word
        uint64_t word = HASH_START;
        bool empty = true;  // the word
        int64_t n_before = 0;  // words of the line before this one
        const int64_t end = at + static_cast<int64_t>(std::min(page.size() + 1, rest.size()));
        while (at < end) {
            const uint8_t byte = text[at++];
            if (byte != ' ' && byte != '\n' && byte != '\f') {
                word = with_byte(word, byte);
                empty = false;
                continue;
            }
            if (!empty) {
                begun[n_before++ % MAX_WORDS] = HASH_START;
                for (int64_t i = 0; i < std::min(n_before, MAX_WORDS); ++i) {
                    begun[i] = with_word(begun[i], word);
                    if (may_be_name(bits, begun[i])) counter->count(begun[i]);
                }
                word = HASH_START;
                empty = true;
            }
            if (byte == '\n') n_before = 0;
        }
    }
    return at;
}

// ---- names in running text, with their places

// Signs within the text; see pages/cased_text.py.
enum Sign : uint8_t {
    CAPITAL = 1,   // before a word that does not begin in lower case
    SENTENCE = 2,  // a sentence ends
    BREAK = 3,     // no name goes on beyond it
    COMMA = 4,     // a comma after a word
    DIGIT = 5,     // before a word that begins with a digit
};

// How a name may be written.
enum NameUse : uint8_t {
    IN_LOWER_CASE = 1,
    WITH_COMMA = 2,
};

// The names to find: table of their hashes, and how each may be written.
struct NameTable {
    WordTable table;
    Bytes uses;
};

// Names found: page, line within it, words of the line up to the name's end, hash of the name, and
// whether it was found only because it may be in lower case.
struct NameMatches {
    Array<int32_t> page, line, word;
    Array<uint64_t> hash;
    Array<uint8_t> lower;
};

struct CasedWord {
    uint64_t hash = HASH_START;
    int32_t place = 0;  // words of the line up to this one
    bool capital = false, digit = false, fresh = false, comma = false;
};

// The longest names of a run of words, from left to right.
class NameMatcher {
public:
    NameMatcher(const NameTable& names, const NameMatches& out) : names_(names), out_(out) {}

    std::vector<CasedWord> words;  // since the last break

    void match(int32_t page, int32_t line) {
        const auto n = static_cast<int64_t>(words.size());
        for (int64_t i = 0; i < n;) {
            uint64_t name = HASH_START, best = 0;
            int64_t next = 0;
            bool comma = false, lower = false;
            for (int64_t j = i; j < std::min(n, i + MAX_WORDS); ++j) {
                comma |= j > i && words[j - 1].comma;
                name = with_word(name, words[j].hash);
                const int32_t number = names_.table.numbers[names_.table.place(name)];
                if (number < 0) continue;
                const uint8_t uses = names_.uses[number];
                if (comma && !(uses & WITH_COMMA)) continue;
                const bool shown = is_shown(i, j);
                if (!shown && !(uses & IN_LOWER_CASE)) continue;
                best = name, next = j + 1, lower = !shown;
            }
            i = next ? next : i + 1;
            if (!next) continue;
            out_.page[size_] = page;
            out_.line[size_] = line;
            out_.word[size_] = words[next - 1].place;
            out_.hash[size_] = best;
            out_.lower[size_++] = lower;
        }
        words.clear();
    }

    int64_t size() const { return size_; }

private:
    // Whether words are written as a name: capitals at both ends, and a single word neither at the
    // beginning of a sentence nor next to another capital.
    bool is_shown(int64_t i, int64_t j) const {
        auto upper = [&](int64_t k) { return words[k].capital || words[k].digit; };
        if (i < j) return upper(i) && upper(j) && (words[i].capital || words[j].capital);
        if (!words[i].capital || words[i].fresh) return false;
        const bool before = i > 0 && words[i - 1].capital && !words[i - 1].fresh &&
                            !words[i - 1].comma;
        const bool after = i + 1 < static_cast<int64_t>(words.size()) && words[i + 1].capital &&
                           !words[i].comma;
        return !before && !after;
    }

    const NameTable& names_;
    const NameMatches& out_;
    int64_t size_ = 0;
};

}  // namespace

SGTB_RECORD(NameTable, table, uses)
SGTB_RECORD(NameMatches, page, line, word, hash, lower)

namespace {

// Find names in pages of text with signs: words with single spaces, lines ended by \n, pages by \f.
// Returns their number; of names that overlap the first and longest is found.
int64_t match_names(NameTable names, Bytes text, NameMatches out) {
    check_table(names.table);
    check_range(names.table.numbers, -1, names.uses.size(), "names.table.numbers");
    const auto ends = std::ranges::count_if(
        text, [](uint8_t c) { return c == ' ' || c == '\n' || c == '\f'; });
    SGTB_CHECK_LENGTHS(ends + 1, out.page, out.line, out.word, out.hash, out.lower);
    NameMatcher matcher(names, out);
    Interrupt interrupt;
    CasedWord word;
    bool empty = true, stop = false, ended = false, fresh = true;  // ended: a sentence
    int32_t page = 0, line = 0, n_words = 0;
    auto end_run = [&] {
        matcher.match(page, line);
        fresh |= ended;
        stop = ended = false;
    };
    auto end_word = [&] {
        if (!empty) {
            word.place = ++n_words;
            word.fresh = fresh;
            fresh = false;
            matcher.words.push_back(word);
            if (stop) end_run();
        }
        word = {};
        empty = true;
    };
    for (const uint8_t byte : text) {
        switch (byte) {
            case CAPITAL: word.capital = true; break;
            case DIGIT: word.digit = true; break;
            case COMMA: word.comma = true; break;
            case SENTENCE: ended = true; [[fallthrough]];
            case BREAK:
                stop = true;
                if (empty) end_run();
                break;
            case ' ': end_word(); break;
            case '\n': case '\f':
                end_word();
                end_run();
                fresh = true;
                n_words = 0;
                ++line;
                if (byte == '\f') {
                    interrupt.check();
                    ++page;
                    line = 0;
                }
                break;
            default:
                word.hash = with_byte(word.hash, byte);
                empty = false;
        }
    }
    end_word();
    end_run();
    return matcher.size();
}

// ---- rows of a key and decimal numbers

// Whether Python's bytes.split() splits here.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Read a number that takes the whole word; nan if it does not, or is beyond double precision.
double read_whole(std::string_view word) {
    double value = std::numeric_limits<double>::quiet_NaN();
#if defined(__cpp_lib_to_chars)
    const char* const end = word.data() + word.size();
    if (std::from_chars(word.data(), end, value).ptr == end) return value;
#else  // libc++ of older systems
    const std::string copy(word);
    char* end = nullptr;
    errno = 0;
    value = std::strtod(copy.c_str(), &end);
    const bool whole = end == copy.c_str() + copy.size() && copy.find_first_of("xX") == copy.npos;
    if (whole && errno != ERANGE) return value;
#endif
    return std::numeric_limits<double>::quiet_NaN();
}

// A decimal number as Python reads it, in single precision; nan for anything else, or for one
// beyond double precision.
float read_decimal(std::string_view word) {
    const bool minus = word.starts_with('-');
    if (minus || word.starts_with('+')) word.remove_prefix(1);
    // Not a second sign, nor a word such as "inf".
    const bool begins = !word.empty() && (word[0] == '.' || (word[0] >= '0' && word[0] <= '9'));
    const double value = begins ? read_whole(word) : std::numeric_limits<double>::quiet_NaN();
    return static_cast<float>(minus ? -value : value);
}

// Take the last word off a line.
std::string_view take_last(std::string_view& line) {
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
    std::size_t begin = line.size();
    while (begin > 0 && !is_space(line[begin - 1])) --begin;
    const std::string_view word = line.substr(begin);
    line.remove_suffix(word.size());
    return word;
}

// Read lines of a key, which `separator` ends, and numbers; the first begins at `at`.
//
// Stops before the first line that is not plain: a word that is no number, a key with white space,
// another number of values. Writes the range of each key to `keys` and returns the number of lines
// read, and where the next one begins.
std::tuple<int64_t, int64_t> read_decimal_rows(Bytes data, int64_t separator, int64_t at,
                                               int64_t most, Array<int64_t, 2> keys,
                                               Array<float, 2> out) {
    check_value(separator, 0, 256, "separator");
    check_value(at, 0, data.size() + 1, "at");
    check_shape(keys, {out.shape(0), 2}, "keys");
    const std::string_view text = text_of(data);
    Interrupt interrupt;
    for (int64_t row = 0; row < std::min(most, out.shape(0)); ++row) {
        if (row % 256 == 0) interrupt.check();
        const auto end = text.find('\n', at);
        if (end == std::string_view::npos) return {row, at};
        std::string_view line = text.substr(at, end - at);
        const std::string_view key = line.substr(0, line.find(static_cast<char>(separator)));
        line.remove_prefix(key.size());
        // From the right, so that too many values do not end up in the key unnoticed.
        for (int64_t k = out.shape(1) - 1; k >= 0; --k) {
            const float value = read_decimal(take_last(line));
            if (std::isnan(value)) return {row, at};
            out(row, k) = value;
        }
        if (key.empty() || !std::ranges::all_of(line, is_space)) return {row, at};
        keys(row, 0) = at;
        keys(row, 1) = at + static_cast<int64_t>(key.size());
        at = static_cast<int64_t>(end) + 1;
    }
    return {std::clamp<int64_t>(most, 0, out.shape(0)), at};
}

}  // namespace

void bind_text(nb::module_& module) {
    SGTB_BIND(find_ascii_tokens, text, starts, ends);
    SGTB_BIND(hash_names, names, offsets, out);
    nb::class_<PageCounter>(module, "PageCounter");
    SGTB_BIND(make_page_counter, memory);
    SGTB_BIND(count_keys, counter);
    SGTB_BIND(drain_counter, counter, keys, pages);
    SGTB_BIND(count_pairs, counter, page, line, entity, window, first);
    SGTB_BIND(set_name_bits, bits, hashes);
    SGTB_BIND(find_names, counter, bits, text, at);
    SGTB_BIND(match_names, names, text, out);
    SGTB_BIND(read_decimal_rows, data, separator, at, most, keys, out);
    module.attr("MAX_NAME_WORDS") = MAX_WORDS;
}

}  // namespace sgtb
