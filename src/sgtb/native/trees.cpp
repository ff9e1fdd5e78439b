// Trees: binning, histograms, splits, and scoring of candidates by a forest.
#include "trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "interrupt.hpp"

namespace sgtb {

namespace {

constexpr int64_t BINS = 256;  // histogram entries per feature

// ---- binning

void bin_rows(Array<const float, 2> values, Array<const float, 2> thresholds,
              Array<uint8_t, 2> out) {
    check_shape(thresholds, {values.shape(1), MAX_BINS}, "thresholds");
    check_shape(out, {values.shape(0), values.shape(1)}, "out");
    Interrupt interrupt;
    for (int64_t i = 0; i < values.shape(0); ++i) {
        if (i % 4096 == 0) interrupt.check();
        for (int64_t f = 0; f < values.shape(1); ++f)
            out(i, f) = bin_value(values(i, f), &thresholds(f, 0));
    }
}

// Count the thresholds below each value: linear for few thresholds, else by binary search.
void bin_column(const float* __restrict values, int64_t n, const float* thresholds,
                int64_t n_thresholds, int32_t* __restrict bins) {
    if (n_thresholds > 64) {
        for (int64_t c = 0; c < n; ++c) bins[c] = bin_value(values[c], thresholds);
        return;
    }
    std::memset(bins, 0, n * sizeof(int32_t));
    for (int64_t k = 0; k < n_thresholds; ++k) {
        const float threshold = thresholds[k];
        for (int64_t c = 0; c < n; ++c) bins[c] += threshold < values[c];
    }
}

// Bin the local features of mentions first..last-1 into candidate blocks.
void bin_blocks(int64_t first, int64_t last, Ints candidate_offsets, Longs block_offsets,
                Array<const float, 2> local, Array<const float, 2> thresholds, Ints n_bins,
                Array<uint8_t, 2> out) {
    constexpr int64_t AT_ONCE = 64;  // candidates; their features fit into the first cache
    const int64_t n_local = local.shape(1), n_mentions = candidate_offsets.size() - 1;
    check_offsets(candidate_offsets, n_mentions, local.shape(0), "candidate_offsets");
    check_equal(block_offsets.size(), n_mentions + 1, "block_offsets");
    check_range(block_offsets, 0, int64_t(1) << 40, "block_offsets");  // nothing overflows
    check_value(last, 0, n_mentions + 1, "last");
    check_value(first, 0, last + 1, "first");
    check_shape(thresholds, {n_local, MAX_BINS}, "thresholds");
    check_equal(n_bins.size(), n_local, "n_bins");
    check_range(n_bins, 1, MAX_BINS + 1, "n_bins");
    check_equal(out.shape(1), BLOCK_SIZE, "out");
    int64_t widest = 0;
    for (int64_t m = first; m < last; ++m) {
        int64_t n = candidate_offsets[m + 1] - candidate_offsets[m];
        check_equal(block_offsets[m + 1] - block_offsets[m], blocks_of(n), "block_offsets");
        widest = std::max(widest, n);
    }
    if (first < last) check_at_least(out.shape(0), block_offsets[last] * n_local, "out");
    const int64_t room = std::max(widest, AT_ONCE);
    std::vector<float> values(room);
    std::vector<int32_t> bins(room);
    Interrupt interrupt;
    for (int64_t begin = first, end; begin < last; begin = end) {
        interrupt.check();
        const int64_t row = candidate_offsets[begin];
        end = begin + 1;
        while (end < last && candidate_offsets[end + 1] - row <= room) ++end;
        const int64_t n = candidate_offsets[end] - row;
        for (int64_t f = 0; f < n_local; ++f) {
            for (int64_t c = 0; c < n; ++c) values[c] = local(row + c, f);
            bin_column(values.data(), n, &thresholds(f, 0), n_bins[f] - 1, bins.data());
            for (int64_t m = begin; m < end; ++m) {
                const int64_t n_blocks = block_offsets[m + 1] - block_offsets[m];
                uint8_t* to = out.data() + (block_offsets[m] * n_local + f * n_blocks) * BLOCK_SIZE;
                for (int64_t c = candidate_offsets[m]; c < candidate_offsets[m + 1]; ++c)
                    *to++ = static_cast<uint8_t>(bins[c - row]);
            }
        }
    }
}

// ---- histograms: sum of residuals and number of rows packed into one word per bin
// Words are added unsigned: those of a caller may overflow.

void pack_rows(Doubles residuals, Ints rows, double scale, int64_t count_bits,
               Array<int64_t> out) {
    check_equal(rows.size(), residuals.size(), "rows");
    check_range(rows, 0, out.size(), "rows");
    check_value(count_bits, 0, 63, "count_bits");
    bool fit = true;
    for (double residual : residuals) fit &= std::fabs(residual * scale) < 0x1p62;
    if (!fit) fail("residuals", "a value is not finite, or too large for the scale");
    for (int64_t i = 0; i < residuals.size(); ++i)
        reinterpret_cast<uint64_t&>(out[rows[i]]) +=
            (static_cast<uint64_t>(static_cast<int64_t>(std::rint(residuals[i] * scale)))
             << count_bits) + 1;
}

// Add |residuals| exactly: the sum is Σ digits[i] * 2**(32 * i - 1075). Any order of the residuals,
// in any number of groups whose digits are added, gives the same number.
void add_magnitudes(Doubles residuals, Array<uint64_t> digits) {
    constexpr uint64_t DIGIT = 0xffffffff, HIDDEN_BIT = uint64_t(1) << 52;
    check_equal(digits.size(), 66, "digits");
    for (const double residual : residuals) {
        uint64_t bits;
        std::memcpy(&bits, &residual, sizeof bits);
        const uint64_t exponent = bits >> 52 & 2047;
        if (exponent == 2047) fail("residuals", "a value is not finite");
        const uint64_t mantissa = (bits & (HIDDEN_BIT - 1)) | (exponent ? HIDDEN_BIT : 0);
        const uint64_t place = std::max<uint64_t>(exponent, 1), shift = place % 32;
        const uint64_t low = (mantissa & DIGIT) << shift, high = (mantissa >> 32) << shift;
        digits[place / 32] += low & DIGIT;
        digits[place / 32 + 1] += (low >> 32) + (high & DIGIT);
        digits[place / 32 + 2] += high >> 32;
    }
}

// Add rows to the histograms of eight features at a time, so that these stay in the first cache,
// and some rows at a time, so that all their features stay in the second one.
void add_rows(Array<const uint8_t, 2> x, int64_t n_features, Longs packed, Ints rows,
              Array<int64_t> out) {
    constexpr int64_t AT_ONCE = 1024;
    check_value(n_features, 0, x.shape(1) + 1, "n_features");
    if (x.shape(1) % 8 != 0) fail("x", "rows are not padded to a multiple of 8 bytes");
    check_equal(packed.size(), x.shape(0), "packed");
    check_equal(out.size(), n_features * BINS, "out");
    check_range(rows, 0, x.shape(0), "rows");
    const int64_t width = x.shape(1);
    auto* const counts = reinterpret_cast<uint64_t*>(out.data());
    auto add = [&](std::span<const int32_t> some, int64_t first, auto n_here) {
        for (const int32_t row : some) {
            const uint64_t weight = packed[row];
            uint64_t word;
            std::memcpy(&word, x.data() + row * width + first, 8);
            for (int64_t f = 0; f < n_here; ++f)
                counts[(first + f) * BINS + ((word >> (8 * f)) & 255)] += weight;
        }
    };
    for (int64_t begin = 0; begin < rows.size(); begin += AT_ONCE) {
        const auto some = rows.span().subspan(begin, std::min(AT_ONCE, rows.size() - begin));
        int64_t first = 0;
        for (; first + 8 <= n_features; first += 8)
            add(some, first, std::integral_constant<int64_t, 8>());
        if (first < n_features) add(some, first, n_features - first);
    }
}

// ---- splits

// Gain, feature, bin and number of left rows of the best split; feature -1: none.
std::tuple<double, int64_t, int64_t, int64_t> best_split(Array<const int64_t, 2> histogram,
                                                         Ints n_bins, int64_t count_bits,
                                                         int64_t min_leaf, double l2,
                                                         double min_gain) {
    check_shape(histogram, {n_bins.size(), BINS}, "histogram");
    check_at_least(n_bins.size(), 1, "n_bins");
    check_range(n_bins, 1, MAX_BINS + 1, "n_bins");
    check_value(count_bits, 0, 63, "count_bits");
    const int64_t mask = (int64_t(1) << count_bits) - 1;
    uint64_t sum = 0;
    // Any feature's bins hold all rows of the node, also those of one that was not drawn.
    for (int64_t b = 0; b < BINS; ++b) sum += histogram(0, b);
    const auto total = static_cast<int64_t>(sum);
    const int64_t n = total & mask;
    const double sum_all = static_cast<double>(total >> count_bits);
    const double parent = sum_all * sum_all / (static_cast<double>(n) + l2);
    // A gain within rounding of zero is none.
    double best = std::max(min_gain, parent * 0x1p-48);
    int64_t best_feature = -1, best_bin = 0, best_left = 0;
    for (int64_t f = 0; f < n_bins.size(); ++f) {
        sum = 0;
        for (int64_t b = 0; b < n_bins[f] - 1; ++b) {
            if (histogram(f, b) == 0) continue;
            sum += histogram(f, b);
            const auto left = static_cast<int64_t>(sum);
            const int64_t n_left = left & mask, n_right = n - n_left;
            if (n_left < min_leaf) continue;
            if (n_right < min_leaf) break;
            const double sum_left = static_cast<double>(left >> count_bits);
            const double sum_right = sum_all - sum_left;
            const double gain = sum_left * sum_left / (static_cast<double>(n_left) + l2) +
                                sum_right * sum_right / (static_cast<double>(n_right) + l2) -
                                parent;
            if (gain > best) {
                best = gain;
                best_feature = f;
                best_bin = b;
                best_left = n_left;
            }
        }
    }
    return {best, best_feature, best_bin, best_left};
}

// Bring the rows that go left to the front of rows[start:stop], order kept on both sides; return
// their number.
int64_t partition(Array<const uint8_t, 2> x, Array<int32_t> rows, int64_t start, int64_t stop,
                  int64_t feature, int64_t bin) {
    check_value(stop, 0, rows.size() + 1, "stop");
    check_value(start, 0, stop + 1, "start");
    check_value(feature, 0, x.shape(1), "feature");
    check_range(Ints(rows.data() + start, {stop - start}), 0, x.shape(0), "rows");
    Buffer<int32_t> right(stop - start + 1);
    int32_t* const list = rows.data();
    // Writing to both sides and advancing one is faster than a branch.
    int64_t n_left = start, n_right = 0;
    for (int64_t i = start; i < stop; ++i) {
        const int32_t row = list[i];
        const bool goes_left = x(row, feature) <= bin;
        list[n_left] = row;
        right[n_right] = row;
        n_left += goes_left;
        n_right += !goes_left;
    }
    std::memcpy(list + n_left, right.data(), n_right * sizeof(int32_t));
    return n_left - start;
}

// ---- scores

// One byte of each of sixteen candidates.
using ByteLanes = Lanes<uint8_t, BLOCK_SIZE, 16>;

// The leaves of a tree that sixteen candidates can still reach: a bit per leaf, eight per plane.
template <int PLANES>
struct LeafMasks {
    ByteLanes plane[PLANES];

    LeafMasks() {
        for (auto& bits : plane) bits = ByteLanes::all(255);
    }
    // Clear the leaves left of a split where the candidate's bin is above it.
    void rule_out(int64_t split, const uint8_t* bins, int64_t n_blocks) {
        const auto bin = ByteLanes::load(bins + feature_of(split) * n_blocks * BLOCK_SIZE);
        const auto kept = at_most(bin, ByteLanes::all(bin_of(split))) |
                          ByteLanes::all(mask_of(split));
        if constexpr (PLANES == 1) {
            plane[0] = plane[0] & kept;
        } else {
            ByteLanes& bits = plane[plane_of(split)];
            bits = bits & kept;
        }
    }
    // The number of the first reachable leaf.
    ByteLanes first() const {
        auto empty = [](ByteLanes bits) { return at_most(bits, ByteLanes::all(0)); };
        auto number = [](ByteLanes where, int value) { return where & ByteLanes::all(value); };
        ByteLanes bits = plane[0], found = ByteLanes::all(0);
        if constexpr (PLANES == 2) {
            const auto none = empty(bits);
            found = number(none, 8);
            bits = bits | (plane[1] & none);
        }
        if constexpr (PLANES == 4) {
            const auto none = empty(plane[0] | plane[1]);
            bits = plane[0] | (plane[2] & none);
            const auto next = plane[1] | (plane[3] & none), none_here = empty(bits);
            found = number(none, 16) | number(none_here, 8);
            bits = bits | (next & none_here);
        }
        const auto lowest = bits & (ByteLanes::all(0) - bits);
        for (const auto& [members, value] : {std::pair{0x55, 1}, {0x33, 2}, {0x0F, 4}})
            found = found | number(empty(lowest & ByteLanes::all(members)), value);
        return found;
    }
};

template <int PLANES>
void add_masked_tree(const Forest& forest, int64_t tree, const ScoreRows& at) {
    const int64_t* const begin = forest.splits.data() + tree * forest.words;
    const int64_t* const middle = begin + forest.local_splits[tree];
    const int64_t* const end = middle + forest.global_splits[tree];
    const double* const values = &forest.leaf_value(tree, 0);
    for (int64_t first = 0; first < at.n; first += BLOCK_SIZE) {
        const int64_t n = std::min(BLOCK_SIZE, at.n - first);
        LeafMasks<PLANES> shared;
        for (const int64_t* q = begin; q < middle; ++q)
            shared.rule_out(*q, at.local + first, at.n_blocks);
        uint8_t leaf[BLOCK_SIZE];
        shared.first().store(leaf);
        for (int64_t k = 0; k < at.n_rows; ++k) {
            if (middle < end) {
                LeafMasks<PLANES> own = shared;
                for (const int64_t* q = middle; q < end; ++q)
                    own.rule_out(*q, at.globals_of(k) + first, at.n_blocks);
                own.first().store(leaf);
            }
            double* const scores = at.scores_of(k) + first;
            for (int64_t i = 0; i < n; ++i) scores[i] += values[leaf[i]];
        }
    }
}

// Walk one deep tree for all candidates of a row.
void walk_tree(const Forest& forest, int64_t tree, const ScoreRows& at, int64_t k) {
    const uint8_t* globals = at.globals_of(k);
    double* scores = at.scores_of(k);
    const int64_t stride = at.n_blocks * BLOCK_SIZE;
    for (int64_t lane = 0; lane < at.n; ++lane) {
        int64_t node = forest.roots[tree];
        for (int64_t i = 0; i < forest.depth; ++i) {
            const int64_t word = forest.nodes[node], feature = feature_of(word);
            const uint8_t bin = feature < forest.n_local
                                    ? at.local[feature * stride + lane]
                                    : globals[(feature - forest.n_local) * stride + lane];
            node = child_of(word) + (bin > bin_of(word));
        }
        scores[lane] += forest.value[node];
    }
}

}  // namespace

void check_forest(const Forest& forest, int64_t n_trees, int64_t n_global) {
    check_value(n_trees, 0, forest.roots.size(), "n_trees");
    check_value(forest.depth, 0, 32, "forest.depth");
    check_value(forest.n_local, 0, int64_t(1) << 24, "forest.n_local");
    check_equal(forest.value.size(), forest.nodes.size(), "forest.value");
    const int64_t n_nodes = forest.nodes.size(), n_features = forest.n_local + n_global;
    for (int64_t t = 0; t < n_trees; ++t) check_value(forest.roots[t], 0, n_nodes, "forest.roots");
    const int64_t n_used = n_trees ? forest.roots[n_trees] : 0;
    check_value(n_used, 0, n_nodes + 1, "forest.roots");
    for (int64_t i = 0; i < n_used; ++i) {
        const int64_t word = forest.nodes[i], child = child_of(word);
        // A leaf is its own left child, and no bin is above 255. Other children come later.
        if (child == i ? bin_of(word) != 255 : child < i || child >= n_used - 1)
            fail("forest.nodes", "node " + std::to_string(i) + " has no valid child");
        if (feature_of(word) >= std::max<int64_t>(n_features, 1))
            fail("forest.nodes", "node " + std::to_string(i) + " tests no existing feature");
    }
    if (!forest.masked()) return;
    if (forest.planes != 1 && forest.planes != 2 && forest.planes != MAX_PLANES)
        fail("forest.planes", std::to_string(forest.planes) + " is not 1, 2 or 4");
    check_at_least(forest.leaf_value.shape(0), n_trees, "forest.leaf_value");
    check_equal(forest.leaf_value.shape(1), 8 * forest.planes, "forest.leaf_value");
    check_at_least(forest.local_splits.size(), n_trees, "forest.local_splits");
    check_at_least(forest.global_splits.size(), n_trees, "forest.global_splits");
    check_value(forest.words, 0, 256, "forest.words");
    check_at_least(forest.splits.size(), n_trees * forest.words, "forest.splits");
    for (int64_t t = 0; t < n_trees; ++t) {
        const int64_t n_locals = forest.local_splits[t], n_globals = forest.global_splits[t];
        check_value(n_locals, 0, forest.words + 1, "forest.local_splits");
        check_value(n_globals, 0, forest.words - n_locals + 1, "forest.global_splits");
        for (int64_t q = 0; q < n_locals + n_globals; ++q) {
            const int64_t split = forest.splits[t * forest.words + q];
            check_value(feature_of(split), 0, q < n_locals ? forest.n_local : n_global,
                        "forest.splits");
            check_value(plane_of(split), 0, forest.planes, "forest.splits");
        }
    }
}

void add_trees(const Forest& forest, int64_t first, int64_t last, const ScoreRows& at) {
    if (!forest.masked()) {
        for (int64_t t = first; t < last; ++t)
            for (int64_t k = 0; k < at.n_rows; ++k) walk_tree(forest, t, at, k);
        return;
    }
    const auto add = forest.planes == 1   ? add_masked_tree<1>
                     : forest.planes == 2 ? add_masked_tree<2>
                                          : add_masked_tree<4>;
    for (int64_t t = first; t < last; ++t) add(forest, t, at);
}

void bind_trees(nb::module_& module) {
    SGTB_BIND(bin_rows, values, thresholds, out);
    SGTB_BIND(bin_blocks, first, last, candidate_offsets, block_offsets, local, thresholds,
              n_bins, out);
    SGTB_BIND(pack_rows, residuals, rows, scale, count_bits, out);
    SGTB_BIND(add_magnitudes, residuals, digits);
    SGTB_BIND(add_rows, x, n_features, packed, rows, out);
    SGTB_BIND(best_split, histogram, n_bins, count_bits, min_leaf, l2, min_gain);
    SGTB_BIND(partition, x, rows, start, stop, feature, bin);
}

}  // namespace sgtb
