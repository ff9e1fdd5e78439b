// Explanations of decoded documents: counterfactual scores, and contributions to a choice.
//
// A document is rescored along the choices y of its best sequence, in the order of the search,
// each with the earlier ones as its history. Two things are computed on the way:
//
//     counterfactuals  the change of F(x_t, y_t, history) when an earlier choice is replaced
//     Shapley values   the parts of features in F(x_m, y_m, history) - F(x_m, r, history)
//
// Sums of leaf values are exact in any order, so scores have the bits of the search.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "search.hpp"

namespace sgtb {

namespace {

// Decoded documents and the model they were decoded with; see boosting/explain/rescoring.py.
struct Rescoring {
    Search search;
    Ints choices;
    Array<const int8_t> direction;
    int64_t n_trees;
    bool use_masks;  // `masks` covers all trees that test global features
    TreeMasks masks;

    int64_t mention_at(int64_t d, int64_t step) const {
        return search.mention_at(direction[d], d, step);
    }
    int32_t entity(int64_t mention, int64_t candidate) const {
        return search.entity[search.candidate_offsets[mention] + candidate];
    }
};
SGTB_RECORD(Rescoring, search, choices, direction, n_trees, use_masks, masks)

void check_rescoring(Ints documents, const Rescoring& rescoring) {
    const Search& s = rescoring.search;
    const int64_t n_global = 2 * s.pairs.n_features;
    check_search(s);
    check_forest(s.forest, rescoring.n_trees, n_global);
    check_range(documents, 0, s.n_documents(), "documents");
    check_equal(rescoring.choices.size(), s.gold.size(), "choices");
    check_equal(rescoring.direction.size(), s.n_documents(), "direction");
    check_range(rescoring.direction, 0, s.mention.shape(0), "direction");
    for (const int32_t m : s.mention)
        check_value(rescoring.choices[m], 0, s.n_candidates(m), "choices");
    if (rescoring.use_masks) check_masks(rescoring.masks, s.forest, rescoring.n_trees, n_global);
}

// The bin of a value, which mostly is the same as another one's.
uint8_t bin_near(float value, const float* thresholds, uint8_t bin) {
    const bool below = bin > 0 && !(thresholds[bin - 1] < value);
    return below || thresholds[bin] < value ? bin_value(value, thresholds) : bin;
}

// Sums and maxima of pair features over a history, and what they are as bins.
struct Pooled {
    Pooled(int64_t n_pair, int64_t n_steps) : sums(n_pair), tops(n_pair), bins(2 * n_pair) {
        values.resize(n_pair * blocks_of(n_steps) * BLOCK_SIZE);
    }

    // Pool the values of an entity and all entities of a history.
    void pool(const Search& s, const EntityBlocks& history) {
        const int64_t n = history.size(), n_pair = s.pairs.n_features;
        for (int64_t e = 0; e < n_pair; ++e) {
            const float* const value = of(e, n);
            double sum = 0.0;
            float top = -std::numeric_limits<float>::infinity();
            for (int64_t i = 0; i < n; ++i) {
                sum += value[i];
                top = value[i] > top ? value[i] : top;
            }
            sums[e] = sum;
            tops[e] = top;
            const float mean = n ? static_cast<float>(sum / static_cast<double>(n)) : 0.0f;
            bins[e] = bin_value(mean, s.thresholds(e));
            bins[n_pair + e] = bin_value(n ? top : 0.0f, s.thresholds(n_pair + e));
        }
    }
    // The values of feature e, in the order of decisions.
    const float* of(int64_t e, int64_t n) const { return values.data() + e * blocks_of(n) * BLOCK_SIZE; }

    std::vector<float> values;
    std::vector<double> sums;
    std::vector<float> tops;
    std::vector<uint8_t> bins;  // means, then maxima
};

// Replacements of earlier choices, and how they change the factors of later ones. In each of
// these histories one choice is another one.
class Counterfactuals {
public:
    Counterfactuals(const Rescoring& rescoring, int64_t n_steps, int64_t room)
        : rescoring_(rescoring),
          s_(rescoring.search),
          n_pair_(s_.pairs.n_features),
          history_(s_.pairs, n_steps),
          others_(s_.pairs, room),
          choice_(n_pair_, n_steps),
          values_(n_pair_ * blocks_of(room) * BLOCK_SIZE),
          sums_(blocks_of(room) * BLOCK_SIZE),
          tops_(blocks_of(room) * BLOCK_SIZE),
          bins_(2 * n_pair_ * room),
          row_(s_.n_local + 2 * n_pair_),
          low_(2 * n_pair_),
          high_(2 * n_pair_) {}

    // Begin a document; its choices have the local masks from `lane` on.
    void start(int64_t d, const DocumentLinks* links, LocalMasks* local_masks, int64_t lane) {
        document_ = d;
        links_ = links;
        local_masks_ = local_masks;
        lane_ = lane;
        history_.clear();
        others_.clear();
        first_.assign(1, 0);
        number_.clear();
    }

    // Visit the next mention: find the changes of its choice's factor.
    void visit(int64_t mention) {
        const int64_t choice = rescoring_.choices[mention], n = others_.size();
        const int32_t entity = rescoring_.entity(mention, choice);
        change_.assign(n, 0.0);
        if (n_pair_ == 0) return;
        history_.pair_features(s_.pairs, links_, document_, &entity, 1, choice_.values.data());
        choice_.pool(s_, history_);
        if (n == 0) return;
        others_.pair_features(s_.pairs, links_, document_, &entity, 1, values_.data());
        for (int64_t e = 0; e < n_pair_; ++e) pool(e);
        find_distinct();
        if (rows_.empty()) return;
        if (local_masks_)
            sum_with_masks();
        else
            walk(mention, choice);
        for (int64_t j = 0; j < n; ++j)
            if (distinct_[j] >= 0) change_[j] = row_change_[distinct_[j]];
    }

    // Add a replacement of the choice at hand; the caller knows it by a number.
    void add(int32_t entity, int64_t number) {
        if (n_pair_ > 0) others_.add(s_.pairs, document_, entity);
        number_.push_back(number);
    }

    // Go on to the next step.
    void decide(int32_t entity) {
        if (n_pair_ > 0) history_.add(s_.pairs, document_, entity);
        first_.push_back(static_cast<int64_t>(number_.size()));
    }

    int64_t size() const { return static_cast<int64_t>(change_.size()); }
    double change(int64_t j) const { return change_[j]; }
    int64_t number(int64_t j) const { return number_[j]; }
    const DocumentLinks* links() const { return links_; }
    const EntityBlocks& history() const { return history_; }
    const Pooled& choice() const { return choice_; }  // of the mention visited

private:
    // Pool one pair feature under all histories, and bin it.
    void pool(int64_t e) {
        const int64_t n = others_.size(), n_steps = history_.size(), n_global = 2 * n_pair_;
        const float* const chosen = choice_.of(e, n_steps);
        const float* const other = values_.data() + e * blocks_of(n) * BLOCK_SIZE;
        const uint8_t own = choice_.bins[e], own_top = choice_.bins[n_pair_ + e];
        double sum = 0.0;
        float top = -std::numeric_limits<float>::infinity();
        bool differs = false;
        for (int64_t i = 0; i < n_steps; ++i) {
            for (int64_t j = first_[i]; j < first_[i + 1]; ++j) {
                sums_[j] = sum + other[j];
                tops_[j] = other[j] > top ? other[j] : top;
                differs |= other[j] != chosen[i];
            }
            sum += chosen[i];
            top = chosen[i] > top ? chosen[i] : top;
        }
        if (differs) add_later_values(chosen);
        const float *const means = s_.thresholds(e), *const maxima = s_.thresholds(n_pair_ + e);
        for (int64_t j = 0; j < n; ++j) {
            uint8_t* const bins = bins_.data() + j * n_global;
            const bool same = !differs || sums_[j] == sum, same_top = !differs || tops_[j] == top;
            const float mean = static_cast<float>(sums_[j] / static_cast<double>(n_steps));
            bins[e] = same ? own : bin_near(mean, means, own);
            bins[n_pair_ + e] = same_top ? own_top : bin_near(tops_[j], maxima, own_top);
        }
    }

    // Add to the sums what was decided after each replacement: sixteen sums at a time.
    void add_later_values(const float* chosen) {
        const int64_t n = others_.size(), n_steps = history_.size();
        for (int64_t begin = 0, step = 0; begin < n; begin += BLOCK_SIZE) {
            const int64_t end = std::min(begin + BLOCK_SIZE, n);
            int64_t last = step;  // the step of the last replacement in this block
            while (first_[last + 1] < end) ++last;
            for (int64_t j = begin; j < end; ++j) {
                while (first_[step + 1] <= j) ++step;
                for (int64_t i = step + 1; i <= last; ++i) {
                    sums_[j] += chosen[i];
                    tops_[j] = std::max(tops_[j], chosen[i]);
                }
            }
            auto sum = DoubleBlock::load(sums_.data() + begin);
            auto top = Block::load(tops_.data() + begin);
            for (int64_t i = last + 1; i < n_steps; ++i) {
                sum = sum + DoubleBlock::all(chosen[i]);
                top = larger(Block::all(chosen[i]), top);
            }
            sum.store(sums_.data() + begin);
            top.store(tops_.data() + begin);
        }
    }

    // Find the distinct rows of bins other than the choice's own. Most replacements make no
    // difference, or the same one as another.
    void find_distinct() {
        const int64_t n = others_.size(), n_global = 2 * n_pair_;
        auto text = [&](const uint8_t* bins) {
            return std::string_view(reinterpret_cast<const char*>(bins), n_global);
        };
        const std::string_view own = text(choice_.bins.data());
        number_of_.clear();
        distinct_.assign(n, -1);
        rows_.clear();
        for (int64_t j = 0; j < n; ++j) {
            const uint8_t* const bins = bins_.data() + j * n_global;
            if (text(bins) == own) continue;
            const auto [found, is_new] = number_of_.try_emplace(text(bins), rows_.size());
            if (is_new) rows_.push_back(bins);
            distinct_[j] = found->second;
        }
        row_change_.assign(rows_.size(), 0.0);
    }

    // The changes of distinct rows, by masks.
    void sum_with_masks() {
        const int64_t lane = lane_ + history_.size();
        const double own = local_masks_->sum(lane, choice_.bins.data(), 1);
        for (std::size_t k = 0; k < rows_.size(); ++k)
            row_change_[k] = local_masks_->sum(lane, rows_[k], 1) - own;
    }

    // The changes of distinct rows, by walks. A row reaches the choice's leaf if its bins are on
    // the same side of all splits on the path.
    void walk(int64_t mention, int64_t choice) {
        const Forest& forest = s_.forest;
        const int64_t n_local = s_.n_local, n_global = 2 * n_pair_;
        const int64_t stride = blocks_of(s_.n_candidates(mention)) * BLOCK_SIZE;
        for (int64_t f = 0; f < n_local; ++f) row_[f] = s_.local_of(mention)[f * stride + choice];
        uint8_t* const globals = row_.data() + n_local;
        list_differences();
        for (int64_t t = 0; t < rescoring_.n_trees; ++t) {
            std::memcpy(globals, choice_.bins.data(), n_global);
            std::fill(low_.begin(), low_.end(), 0);
            std::fill(high_.begin(), high_.end(), 255);
            int64_t node = forest.roots[t];
            for (int64_t i = 0; i < forest.depth; ++i) {
                const int64_t word = forest.nodes[node], f = feature_of(word);
                const bool right = row_[f] > bin_of(word);
                if (const int64_t g = f - n_local; g >= 0 && right)
                    low_[g] = std::max<uint8_t>(low_[g], bin_of(word) + 1);
                else if (g >= 0)
                    high_[g] = std::min(high_[g], bin_of(word));
                node = child_of(word) + right;
            }
            const double own = forest.value[node];
            for (std::size_t k = 0; k < rows_.size(); ++k) {
                bool same = true;
                for (int32_t i = first_difference_[k]; i < first_difference_[k + 1]; ++i) {
                    const auto [g, bin] = differences_[i];
                    same &= low_[g] <= bin && bin <= high_[g];
                }
                if (same) continue;
                std::memcpy(globals, rows_[k], n_global);
                const int64_t leaf = find_leaf(forest, forest.roots[t], forest.depth, row_.data());
                row_change_[k] += forest.value[leaf] - own;
            }
        }
    }

    // List the bins of distinct rows that are not those of the choice's own.
    void list_differences() {
        differences_.clear();
        first_difference_.assign(1, 0);
        for (const uint8_t* const row : rows_) {
            for (int64_t g = 0; g < 2 * n_pair_; ++g)
                if (row[g] != choice_.bins[g]) differences_.push_back({g, row[g]});
            first_difference_.push_back(static_cast<int32_t>(differences_.size()));
        }
    }

    struct Difference {
        int64_t feature;
        uint8_t bin;
    };

    const Rescoring& rescoring_;
    const Search& s_;
    LocalMasks* local_masks_ = nullptr;
    int64_t n_pair_, document_ = 0, lane_ = 0;
    const DocumentLinks* links_ = nullptr;
    EntityBlocks history_, others_;
    std::vector<int64_t> first_, number_;  // where the replacements of each step begin
    Pooled choice_;
    std::vector<float> values_;
    std::vector<double> sums_;
    std::vector<float> tops_;
    std::vector<uint8_t> bins_, row_, low_, high_;
    std::unordered_map<std::string_view, int32_t> number_of_;  // of distinct rows
    std::vector<int32_t> distinct_;  // the row of each replacement, -1: own
    std::vector<const uint8_t*> rows_;
    std::vector<double> row_change_, change_;
    std::vector<Difference> differences_;
    std::vector<int32_t> first_difference_;
};

// Rescore documents one after the other: visit(d, counterfactuals), with at most `room`
// replacements in each.
template <class Visit>
void rescore_documents(const std::vector<int32_t>& documents, const Rescoring& rescoring,
                       int64_t room, Visit visit) {
    const Search& s = rescoring.search;
    auto n_steps = [&](int64_t d) { return s.n_steps(d); };
    Counterfactuals counterfactuals(rescoring, std::max<int64_t>(1, largest(documents, n_steps)),
                                    std::max<int64_t>(1, room));
    auto add = [&](LocalMasks& local_masks, int64_t d) {
        for (int64_t step = 0; step < s.n_steps(d); ++step) {
            const int64_t m = rescoring.mention_at(d, step);
            local_masks.add(s, m, rescoring.choices[m], rescoring.choices[m] + 1);
        }
    };
    each_document(
        documents, s.forest, rescoring.n_trees, rescoring.use_masks ? &rescoring.masks : nullptr,
        n_steps, add, [&](int64_t d, LocalMasks* local_masks, int64_t lane) {
            const DocumentLinks links(s.pairs, d);
            counterfactuals.start(d, &links, local_masks, lane);
            visit(d, counterfactuals);
        });
}

// ---- counterfactual scores: S(y with m -> c) - S(y) of all candidates

struct CounterfactualScores {
    Array<double> total, score, probability;
};
SGTB_RECORD(CounterfactualScores, total, score, probability)

// Softmax of the scores of a mention's candidates; 1 and 0 where it is clamped.
void write_probabilities(const Search& s, int64_t mention, const CounterfactualScores& out) {
    const int64_t first = s.candidate_offsets[mention], last = s.candidate_offsets[mention + 1];
    if (s.clamp[mention] >= 0) {
        out.probability[first + s.clamp[mention]] = 1.0;
        return;
    }
    softmax(last - first, [&](int64_t c) { return out.score[first + c]; },
            out.probability.data() + first);
}

// Score all candidates; those whose factor is at most `margin` below the choice's are followed
// into the factors of later mentions.
void score_counterfactuals(Ints documents, const Rescoring& rescoring, Doubles factor, double margin,
                     const CounterfactualScores& out) {
    const Search& s = rescoring.search;
    check_rescoring(documents, rescoring);
    check_equal(factor.size(), s.entity.size(), "factor");
    check_equal(out.total.size(), s.n_documents(), "out.total");
    SGTB_CHECK_LENGTHS(s.entity.size(), out.score, out.probability);
    const int64_t room = largest(documents, [&](int64_t d) { return s.candidates_of(d); });
    auto weigh = [&](int64_t d, Counterfactuals& others) {
        for (int64_t step = 0; step < s.n_steps(d); ++step) {
            const int64_t mention = rescoring.mention_at(d, step), choice = rescoring.choices[mention];
            const int64_t first = s.candidate_offsets[mention];
            others.visit(mention);
            for (int64_t j = 0; j < others.size(); ++j)
                out.score[others.number(j)] += others.change(j);
            const double own = factor[first + choice];
            out.total[d] += own;
            for (int64_t c = 0; c < s.n_candidates(mention); ++c) {
                const double difference = factor[first + c] - own;
                out.score[first + c] = difference;
                if (c != choice && difference >= -margin)
                    others.add(s.entity[first + c], first + c);
            }
            others.decide(s.entity[first + choice]);
        }
        for (int64_t m = s.mention_offsets[d]; m < s.mention_offsets[d + 1]; ++m)
            write_probabilities(s, m, out);
    };
    rescore_documents({documents.begin(), documents.end()}, rescoring, room, weigh);
}

// ---- contributions: why a choice is ahead of another candidate

// Shapley values: the difference F(y) - F(r) of two rows of bins, shared out over the features.
//
// Between y and r are all rows that take some features from y and the others from r. The part of
// a feature is what taking it from y instead of r adds to F, averaged over all orders in which
// features may be taken. In a tree both rows go down together; where they part, both ways are
// taken, and the feature follows y on one and r on the other from there on. A leaf reached with
// u features that follow y and v that follow r adds
//
//     value * (u-1)! v! / (u+v)!   to the part of each feature that follows y,
//     -value * u! (v-1)! / (u+v)!  to that of each one that follows r.
class Shapley {
public:
    Shapley(const Forest& forest, int64_t n_trees, int64_t n_features)
        : forest_(forest),
          n_trees_(n_trees),
          n_features_(n_features),
          follows_(n_features),
          differing_(forest.depth),
          weight_((forest.depth + 1) * (forest.depth + 1)) {
        check_depth();
        for (int64_t u = 1; u <= forest.depth; ++u) {
            double ways = 1.0;  // (u+v)! / (u! v!)
            for (int64_t v = 0; u + v <= forest.depth; ++v) {
                if (v > 0) ways = ways * static_cast<double>(u + v) / static_cast<double>(v);
                weight_[u * (forest.depth + 1) + v] = 1.0 / (static_cast<double>(u) * ways);
            }
        }
    }

    void clear() { n_ = 0; }
    // Append two rows, y then r, to be filled by the caller.
    uint8_t* add() {
        rows_.resize(2 * ++n_ * n_features_);
        return rows_.data() + 2 * (n_ - 1) * n_features_;
    }
    // Compute the parts of all differences.
    void run() {
        parts_.assign(n_ * n_features_, 0.0);
        scores_.assign(2 * n_, 0.0);
        for (int64_t t = 0; t < n_trees_; ++t)
            for (int64_t q = 0; q < n_; ++q) {
                y_ = rows_.data() + 2 * q * n_features_;
                r_ = y_ + n_features_;
                part_ = parts_.data() + q * n_features_;
                first_ = last_ = -1;
                share(forest_.roots[t], 0, 0);
                scores_[2 * q] += forest_.value[first_];
                scores_[2 * q + 1] += forest_.value[last_];
            }
    }

    const double* parts(int64_t q) const { return parts_.data() + q * n_features_; }
    double difference(int64_t q) const { return scores_[2 * q] - scores_[2 * q + 1]; }

private:
    enum : int32_t { NEITHER, Y, R };

    // Raise if a tree is deeper than the forest: paths are kept in arrays of its depth.
    void check_depth() const {
        const int64_t n_nodes = n_trees_ ? forest_.roots[n_trees_] : 0;
        std::vector<int8_t> level(n_nodes);
        for (int64_t i = 0; i < n_nodes; ++i) {
            const int64_t child = child_of(forest_.nodes[i]);
            if (child == i) continue;
            if (level[i] == forest_.depth) fail("forest.depth", "a tree is deeper");
            const auto below = static_cast<int8_t>(level[i] + 1);
            level[child] = std::max(level[child], below);
            level[child + 1] = std::max(level[child + 1], below);
        }
    }

    // Share out the values of the leaves below a node; `n` features differ, `n_y` follow y.
    void share(int64_t node, int64_t n, int64_t n_y) {
        int64_t word = forest_.nodes[node];
        for (; child_of(word) != node; word = forest_.nodes[node]) {
            const int64_t feature = feature_of(word);
            const bool y = y_[feature] > bin_of(word), r = r_[feature] > bin_of(word);
            if (y == r || follows_[feature] != NEITHER) {
                node = child_of(word) + (follows_[feature] == R ? r : y);
                continue;
            }
            differing_[n] = feature;
            follows_[feature] = Y;
            share(child_of(word) + y, n + 1, n_y + 1);
            follows_[feature] = R;
            share(child_of(word) + r, n + 1, n_y);
            follows_[feature] = NEITHER;
            return;
        }
        if (first_ < 0) first_ = node;
        last_ = node;
        const double value = forest_.value[node];
        const double addend[] = {0.0, value * weight(n_y, n - n_y), -value * weight(n - n_y, n_y)};
        for (int64_t i = 0; i < n; ++i) part_[differing_[i]] += addend[follows_[differing_[i]]];
    }

    double weight(int64_t u, int64_t v) const { return weight_[u * (forest_.depth + 1) + v]; }

    const Forest& forest_;
    int64_t n_trees_, n_features_, n_ = 0;
    std::vector<uint8_t> rows_;
    std::vector<int32_t> follows_;
    std::vector<int64_t> differing_;
    std::vector<double> weight_, parts_, scores_;
    // The difference at hand, and the first and the last leaf reached: those of y and r.
    const uint8_t *y_ = nullptr, *r_ = nullptr;
    double* part_ = nullptr;
    int64_t first_ = -1, last_ = -1;
};

struct Contributions {
    Array<double, 2> local;
    Longs offsets;
    Array<double> mentions, total;
};
SGTB_RECORD(Contributions, local, offsets, mentions, total)

// Computes contributions, those of a document together.
class Explainer {
public:
    Explainer(Ints documents, const Rescoring& rescoring, Longs mentions, Longs runner_ups,
              const Contributions& out)
        : rescoring_(rescoring), s_(rescoring.search), mentions_(mentions), runner_ups_(runner_ups), out_(out) {
        check_rescoring(documents, rescoring);
        check_comparisons();
        by_mention();
        for (const int32_t d : documents) {
            const int64_t n =
                first_[s_.mention_offsets[d + 1]] - first_[s_.mention_offsets[d]];
            room_ = std::max(room_, n);
            n_steps_ = std::max(n_steps_, s_.n_steps(d));
            if (n > 0) documents_.push_back(d);
        }
    }

    void run() {
        const int64_t n_pair = s_.pairs.n_features;
        Shapley shapley(s_.forest, rescoring_.n_trees, s_.n_local + 2 * n_pair);
        Pooled runner_up(n_pair, n_steps_);
        rescore_documents(documents_, rescoring_, room_, [&](int64_t d, Counterfactuals& others) {
            shapley.clear();
            comparisons_.clear();
            values_.clear();
            const DocumentLinks* const links = others.links();
            for (int64_t step = 0; step < s_.n_steps(d); ++step) {
                const int64_t mention = rescoring_.mention_at(d, step);
                others.visit(mention);
                for (int64_t j = 0; j < others.size(); ++j) {
                    const int64_t k = others.number(j);
                    mention_part(d, k, mention) -= others.change(j);
                    out_.total[k] -= others.change(j);
                }
                for (int64_t q = first_[mention]; q < first_[mention + 1]; ++q) {
                    const int64_t k = order_[q];
                    const int32_t entity = rescoring_.entity(mention, runner_ups_[k]);
                    if (n_pair > 0)
                        others.history().pair_features(s_.pairs, links, d, &entity, 1, runner_up.values.data());
                    runner_up.pool(s_, others.history());
                    uint8_t* const rows = shapley.add();
                    fill_row(mention, rescoring_.choices[mention], others.choice(), rows);
                    fill_row(mention, runner_ups_[k], runner_up, rows + s_.n_local + 2 * n_pair);
                    comparisons_.push_back({k, step, static_cast<int64_t>(values_.size())});
                    keep_values(others.choice(), step);
                    keep_values(runner_up, step);
                    others.add(entity, k);
                }
                others.decide(rescoring_.entity(mention, rescoring_.choices[mention]));
            }
            shapley.run();
            for (std::size_t q = 0; q < comparisons_.size(); ++q) {
                out_.total[comparisons_[q].number] += shapley.difference(q);
                give_parts(d, comparisons_[q], shapley.parts(q));
            }
        });
    }

private:
    // A comparison, its step, and where its pair features begin: the choice's, then the runner-up's,
    // both feature by feature in the order of decisions.
    struct Comparison {
        int64_t number, step, values;
    };

    void check_comparisons() const {
        const int64_t n = mentions_.size(), n_mentions = s_.gold.size();
        check_range(mentions_, 0, n_mentions, "mentions");
        check_equal(runner_ups_.size(), n, "runner_ups");
        for (int64_t k = 0; k < n; ++k)
            check_value(runner_ups_[k], 0, s_.n_candidates(mentions_[k]), "runner_ups");
        check_shape(out_.local, {n, s_.n_local}, "out.local");
        check_equal(out_.total.size(), n, "out.total");
        check_offsets(out_.offsets, n, out_.mentions.size(), "out.offsets");
        for (int64_t k = 0; k < n; ++k) {
            const auto end = std::upper_bound(s_.mention_offsets.begin(), s_.mention_offsets.end(),
                                              mentions_[k]);
            check_equal(out_.offsets[k + 1] - out_.offsets[k], *end - *(end - 1), "out.offsets");
        }
    }

    // Order the comparisons by mention.
    void by_mention() {
        first_.assign(s_.gold.size() + 1, 0);
        for (const int64_t m : mentions_) ++first_[m + 1];
        for (std::size_t m = 1; m < first_.size(); ++m) first_[m] += first_[m - 1];
        std::vector<int64_t> next(first_.begin(), first_.end() - 1);
        order_.resize(mentions_.size());
        for (int64_t k = 0; k < mentions_.size(); ++k) order_[next[mentions_[k]]++] = k;
    }

    void fill_row(int64_t mention, int64_t candidate, const Pooled& pooled, uint8_t* row) const {
        const int64_t stride = blocks_of(s_.n_candidates(mention)) * BLOCK_SIZE;
        const uint8_t* const local = s_.local_of(mention) + candidate;
        for (int64_t f = 0; f < s_.n_local; ++f) row[f] = local[f * stride];
        std::copy(pooled.bins.begin(), pooled.bins.end(), row + s_.n_local);
    }

    void keep_values(const Pooled& pooled, int64_t n) {
        for (int64_t e = 0; e < s_.pairs.n_features; ++e)
            values_.insert(values_.end(), pooled.of(e, n), pooled.of(e, n) + n);
    }

    double& mention_part(int64_t d, int64_t k, int64_t mention) const {
        return out_.mentions[out_.offsets[k] + mention - s_.mention_offsets[d]];
    }

    // Write the parts of local features; those of pair features go to earlier mentions.
    void give_parts(int64_t d, const Comparison& comparison, const double* parts) const {
        const int64_t n = comparison.step, n_pair = s_.pairs.n_features;
        std::copy_n(parts, s_.n_local, out_.local.data() + comparison.number * s_.n_local);
        auto give = [&](int64_t step, double part) {
            mention_part(d, comparison.number, rescoring_.mention_at(d, step)) += part;
        };
        for (int64_t e = 0; e < n_pair && n > 0; ++e) {
            const float* const own = values_.data() + comparison.values + e * n;
            const float* const other = own + n_pair * n;
            if (const double part = parts[s_.n_local + e]; part != 0.0)
                share_mean(own, other, n, part, give);
            if (const double part = parts[s_.n_local + n_pair + e]; part != 0.0)
                share_maximum(own, other, n, part, give);
        }
    }

    // A mean's part goes in shares to all decisions with a difference of its sign.
    template <class Give>
    static void share_mean(const float* own, const float* other, int64_t n, double part,
                           Give give) {
        double sum = 0.0, other_sum = 0.0, total = 0.0;
        for (int64_t i = 0; i < n; ++i) {
            sum += own[i];
            other_sum += other[i];
        }
        const bool ahead = sum > other_sum;
        auto push = [&](int64_t i) {
            const double a = own[i], b = other[i];
            return std::max(ahead ? a - b : b - a, 0.0);
        };
        for (int64_t i = 0; i < n; ++i) total += push(i);
        for (int64_t i = 0; i < n; ++i) give(i, part * (push(i) / total));
    }

    // A maximum's part goes to the first decision with the value that decided it.
    template <class Give>
    static void share_maximum(const float* own, const float* other, int64_t n, double part,
                              Give give) {
        const float* const top = std::max_element(own, own + n);
        const float* const other_top = std::max_element(other, other + n);
        give(*top > *other_top ? top - own : other_top - other, part);
    }

    const Rescoring& rescoring_;
    const Search& s_;
    Longs mentions_, runner_ups_;
    Contributions out_;
    std::vector<int32_t> documents_;  // those with comparisons
    std::vector<int64_t> first_, order_;
    int64_t room_ = 0, n_steps_ = 1;
    std::vector<Comparison> comparisons_;
    std::vector<float> values_;
};

void explain_documents(Ints documents, const Rescoring& rescoring, Longs mentions, Longs runner_ups,
                       const Contributions& out) {
    Explainer(documents, rescoring, mentions, runner_ups, out).run();
}

}  // namespace

void bind_explanation(nb::module_& module) {
    SGTB_BIND(score_counterfactuals, documents, rescoring, factor, margin, out);
    SGTB_BIND(explain_documents, documents, rescoring, mentions, runner_ups, out);
}

}  // namespace sgtb
