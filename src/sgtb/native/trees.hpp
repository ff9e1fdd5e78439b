// Forests on bins: how trees are stored, and how candidates are scored by them.
#pragma once

#include <memory>
#include <vector>

#include "bind.hpp"
#include "simd.hpp"

namespace sgtb {

// Candidates of a mention per block; see boosting/search/beam.py.
inline constexpr int64_t BLOCK_SIZE = 16;
// Thresholds per feature, padded with +inf; bins are 0 to 254.
inline constexpr int64_t MAX_BINS = 255;
// Depth up to which trees are scored by masks; deeper ones are walked.
inline constexpr int64_t MASKED_DEPTH = 5;
inline constexpr int64_t MAX_PLANES = 4;

inline int64_t blocks_of(int64_t n) { return (n + BLOCK_SIZE - 1) / BLOCK_SIZE; }

// Memory for n values, not initialised.
template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(int64_t n) : data_(new T[n]), size_(n) {}
    T* data() const { return data_.get(); }
    int64_t size() const { return size_; }
    T& operator[](int64_t i) const {
        SGTB_ASSERT(i >= 0 && i < size_);
        return data_[i];
    }

private:
    std::unique_ptr<T[]> data_;
    int64_t size_ = 0;
};

// Trees on bins, in two forms; see boosting/trees/forest.py for the layout of words.
struct Forest {
    int64_t depth, planes, words, n_local;
    Ints roots;
    Longs nodes;
    Doubles value;
    Longs splits;
    Ints local_splits, global_splits;
    Array<const double, 2> leaf_value;

    bool masked() const { return depth <= MASKED_DEPTH; }
};
SGTB_RECORD(Forest, depth, planes, words, n_local, roots, nodes, value, splits, local_splits,
            global_splits, leaf_value)

// The parts of a word of a node or split.
inline int64_t feature_of(int64_t word) { return (word >> 8) & 0xFFFFFF; }
inline uint8_t bin_of(int64_t word) { return static_cast<uint8_t>(word & 255); }
inline int64_t child_of(int64_t word) { return word >> 32; }
inline uint8_t mask_of(int64_t word) { return static_cast<uint8_t>((word >> 32) & 255); }
inline int64_t plane_of(int64_t word) { return word >> 40; }

// Raise unless the first trees are well formed and test existing features only.
void check_forest(const Forest& forest, int64_t n_trees, int64_t n_global);

// Count the thresholds below `value`: four steps of a binary search, then fifteen comparisons.
inline uint8_t bin_value(float value, const float* thresholds) {
    int low = 0;
    for (int step = 128; step >= 16; step >>= 1)
        low += step * (thresholds[low + step - 1] < value);
    return static_cast<uint8_t>(low + count_below(thresholds + low, value));
}

// The bins and scores of a mention's candidates under several histories.
struct ScoreRows {
    const uint8_t* local;    // local bins of the mention's blocks, feature by feature
    const uint8_t* globals;  // global bins of all rows
    double* scores;
    const int64_t* rows;  // the first block of each history
    int64_t n_rows, n, n_blocks, n_global;

    const uint8_t* globals_of(int64_t k) const { return globals + rows[k] * n_global * BLOCK_SIZE; }
    double* scores_of(int64_t k) const { return scores + rows[k] * BLOCK_SIZE; }
};

// Add trees first..last-1 to the scores of a mention's n candidates under all histories.
void add_trees(const Forest& forest, int64_t first, int64_t last, const ScoreRows& at);

}  // namespace sgtb
