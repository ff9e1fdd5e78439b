// Beam search over documents: training points, decoding.
//
// A pass visits the mentions of a document in some order. Level i of a beam holds the hypotheses
// with i decisions; a hypothesis is a choice and the number of its parent one level up. They are
// ranked by S, plus the best score of the candidate from the opposite direction where there is
// one; ties go to the lower entity number, then to the better parent.
#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>

#include "interrupt.hpp"

namespace sgtb {

namespace {

constexpr int64_t FORWARD = 0, BACKWARD = 1;

// Load what is read soon: tables of all steps do not fit into the caches.
void prefetch([[maybe_unused]] const void* from) {
#if defined(__GNUC__)
    __builtin_prefetch(from);
#endif
}

constexpr int32_t ROOT = 1;  // the number of the empty prefix's parent; 0: a slot never used

struct Hypothesis {
    int32_t parent, choice, prefix, slot;
    double score;  // S
};

// The hypotheses of all levels of one pass.
struct Beam {
    Beam(int64_t n_steps, int64_t most)
        : most(most), hypotheses((n_steps + 1) * most), width(n_steps + 1), gold(n_steps + 1) {}

    Hypothesis* level(int64_t i) { return hypotheses.data() + i * most; }
    const Hypothesis* level(int64_t i) const { return hypotheses.data() + i * most; }

    // Begin with the empty hypothesis, which is a gold prefix.
    void start() {
        width[0] = 1;
        gold[0] = 0;
        hypotheses[0] = {-1, -1, 0, 0, 0.0};
    }
    // Leave the gold prefix as the only hypothesis of a level.
    void restart_from_gold(int64_t i) {
        level(i)[0] = level(i)[gold[i]];
        gold[i] = 0;
        width[i] = 1;
    }
    // The hypothesis with the highest S of a level, the better ranked of equals.
    int64_t best(int64_t i) const {
        int64_t found = 0;
        for (int64_t h = 1; h < width[i]; ++h)
            if (level(i)[h].score > level(i)[found].score) found = h;
        return found;
    }
    // Probabilities of a level's hypotheses by their scores.
    void softmax(int64_t i, double* out) const {
        sgtb::softmax(width[i], [&](int64_t h) { return level(i)[h].score; }, out);
    }
    // Call visit(level, choice) for the decisions that led to a hypothesis, last one first.
    template <class Visit>
    void trace(int64_t i, int64_t h, int64_t begin, Visit visit) const {
        for (; i > begin; --i) {
            visit(i, level(i)[h].choice);
            h = level(i)[h].parent;
        }
    }

    int64_t most;
    std::vector<Hypothesis> hypotheses;
    std::vector<int32_t> width, gold;
};

// The cache entry of a prefix: its candidates' global bins and scores of the first trees.
struct Slot {
    int32_t prefix, parent, choice, trees, used;
};

// Slots of all steps, a table per step and direction. The key of a prefix is the number of its
// parent prefix with its last choice; numbers are unique in a document.
struct PrefixCache {
    PrefixCache(int64_t n_slots, int64_t n_regions, int64_t n_tables, int64_t n_blocks,
                int64_t n_global)
        : n_slots(n_slots),
          n_tables(n_tables),
          n_blocks(n_blocks),
          n_global(n_global),
          slots(n_regions * n_tables * n_slots),
          scores(n_regions * n_blocks * n_slots * BLOCK_SIZE),
          bins(n_regions * n_blocks * n_slots * BLOCK_SIZE * n_global) {}

    // Empty the tables of one document.
    void forget(int64_t n_regions, int64_t first_table, int64_t n) {
        for (int64_t region = 0; region < n_regions; ++region) {
            const auto begin = slots.begin() + (region * n_tables + first_table) * n_slots;
            std::fill(begin, begin + n * n_slots, Slot{});
        }
    }

    int64_t n_slots, n_tables, n_blocks, n_global;
    std::vector<Slot> slots;
    Buffer<double> scores;
    Buffer<uint8_t> bins;
};

// One visit: a mention with its candidates, and where the cache has its table.
struct Step {
    int64_t level, mention, first, n, n_blocks;
    int64_t table;  // its first slot
    int64_t block;  // the first block of that slot
    int64_t place;  // of the first candidate among those of the document

    int64_t row(int64_t slot) const { return block + (slot - table) * n_blocks; }
};

// A document under search: where its tables begin, its pair features, its counters.
struct Document {
    int64_t number, first_table, first_block;
    DocumentPairs pairs;
    int32_t last_prefix = ROOT, passes = 0;
};

struct PassOptions {
    int64_t direction, n_trees;
    bool guided = false;     // rank with the scores of the opposite direction
    bool keep_gold = false;  // bring a lost gold prefix back as the last hypothesis
    bool stop_when_lost = false;
};

// One thread's workspace for passes over documents.
class Searcher {
public:
    Searcher(const Search& s, PrefixCache& cache, int64_t n_steps, int64_t widest,
             int64_t n_outside)
        : s_(s),
          cache_(cache),
          most_(s.beam_width + 1),  // the gold path comes on top
          pool_(s.pairs, most_, n_steps, widest),
          key_(most_),
          sums_(widest),
          rows_(most_) {
        for (auto& outside : outside_) outside.resize(n_outside);
    }

    // Decide on the mentions from level `begin` on; return the level reached.
    int64_t run_pass(Document& document, Beam& beam, const PassOptions& options,
                     int64_t begin = 0) {
        ++document.passes;
        const int64_t n_steps = s_.n_steps(document.number);
        for (int64_t level = begin; level < n_steps; ++level) {
            const Step at = step(document, options.direction, level);
            locate(document, beam, options.direction, at);
            catch_up(beam, at, options.n_trees);
            if (!outside_[0].empty()) look_back(beam, options.direction, at);
            select(beam, options, at);
            if (options.keep_gold && keep_gold(beam, at) && options.stop_when_lost)
                return level + 1;
        }
        return n_steps;
    }

    // The step of a direction at a level.
    Step step(const Document& document, int64_t direction, int64_t level) const {
        const int64_t first_step = s_.step_offsets[document.number], step = first_step + level;
        const int64_t mention = s_.mention(direction, step);
        const int64_t first = s_.candidate_offsets[mention], n = s_.n_candidates(mention);
        const int64_t before = s_.step_blocks(direction, step) - s_.step_blocks(direction, first_step);
        const int64_t base = direction * cache_.n_tables + document.first_table + level;
        const int64_t block = direction * cache_.n_blocks + document.first_block + before;
        const int64_t place = first - s_.candidate_offsets[s_.mention_offsets[document.number]];
        return {level, mention, first, n, blocks_of(n), base * cache_.n_slots,
                block * cache_.n_slots, place};
    }

    // Scores and global bins of a step's candidates after a prefix.
    const double* scores(const Step& at, int64_t slot) const {
        return cache_.scores.data() + at.row(slot) * BLOCK_SIZE;
    }
    const uint8_t* bins(const Step& at, int64_t slot) const {
        return cache_.bins.data() + at.row(slot) * cache_.n_global * BLOCK_SIZE;
    }

private:
    // Find the slot of every hypothesis, and pool global features for new prefixes.
    void locate(Document& document, Beam& beam, int64_t direction, const Step& at) {
        Hypothesis* const here = beam.level(at.level);
        const Hypothesis* const above = at.level ? beam.level(at.level - 1) : nullptr;
        Slot* const table = cache_.slots.data() + at.table;
        for (int64_t i = 0; i < cache_.n_slots; ++i) prefetch(table + cache_.n_slots + i);
        const int64_t n = beam.width[at.level];
        auto parent_of = [&](const Hypothesis& h) { return above ? above[h.parent].prefix : ROOT; };
        for (int64_t h = 0; h < n; ++h) {
            const int32_t parent = parent_of(here[h]);
            here[h].slot = -1;
            for (int64_t i = 0; i < cache_.n_slots; ++i)
                if (table[i].parent == parent && table[i].choice == here[h].choice) {
                    table[i].used = document.passes;
                    here[h].slot = static_cast<int32_t>(at.table + i);
                    here[h].prefix = table[i].prefix;
                    prefetch(scores(at, here[h].slot));
                    prefetch(scores(at, here[h].slot) + BLOCK_SIZE / 2);
                    break;
                }
        }
        int64_t n_new = 0;
        for (int64_t h = 0; h < n; ++h) {
            if (here[h].slot >= 0) continue;
            // Replace the least recently used slot.
            int64_t oldest = 0;
            for (int64_t i = 1; i < cache_.n_slots; ++i)
                if (table[i].used < table[oldest].used) oldest = i;
            here[h].prefix = ++document.last_prefix;
            here[h].slot = static_cast<int32_t>(at.table + oldest);
            table[oldest] = {here[h].prefix, parent_of(here[h]), here[h].choice, 0,
                             document.passes};
            const int64_t row = at.row(here[h].slot);
            std::memset(cache_.scores.data() + row * BLOCK_SIZE, 0,
                        at.n_blocks * BLOCK_SIZE * sizeof(double));
            int32_t* const history = pool_.history(n_new);
            beam.trace(at.level, h, 0, [&](int64_t level, int64_t choice) {
                const int64_t m = s_.mention_at(direction, document.number, level - 1);
                history[level - 1] = s_.entity[s_.candidate_offsets[m] + choice];
            });
            rows_[n_new++] = row;
        }
        if (n_new == 0 || s_.pairs.n_features == 0) return;
        pool_.run(document.pairs, s_.entity.data() + at.first, at.n, n_new, at.level);
        for (int64_t k = 0; k < n_new; ++k)
            pool_.bin(s_, k, cache_.bins.data() + rows_[k] * cache_.n_global * BLOCK_SIZE);
    }

    // Add the trees that the slots' scores lack; slots that lack the same ones together.
    void catch_up(Beam& beam, const Step& at, int64_t n_trees) {
        const Hypothesis* const here = beam.level(at.level);
        for (int64_t h = 0; h < beam.width[at.level]; ++h) {
            const int32_t held = cache_.slots[here[h].slot].trees;
            if (held == n_trees) continue;
            int64_t n_rows = 0;
            for (int64_t other = h; other < beam.width[at.level]; ++other) {
                Slot& slot = cache_.slots[here[other].slot];
                if (slot.trees != held) continue;
                slot.trees = static_cast<int32_t>(n_trees);
                rows_[n_rows++] = at.row(here[other].slot);
            }
            const ScoreRows rows{s_.local_of(at.mention), cache_.bins.data(),
                                 cache_.scores.data(),    rows_.data(),
                                 n_rows,                  at.n,
                                 at.n_blocks,             cache_.n_global};
            add_trees(s_.forest, held, n_trees, rows);
        }
    }

    // Keep, for the opposite direction, each candidate's best score from this one.
    void look_back(const Beam& beam, int64_t direction, const Step& at) {
        double* const best = outside_[direction].data() + at.place;
        std::fill_n(best, at.n, -std::numeric_limits<double>::infinity());
        for (int64_t h = 0; h < beam.width[at.level]; ++h) {
            const Hypothesis& from = beam.level(at.level)[h];
            const double* const score = scores(at, from.slot);
            for (int64_t c = 0; c < at.n; ++c) best[c] = std::max(best[c], from.score + score[c]);
        }
    }

    // Keep the best extensions, sorted, as the next level.
    void select(Beam& beam, const PassOptions& options, const Step& at) {
        Hypothesis* const below = beam.level(at.level + 1);
        const int32_t* const entity = s_.entity.data() + at.first;
        const double* const outside =
            options.guided ? outside_[1 - options.direction].data() + at.place : nullptr;
        double least = -std::numeric_limits<double>::infinity();  // that enters a full beam
        const int64_t clamped = s_.clamp[at.mention];
        const int64_t begin = clamped >= 0 ? clamped : 0, end = clamped >= 0 ? clamped + 1 : at.n;
        int64_t kept = 0;
        for (int64_t h = 0; h < beam.width[at.level]; ++h) {
            const Hypothesis& from = beam.level(at.level)[h];
            const double* const score = scores(at, from.slot);
            for (int64_t c = 0; c < at.n; ++c) sums_[c] = from.score + score[c];
            if (outside)
                for (int64_t c = 0; c < at.n; ++c) sums_[c] += outside[c];
            for (int64_t c = begin; c < end; ++c) {
                const double key = sums_[c];
                if (key < least) continue;
                int64_t i = kept;
                while (i > 0 && (key > key_[i - 1] || (key == key_[i - 1] &&
                                                       entity[c] < entity[below[i - 1].choice])))
                    --i;
                if (i == s_.beam_width) continue;
                kept = std::min(kept + 1, s_.beam_width);
                for (int64_t j = kept - 1; j > i; --j) {
                    key_[j] = key_[j - 1];
                    below[j] = below[j - 1];
                }
                key_[i] = key;
                below[i] = {int32_t(h), int32_t(c), 0, 0, from.score + score[c]};
                if (kept == s_.beam_width) least = key_[kept - 1];
            }
        }
        beam.width[at.level + 1] = static_cast<int32_t>(kept);
    }

    // Note which hypothesis of the new level is the gold prefix; append it if it was lost.
    bool keep_gold(Beam& beam, const Step& at) {
        Hypothesis* const below = beam.level(at.level + 1);
        const int32_t parent = beam.gold[at.level], gold = s_.gold[at.mention];
        int32_t& width = beam.width[at.level + 1];
        int32_t h = 0;
        while (h < width && (below[h].parent != parent || below[h].choice != gold)) ++h;
        beam.gold[at.level + 1] = h;
        if (h < width) return false;
        const Hypothesis& from = beam.level(at.level)[parent];
        below[h] = {parent, gold, 0, 0, from.score + scores(at, from.slot)[gold]};
        ++width;
        return true;
    }

    const Search& s_;
    PrefixCache& cache_;
    int64_t most_;
    Pool pool_;
    std::vector<double> key_, sums_;
    std::vector<int64_t> rows_;
    std::vector<double> outside_[2];
};

int64_t most_steps(const Search& s, Ints documents) {
    return largest(documents, [&](int64_t d) { return s.n_steps(d); });
}

int64_t most_lanes(const Search& s, Ints documents) {
    return largest(documents, [&](int64_t d) { return s.candidates_of(d); });
}

int64_t most_candidates(Ints candidate_offsets) {
    int64_t most = 1;
    for (int64_t m = 0; m + 1 < candidate_offsets.size(); ++m)
        most = std::max<int64_t>(most, candidate_offsets[m + 1] - candidate_offsets[m]);
    return most;
}

}  // namespace

// ---- training: from beams to points

// See boosting/search/beam.py.
struct PlanRules {
    bool uses_history, bidirectional, early_update, continue_from_gold;
};
SGTB_RECORD(PlanRules, uses_history, bidirectional, early_update, continue_from_gold)

// Searches training documents epoch by epoch. A point is a row φ(x, y_t, history) with the
// negative functional gradient there (eq. 6), 1[y_1:t = y*_1:t] − p(y_1:t | x), p the softmax of S
// over the beam of the partial sequence.
class Collector {
public:
    Collector(Buffers& buffers, const Search& s, const PlanRules& plan, int64_t rounds,
              Ints share_offsets, Ints share_documents, Array<const uint8_t, 2> local_rows,
              Longs point_offsets, Array<uint8_t, 2> rows)
        : s_(s), plan_(plan), rounds_(rounds), local_rows_(local_rows), rows_(rows) {
        check_search(s);
        check_value(rounds, 1, 1 << 20, "rounds");
        check(share_offsets, share_documents, point_offsets);
        own(s_.mention_offsets, s_.candidate_offsets, s_.gold, s_.entity, s_.mention_blocks,
            s_.step_offsets, s_.mention, s_.step_blocks, s_.clamp, s_.pairs.entity_offsets,
            s_.pairs.block_offsets, s_.pairs.row, s_.pairs.space_offsets);
        point_offsets_.assign(point_offsets.begin(), point_offsets.end());
        contents_.resize(rows.shape(0));
        points_.resize(rows.shape(0));
        residuals_.resize(rows.shape(0));
        tallies_.resize(s.n_documents());
        if (!plan.uses_history)
            local_scores_.resize(s.mention_blocks[s.candidate_offsets.size() - 1] * BLOCK_SIZE);
        else
            prepare_search();
        shares_.resize(share_offsets.size() - 1);
        const int64_t widest = most_candidates(s.candidate_offsets);
        for (std::size_t i = 0; i < shares_.size(); ++i) {
            shares_[i] = std::make_unique<Share>();
            Share& share = *shares_[i];
            share.documents.assign(share_documents.begin() + share_offsets[i],
                                   share_documents.begin() + share_offsets[i + 1]);
            share.probability.resize(std::max(widest, s.beam_width + 1));
            if (!plan.uses_history) continue;
            const Ints documents(share.documents.data(), {int64_t(share.documents.size())});
            const int64_t n_steps = most_steps(s, documents);
            const int64_t n_outside = plan.bidirectional ? most_lanes(s, documents) : 0;
            share.above.resize(s.beam_width + 1);
            share.beam = std::make_unique<Beam>(n_steps, s.beam_width + 1);
            share.searcher =
                std::make_unique<Searcher>(s_, *cache_, n_steps, widest, n_outside);
        }
        buffers_ = std::make_unique<Buffers>(std::move(buffers));
    }

    // Search the documents of a share with the first trees of the forest.
    void collect(int64_t share_number, int64_t n_trees, bool use_cache) {
        check_value(share_number, 0, shares_.size(), "share");
        check_forest(s_.forest, n_trees, 2 * s_.pairs.n_features);
        Share& share = *shares_[share_number];
        const std::lock_guard lock(share.mutex);
        Interrupt interrupt;
        ++share.epoch;
        for (const int32_t d : share.documents) {
            interrupt.check();
            tallies_[d] = {};
            if (s_.n_steps(d) == 0) continue;
            if (!plan_.uses_history) {
                each_mention(share, d, use_cache ? share.held : 0, n_trees, use_cache);
                continue;
            }
            if (!use_cache) cache_->forget(s_.mention.shape(0), s_.step_offsets[d], s_.n_steps(d));
            if (plan_.early_update) {
                until_errors(share, d, n_trees);
                continue;
            }
            for (int64_t r = 0; r < (plan_.bidirectional ? rounds_ : 1); ++r) {
                every_step(share, d, {FORWARD, n_trees, r > 0, true});
                if (plan_.bidirectional) every_step(share, d, {BACKWARD, n_trees, true, true});
            }
        }
        share.held = n_trees;
    }

    // List the points of all documents, whose rows may be the same; return their number, mentions
    // right and mentions visited.
    std::tuple<int64_t, int64_t, int64_t> list(Array<int32_t> rows, Array<double> residuals) const {
        check_at_least(rows.size(), rows_.shape(0), "rows");
        check_at_least(residuals.size(), rows_.shape(0), "residuals");
        int64_t n = 0, right = 0, visited = 0;
        for (int64_t d = 0; d < s_.n_documents(); ++d) {
            const int64_t first = point_offsets_[d];
            for (int64_t i = first; i < first + tallies_[d].written; ++i) {
                rows[n] = points_[i];
                residuals[n++] = residuals_[i];
            }
            right += tallies_[d].right;
            visited += tallies_[d].visited;
        }
        return {n, right, visited};
    }

private:
    // One thread's workspace; its documents are searched by no other.
    struct Share {
        std::mutex mutex;
        std::vector<int32_t> documents;
        std::unique_ptr<Beam> beam;
        std::unique_ptr<Searcher> searcher;
        std::vector<double> probability, above;
        int32_t epoch = 0;
        int64_t held = 0;  // trees in the scores of plan "local"
    };
    struct Tally {
        int64_t written = 0, right = 0, visited = 0;
    };
    // The content of a row, and the last epoch with such a point. Later epochs, and the passes of
    // one, mostly have points with the same content, so few rows are written.
    struct Content {
        int32_t choice = -1, prefix = -1, epoch = 0;
    };

    void check(Ints share_offsets, Ints share_documents, Longs point_offsets) const {
        const int64_t n_documents = s_.n_documents(), n_global = 2 * s_.pairs.n_features;
        check_groups(share_offsets, share_documents.size(), "share_offsets");
        check_range(share_documents, 0, n_documents, "share_documents");
        std::vector<bool> seen(n_documents);
        for (const int32_t d : share_documents) {
            if (seen[d]) fail("share_documents", "document " + std::to_string(d) + " is there twice");
            seen[d] = true;
        }
        check_shape(local_rows_, {s_.entity.size(), s_.n_local}, "local_rows");
        check_offsets(point_offsets, n_documents, rows_.shape(0), "point_offsets");
        check_value(rows_.shape(0), 0, int64_t(1) << 31, "rows");
        check_at_least(rows_.shape(1), s_.n_local + (plan_.uses_history ? n_global : 0), "rows");
        if (plan_.bidirectional) check_equal(s_.mention.shape(0), 2, "mention");
        const int64_t passes = plan_.bidirectional ? 2 * rounds_ : 1;
        for (int64_t d = 0; d < n_documents; ++d) {
            int64_t n_candidates = 0;
            for (int64_t step = s_.step_offsets[d]; step < s_.step_offsets[d + 1]; ++step) {
                const int64_t m = s_.mention(FORWARD, step);
                if (s_.gold[m] < 0) fail("gold", "a visited mention has none");
                n_candidates += s_.n_candidates(m);
            }
            const int64_t n_hypotheses = s_.n_steps(d) * (s_.beam_width + 1) * passes;
            const int64_t most = plan_.uses_history ? n_hypotheses : n_candidates;
            check_at_least(point_offsets[d + 1] - point_offsets[d], most, "point_offsets");
        }
    }

    // Copy index arrays: the caller may change its own later.
    template <class... Arrays>
    void own(Arrays&... arrays) {
        auto copy = [this]<class T, int N>(Array<const T, N>& array) {
            auto memory = std::make_unique<char[]>(array.size() * sizeof(T) + 1);
            std::memcpy(memory.get(), array.data(), array.size() * sizeof(T));
            std::array<int64_t, N> shape;
            for (int d = 0; d < N; ++d) shape[d] = array.shape(d);
            array = Array<const T, N>(reinterpret_cast<const T*>(memory.get()), shape);
            owned_.push_back(std::move(memory));
        };
        (copy(arrays), ...);
    }

    void prepare_search() {
        const int64_t n_documents = s_.n_documents(), n_steps = s_.mention.shape(1);
        const bool both = plan_.bidirectional;
        // Room for the beams of all rounds, and for as many prefixes that were in one of late.
        const int64_t n_slots = std::max<int64_t>(2, both ? rounds_ : 1) * (s_.beam_width + 1);
        cache_ = std::make_unique<PrefixCache>(n_slots, both ? 2 : 1, n_steps,
                                               s_.step_blocks(FORWARD, n_steps),
                                               2 * s_.pairs.n_features);
        for (int64_t d = 0; d < n_documents; ++d)
            documents_.push_back({d, s_.step_offsets[d],
                                  s_.step_blocks(FORWARD, s_.step_offsets[d]),
                                  DocumentPairs(s_.pairs, d)});
    }

    // BSG and each pass of BiBSG: beams keep the gold path, every step gives points.
    void every_step(Share& share, int64_t d, const PassOptions& options) {
        Beam& beam = *share.beam;
        beam.start();
        const int64_t end = share.searcher->run_pass(documents_[d], beam, options);
        for (int64_t level = 1; level <= end; ++level) {
            const Step at = share.searcher->step(documents_[d], options.direction, level - 1);
            beam.softmax(level, share.probability.data());
            for (int64_t h = 0; h < beam.width[level]; ++h)
                write(share, d, options.direction, at, h, share.probability[h]);
        }
        count_right(beam, d, options.direction, 0, end);
    }

    // Early update and LaSO: points where the gold path leaves the beam, and at the end.
    void until_errors(Share& share, int64_t d, int64_t n_trees) {
        Beam& beam = *share.beam;
        beam.start();
        for (int64_t begin = 0, end; begin < s_.n_steps(d); begin = end) {
            end = share.searcher->run_pass(documents_[d], beam,
                                           {FORWARD, n_trees, false, true, true}, begin);
            marginal_points(share, d, begin, end);
            count_right(beam, d, FORWARD, begin, end);
            if (!plan_.continue_from_gold) return;
            beam.restart_from_gold(end);
        }
    }

    // Write every distinct prefix of the sequences of one level, with its marginal.
    void marginal_points(Share& share, int64_t d, int64_t begin, int64_t end) {
        Beam& beam = *share.beam;
        std::vector<double>&probability = share.probability, &above = share.above;
        beam.softmax(end, probability.data());
        for (int64_t level = end; level > begin; --level) {
            const Step at = share.searcher->step(documents_[d], FORWARD, level - 1);
            const int64_t n_above = beam.width[level - 1];
            std::fill_n(above.begin(), n_above, -1.0);  // no sequence of the last level
            for (int64_t h = 0; h < beam.width[level]; ++h) {
                if (probability[h] < 0.0) continue;
                write(share, d, FORWARD, at, h, probability[h]);
                double& sum = above[beam.level(level)[h].parent];
                sum = std::max(sum, 0.0) + probability[h];
            }
            std::copy_n(above.begin(), n_above, probability.begin());
        }
    }

    // Write the point of hypothesis h one level below a step.
    void write(const Share& share, int64_t d, int64_t direction, const Step& at, int64_t h,
               double probability) {
        const Beam& beam = *share.beam;
        const Hypothesis& to = beam.level(at.level + 1)[h];
        const Hypothesis& from = beam.level(at.level)[to.parent];
        const bool is_gold = h == beam.gold[at.level + 1];
        // Every step has rows for all points that its passes can make.
        const int64_t room = (s_.beam_width + 1) * (plan_.bidirectional ? rounds_ : 1);
        const int64_t step = direction * s_.n_steps(d) + at.level;
        Content* const first = &contents_[point_offsets_[d] + step * room];
        Content* content = std::find_if(first, first + room, [&](const Content& held) {
            return held.choice == to.choice && held.prefix == from.prefix;
        });
        const bool is_new = content == first + room;
        if (is_new)
            content = std::min_element(first, first + room, [](const Content& a, const Content& b) {
                return a.epoch < b.epoch;
            });
        *content = {to.choice, from.prefix, share.epoch};
        const int64_t row = content - contents_.data();
        put(d, row, (is_gold ? 1.0 : 0.0) - probability);
        if (!is_new) return;
        write_local(row, at.first + to.choice);
        const uint8_t* const bins = share.searcher->bins(at, from.slot) + to.choice;
        for (int64_t g = 0; g < 2 * s_.pairs.n_features; ++g)
            rows_(row, s_.n_local + g) = bins[g * at.n_blocks * BLOCK_SIZE];
    }

    void write_local(int64_t row, int64_t candidate) const {
        std::memcpy(rows_.row(row).data(), local_rows_.data() + candidate * s_.n_local, s_.n_local);
    }

    // Append a point to those of a document.
    void put(int64_t d, int64_t row, double residual) {
        const int64_t at = point_offsets_[d] + tallies_[d].written++;
        points_[at] = static_cast<int32_t>(row);
        residuals_[at] = residual;
    }

    // Compare the best sequence of level `end` with the gold, back to level `begin`.
    void count_right(const Beam& beam, int64_t d, int64_t direction, int64_t begin, int64_t end) {
        beam.trace(end, beam.best(end), begin, [&](int64_t level, int64_t choice) {
            tallies_[d].right += choice == s_.gold[s_.mention_at(direction, d, level - 1)];
            ++tallies_[d].visited;
        });
    }

    // Every mention by itself: all its candidates are points, with the softmax over all of them.
    void each_mention(Share& share, int64_t d, int64_t held, int64_t n_trees, bool use_cache) {
        double* const probability = share.probability.data();
        for (int64_t level = 0; level < s_.n_steps(d); ++level) {
            const int64_t m = s_.mention_at(FORWARD, d, level), n = s_.n_candidates(m);
            const int64_t first = s_.candidate_offsets[m], row = s_.mention_blocks[m];
            double* const scores = local_scores_.data() + row * BLOCK_SIZE;
            if (!use_cache) std::fill_n(scores, blocks_of(n) * BLOCK_SIZE, 0.0);
            const ScoreRows rows{s_.local_of(m), nullptr, local_scores_.data(), &row,
                                 1,              n, blocks_of(n), 0};
            add_trees(s_.forest, held, n_trees, rows);
            int64_t best = 0;
            for (int64_t c = 1; c < n; ++c)
                if (scores[c] > scores[best] ||
                    (scores[c] == scores[best] && s_.entity[first + c] < s_.entity[first + best]))
                    best = c;
            softmax(n, [&](int64_t c) { return scores[c]; }, probability);
            for (int64_t c = 0; c < n; ++c) {
                const int64_t point = point_offsets_[d] + tallies_[d].written;
                if (contents_[point].choice < 0) write_local(point, first + c);
                contents_[point].choice = static_cast<int32_t>(c);
                put(d, point, (c == s_.gold[m] ? 1.0 : 0.0) - probability[c]);
            }
            tallies_[d].right += best == s_.gold[m];
            ++tallies_[d].visited;
        }
    }

    std::unique_ptr<Buffers> buffers_;
    std::vector<std::unique_ptr<char[]>> owned_;
    Search s_;
    PlanRules plan_;
    int64_t rounds_;
    Array<const uint8_t, 2> local_rows_;
    Array<uint8_t, 2> rows_;
    std::vector<int64_t> point_offsets_;
    std::vector<Content> contents_;  // of rows
    std::vector<int32_t> points_;    // their rows
    std::vector<double> residuals_, local_scores_;
    std::vector<Tally> tallies_;
    std::unique_ptr<PrefixCache> cache_;
    std::vector<Document> documents_;
    std::vector<std::unique_ptr<Share>> shares_;
};

namespace {

Collector* make_collector(Buffers& buffers, const Search& search, const PlanRules& plan,
                          int64_t rounds, Ints share_offsets, Ints share_documents,
                          Array<const uint8_t, 2> local_rows, Longs point_offsets,
                          Array<uint8_t, 2> rows) {
    return new Collector(buffers, search, plan, rounds, share_offsets, share_documents, local_rows,
                         point_offsets, rows);
}

void collect_points(Collector* collector, int64_t share, int64_t n_trees, bool use_cache) {
    collector->collect(share, n_trees, use_cache);
}

std::tuple<int64_t, int64_t, int64_t> list_points(Collector* collector, Array<int32_t> rows,
                                                  Array<double> residuals) {
    return collector->list(rows, residuals);
}

// Write the raw global features that candidates have when all mentions before are decided right:
// a row for every candidate of the mentions visited, document by document.
void pool_gold_paths(Ints documents, const Pairs& pairs, Ints step_offsets,
                     Array<const int32_t, 2> mention, Ints candidate_offsets, Ints entity,
                     Ints gold, Array<float, 2> out) {
    const int64_t n_documents = step_offsets.size() - 1, n_pair = pairs.n_features;
    const int64_t n_mentions = candidate_offsets.size() - 1;
    check_at_least(n_documents, 0, "step_offsets");
    check_range(documents, 0, n_documents, "documents");
    check_pairs(pairs, n_documents);
    check_offsets(step_offsets, n_documents, mention.shape(1), "step_offsets");
    check_range(mention, 0, n_mentions, "mention");
    check_offsets(candidate_offsets, n_mentions, entity.size(), "candidate_offsets");
    check_equal(gold.size(), n_mentions, "gold");
    check_equal(out.shape(1), 2 * n_pair, "out");
    if (n_pair == 0) return;
    const int64_t n_steps =
        largest(documents, [&](int64_t d) { return step_offsets[d + 1] - step_offsets[d]; });
    Pool pool(pairs, 1, n_steps, most_candidates(candidate_offsets));
    int64_t at = 0;
    Interrupt interrupt;
    for (const int32_t d : documents) {
        const DocumentPairs document(pairs, d);
        for (int64_t direction = 0; direction < mention.shape(0); ++direction)
            for (int64_t i = step_offsets[d]; i < step_offsets[d + 1]; ++i) {
                interrupt.check();
                const int64_t m = mention(direction, i), level = i - step_offsets[d];
                const int64_t first = candidate_offsets[m], n = candidate_offsets[m + 1] - first;
                check_value(gold[m], 0, n, "gold");
                check_range(Ints(entity.data() + first, {n}), 0, pairs.n_entities(d), "entity");
                check_at_least(out.shape(0), at + n, "out");
                pool.run(document, entity.data() + first, n, 1, level);
                for (int64_t c = 0; c < n; ++c, ++at)
                    for (int64_t g = 0; g < 2 * n_pair; ++g) out(at, g) = pool.feature(0, g)[c];
                pool.history(0)[level] = entity[first + gold[m]];
            }
    }
    check_equal(at, out.shape(0), "out");
}

// ---- decoding: the best sequences of documents, with probabilities

struct Decoding {
    Array<double> probability;
    Array<int32_t> n_sequences;
    Array<int32_t, 2> sequences;
    Array<double, 2> scores, sequence_probability;
    Array<int8_t> direction;
    Array<double> factor;
};
SGTB_RECORD(Decoding, probability, n_sequences, sequences, scores, sequence_probability, direction,
            factor)

class Decoder {
public:
    Decoder(Ints documents, const Search& s, bool local_only, bool bidirectional, int64_t rounds,
            int64_t n_trees, const Decoding& out)
        : s_(s),
          local_only_(local_only),
          bidirectional_(bidirectional),
          rounds_(rounds),
          n_trees_(n_trees),
          out_(out),
          // A second round mostly visits the prefixes of the first one.
          cache_(s.beam_width * (bidirectional ? 2 : 1), bidirectional ? 2 : 1,
                 most_steps(s, documents), most_blocks(documents), 2 * s.pairs.n_features),
          searcher_(s, cache_, most_steps(s, documents), most_candidates(s.candidate_offsets),
                    bidirectional ? most_lanes(s, documents) : 0),
          beams_{Beam(most_steps(s, documents), s.beam_width + 1),
                 Beam(bidirectional ? most_steps(s, documents) : 0, s.beam_width + 1)} {
        for (auto& numbers : probability_) numbers.resize(s.beam_width + 1);
    }

    void decode(int64_t d) {
        const int64_t n = s_.n_steps(d);
        if (n == 0) return;
        Document document{d, 0, 0, DocumentPairs(s_.pairs, d)};
        cache_.forget(s_.mention.shape(0), 0, n);
        for (int64_t r = 0; r < (bidirectional_ ? rounds_ : 1); ++r) {
            beams_[FORWARD].start();
            searcher_.run_pass(document, beams_[FORWARD], {FORWARD, n_trees_, r > 0});
            if (!bidirectional_) break;
            beams_[BACKWARD].start();
            searcher_.run_pass(document, beams_[BACKWARD], {BACKWARD, n_trees_, true});
        }
        if (bidirectional_) beams_[BACKWARD].softmax(n, probability_[BACKWARD].data());
        if (local_only_)
            local_probabilities(document, n);
        else
            beams_[FORWARD].softmax(n, probability_[FORWARD].data());
        const auto [winner, best] = list_sequences(d, n);
        out_.direction[d] = static_cast<int8_t>(winner);
        if (!local_only_) marginals(d, winner, n);
        // The scores of all candidates along the best sequence.
        int64_t h = best;
        for (int64_t level = n - 1; level >= 0; --level) {
            h = beams_[winner].level(level + 1)[h].parent;
            const Step at = searcher_.step(document, winner, level);
            const double* const scores = searcher_.scores(at, beams_[winner].level(level)[h].slot);
            std::copy_n(scores, at.n, &out_.factor[at.first]);
        }
    }

private:
    int64_t most_blocks(Ints documents) const {
        return largest(documents, [&](int64_t d) {
            return s_.step_blocks(FORWARD, s_.step_offsets[d + 1]) -
                   s_.step_blocks(FORWARD, s_.step_offsets[d]);
        });
    }

    // Write the most probable sequences of the final beams; return the best one's direction and
    // its place in the final beam.
    std::pair<int64_t, int64_t> list_sequences(int64_t d, int64_t n) {
        const int64_t n_best = out_.sequences.shape(0);
        const int64_t first = s_.mention_offsets[d], last = s_.mention_offsets[d + 1];
        finals_.clear();
        for (int8_t direction = 0; direction <= (bidirectional_ ? 1 : 0); ++direction)
            for (int32_t h = 0; h < beams_[direction].width[n]; ++h)
                finals_.push_back({-probability_[direction][h], direction, h});
        std::ranges::sort(finals_);
        int64_t rank = 0;
        for (const auto [minus_probability, direction, h] : finals_) {
            if (rank == n_best) break;
            const Beam& beam = beams_[direction];
            beam.trace(n, h, 0, [&](int64_t level, int64_t choice) {
                out_.sequences(rank, s_.mention_at(direction, d, level - 1)) =
                    static_cast<int32_t>(choice);
            });
            auto place = [&](int64_t k, int64_t m) { return &out_.sequences(k, 0) + m; };
            bool seen = false;
            for (int64_t k = 0; k < rank && !seen; ++k)
                seen = std::equal(place(rank, first), place(rank, last), place(k, first));
            if (seen) continue;
            out_.scores(d, rank) = beam.level(n)[h].score;
            out_.sequence_probability(d, rank) = -minus_probability;
            out_.n_sequences[d] = static_cast<int32_t>(++rank);
        }
        for (int64_t k = rank; k < n_best; ++k)
            for (int64_t m = first; m < last; ++m) out_.sequences(k, m) = -1;
        const auto [minus_probability, direction, best] = finals_.front();
        return {direction, best};
    }

    // Sum, per mention, the probabilities of the sequences that agree with the best one.
    void marginals(int64_t d, int64_t direction, int64_t n) {
        const Beam& beam = beams_[direction];
        for (int64_t last = 0; last < beam.width[n]; ++last)
            beam.trace(n, last, 0, [&](int64_t level, int64_t choice) {
                const int64_t m = s_.mention_at(direction, d, level - 1);
                if (choice == out_.sequences(0, m))
                    out_.probability[m] += probability_[direction][last];
            });
        for (int64_t m = s_.mention_offsets[d]; m < s_.mention_offsets[d + 1]; ++m)
            out_.probability[m] = std::min(out_.probability[m], 1.0);
    }

    // Softmax over all candidates of each mention; sequences get the product.
    void local_probabilities(const Document& document, int64_t n) {
        double log_total = 0.0;
        const Beam& beam = beams_[FORWARD];
        for (int64_t level = 0; level < n; ++level) {
            const Step at = searcher_.step(document, FORWARD, level);
            const double* const scores = searcher_.scores(at, beam.level(level)[0].slot);
            const int64_t clamped = s_.clamp[at.mention];
            if (clamped >= 0) {
                out_.probability[at.mention] = 1.0;
                log_total += scores[clamped];
                continue;
            }
            double top = scores[0], total = 0.0;
            for (int64_t c = 1; c < at.n; ++c) top = std::max(top, scores[c]);
            for (int64_t c = 0; c < at.n; ++c) total += std::exp(scores[c] - top);
            // The best candidate comes first in the beam; choices do not depend on each other.
            out_.probability[at.mention] = 1.0 / total;
            log_total += top + std::log(total);
        }
        for (int64_t h = 0; h < beam.width[n]; ++h)
            probability_[FORWARD][h] = std::exp(beam.level(n)[h].score - log_total);
    }

    const Search& s_;
    bool local_only_, bidirectional_;
    int64_t rounds_, n_trees_;
    Decoding out_;
    PrefixCache cache_;
    Searcher searcher_;
    Beam beams_[2];
    std::vector<double> probability_[2];
    std::vector<std::tuple<double, int8_t, int32_t>> finals_;  // -probability, direction, hypothesis
};

// Decode documents one after the other.
void decode_documents(Ints documents, const Search& s, bool local_only, bool bidirectional,
                      int64_t rounds, int64_t n_trees, const Decoding& out) {
    const int64_t n_documents = s.mention_offsets.size() - 1;
    const int64_t n_mentions = s.candidate_offsets.size() - 1;
    const int64_t n_best = out.sequences.shape(0);
    check_search(s);
    check_forest(s.forest, n_trees, 2 * s.pairs.n_features);
    check_range(documents, 0, n_documents, "documents");
    check_value(rounds, 1, 1 << 20, "rounds");
    check_value(s.mention.shape(0), bidirectional ? 2 : 1, 3, "mention");
    check_equal(out.probability.size(), n_mentions, "out.probability");
    check_equal(out.n_sequences.size(), n_documents, "out.n_sequences");
    check_equal(out.sequences.shape(1), n_mentions, "out.sequences");
    check_at_least(n_best, 1, "out.sequences");
    for (const auto& array : {out.scores, out.sequence_probability})
        check_shape(array, {n_documents, n_best}, "out.scores");
    check_equal(out.direction.size(), n_documents, "out.direction");
    check_equal(out.factor.size(), s.entity.size(), "out.factor");
    if (documents.size() == 0) return;
    Decoder decoder(documents, s, local_only, bidirectional, rounds, n_trees, out);
    Interrupt interrupt;
    for (const int32_t d : documents) {
        interrupt.check();
        decoder.decode(d);
    }
}

}  // namespace

void bind_search(nb::module_& module) {
    nb::class_<Collector>(module, "Collector");
    SGTB_BIND(make_collector, search, plan, rounds, share_offsets, share_documents, local_rows,
              point_offsets, rows);
    SGTB_BIND(collect_points, collector, share, n_trees, use_cache);
    SGTB_BIND(list_points, collector, rows, residuals);
    SGTB_BIND(pool_gold_paths, documents, pairs, step_offsets, mention, candidate_offsets, entity,
              gold, out);
    SGTB_BIND(decode_documents, documents, search, local_only, bidirectional, rounds, n_trees, out);
}

}  // namespace sgtb
