// Contexts of mentions: where they stand, what is beside them, word bags and hashed clues.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "interrupt.hpp"
#include "ragged.hpp"

namespace sgtb {

namespace {

using Hashes = Array<const uint32_t>;

struct TokenKinds {
    Ragged<const uint8_t> near;
};

struct TokenTable {  // tokens of all documents; one more stands for what is outside of a sentence
    Ints kind;
    TokenKinds kinds;
    Bytes marks;
    Longs word_offsets, token_offsets, sentence_offsets;
    Array<const int64_t, 2> sentences;

    int64_t n_documents() const { return token_offsets.size() - 1; }
    int64_t n_words(int64_t first, int64_t stop) const {
        return word_offsets[stop] - word_offsets[first];
    }
};

struct Mentions {
    Longs first, stop;  // tokens, counted in the document
    Ints offsets;       // per document
};

struct Bits {
    int64_t number, capital, date, opening, closing, preposition, versus;
};

struct MentionNames {
    Array<const bool> is_upper;
    Longs length, same_name;
    Hashes ending, shape;
    Ragged<const uint32_t> words;
};

struct Topics {  // of documents
    Array<const uint32_t, 2> clues;
    Array<const bool> given;
};

struct TextWords {
    Longs place;  // of each word of the texts among the distinct ones
    Ints number;
    Floats weight;
    Array<const bool> is_digit, is_stop;
    Hashes sentence_clue, headline_clue, document_clue;
};

struct ContextSettings {
    Bits bit;
    double common, rare;  // clues of documents are words whose weight lies between these,
    int64_t most_words;   // so many at most
    Floats damping;       // of the n-th occurrence of a word in a bag
};

using Bag = SparseMatrix<int32_t, float>;
using ClueLists = Ragged<uint32_t>;

struct ContextTables {
    Array<float, 2> place;
    ClueLists place_clues, sentence_clues, tag_clues, document_clues;
    Bag name_bag, sentence_bag, window_bag, document_bag, headline_bag;
};

}  // namespace

SGTB_RECORD(TokenKinds, near)
SGTB_RECORD(TokenTable, kind, kinds, marks, word_offsets, token_offsets, sentence_offsets,
            sentences)
SGTB_RECORD(Mentions, first, stop, offsets)
SGTB_RECORD(Bits, number, capital, date, opening, closing, preposition, versus)
SGTB_RECORD(MentionNames, is_upper, length, same_name, ending, shape, words)
SGTB_RECORD(Topics, clues, given)
SGTB_RECORD(TextWords, place, number, weight, is_digit, is_stop, sentence_clue, headline_clue,
            document_clue)
SGTB_RECORD(ContextSettings, bit, common, rare, most_words, damping)
SGTB_RECORD(ContextTables, place, place_clues, sentence_clues, tag_clues, document_clues, name_bag,
            sentence_bag, window_bag, document_bag, headline_bag)

namespace {

enum Beside { SECOND_BEFORE, BEFORE, AFTER, SECOND_AFTER, N_BESIDE };  // tokens next to a mention

// Tokens of a mention, of its sentence, of the window around it; inside of its document.
struct Spot {
    int64_t document, first, stop, begin, end, low, high;
    int64_t sentence;  // its number in the document
    int64_t beside[N_BESIDE];
};

// ---- checks

void check_tokens(const TokenTable& tokens) {
    const int64_t n_tokens = tokens.kind.size() - 1, n_documents = tokens.n_documents();
    const int64_t n_kinds = tokens.kinds.near.indptr.size() - 1;
    check_at_least(tokens.kinds.near.indptr.size(), 1, "tokens.kinds.near");
    check_offsets(tokens.token_offsets, n_documents, n_tokens, "tokens.token_offsets");
    check_offsets(tokens.sentence_offsets, n_documents, tokens.sentences.shape(0),
                  "tokens.sentence_offsets");
    check_equal(tokens.sentences.shape(1), 2, "tokens.sentences");
    check_equal(tokens.marks.size(), n_tokens + 1, "tokens.marks");
    check_at_least(tokens.word_offsets.size(), n_tokens + 1, "tokens.word_offsets");
    check_offsets(tokens.word_offsets, tokens.word_offsets.size() - 1,
                  *(tokens.word_offsets.end() - 1), "tokens.word_offsets");
    check_equal(tokens.kinds.near.indptr[n_kinds], tokens.kinds.near.data.size(),
                "tokens.kinds.near");
    check_range(tokens.kind, 0, n_kinds, "tokens.kind");
    for (int64_t d = 0; d < n_documents; ++d) {
        check_at_least(tokens.sentence_offsets[d + 1] - tokens.sentence_offsets[d], 1,
                       "tokens.sentence_offsets");
        for (int64_t s = tokens.sentence_offsets[d]; s < tokens.sentence_offsets[d + 1]; ++s) {
            check_value(tokens.sentences(s, 1), tokens.token_offsets[d],
                        tokens.token_offsets[d + 1] + 1, "tokens.sentences");
            check_value(tokens.sentences(s, 0), tokens.token_offsets[d],
                        tokens.sentences(s, 1) + 1, "tokens.sentences");
        }
    }
}

// ---- places

// The last sentence of a document that begins at or before a token, else its first.
int64_t sentence_of(int64_t token, int64_t low, int64_t high, Array<const int64_t, 2> sentences) {
    const int64_t first = low;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sentences(middle, 0) <= token)
            low = middle + 1;
        else
            high = middle;
    }
    return std::max(low - 1, first);
}

std::vector<Spot> find_spots(const Mentions& mentions, const TokenTable& tokens, int64_t window) {
    const int64_t n = mentions.first.size(), outside = tokens.kind.size() - 1;
    check_tokens(tokens);
    check_equal(mentions.stop.size(), n, "mentions.stop");
    check_offsets(mentions.offsets, tokens.n_documents(), n, "mentions.offsets");
    check_value(window, 0, 1 << 20, "window");
    std::vector<Spot> spots(n);
    for (int64_t d = 0; d < tokens.n_documents(); ++d) {
        const int64_t start = tokens.token_offsets[d], last = tokens.token_offsets[d + 1];
        const int64_t s0 = tokens.sentence_offsets[d], s1 = tokens.sentence_offsets[d + 1];
        for (int64_t m = mentions.offsets[d]; m < mentions.offsets[d + 1]; ++m) {
            const int64_t size = last - start;
            const int64_t first = start + std::clamp<int64_t>(mentions.first[m], 0, size);
            const int64_t stop = start + std::clamp(mentions.stop[m], first - start, size);
            const int64_t opening = sentence_of(first, s0, s1, tokens.sentences);
            const int64_t closing =
                sentence_of(std::max(first, stop - 1), s0, s1, tokens.sentences);
            const int64_t begin = std::min(tokens.sentences(opening, 0), first);
            const int64_t end = std::max(tokens.sentences(closing, 1), stop);
            auto token = [&](int64_t t) { return t >= begin && t < end ? t : outside; };
            spots[m] = {d, first, stop, begin, end, std::max(first - window, start),
                        std::min(stop + window, last), opening - s0,
                        {token(first - 2), token(first - 1), token(stop), token(stop + 1)}};
        }
    }
    return spots;
}

using Sizes = std::tuple<int64_t, int64_t, int64_t>;

// The total numbers of words in mentions, sentences and windows.
Sizes count_words(const std::vector<Spot>& spots, const TokenTable& tokens) {
    int64_t in_names = 0, in_sentences = 0, in_windows = 0;
    for (const Spot& spot : spots) {
        in_names += tokens.n_words(spot.first, spot.stop);
        in_sentences += tokens.n_words(spot.begin, spot.end);
        in_windows += tokens.n_words(spot.low, spot.high);
    }
    return {in_names, in_sentences, in_windows};
}

Sizes context_sizes(const Mentions& mentions, const TokenTable& tokens, int64_t window) {
    return count_words(find_spots(mentions, tokens, window), tokens);
}

// ---- clues: observations as text, hashed by their CRC-32, which can be continued

constexpr std::array<uint32_t, 256> CRC_STEP = [] {
    std::array<uint32_t, 256> steps{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? 0xEDB88320u ^ (crc >> 1) : crc >> 1;
        steps[byte] = crc;
    }
    return steps;
}();

template <class Characters>
constexpr uint32_t clue(uint32_t begun, const Characters& characters) {
    uint32_t crc = ~begun;
    for (auto character : characters)
        crc = CRC_STEP[(crc ^ static_cast<uint8_t>(character)) & 0xFF] ^ (crc >> 8);
    return ~crc;
}

constexpr uint32_t clue(std::string_view text) { return clue(0, text); }

// "beginning" followed by a small number, or by False or True.
constexpr uint32_t clue(std::string_view beginning, int64_t number) {
    return clue(clue(beginning), std::array<char, 1>{static_cast<char>('0' + number)});
}
constexpr uint32_t clue(std::string_view beginning, bool is) {
    return clue(clue(beginning), is ? std::string_view("True") : std::string_view("False"));
}

// Clues that topics bring along; see clue_hashes.py.
enum TopicClue { TOPIC = 0, TOPIC_BAR = 1, WITH_TABLE = 2, TABLE = 7, LENGTH = 12, OPENS = 17 };
constexpr int64_t N_TOPIC_CLUES = 27, N_TABLES = 5, N_LENGTHS = 5, N_SENTENCES = 4;
constexpr int64_t N_PLACE_CLUES = 14, N_TAG_CLUES = 21, DATE_REACH = 5;

// The columns of `place`, as PLACES of features/contexts.py.
enum PlaceColumn {
    DATELINE, IN_BRACKETS, BEFORE_NUMBER, AFTER_NUMBER, AFTER_PREPOSITION, BESIDE_VERSUS,
    IN_TOPIC_DOCUMENT, IN_HEADLINE, SENTENCE_DIGITS, SENTENCE_CAPITALS, DOCUMENT_DIGITS,
    SENTENCE_LENGTH, SENTENCE_PLACE, UPPER_CASE, SAME_NAME, DOCUMENT_MENTIONS, N_PLACES
};

void check_clues(const ClueLists& lists, int64_t n, int64_t room, const char* name) {
    check_equal(lists.indptr.size(), n + 1, name);
    check_at_least(lists.data.size(), room, name);
    lists.indptr[0] = 0;
}

// The bytes of a token as its neighbours see it.
std::span<const uint8_t> token_bytes(const TokenTable& tokens, int64_t token) {
    const Longs& offsets = tokens.kinds.near.indptr;
    const int64_t kind = tokens.kind[token];
    check_value(offsets[kind + 1], 0, tokens.kinds.near.data.size() + 1, "tokens.kinds.near");
    check_value(offsets[kind], 0, offsets[kind + 1] + 1, "tokens.kinds.near");
    return tokens.kinds.near[kind];
}

// Write the features and clues of a mention's place, and the clues to its type.
void describe_mentions(const TokenTable& tokens, const std::vector<Spot>& spots, const Bits& bit,
                       const MentionNames& names, const Topics& topics, const ContextTables& out) {
    const int64_t n = static_cast<int64_t>(spots.size()), n_documents = tokens.n_documents();
    SGTB_CHECK_LENGTHS(n, names.is_upper, names.length);
    check_range(names.length, 0, N_LENGTHS, "names.length");
    SGTB_CHECK_LENGTHS(n, names.same_name, names.ending, names.shape);
    check_ragged(names.words, n, "names.words");
    check_shape(topics.clues, {n_documents, N_TOPIC_CLUES}, "topics.clues");
    check_equal(topics.given.size(), n_documents, "topics.given");
    check_shape(out.place, {n, N_PLACES}, "out.place");
    check_clues(out.place_clues, n, n * N_PLACE_CLUES, "out.place_clues");
    check_clues(out.tag_clues, n, n * N_TAG_CLUES + names.words.data.size(), "out.tag_clues");

    const int64_t n_tokens = tokens.marks.size();
    std::vector<int64_t> numbers(n_tokens + 1), capitals(n_tokens + 1), mentions(n_documents);
    for (int64_t t = 0; t < n_tokens; ++t) {
        numbers[t + 1] = numbers[t] + ((tokens.marks[t] & bit.number) > 0);
        capitals[t + 1] = capitals[t] + ((tokens.marks[t] & bit.capital) > 0);
    }
    for (const Spot& spot : spots) ++mentions[spot.document];
    auto share = [](const std::vector<int64_t>& counts, int64_t first, int64_t last) {
        return static_cast<double>(counts[last] - counts[first]) /
               static_cast<double>(std::max<int64_t>(last - first, 1));
    };
    Interrupt interrupt;
    for (int64_t m = 0; m < n; ++m) {
        if (m % 1024 == 0) interrupt.check();
        const Spot& spot = spots[m];
        const int64_t d = spot.document, begin = spot.begin, end = spot.end;
        const int64_t before = tokens.marks[spot.beside[BEFORE]];
        const int64_t after = tokens.marks[spot.beside[AFTER]];
        bool is_dated = false;
        for (int64_t t = spot.stop; t < std::min(spot.stop + DATE_REACH, end); ++t)
            is_dated |= (tokens.marks[t] & bit.date) > 0;
        const bool in_brackets = (before & bit.opening) > 0 && (after & bit.closing) > 0;
        const double digits = share(numbers, begin, end);
        const double n_sentences = static_cast<double>(tokens.sentence_offsets[d + 1] -
                                                       tokens.sentence_offsets[d]);
        double place[N_PLACES];
        place[DATELINE] = double(is_dated);
        place[IN_BRACKETS] = double(in_brackets);
        place[BEFORE_NUMBER] = double((after & bit.number) > 0);
        place[AFTER_NUMBER] = double((before & bit.number) > 0);
        place[AFTER_PREPOSITION] = double((before & bit.preposition) > 0);
        place[BESIDE_VERSUS] = double(((before | after) & bit.versus) > 0);
        place[IN_TOPIC_DOCUMENT] = double(topics.given[d]);
        place[IN_HEADLINE] = double(spot.sentence == 0);
        place[SENTENCE_DIGITS] = digits;
        place[SENTENCE_CAPITALS] = share(capitals, begin, end);
        place[DOCUMENT_DIGITS] =
            share(numbers, tokens.token_offsets[d], tokens.token_offsets[d + 1]);
        place[SENTENCE_LENGTH] = double(end - begin);
        place[SENTENCE_PLACE] = double(spot.sentence) / n_sentences;
        place[UPPER_CASE] = double(names.is_upper[m]);
        place[SAME_NAME] = double(names.same_name[m]);
        place[DOCUMENT_MENTIONS] = double(mentions[d]);
        for (int64_t k = 0; k < N_PLACES; ++k) out.place(m, k) = static_cast<float>(place[k]);

        auto with = [&](uint32_t begun, Beside side) {
            return clue(begun, token_bytes(tokens, spot.beside[side]));
        };
        auto bar = [](uint32_t begun) { return clue(begun, std::string_view("|")); };
        const uint32_t* const topic = &topics.clues(d, 0);
        const int64_t table = static_cast<int64_t>(4 * digits), length = names.length[m];
        const bool opens = spot.first == begin;
        const uint32_t clues[N_PLACE_CLUES] = {
            clue("always"),
            topic[TOPIC],
            with(clue("before:"), BEFORE),
            with(clue("after:"), AFTER),
            clue("dated:", is_dated),
            clue("bracketed:", in_brackets),
            with(bar(with(clue("between:"), BEFORE)), AFTER),
            with(bar(with(clue("before2:"), SECOND_BEFORE)), BEFORE),
            with(bar(with(clue("after2:"), AFTER)), SECOND_AFTER),
            names.ending[m],
            clue("upper:", bool(names.is_upper[m])),
            clue("sentence:", std::min(spot.sentence, N_SENTENCES - 1)),
            clue("table:", table),
            topic[WITH_TABLE + table],
        };
        out.place_clues.indptr[m + 1] = (m + 1) * N_PLACE_CLUES;
        std::copy(clues, clues + N_PLACE_CLUES, &out.place_clues.data[m * N_PLACE_CLUES]);
        const uint32_t of_length = clue("length:", length);
        const uint32_t tags[N_TAG_CLUES - 1] = {
            clues[2], clues[3], clues[6], clues[7], clues[8],
            with(clue("second before:"), SECOND_BEFORE),
            with(clue("second after:"), SECOND_AFTER),
            names.shape[m],
            of_length,
            with(bar(of_length), BEFORE),
            topic[TOPIC],
            with(topic[TOPIC_BAR], BEFORE),
            with(bar(topic[TOPIC_BAR]), AFTER),
            topic[TABLE + table],
            topic[LENGTH + length],
            clues[4], clues[11], clues[12],
            clue("opens:", opens),
            topic[OPENS + N_TABLES * opens + table],
        };
        uint32_t* to = out.tag_clues.data.data() + out.tag_clues.indptr[m];
        *to++ = clue("always");
        to = std::copy(names.words[m].begin(), names.words[m].end(), to);
        to = std::copy(tags, tags + N_TAG_CLUES - 1, to);
        out.tag_clues.indptr[m + 1] = to - out.tag_clues.data.data();
    }
}

// ---- words of texts

// Number words in the order they first come; return how many there are.
int64_t number_distinct(Ints words, int64_t n_vocabulary, Array<int64_t> place,
                     Array<int32_t> distinct) {
    check_value(n_vocabulary, 0, INT32_MAX, "n_vocabulary");
    check_range(words, 0, n_vocabulary, "words");
    SGTB_CHECK_LENGTHS(words.size(), place, distinct);
    std::vector<int32_t> number(n_vocabulary, -1);
    int32_t n = 0;
    for (int64_t i = 0; i < words.size(); ++i) {
        int32_t& own = number[words[i]];
        if (own < 0) {
            own = n;
            distinct[n++] = words[i];
        }
        place[i] = own;
    }
    return n;
}

// Bags and clues of the texts of one document after the other.
class BagWriter {
public:
    BagWriter(const TokenTable& tokens, const TextWords& words, const ContextSettings& settings)
        : tokens_(tokens), words_(words), settings_(settings), rank_(words.number.size(), -1),
          seen_(words.number.size(), -1) {}

    // Rank the words of a document that have a weight by their numbers in the lexicon.
    void set_document(int64_t d) {
        for (int64_t word : ranked_) rank_[word] = -1;
        ranked_.clear();
        for (int64_t word : places(tokens_.token_offsets[d], tokens_.token_offsets[d + 1])) {
            if (rank_[word] >= 0 || !(words_.weight[word] > 0)) continue;
            rank_[word] = 0;
            ranked_.push_back(word);
        }
        std::sort(ranked_.begin(), ranked_.end(),
                  [&](int64_t a, int64_t b) { return words_.number[a] < words_.number[b]; });
        for (std::size_t i = 0; i < ranked_.size(); ++i)
            rank_[ranked_[i]] = static_cast<int32_t>(i);
        counts_.assign(ranked_.size(), 0);
        used_.assign(ranked_.size() / 64 + 1, 0);
    }

    // Count the words of tokens first..stop-1; call `add_row` after all parts of a row.
    void count(int64_t first, int64_t stop) {
        for (int64_t word : places(first, stop)) {
            const int32_t rank = rank_[word];
            if (rank < 0) continue;
            ++counts_[rank];
            used_[rank / 64] |= uint64_t(1) << (rank % 64);
        }
    }

    // Write what was counted: weighted by rarity and damped count, scaled to length one.
    void add_row(const Bag& bag, int64_t r) {
        const int64_t begin = bag.indptr[r];
        int64_t at = begin;
        double square = 0.0;
        for (std::size_t block = 0; block < used_.size(); ++block) {
            for (uint64_t bits = used_[block]; bits; bits &= bits - 1) {
                const int64_t rank = 64 * block + std::countr_zero(bits), word = ranked_[rank];
                const float value = settings_.damping[counts_[rank] - 1] * words_.weight[word];
                bag.indices[at] = words_.number[word];
                bag.data[at++] = value;
                square += static_cast<double>(value) * static_cast<double>(value);
                counts_[rank] = 0;
            }
            used_[block] = 0;
        }
        const double length = std::max(std::sqrt(square), 1e-12);
        for (int64_t i = begin; i < at; ++i)
            bag.data[i] = static_cast<float>(static_cast<double>(bag.data[i]) / length);
        bag.indptr[r + 1] = at;
    }

    // Begin a row of clues: each word counts once.
    void begin_row() { ++row_; }

    template <class Wanted>
    void add_clues(std::span<const int64_t> words, Wanted wanted, Hashes clue, const ClueLists& out,
                   int64_t& at) {
        for (int64_t word : words) {
            if (seen_[word] == row_ || !wanted(word)) continue;
            seen_[word] = row_;
            out.data[at++] = clue[word];
        }
    }

    std::span<const int64_t> places(int64_t first, int64_t stop) const {
        const int64_t begin = tokens_.word_offsets[first], end = tokens_.word_offsets[stop];
        return {words_.place.data() + begin, static_cast<std::size_t>(end - begin)};
    }

    const std::vector<int64_t>& ranked() const { return ranked_; }

private:
    const TokenTable& tokens_;
    const TextWords& words_;
    const ContextSettings& settings_;
    std::vector<int32_t> rank_;  // of distinct words in the document; -1: none
    std::vector<int64_t> seen_;  // the last row of clues that has a word
    std::vector<int64_t> ranked_, counts_;
    std::vector<uint64_t> used_;  // bits of ranks that are counted
    int64_t row_ = 0;
};

void check_bag(const Bag& bag, int64_t n, int64_t room, const char* name) {
    check_equal(bag.indptr.size(), n + 1, name);
    check_at_least(bag.indices.size(), room, name);
    check_equal(bag.data.size(), bag.indices.size(), name);
    bag.indptr[0] = 0;
}

// Write the bags of names, sentences, windows, documents and headlines, and the clues of words.
void read_texts(const TokenTable& tokens, const std::vector<Spot>& spots, const TextWords& words,
                const ContextSettings& settings, const ContextTables& out) {
    const int64_t n = static_cast<int64_t>(spots.size()), n_documents = tokens.n_documents();
    const int64_t n_distinct = words.number.size();
    check_at_least(words.place.size(), tokens.n_words(0, tokens.kind.size() - 1), "words.place");
    check_range(words.place, 0, n_distinct, "words.place");
    SGTB_CHECK_LENGTHS(n_distinct, words.weight, words.is_digit, words.is_stop);
    for (const Hashes& clues : {words.sentence_clue, words.headline_clue, words.document_clue})
        check_equal(clues.size(), n_distinct, "words.*_clue");
    const auto [in_names, in_sentences, in_windows] = count_words(spots, tokens);
    auto headline = [&](int64_t d) { return &tokens.sentences(tokens.sentence_offsets[d], 0); };
    int64_t in_documents = 0, in_headlines = 0;
    for (int64_t d = 0; d < n_documents; ++d) {
        const int64_t size = tokens.n_words(tokens.token_offsets[d], tokens.token_offsets[d + 1]);
        check_at_least(settings.damping.size(), size, "settings.damping");
        in_documents += size;
        in_headlines += tokens.n_words(headline(d)[0], headline(d)[1]);
    }
    check_bag(out.name_bag, n, in_names, "out.name_bag");
    check_bag(out.sentence_bag, n, in_sentences, "out.sentence_bag");
    check_bag(out.window_bag, n, in_windows, "out.window_bag");
    check_bag(out.document_bag, n_documents, in_documents, "out.document_bag");
    check_bag(out.headline_bag, n_documents, in_headlines, "out.headline_bag");
    check_clues(out.sentence_clues, n, in_sentences, "out.sentence_clues");
    check_clues(out.document_clues, n_documents, in_documents + in_headlines,
                "out.document_clues");

    auto in_sentence = [&](int64_t word) { return !words.is_stop[word] && !words.is_digit[word]; };
    auto in_headline = [&](int64_t word) { return words.weight[word] > 0; };
    auto in_document = [&](int64_t word) {
        return words.weight[word] > settings.common && words.weight[word] < settings.rare &&
               !words.is_digit[word];
    };
    BagWriter writer(tokens, words, settings);
    Interrupt interrupt;
    int64_t m = 0, at = 0, at_document = 0;
    for (int64_t d = 0; d < n_documents; ++d) {
        interrupt.check();
        writer.set_document(d);
        writer.count(tokens.token_offsets[d], tokens.token_offsets[d + 1]);
        writer.add_row(out.document_bag, d);
        writer.count(headline(d)[0], headline(d)[1]);
        writer.add_row(out.headline_bag, d);
        writer.begin_row();
        writer.add_clues(writer.places(headline(d)[0], headline(d)[1]), in_headline,
                         words.headline_clue, out.document_clues, at_document);
        writer.begin_row();
        int64_t left = settings.most_words;
        writer.add_clues(writer.ranked(),
                         [&](int64_t word) { return in_document(word) && left-- > 0; },
                         words.document_clue, out.document_clues, at_document);
        out.document_clues.indptr[d + 1] = at_document;
        for (; m < n && spots[m].document == d; ++m) {
            const Spot& spot = spots[m];
            writer.count(spot.first, spot.stop);
            writer.add_row(out.name_bag, m);
            writer.begin_row();
            const int64_t parts[2][2] = {{spot.begin, spot.first}, {spot.stop, spot.end}};
            for (const auto& part : parts) {
                writer.count(part[0], part[1]);
                writer.add_clues(writer.places(part[0], part[1]), in_sentence,
                                 words.sentence_clue, out.sentence_clues, at);
            }
            writer.add_row(out.sentence_bag, m);
            out.sentence_clues.indptr[m + 1] = at;
            writer.count(spot.low, spot.first);
            writer.count(spot.stop, spot.high);
            writer.add_row(out.window_bag, m);
        }
    }
}

// Fill all tables of contexts; `context_sizes` tells how much room they need.
void describe_contexts(const Mentions& mentions, const TokenTable& tokens, int64_t window,
                       const MentionNames& names, const Topics& topics, const TextWords& words,
                       const ContextSettings& settings, const ContextTables& out) {
    const std::vector<Spot> spots = find_spots(mentions, tokens, window);
    describe_mentions(tokens, spots, settings.bit, names, topics, out);
    read_texts(tokens, spots, words, settings, out);
}

}  // namespace

void bind_contexts(nb::module_& module) {
    SGTB_BIND(context_sizes, mentions, tokens, window);
    SGTB_BIND(number_distinct, words, n_vocabulary, place, distinct);
    SGTB_BIND(describe_contexts, mentions, tokens, window, names, topics, words, settings, out);
}

}  // namespace sgtb
