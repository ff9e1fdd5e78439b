// Words of short texts: their normal form, and their numbers in a lexicon.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "bind.hpp"
#include "check.hpp"
#include "interrupt.hpp"

namespace sgtb {

namespace {

// Words one after the other, and a hash table of their numbers; -1: an empty place.
struct WordTable {
    Bytes text;
    Longs offsets;
    Ints slots;

    std::string_view word(int64_t number) const {
        check_value(number, 0, offsets.size() - 1, "table.slots");
        const int64_t begin = offsets[number], end = offsets[number + 1];
        if (begin < 0 || begin > end || end > text.size()) fail("table.offsets", "not ascending");
        return {reinterpret_cast<const char*>(text.data()) + begin,
                static_cast<std::size_t>(end - begin)};
    }

    // The place of a word in the hash table, or the empty one where it would be.
    int64_t slot(std::string_view wanted) const {
        uint64_t hash = 0xCBF29CE484222325;
        for (const char byte : wanted) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001B3;
        const auto mask = static_cast<uint64_t>(slots.size() - 1);
        uint64_t at = (hash ^ (hash >> 32)) & mask;
        for (int64_t probes = 0; probes < slots.size(); ++probes, at = (at + 1) & mask)
            if (slots[at] < 0 || word(slots[at]) == wanted) return static_cast<int64_t>(at);
        fail("table.slots", "no place is empty");
    }
};

}  // namespace

SGTB_RECORD(WordTable, text, offsets, slots)

namespace {

void check_table(const WordTable& table) {
    check_at_least(table.offsets.size(), 1, "table.offsets");
    check_at_least(table.slots.size(), 1, "table.slots");
    if (table.slots.size() & (table.slots.size() - 1))
        fail("table.slots", "the length is no power of two");
}

// Enter words into an empty hash table; of equal words, the first is found.
void fill_word_table(Bytes text, Longs offsets, Ints words, Array<int32_t> slots) {
    const WordTable table{text, offsets, slots};
    check_table(table);
    check_range(words, 0, offsets.size() - 1, "words");
    check_value(words.size(), 0, slots.size(), "length of words");
    for (const int32_t number : words) {
        const int64_t at = table.slot(table.word(number));
        if (slots[at] < 0) slots[at] = number;
    }
}

bool is_letter(uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

// Call visit(word) for the words of an ASCII text or of one in normal form: lower case, without
// possessives; full stops and apostrophes join what they stand in.
template <class Visit>
void each_word(std::string_view text, std::string& word, Visit visit) {
    word.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (is_letter(c)) {
            word.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c);
        } else if (c == '\'' && i + 1 < text.size() && text[i + 1] == 's' &&
                   (i + 2 == text.size() || !(is_letter(text[i + 2]) || text[i + 2] == '_'))) {
            ++i;
        } else if (c != '.' && c != '\'' && !word.empty()) {
            visit(word);
            word.clear();
        }
    }
    if (!word.empty()) visit(word);
}

// Write the numbers of the words of texts, ascending and each once; return how many there are.
//
// in_normal_form  otherwise, texts that are not ASCII are skipped and marked in `skipped`
int64_t number_words(const WordTable& table, Bytes text, Longs starts, Longs ends,
                     bool in_normal_form, Array<int64_t> offsets, Array<int32_t> numbers,
                     Array<uint8_t> skipped) {
    const int64_t n = starts.size();
    check_table(table);
    check_equal(ends.size(), n, "ends");
    check_equal(offsets.size(), n + 1, "offsets");
    check_equal(skipped.size(), n, "skipped");
    std::vector<int32_t> found;
    std::string word;
    int64_t at = 0;
    offsets[0] = 0;
    Interrupt interrupt;
    for (int64_t i = 0; i < n; ++i) {
        if (i % 1024 == 0) interrupt.check();
        check_value(ends[i], 0, text.size() + 1, "ends");
        check_value(starts[i], 0, ends[i] + 1, "starts");
        const auto* const begin = reinterpret_cast<const char*>(text.data()) + starts[i];
        const std::string_view own(begin, static_cast<std::size_t>(ends[i] - starts[i]));
        skipped[i] = !in_normal_form &&
                     std::any_of(own.begin(), own.end(), [](uint8_t c) { return c >= 0x80; });
        found.clear();
        if (!skipped[i])
            each_word(own, word, [&](std::string_view one) {
                const int32_t number = table.slots[table.slot(one)];
                if (number >= 0) found.push_back(number);
            });
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        check_at_least(numbers.size(), at + static_cast<int64_t>(found.size()), "numbers");
        at = std::copy(found.begin(), found.end(), numbers.data() + at) - numbers.data();
        offsets[i + 1] = at;
    }
    return at;
}

}  // namespace

void bind_words(nb::module_& module) {
    bind<&fill_word_table>(module, "fill_word_table", "text", "offsets", "words", "slots");
    bind<&number_words>(module, "number_words", "table", "text", "starts", "ends",
                        "in_normal_form", "offsets", "numbers", "skipped");
}

}  // namespace sgtb
