// Plain text of wikitext: what a page shows and where it leads, from its bytes and spans.
#include <algorithm>

#include "utf8.hpp"
#include "wikitext.hpp"

namespace sgtb::wikitext {

namespace {

using enum Kind;

// What a byte of running text may mean. The last four that are special begin white space, and
// letters.
enum class Meaning : uint8_t { PLAIN, BLANK, SPECIAL };

constexpr auto MEANINGS = [] {
    std::array<Meaning, 256> meanings{};
    for (int byte = 0; byte <= ' '; ++byte) meanings[byte] = Meaning::BLANK;
    meanings[127] = Meaning::BLANK;
    for (const char c : std::string_view("\n&'_~|!;\xc2\xe1\xe2\xe3"))
        meanings[static_cast<uint8_t>(c)] = Meaning::SPECIAL;
    return meanings;
}();

// The code points meant by &#128; to &#159;, which are those of Windows-1252.
constexpr int32_t WINDOWS[32] = {
    0x20AC, 0xFFFD, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0xFFFD, 0x017D, 0xFFFD, 0xFFFD, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0xFFFD, 0x017E, 0x0178,
};
constexpr int32_t CODE_POINTS = 0x110000, REPLACEMENT = 0xFFFD;

// Whether a code point is white space, or a control character.
bool is_space(uint32_t point) {
    if (point < 0x1680) return point <= ' ' || point == 127 || point == 0x85 || point == 0xA0;
    return point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 ||
           point == 0x2029 || point == 0x202F || point == 0x205F || point == 0x3000;
}

// How much of a sink is written, in bytes and code points.
struct Mark {
    int32_t bytes = 0, points = 0;
};

enum class White : uint8_t { NONE, BLANK, LINE_BREAK };

// Where text is written. White space is noted, and written as one blank or line break before what
// comes next: so lines and anchors have none at their ends, and no line is empty.
struct Sink {
    std::string bytes;
    int32_t points = 0, lines = 0;
    White white = White::NONE;  // to come
    // The link whose anchor is being written: its depth, or 0, and where the anchor begins.
    int anchor_depth = 0, anchor_link = 0;
    Mark anchor;

    void put(std::string_view more) {
        if (white != White::NONE && !bytes.empty()) {
            bytes += white == White::LINE_BREAK ? '\n' : ' ';
            lines += white == White::LINE_BREAK;
            ++points;
        }
        white = White::NONE;
        bytes += more;
        for (const char c : more) points += (c & 0xC0) != 0x80;
    }
    void put_blank() {
        if (white == White::NONE) white = White::BLANK;
    }
    Mark mark() const { return {static_cast<int32_t>(bytes.size()), points}; }
    // What was written since `from`, without white space before it.
    std::pair<Mark, Mark> since(Mark from) const {
        const bool begins_white = from.bytes < std::ssize(bytes) &&
                                  static_cast<uint8_t>(bytes[from.bytes]) <= ' ';
        return {{from.bytes + begins_white, from.points + begins_white}, mark()};
    }
};

class Writer {
public:
    Writer(const Source& source, const std::vector<Span>& spans, const Lexicon& lexicon,
           int64_t& steps)
        : s_(source), spans_(spans), lexicon_(lexicon), steps_(steps) {}

    Plain run() {
        steps_ += s_.size();
        for (Place at = 0;;) {
            ++steps_;
            for (; next_ < spans_.size() && spans_[next_].begin < at; ++next_) ++steps_;
            const Place begin = next_ < spans_.size() ? spans_[next_].begin : s_.size();
            const Place edge = std::min(stop(), begin);
            if (at >= stop()) {
                if (frames_.empty()) break;
                at = end_span();
            } else if (at == begin) {
                at = begin_span();
            } else if (!sink_) {
                at = edge;
            } else if (fresh_ && in_text()) {
                at = begin_line(at, edge);
            } else {
                at = copy(at, edge);
                if (at < edge) at = read_byte(at, edge);
            }
        }
        return {std::move(text_.bytes), std::move(aside_.bytes), std::move(targets_.bytes),
                std::move(links_), std::move(bold_)};
    }

private:
    // ---- sinks

    // Whether the text is being written, and not an anchor of it.
    bool in_text() const { return sink_ == &text_ && anchors_ == 0; }

    void put_blank() {
        if (sink_) sink_->put_blank();
    }

    // Note a line break, or a blank where no line can end: in anchors, and beside the text.
    void put_break() {
        if (in_text())
            text_.white = White::LINE_BREAK;
        else
            put_blank();
    }

    // Write the source up to `edge` or a byte that may mean something; return where that is.
    Place copy(Place at, Place edge) {
        auto meaning = [&](Place k) { return MEANINGS[static_cast<uint8_t>(s_.text[k])]; };
        while (at < edge && meaning(at) != Meaning::SPECIAL) {
            const Place begin = at;
            // Words with single blanks between them are written at once.
            while (at < edge && (meaning(at) == Meaning::PLAIN ||
                                 (s_.text[at] == ' ' && at > begin && at + 1 < edge &&
                                  meaning(at + 1) == Meaning::PLAIN)))
                ++at;
            if (at > begin) sink_->put(s_.text.substr(begin, at - begin));
            for (; at < edge && meaning(at) == Meaning::BLANK; ++at) put_blank();
        }
        return at;
    }

    // Write the code point at `at` of the page, or of another text; return where it ends.
    Place copy_point(Place at) { return copy_point(s_, at); }
    Place copy_point(const Source& from, Place at) {
        const auto [code, size] = character_at(from.text, at);
        if (is_space(code))
            put_blank();
        else
            sink_->put(from.text.substr(at, size));
        return at + static_cast<Place>(size);
    }

    // Write what `&name;`, `&#10;` or `&#xA;` at `at` stands for, or the `&`; return where it ends.
    Place copy_reference(Place at) {
        Place k = at + 1;
        std::string numeric;
        const std::string* shown = nullptr;
        if (s_[k] == '#') {
            const int32_t point = read_number(++k);
            if (point >= 0 && s_[k] == ';') {
                put_utf8(numeric, point);
                shown = &numeric;
            }
        } else {
            while (k - at <= LONGEST_NAME && is_alphanumeric(s_[k])) ++k;
            const auto named = lexicon_.characters.find(s_.text.substr(at + 1, k - at - 1));
            if (s_[k] == ';' && named != lexicon_.characters.end()) shown = &named->second;
        }
        if (!shown) {
            sink_->put("&");
            return at + 1;
        }
        const Source text(*shown);
        for (Place i = 0; i < text.size();) i = copy_point(text, i);
        return k + 1;
    }

    // The code point of a number such as `65` or `x41`, and where that ends; -1: there is none.
    int32_t read_number(Place& k) const {
        const int base = small(s_[k]) == 'x' ? 16 : 10;
        if (base == 16) ++k;
        const Place first = k;
        int32_t point = 0;
        for (; k - first < 12 && is_alphanumeric(s_[k]); ++k) {
            const uint8_t letter = small(s_[k]);
            const int digit = letter < 'a' ? letter - '0' : letter - 'a' + 10;
            if (digit >= base) break;
            point = std::min(point * base + digit, CODE_POINTS);
        }
        if (k == first) return -1;
        if (point >= 128 && point < 160) return WINDOWS[point - 128];
        const bool surrogate = point >= 0xD800 && point < 0xE000;
        return point == 0 || point == CODE_POINTS || surrogate ? REPLACEMENT : point;
    }

    // ---- what is open

    struct Frame {
        Place stop, resume;  // where it ends, and where to go on then
        Kind kind;
        bool anchor;  // of a link that is not hidden
        Sink* sink;   // those outside
        int flags;
    };

    int depth() const { return static_cast<int>(frames_.size()); }
    Place stop() const { return frames_.empty() ? s_.size() : frames_.back().stop; }

    void open(Place stop, Place resume, Kind kind, bool anchor = false) {
        frames_.push_back({stop, resume, kind, anchor, sink_, flags_});
    }

    // Show nothing between `at` and `until`.
    void mute(Place at, Place until) {
        if (until <= at) return;
        open(until, until, MUTED);
        sink_ = nullptr;
    }

    // The span that begins at `at`, if any; `next` goes on to it.
    const Span* span_at(std::size_t& next, Place at) const {
        while (next < spans_.size() && spans_[next].begin < at) ++next;
        return next < spans_.size() && spans_[next].begin == at ? &spans_[next] : nullptr;
    }

    // Begin the next span; return where to go on.
    Place begin_span() {
        const Span& span = spans_[next_++];
        const Kind kind = span.kind;
        if (kind == SPACE) put_blank();
        if (kind == BREAK) put_break();
        if (kind < DROP || kind == COMMENT) return span.end;
        fresh_ = false;
        if (kind == LINK) return begin_link(span);
        if (kind == TABLE && in_text()) begin_table(span);
        if (kind == TABLE || kind == DROP) return span.end;
        open(span.close, span.end, kind);
        if (kind == PRE) put_break();
        if (kind == NOWIKI || kind == PRE) {
            literal_ = kind;
        } else if (kind == VARIANT) {
            return variant_start(span.inner);
        } else if (kind != EXTERNAL) {
            sink_ = nullptr;
            flags_ |= kind == REF ? IN_REF : kind == CAPTIONS ? IN_CAPTION : IN_TEMPLATE;
        }
        return span.inner;
    }

    // Leave the innermost thing that is open; return where to go on.
    Place end_span() {
        const Frame frame = frames_.back();
        const bool ends_anchor = frame.anchor && sink_->anchor_depth == depth();
        frames_.pop_back();
        Place at = frame.resume;
        if (ends_anchor) {
            // Small letters that follow a link are shown as part of it.
            auto letter = [&] { return s_.text.substr(at, character_at(s_.text, at).size); };
            while (at < stop() && lexicon_.lower_case.contains(letter())) at = copy_point(at);
            end_anchor();
        }
        anchors_ -= frame.anchor;
        if (frame.kind == NOWIKI || frame.kind == PRE) literal_ = UNKNOWN;
        if (frame.kind == PRE) put_break();
        if (frame.kind == VARIANT) variant_ = -1;
        sink_ = frame.sink;
        flags_ = frame.flags;
        return at;
    }

    // Skip `A|` and `zh-hans:` in a language variant; what follows is shown, up to a `;`.
    Place variant_start(Place at) {
        Place start = at;
        for (Place k = at; k < stop() && k - at < 64; ++k) {
            const uint8_t byte = s_[k];
            const bool in_code = byte == '-' || byte == ' ' || (byte >= 'A' && byte <= 'Z');
            if (byte == '|' || byte == ':') start = k + 1;
            if (byte == ':') variant_ = depth();
            if (byte == ':' || !(byte == '|' || in_code || byte >= 'a')) break;
        }
        return start;
    }

    // ---- links

    // Note a link; if it is not hidden, its anchor comes next.
    Place begin_link(const Span& span) {
        Link link;
        link.target = copy_target(span);
        link.line = text_.lines + (text_.white == White::LINE_BREAK && !text_.bytes.empty());
        link.flags = flags_ | (n_tables_ > 0 ? IN_TABLE : 0) | (item_ ? IN_LIST : 0) |
                     (span.hidden ? HIDDEN : 0);
        links_.push_back(link);
        if (span.hidden) {
            open(span.close, span.end, LINK);
            sink_ = nullptr;
            flags_ |= IN_CAPTION;
            return span.pipe >= 0 ? span.pipe : span.close;
        }
        const auto [begin, end] = anchor_range(span);
        open(end, span.end, LINK, true);
        if (!sink_) sink_ = &aside_;
        ++anchors_;
        if (sink_->anchor_depth > 0) end_anchor();
        sink_->anchor_depth = depth();
        sink_->anchor_link = static_cast<int>(links_.size()) - 1;
        sink_->anchor = sink_->mark();
        return begin;
    }

    // End the anchor that is being written: with its link, or where a link in it begins.
    // Nested anchors could be longer in all than any multiple of the page.
    void end_anchor() {
        sink_->anchor_depth = 0;
        const auto [begin, end] = sink_->since(sink_->anchor);
        if (begin.points >= end.points) return;
        Link& link = links_[sink_->anchor_link];
        link.anchor = {begin.bytes, end.bytes};
        if (sink_ != &text_) return;
        link.place = {begin.points, end.points};
        link.line = text_.lines;
    }

    // Where what a link shows stands: behind the bar, or else, its target.
    Range anchor_range(const Span& span) const {
        if (span.pipe >= 0)
            for (Place k = span.pipe + 1; k < span.close; ++k)
                if (s_[k] > ' ') return {span.pipe + 1, span.close};
        Place begin = span.inner;
        const Place end = span.pipe >= 0 ? span.pipe : span.close;
        while (begin < end && s_[begin] <= ' ') ++begin;
        return {s_[begin] == ':' ? begin + 1 : begin, end};
    }

    // Write a link's target, without comments; return where.
    Range copy_target(const Span& link) {
        Sink* const sink = sink_;
        sink_ = &targets_;
        targets_.white = White::NONE;
        const Mark before = targets_.mark();
        const Place end = link.pipe >= 0 ? link.pipe : link.close;
        steps_ += end - link.inner;
        std::size_t next = next_;
        for (Place k = link.inner; k < end;) {
            const Span* span = span_at(next, k);
            if (span && span->kind == COMMENT)
                k = span->end;
            else if (s_[k] == '&')
                k = copy_reference(k);
            else if (span || MEANINGS[s_[k]] == Meaning::SPECIAL)
                k = copy_point(k);
            else
                k = copy(k, next < spans_.size() ? std::min(end, spans_[next].begin) : end);
        }
        sink_ = sink;
        const auto [first, last] = targets_.since(before);
        return {first.bytes, last.bytes};
    }

    // ---- bytes of running text

    // Write or obey a byte that may mean something; return where to go on.
    Place read_byte(Place at, Place edge) {
        const uint8_t byte = s_[at];
        const bool twice = s_[at + 1] == byte;
        if (byte == '\n') {
            end_line();
            return at + 1;
        }
        if (byte == '&') return copy_reference(at);
        if (byte >= 128 || literal_ != UNKNOWN) return copy_point(at);
        if (byte == '\'' && twice) return read_quotes(at, edge);
        const bool in_row = cells_ != Cells::NONE && in_text();
        if (in_row && twice && (byte == '|' || (byte == '!' && cells_ == Cells::HEADER)))
            return begin_cell(at + 2);
        if (byte == '_' && twice) {
            const Place after = switch_end(at, edge);
            if (after > at) return after;
        }
        if (byte == '~' && twice && s_[at + 2] == '~') {
            while (at < edge && s_[at] == '~') ++at;
            return at;
        }
        if (byte == ';' && variant_ == depth()) {
            mute(at, stop());
            return at;
        }
        return copy_point(at);
    }

    // Where a switch such as `__TOC__` ends, or `at`.
    Place switch_end(Place at, Place edge) const {
        Place k = at + 2;
        while (k < edge && k - at < 64 && ((s_[k] >= 'A' && s_[k] <= 'Z') || s_[k] >= 128)) ++k;
        return k > at + 2 && k + 1 < edge && s_[k] == '_' && s_[k + 1] == '_' ? k + 2 : at;
    }

    // ---- lines: what the beginning of a source line makes of it

    // Obey a line break: between two lines of a paragraph it is a blank.
    void end_line() {
        if (!in_text()) return put_blank();
        const auto length = text_.bytes.size();
        if (literal_ == PRE || block_ || length == length_before_)
            put_break();
        else
            put_blank();
        if (literal_ == UNKNOWN) {
            fresh_ = true;
            in_bold_ = false;
        }
        block_ = item_ = false;
        cells_ = Cells::NONE;
        length_before_ = length;
    }

    // Obey what stands at the beginning of a line; return where to go on.
    Place begin_line(Place at, Place edge) {
        static constexpr ByteSet ITEM = bytes_of("*#:;"), ITEM_OR_BLANK = bytes_of("*#:; \t");
        Place k = at;
        while (k < edge && is_blank(s_[k])) ++k;
        if (k > at) put_blank();
        if (k >= edge) return k;
        fresh_ = false;
        const uint8_t byte = s_[k];
        if (ITEM[byte]) {
            while (k < edge && ITEM_OR_BLANK[s_[k]]) ++k;
            put_break();
            block_ = item_ = true;
        } else if (byte == '=') {
            return begin_heading(k);
        } else if (byte == '|') {
            return begin_row(k);
        } else if (byte == '!' && n_tables_ > 0) {
            cells_ = Cells::HEADER;
            return begin_cell(k + 1);
        } else if (byte == '-') {
            const Place rule = k;
            while (k < edge && s_[k] == '-') ++k;
            if (k - rule < 4) return rule;
            put_break();
        }
        return k;
    }

    // Where a line ends, and where what it shows ends: before comments and blanks.
    std::pair<Place, Place> line_end(Place at) {
        std::size_t next = next_;
        Place k = at, shown = at;
        while (k < stop() && s_[k] != '\n') {
            const Span* span = span_at(next, k);
            // A table is the only span whose lines are lines of their own.
            if (!span || span->kind == TABLE) {
                if (s_[k++] > ' ') shown = k;
                continue;
            }
            k = span->end;
            if (span->kind != COMMENT)
                shown = k;
            else if (s_[k - 1] == '\n')  // which a comment takes with it
                --k;
        }
        steps_ += k - at + static_cast<int64_t>(next - next_);
        return {std::min(k, stop()), std::min(shown, stop())};
    }

    // Obey `== heading ==`, if it is one. A heading ends tables that nothing closes.
    Place begin_heading(Place at) {
        const Place end = line_end(at).second, most = std::min((end - at - 1) / 2, 6);
        Place level = 0;
        while (level < most && s_[at + level] == '=' && s_[end - 1 - level] == '=') ++level;
        if (level == 0) return at;
        if (n_tables_ == n_unclosed_) n_tables_ = n_unclosed_ = 0;
        put_break();
        block_ = true;
        open(end - level, end, HEADING);
        return at + level;
    }

    // ---- tables

    // Begin a table; the rest of the line are its attributes.
    void begin_table(const Span& table) {
        put_break();
        ++n_tables_;
        n_unclosed_ += table.close < 0;
        mute(table.end, line_end(table.end).first);
    }

    // Obey a line that begins with a bar: a row, a cell, a caption or the end of a table.
    Place begin_row(Place at) {
        put_break();
        const uint8_t byte = s_[at + 1];
        if (byte == '}') {
            n_tables_ = std::max(n_tables_ - 1, 0);
            n_unclosed_ = std::min(n_unclosed_, n_tables_);
            return at + 2;
        }
        if (byte == '-') {
            mute(at, line_end(at).first);
            return at;
        }
        cells_ = Cells::DATA;
        return begin_cell(byte == '+' ? at + 2 : at + 1);
    }

    // Begin a cell; what stands before a single bar are its attributes.
    Place begin_cell(Place at) {
        in_bold_ = false;
        put_break();
        std::size_t next = next_;
        Place k = at, attributes = at;
        while (k < stop() && s_[k] != '\n') {
            if (const Span* span = span_at(next, k)) {
                if (span->kind == LINK || span->kind == TABLE || span->kind == VARIANT) break;
                k = span->end;
                if (s_[k - 1] == '\n') break;
                continue;
            }
            if (s_[k] == '!' && s_[k + 1] == '!' && cells_ == Cells::HEADER) break;
            if (s_[k++] == '|') {
                if (s_[k] != '|') attributes = k;
                break;
            }
        }
        steps_ += k - at + static_cast<int64_t>(next - next_);
        mute(at, attributes);
        return at;
    }

    // ---- quotes

    // How many apostrophes of a run are markup: the others are shown.
    static Place markup_of(Place run) { return run == 4 ? 3 : run > 1 ? std::min(run, 5) : 0; }

    // Obey a run of apostrophes: two begin or end italics, three bold, five both.
    Place read_quotes(Place at, Place edge) {
        Place end = at;
        while (end < edge && s_[end] == '\'') ++end;
        const Place markup = markup_of(end - at);
        if (sink_ == &text_ && at >= counted_) count_quotes(at);
        const bool apostrophe = sink_ == &text_ && markup == 3 && at == apostrophe_;
        for (Place shown = end - at - markup + apostrophe; shown > 0; --shown) sink_->put("'");
        if (sink_ != &text_ || markup < 3 || apostrophe) return end;
        in_bold_ = !in_bold_;
        if (in_bold_) {
            bold_begin_ = text_.mark();
        } else {
            const auto [begin, last] = text_.since(bold_begin_);
            if (begin.points < last.points) bold_.push_back({begin.points, last.points});
        }
        return end;
    }

    // Look for the apostrophe of lines such as L'''Orfeo''.
    //
    // Where neither bold nor italics are closed, one run of three is an apostrophe and italics:
    // the first after a word of one letter, else after a longer word, else after a blank.
    void count_quotes(Place at) {
        std::size_t next = std::max(next_, counted_spans_);
        Place k = at, letter = -1, word = -1, blank = -1;
        bool bold = false, italics = false;
        while (k < s_.size() && s_[k] != '\n') {
            if (const Span* span = span_at(next, k)) {
                const Kind kind = span->kind;
                if (kind == LINK && !span->hidden)
                    k = std::max(span->pipe, span->inner);
                else
                    k = kind == EXTERNAL || kind == VARIANT || kind == TABLE ? span->inner
                                                                             : span->end;
                continue;
            }
            const Place start = k++;
            if (s_[start] != '\'') continue;
            while (s_[k] == '\'') ++k;
            const Place markup = markup_of(k - start);
            bold ^= markup == 3 || markup == 5;
            italics ^= markup == 2 || markup == 5;
            if (markup != 3) continue;
            Place& first = start == 0 || s_[start - 1] <= ' '   ? blank
                           : start == 1 || s_[start - 2] <= ' ' ? letter
                                                                : word;
            if (first < 0) first = start;
        }
        steps_ += k - at + static_cast<int64_t>(next - counted_spans_);
        counted_ = k;
        counted_spans_ = next;
        apostrophe_ = !bold || !italics ? -1 : letter >= 0 ? letter : word >= 0 ? word : blank;
    }

    enum class Cells : uint8_t { NONE, DATA, HEADER };  // begun by | and by !

    const Source& s_;
    const std::vector<Span>& spans_;
    const Lexicon& lexicon_;
    int64_t& steps_;
    std::vector<Link> links_;
    std::vector<Range> bold_;
    std::vector<Frame> frames_;
    Sink text_, aside_, targets_;  // `aside_`: anchors of links that the text does not hold
    Sink* sink_ = &text_;          // null: nothing is written
    int flags_ = 0;                // of links that begin here, without those of tables and lists
    std::size_t next_ = 0;         // the first span that is not yet begun
    int anchors_ = 0;              // open links that are not hidden
    Kind literal_ = UNKNOWN;       // NOWIKI or PRE inside of these
    int variant_ = -1;             // depth of the variant of which a `;` ends what is shown

    // The line of the source: whether it begins here, how long the text was before it, whether
    // it is a block of its own, whether it is a list item, which cells it has.
    bool fresh_ = true, block_ = false, item_ = false;
    std::size_t length_before_ = 0;
    Cells cells_ = Cells::NONE;
    int n_tables_ = 0, n_unclosed_ = 0;  // tables that are open; those that nothing closes

    // Quotes: how far they were counted, and which run is an apostrophe and italics.
    Place counted_ = 0, apostrophe_ = -1;
    std::size_t counted_spans_ = 0;
    bool in_bold_ = false;
    Mark bold_begin_;
};

}  // namespace

Plain write_plain(const Source& source, const std::vector<Span>& spans, const Lexicon& lexicon,
                  int64_t& steps) {
    return Writer(source, spans, lexicon, steps).run();
}

}  // namespace sgtb::wikitext
