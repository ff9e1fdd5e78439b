// Fuzzy search of names: an index over words and trigrams of characters.
//
// The tokens of a name are its words and the trigrams of " name ". A token belongs to the bucket of
// its hash; a bucket has a weight, and a list of the names with a token in it, unless these are too
// many. Names that share rare tokens with a query are compared with it in detail.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "check.hpp"
#include "hash.hpp"
#include "interrupt.hpp"

namespace sgtb {

namespace {

using Numbers = Array<const uint32_t>;

// See kb/fuzzy_index.py.
struct NameIndex {
    Bytes text;
    Numbers offsets, starts, postings;
    Bytes weight;
    Floats norm;
};

struct NameTexts {
    Bytes text;
    Numbers offsets;

    int64_t size() const { return offsets.size() - 1; }

    // Checked here, because an index is too large to be checked in every call.
    std::string_view name(int64_t i, const char* path) const {
        check_value(offsets[i + 1], 0, text.size() + 1, path);
        check_value(offsets[i], 0, int64_t{offsets[i + 1]} + 1, path);
        return {reinterpret_cast<const char*>(text.data()) + offsets[i],
                offsets[i + 1] - offsets[i]};
    }
};

struct SearchLimits {
    int64_t postings, compared;
};

struct FoundNames {
    Array<int32_t> n_found;
    Array<int32_t, 2> name;
    Array<float, 3> scores;
};

}  // namespace

SGTB_RECORD(NameIndex, text, offsets, starts, postings, weight, norm)
SGTB_RECORD(NameTexts, text, offsets)
SGTB_RECORD(SearchLimits, postings, compared)
SGTB_RECORD(FoundNames, n_found, name, scores)

namespace {

enum Score { COSINE, WORD_OVERLAP, EDIT_SIMILARITY, SAME_DIGITS, N_SCORES };

constexpr std::size_t COMPARED_CHARACTERS = 64;

bool begins_character(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }

// The distinct tokens of a name, sorted by hash.
struct NameTokens {
    std::vector<uint64_t> words, all;

    void read(std::string_view name) {
        words.clear();
        all.clear();
        padded_.assign(" ").append(name).append(" ");
        starts_.clear();
        std::size_t word = 1;
        for (std::size_t i = 0; i < padded_.size(); ++i) {
            if (begins_character(padded_[i])) starts_.push_back(i);
            if (padded_[i] == ' ' && i > word) add_word(word, i);
            if (padded_[i] == ' ') word = i + 1;
        }
        starts_.push_back(padded_.size());
        sort(words);
        all = words;
        for (std::size_t i = 0; i + 3 < starts_.size(); ++i)
            all.push_back(Hash().add(2).add(part(starts_[i], starts_[i + 3])).value());
        sort(all);
    }

private:
    std::string_view part(std::size_t begin, std::size_t end) const {
        return std::string_view(padded_).substr(begin, end - begin);
    }

    void add_word(std::size_t begin, std::size_t end) {
        words.push_back(Hash().add(1).add(part(begin, end)).value());
    }

    static void sort(std::vector<uint64_t>& hashes) {
        std::sort(hashes.begin(), hashes.end());
        hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
    }

    std::string padded_;
    std::vector<std::size_t> starts_;
};

// From hashes to buckets, of which there is a power of two.
class Buckets {
public:
    Buckets(int64_t n, const char* path) : mask_(static_cast<uint64_t>(n - 1)) {
        if (n < 1 || (n & (n - 1)) != 0) fail(path, "its length is no power of two");
    }
    int64_t of(uint64_t hash) const { return static_cast<int64_t>(hash & mask_); }

private:
    uint64_t mask_;
};

// Count the names with a token in each bucket.
void count_name_tokens(const NameTexts& names, Array<uint32_t> counts) {
    check_at_least(names.offsets.size(), 1, "names.offsets");
    const Buckets buckets(counts.size(), "counts");
    NameTokens tokens;
    Interrupt interrupt;
    for (int64_t i = 0; i < names.size(); ++i) {
        if (i % 4096 == 0) interrupt.check();
        tokens.read(names.name(i, "names.offsets"));
        for (const uint64_t token : tokens.all) ++counts[buckets.of(token)];
    }
}

// List the names of each bucket that has room for them, and compute the norms of names.
void fill_name_index(const NameTexts& names, Bytes weight, Numbers starts,
                     Array<uint32_t> postings, Array<float> norm) {
    check_at_least(names.offsets.size(), 1, "names.offsets");
    check_offsets(starts, weight.size(), postings.size(), "starts");
    check_equal(norm.size(), names.size(), "norm");
    const Buckets buckets(weight.size(), "weight");
    std::vector<uint32_t> next(starts.begin(), starts.end() - 1);
    NameTokens tokens;
    Interrupt interrupt;
    for (int64_t i = 0; i < names.size(); ++i) {
        if (i % 4096 == 0) interrupt.check();
        tokens.read(names.name(i, "names.offsets"));
        int64_t squares = 0;
        for (const uint64_t token : tokens.all) {
            const int64_t bucket = buckets.of(token);
            squares += int64_t{weight[bucket]} * weight[bucket];
            if (next[bucket] < starts[bucket + 1])
                postings[next[bucket]++] = static_cast<uint32_t>(i);
        }
        norm[i] = static_cast<float>(std::sqrt(static_cast<double>(squares)));
    }
    for (int64_t bucket = 0; bucket < weight.size(); ++bucket)
        if (next[bucket] != starts[bucket + 1]) fail("starts", "has room for names that are not there");
}

// The first characters of a name.
std::vector<uint32_t> characters(std::string_view name) {
    std::vector<uint32_t> found;
    for (const char byte : name) {
        if (!begins_character(byte) && !found.empty()) {
            found.back() = (found.back() << 8) | static_cast<uint8_t>(byte);
        } else {
            if (found.size() == COMPARED_CHARACTERS) break;
            found.push_back(static_cast<uint8_t>(byte));
        }
    }
    return found;
}

// The edit distance to a name of at most 64 characters: insertions, deletions, substitutions and
// swaps of neighbours, all rows of the table in the bits of a word (Hyyrö, 2003).
class EditDistance {
public:
    explicit EditDistance(std::vector<uint32_t> name) : size_(name.size()) {
        for (std::size_t i = 0; i < size_; ++i) places_.emplace_back(name[i], uint64_t{1} << i);
        std::sort(places_.begin(), places_.end());
    }

    // 1 − edits / characters of the longer name.
    double similarity(const std::vector<uint32_t>& other) const {
        const std::size_t longest = std::max(size_, other.size());
        if (size_ == 0 || longest == 0) return 0.0;
        return 1.0 - static_cast<double>(edits(other)) / static_cast<double>(longest);
    }

private:
    int64_t edits(const std::vector<uint32_t>& other) const {
        uint64_t rising = ~uint64_t{0}, falling = 0, diagonal = 0, before = 0;
        const uint64_t last = uint64_t{1} << (size_ - 1);
        auto distance = static_cast<int64_t>(size_);
        for (const uint32_t character : other) {
            const uint64_t equal = places(character);
            const uint64_t swapped = ((~diagonal & equal) << 1) & before;
            diagonal = (((equal & rising) + rising) ^ rising) | equal | falling | swapped;
            uint64_t up = falling | ~(diagonal | rising);
            uint64_t down = diagonal & rising;
            distance += (up & last) != 0;
            distance -= (down & last) != 0;
            up = (up << 1) | 1;
            down <<= 1;
            rising = down | ~(diagonal | up);
            falling = up & diagonal;
            before = equal;
        }
        return distance;
    }

    uint64_t places(uint32_t character) const {
        uint64_t bits = 0;
        auto at = std::lower_bound(places_.begin(), places_.end(), std::pair{character, uint64_t{0}});
        for (; at != places_.end() && at->first == character; ++at) bits |= at->second;
        return bits;
    }

    std::size_t size_;
    std::vector<std::pair<uint32_t, uint64_t>> places_;
};

std::string digits(std::string_view name) {
    std::string found;
    for (const char byte : name)
        if (byte >= '0' && byte <= '9') found += byte;
    return found;
}

class NameSearch {
public:
    NameSearch(const NameIndex& index, const SearchLimits& limits)
        : index_(index), names_{index.text, index.offsets}, limits_(limits),
          buckets_(index.weight.size(), "index.weight"), shared_(names_.size()) {}

    // Find the names most similar to a query; return their number.
    int32_t search(std::string_view query, Array<int32_t> name, Array<float, 2> scores) {
        tokens_.read(query);
        collect();
        return compare(query, name, scores);
    }

    // Find the names that contain all words of a query and more; return their number.
    int32_t search_containing(std::string_view query, Array<int32_t> name, Array<float, 2> scores) {
        tokens_.read(query);
        rarest_.clear();
        for (const uint64_t word : tokens_.words) add_list(buckets_.of(word));
        if (rarest_.size() < tokens_.words.size() || rarest_.empty()) return 0;
        const auto [size, bucket] = *std::min_element(rarest_.begin(), rarest_.end());
        const int64_t end = index_.starts[bucket] + std::min(size, limits_.postings);
        touched_.clear();
        for (int64_t at = index_.starts[bucket]; at < end; ++at) {
            const uint32_t i = index_.postings[at];
            check_value(i, 0, names_.size(), "index.postings");
            others_.read(names_.name(i, "index.offsets"));
            std::size_t n_shared = 0;
            each_shared(tokens_.words, others_.words, [&](uint64_t) { ++n_shared; });
            if (n_shared == tokens_.words.size() && others_.words.size() > n_shared)
                touched_.push_back(i);
        }
        return compare(query, name, scores);
    }

private:
    struct Found {
        int32_t name;
        float scores[N_SCORES];

        bool operator<(const Found& other) const {
            if (scores[COSINE] != other.scores[COSINE]) return scores[COSINE] > other.scores[COSINE];
            return name < other.name;
        }
    };

    // Compare the names in touched_ with the query, and return the most similar ones.
    int32_t compare(std::string_view query, Array<int32_t> name, Array<float, 2> scores) {
        double squares = 0;
        for (const uint64_t token : tokens_.all) squares += square(token);
        const double norm = std::sqrt(squares);
        if (!touched_.empty() && squares == 0) fail("index.weight", "tokens of names have no weight");
        const EditDistance distance(characters(query));
        const std::string own_digits = digits(query);
        found_.clear();
        for (const uint32_t i : touched_) {
            Found found{static_cast<int32_t>(i), {}};
            check_norm(i);
            const std::string_view other = names_.name(i, "index.offsets");
            others_.read(other);
            found.scores[COSINE] = static_cast<float>(shared_squares() / (norm * index_.norm[i]));
            found.scores[WORD_OVERLAP] = static_cast<float>(word_overlap());
            found.scores[EDIT_SIMILARITY] = static_cast<float>(distance.similarity(characters(other)));
            found.scores[SAME_DIGITS] = digits(other) == own_digits;
            found_.push_back(found);
        }
        std::sort(found_.begin(), found_.end());
        const auto n = static_cast<int32_t>(
            std::min<int64_t>(name.size(), static_cast<int64_t>(found_.size())));
        for (int32_t i = 0; i < n; ++i) {
            name[i] = found_[i].name;
            std::copy_n(found_[i].scores, N_SCORES, scores.row(i).data());
        }
        return n;
    }

    // A NaN among the scores would break the order of the names that are found.
    void check_norm(uint32_t name) const {
        if (!(index_.norm[name] > 0)) fail("index.norm", "a name with tokens has no norm");
    }

    double square(uint64_t token) const {
        const double weight = index_.weight[buckets_.of(token)];
        return weight * weight;
    }

    void add_list(int64_t bucket) {
        const int64_t end = index_.starts[bucket + 1];
        check_value(end, 0, index_.postings.size() + 1, "index.starts");
        check_value(index_.starts[bucket], 0, end + 1, "index.starts");
        const int64_t size = end - index_.starts[bucket];
        if (size > 0) rarest_.emplace_back(size, bucket);
    }

    // Leave in touched_ the names with the most in common with the query, by its rarest tokens.
    void collect() {
        rarest_.clear();
        for (const uint64_t token : tokens_.all) add_list(buckets_.of(token));
        std::sort(rarest_.begin(), rarest_.end());
        touched_.clear();
        int64_t read = 0;
        for (const auto& [size, bucket] : rarest_) {
            read += size;
            if (read > limits_.postings) break;
            const uint32_t gain = uint32_t{index_.weight[bucket]} * index_.weight[bucket];
            if (gain == 0) fail("index.weight", "a token of names has no weight");
            for (int64_t at = index_.starts[bucket]; at < index_.starts[bucket + 1]; ++at) {
                const uint32_t name = index_.postings[at];
                check_value(name, 0, names_.size(), "index.postings");
                check_norm(name);
                if (shared_[name] == 0) touched_.push_back(name);
                shared_[name] += gain;
            }
        }
        ranked_.clear();
        for (const uint32_t name : touched_)
            ranked_.emplace_back(-static_cast<double>(shared_[name]) / index_.norm[name], name);
        for (const uint32_t name : touched_) shared_[name] = 0;
        const auto most = std::min(ranked_.size(), static_cast<std::size_t>(limits_.compared));
        std::partial_sort(ranked_.begin(), ranked_.begin() + most, ranked_.end());
        touched_.clear();
        for (std::size_t i = 0; i < most; ++i) touched_.push_back(ranked_[i].second);
    }

    // The sum of the squared weights of tokens that query and name share.
    double shared_squares() const {
        double sum = 0;
        each_shared(tokens_.all, others_.all, [&](uint64_t token) { sum += square(token); });
        return sum;
    }

    // The weight of shared words, as a share of that of all words.
    double word_overlap() const {
        double both = 0, all = 0;
        for (const uint64_t word : tokens_.words) all += index_.weight[buckets_.of(word)];
        for (const uint64_t word : others_.words) all += index_.weight[buckets_.of(word)];
        each_shared(tokens_.words, others_.words,
                    [&](uint64_t word) { both += index_.weight[buckets_.of(word)]; });
        return all > both ? both / (all - both) : 1.0;
    }

    template <class Function>
    static void each_shared(const std::vector<uint64_t>& some, const std::vector<uint64_t>& others,
                            Function function) {
        for (std::size_t i = 0, j = 0; i < some.size() && j < others.size();) {
            if (some[i] == others[j]) function(some[i]);
            const bool next = some[i] <= others[j];
            j += others[j] <= some[i];
            i += next;
        }
    }

    const NameIndex& index_;
    NameTexts names_;
    SearchLimits limits_;
    Buckets buckets_;
    std::vector<uint32_t> shared_, touched_;
    std::vector<std::pair<int64_t, int64_t>> rarest_;
    std::vector<std::pair<double, uint32_t>> ranked_;
    std::vector<Found> found_;
    NameTokens tokens_, others_;
};

// Find the names most similar to queries or, if `containing`, those that contain their words.
void search_names(const NameIndex& index, const NameTexts& queries, const SearchLimits& limits,
                  bool containing, const FoundNames& out) {
    check_at_least(index.offsets.size(), 1, "index.offsets");
    check_at_least(queries.offsets.size(), 1, "queries.offsets");
    check_equal(index.starts.size(), index.weight.size() + 1, "index.starts");
    check_equal(index.norm.size(), index.offsets.size() - 1, "index.norm");
    const int64_t n = queries.size();
    check_equal(out.n_found.size(), n, "found.n_found");
    check_equal(out.name.shape(0), n, "found.name");
    check_shape(out.scores, {n, out.name.shape(1), int64_t{N_SCORES}}, "found.scores");
    check_value(limits.compared, 0, int64_t{1} << 30, "limits.compared");
    NameSearch search(index, limits);
    Interrupt interrupt;
    for (int64_t i = 0; i < n; ++i) {
        interrupt.check();
        const auto name = out.name.row(i);
        const auto scores = out.scores.row(i);
        const std::string_view query = queries.name(i, "queries.offsets");
        out.n_found[i] = containing ? search.search_containing(query, name, scores)
                                    : search.search(query, name, scores);
    }
}

}  // namespace

void bind_fuzzy(nb::module_& module) {
    SGTB_BIND(count_name_tokens, names, counts);
    SGTB_BIND(fill_name_index, names, weight, starts, postings, norm);
    SGTB_BIND(search_names, index, queries, limits, containing, found);
}

}  // namespace sgtb
