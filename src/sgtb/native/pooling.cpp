// Pair features, and their pooling over histories.
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

DocumentPairs::DocumentPairs(const Pairs& pairs, int64_t d) : pairs_(&pairs), d_(d) {
    if (pairs.n_features == 0) return;
    first_ = pairs.entity_offsets[d];
    if (pairs.dense()) return;
    const int64_t n = pairs.n_entities(d), n_relations = pairs.n_relations();
    struct Entry {
        int64_t key;
        Link link;
    };
    std::vector<std::pair<int32_t, int32_t>> places(n);  // rows of the document, ascending
    for (int64_t i = 0; i < n; ++i) places[i] = {pairs.row[first_ + i], int32_t(i)};
    std::sort(places.begin(), places.end());
    std::vector<Entry> entries;
    auto put = [&](int64_t relation, int32_t a, int32_t b, float count) {
        entries.push_back({a * n_relations + relation, {b, count}});
    };
    const int32_t* const targets = pairs.link_targets.data();
    for (int64_t relation = 0; relation < n_relations; ++relation)
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
    offsets_.assign(n * n_relations + 1, 0);
    for (const Entry& entry : entries) ++offsets_[entry.key + 1];
    for (std::size_t i = 1; i < offsets_.size(); ++i) offsets_[i] += offsets_[i - 1];
    std::vector<int32_t> next(offsets_.begin(), offsets_.end() - 1);
    links_.resize(entries.size());
    for (const Entry& entry : entries) links_[next[entry.key]++] = entry.link;
}

EntityBlocks::EntityBlocks(const Pairs& pairs, int64_t room)
    : entity_(blocks_of(std::max<int64_t>(room, 1)) * BLOCK_SIZE, -1), name_(entity_.size()) {
    if (!pairs.dense()) vectors_.make_room(entity_.size(), pairs.width());
}

void EntityBlocks::add(const DocumentPairs& document, int32_t entity) {
    const int64_t place = n_++;
    SGTB_ASSERT(place < std::ssize(entity_));
    entity_[place] = entity;
    if (document.source().dense()) return;
    name_[place] = document.name(entity);
    vectors_.put(place, document.vector(entity));
}

void EntityBlocks::fill(const DocumentPairs& document, const int32_t* entity, int64_t n) {
    clear();
    for (int64_t i = 0; i < n; ++i) add(document, entity[i]);
}

void EntityBlocks::pair_features(const DocumentPairs& document, const int32_t* decided,
                                 int64_t n_decided, float* out) const {
    const Pairs& pairs = document.source();
    const int64_t n_lanes = blocks_of(n_) * BLOCK_SIZE, n_pair = pairs.n_features;
    const int64_t line = n_pair * n_lanes, n_spaces = pairs.n_spaces();
    if (pairs.dense()) {
        for (int64_t j = 0; j < n_decided; ++j) {
            const float* const values = document.dense_row(decided[j]);
            for (int64_t c = 0; c < n_; ++c)
                for (int64_t e = 0; e < n_pair; ++e)
                    out[j * line + e * n_lanes + c] = values[entity_[c] * n_pair + e];
        }
        return;
    }
    constexpr int64_t AT_ONCE = 4;
    for (int64_t j = 0; j < n_decided; j += AT_ONCE) {
        const int64_t n = std::min(n_decided - j, AT_ONCE);
        const float* vectors[AT_ONCE];
        for (int64_t i = 0; i < n; ++i) vectors[i] = document.vector(decided[j + i]);
        for (int64_t space = 0; space < n_spaces; ++space)
            vectors_.multiply(n, vectors, 0, n_lanes / Panels::WIDTH,
                              out + j * line + space * n_lanes, line, pairs.space_offsets[space],
                              pairs.space_offsets[space + 1]);
    }
    for (int64_t j = 0; j < n_decided; ++j) {
        for (int64_t r = 0; r < pairs.n_relations(); ++r) {
            float* const values = out + j * line + (n_spaces + r) * n_lanes;
            std::fill_n(values, n_lanes, 0.0f);
            for (const auto [other, count] : document.links(decided[j], r))
                for (int64_t c = 0; c < n_lanes; ++c)
                    values[c] = entity_[c] == other ? count : values[c];
        }
        const int64_t name = document.name(decided[j]);
        for (int64_t c = 0; c < n_; ++c)
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
      values_(std::max(AT_ONCE, n_histories) * n_pair_ * blocks_of(n_candidates) * BLOCK_SIZE),
      features_(2 * n_histories * n_pair_ * blocks_of(n_candidates) * BLOCK_SIZE),
      sums_(n_histories * n_pair_ * blocks_of(n_candidates) * BLOCK_SIZE) {}

// The common prefix of all histories is pooled once.
void Pool::run(const DocumentPairs& document, const int32_t* entity, int64_t n,
               int64_t n_histories, int64_t length) {
    n_ = n;
    const int64_t line = n_pair_ * n_lanes();
    if (length == 0) {
        std::fill_n(features_.data(), 2 * n_histories * line, 0.0f);
        return;
    }
    entities_.fill(document, entity, n);
    std::fill_n(sums(0), line, 0.0);
    std::fill_n(tops(0), line, -std::numeric_limits<float>::infinity());
    int64_t common = length;
    for (int64_t k = 1; k < n_histories; ++k)
        common = std::mismatch(history(0), history(0) + common, history(k)).first - history(0);
    add_decisions(document, 0, common, 1);
    for (int64_t k = 1; k < n_histories; ++k) {
        std::copy_n(sums(0), line, sums(k));
        std::copy_n(tops(0), line, tops(k));
    }
    add_decisions(document, common, length, n_histories);
    for (int64_t k = 0; k < n_histories; ++k)
        std::transform(sums(k), sums(k) + line, means(k), [&](double sum) {
            return static_cast<float>(sum / static_cast<double>(length));
        });
}

// Sums run in the order of decisions. Within a batch of decisions, the pair features of an entity
// are computed once.
void Pool::add_decisions(const DocumentPairs& document, int64_t begin, int64_t end,
                         int64_t n_histories) {
    const int64_t line = n_pair_ * n_lanes(), most = std::max(AT_ONCE, n_histories);
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
        entities_.pair_features(document, distinct_.data(), std::ssize(distinct_), values_.data());
        for (int64_t k = 0; k < n_histories; ++k)
            for (int64_t i = 0; i < line; i += BLOCK_SIZE) {
                auto sum = DoubleBlock::load(sums(k) + i);
                auto top = Block::load(tops(k) + i);
                for (int64_t u = 0; u < stop - t; ++u) {
                    const int64_t at = line_of_[u * n_histories + k] * line + i;
                    const auto value = Block::load(values_.data() + at);
                    sum = sum + doubles(value);
                    top = larger(value, top);
                }
                sum.store(sums(k) + i);
                top.store(tops(k) + i);
            }
    }
}

void Pool::bin(const Search& s, int64_t k, uint8_t* out) const {
    for (int64_t g = 0; g < 2 * n_pair_; ++g) {
        const float *const values = feature(k, g), *const thresholds = s.thresholds(g);
        uint8_t* const bins = out + g * n_lanes();
        for (int64_t c = 0; c < n_; ++c) bins[c] = bin_value(values[c], thresholds);
    }
}

}  // namespace sgtb
