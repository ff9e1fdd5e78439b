// Features of candidates: names, repeated mentions, nodes, and the columns of their table.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "check.hpp"
#include "interrupt.hpp"
#include "ragged.hpp"

namespace sgtb {

namespace {

using Words = Array<const uint64_t>;

struct NameFingerprints {
    Words whole, squeezed, initials;
    Array<const uint64_t, 2> beginning;
    Ragged<const uint64_t> words, trigrams;
};

struct MentionKeys {  // what mentions of one name must share to be repeats; floats by their bits
    Longs name, full_name;
    Ints candidate_offsets, entity;
    Array<const uint32_t> prior;
    Longs word_offsets;
    Ints words;
    Array<const uint32_t> values;
};

struct Nodes {
    Array<int64_t> offsets;
    Array<int32_t> entity, number;
    Array<int64_t> place;
};

struct Part {  // columns of a table, and which row of it each candidate has
    Array<const float, 2> values;
    Longs rows, columns;
    bool below_best;
};

}  // namespace

SGTB_RECORD(NameFingerprints, whole, squeezed, initials, beginning, words, trigrams)
SGTB_RECORD(MentionKeys, name, full_name, candidate_offsets, entity, prior, word_offsets, words,
            values)
SGTB_RECORD(Nodes, offsets, entity, number, place)
SGTB_RECORD(Part, values, rows, columns, below_best)

namespace {

// ---- names

using Numbers = std::span<const uint64_t>;

bool contains(Numbers words, uint64_t word) {
    bool found = false;
    for (uint64_t other : words) found |= other == word;
    return found;
}

int64_t count_distinct(Numbers words) {
    int64_t n = 0;
    for (std::size_t i = 0; i < words.size(); ++i) n += !contains(words.first(i), words[i]);
    return n;
}

int64_t count_common(Numbers words, Numbers others) {
    int64_t n = 0;
    for (std::size_t i = 0; i < words.size(); ++i)
        n += !contains(words.first(i), words[i]) && contains(others, words[i]);
    return n;
}

float ratio(int64_t a, int64_t b) {
    return static_cast<float>(static_cast<double>(a) / static_cast<double>(b));
}

// A name of a mention, prepared for the comparison with many titles.
class Name {
public:
    void assign(const NameFingerprints& fingerprints, int64_t i) {
        whole = fingerprints.whole[i];
        words = fingerprints.words[i];
        n_distinct = count_distinct(words);
        trigrams_ = fingerprints.trigrams[i];
        for (shift_ = 58; (std::size_t(1) << (64 - shift_)) < 16 * trigrams_.size();) --shift_;
        slots_.assign((std::size_t(1) << (64 - shift_)) + 1, NONE);
        others_.clear();
        for (uint64_t trigram : trigrams_) {
            uint64_t* const slot = slots_.data() + slot_of(trigram);
            if (slot[0] == NONE)
                slot[0] = trigram;
            else if (slot[1] == NONE)
                slot[1] = trigram;
            else
                others_.push_back(trigram);
        }
    }

    // The share of common words among all words of both.
    float overlap(int64_t n_common, int64_t n_title) const {
        return ratio(n_common, std::max<int64_t>(n_distinct + n_title - n_common, 1));
    }

    // The number of common trigrams against the mean of both.
    float dice(Numbers trigrams) const {
        int64_t common = 0;
        for (uint64_t trigram : trigrams) {
            const uint64_t* const slot = slots_.data() + slot_of(trigram);
            common += (slot[0] == trigram) | (slot[1] == trigram);
        }
        for (uint64_t trigram : others_) common += contains(trigrams, trigram);
        const int64_t total = static_cast<int64_t>(trigrams_.size() + trigrams.size());
        return ratio(2 * common, std::max<int64_t>(total, 1));
    }

    uint64_t whole;
    Numbers words;
    int64_t n_distinct;

private:
    std::size_t slot_of(uint64_t trigram) const { return trigram * 0x9E3779B97F4A7C15u >> shift_; }

    static constexpr uint64_t NONE = ~uint64_t(0);  // no three code points
    Numbers trigrams_;
    std::vector<uint64_t> slots_;  // a hash table: a trigram is in its slot or the next one,
    std::vector<uint64_t> others_;  // or rarely here
    int shift_ = 58;
};

void check_fingerprints(const NameFingerprints& fingerprints, const char* name) {
    const int64_t n = fingerprints.whole.size();
    check_equal(fingerprints.squeezed.size(), n, name);
    check_equal(fingerprints.initials.size(), n, name);
    check_equal(fingerprints.beginning.shape(0), n, name);
    check_ragged(fingerprints.words, n, name);
    check_ragged(fingerprints.trigrams, n, name);
}

// The columns of `compare_names`, as NAMES of features/groups/surface.py.
enum NameColumn {
    NAME_EQUAL, TITLE_EQUAL, FULL_NAME_EQUAL, FULL_TITLE_EQUAL, WORDS_ALIKE,
    FULL_WORDS_ALIKE, LETTERS_ALIKE, FULL_LETTERS_ALIKE, WORDS_WITHIN, STARTS_ALIKE,
    ENDS_ALIKE, ACRONYM, NAME_WITHIN, SAME_BEGINNING, N_NAME_COLUMNS
};

// Compare the names of mentions with the titles of their candidates.
void compare_names(Ints candidate_offsets, Ints entity, Longs name, Longs full_name,
                   const NameFingerprints& names, Ints length, const NameFingerprints& titles,
                   Words whole_title, Array<float, 2> out) {
    const int64_t n_mentions = name.size(), n_names = names.whole.size();
    check_offsets(candidate_offsets, n_mentions, entity.size(), "candidate_offsets");
    check_range(entity, 0, titles.whole.size(), "entity");
    check_range(name, 0, n_names, "name");
    check_equal(full_name.size(), n_mentions, "full_name");
    check_range(full_name, 0, n_names, "full_name");
    check_fingerprints(names, "names");
    check_fingerprints(titles, "titles");
    check_equal(titles.beginning.shape(1), names.beginning.shape(1), "titles.beginning");
    check_equal(length.size(), n_names, "length");
    check_range(length, 0, names.beginning.shape(1) + 1, "length");
    check_equal(whole_title.size(), titles.whole.size(), "whole_title");
    check_shape(out, {entity.size(), N_NAME_COLUMNS}, "out");
    Name own, full;
    Interrupt interrupt;
    for (int64_t m = 0; m < n_mentions; ++m) {
        if (m % 256 == 0) interrupt.check();
        own.assign(names, name[m]);
        const bool is_full = name[m] == full_name[m];
        if (!is_full) full.assign(names, full_name[m]);
        const Numbers words = own.words;
        const int64_t n = static_cast<int64_t>(words.size()), n_letters = length[name[m]];
        for (int64_t c = candidate_offsets[m]; c < candidate_offsets[m + 1]; ++c) {
            const int64_t e = entity[c];
            const Numbers title = titles.words[e];
            const int64_t n_title = count_distinct(title);
            const int64_t common = count_common(words, title);
            float* const to = &out(c, 0);
            to[NAME_EQUAL] = titles.whole[e] == own.whole;
            to[TITLE_EQUAL] = whole_title[e] == own.whole;
            to[WORDS_ALIKE] = own.overlap(common, n_title);
            to[LETTERS_ALIKE] = own.dice(titles.trigrams[e]);
            if (is_full) {
                to[FULL_NAME_EQUAL] = to[NAME_EQUAL];
                to[FULL_TITLE_EQUAL] = to[TITLE_EQUAL];
                to[FULL_WORDS_ALIKE] = to[WORDS_ALIKE];
                to[FULL_LETTERS_ALIKE] = to[LETTERS_ALIKE];
            } else {
                to[FULL_NAME_EQUAL] = titles.whole[e] == full.whole;
                to[FULL_TITLE_EQUAL] = whole_title[e] == full.whole;
                to[FULL_WORDS_ALIKE] = full.overlap(count_common(full.words, title), n_title);
                to[FULL_LETTERS_ALIKE] = full.dice(titles.trigrams[e]);
            }
            to[WORDS_WITHIN] = common == own.n_distinct;
            const int64_t last = static_cast<int64_t>(title.size()) - n;
            auto is_at = [&](int64_t k) {
                bool same = true;
                for (int64_t i = 0; i < n; ++i) same &= words[i] == title[k + i];
                return same;
            };
            to[STARTS_ALIKE] = to[ENDS_ALIKE] = to[NAME_WITHIN] = 0.0f;
            if (last >= 0 && (n > 0 || last == 0)) {
                to[STARTS_ALIKE] = is_at(0);
                to[ENDS_ALIKE] = is_at(last);
                for (int64_t k = 0; k <= last; ++k)
                    to[NAME_WITHIN] = std::max(to[NAME_WITHIN], float(is_at(k)));
            }
            to[ACRONYM] = titles.initials[e] == names.squeezed[name[m]];
            to[SAME_BEGINNING] = n_letters == 0 || titles.beginning(e, n_letters - 1) ==
                                           names.beginning(name[m], n_letters - 1);
        }
    }
}

// ---- repeats

bool is_repeat(const MentionKeys& keys, int64_t a, int64_t b) {
    if (keys.full_name[a] != keys.full_name[b]) return false;
    const int64_t n = keys.candidate_offsets[a + 1] - keys.candidate_offsets[a];
    const int64_t n_words = keys.word_offsets[a + 1] - keys.word_offsets[a];
    if (n != keys.candidate_offsets[b + 1] - keys.candidate_offsets[b]) return false;
    if (n_words != keys.word_offsets[b + 1] - keys.word_offsets[b]) return false;
    auto same = [](const auto& items, int64_t i, int64_t j, int64_t size) {
        return std::equal(items.begin() + i, items.begin() + i + size, items.begin() + j);
    };
    const int64_t i = keys.candidate_offsets[a], j = keys.candidate_offsets[b];
    const int64_t k = keys.word_offsets[a], l = keys.word_offsets[b];
    return same(keys.entity, i, j, n) && same(keys.prior, i, j, n) &&
           same(keys.words, k, l, n_words) && same(keys.values, k, l, n_words);
}

// Group the mentions of each document that repeat each other; return the number of groups.
// first, group_offsets and members are the mentions of groups, place is each candidate's place
// among those of first mentions.
int64_t group_repeats(Ints mention_offsets, const MentionKeys& keys, Array<int64_t> first,
                      Array<int64_t> group_offsets, Array<int64_t> members, Array<int64_t> place) {
    const int64_t n = keys.name.size(), n_documents = mention_offsets.size() - 1;
    check_offsets(mention_offsets, n_documents, n, "mention_offsets");
    check_range(keys.name, 0, n, "keys.name");
    check_equal(keys.full_name.size(), n, "keys.full_name");
    check_offsets(keys.candidate_offsets, n, keys.entity.size(), "keys.candidate_offsets");
    check_equal(keys.prior.size(), keys.entity.size(), "keys.prior");
    check_offsets(keys.word_offsets, n, keys.words.size(), "keys.word_offsets");
    check_equal(keys.values.size(), keys.words.size(), "keys.values");
    check_equal(first.size(), n, "first");
    check_equal(group_offsets.size(), n + 1, "group_offsets");
    check_equal(members.size(), n, "members");
    check_equal(place.size(), keys.entity.size(), "place");
    // The last group of each name, and the group before it of the same name and document.
    std::vector<int64_t> last(n, -1), before(n, -1), at(n), group(n);
    int64_t n_groups = 0, n_once = 0;
    group_offsets[0] = 0;
    for (int64_t d = 0; d < n_documents; ++d) {
        const int64_t first_group = n_groups;
        for (int64_t m = mention_offsets[d]; m < mention_offsets[d + 1]; ++m) {
            int64_t& newest = last[keys.name[m]];
            int64_t g = newest >= first_group ? newest : -1;
            while (g >= 0 && !is_repeat(keys, m, first[g])) g = before[g];
            if (g < 0) {
                g = n_groups++;
                before[g] = newest >= first_group ? newest : -1;
                newest = g;
                first[g] = m;
                at[g] = n_once;
                group_offsets[g + 1] = 0;
                n_once += keys.candidate_offsets[m + 1] - keys.candidate_offsets[m];
            }
            group[m] = g;
            ++group_offsets[g + 1];
            int64_t to = at[g];
            for (int64_t c = keys.candidate_offsets[m]; c < keys.candidate_offsets[m + 1]; ++c)
                place[c] = to++;
        }
    }
    for (int64_t g = 0; g < n_groups; ++g) {
        group_offsets[g + 1] += group_offsets[g];
        at[g] = group_offsets[g];
    }
    for (int64_t m = 0; m < n; ++m) members[at[group[m]]++] = m;
    return n_groups;
}

// ---- nodes

// Number the distinct entities of each document in ascending order.
void number_nodes(Longs borders, Ints entity, int64_t n_entities, const Nodes& nodes) {
    const int64_t n_documents = borders.size() - 1, n = entity.size();
    check_offsets(borders, n_documents, n, "borders");
    check_value(n_entities, 0, INT32_MAX, "n_entities");
    check_range(entity, 0, n_entities, "entity");
    check_equal(nodes.offsets.size(), n_documents + 1, "nodes.offsets");
    SGTB_CHECK_LENGTHS(n, nodes.entity, nodes.number, nodes.place);
    // Candidates in the order of their entities: so each document has its own in this order, too.
    std::vector<int64_t> starts(n_entities + 1), order(n);
    std::vector<int32_t> document(n), last(n_documents, -1);
    for (int64_t d = 0; d < n_documents; ++d)
        for (int64_t c = borders[d]; c < borders[d + 1]; ++c) {
            document[c] = static_cast<int32_t>(d);
            ++starts[entity[c] + 1];
        }
    for (int64_t e = 0; e < n_entities; ++e) starts[e + 1] += starts[e];
    for (int64_t c = 0; c < n; ++c) order[starts[entity[c]]++] = c;
    std::fill(nodes.offsets.begin(), nodes.offsets.end(), 0);
    for (int64_t c : order) {
        const int64_t d = document[c];
        if (last[d] != entity[c]) {
            last[d] = entity[c];
            ++nodes.offsets[d + 1];
        }
        nodes.number[c] = static_cast<int32_t>(nodes.offsets[d + 1] - 1);
    }
    for (int64_t d = 0; d < n_documents; ++d) {
        nodes.offsets[d + 1] += nodes.offsets[d];
        for (int64_t c = borders[d]; c < borders[d + 1]; ++c) {
            nodes.place[c] = nodes.offsets[d] + nodes.number[c];
            nodes.entity[nodes.place[c]] = entity[c];
        }
    }
}

// ---- slices

// Copy slices of items, which are `size` bytes each, to where they begin in `out`.
void copy_slices(Bytes items, int64_t size, Longs starts, Longs offsets, Array<uint8_t> out) {
    check_value(size, 1, 1 << 20, "size");
    const int64_t n_items = items.size() / size;
    check_offsets(offsets, starts.size(), out.size() / size, "offsets");
    for (int64_t r = 0; r < starts.size(); ++r) {
        const int64_t n = offsets[r + 1] - offsets[r];
        check_value(starts[r], 0, n_items - n + 1, "starts");
        if (n) std::memcpy(&out[offsets[r] * size], &items[starts[r] * size], n * size);
    }
}

// ---- functions of values and of groups

constexpr double LOWEST = -std::numeric_limits<double>::infinity();

// Apply a function of the C library. Those of numpy depend on the instruction set.
template <class T, T (*function)(T)>
void apply(Array<const T> values, Array<T> out) {
    check_equal(out.size(), values.size(), "out");
    for (int64_t i = 0; i < values.size(); ++i) out[i] = function(values[i]);
}

// How far values are below the best of their group.
void subtract_best(Doubles values, Longs offsets, Array<double> out) {
    check_offsets(offsets, offsets.size() - 1, values.size(), "offsets");
    check_equal(out.size(), values.size(), "out");
    for (int64_t g = 0; g + 1 < offsets.size(); ++g) {
        double best = LOWEST;
        for (int64_t r = offsets[g]; r < offsets[g + 1]; ++r)
            if (!(values[r] <= best) && best == best) best = values[r];  // NaN stays
        for (int64_t r = offsets[g]; r < offsets[g + 1]; ++r) out[r] = values[r] - best;
    }
}

// How many rows of its group each row is below.
void count_above(Doubles values, Longs offsets, Array<double> out) {
    check_offsets(offsets, offsets.size() - 1, values.size(), "offsets");
    check_equal(out.size(), values.size(), "out");
    for (int64_t g = 0; g + 1 < offsets.size(); ++g)
        for (int64_t r = offsets[g]; r < offsets[g + 1]; ++r) {
            int64_t n = 0;
            for (int64_t i = offsets[g]; i < offsets[g + 1]; ++i) n += values[i] > values[r];
            out[r] = static_cast<double>(n);
        }
}

// ---- the table of candidates

// Fill the first columns of a table, part by part; some are distances to the mention's best.
void fill_columns(Ints offsets, const std::vector<Part>& parts, Array<float, 2> out) {
    const int64_t n = out.shape(0), width = out.shape(1);
    check_offsets(offsets, offsets.size() - 1, n, "offsets");
    int64_t total = 0;
    for (const Part& part : parts) {
        check_equal(part.rows.size(), n, "parts.rows");
        check_range(part.rows, 0, part.values.shape(0), "parts.rows");
        check_range(part.columns, 0, part.values.shape(1), "parts.columns");
        total += part.columns.size();
    }
    check_at_least(width, total, "out");
    Interrupt interrupt;
    for (int64_t m = 0; m + 1 < offsets.size(); ++m) {
        if (m % 256 == 0) interrupt.check();
        const int64_t first = offsets[m], last = offsets[m + 1];
        float* column = out.data();
        for (const Part& part : parts) {
            const int64_t size = part.columns.size();
            const int64_t* const columns = part.columns.data();
            const bool is_run = size > 0 && columns[size - 1] - columns[0] == size - 1;
            for (int64_t c = first; c < last; ++c) {
                const float* __restrict const from = part.values.row(part.rows[c]).data();
                float* __restrict const to = column + c * width;
                if (is_run)
                    for (int64_t k = 0; k < size; ++k) to[k] = from[columns[0] + k];
                else
                    for (int64_t k = 0; k < size; ++k) to[k] = from[columns[k]];
            }
            for (int64_t k = 0; part.below_best && k < size; ++k) {
                double best = LOWEST;
                for (int64_t c = first; c < last; ++c)
                    best = std::max(best, double(column[c * width + k]));
                for (int64_t c = first; c < last; ++c)
                    column[c * width + k] = static_cast<float>(column[c * width + k] - best);
            }
            column += size;
        }
    }
}

}  // namespace

void bind_features(nb::module_& module) {
    SGTB_BIND(compare_names, candidate_offsets, entity, name, full_name, names, length, titles,
              whole_title, out);
    SGTB_BIND(group_repeats, mention_offsets, keys, first, group_offsets, members, place);
    SGTB_BIND(number_nodes, borders, entity, n_entities, nodes);
    SGTB_BIND(copy_slices, items, size, starts, offsets, out);
    SGTB_BIND_AS("exp_f8", (apply<double, std::exp>), values, out);
    SGTB_BIND_AS("log_f8", (apply<double, std::log>), values, out);
    SGTB_BIND_AS("log1p_f4", (apply<float, std::log1p>), values, out);
    SGTB_BIND_AS("log1p_f8", (apply<double, std::log1p>), values, out);
    SGTB_BIND_AS("log2_f8", (apply<double, std::log2>), values, out);
    SGTB_BIND_AS("tanh_f8", (apply<double, std::tanh>), values, out);
    SGTB_BIND(subtract_best, values, offsets, out);
    SGTB_BIND(count_above, values, offsets, out);
    SGTB_BIND(fill_columns, offsets, parts, out);
}

}  // namespace sgtb
