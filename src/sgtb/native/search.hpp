// Shared by search and explanation: documents, pair features, pooling.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "panels.hpp"
#include "trees.hpp"

namespace sgtb {

using Block = Lanes<float, BLOCK_SIZE>;  // one number of sixteen candidates
using DoubleBlock = Lanes<double, BLOCK_SIZE>;

// A pair source as in boosting/data/pairs.py: dense blocks, or a table of vectors and links.
struct Pairs {
    int64_t kind, n_features;
    Longs entity_offsets, block_offsets;
    Floats block;
    Ints row;
    Longs name;  // per entity; two entities of one name do not support each other
    Array<const float, 2> vectors;
    Longs space_offsets;
    Array<const int64_t, 2> link_offsets;
    Ints link_targets;
    Floats link_counts;

    bool dense() const { return kind == 0; }
    int64_t width() const { return vectors.shape(1); }
    int64_t n_spaces() const { return space_offsets.size() - 1; }
    int64_t n_relations() const { return n_features - n_spaces(); }
    int64_t n_entities(int64_t d) const { return entity_offsets[d + 1] - entity_offsets[d]; }
};
SGTB_RECORD(Pairs, kind, n_features, entity_offsets, block_offsets, block, row, name, vectors,
            space_offsets, link_offsets, link_targets, link_counts)

// Raise unless the pairs fit D documents and every row that they can touch is inside the table.
void check_pairs(const Pairs& pairs, int64_t n_documents);

// The input of a search; see boosting/search/beam.py.
struct Search {
    Ints mention_offsets, candidate_offsets, gold, entity;
    Longs mention_blocks;
    int64_t n_local;
    Array<const uint8_t, 2> local;
    Pairs pairs;
    Array<const float, 2> global_thresholds;
    Ints step_offsets;
    Array<const int32_t, 2> mention;
    Array<const int64_t, 2> step_blocks;
    Ints clamp;
    Forest forest;
    int64_t beam_width;

    int64_t n_documents() const { return mention_offsets.size() - 1; }
    int64_t n_steps(int64_t d) const { return step_offsets[d + 1] - step_offsets[d]; }
    int64_t n_candidates(int64_t m) const {
        return candidate_offsets[m + 1] - candidate_offsets[m];
    }
    int64_t candidates_of(int64_t d) const {
        return candidate_offsets[mention_offsets[d + 1]] - candidate_offsets[mention_offsets[d]];
    }
    int64_t mention_at(int64_t direction, int64_t d, int64_t level) const {
        return mention(direction, step_offsets[d] + level);
    }
    // The local bins of a mention: feature by feature, in candidate blocks.
    const uint8_t* local_of(int64_t m) const {
        return local.data() + mention_blocks[m] * n_local * BLOCK_SIZE;
    }
    const float* thresholds(int64_t g) const { return &global_thresholds(g, 0); }
};
SGTB_RECORD(Search, mention_offsets, candidate_offsets, gold, entity, mention_blocks, n_local,
            local, pairs, global_thresholds, step_offsets, mention, step_blocks, clamp, forest,
            beam_width)

// The largest size(item) of some items, or 0.
template <class Items, class Size>
int64_t largest(const Items& items, Size size) {
    int64_t most = 0;
    for (const auto item : items) most = std::max<int64_t>(most, size(item));
    return most;
}

// Write the softmax of score(0) ... score(n - 1).
template <class Score>
void softmax(int64_t n, Score score, double* out) {
    double top = n ? score(0) : 0.0, total = 0.0;
    for (int64_t i = 1; i < n; ++i) top = std::max<double>(top, score(i));
    for (int64_t i = 0; i < n; ++i) total += out[i] = std::exp(score(i) - top);
    for (int64_t i = 0; i < n; ++i) out[i] /= total;
}

// Raise unless all offsets and numbers of a search are consistent and in range.
void check_search(const Search& s);

// The pair features of one document: the source's view of it, and the links among its entities.
class DocumentPairs {
public:
    DocumentPairs(const Pairs& pairs, int64_t d);

    struct Link {
        int32_t other;
        float count;
    };
    // The links of an entity; none of dense blocks.
    std::span<const Link> links(int64_t entity, int64_t relation) const {
        const int64_t at = entity * pairs_->n_relations() + relation;
        return {links_.data() + offsets_[at], links_.data() + offsets_[at + 1]};
    }
    // The values of an entity and entity 0, 1, ...; dense blocks only.
    const float* dense_row(int64_t entity) const {
        return pairs_->block.data() + pairs_->block_offsets[d_] +
               entity * pairs_->n_entities(d_) * pairs_->n_features;
    }
    const float* vector(int64_t entity) const {
        return pairs_->vectors.data() + pairs_->row[first_ + entity] * pairs_->width();
    }
    int64_t name(int64_t entity) const { return pairs_->name[first_ + entity]; }
    const Pairs& source() const { return *pairs_; }

private:
    const Pairs* pairs_;
    int64_t d_, first_ = 0;  // its number and its first entity
    std::vector<int32_t> offsets_;
    std::vector<Link> links_;
};

// Entities of a document in blocks, to compute pair features with others of the document.
class EntityBlocks {
public:
    EntityBlocks(const Pairs& pairs, int64_t room);

    // Start with entities of a document; `add` appends one.
    void fill(const DocumentPairs& document, const int32_t* entity, int64_t n);
    void add(const DocumentPairs& document, int32_t entity);
    void clear() { n_ = 0; }
    int64_t size() const { return n_; }

    // Write φ_E(decided[j], entity i) of all entities to out + j * E * blocks * BLOCK_SIZE, feature
    // by feature.
    void pair_features(const DocumentPairs& document, const int32_t* decided, int64_t n_decided,
                       float* out) const;

private:
    int64_t n_ = 0;
    std::vector<int32_t> entity_;  // -1: an empty place
    std::vector<int64_t> name_;
    Panels vectors_;
};

// Mean and maximum of φ_E over histories, for all candidates of a mention.
class Pool {
public:
    Pool(const Pairs& pairs, int64_t n_histories, int64_t n_steps, int64_t n_candidates);

    // The entities that history k has decided on, first decision first.
    int32_t* history(int64_t k) { return histories_.data() + k * n_steps_; }

    // Pool the candidates under the first histories, all of `length` decisions.
    void run(const DocumentPairs& document, const int32_t* entity, int64_t n, int64_t n_histories,
             int64_t length);

    // Global feature g of the candidates: the means, then the maxima; 0 with no history.
    const float* feature(int64_t k, int64_t g) const {
        return features_.data() + (2 * k * n_pair_ + g) * n_lanes();
    }
    // Bin the global features under history k: feature by feature, in candidate blocks.
    void bin(const Search& s, int64_t k, uint8_t* out) const;

private:
    int64_t n_lanes() const { return blocks_of(n_) * BLOCK_SIZE; }
    double* sums(int64_t k) const { return sums_.data() + k * n_pair_ * n_lanes(); }
    float* means(int64_t k) const { return features_.data() + 2 * k * n_pair_ * n_lanes(); }
    float* tops(int64_t k) const { return means(k) + n_pair_ * n_lanes(); }
    void add_decisions(const DocumentPairs& document, int64_t begin, int64_t end,
                       int64_t n_histories);

    int64_t n_pair_, n_steps_, n_ = 0;
    std::vector<int32_t> histories_;
    EntityBlocks entities_;
    Buffer<float> values_, features_;
    Buffer<double> sums_;
    std::vector<int32_t> distinct_;  // entities of the current decisions
    std::vector<int32_t> line_of_;   // per decision and history, its entity's number there
};

}  // namespace sgtb
