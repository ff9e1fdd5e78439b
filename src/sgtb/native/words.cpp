// Words of short texts: their normal form, their numbers in a lexicon, names as numbers.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "hash.hpp"
#include "interrupt.hpp"
#include "ragged.hpp"
#include "utf8.hpp"
#include "word_table.hpp"

namespace sgtb {

namespace {

struct Texts {
    Bytes data;
    Longs starts, ends;

    int64_t size() const { return starts.size(); }

    std::string_view text(int64_t i) const {
        check_value(ends[i], 0, data.size() + 1, "texts.ends");
        check_value(starts[i], 0, ends[i] + 1, "texts.starts");
        return {reinterpret_cast<const char*>(data.data()) + starts[i],
                static_cast<std::size_t>(ends[i] - starts[i])};
    }
};
SGTB_RECORD(Texts, data, starts, ends)

using NumberLists = Ragged<const int32_t>;

// See linking/entities/fingerprints.py.
struct NameFingerprints {
    Array<uint64_t> whole, squeezed, initials;
    Array<uint64_t, 2> beginning;
    Ragged<uint64_t> words, trigrams;
};
SGTB_RECORD(NameFingerprints, whole, squeezed, initials, beginning, words, trigrams)

// Enter the hashes of words, by number, into an empty hash table; `left_out` is not entered.
void fill_word_table(Array<const uint64_t> words, Bytes left_out, Array<uint64_t> hashes,
                     Array<int32_t> numbers) {
    const WordTable table{hashes, numbers};
    check_table(table);
    check_value(words.size(), 0, numbers.size(), "length of words");
    check_equal(left_out.size(), words.size(), "left_out");
    for (int64_t i = 0; i < words.size(); ++i) {
        if (left_out[i]) continue;
        const int64_t at = table.place(words[i]);
        hashes[at] = words[i];
        numbers[at] = static_cast<int32_t>(i);
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
int64_t number_words(const WordTable& table, const Texts& texts, bool in_normal_form,
                     Array<int64_t> offsets, Array<int32_t> numbers, Array<uint8_t> skipped) {
    const int64_t n = texts.size();
    check_table(table);
    check_equal(texts.ends.size(), n, "texts.ends");
    check_equal(offsets.size(), n + 1, "offsets");
    check_equal(skipped.size(), n, "skipped");
    std::vector<int32_t> found;
    std::string word;
    int64_t at = 0;
    offsets[0] = 0;
    Interrupt interrupt;
    for (int64_t i = 0; i < n; ++i) {
        if (i % 1024 == 0) interrupt.check();
        const std::string_view own = texts.text(i);
        skipped[i] = !in_normal_form &&
                     std::any_of(own.begin(), own.end(), [](uint8_t c) { return c >= 0x80; });
        found.clear();
        if (!skipped[i])
            each_word(own, word, [&](std::string_view one) {
                const int32_t number = table.numbers[table.place(Hash().add(one).value())];
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

// Sum the words of texts that are linked with each row, and those of its own text, which count 1.
// Columns ascend; sums are in the order of links. Returns the number of entries.
//
// linked  of each row, the numbers of texts
// weight  of each text
int64_t sum_words(const NumberLists& linked, const NumberLists& texts, Doubles weight,
                  const NumberLists& own, Array<int64_t> offsets, Array<int32_t> columns,
                  Array<float> values) {
    const int64_t n = linked.indptr.size() - 1, n_texts = weight.size();
    check_ragged(linked, n, "linked");
    check_range(linked.data, 0, n_texts, "linked.data");
    check_ragged(texts, n_texts, "texts");
    check_ragged(own, n, "own");
    check_equal(offsets.size(), n + 1, "offsets");
    check_equal(values.size(), columns.size(), "values");
    std::vector<std::pair<int32_t, double>> words;
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t r = 0; r < n; ++r) {
        words.clear();
        for (const int32_t t : linked[r])
            for (const int32_t word : texts[t]) words.emplace_back(word, weight[t]);
        for (const int32_t word : own[r]) words.emplace_back(word, 1.0);
        std::stable_sort(words.begin(), words.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        check_at_least(columns.size(), at + static_cast<int64_t>(words.size()), "columns");
        for (auto word = words.begin(); word != words.end(); ++at) {
            double sum = 0.0;
            columns[at] = word->first;
            while (word != words.end() && word->first == columns[at]) sum += (word++)->second;
            values[at] = static_cast<float>(sum);
        }
        offsets[r + 1] = at;
    }
    return at;
}

// ---- names as numbers

void hash_texts(const Texts& texts, Array<uint64_t> out) {
    SGTB_CHECK_LENGTHS(texts.size(), texts.ends, out);
    for (int64_t i = 0; i < texts.size(); ++i) out[i] = Hash().add(texts.text(i)).value();
}

// The bytes of the first letter of a text in UTF-8.
std::string_view first_letter(std::string_view text) {
    std::size_t n = std::min<std::size_t>(text.size(), 1);
    while (n < text.size() && (text[n] & 0xC0) == 0x80) ++n;
    return text.substr(0, n);
}

// Write the fingerprints of names in normal form; return the numbers of words and of trigrams.
std::tuple<int64_t, int64_t> fingerprint_names(const Texts& names, const NameFingerprints& out) {
    const int64_t n = names.size();
    SGTB_CHECK_LENGTHS(n, names.ends, out.whole, out.squeezed, out.initials);
    check_equal(out.beginning.shape(0), n, "out.beginning");
    SGTB_CHECK_LENGTHS(n + 1, out.words.indptr, out.trigrams.indptr);
    std::vector<uint64_t> letters, runs;
    int64_t n_words = 0, n_trigrams = 0;
    out.words.indptr[0] = out.trigrams.indptr[0] = 0;
    for (int64_t i = 0; i < n; ++i) {
        const std::string_view name = names.text(i);
        const auto size = static_cast<int64_t>(name.size());
        check_at_least(out.words.data.size(), n_words + (size + 1) / 2, "out.words.data");
        check_at_least(out.trigrams.data.size(), n_trigrams + size, "out.trigrams.data");
        out.whole[i] = Hash().add(name).value();
        letters.assign(1, ' ');
        Hash beginning;
        for (std::string_view rest = name; !rest.empty();) {
            const std::string_view letter = first_letter(rest);
            rest.remove_prefix(letter.size());
            letters.push_back(character_at(letter, 0).code);
            beginning.add(letter);
            const auto place = static_cast<int64_t>(letters.size()) - 2;
            if (place < out.beginning.shape(1)) out.beginning(i, place) = beginning.value();
        }
        for (auto place = static_cast<int64_t>(letters.size()) - 1;
             place < out.beginning.shape(1); ++place)
            out.beginning(i, place) = beginning.value();
        letters.push_back(' ');
        Hash squeezed, initials;
        for (std::string_view rest = name; !rest.empty();) {
            const std::string_view word = rest.substr(0, rest.find(' '));
            rest.remove_prefix(std::min(word.size() + 1, rest.size()));
            if (word.empty()) continue;
            out.words.data[n_words++] = Hash().add(word).value();
            squeezed.add(word);
            initials.add(first_letter(word));
        }
        out.words.indptr[i + 1] = n_words;
        out.squeezed[i] = squeezed.value();
        out.initials[i] = initials.value();
        runs.clear();
        for (std::size_t k = 2; k < letters.size(); ++k)
            runs.push_back(letters[k - 2] << 42 | letters[k - 1] << 21 | letters[k]);
        std::sort(runs.begin(), runs.end());
        runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
        std::copy(runs.begin(), runs.end(), out.trigrams.data.data() + n_trigrams);
        n_trigrams += static_cast<int64_t>(runs.size());
        out.trigrams.indptr[i + 1] = n_trigrams;
    }
    return {n_words, n_trigrams};
}

}  // namespace

void bind_words(nb::module_& module) {
    SGTB_BIND(fill_word_table, words, left_out, hashes, numbers);
    SGTB_BIND(number_words, table, texts, in_normal_form, offsets, numbers, skipped);
    SGTB_BIND(sum_words, linked, texts, weight, own, offsets, columns, values);
    SGTB_BIND(hash_texts, texts, out);
    SGTB_BIND(fingerprint_names, names, out);
}

}  // namespace sgtb
