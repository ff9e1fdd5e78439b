// Fuzzy search of names: an index over words and trigrams of characters.
//
// The tokens of a name are its words and the trigrams of " name ". A token belongs to the bucket of
// its hash; a bucket has a weight, and a list of the names with a token in it, unless these are too
// many. Names that share rare tokens with a query are compared with it in detail.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
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
SGTB_RECORD(NameIndex, text, offsets, starts, postings, weight, norm)

struct NameTexts {
    Bytes text;
    Numbers offsets;

    int64_t size() const {
        check_at_least(offsets.size(), 1, "offsets");
        return offsets.size() - 1;
    }

    // Checked here, because an index is too large to be checked in every call.
    std::string_view name(int64_t i) const {
        check_value(offsets[i + 1], 0, text.size() + 1, "offsets");
        check_value(offsets[i], 0, int64_t{offsets[i + 1]} + 1, "offsets");
        return {reinterpret_cast<const char*>(text.data()) + offsets[i],
                offsets[i + 1] - offsets[i]};
    }
};
SGTB_RECORD(NameTexts, text, offsets)

struct FoundNames {
    Array<int32_t> n_found;
    Array<int32_t, 2> name;
    Array<float, 3> scores;
};
SGTB_RECORD(FoundNames, n_found, name, scores)

enum Score { COSINE, WORD_OVERLAP, EDIT_SIMILARITY, SAME_DIGITS, N_SCORES };

constexpr std::size_t COMPARED_CHARACTERS = 64;

bool begins_character(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }

// The distinct tokens of a name, sorted by hash.
struct NameTokens {
    std::vector<uint64_t> words, all;

    void read(std::string_view name) {
        read_words(name);
        all = words;
        each_trigram(name, [&](uint64_t token) { all.push_back(token); });
        sort(all);
    }

    void read_words(std::string_view name) {
        words.clear();
        each_word(name, [&](uint64_t token) { words.push_back(token); });
        sort(words);
    }

    // Call a function with every word, in the order of the name.
    template <class Function>
    static void each_word(std::string_view name, Function function) {
        for (std::size_t begin = 0; begin < name.size();) {
            const std::size_t end = std::min(name.find(' ', begin), name.size());
            if (end > begin) function(Hash().add(1).add(name.substr(begin, end - begin)).value());
            begin = end + 1;
        }
    }

    template <class Function>
    void each_trigram(std::string_view name, Function function) {
        padded_.assign(" ").append(name).append(" ");
        starts_.clear();
        for (std::size_t i = 0; i < padded_.size(); ++i)
            if (begins_character(padded_[i])) starts_.push_back(i);
        starts_.push_back(padded_.size());
        for (std::size_t i = 0; i + 3 < starts_.size(); ++i) {
            const std::string_view part(&padded_[starts_[i]], starts_[i + 3] - starts_[i]);
            function(Hash().add(2).add(part).value());
        }
    }

private:
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
    Buckets(int64_t n, const char* array) : mask_(static_cast<uint64_t>(n - 1)) {
        if (n < 1 || (n & (n - 1)) != 0) fail(array, "its length is no power of two");
    }
    int64_t of(uint64_t hash) const { return static_cast<int64_t>(hash & mask_); }

private:
    uint64_t mask_;
};

// Call a function with the names from first to last - 1 and their tokens.
template <class Function>
void each_name(const NameTexts& names, int64_t first, int64_t last, Function function) {
    check_value(first, 0, last + 1, "first");
    check_value(last, 0, names.size() + 1, "last");
    NameTokens tokens;
    Interrupt interrupt;
    for (int64_t i = first; i < last; ++i) {
        if (i % 4096 == 0) interrupt.check();
        tokens.read(names.name(i));
        function(i, tokens.all);
    }
}

// Count the names from first to last - 1 with a token in each bucket.
void count_name_tokens(const NameTexts& names, int64_t first, int64_t last,
                       Array<uint32_t> counts) {
    const Buckets buckets(counts.size(), "counts");
    each_name(names, first, last, [&](int64_t, const std::vector<uint64_t>& tokens) {
        for (const uint64_t token : tokens) ++counts[buckets.of(token)];
    });
}

// List the names from first to last - 1 in each bucket that has room for them, from the places
// `next` on, which moves behind them, and compute the norms of names.
void fill_name_index(const NameTexts& names, int64_t first, int64_t last, Bytes weight,
                     Numbers starts, Array<uint32_t> next, Array<uint32_t> postings,
                     Array<float> norm) {
    check_offsets(starts, weight.size(), postings.size(), "starts");
    check_equal(next.size(), weight.size(), "next");
    check_equal(norm.size(), names.size(), "norm");
    const Buckets buckets(weight.size(), "weight");
    each_name(names, first, last, [&](int64_t i, const std::vector<uint64_t>& tokens) {
        int64_t squares = 0;
        for (const uint64_t token : tokens) {
            const int64_t bucket = buckets.of(token);
            squares += int64_t{weight[bucket]} * weight[bucket];
            if (next[bucket] < starts[bucket + 1])
                postings[next[bucket]++] = static_cast<uint32_t>(i);
        }
        norm[i] = static_cast<float>(std::sqrt(static_cast<double>(squares)));
    });
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

// The tokens of a query with the squares of their weights: a table with open addressing.
class QueryTokens {
public:
    void assign(const std::vector<uint64_t>& tokens, const Bytes& weight, const Buckets& buckets) {
        slots_.assign(std::bit_ceil(4 * tokens.size() + 4), Slot{});
        squares = 0;
        for (const uint64_t token : tokens) {
            const uint64_t value = weight[buckets.of(token)];
            *find(token) = Slot{token, value * value, 0, true};
            squares += value * value;
        }
        name_ = 0;
    }

    void begin_name() { ++name_; }

    // The square of a token of the query that has not been seen in this name; else 0.
    uint64_t take(uint64_t token) {
        Slot* slot = find(token);
        if (!slot->used || slot->name == name_) return 0;
        slot->name = name_;
        return slot->square;
    }

    uint64_t squares = 0;

private:
    struct Slot {
        uint64_t token = 0, square = 0;
        uint32_t name = 0;
        bool used = false;
    };

    Slot* find(uint64_t token) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = token & mask;
        while (slots_[at].used && slots_[at].token != token) at = (at + 1) & mask;
        return &slots_[at];
    }

    std::vector<Slot> slots_;
    uint32_t name_ = 0;
};

class NameSearch {
public:
    // max_read      postings read, those of the rarest tokens first
    // max_compared  names compared in detail
    NameSearch(const NameIndex& index, int64_t max_read, int64_t max_compared)
        : index_(index), names_{index.text, index.offsets}, max_read_(max_read),
          max_compared_(max_compared), buckets_(index.weight.size(), "weight") {}

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
        std::sort(rarest_.begin(), rarest_.end());
        touched_ = list(rarest_.front().second);
        for (std::size_t i = 1; i < rarest_.size(); ++i) {
            const auto other = list(rarest_[i].second);
            std::vector<uint32_t> both;
            std::set_intersection(touched_.begin(), touched_.end(), other.begin(), other.end(),
                                  std::back_inserter(both));
            touched_.swap(both);
        }
        // The fewer other tokens a name has, the more similar it is. Names are read in this order,
        // as most have the words; others share a bucket with one.
        ranked_.clear();
        for (const uint32_t i : touched_) ranked_.emplace_back(norm(i), i);
        touched_.clear();
        std::make_heap(ranked_.begin(), ranked_.end(), std::greater<>());
        while (!ranked_.empty() && static_cast<int64_t>(touched_.size()) < max_compared_) {
            std::pop_heap(ranked_.begin(), ranked_.end(), std::greater<>());
            const uint32_t i = ranked_.back().second;
            ranked_.pop_back();
            others_.read_words(names_.name(i));
            std::size_t n_shared = 0;
            each_shared(tokens_.words, others_.words, [&](uint64_t) { ++n_shared; });
            if (n_shared == tokens_.words.size() && others_.words.size() > n_shared)
                touched_.push_back(i);
        }
        return compare(query, name, scores);
    }

private:
    static constexpr int64_t BLOCK = 1 << 15;

    // The rest of a list of postings, and the squared weight of its token.
    struct List {
        int64_t at, end;
        uint32_t gain;
    };

    // Compare the names in touched_ with the query, and return the most similar ones.
    int32_t compare(std::string_view query, Array<int32_t> name, Array<float, 2> scores) {
        query_.assign(tokens_.all, index_.weight, buckets_);
        if (!touched_.empty() && query_.squares == 0) fail("weight", "a token of names has no weight");
        const double own_norm = std::sqrt(static_cast<double>(query_.squares));
        ranked_.clear();
        for (const uint32_t i : touched_) {
            query_.begin_name();
            uint64_t shared = 0;
            const auto take = [&](uint64_t token) { shared += query_.take(token); };
            NameTokens::each_word(names_.name(i), take);
            others_.each_trigram(names_.name(i), take);
            const auto cosine = static_cast<float>(static_cast<double>(shared) / (own_norm * norm(i)));
            ranked_.emplace_back(-cosine, i);
        }
        keep_first(name.size());
        const EditDistance distance(characters(query));
        const std::string own_digits = digits(query);
        for (std::size_t r = 0; r < ranked_.size(); ++r) {
            const std::string_view other = names_.name(ranked_[r].second);
            others_.read_words(other);
            name[r] = static_cast<int32_t>(ranked_[r].second);
            const auto found = scores.row(r);
            found[COSINE] = static_cast<float>(-ranked_[r].first);
            found[WORD_OVERLAP] = static_cast<float>(word_overlap());
            found[EDIT_SIMILARITY] = static_cast<float>(distance.similarity(characters(other)));
            found[SAME_DIGITS] = digits(other) == own_digits;
        }
        return static_cast<int32_t>(ranked_.size());
    }

    // The norm of a name. A NaN would break the order of the names that are found.
    double norm(uint32_t name) const {
        const float found = index_.norm[name];
        if (!(found > 0)) fail("norm", "a name with tokens has no norm");
        return found;
    }

    // Keep the n first of ranked_, in their order.
    void keep_first(int64_t n) {
        const auto kept = std::min(ranked_.size(), static_cast<std::size_t>(n));
        std::partial_sort(ranked_.begin(), ranked_.begin() + kept, ranked_.end());
        ranked_.resize(kept);
    }

    // The names of a bucket, each once: several of its tokens may be in the bucket.
    std::vector<uint32_t> list(int64_t bucket) const {
        std::vector<uint32_t> found(index_.postings.begin() + index_.starts[bucket],
                                    index_.postings.begin() + index_.starts[bucket + 1]);
        for (const uint32_t name : found) check_value(name, 0, names_.size(), "postings");
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    void add_list(int64_t bucket) {
        const int64_t end = index_.starts[bucket + 1];
        check_value(end, 0, index_.postings.size() + 1, "starts");
        check_value(index_.starts[bucket], 0, end + 1, "starts");
        const int64_t size = end - index_.starts[bucket];
        if (size > 0) rarest_.emplace_back(size, bucket);
    }

    // Leave in touched_ the names with the most in common with the query, by its rarest tokens.
    //
    // The lists ascend. They are read by blocks of names, whose sums stay in the processor's cache.
    void collect() {
        rarest_.clear();
        for (const uint64_t token : tokens_.all) add_list(buckets_.of(token));
        std::sort(rarest_.begin(), rarest_.end());
        lists_.clear();
        int64_t read = 0;
        for (const auto& [size, bucket] : rarest_) {
            read += size;
            if (read > max_read_) break;
            const uint32_t gain = uint32_t{index_.weight[bucket]} * index_.weight[bucket];
            if (gain == 0) fail("weight", "a token of names has no weight");
            lists_.push_back({index_.starts[bucket], index_.starts[bucket + 1], gain});
        }
        ranked_.clear();
        least_ = 0;
        for (int64_t begin = 0; begin < names_.size(); begin += BLOCK) {
            touched_.clear();
            for (List& list : lists_) add_block(list, begin, std::min(begin + BLOCK, names_.size()));
            for (const uint32_t place : touched_) {
                rank(static_cast<uint32_t>(begin + place), sums_[place]);
                sums_[place] = 0;
            }
        }
        for (const List& list : lists_)
            if (list.at < list.end) fail("postings", "there is no such name");
        keep_first(max_compared_);
        touched_.clear();
        for (const auto& [_, name] : ranked_) touched_.push_back(name);
    }

    // Add the weight of a token to its names in a block.
    void add_block(List& list, int64_t begin, int64_t end) {
        for (; list.at < list.end && index_.postings[list.at] < end; ++list.at) {
            const int64_t place = index_.postings[list.at] - begin;
            if (place < 0) fail("postings", "is not ascending");
            if (sums_[place] == 0) touched_.push_back(static_cast<uint32_t>(place));
            sums_[place] += list.gain;
        }
    }

    // Add a name to ranked_, unless enough others have more in common with the query.
    void rank(uint32_t name, uint32_t sum) {
        if (sum < least_ * norm(name)) return;
        ranked_.emplace_back(-static_cast<double>(sum) / norm(name), name);
        const auto kept = static_cast<std::size_t>(max_compared_);
        if (ranked_.size() <= 4 * kept + 64) return;
        std::nth_element(ranked_.begin(), ranked_.begin() + kept, ranked_.end());
        least_ = -ranked_[kept].first * (1 - 1e-9);  // not those that are equal but for rounding
        ranked_.resize(kept);
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
    int64_t max_read_, max_compared_;
    Buckets buckets_;
    std::vector<uint32_t> touched_, sums_ = std::vector<uint32_t>(BLOCK);
    std::vector<List> lists_;
    double least_ = 0;
    std::vector<std::pair<int64_t, int64_t>> rarest_;
    std::vector<std::pair<double, uint32_t>> ranked_;
    NameTokens tokens_, others_;
    QueryTokens query_;
};

// Find the names most similar to queries or, if `containing`, those that contain their words.
void search_names(const NameIndex& index, const NameTexts& queries, int64_t max_read,
                  int64_t max_compared, bool containing, const FoundNames& out) {
    check_equal(index.starts.size(), index.weight.size() + 1, "starts");
    check_equal(index.norm.size(), NameTexts{index.text, index.offsets}.size(), "norm");
    const int64_t n = queries.size();
    check_equal(out.n_found.size(), n, "n_found");
    check_equal(out.name.shape(0), n, "name");
    check_shape(out.scores, {n, out.name.shape(1), int64_t{N_SCORES}}, "scores");
    check_value(max_compared, 0, int64_t{1} << 30, "max_compared");
    NameSearch search(index, max_read, max_compared);
    Interrupt interrupt;
    for (int64_t i = 0; i < n; ++i) {
        interrupt.check();
        const auto name = out.name.row(i);
        const auto scores = out.scores.row(i);
        out.n_found[i] = containing ? search.search_containing(queries.name(i), name, scores)
                                    : search.search(queries.name(i), name, scores);
    }
}

}  // namespace

void bind_fuzzy(nb::module_& module) {
    SGTB_BIND(count_name_tokens, names, first, last, counts);
    SGTB_BIND(fill_name_index, names, first, last, weight, starts, next, postings, norm);
    SGTB_BIND(search_names, index, queries, max_read, max_compared, containing, found);
}

}  // namespace sgtb
