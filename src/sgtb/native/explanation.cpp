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
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "interrupt.hpp"
#include "search.hpp"

namespace sgtb {

namespace {

// Decoded documents and the model they were decoded with; see boosting/explain/rescoring.py.
struct Rescoring {
    Search search;
    Ints choices;
    Array<const int8_t> direction;
    int64_t n_trees;

    int64_t mention_at(int64_t d, int64_t step) const {
        return search.mention_at(direction[d], d, step);
    }
    int32_t entity(int64_t mention, int64_t candidate) const {
        return search.entity[search.candidate_offsets[mention] + candidate];
    }
};
SGTB_RECORD(Rescoring, search, choices, direction, n_trees)

void check_rescoring(Ints documents, const Rescoring& rescoring) {
    const Search& s = rescoring.search;
    check_search(s);
    check_forest(s.forest, rescoring.n_trees, 2 * s.pairs.n_features);
    check_range(documents, 0, s.n_documents(), "documents");
    check_equal(rescoring.choices.size(), s.gold.size(), "choices");
    check_equal(rescoring.direction.size(), s.n_documents(), "direction");
    check_range(rescoring.direction, 0, s.mention.shape(0), "direction");
    for (const int32_t m : s.mention)
        check_value(rescoring.choices[m], 0, s.n_candidates(m), "choices");
}

// The bin of a value, which mostly is the same as another one's.
uint8_t bin_near(float value, const float* thresholds, uint8_t bin) {
    const bool below = bin > 0 && !(thresholds[bin - 1] < value);
    return below || thresholds[bin] < value ? bin_value(value, thresholds) : bin;
}

// The pair features of an entity with those of a history, and their means and maxima as bins.
struct Pooled {
    Pooled(int64_t n_pair, int64_t n_steps)
        : values(n_pair * blocks_of(n_steps) * BLOCK_SIZE), bins(2 * n_pair) {}

    void pool(const Search& s, const DocumentPairs& document, int32_t entity,
              const EntityBlocks& history) {
        const int64_t n = history.size(), n_pair = s.pairs.n_features;
        if (n_pair > 0) history.pair_features(document, &entity, 1, values.data());
        for (int64_t e = 0; e < n_pair; ++e) {
            const float* const value = of(e, n);
            const double sum = std::accumulate(value, value + n, 0.0);
            const float mean = n ? static_cast<float>(sum / static_cast<double>(n)) : 0.0f;
            bins[e] = bin_value(mean, s.thresholds(e));
            bins[n_pair + e] =
                bin_value(n ? *std::max_element(value, value + n) : 0.0f, s.thresholds(n_pair + e));
        }
    }
    // The values of feature e, in the order of decisions.
    const float* of(int64_t e, int64_t n) const { return values.data() + e * blocks_of(n) * BLOCK_SIZE; }

    std::vector<float> values;
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
          sums_(room),
          tops_(room),
          bins_(2 * n_pair_ * room),
          locals_(s_.n_local * blocks_of(room + 1) * BLOCK_SIZE),
          globals_(2 * n_pair_ * blocks_of(room + 1) * BLOCK_SIZE) {}

    // Begin a document.
    void start(const DocumentPairs* document) {
        document_ = document;
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
        choice_.pool(s_, *document_, entity, history_);
        if (n == 0) return;
        others_.pair_features(*document_, &entity, 1, values_.data());
        for (int64_t e = 0; e < n_pair_; ++e) pool(e);
        find_distinct();
        if (rows_.size() == 1) return;
        score(mention, choice);
        for (int64_t j = 0; j < n; ++j) change_[j] = score_[distinct_[j]] - score_[0];
    }

    // Add a replacement of the choice at hand; the caller knows it by a number.
    void add(int32_t entity, int64_t number) {
        if (n_pair_ > 0) others_.add(*document_, entity);
        number_.push_back(number);
    }

    // Go on to the next step.
    void decide(int32_t entity) {
        if (n_pair_ > 0) history_.add(*document_, entity);
        first_.push_back(static_cast<int64_t>(number_.size()));
    }

    int64_t size() const { return static_cast<int64_t>(change_.size()); }
    double change(int64_t j) const { return change_[j]; }
    int64_t number(int64_t j) const { return number_[j]; }
    const DocumentPairs& document() const { return *document_; }
    const EntityBlocks& history() const { return history_; }
    const Pooled& choice() const { return choice_; }  // of the mention visited

private:
    // Pool one pair feature under all histories, and bin it. Sums run in the order of decisions.
    void pool(int64_t e) {
        const int64_t n = others_.size(), n_steps = history_.size(), n_global = 2 * n_pair_;
        const float* const chosen = choice_.of(e, n_steps);
        const float* const other = values_.data() + e * blocks_of(n) * BLOCK_SIZE;
        const uint8_t own = choice_.bins[e], own_top = choice_.bins[n_pair_ + e];
        bool differs = false;
        for (int64_t i = 0; i < n_steps; ++i)
            for (int64_t j = first_[i]; j < first_[i + 1]; ++j) differs |= other[j] != chosen[i];
        if (!differs) {
            for (int64_t j = 0; j < n; ++j) {
                bins_[j * n_global + e] = own;
                bins_[j * n_global + n_pair_ + e] = own_top;
            }
            return;
        }
        double* const __restrict sums = sums_.data();
        float* const __restrict tops = tops_.data();
        double sum = 0.0;
        float top = -std::numeric_limits<float>::infinity();
        for (int64_t i = 0; i < n_steps; ++i) {
            for (int64_t j = 0; j < first_[i]; ++j) {
                sums[j] += chosen[i];
                tops[j] = chosen[i] > tops[j] ? chosen[i] : tops[j];
            }
            for (int64_t j = first_[i]; j < first_[i + 1]; ++j) {
                sums[j] = sum + other[j];
                tops[j] = other[j] > top ? other[j] : top;
            }
            sum += chosen[i];
            top = chosen[i] > top ? chosen[i] : top;
        }
        const float *const means = s_.thresholds(e), *const maxima = s_.thresholds(n_pair_ + e);
        for (int64_t j = 0; j < n; ++j) {
            uint8_t* const bins = bins_.data() + j * n_global;
            const float mean = static_cast<float>(sums[j] / static_cast<double>(n_steps));
            bins[e] = bin_near(mean, means, own);
            bins[n_pair_ + e] = bin_near(tops[j], maxima, own_top);
        }
    }

    // Find the distinct rows of bins, the choice's own first. Most replacements make no difference,
    // or the same one as another.
    void find_distinct() {
        const int64_t n = others_.size(), n_global = 2 * n_pair_;
        number_of_.clear();
        rows_.clear();
        auto number = [&](const uint8_t* bins) {
            const std::string_view text(reinterpret_cast<const char*>(bins), n_global);
            const auto [found, is_new] = number_of_.try_emplace(text, rows_.size());
            if (is_new) rows_.push_back(bins);
            return found->second;
        };
        number(choice_.bins.data());
        distinct_.resize(n);
        for (int64_t j = 0; j < n; ++j) distinct_[j] = number(bins_.data() + j * n_global);
    }

    // Score a choice with all distinct rows, as if they were candidates that differ in these.
    void score(int64_t mention, int64_t choice) {
        const auto n = static_cast<int64_t>(rows_.size()), n_blocks = blocks_of(n);
        const int64_t own_stride = blocks_of(s_.n_candidates(mention)) * BLOCK_SIZE;
        const int64_t stride = n_blocks * BLOCK_SIZE;
        for (int64_t f = 0; f < s_.n_local; ++f)
            std::memset(locals_.data() + f * stride, s_.local_of(mention)[f * own_stride + choice],
                        stride);
        for (int64_t k = 0; k < n; ++k)
            for (int64_t g = 0; g < 2 * n_pair_; ++g) globals_[g * stride + k] = rows_[k][g];
        score_.assign(stride, 0.0);
        const int64_t first = 0;
        add_trees(s_.forest, 0, rescoring_.n_trees,
                  {locals_.data(), globals_.data(), score_.data(), &first, 1, n, n_blocks,
                   2 * n_pair_});
    }

    const Rescoring& rescoring_;
    const Search& s_;
    int64_t n_pair_;
    const DocumentPairs* document_ = nullptr;
    EntityBlocks history_, others_;
    std::vector<int64_t> first_, number_;  // where the replacements of each step begin
    Pooled choice_;
    std::vector<float> values_;
    std::vector<double> sums_;
    std::vector<float> tops_;
    std::vector<uint8_t> bins_, locals_, globals_;
    std::unordered_map<std::string_view, int32_t> number_of_;  // of distinct rows
    std::vector<const uint8_t*> rows_;
    std::vector<int32_t> distinct_;  // the row of each replacement
    std::vector<double> score_, change_;
};

// Rescore documents one after the other: visit(d, counterfactuals), with at most `room`
// replacements in each.
template <class Visit>
void rescore_documents(const std::vector<int32_t>& documents, const Rescoring& rescoring,
                       int64_t room, Visit visit) {
    const Search& s = rescoring.search;
    const int64_t n_steps = largest(documents, [&](int64_t d) { return s.n_steps(d); });
    Counterfactuals counterfactuals(rescoring, std::max<int64_t>(1, n_steps),
                                    std::max<int64_t>(1, room));
    Interrupt interrupt;
    for (const int32_t d : documents) {
        interrupt.check();
        const DocumentPairs document(s.pairs, d);
        counterfactuals.start(&document);
        visit(d, counterfactuals);
    }
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
            if (n == forest_.depth) fail("forest.depth", "a tree is deeper");
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
        order_.resize(mentions.size());
        std::iota(order_.begin(), order_.end(), 0);
        std::ranges::stable_sort(order_, {}, [&](int64_t k) { return mentions_[k]; });
        for (const int32_t d : documents) {
            const int64_t n =
                std::ssize(comparisons_of(s_.mention_offsets[d], s_.mention_offsets[d + 1]));
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
            for (int64_t step = 0; step < s_.n_steps(d); ++step) {
                const int64_t mention = rescoring_.mention_at(d, step);
                others.visit(mention);
                for (int64_t j = 0; j < others.size(); ++j) {
                    const int64_t k = others.number(j);
                    mention_part(d, k, mention) -= others.change(j);
                    out_.total[k] -= others.change(j);
                }
                for (const int64_t k : comparisons_of(mention, mention + 1)) {
                    const int32_t entity = rescoring_.entity(mention, runner_ups_[k]);
                    runner_up.pool(s_, others.document(), entity, others.history());
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

    // The comparisons of mentions first..last-1.
    std::span<const int64_t> comparisons_of(int64_t first, int64_t last) const {
        auto at = [&](int64_t mention) {
            return std::ranges::lower_bound(order_, mention, {},
                                            [&](int64_t k) { return mentions_[k]; });
        };
        return {at(first), at(last)};
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
    std::vector<int64_t> order_;      // comparisons by mention
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
