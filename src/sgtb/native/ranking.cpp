// Candidates in order: the ranker and the tagger, shortlists, the order of answers.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "interrupt.hpp"
#include "ragged.hpp"
#include "simd.hpp"

namespace sgtb {

namespace {

using Hashes = Array<const uint32_t>;

using Clues = Ragged<const uint32_t>;
using HashedWords = Ragged<const uint64_t>;

// Hashes of what is crossed: see `Crosses` in linking/features/ranker.py.
struct Crosses {
    Clues kinds;
    Ints n_worded, document;
    Clues place_clues, sentence_clues, document_clues;
    Ints alike, worded_alike;

    Hashes worded_kinds(int64_t c) const { return {kinds[c].data(), {n_worded[c]}}; }
    Hashes text_clues(int64_t m) const { return document_clues[document[m]]; }
};
SGTB_RECORD(Crosses, kinds, n_worded, document, place_clues, sentence_clues, document_clues, alike,
            worded_alike)

// ---- kinds of candidates

constexpr int64_t MARKS = 3;  // type, equality of the title, both

// Write the kinds that a mention does not contain itself, then the marks, of every candidate.
//
// equal  hashes of whether the title equals the name, and whether it has no other words: 2 x 2
void list_kinds(Ints candidate_offsets, Ints entity, const HashedWords& names,
                const Clues& kind_clues, const HashedWords& kind_words, Hashes type_clue,
                Floats title_equal, Floats rest_words, int64_t no_kind, Hashes equal,
                Array<int64_t> offsets, Array<uint32_t> kinds, Array<int32_t> n_worded) {
    const int64_t n_entities = type_clue.size(), n_candidates = entity.size();
    check_groups(candidate_offsets, n_candidates, "candidate_offsets");
    check_range(entity, 0, n_entities, "entity");
    check_ragged(names, candidate_offsets.size() - 1, "names");
    check_ragged(kind_clues, n_entities, "kind_clues");
    check_ragged(kind_words, n_entities, "kind_words");
    if (!std::equal(kind_clues.indptr.begin(), kind_clues.indptr.end(),
                    kind_words.indptr.begin()))
        fail("kind_words.indptr", "differ from kind_clues.indptr");
    SGTB_CHECK_LENGTHS(n_candidates, title_equal, rest_words);
    check_equal(equal.size(), 4, "equal");
    check_value(no_kind, 0, int64_t(1) << 32, "no_kind");
    check_equal(offsets.size(), n_candidates + 1, "offsets");
    check_equal(n_worded.size(), n_candidates, "n_worded");
    int64_t most = 0;
    for (const int32_t e : entity)
        most += kind_clues.indptr[e + 1] - kind_clues.indptr[e] + 1 + MARKS;
    check_at_least(kinds.size(), most, "kinds");
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t m = 0; m < candidate_offsets.size() - 1; ++m) {
        const uint64_t* const begin = names.data.data() + names.indptr[m];
        const uint64_t* const end = names.data.data() + names.indptr[m + 1];
        for (int64_t c = candidate_offsets[m]; c < candidate_offsets[m + 1]; ++c) {
            const int64_t e = entity[c], first = at;
            for (int64_t k = kind_clues.indptr[e]; k < kind_clues.indptr[e + 1]; ++k)
                if (std::find(begin, end, kind_words.data[k]) == end)
                    kinds[at++] = kind_clues.data[k];
            if (at == first) kinds[at++] = static_cast<uint32_t>(no_kind);
            n_worded[c] = static_cast<int32_t>(at - first + 1);
            const uint32_t same = equal[2 * (title_equal[c] >= 1) + (rest_words[c] == 0)];
            kinds[at++] = type_clue[e];
            kinds[at++] = same;
            kinds[at++] = type_clue[e] ^ same;
            offsets[c + 1] = at;
        }
    }
}

void check_kinds(const Clues& kinds, Ints n_worded) {
    check_ragged(kinds, n_worded.size(), "kinds");
    for (int64_t c = 0; c < n_worded.size(); ++c)
        check_value(n_worded[c], 0, kinds[c].size() + 1, "n_worded");
}

// Find the first candidate of each mention with the same kinds and marks, and the first of each
// document with the same worded kinds.
void find_alike(Ints candidate_offsets, Ints document, const Clues& kinds, Ints n_worded,
                Array<int32_t> alike, Array<int32_t> worded_alike) {
    const int64_t n_mentions = candidate_offsets.size() - 1, n_candidates = n_worded.size();
    check_groups(candidate_offsets, n_candidates, "candidate_offsets");
    check_equal(document.size(), n_mentions, "document");
    check_kinds(kinds, n_worded);
    SGTB_CHECK_LENGTHS(n_candidates, alike, worded_alike);
    auto text = [](const uint32_t* begin, const uint32_t* end) {
        return std::string_view(reinterpret_cast<const char*>(begin), (end - begin) * sizeof(*begin));
    };
    auto worded = [&](int64_t c) { return text(kinds[c].begin(), kinds[c].begin() + n_worded[c]); };
    auto marks = [&](int64_t c) { return text(kinds[c].begin() + n_worded[c], kinds[c].end()); };
    std::unordered_map<std::string_view, int32_t> first_with;  // worded kinds, in a document
    for (int64_t m = 0; m < n_mentions; ++m) {
        const int32_t begin = candidate_offsets[m], end = candidate_offsets[m + 1];
        if (m > 0 && document[m] != document[m - 1]) first_with.clear();
        for (int32_t c = begin; c < end; ++c) {
            worded_alike[c] = first_with.try_emplace(worded(c), c).first->second;
            int32_t own = begin;
            while (own < c && (worded_alike[own] != worded_alike[c] || marks(own) != marks(c)))
                ++own;
            alike[c] = own;
        }
    }
}

// ---- bins

// Count the cuts below every value. All are compared, which is faster than a search.
//
// cuts  of each of the first columns, ascending, padded with infinity
void count_cuts(Array<const float, 2> features, Array<const float, 2> cuts,
                Array<uint8_t, 2> out) {
    constexpr int64_t WIDTH = 8, ROWS = 4;  // columns and rows at a time: independent sums
    const int64_t n_rows = features.shape(0), n_columns = cuts.shape(0);
    check_at_least(features.shape(1), n_columns, "features");
    check_value(cuts.shape(1), 0, 256, "columns of cuts");
    check_shape(out, {n_rows, n_columns}, "out");
    // The cuts of eight columns abreast, as far as one of them has any.
    const int64_t n_blocks = (n_columns + WIDTH - 1) / WIDTH;
    std::vector<float> panels;
    std::vector<int64_t> ends(1, 0);
    for (int64_t f = 0; f < n_columns; f += WIDTH) {
        for (int64_t k = 0; k < cuts.shape(1); ++k) {
            float line[WIDTH];
            for (int64_t i = 0; i < WIDTH; ++i)
                line[i] = f + i < n_columns ? cuts(f + i, k) : INFINITY;
            if (*std::min_element(line, line + WIDTH) < INFINITY)
                panels.insert(panels.end(), line, line + WIDTH);
        }
        ends.push_back(static_cast<int64_t>(panels.size()));
    }
    const int64_t width = n_blocks * WIDTH;  // of rows that are padded
    std::vector<float> rows(ROWS * width);
    std::vector<int32_t> counts(ROWS * width);
    for (int64_t r = 0; r < n_rows; r += ROWS) {
        const int64_t n = std::min(ROWS, n_rows - r);
        for (int64_t i = 0; i < n; ++i)
            std::copy_n(features.row(r + i).data(), n_columns, rows.data() + i * width);
        for (int64_t b = 0; b < n_blocks; ++b) {
            Eight x[ROWS];
            Lanes<int32_t, WIDTH> count[ROWS];
            for (int64_t i = 0; i < ROWS; ++i) {
                x[i] = Eight::load(rows.data() + i * width + b * WIDTH);
                count[i] = Lanes<int32_t, WIDTH>::all(0);
            }
            for (int64_t k = ends[b]; k < ends[b + 1]; k += WIDTH) {
                const Eight cut = Eight::load(panels.data() + k);
                for (int64_t i = 0; i < ROWS; ++i) count_above(x[i], cut, count[i]);
            }
            for (int64_t i = 0; i < ROWS; ++i)
                count[i].store(counts.data() + i * width + b * WIDTH);
        }
        for (int64_t i = 0; i < n; ++i) {
            const int32_t* const from = counts.data() + i * width;
            uint8_t* __restrict to = out.row(r + i).data();
            for (int64_t f = 0; f < n_columns; ++f) to[f] = static_cast<uint8_t>(from[f]);
        }
    }
}

// ---- ranker

// The place of a pair's weight: multiplying spreads the bits, shifting brings high ones down.
uint32_t place_of(uint32_t kind, uint32_t clue, uint32_t mask) {
    const uint32_t mixed = (kind * 0x9E3779B1u) ^ (clue * 0x85EBCA6Bu);
    return (mixed ^ (mixed >> 15)) & mask;
}

// Call visit(place) for every pair of a kind and a clue, clue by clue.
template <class Visit>
void each_pair(Hashes kinds, Hashes clues, uint32_t mask, Visit visit) {
    for (const uint32_t kind : kinds)
        for (const uint32_t clue : clues) visit(place_of(kind, clue, mask));
}

void check_crosses(Ints candidate_offsets, const Crosses& sides) {
    const int64_t n_mentions = candidate_offsets.size() - 1, n_candidates = sides.n_worded.size();
    check_groups(candidate_offsets, n_candidates, "candidate_offsets");
    check_kinds(sides.kinds, sides.n_worded);
    check_equal(sides.document.size(), n_mentions, "sides.document");
    check_range(sides.document, 0, sides.document_clues.indptr.size() - 1, "sides.document");
    check_ragged(sides.place_clues, n_mentions, "sides.place_clues");
    check_ragged(sides.sentence_clues, n_mentions, "sides.sentence_clues");
    check_groups(sides.document_clues.indptr, sides.document_clues.data.size(),
                 "sides.document_clues.indptr");
    check_equal(sides.alike.size(), n_candidates, "sides.alike");
    check_range(sides.alike, 0, n_candidates, "sides.alike");
    check_equal(sides.worded_alike.size(), n_candidates, "sides.worded_alike");
    check_range(sides.worded_alike, 0, n_candidates, "sides.worded_alike");
}

void check_bins(Array<const uint8_t, 2> bins, int64_t n_candidates,
                Array<const double, 2> weights, const char* name) {
    check_equal(bins.shape(0), n_candidates, name);
    check_equal(weights.shape(0), bins.shape(1), "bin weights");
    check_range(bins, 0, weights.shape(1), name);
}

struct AdaGrad {
    double rate, decay, ease;

    void step(double slope, double& weight, double& seen) const {
        slope += decay * weight;
        seen += slope * slope;
        weight -= rate * slope / std::sqrt(seen + ease);
    }
};
SGTB_RECORD(AdaGrad, rate, decay, ease)

// Take one AdaGrad step per mention.
//
// min_slope  candidates with a gradient below it are skipped
void learn_ranks(Ints candidate_offsets, Ints gold, const Crosses& sides,
                 Array<const uint8_t, 2> bins, Longs order, const AdaGrad& optimizer,
                 double min_slope, Array<double> weights, Array<double> seen, Array<double, 2> bin_weights,
                 Array<double, 2> bin_seen) {
    const int64_t n_mentions = candidate_offsets.size() - 1, n_features = bins.shape(1);
    check_crosses(candidate_offsets, sides);
    check_equal(gold.size(), n_mentions, "gold");
    check_range(order, 0, n_mentions, "order");
    check_at_least(weights.size(), 1, "weights");
    check_equal(seen.size(), weights.size(), "seen");
    check_bins(bins, sides.n_worded.size(), bin_weights, "bins");
    check_shape(bin_seen, {bin_weights.shape(0), bin_weights.shape(1)}, "bin_seen");
    const auto mask = static_cast<uint32_t>(weights.size() - 1);
    auto sum = [&](Hashes kinds, Hashes clues) {
        double total = 0.0;
        each_pair(kinds, clues, mask, [&](uint32_t place) { total += weights[place]; });
        return total;
    };
    std::vector<double> scores;
    Interrupt interrupt;
    for (const int64_t m : order) {
        interrupt.check();
        const int64_t start = candidate_offsets[m], n = candidate_offsets[m + 1] - start;
        scores.resize(n);
        double top = -1e300, total = 0.0;
        for (int64_t i = 0; i < n; ++i) {
            const int64_t c = start + i;
            const double near = sum(sides.kinds[c], sides.place_clues[m]) +
                                sum(sides.worded_kinds(c), sides.sentence_clues[m]);
            scores[i] = near + sum(sides.worded_kinds(c), sides.text_clues(m));
            for (int64_t f = 0; f < n_features; ++f) scores[i] += bin_weights(f, bins(c, f));
            top = std::max(top, scores[i]);
        }
        for (double& score : scores) total += score = std::exp(score - top);
        for (int64_t i = 0; i < n; ++i) {
            const double slope = scores[i] / total - (i == gold[m] ? 1.0 : 0.0);
            if (std::abs(slope) < min_slope) continue;
            const int64_t c = start + i;
            auto step = [&](uint32_t place) {
                optimizer.step(slope, weights[place], seen[place]);
            };
            each_pair(sides.kinds[c], sides.place_clues[m], mask, step);
            each_pair(sides.worded_kinds(c), sides.sentence_clues[m], mask, step);
            each_pair(sides.worded_kinds(c), sides.text_clues(m), mask, step);
            for (int64_t f = 0; f < n_features; ++f)
                optimizer.step(slope, bin_weights(f, bins(c, f)), bin_seen(f, bins(c, f)));
        }
    }
}

// The scores of two rankers, or two sums.
using Both = Lanes<double, 2, 16>;

// Add the weights of bins to the scores of candidates first..last-1, four sums at a time.
void add_bins(int64_t first, int64_t last, Array<const uint8_t, 2> bins,
              Array<const double, 2> weights, double* scores) {
    constexpr int AT_ONCE = 4;
    const int64_t n_features = bins.shape(1), n_bins = weights.shape(1);
    for (int64_t c = first; c < last; c += AT_ONCE) {
        const uint8_t* bin[AT_ONCE];
        double sum[AT_ONCE];
        for (int i = 0; i < AT_ONCE; ++i) {
            const int64_t own = std::min(c + i, last - 1);
            bin[i] = bins.row(own).data();
            sum[i] = scores[own];
        }
        const double* line = weights.data();
        for (int64_t f = 0; f < n_features; ++f, line += n_bins)
            for (int i = 0; i < AT_ONCE; ++i) sum[i] += line[bin[i][f]];
        for (int i = 0; i < AT_ONCE && c + i < last; ++i) scores[c + i] = sum[i];
    }
}

// Write the scores of the candidates of some mentions, as two rankers have them.
//
// local, joint  the bins that each ranker sees
// weights       of crosses, of both rankers side by side
void score_candidates(Ints candidate_offsets, const Crosses& sides, Array<const uint8_t, 2> local,
                      Array<const uint8_t, 2> joint, Longs mentions,
                      Array<const double, 2> weights, Array<const double, 2> local_weights,
                      Array<const double, 2> joint_weights, Array<double, 2> out) {
    const int64_t n_candidates = sides.n_worded.size();
    check_crosses(candidate_offsets, sides);
    check_range(mentions, 0, candidate_offsets.size() - 1, "mentions");
    check_at_least(weights.shape(0), 1, "weights");
    check_equal(weights.shape(1), 2, "weights");
    check_bins(local, n_candidates, local_weights, "local");
    check_bins(joint, n_candidates, joint_weights, "joint");
    check_shape(out, {2, n_candidates}, "out");
    const auto mask = static_cast<uint32_t>(weights.shape(0) - 1);
    auto sum = [&](Hashes kinds, Hashes clues) {
        Both total = Both::all(0.0);
        each_pair(kinds, clues, mask, [&](uint32_t place) {
            total = total + Both::load(weights.data() + 2 * int64_t(place));
        });
        return total;
    };
    // Of the first candidate with some kinds: sums around its mention, and over the document.
    std::vector<Both> near(n_candidates), far(n_candidates);
    std::vector<uint8_t> has_near(n_candidates), has_far(n_candidates);
    Interrupt interrupt;
    for (const int64_t m : mentions) {
        interrupt.check();
        const int64_t first = candidate_offsets[m], last = candidate_offsets[m + 1];
        for (int64_t c = first; c < last; ++c) {
            const int64_t own = sides.alike[c], other = sides.worded_alike[c];
            if (!has_near[own]) {
                near[own] = sum(sides.kinds[c], sides.place_clues[m]) +
                            sum(sides.worded_kinds(c), sides.sentence_clues[m]);
                has_near[own] = true;
            }
            if (!has_far[other]) {
                far[other] = sum(sides.worded_kinds(c), sides.text_clues(m));
                has_far[other] = true;
            }
            const Both score = near[own] + far[other];
            out(0, c) = score[0];
            out(1, c) = score[1];
        }
        add_bins(first, last, local, local_weights, out.row(0).data());
        add_bins(first, last, joint, joint_weights, out.row(1).data());
    }
}

// ---- tagger

// Write the softmax of the weights of some clues; size of `out`: the number of tags.
void tag_softmax(Hashes clues, Array<const double, 2> weights, Array<double> out) {
    const auto mask = static_cast<uint32_t>(weights.shape(0) - 1);
    std::fill(out.begin(), out.end(), 0.0);
    for (const uint32_t clue : clues) {
        const double* const row = weights.row(clue & mask).data();
        for (int64_t t = 0; t < out.size(); ++t) out[t] += row[t];
    }
    const double top = *std::max_element(out.begin(), out.end());
    double total = 0.0;
    for (double& one : out) total += one = std::exp(one - top);
    for (double& one : out) one /= total;
}

// Take one AdaGrad step per row.
void learn_tags(const Clues& clues, Ints tags, Longs order, const AdaGrad& optimizer,
                Array<double, 2> weights, Array<double, 2> seen) {
    const int64_t n_tags = weights.shape(1);
    check_groups(clues.indptr, clues.data.size(), "clues.indptr");
    check_equal(tags.size(), clues.indptr.size() - 1, "tags");
    check_range(order, 0, tags.size(), "order");
    check_at_least(weights.shape(0), 1, "weights");
    check_at_least(n_tags, 1, "weights");
    check_shape(seen, {weights.shape(0), n_tags}, "seen");
    for (const int64_t m : order) check_value(tags[m], 0, n_tags, "tags");
    const auto mask = static_cast<uint32_t>(weights.shape(0) - 1);
    std::vector<double> slopes(n_tags);
    Interrupt interrupt;
    for (const int64_t m : order) {
        interrupt.check();
        tag_softmax(clues[m], weights, {slopes.data(), {n_tags}});
        slopes[tags[m]] -= 1.0;
        for (const uint32_t clue : clues[m])
            for (int64_t t = 0; t < n_tags; ++t)
                optimizer.step(slopes[t], weights(clue & mask, t), seen(clue & mask, t));
    }
}

// Write the probabilities of the tags of every row.
void tag_probabilities(const Clues& clues, Array<const double, 2> weights,
                       Array<double, 2> out) {
    check_offsets(clues.indptr, out.shape(0), clues.data.size(), "clues.indptr");
    check_at_least(weights.shape(0), 1, "weights");
    check_at_least(weights.shape(1), 1, "weights");
    check_equal(out.shape(1), weights.shape(1), "out");
    const auto mask = static_cast<uint32_t>(weights.shape(0) - 1);
    for (int64_t m = 0; m < out.shape(0); ++m) {
        if (m + 1 < out.shape(0))  // weights are far apart: most are read from main memory
            for (const uint32_t clue : clues[m + 1])
                __builtin_prefetch(weights.row(clue & mask).data());
        tag_softmax(clues[m], weights, out.row(m));
    }
}

// ---- shortlist and answers

// Keep `least` candidates of each mention at least, the best; of equals, the first.
void keep_best(Floats below, Longs offsets, int64_t least, Array<bool> kept) {
    check_groups(offsets, below.size(), "offsets");
    check_equal(kept.size(), below.size(), "kept");
    for (int64_t m = 0; m < offsets.size() - 1; ++m) {
        const int64_t first = offsets[m], last = offsets[m + 1];
        const int64_t n = std::count(kept.data() + first, kept.data() + last, true);
        for (int64_t i = n; i < std::min(least, last - first); ++i) {
            int64_t best = -1;
            for (int64_t c = first; c < last; ++c)
                if (!kept[c] && (best < 0 || below[c] > below[best])) best = c;
            kept[best] = true;
        }
    }
}

// Write the order of each mention's candidates: as the search found, then by the ranker.
//
// found, searched, rows  the order of those searched, where those of each mention begin, and
//                        which of all candidates they are
void merge_orders(Longs found, Longs searched, Longs rows, Longs offsets, Floats below,
                  Ints entity, Array<int64_t> order) {
    const int64_t n_mentions = offsets.size() - 1;
    check_groups(offsets, below.size(), "offsets");
    check_offsets(searched, n_mentions, rows.size(), "searched");
    check_equal(found.size(), rows.size(), "found");
    SGTB_CHECK_LENGTHS(below.size(), entity, order);
    for (int64_t m = 0; m < n_mentions; ++m) {
        const int64_t first = offsets[m], begin = searched[m], n = searched[m + 1] - begin;
        int64_t* at = order.data() + first;
        for (int64_t i = begin; i < begin + n; ++i) {
            check_value(found[i], 0, n, "found");
            const int64_t least = i > begin ? rows[i - 1] + 1 : first;
            check_value(rows[i], least, offsets[m + 1], "rows");
        }
        for (int64_t i = begin; i < begin + n; ++i) *at++ = rows[begin + found[i]] - first;
        int64_t* const behind = at;
        int64_t next = begin;  // of the searched ones, which are in the order of all
        for (int64_t c = first; c < offsets[m + 1]; ++c) {
            if (next < begin + n && rows[next] == c)
                ++next;
            else
                *at++ = c - first;
        }
        std::stable_sort(behind, at, [&](int64_t i, int64_t j) {
            const int64_t a = first + i, b = first + j;
            return below[a] > below[b] || (below[a] == below[b] && entity[a] < entity[b]);
        });
    }
}

// Keep the `top` of each list with most in-links, then the lower number, each once.
void keep_strongest(Longs begins, Longs in_links, int64_t top, Array<int32_t> numbers,
                    Array<int64_t> offsets) {
    check_groups(begins, numbers.size(), "begins");
    check_equal(in_links.size(), numbers.size(), "in_links");
    check_equal(offsets.size(), begins.size(), "offsets");
    std::vector<std::pair<int64_t, int32_t>> list;  // strongest first
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t r = 0; r < begins.size() - 1; ++r) {
        list.clear();
        for (int64_t i = begins[r]; i < begins[r + 1]; ++i)
            list.emplace_back(~in_links[i], numbers[i]);
        std::sort(list.begin(), list.end());
        for (std::size_t i = 0; i < list.size() && at - offsets[r] < top; ++i)
            if (i == 0 || list[i].second != list[i - 1].second) numbers[at++] = list[i].second;
        offsets[r + 1] = at;
    }
}

}  // namespace

void bind_ranking(nb::module_& module) {
    SGTB_BIND(list_kinds, candidate_offsets, entity, names, kind_clues, kind_words, type_clue,
              title_equal, rest_words, no_kind, equal, offsets, kinds, n_worded);
    SGTB_BIND(find_alike, candidate_offsets, document, kinds, n_worded, alike, worded_alike);
    SGTB_BIND(count_cuts, features, cuts, out);
    SGTB_BIND(learn_ranks, candidate_offsets, gold, sides, bins, order, optimizer, min_slope,
              weights, seen, bin_weights, bin_seen);
    SGTB_BIND(score_candidates, candidate_offsets, sides, local, joint, mentions, weights,
              local_weights, joint_weights, out);
    SGTB_BIND(learn_tags, clues, tags, order, optimizer, weights, seen);
    SGTB_BIND(tag_probabilities, clues, weights, out);
    SGTB_BIND(keep_best, below, offsets, least, kept);
    SGTB_BIND(merge_orders, found, searched, rows, offsets, below, entity, order);
    SGTB_BIND(keep_strongest, begins, in_links, top, numbers, offsets);
}

}  // namespace sgtb
