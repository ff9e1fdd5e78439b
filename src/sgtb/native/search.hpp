// Shared by search and explanation: documents, pair features, pooling, masks of local features.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "interrupt.hpp"
#include "simd.hpp"
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
    // The values of an entity and entity 0, 1, ... of the same document; dense blocks only.
    const float* dense_row(int64_t d, int64_t entity) const {
        return block.data() + block_offsets[d] + entity * n_entities(d) * n_features;
    }
    const float* vector(int64_t d, int64_t entity) const {
        return vectors.data() + int64_t(row[entity_offsets[d] + entity]) * width();
    }
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

// The links among the entities of one document, by entity and relation.
class DocumentLinks {
public:
    DocumentLinks(const Pairs& pairs, int64_t d);  // none of dense blocks

    struct Link {
        int32_t other;
        float count;
    };
    std::span<const Link> of(int64_t entity, int64_t relation) const {
        const int64_t at = entity * n_relations_ + relation;
        return {links_.data() + offsets_[at], links_.data() + offsets_[at + 1]};
    }

private:
    int64_t n_relations_ = 0;
    std::vector<int32_t> offsets_;
    std::vector<Link> links_;
};

// Vectors of entities in blocks, to compute pair features with others of the document.
class EntityBlocks {
public:
    EntityBlocks(const Pairs& pairs, int64_t room);

    // Start with entities of a document; `add` appends one.
    void fill(const Pairs& pairs, int64_t d, const int32_t* entity, int64_t n);
    void add(const Pairs& pairs, int64_t d, int32_t entity) { put(pairs, d, entity, n_++); }
    void clear() { n_ = 0; }
    int64_t size() const { return n_; }
    int32_t operator[](int64_t i) const { return entity_[i]; }

    // Write φ_E(decided[j], entity i) of all entities to out + j * E * blocks * BLOCK_SIZE, feature
    // by feature; entities of blocks before `first_block` are left out.
    void pair_features(const Pairs& pairs, const DocumentLinks* links, int64_t d, const int32_t* decided,
              int64_t n_decided, float* out, int64_t first_block = 0) const;

private:
    void put(const Pairs& pairs, int64_t d, int32_t entity, int64_t place);
    template <int N>
    void multiply(const Pairs& pairs, int64_t d, const int32_t* decided, float* out,
                  int64_t first_block) const;

    int64_t n_ = 0, room_blocks_;
    std::vector<int32_t> entity_;   // -1: an empty place
    std::vector<int64_t> name_;
    std::vector<float> gathered_;   // coordinate by coordinate
};

// Mean and maximum of φ_E over histories, for all candidates of a mention.
class Pool {
public:
    Pool(const Pairs& pairs, int64_t n_histories, int64_t n_steps, int64_t n_candidates);

    // The entities that history k has decided on, first decision first.
    int32_t* history(int64_t k) { return histories_.data() + k * n_steps_; }

    // Pool the candidates under the first histories, all of `length` decisions.
    void run(const Pairs& pairs, const DocumentLinks* links, int64_t d, const int32_t* entity,
             int64_t n, int64_t n_histories, int64_t length);

    // Bin the means, then the maxima of history k: feature by feature, in candidate blocks.
    void bin(const Search& s, int64_t k, uint8_t* out) const;

    double sum(int64_t k, int64_t e, int64_t c) const { return sums_[at(k, e) + c]; }
    float top(int64_t k, int64_t e, int64_t c) const { return tops_[at(k, e) + c]; }
    // Means and maxima as features; with no history both are 0.
    float mean_value(int64_t k, int64_t e, int64_t c) const {
        return length_ ? static_cast<float>(sum(k, e, c) / static_cast<double>(length_)) : 0.0f;
    }
    float top_value(int64_t k, int64_t e, int64_t c) const { return length_ ? top(k, e, c) : 0.0f; }

private:
    int64_t at(int64_t k, int64_t e) const { return (k * n_pair_ + e) * blocks_of(n_) * BLOCK_SIZE; }
    void run_dense(const Pairs& pairs, int64_t d, const int32_t* entity, int64_t n_histories);
    void run_table(const Pairs& pairs, const DocumentLinks* links, int64_t d, int64_t n_histories);
    void add_decisions(const Pairs& pairs, const DocumentLinks* links, int64_t d, int64_t begin,
                       int64_t end, int64_t n_histories);

    int64_t n_pair_, n_steps_, n_ = 0, length_ = 0;
    std::vector<int32_t> histories_;
    EntityBlocks entities_;
    Buffer<float> values_, tops_;
    mutable std::vector<float> means_;
    Buffer<double> sums_;
    std::vector<int32_t> distinct_;  // entities of the current decisions
    std::vector<int32_t> line_of_;   // per decision and history, its entity's number there
};

// The leaves that the local features of many candidates leave in every tree, before any history.
class LocalMasks {
public:
    LocalMasks(const Forest& forest, int64_t n_trees, const TreeMasks& masks,
                 int64_t n_lanes);

    // Whether n more candidates fit, and the number appended.
    bool fits(int64_t n) const { return n_ == 0 || n_ + n <= room_; }
    int64_t size() const { return n_; }
    void clear() { n_ = 0; }
    // Append candidates first..last-1 of a mention.
    void add(const Search& s, int64_t mention, int64_t first, int64_t last);
    // Evaluate all splits on local features for the candidates appended.
    void run(const Forest& forest);

    double score(int64_t lane) const { return score_[lane]; }  // of trees without global splits
    // The sum of all other trees for a candidate; the bin of global feature g is bins[g * step].
    double sum(int64_t lane, const uint8_t* bins, int64_t step) {
        return sum_leaves(*tree_masks_, masks_.data() + lane * n_masked_, bins, step, left_.data());
    }

private:
    const TreeMasks* tree_masks_;
    int64_t n_trees_, n_local_, planes_, n_masked_, room_, n_ = 0;
    std::vector<uint8_t> bins_, allowed_;
    std::vector<uint32_t> words_, left_;
    std::vector<double> score_;
    Buffer<uint32_t> masks_;
};

// Call visit(d, local_masks, lane) for each document. If there are tree masks, the local ones are
// evaluated for as many documents ahead as fit: add(local_masks, d) appends the size(d) candidates
// of a document.
template <class Documents, class Size, class Add, class Visit>
void each_document(const Documents& documents, const Forest& forest, int64_t n_trees,
                   const TreeMasks* masks, Size size, Add add, Visit visit) {
    std::unique_ptr<LocalMasks> local;
    if (masks)
        local = std::make_unique<LocalMasks>(forest, n_trees, *masks, largest(documents, size));
    const auto n = static_cast<int64_t>(documents.size());
    std::vector<int64_t> lane(n);
    Interrupt interrupt;
    for (int64_t i = 0, ahead = 0; i < n; ++i) {
        interrupt.check();
        if (local && i == ahead) {
            local->clear();
            for (; ahead < n && local->fits(size(documents[ahead])); ++ahead) {
                lane[ahead] = local->size();
                add(*local, documents[ahead]);
            }
            local->run(forest);
        }
        visit(documents[i], local.get(), lane[i]);
    }
}

}  // namespace sgtb
