// Pair features, their pooling over histories, and the leaf masks of local features.
#include <algorithm>
#include <cstring>

#include "check.hpp"
#include "search.hpp"

namespace sgtb {

void check_pairs(const Pairs& pairs, int64_t n_documents) {
    check_value(pairs.n_features, 0, 1 << 20, "pairs.n_features");
    if (pairs.n_features == 0) return;
    check_equal(pairs.entity_offsets.size(), n_documents + 1, "pairs.entity_offsets");
    const int64_t n_entities = pairs.entity_offsets[n_documents];
    check_offsets(pairs.entity_offsets, n_documents, n_entities, "pairs.entity_offsets");
    if (pairs.dense()) {
        check_equal(pairs.block_offsets.size(), n_documents + 1, "pairs.block_offsets");
        for (int64_t d = 0; d < n_documents; ++d) {
            const int64_t n = pairs.n_entities(d), most = int64_t(1) << 31;
            check_value(n, 0, most, "pairs.entity_offsets");
            const int64_t end = pairs.block.size() + 1 - n * n * pairs.n_features;
            check_value(pairs.block_offsets[d], 0, end, "pairs.block_offsets");
        }
        return;
    }
    const int64_t n_rows = pairs.vectors.shape(0), n_targets = pairs.link_targets.size();
    check_equal(pairs.row.size(), n_entities, "pairs.row");
    check_range(pairs.row, 0, n_rows, "pairs.row");
    check_equal(pairs.name.size(), n_entities, "pairs.name");
    check_groups(pairs.space_offsets, pairs.width(), "pairs.space_offsets");
    check_shape(pairs.link_offsets, {pairs.n_relations(), n_rows + 1}, "pairs.link_offsets");
    check_equal(pairs.link_counts.size(), n_targets, "pairs.link_counts");
    for (int64_t r = 0; r < pairs.n_relations(); ++r)
        for (const int32_t row : pairs.row) {
            const int64_t start = pairs.link_offsets(r, row);
            check_value(start, 0, n_targets + 1, "pairs.link_offsets");
            check_value(pairs.link_offsets(r, row + 1), start, n_targets + 1,
                        "pairs.link_offsets");
        }
}

void check_search(const Search& s) {
    const int64_t n_documents = s.n_documents(), n_mentions = s.candidate_offsets.size() - 1;
    check_groups(s.mention_offsets, n_mentions, "mention_offsets");
    check_groups(s.candidate_offsets, s.entity.size(), "candidate_offsets");
    check_equal(s.gold.size(), n_mentions, "gold");
    check_equal(s.clamp.size(), n_mentions, "clamp");
    check_equal(s.mention_blocks.size(), n_mentions + 1, "mention_blocks");
    int64_t blocks = 0;
    for (int64_t m = 0; m <= n_mentions; ++m) {
        check_equal(s.mention_blocks[m], blocks, "mention_blocks");
        if (m == n_mentions) break;
        check_value(s.gold[m], -1, s.n_candidates(m), "gold");
        check_value(s.clamp[m], -1, s.n_candidates(m), "clamp");
        blocks += blocks_of(s.n_candidates(m));
    }
    check_equal(s.n_local, s.forest.n_local, "n_local");
    check_value(s.n_local, 0, 1 << 24, "n_local");
    check_equal(s.local.shape(1), BLOCK_SIZE, "local");
    check_at_least(s.local.shape(0), blocks * s.n_local, "local");
    check_pairs(s.pairs, n_documents);
    check_shape(s.global_thresholds, {2 * s.pairs.n_features, MAX_BINS}, "global_thresholds");
    const int64_t n_steps = s.mention.shape(1), n_directions = s.mention.shape(0);
    check_value(n_directions, 1, 3, "mention");
    check_offsets(s.step_offsets, n_documents, n_steps, "step_offsets");
    check_shape(s.step_blocks, {n_directions, n_steps + 1}, "step_blocks");
    for (int64_t direction = 0; direction < n_directions; ++direction) {
        check_equal(s.step_blocks(direction, 0), 0, "step_blocks");
        for (int64_t d = 0; d < n_documents; ++d)
            for (int64_t step = s.step_offsets[d]; step < s.step_offsets[d + 1]; ++step) {
                const int64_t m = s.mention(direction, step);
                check_value(m, s.mention_offsets[d], s.mention_offsets[d + 1], "mention");
                check_at_least(s.n_candidates(m), 1, "candidates of a visited mention");
                check_equal(s.step_blocks(direction, step + 1),
                            s.step_blocks(direction, step) + blocks_of(s.n_candidates(m)),
                            "step_blocks");
            }
    }
    if (s.pairs.n_features > 0)
        for (int64_t d = 0; d < n_documents; ++d) {
            const int64_t first = s.candidate_offsets[s.mention_offsets[d]];
            const Ints entity(s.entity.data() + first, {s.candidates_of(d)});
            check_range(entity, 0, s.pairs.n_entities(d), "entity");
        }
    check_value(s.beam_width, 1, 1 << 20, "beam_width");
}

DocumentLinks::DocumentLinks(const Pairs& pairs, int64_t d) {
    if (pairs.n_features == 0 || pairs.dense()) return;
    n_relations_ = pairs.n_relations();
    const int64_t n = pairs.n_entities(d), base = pairs.entity_offsets[d];
    struct Entry {
        int64_t key;
        Link link;
    };
    std::vector<std::pair<int32_t, int32_t>> places(n);  // rows of the document, ascending
    for (int64_t i = 0; i < n; ++i) places[i] = {pairs.row[base + i], int32_t(i)};
    std::sort(places.begin(), places.end());
    std::vector<Entry> entries;
    auto put = [&](int64_t relation, int32_t a, int32_t b, float count) {
        entries.push_back({a * n_relations_ + relation, {b, count}});
    };
    const int32_t* const targets = pairs.link_targets.data();
    for (int64_t relation = 0; relation < n_relations_; ++relation)
        for (auto place = places.begin(); place != places.end(); ++place) {
            const auto [row, entity] = *place;
            // A link is stored with the lower of its rows; both lists are ascending.
            auto other = std::lower_bound(places.begin(), place, std::pair(row, 0));
            const int64_t end = pairs.link_offsets(relation, row + 1);
            for (int64_t i = pairs.link_offsets(relation, row); i < end; ++i) {
                other = std::lower_bound(other, places.end(), std::pair(targets[i], 0));
                for (; other != places.end() && other->first == targets[i]; ++other) {
                    put(relation, entity, other->second, pairs.link_counts[i]);
                    if (other->first != row)
                        put(relation, other->second, entity, pairs.link_counts[i]);
                }
            }
        }
    offsets_.assign(n * n_relations_ + 1, 0);
    for (const Entry& entry : entries) ++offsets_[entry.key + 1];
    for (std::size_t i = 1; i < offsets_.size(); ++i) offsets_[i] += offsets_[i - 1];
    std::vector<int32_t> next(offsets_.begin(), offsets_.end() - 1);
    links_.resize(entries.size());
    for (const Entry& entry : entries) links_[next[entry.key]++] = entry.link;
}

EntityBlocks::EntityBlocks(const Pairs& pairs, int64_t room)
    : room_blocks_(blocks_of(std::max<int64_t>(room, 1))),
      entity_(room_blocks_ * BLOCK_SIZE, -1),
      name_(room_blocks_ * BLOCK_SIZE),
      gathered_(pairs.dense() ? 0 : room_blocks_ * BLOCK_SIZE * pairs.width()) {}

void EntityBlocks::put(const Pairs& pairs, int64_t d, int32_t entity, int64_t place) {
    SGTB_ASSERT(place < static_cast<int64_t>(entity_.size()));
    entity_[place] = entity;
    if (pairs.dense()) return;
    name_[place] = pairs.name[pairs.entity_offsets[d] + entity];
    const float* vector = pairs.vector(d, entity);
    for (int64_t k = 0; k < pairs.width(); ++k)
        gathered_[k * room_blocks_ * BLOCK_SIZE + place] = vector[k];
}

void EntityBlocks::fill(const Pairs& pairs, int64_t d, const int32_t* entity, int64_t n) {
    n_ = n;
    for (int64_t i = 0; i < n; ++i) put(pairs, d, entity[i], i);
}

// The dot products of N decided entities with all entities; each sum is in coordinate order.
template <int N>
void EntityBlocks::multiply(const Pairs& pairs, int64_t d, const int32_t* decided, float* out,
                      int64_t first_block) const {
    const int64_t n_blocks = blocks_of(n_), stride = room_blocks_ * BLOCK_SIZE;
    const float* vector[N];
    for (int j = 0; j < N; ++j) vector[j] = pairs.vector(d, decided[j]);
    for (int64_t space = 0; space < pairs.n_spaces(); ++space) {
        const int64_t begin = pairs.space_offsets[space], end = pairs.space_offsets[space + 1];
        for (int64_t b = first_block; b < n_blocks; ++b) {
            const float* lanes = gathered_.data() + begin * stride + b * BLOCK_SIZE;
            Block sum[N];
            for (int j = 0; j < N; ++j) sum[j] = Block::all(0.0f);
            for (int64_t k = begin; k < end; ++k, lanes += stride) {
                const Block x = Block::load(lanes);
                for (int j = 0; j < N; ++j) sum[j] = sum[j] + Block::all(vector[j][k]) * x;
            }
            for (int j = 0; j < N; ++j)
                sum[j].store(out + ((j * pairs.n_features + space) * n_blocks + b) * BLOCK_SIZE);
        }
    }
}

void EntityBlocks::pair_features(const Pairs& pairs, const DocumentLinks* links, int64_t d,
                  const int32_t* decided, int64_t n_decided, float* out,
                  int64_t first_block) const {
    const int64_t n_blocks = blocks_of(n_), n_pair = pairs.n_features;
    const int64_t line = n_pair * n_blocks * BLOCK_SIZE;
    if (pairs.dense()) {
        for (int64_t j = 0; j < n_decided; ++j) {
            const float* values = pairs.dense_row(d, decided[j]);
            for (int64_t c = 0; c < n_; ++c)
                for (int64_t e = 0; e < n_pair; ++e)
                    out[j * line + e * n_blocks * BLOCK_SIZE + c] = values[entity_[c] * n_pair + e];
        }
        return;
    }
    constexpr int AT_ONCE = REGISTER == 32 ? 4 : 2;  // as many sums as there are registers for
    constexpr decltype(&EntityBlocks::multiply<1>) PRODUCTS[] = {
        &EntityBlocks::multiply<1>, &EntityBlocks::multiply<2>, &EntityBlocks::multiply<3>, &EntityBlocks::multiply<4>};
    for (int64_t j = 0; j < n_decided; j += AT_ONCE) {
        const int64_t left = std::min<int64_t>(n_decided - j, AT_ONCE);
        (this->*PRODUCTS[left - 1])(pairs, d, decided + j, out + j * line, first_block);
    }
    const int64_t n_spaces = pairs.n_spaces(), n_lanes = n_blocks * BLOCK_SIZE;
    for (int64_t j = 0; j < n_decided; ++j)
        for (int64_t r = 0; r < n_pair - n_spaces; ++r) {
            float* values = out + j * line + (n_spaces + r) * n_lanes;
            std::memset(values, 0, n_lanes * sizeof(float));
            for (const auto [other, count] : links->of(decided[j], r))
                for (int64_t c = 0; c < n_lanes; ++c)
                    values[c] = entity_[c] == other ? count : values[c];
        }
    for (int64_t j = 0; j < n_decided; ++j) {
        const int64_t name = pairs.name[pairs.entity_offsets[d] + decided[j]];
        for (int64_t c = first_block * BLOCK_SIZE; c < n_; ++c)
            if (name_[c] == name && entity_[c] != decided[j])
                for (int64_t e = 0; e < n_pair; ++e) out[j * line + e * n_lanes + c] = 0.0f;
    }
}

namespace {
constexpr int64_t AT_ONCE = 16;  // decisions whose pair features are computed together
}

Pool::Pool(const Pairs& pairs, int64_t n_histories, int64_t n_steps, int64_t n_candidates)
    : n_pair_(pairs.n_features),
      n_steps_(n_steps),
      histories_(n_histories * n_steps),
      entities_(pairs, n_candidates),
      values_(pairs.dense() ? 0
                            : std::max(AT_ONCE, n_histories) * n_pair_ * blocks_of(n_candidates) *
                                  BLOCK_SIZE),
      tops_(n_histories * n_pair_ * blocks_of(n_candidates) * BLOCK_SIZE),
      means_(blocks_of(n_candidates) * BLOCK_SIZE),
      sums_(n_histories * n_pair_ * blocks_of(n_candidates) * BLOCK_SIZE) {}

void Pool::run(const Pairs& pairs, const DocumentLinks* links, int64_t d, const int32_t* entity,
               int64_t n, int64_t n_histories, int64_t length) {
    n_ = n;
    length_ = length;
    if (pairs.dense()) {
        run_dense(pairs, d, entity, n_histories);
        return;
    }
    if (length > 0) entities_.fill(pairs, d, entity, n);
    run_table(pairs, links, d, n_histories);
}

// Candidate by candidate: sums of four features at a time stay in registers.
void Pool::run_dense(const Pairs& pairs, int64_t d, const int32_t* entity, int64_t n_histories) {
    constexpr int FEATURES = 4;
    for (int64_t c = 0; c < n_; ++c) {
        const float* const row = pairs.dense_row(d, entity[c]);
        for (int64_t k = 0; k < n_histories; ++k) {
            const int32_t* const decided = history(k);
            for (int64_t first = 0; first < n_pair_; first += FEATURES) {
                // The last feature is repeated where fewer are left.
                int64_t feature[FEATURES];
                double sum[FEATURES] = {};
                float top[FEATURES];
                for (int i = 0; i < FEATURES; ++i) {
                    feature[i] = std::min(first + i, n_pair_ - 1);
                    top[i] = -std::numeric_limits<float>::infinity();
                }
                for (int64_t t = 0; t < length_; ++t) {
                    const float* const values = row + decided[t] * n_pair_;
                    for (int i = 0; i < FEATURES; ++i) {
                        const float value = values[feature[i]];
                        sum[i] += value;
                        top[i] = value > top[i] ? value : top[i];
                    }
                }
                for (int i = 0; i < FEATURES; ++i) {
                    sums_[at(k, feature[i]) + c] = sum[i];
                    tops_[at(k, feature[i]) + c] = top[i];
                }
            }
        }
    }
}

// The common prefix of all histories is pooled once.
void Pool::run_table(const Pairs& pairs, const DocumentLinks* links, int64_t d,
                     int64_t n_histories) {
    const int64_t line = n_pair_ * blocks_of(n_) * BLOCK_SIZE;
    std::fill_n(sums_.data(), line, 0.0);
    std::fill_n(tops_.data(), line, -std::numeric_limits<float>::infinity());
    int64_t common = length_;
    for (int64_t k = 1; k < n_histories; ++k)
        common = std::mismatch(history(0), history(0) + common, history(k)).first - history(0);
    add_decisions(pairs, links, d, 0, common, 1);
    for (int64_t k = 1; k < n_histories; ++k) {
        std::copy_n(sums_.data(), line, sums_.data() + k * line);
        std::copy_n(tops_.data(), line, tops_.data() + k * line);
    }
    add_decisions(pairs, links, d, common, length_, n_histories);
}

// Sums run in the order of decisions. Within a batch of decisions, the pair features of an entity
// are computed once.
void Pool::add_decisions(const Pairs& pairs, const DocumentLinks* links, int64_t d, int64_t begin,
                         int64_t end, int64_t n_histories) {
    const int64_t line = n_pair_ * blocks_of(n_) * BLOCK_SIZE, most = std::max(AT_ONCE, n_histories);
    for (int64_t t = begin, stop; t < end; t = stop) {
        distinct_.clear();
        line_of_.clear();
        for (stop = t; stop < end; ++stop) {
            if (stop > t && static_cast<int64_t>(distinct_.size()) + n_histories > most) break;
            for (int64_t k = 0; k < n_histories; ++k) {
                const int32_t decided = history(k)[stop];
                const auto found = std::find(distinct_.begin(), distinct_.end(), decided);
                line_of_.push_back(static_cast<int32_t>(found - distinct_.begin()));
                if (found == distinct_.end()) distinct_.push_back(decided);
            }
        }
        entities_.pair_features(pairs, links, d, distinct_.data(), distinct_.size(), values_.data());
        for (int64_t k = 0; k < n_histories; ++k)
            for (int64_t i = 0; i < line; i += BLOCK_SIZE) {
                auto sum = DoubleBlock::load(sums_.data() + k * line + i);
                auto top = Block::load(tops_.data() + k * line + i);
                for (int64_t u = 0; u < stop - t; ++u) {
                    const int64_t at = line_of_[u * n_histories + k] * line + i;
                    const auto value = Block::load(values_.data() + at);
                    sum = sum + doubles(value);
                    top = larger(value, top);
                }
                sum.store(sums_.data() + k * line + i);
                top.store(tops_.data() + k * line + i);
            }
    }
}

void Pool::bin(const Search& s, int64_t k, uint8_t* out) const {
    const int64_t stride = blocks_of(n_) * BLOCK_SIZE;
    const double length = static_cast<double>(std::max<int64_t>(length_, 1));
    std::vector<float>& means = means_;
    for (int64_t e = 0; e < n_pair_; ++e) {
        const double* const sums = sums_.data() + at(k, e);
        const float* const tops = tops_.data() + at(k, e);
        for (int64_t c = 0; c < stride; ++c) means[c] = static_cast<float>(sums[c] / length);
        for (int64_t c = 0; c < n_; ++c) {
            out[e * stride + c] = bin_value(means[c], s.thresholds(e));
            out[(n_pair_ + e) * stride + c] =
                bin_value(length_ ? tops[c] : 0.0f, s.thresholds(n_pair_ + e));
        }
    }
}

namespace {
constexpr int64_t VECTOR = 32;   // candidates are rounded up to whole registers
constexpr int64_t TREES = 8;     // trees whose masks are transposed at a time
constexpr int64_t LEAST = 256;   // candidates per batch of documents

int64_t whole_vectors(int64_t n) { return (n + VECTOR - 1) / VECTOR * VECTOR; }
}  // namespace

LocalMasks::LocalMasks(const Forest& forest, int64_t n_trees, const TreeMasks& masks,
                           int64_t n_lanes)
    : tree_masks_(&masks),
      n_trees_(n_trees),
      n_local_(forest.n_local),
      planes_(forest.planes),
      n_masked_(masks.mask.shape(1)),
      room_(whole_vectors(std::max(n_lanes, LEAST))),
      bins_(n_local_ * room_),
      allowed_(planes_ * room_),
      words_(TREES * room_),
      left_(n_masked_),
      score_(room_),
      masks_(room_ * n_masked_) {}

void LocalMasks::add(const Search& s, int64_t mention, int64_t first, int64_t last) {
    const int64_t stride = blocks_of(s.n_candidates(mention)) * BLOCK_SIZE;
    SGTB_ASSERT(n_ + last - first <= room_);
    for (int64_t f = 0; f < n_local_; ++f)
        std::memcpy(bins_.data() + f * room_ + n_, s.local_of(mention) + f * stride + first,
                    last - first);
    n_ += last - first;
}

void LocalMasks::run(const Forest& forest) {
    const int64_t n = whole_vectors(n_);
    std::fill_n(score_.begin(), n, 0.0);
    // Transpose the masks of some trees; columns beyond the last tree are not used.
    auto transpose = [&](int64_t first_column) {
        for (int64_t j = 0; j < n_; ++j)
            for (int64_t k = 0; k < TREES; ++k)
                masks_[j * n_masked_ + first_column + k] = words_[k * room_ + j];
    };
    const int64_t first_row = 0;
    const ScoreRows all{bins_.data(), nullptr, score_.data(), &first_row, 1, n_,
                        room_ / BLOCK_SIZE, 0};
    int64_t column = 0;
    for (int64_t t = 0; t < n_trees_; ++t) {
        if (forest.global_splits[t] == 0) {
            add_trees(forest, t, t + 1, all);
            continue;
        }
        std::memset(allowed_.data(), 255, planes_ * room_);
        const int64_t start = t * forest.words;
        for (int64_t q = start; q < start + forest.local_splits[t]; ++q) {
            const int64_t split = forest.splits[q];
            const uint8_t border = bin_of(split), left_out = mask_of(split);
            const uint8_t* __restrict bins = bins_.data() + feature_of(split) * room_;
            uint8_t* __restrict plane = allowed_.data() + plane_of(split) * room_;
            for (int64_t j = 0; j < n; ++j) plane[j] &= bins[j] <= border ? 255 : left_out;
        }
        uint32_t* __restrict words = words_.data() + column % TREES * room_;
        for (int64_t j = 0; j < n; ++j) words[j] = allowed_[j];
        for (int64_t p = 1; p < planes_; ++p)
            for (int64_t j = 0; j < n; ++j)
                words[j] |= uint32_t(allowed_[p * room_ + j]) << (8 * p);
        if (++column % TREES == 0) transpose(column - TREES);
    }
    if (column % TREES > 0) transpose(column / TREES * TREES);
}

}  // namespace sgtb
