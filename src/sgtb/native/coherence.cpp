// Coherence of the names of a document: votes by links and by closeness, and a random walk.
// Also what these are made of: links among some entities, and products of sparse matrices.
#include <algorithm>
#include <numeric>

#include "bind.hpp"
#include "interrupt.hpp"
#include "panels.hpp"

namespace sgtb {

namespace {

struct CandidateTable {
    Ints mention_offsets, candidate_offsets, entity;

    int64_t n_documents() const { return mention_offsets.size() - 1; }
    int64_t n_mentions() const { return candidate_offsets.size() - 1; }
};
SGTB_RECORD(CandidateTable, mention_offsets, candidate_offsets, entity)

struct Links {  // a sparse matrix of ones
    Longs indptr;
    Ints indices;
};
SGTB_RECORD(Links, indptr, indices)

struct Nodes {
    Longs offsets;
    Ints entity;
    Longs place;
};
SGTB_RECORD(Nodes, offsets, entity, place)

void check_candidates(const CandidateTable& candidates, int64_t n_entities) {
    check_groups(candidates.mention_offsets, candidates.n_mentions(), "candidates.mention_offsets");
    check_groups(candidates.candidate_offsets, candidates.entity.size(),
                 "candidates.candidate_offsets");
    check_range(candidates.entity, 0, n_entities, "candidates.entity");
}

void check_links(const Links& links) {
    check_groups(links.indptr, links.indices.size(), "links.indptr");
    check_range(links.indices, 0, links.indptr.size() - 1, "links.indices");
}

// ---- votes

// The distinct names of all documents and, name after name, their distinct candidate lists.
//
// A name votes with its first list. Where it occurs with others, these are only voted on.
struct Names {
    Names(const CandidateTable& candidates, Longs name, Doubles prior);

    // The first candidate of a name; that of the name after it is the end of its own.
    int64_t begin(int64_t r) const { return candidate_offsets[r]; }
    int64_t n_documents() const { return static_cast<int64_t>(offsets.size()) - 1; }

    std::vector<int64_t> offsets;            // per document
    std::vector<int64_t> candidate_offsets;  // per name
    std::vector<int64_t> n_voters;           // per name, the length of its first list
    std::vector<int32_t> entity;             // per candidate
    std::vector<double> prior;               // per candidate
    std::vector<int64_t> place;              // of every candidate of a mention, among these
};

Names::Names(const CandidateTable& candidates, Longs name, Doubles prior)
    : offsets{0}, candidate_offsets{0}, place(candidates.entity.size()) {
    const int64_t n_mentions = candidates.n_mentions();
    const Ints starts = candidates.candidate_offsets;
    auto same_list = [&](int64_t a, int64_t b) {
        const int32_t* const entity = candidates.entity.data();
        return std::equal(entity + starts[a], entity + starts[a + 1], entity + starts[b],
                          entity + starts[b + 1]);
    };
    std::vector<int64_t> first(n_mentions, -1);  // per name, its first mention
    std::vector<int64_t> last(n_mentions);       // per name, the last with a list of its own
    std::vector<int64_t> model(n_mentions);      // per mention, the first with the same list
    std::vector<int64_t> next(n_mentions, -1);   // per mention, the next of its name with another
    for (int64_t d = 0; d < candidates.n_documents(); ++d) {
        const int64_t begin = candidates.mention_offsets[d];
        const int64_t end = candidates.mention_offsets[d + 1];
        for (int64_t m = begin; m < end; ++m) {
            int64_t other = first[name[m]];
            model[m] = m;
            if (other < begin) {
                first[name[m]] = last[name[m]] = m;
                continue;
            }
            while (other >= 0 && !same_list(m, other)) other = next[other];
            if (other >= 0)
                model[m] = other;
            else
                last[name[m]] = next[last[name[m]]] = m;
        }
        for (int64_t m = begin; m < end; ++m) {
            if (first[name[m]] != m) continue;
            n_voters.push_back(starts[m + 1] - starts[m]);
            for (int64_t own = m; own >= 0; own = next[own])
                for (int64_t c = starts[own]; c < starts[own + 1]; ++c) {
                    place[c] = static_cast<int64_t>(entity.size());
                    entity.push_back(candidates.entity[c]);
                    this->prior.push_back(prior[c]);
                }
            candidate_offsets.push_back(static_cast<int64_t>(entity.size()));
        }
        for (int64_t m = begin; m < end; ++m)
            std::copy_n(place.data() + starts[model[m]], starts[m + 1] - starts[m],
                        place.data() + starts[m]);
        offsets.push_back(static_cast<int64_t>(n_voters.size()));
    }
}

// Sums of votes per candidate: of all names, of the best candidate of each, of the sure names.
class Votes {
public:
    static constexpr int64_t LINES = 3;

    explicit Votes(const Names& names)
        : n_(static_cast<int64_t>(names.entity.size())), values_(LINES * n_) {}

    double* line(int64_t i) { return values_.data() + i * n_; }

    // Divide by the number of names that voted, or by that of the sure ones.
    void average(const Names& names, int64_t d, int64_t reach, bool divide_sure) {
        const int64_t first = names.offsets[d], last = names.offsets[d + 1];
        for (int64_t r = first; r < last; ++r) {
            int64_t n_voting = 0, n_sure = 0;
            const int64_t high = std::min(last, r + reach + 1);
            for (int64_t other = std::max(first, r - reach); other < high; ++other) {
                if (other == r) continue;
                n_voting += names.n_voters[other] > 0;
                n_sure += names.n_voters[other] == 1;
            }
            const auto voting = static_cast<double>(std::max<int64_t>(n_voting, 1));
            const auto sure = static_cast<double>(std::max<int64_t>(n_sure, 1));
            for (int64_t c = names.begin(r); c < names.begin(r + 1); ++c) {
                line(0)[c] /= voting;
                line(1)[c] /= voting;
                if (divide_sure) line(2)[c] /= sure;
            }
        }
    }

    // Write the votes on every candidate of a mention.
    void write(const Names& names, Array<double, 2> out) {
        for (int64_t i = 0; i < LINES; ++i)
            for (int64_t c = 0; c < out.shape(1); ++c) out(i, c) = line(i)[names.place[c]];
    }

private:
    int64_t n_;
    std::vector<double> values_;
};

// Count votes by links, which go both ways. A name has no vote on its own candidates.
void count_link_votes(const Names& names, const Links& links, int64_t reach, Votes& votes) {
    // Where an entity occurs among a document's candidates: last, and before each place.
    std::vector<int64_t> last_place(links.indptr.size() - 1, -1), before(names.entity.size());
    std::vector<double> voted, best;  // by one name
    Interrupt interrupt;
    for (int64_t d = 0; d < names.n_documents(); ++d) {
        interrupt.check();
        const int64_t first = names.offsets[d], last = names.offsets[d + 1];
        const int64_t base = names.begin(first), top = names.begin(last);
        for (int64_t c = base; c < top; ++c) {
            before[c] = last_place[names.entity[c]];
            last_place[names.entity[c]] = c;
        }
        for (int64_t r = first; r < last; ++r) {
            if (names.n_voters[r] == 0) continue;
            const int64_t own = names.begin(r), end = names.begin(r + 1);
            const int64_t left = names.begin(std::max(first, r - reach));
            const int64_t right = names.begin(std::min(last, r + reach + 1));
            voted.assign(right - left, 0.0);
            best.assign(right - left, 0.0);
            for (int64_t v = own; v < own + names.n_voters[r]; ++v) {
                const int64_t e = names.entity[v];
                for (int64_t k = links.indptr[e]; k < links.indptr[e + 1]; ++k)
                    for (int64_t c = last_place[links.indices[k]]; c >= left; c = before[c]) {
                        if (c >= right) continue;
                        voted[c - left] += names.prior[v];
                        best[c - left] = 1.0;
                    }
            }
            for (int64_t c = left; c < right; ++c) {
                if (c == own) c = end;
                if (c >= right) break;
                votes.line(0)[c] += voted[c - left];
                votes.line(1)[c] += best[c - left];
                if (names.n_voters[r] == 1) votes.line(2)[c] += best[c - left];
            }
        }
        votes.average(names, d, reach, false);
        for (int64_t c = base; c < top; ++c) last_place[names.entity[c]] = -1;
    }
}

// Votes by closeness of one document's names: two names are compared once, and vote on each other.
//
// A zero vector is close to nothing, so candidates without a vector are left out.
class ClosenessVotes {
    static constexpr int64_t LANES = 8;

public:
    ClosenessVotes(const Names& names, Array<const float, 2> vectors)
        : names_(names), vectors_(vectors) {}

    void count(int64_t d, int64_t reach, Votes& votes) {
        const int64_t first = names_.offsets[d], n_names = names_.offsets[d + 1] - first;
        list_candidates(first, n_names);
        const int64_t n = starts_[n_names];
        panels_.fill(n, vectors_.shape(1), [&](int64_t i) { return rows_[i]; });
        for (auto& line : lines_) line.assign(n + LANES, 0.0);
        for (int64_t r = 0; r < n_names; ++r) {
            const int64_t high = std::min(n_names, r + reach + 1);
            if (starts_[r] == starts_[r + 1] || starts_[r + 1] == starts_[high]) continue;
            compare(r, high);
            vote(r, high, names_.n_voters[first + r] == 1);
            take_votes(r, high, names_.n_voters.data() + first);
        }
        for (int64_t i = 0; i < Votes::LINES; ++i)
            for (int64_t c = 0; c < n; ++c) votes.line(i)[place_[c]] = lines_[i][c];
    }

private:
    // List the candidates of some names that have a vector.
    void list_candidates(int64_t first, int64_t n_names) {
        rows_.clear();
        place_.clear();
        prior_.clear();
        starts_.assign(1, 0);
        n_voters_.clear();
        for (int64_t r = first; r < first + n_names; ++r) {
            const int64_t begin = names_.begin(r);
            n_voters_.push_back(0);
            for (int64_t c = begin; c < names_.begin(r + 1); ++c) {
                const Array<const float> vector = vectors_.row(names_.entity[c]);
                if (std::all_of(vector.begin(), vector.end(), [](float x) { return x == 0.0f; }))
                    continue;
                rows_.push_back(vector.data());
                place_.push_back(c);
                prior_.push_back(names_.prior[c]);
                n_voters_.back() += c < begin + names_.n_voters[r];
            }
            starts_.push_back(static_cast<int64_t>(rows_.size()));
        }
    }

    // Compare the candidates of name r with those of the names after it, below `high`.
    void compare(int64_t r, int64_t high) {
        const int64_t own = starts_[r], begin = starts_[r + 1];
        const int64_t first = begin / LANES, last = (starts_[high] + LANES - 1) / LANES;
        stride_ = (last - first + 1) * LANES;  // lanes beyond the last candidate are read
        const std::size_t size = (begin - own) * stride_;
        if (near_.size() < size) near_.resize(size);
        panels_.multiply(begin - own, rows_.data() + own, first, last, near_.data(), stride_);
        shift_ = begin % LANES;
    }

    // Add the votes of name r on the names after it.
    void vote(int64_t r, int64_t high, bool is_sure) {
        const int64_t own = starts_[r], left = starts_[r + 1], n = starts_[high] - left;
        for (int64_t i = 0; i < n; i += LANES) {
            auto voted = EightDoubles::all(0.0);
            auto best = Eight::all(0.0f);
            for (int64_t v = 0; v < n_voters_[r]; ++v)
                add_vote(Eight::load(near_.data() + v * stride_ + shift_ + i), prior_[own + v],
                         voted, best);
            add(voted, left + i, n - i, 0);
            add(doubles(best), left + i, n - i, 1);
            if (is_sure) add(doubles(best), left + i, n - i, 2);
        }
    }

    // Add the votes of the names after name r on it, one name after the other.
    void take_votes(int64_t r, int64_t high, const int64_t* n_all_voters) {
        const int64_t own = starts_[r], left = starts_[r + 1], n_others = starts_[high] - left;
        if (static_cast<int64_t>(columns_.size()) < n_others * LANES)
            columns_.resize(n_others * LANES);
        for (int64_t v = own; v < left; v += LANES) {
            const int64_t n = std::min(LANES, left - v);
            for (int64_t lane = 0; lane < n; ++lane) {
                const float* const row = near_.data() + (v - own + lane) * stride_ + shift_;
                for (int64_t i = 0; i < n_others; ++i) columns_[i * LANES + lane] = row[i];
            }
            EightDoubles total[Votes::LINES] = {};
            for (int64_t i = 0; i < Votes::LINES; ++i)
                total[i] = EightDoubles::load(lines_[i].data() + v);
            for (int64_t q = r + 1; q < high; ++q) {
                auto voted = EightDoubles::all(0.0);
                auto best = Eight::all(0.0f);
                for (int64_t i = starts_[q]; i < starts_[q] + n_voters_[q]; ++i)
                    add_vote(Eight::load(columns_.data() + (i - left) * LANES), prior_[i], voted,
                             best);
                total[0] = total[0] + voted;
                total[1] = total[1] + doubles(best);
                if (n_all_voters[q] == 1) total[2] = total[2] + doubles(best);
            }
            for (int64_t i = 0; i < Votes::LINES; ++i)
                for (int64_t lane = 0; lane < n; ++lane) lines_[i][v + lane] = total[i][lane];
        }
    }

    static void add_vote(Eight near, double prior, EightDoubles& voted, Eight& best) {
        near = larger(near, Eight::all(0.0f));
        voted = voted + EightDoubles::all(prior) * doubles(near);
        best = larger(near, best);
    }

    void add(EightDoubles value, int64_t c, int64_t n, int64_t line) {
        double* const total = lines_[line].data() + c;
        if (n >= LANES) {
            (EightDoubles::load(total) + value).store(total);
            return;
        }
        for (int64_t lane = 0; lane < n; ++lane) total[lane] += value[lane];
    }

    const Names& names_;
    Array<const float, 2> vectors_;
    Panels panels_;
    // Candidates with vectors: vector, place among all, prior; per name, the first and the voters.
    std::vector<const float*> rows_;
    std::vector<int64_t> place_;
    std::vector<double> prior_;
    std::vector<int64_t> starts_, n_voters_;
    std::vector<double> lines_[Votes::LINES];
    std::vector<float> near_;     // per candidate of a name, its closeness to later ones
    std::vector<float> columns_;  // the same of eight candidates, transposed
    int64_t stride_ = 0, shift_ = 0;
};

// Write the votes on every candidate: by links, then by closeness in each space.
//
// prior   of the candidates, their weights
// spaces  vectors by entity number
void count_votes(const CandidateTable& candidates, Longs name, Doubles prior, const Links& links,
                 std::vector<Array<const float, 2>> spaces, int64_t reach, Array<double, 3> out) {
    const int64_t n_entities = links.indptr.size() - 1, n_spaces = std::ssize(spaces);
    check_links(links);
    check_candidates(candidates, n_entities);
    check_equal(name.size(), candidates.n_mentions(), "name");
    check_range(name, 0, candidates.n_mentions(), "name");
    check_equal(prior.size(), candidates.entity.size(), "prior");
    for (const auto& vectors : spaces) check_equal(vectors.shape(0), n_entities, "spaces");
    check_value(reach, 0, int64_t(1) << 31, "reach");
    check_shape(out, {1 + n_spaces, Votes::LINES, candidates.entity.size()}, "out");
    const Names names(candidates, name, prior);
    Votes by_links(names);
    count_link_votes(names, links, reach, by_links);
    by_links.write(names, out.row(0));
    Interrupt interrupt;
    for (int64_t s = 0; s < n_spaces; ++s) {
        Votes votes(names);
        ClosenessVotes closeness(names, spaces[s]);
        for (int64_t d = 0; d < names.n_documents(); ++d) {
            interrupt.check();
            closeness.count(d, reach, votes);
            votes.average(names, d, reach, true);
        }
        votes.write(names, out.row(1 + s));
    }
}

// ---- random walk

// Random walk with restart over the links inside each document; isolated nodes keep their mass.
//
// place  of the candidates of all mentions, among those of distinct ones: where walks start
void random_walk(const Nodes& nodes, Longs place, Doubles prior, const Links& links,
                 int64_t n_rounds, double restart, Array<double> out) {
    check_links(links);
    const int64_t n_documents = nodes.offsets.size() - 1, n_nodes = nodes.entity.size();
    check_groups(nodes.offsets, n_nodes, "nodes.offsets");
    check_range(nodes.entity, 0, links.indptr.size() - 1, "nodes.entity");
    check_range(nodes.place, 0, n_nodes, "nodes.place");
    check_range(place, 0, nodes.place.size(), "place");
    SGTB_CHECK_LENGTHS(nodes.place.size(), prior, out);
    std::vector<double> start(n_nodes), moved;
    for (const int64_t c : place) start[nodes.place[c]] += prior[c];
    for (int64_t d = 0; d < n_documents; ++d) {
        double total = 0.0;
        for (int64_t i = nodes.offsets[d]; i < nodes.offsets[d + 1]; ++i) total += start[i];
        for (int64_t i = nodes.offsets[d]; i < nodes.offsets[d + 1]; ++i)
            start[i] /= std::max(total, 1e-300);
    }
    std::vector<double> mass = start;
    std::vector<int32_t> node(links.indptr.size() - 1, -1), targets;
    std::vector<int64_t> ends;
    Interrupt interrupt;
    for (int64_t d = 0; d < n_documents; ++d) {
        interrupt.check();
        const int64_t first = nodes.offsets[d], n = nodes.offsets[d + 1] - first;
        const int32_t* const entity = nodes.entity.data() + first;
        for (int64_t i = 0; i < n; ++i) node[entity[i]] = static_cast<int32_t>(i);
        targets.clear();
        ends.assign(1, 0);
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t k = links.indptr[entity[i]]; k < links.indptr[entity[i] + 1]; ++k) {
                const int32_t target = node[links.indices[k]];
                if (target >= 0) targets.push_back(target);
            }
            ends.push_back(static_cast<int64_t>(targets.size()));
        }
        for (int64_t round = 0; round < n_rounds; ++round) {
            moved.assign(n, 0.0);
            for (int64_t i = 0; i < n; ++i) {
                if (ends[i] == ends[i + 1]) {
                    moved[i] += mass[first + i];
                    continue;
                }
                const double step = mass[first + i] / static_cast<double>(ends[i + 1] - ends[i]);
                for (int64_t k = ends[i]; k < ends[i + 1]; ++k) moved[targets[k]] += step;
            }
            for (int64_t i = 0; i < n; ++i)
                mass[first + i] = restart * start[first + i] + (1.0 - restart) * moved[i];
        }
        for (int64_t i = 0; i < n; ++i) node[entity[i]] = -1;
    }
    for (int64_t c = 0; c < out.size(); ++c) out[c] = mass[nodes.place[c]];
}

// ---- links among some entities

// Entity numbers in an open hash table, most places of which are empty.
class RowTable {
public:
    explicit RowTable(Ints number) : number_(number) {
        uint64_t size = 1;
        while (size <= 8 * static_cast<uint64_t>(number.size())) size *= 2;
        table_.assign(size, -1);
        for (int64_t r = 0; r < number.size(); ++r)
            table_[slot(number[r])] = static_cast<int32_t>(r);
    }

    // The row of a number, -1: it is not there.
    int32_t row(int32_t number) const { return table_[slot(number)]; }

private:
    std::size_t slot(int32_t wanted) const {
        const std::size_t mask = table_.size() - 1;
        std::size_t at = (static_cast<uint64_t>(int64_t(wanted) * 0x9E3779B1) >> 16) & mask;
        while (table_[at] >= 0 && number_[table_[at]] != wanted) at = (at + 1) & mask;
        return at;
    }

    Ints number_;
    std::vector<int32_t> table_;
};

// Write the neighbours of each row among these, ascending and each once; return how many they are.
//
// linked  of each row, numbers that it has links to; most are of no row
int64_t join_links(Ints number, Longs offsets, Ints linked, Array<int32_t> columns,
                   Array<int64_t> column_offsets) {
    const int64_t n = number.size();
    check_offsets(offsets, n, linked.size(), "offsets");
    check_at_least(columns.size(), 2 * linked.size(), "columns");
    check_equal(column_offsets.size(), n + 1, "column_offsets");
    check_value(n, 0, int64_t(1) << 27, "length of number");
    const RowTable rows(number);
    std::vector<int32_t> row(linked.size());  // -1: of none
    for (int64_t i = 0; i < linked.size(); ++i) row[i] = rows.row(linked[i]);
    auto each_link = [&](auto visit) {  // both ways
        for (int64_t r = 0; r < n; ++r)
            for (int64_t i = offsets[r]; i < offsets[r + 1]; ++i)
                if (row[i] >= 0) {
                    visit(r, row[i]);
                    visit(row[i], static_cast<int32_t>(r));
                }
    };
    std::vector<int64_t> starts(n + 1);
    each_link([&](int64_t from, int32_t) { ++starts[from + 1]; });
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<int32_t> lists(starts[n]);
    std::vector<int64_t> ends(starts.begin(), starts.end() - 1);
    each_link([&](int64_t from, int32_t to) { lists[ends[from]++] = to; });
    int64_t at = 0;
    column_offsets[0] = 0;
    for (int64_t r = 0; r < n; ++r) {
        const auto begin = lists.begin() + starts[r], end = lists.begin() + starts[r + 1];
        std::sort(begin, end);
        at = std::unique_copy(begin, end, columns.data() + at) - columns.data();
        column_offsets[r + 1] = at;
    }
    return at;
}

// ---- sparse matrices

// Add the product of a sparse and a dense matrix to `out`. Products and sums are of float64, entry
// by entry in order.
template <class Value, class T>
void multiply_sparse(Longs indptr, Ints indices, Array<const Value> data, Array<const T, 2> dense,
                     Array<double, 2> out) {
    check_offsets(indptr, out.shape(0), indices.size(), "indptr");
    check_equal(data.size(), indices.size(), "data");
    check_range(indices, 0, dense.shape(0), "indices");
    check_equal(out.shape(1), dense.shape(1), "out");
    const int64_t width = dense.shape(1);
    Interrupt interrupt;
    for (int64_t r = 0; r < out.shape(0); ++r) {
        if (r % 64 == 0) interrupt.check();
        double* __restrict to = out.row(r).data();
        int64_t i = indptr[r];
        for (; i + 4 <= indptr[r + 1]; i += 4) {  // so sums go to memory once for four entries
            const T *from[4];
            double value[4];
            for (int j = 0; j < 4; ++j) {
                from[j] = dense.row(indices[i + j]).data();
                value[j] = data[i + j];
            }
            for (int64_t k = 0; k < width; ++k)
                to[k] = (((to[k] + value[0] * from[0][k]) + value[1] * from[1][k]) +
                         value[2] * from[2][k]) + value[3] * from[3][k];
        }
        for (; i < indptr[r + 1]; ++i) {
            const T* const from = dense.row(indices[i]).data();
            const double value = data[i];
            for (int64_t k = 0; k < width; ++k) to[k] += value * from[k];
        }
    }
}

}  // namespace

void bind_coherence(nb::module_& module) {
    SGTB_BIND(count_votes, candidates, name, prior, links, spaces, reach, out);
    SGTB_BIND(random_walk, nodes, place, prior, links, n_rounds, restart, out);
    SGTB_BIND(join_links, number, offsets, linked, columns, column_offsets);
    SGTB_BIND_AS("multiply_sparse_f4", (multiply_sparse<float, float>), indptr, indices, data,
                 dense, out);
    SGTB_BIND_AS("multiply_sparse_f8", (multiply_sparse<float, double>), indptr, indices, data,
                 dense, out);
    SGTB_BIND_AS("sum_weighted_rows", (multiply_sparse<double, float>), indptr, rows, weights,
                 matrix, out);
}

}  // namespace sgtb
