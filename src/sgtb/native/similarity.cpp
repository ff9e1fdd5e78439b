// Similarity of candidates with the texts around their mentions: shared words, cosines of vectors.
#include <cmath>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "interrupt.hpp"
#include "panels.hpp"
#include "ragged.hpp"

namespace sgtb {

namespace {

// The columns of OVERLAPS and the first of DESCRIPTIONS in features/groups/similarity.py.
enum OverlapColumn {
    REST_WORDS, REST_IN_DOCUMENT, REST_WEIGHT_IN_DOCUMENT, REST_WEIGHT_MISSING,
    REST_WEIGHT_IN_SENTENCE, REST_WEIGHT_IN_HEADLINE, N_OVERLAP_COLUMNS
};
enum LinkedColumn { LINKED_DOCUMENT, LINKED_HEADLINE, LINKED_SENTENCE, N_LINKED_COLUMNS };

// What represents an entity, and the texts it is compared with; in the order of similarity.py.
enum Side { TITLE, DESCRIPTION, KIND, BRACKET, REST, N_SIDES };
enum Text { MENTION, WINDOW, SENTENCE, HEADLINE, DOCUMENT, N_TEXTS };

struct Lists {  // mentions of a document that share name and candidates
    Ints mention_offsets, candidate_offsets, entity;
};
SGTB_RECORD(Lists, mention_offsets, candidate_offsets, entity)

struct Repeats {
    Lists once;
    Ragged<const int64_t> mentions;
};
SGTB_RECORD(Repeats, once, mentions)

struct Contexts {
    SparseRows name_bag, window_bag, sentence_bag, headline_bag, document_bag;
};
SGTB_RECORD(Contexts, name_bag, window_bag, sentence_bag, headline_bag, document_bag)

struct Facts {
    SparseRows title_words, description;
    Ragged<const uint32_t> kind_clues;
    Array<const float, 2> shape, title_vector, description_vector, kind_vector, bracket_vector;
};
SGTB_RECORD(Facts, title_words, description, kind_clues, shape, title_vector, description_vector,
            kind_vector, bracket_vector)

struct Lexicon {
    Floats weight;
    Array<const float, 2> vectors;
};
SGTB_RECORD(Lexicon, weight, vectors)

struct Similarities {
    Array<float, 2> overlaps, cosines, descriptions;
};
SGTB_RECORD(Similarities, overlaps, cosines, descriptions)

// The words of a document, numbered from 1; 0 stands for all others.
class WordNumbers {
public:
    void assign(std::span<const int32_t> words) {
        check_value(words.size(), 0, 1 << 24, "words of a document");
        for (shift_ = 28; (uint64_t(1) << (32 - shift_)) < 4 * words.size();) --shift_;
        slots_.assign(std::size_t(1) << (32 - shift_), Slot{-1, 0});
        filter_.assign(slots_.size() / 4, 0);
        int32_t n = 0;
        for (int32_t word : words) {
            const uint32_t hash = hash_of(word);
            std::size_t at = hash >> shift_;
            while (slots_[at].word >= 0) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = {word, ++n};
            filter_[bit_of(hash) / 64] |= uint64_t(1) << (bit_of(hash) % 64);
        }
    }

    // Whether the document may have a word: false is certain.
    bool may_have(int32_t word) const {
        const uint32_t bit = bit_of(hash_of(word));
        return filter_[bit / 64] >> (bit % 64) & 1;
    }

    int32_t operator[](int32_t word) const {
        std::size_t at = hash_of(word) >> shift_;
        while (slots_[at].word != word && slots_[at].word >= 0) at = (at + 1) & (slots_.size() - 1);
        return slots_[at].number;  // 0 in an empty slot
    }

private:
    struct Slot {
        int32_t word, number;
    };

    static uint32_t hash_of(int32_t word) { return static_cast<uint32_t>(word) * 0x9E3779B1u; }
    uint32_t bit_of(uint32_t hash) const { return hash >> (shift_ - 4); }  // 16 bits per slot

    std::vector<Slot> slots_;
    std::vector<uint64_t> filter_;
    int shift_ = 28;
};

// Words of candidates that the document has: their numbers and what they count.
struct Matches {
    std::vector<int64_t> ends;
    std::vector<int32_t> words;
    std::vector<float> values;

    void clear() {
        ends.assign(1, 0);
        words.clear();
        values.clear();
    }
    void add(int32_t word, float value) {
        words.push_back(word);
        values.push_back(value);
    }
    int64_t close() {  // end a candidate; return how many it has
        ends.push_back(static_cast<int64_t>(words.size()));
        return ends.back() - ends[ends.size() - 2];
    }
};

class Comparison {
public:
    Comparison(const Contexts& contexts, const Facts& facts, const Lexicon& lexicon,
               Array<const int64_t, 2> pairs, const Similarities& out)
        : contexts_(contexts), facts_(facts), lexicon_(lexicon), pairs_(pairs), out_(out),
          width_(lexicon.vectors.shape(1)), sum_(width_), shared_(2 * width_),
          lanes_(pairs.shape(0)) {}

    void set_document(int64_t d) {
        const auto words = row(contexts_.document_bag, d);
        numbers_.assign(words);
        for (auto* values : {&in_document_, &in_headline_, &in_sentence_, &in_name_})
            values->assign(words.size() + 1, 0.0f);
        put(contexts_.document_bag, d, in_document_);
        put(contexts_.headline_bag, d, in_headline_);
        unit_vector(contexts_.headline_bag, d, shared_.data());
        unit_vector(contexts_.document_bag, d, shared_.data() + width_);
    }

    // Compare the candidates of one list for all mentions that have it.
    void compare(std::span<const int32_t> entities, std::span<const int64_t> mentions,
                 Ints candidate_offsets) {
        const int64_t n = static_cast<int64_t>(entities.size()), first = mentions[0];
        const int64_t row = candidate_offsets[first];
        in_titles_.clear();
        in_descriptions_.clear();
        sides_.clear();
        place_.assign(n, {});
        rest_words_.clear();
        rest_ends_.assign(1, 0);
        put(contexts_.name_bag, first, in_name_);
        for (int64_t c = 0; c < n; ++c) {
            const int64_t e = entities[c];
            prefetch_words(entities[std::min(c + 1, n - 1)]);
            compare_title(e, row + c);
            compare_description(e, row + c);
            add_side(c, TITLE, facts_.title_words.indptr, e, facts_.title_vector);
            add_side(c, DESCRIPTION, facts_.description.indptr, e, facts_.description_vector);
            add_side(c, KIND, facts_.kind_clues.indptr, e, facts_.kind_vector);
            if (facts_.shape(e, 0) != 0.0f)
                add_side(c, BRACKET, facts_.bracket_vector.row(e).data());
        }
        remove(contexts_.name_bag, first, in_name_);
        add_rests(n);
        multiply(mentions);
        for (int64_t i = 0; i < static_cast<int64_t>(mentions.size()); ++i) {
            const int64_t m = mentions[i];
            put(contexts_.sentence_bag, m, in_sentence_);
            find_lanes(i);
            for (int64_t c = 0; c < n; ++c) write(c, row + c, candidate_offsets[m] + c);
            remove(contexts_.sentence_bag, m, in_sentence_);
        }
    }

private:
    using Values = std::vector<float>;
    static constexpr int64_t N_SHARED = 3;  // texts that the mentions of a list share

    static std::span<const int32_t> row(const SparseRows& bag, int64_t r) {
        return {bag.indices.data() + bag.indptr[r], bag.indices.data() + bag.indptr[r + 1]};
    }

    template <class T>
    static void prefetch(const T* from, int64_t n) {
#if defined(__GNUC__)
        for (int64_t k = 0; k < n; k += 64 / sizeof(T)) __builtin_prefetch(from + k);
#else
        (void)from, (void)n;
#endif
    }

    void prefetch_words(int64_t e) const {
        const auto words = row(facts_.description, e);
        prefetch(words.data(), words.size());
        prefetch(row(facts_.title_words, e).data(), 1);
        prefetch(facts_.shape.row(e).data(), 1);
    }

    void put(const SparseRows& bag, int64_t r, Values& values) {
        for (int64_t i = bag.indptr[r]; i < bag.indptr[r + 1]; ++i)
            values[numbers_[bag.indices[i]]] = bag.data[i];
        values[0] = 0.0f;
    }

    void remove(const SparseRows& bag, int64_t r, Values& values) {
        for (int32_t word : row(bag, r)) values[numbers_[word]] = 0.0f;
    }

    // The sum of word vectors, scaled to length one.
    void unit_vector(const SparseRows& bag, int64_t r, float* __restrict out) {
        double* __restrict const sum = sum_.data();
        std::fill(sum_.begin(), sum_.end(), 0.0);
        for (int32_t word : row(bag, r)) prefetch(lexicon_.vectors.row(word).data(), width_);
        for (int64_t i = bag.indptr[r]; i < bag.indptr[r + 1]; ++i) {
            const float* __restrict const vector =
                lexicon_.vectors.row(bag.indices[i]).data();
            const double value = bag.data[i];
            for (int64_t k = 0; k < width_; ++k) sum[k] += value * static_cast<double>(vector[k]);
        }
        const double length = std::max(std::sqrt(square()), 1e-12);
        for (int64_t k = 0; k < width_; ++k) out[k] = static_cast<float>(sum[k] / length);
    }

    // The sum of squares, in the order of numpy.einsum, which makes the vectors of entities.
    double square() const {
        double even = 0.0, odd = 0.0;
        auto add = [&](int64_t k) {
            even += sum_[k] * sum_[k];
            odd += sum_[k + 1] * sum_[k + 1];
        };
        int64_t k = 0;
        for (; k + 8 <= width_; k += 8)
            for (int64_t pair = 6; pair >= 0; pair -= 2) add(k + pair);
        for (; k + 2 <= width_; k += 2) add(k);
        if (k < width_) even += sum_[k] * sum_[k];
        return even + odd;
    }

    // Compare the words of a title that the name lacks, one by one.
    void compare_title(int64_t e, int64_t row) {
        int64_t n = 0;
        float found = 0.0f, missing = 0.0f, in_headline = 0.0f;
        for (int32_t word : Comparison::row(facts_.title_words, e)) {
            const int32_t number = numbers_[word];
            if (in_name_[number] != 0.0f) continue;
            ++n;
            rest_words_.push_back(word);
            prefetch(lexicon_.vectors.row(word).data(), width_);
            const float w = lexicon_.weight[word];
            if (in_document_[number] != 0.0f) {
                in_titles_.add(number, w);
                found += w;
            } else {
                missing += w;
            }
            if (in_headline_[number] != 0.0f) in_headline += w;
        }
        rest_ends_.push_back(static_cast<int64_t>(rest_words_.size()));
        const int64_t n_found = in_titles_.close();
        float* const out = &out_.overlaps(row, 0);
        out[REST_WORDS] = static_cast<float>(n);
        out[REST_IN_DOCUMENT] =
            n ? static_cast<float>(static_cast<double>(n_found) / static_cast<double>(n)) : 0;
        out[REST_WEIGHT_IN_DOCUMENT] = found;
        out[REST_WEIGHT_MISSING] = missing;
        out[REST_WEIGHT_IN_HEADLINE] = in_headline;
    }

    void compare_description(int64_t e, int64_t row) {
        const int32_t* const words = facts_.description.indices.data();
        const float* const values = facts_.description.data.data();
        const int64_t first = facts_.description.indptr[e];
        const int64_t last = facts_.description.indptr[e + 1];
        if (static_cast<int64_t>(likely_.size()) < last - first) likely_.resize(last - first);
        int64_t n = 0;
        for (int64_t i = first; i < last; ++i) {  // without a branch: few words pass
            likely_[n] = i;
            n += numbers_.may_have(words[i]);
        }
        float in_document = 0.0f, in_headline = 0.0f;
        for (int64_t k = 0; k < n; ++k) {
            const int64_t i = likely_[k];
            const int32_t number = numbers_[words[i]];
            if (in_document_[number] == 0.0f) continue;
            in_descriptions_.add(number, values[i]);
            in_document += values[i] * in_document_[number];
            in_headline += values[i] * in_headline_[number];
        }
        in_descriptions_.close();
        out_.descriptions(row, LINKED_DOCUMENT) = in_document;
        out_.descriptions(row, LINKED_HEADLINE) = in_headline;
    }

    // Sum up the vectors of the words that names lack, and scale the sums to length one.
    void add_rests(int64_t n) {
        rests_.resize(n * width_);
        for (int64_t c = 0; c < n; ++c) {
            if (rest_ends_[c] == rest_ends_[c + 1]) continue;
            float* __restrict const rest = rests_.data() + c * width_;
            std::fill_n(rest, width_, 0.0f);
            for (int64_t i = rest_ends_[c]; i < rest_ends_[c + 1]; ++i) {
                const float* __restrict const vector = lexicon_.vectors.row(rest_words_[i]).data();
                const float w = lexicon_.weight[rest_words_[i]];
                for (int64_t k = 0; k < width_; ++k) rest[k] += w * vector[k];
            }
            float square = 0.0f;
            for (int64_t k = 0; k < width_; ++k) square += rest[k] * rest[k];
            const float scale = 1.0f / std::sqrt(std::max(square, 1e-12f));
            for (int64_t k = 0; k < width_; ++k) rest[k] *= scale;
            add_side(c, REST, rest);
        }
    }

    void add_side(int64_t c, Side side, const float* vector) {
        prefetch(vector, width_);
        sides_.push_back(vector);
        place_[c][side] = static_cast<int64_t>(sides_.size());
    }

    // Add a side of an entity unless it has no words.
    void add_side(int64_t c, Side side, Longs offsets, int64_t e, Array<const float, 2> vectors) {
        if (offsets[e] < offsets[e + 1]) add_side(c, side, vectors.row(e).data());
    }

    // Multiply all sides with all texts; the first row of products is zero, for missing sides.
    void multiply(std::span<const int64_t> mentions) {
        const int64_t n_mentions = static_cast<int64_t>(mentions.size());
        const int64_t n_texts = N_SHARED + 2 * n_mentions;
        own_.resize((1 + 2 * n_mentions) * width_);
        unit_vector(contexts_.name_bag, mentions[0], own_.data());
        for (int64_t i = 0; i < n_mentions; ++i) {
            float* const to = own_.data() + (1 + 2 * i) * width_;
            unit_vector(contexts_.window_bag, mentions[i], to);
            unit_vector(contexts_.sentence_bag, mentions[i], to + width_);
        }
        panels_.fill(n_texts, width_, [&](int64_t t) {
            if (t == 0) return own_.data();
            return t < N_SHARED ? shared_.data() + (t - 1) * width_
                                : own_.data() + (t - N_SHARED + 1) * width_;
        });
        const int64_t n_panels = (n_texts + Panels::WIDTH - 1) / Panels::WIDTH;
        const int64_t n_sides = static_cast<int64_t>(sides_.size());
        stride_ = n_panels * Panels::WIDTH;
        products_.resize((n_sides + 1) * stride_);
        std::fill_n(products_.begin(), stride_, 0.0f);
        panels_.multiply(n_sides, sides_.data(), 0, n_panels,
                         products_.data() + stride_, stride_);
    }

    // Where the products of all pairs are found for the i-th mention.
    void find_lanes(int64_t i) {
        const int64_t lanes[N_TEXTS] = {0, N_SHARED + 2 * i, N_SHARED + 2 * i + 1, 1, 2};
        for (int64_t k = 0; k < pairs_.shape(0); ++k) lanes_[k] = lanes[pairs_(k, 1)];
    }

    // Write the row of candidate c for a mention; `shared` is its row for the first one.
    void write(int64_t c, int64_t shared, int64_t to) {
        float *const overlaps = &out_.overlaps(to, 0), *const described = &out_.descriptions(to, 0);
        if (to != shared) {
            std::copy_n(&out_.overlaps(shared, 0), N_OVERLAP_COLUMNS, overlaps);
            std::copy_n(&out_.descriptions(shared, 0), LINKED_SENTENCE, described);
        }
        float in_title = 0.0f, in_description = 0.0f;
        for (int64_t k = in_titles_.ends[c]; k < in_titles_.ends[c + 1]; ++k)
            if (in_sentence_[in_titles_.words[k]] != 0.0f) in_title += in_titles_.values[k];
        for (int64_t k = in_descriptions_.ends[c]; k < in_descriptions_.ends[c + 1]; ++k) {
            const float there = in_sentence_[in_descriptions_.words[k]];
            if (there != 0.0f) in_description += in_descriptions_.values[k] * there;
        }
        overlaps[REST_WEIGHT_IN_SENTENCE] = in_title;
        described[LINKED_SENTENCE] = in_description;
        auto product = [&](int64_t k) {
            return products_[place_[c][pairs_(k, 0)] * stride_ + lanes_[k]];
        };
        const int64_t n_cosines = out_.cosines.shape(1), n_pairs = pairs_.shape(0);
        float* const cosines = out_.cosines.row(to).data();
        for (int64_t k = 0; k < n_cosines; ++k) cosines[k] = product(k);
        for (int64_t k = n_cosines; k < n_pairs; ++k) described[N_LINKED_COLUMNS + k - n_cosines] = product(k);
    }

    const Contexts& contexts_;
    const Facts& facts_;
    const Lexicon& lexicon_;
    Array<const int64_t, 2> pairs_;  // a side and a text for every cosine
    const Similarities& out_;
    const int64_t width_;
    std::vector<double> sum_;
    Values shared_, own_, rests_, products_;  // vectors of texts, of titles' rests
    WordNumbers numbers_;
    Values in_document_, in_headline_, in_sentence_, in_name_;  // by number of a word
    Matches in_titles_, in_descriptions_;
    std::vector<int64_t> likely_, rest_ends_;
    std::vector<int32_t> rest_words_;
    std::vector<const float*> sides_;
    std::vector<int64_t> lanes_;  // of pairs, among the products
    std::vector<std::array<int64_t, N_SIDES>> place_;  // row of products; 0: no such side
    Panels panels_;
    int64_t stride_ = 0;
};

// Fill the tables of all candidates. Pairs of a side and a text are what cosines are of: those of
// out.cosines, then those of out.descriptions from the fourth column on.
void compare_texts(Ints candidate_offsets, const Repeats& repeats, const Contexts& contexts,
                   const Facts& facts, const Lexicon& lexicon, Array<const int64_t, 2> pairs,
                   const Similarities& out) {
    const Lists& once = repeats.once;
    const int64_t n_mentions = candidate_offsets.size() - 1;
    const int64_t n_documents = once.mention_offsets.size() - 1;
    const int64_t n_lists = once.candidate_offsets.size() - 1;
    const int64_t n_entities = facts.shape.shape(0), n_words = lexicon.weight.size();
    check_offsets(candidate_offsets, n_mentions, out.overlaps.shape(0), "candidate_offsets");
    check_offsets(once.mention_offsets, n_documents, n_lists, "repeats.once.mention_offsets");
    check_offsets(once.candidate_offsets, n_lists, once.entity.size(),
                  "repeats.once.candidate_offsets");
    check_range(once.entity, 0, n_entities, "repeats.once.entity");
    check_ragged(repeats.mentions, n_lists, "repeats.mentions");
    check_range(repeats.mentions.data, 0, n_mentions, "repeats.mentions");
    for (int64_t r = 0; r < n_lists; ++r) {
        check_at_least(repeats.mentions[r].size(), 1, "repeats.mentions");
        for (int64_t m : repeats.mentions[r])
            check_equal(candidate_offsets[m + 1] - candidate_offsets[m],
                        once.candidate_offsets[r + 1] - once.candidate_offsets[r],
                        "repeats.mentions");
    }
    check_sparse(contexts.name_bag, n_mentions, n_words, "contexts.name_bag");
    check_sparse(contexts.window_bag, n_mentions, n_words, "contexts.window_bag");
    check_sparse(contexts.sentence_bag, n_mentions, n_words, "contexts.sentence_bag");
    check_sparse(contexts.headline_bag, n_documents, n_words, "contexts.headline_bag");
    check_sparse(contexts.document_bag, n_documents, n_words, "contexts.document_bag");
    check_sparse(facts.title_words, n_entities, n_words, "facts.title_words");
    check_sparse(facts.description, n_entities, n_words, "facts.description");
    check_ragged(facts.kind_clues, n_entities, "facts.kind_clues");
    check_at_least(facts.shape.shape(1), 1, "facts.shape");
    check_equal(lexicon.vectors.shape(0), n_words, "lexicon.vectors");
    for (const auto& vectors : {facts.title_vector, facts.description_vector, facts.kind_vector,
                                facts.bracket_vector}) {
        check_equal(vectors.shape(0), n_entities, "facts.*_vector");
        check_equal(vectors.shape(1), lexicon.vectors.shape(1), "facts.*_vector");
    }
    for (const auto& table : {out.overlaps, out.cosines, out.descriptions})
        check_equal(table.shape(0), out.overlaps.shape(0), "out");
    check_equal(out.overlaps.shape(1), N_OVERLAP_COLUMNS, "out.overlaps");
    check_equal(out.cosines.shape(1) + out.descriptions.shape(1) - N_LINKED_COLUMNS,
                pairs.shape(0), "pairs");
    check_at_least(out.descriptions.shape(1), N_LINKED_COLUMNS, "out.descriptions");
    check_equal(pairs.shape(1), 2, "pairs");
    for (int64_t k = 0; k < pairs.shape(0); ++k) {
        check_value(pairs(k, 0), 0, N_SIDES, "pairs");
        check_value(pairs(k, 1), 0, N_TEXTS, "pairs");
    }
    Comparison comparison(contexts, facts, lexicon, pairs, out);
    Interrupt interrupt;
    for (int64_t d = 0; d < n_documents; ++d) {
        interrupt.check();
        if (once.mention_offsets[d] == once.mention_offsets[d + 1]) continue;
        comparison.set_document(d);
        for (int64_t r = once.mention_offsets[d]; r < once.mention_offsets[d + 1]; ++r) {
            const int64_t first = once.candidate_offsets[r];
            const std::size_t size = once.candidate_offsets[r + 1] - first;
            if (size) comparison.compare({once.entity.data() + first, size}, repeats.mentions[r],
                                         candidate_offsets);
        }
    }
}

}  // namespace

void bind_similarity(nb::module_& module) {
    SGTB_BIND(compare_texts, candidate_offsets, repeats, contexts, facts, lexicon, pairs, out);
}

}  // namespace sgtb
