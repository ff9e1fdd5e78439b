// Markup of wikitext: where the templates, tags, links and tables of a page begin and end.
#include <algorithm>

#include "wikitext.hpp"

namespace sgtb::wikitext {

namespace {

using enum Kind;

struct Tag {
    std::string_view name;
    Kind kind;
};

constexpr Tag TAGS[] = {
    {"blockquote", BREAK}, {"br", SPACE}, {"caption", BREAK}, {"categorytree", DROP}, {"ce", DROP},
    {"center", BREAK}, {"chem", DROP}, {"dd", BREAK}, {"div", BREAK}, {"dl", BREAK}, {"dt", BREAK},
    {"gallery", CAPTIONS}, {"graph", DROP}, {"h1", BREAK}, {"h2", BREAK}, {"h3", BREAK},
    {"h4", BREAK}, {"h5", BREAK}, {"h6", BREAK}, {"hiero", DROP}, {"hr", BREAK},
    {"imagemap", CAPTIONS}, {"includeonly", UNSEEN}, {"inputbox", DROP}, {"li", BREAK},
    {"mapframe", DROP}, {"math", DROP}, {"nowiki", NOWIKI}, {"ol", BREAK}, {"p", BREAK},
    {"poem", BREAK}, {"pre", PRE}, {"ref", REF}, {"references", BREAK}, {"score", DROP},
    {"source", DROP}, {"syntaxhighlight", DROP}, {"table", BREAK}, {"tbody", BREAK}, {"td", BREAK},
    {"templatedata", DROP}, {"templatestyles", DROP}, {"th", BREAK}, {"timeline", DROP},
    {"tr", BREAK}, {"ul", BREAK},
};
constexpr int N_TAGS = std::size(TAGS);
static_assert(std::ranges::is_sorted(TAGS, {}, &Tag::name));

constexpr Place LONGEST_TARGET = 2048;  // bytes; titles have 255, but comments may stand in one

// The number of a tag, in capitals or not; N_TAGS: unknown.
int tag_number(std::string_view name) {
    std::string wanted(name);
    for (char& c : wanted) c = static_cast<char>(small(c));
    const auto number = std::ranges::lower_bound(TAGS, wanted, {}, &Tag::name) - TAGS;
    return number < N_TAGS && TAGS[number].name == wanted ? static_cast<int>(number) : N_TAGS;
}

enum class Mark : uint8_t { SCOPE, BRACES, VARIANT, TARGET, ANCHOR, EXTERNAL };

// A mark that may still be closed.
struct Open {
    Mark mark;
    int span;
    // Braces: how many are left. Anchors: their single brackets. Scopes: whether they hold a link.
    int count = 0;
    Place limit = 0;  // of scopes: the limit outside; of external links: the line they stand in
    int base = -1;    // of scopes: the scope outside
};

// What the first two passes share: the spans found, and what is open.
class Finder {
protected:
    Finder(const Source& source, int64_t& steps) : s_(source), steps_(steps), limit_(s_.size()) {
        steps_ += s_.size();
    }

    // What was opened outside of the innermost scope is not closed in it.
    bool all_closed() const { return std::ssize(open_) == base_ + 1; }
    bool top_is(Mark mark) const { return !all_closed() && open_.back().mark == mark; }
    int last_span() const { return static_cast<int>(spans_.size()) - 1; }

    void enter_scope() {
        open_.push_back({Mark::SCOPE, last_span(), 0, limit_, base_});
        base_ = static_cast<int>(open_.size()) - 1;
        limit_ = spans_.back().close;
    }
    Open leave_scope() {
        const Open scope = open_[base_];
        open_.resize(base_);
        limit_ = scope.limit;
        base_ = scope.base;
        return scope;
    }

    // How often the byte at `at` is repeated.
    Place run_length(Place at) {
        Place k = at + 1;
        while (k < s_.size() && s_[k] == s_[at]) ++k;
        return k - at;
    }

    const Source& s_;
    int64_t& steps_;
    std::vector<Span> spans_;  // those that end at -1 were never closed
    std::vector<Open> open_;
    int base_ = -1;    // the innermost scope in `open_`
    Place limit_;      // where it ends
    Place line_ = -1;  // the last line break
};

// First pass: comments, tags, and what braces enclose. It precedes that of the links because no
// link crosses the border of a template or reference.
class ScopeFinder : Finder {
public:
    ScopeFinder(const Source& source, int64_t& steps) : Finder(source, steps) { ends_.fill(-1); }

    std::vector<Span> run() {
        static constexpr ByteSet MARKS = bytes_of("<{}\n");
        for (Place at = 0;;) {
            ++steps_;
            while (at < limit_ && !MARKS[s_[at]]) ++at;
            if (at >= limit_) {
                if (base_ < 0) return std::move(spans_);
                at = spans_[leave_scope().span].end;
            } else if (s_[at] == '<') {
                at = read_tag(at);
            } else if (s_[at] == '{') {
                at = open_braces(at);
            } else if (s_[at] == '}') {
                at = close_braces(at);
            } else {
                line_ = at++;
            }
        }
    }

private:
    // Reserve places for the spans that a run of `{` may begin, filled when they are closed.
    Place open_braces(Place at) {
        const Place run = run_length(at);
        const int first = last_span() + 1;
        if (run >= 2) {
            open_.push_back({Mark::BRACES, first, run});
            spans_.resize(first + run / 2, {TEMPLATE, at, -1, -1, -1});
        } else if (at > 0 && s_[at - 1] == '-') {
            open_.push_back({Mark::VARIANT, first});
            spans_.push_back({VARIANT, at - 1, -1, -1, -1});
        }
        return at + run;
    }

    // Match a run of `}` with open braces, three at a time if there are three, else two.
    // A language variant ends in the line in which it begins.
    Place close_braces(Place at) {
        const Place after = at + run_length(at);
        while (at < after && !all_closed()) {
            ++steps_;
            Open& top = open_.back();
            const Place first = spans_[top.span].begin, left = after - at;
            if (top.mark == Mark::VARIANT) {
                if (first > line_ && left == 1) {
                    if (s_[after] != '-') break;
                    spans_[top.span] = {VARIANT, first, first + 2, at, at + 2};
                    at = after;
                }
                open_.pop_back();
                continue;
            }
            const Place matched = std::min({left, top.count, 3});
            if (matched < 2) break;
            top.count -= matched;
            // The innermost braces of a run take the last of the places reserved for it.
            const Place begin = first + top.count;
            spans_[top.span + top.count / 2] = {TEMPLATE, begin, begin + matched, at, at + matched};
            at += matched;
            if (top.count < 2) open_.pop_back();
        }
        return after;
    }

    static bool ends_name(uint8_t byte) { return byte == '>' || byte == '/' || is_white(byte); }

    // Read a comment or tag at `<`; return where to go on.
    Place read_tag(Place at) {
        if (s_.text.substr(at).starts_with("<!--")) return read_comment(at);
        const bool closing = s_[at + 1] == '/';
        const Place name = at + 1 + closing;
        Place name_end = name;
        while (name_end - name < LONGEST_NAME && is_alphanumeric(s_[name_end])) ++name_end;
        steps_ += name_end - at;
        if (name_end == name || s_[name] < 'A' || !ends_name(s_[name_end])) return at + 1;
        Place k = name_end;
        while (k < limit_ && s_[k] != '>' && s_[k] != '<') ++k;
        steps_ += k - name_end;
        if (k >= limit_ || s_[k] == '<') return at + 1;
        const Place end = k + 1;
        const int tag = tag_number(s_.text.substr(name, name_end - name));
        const Kind kind = tag < N_TAGS ? TAGS[tag].kind : REMOVED;
        Place close = limit_;
        if (kind >= DROP && !closing && s_[k - 1] != '/') {
            if (ends_[tag] < end) ends_[tag] = find_end(TAGS[tag], end);
            close = ends_[tag];
        }
        if (close >= limit_ || s_[close + 1] != '/') {
            spans_.push_back({kind < DROP ? kind : REMOVED, at, end, end, end});
            return end;
        }
        spans_.push_back({kind, at, end, close, s_.find(">", close) + 1});
        if (kind < REF) return spans_.back().end;
        enter_scope();
        return end;
    }

    // Where `</name >` stands, from `at` on; the page's end if nowhere.
    //
    // For references also where `<ref>` stands: a reference in a reference means that the first
    // was never closed, and what stands between them is not to be lost.
    Place find_end(const Tag& tag, Place at) {
        while (true) {
            const Place k = s_.find("<", at);
            steps_ += k - at + 1;
            at = k + 1;
            if (k == s_.size()) return k;
            const bool closing = s_[at] == '/';
            if (!closing && tag.kind != REF) continue;
            Place j = at + closing;
            std::size_t same = 0;
            for (; same < tag.name.size() && small(s_[j]) == tag.name[same]; ++same) ++j;
            bool ends = same == tag.name.size() && ends_name(s_[j]);
            if (ends && closing) {
                while (is_white(s_[j])) ++j;
                ends = s_[j] == '>';
            } else if (ends) {
                while (j < s_.size() && s_[j] != '>' && s_[j] != '<') ++j;
                ends = s_[j] == '>' && s_[j - 1] != '/';
            }
            steps_ += j - k;
            if (ends) return k;
        }
    }

    // Read a comment, to the end of its scope if need be; a line of its own goes with it.
    Place read_comment(Place at) {
        Place& comment_end = ends_[N_TAGS];
        if (comment_end < at + 4) {
            comment_end = s_.find("-->", at + 4);
            steps_ += comment_end - at;
        }
        const Place close = std::min(comment_end, limit_);
        Place end = std::min(close + 3, limit_);
        Place before = at, after = end;
        while (before > 0 && is_blank(s_[before - 1])) --before;
        while (after < limit_ && is_blank(s_[after])) ++after;
        steps_ += at - before + after - end;
        if ((before == 0 || s_[before - 1] == '\n') && after < limit_ && s_[after] == '\n')
            end = after + 1;
        spans_.push_back({COMMENT, at, close, close, end});
        return end;
    }

    std::array<Place, N_TAGS + 1> ends_;  // of tags and comments: the last end that was found
};

// Second pass: links and tables, between and in the scopes.
class LinkFinder : Finder {
public:
    LinkFinder(const Source& source, int64_t& steps) : Finder(source, steps) {}

    std::vector<Span> run(const std::vector<Span>& scopes) {
        static constexpr ByteSet MARKS = bytes_of("[]|\n{}<>");
        std::size_t next = 0;
        for (Place at = 0;;) {
            ++steps_;
            for (; next < scopes.size(); ++next, ++steps_)
                if (scopes[next].end >= 0 && scopes[next].begin >= at) break;
            const Place begin = next < scopes.size() ? scopes[next].begin : s_.size();
            const Place edge = std::min(limit_, begin);
            while (at < edge && !MARKS[s_[at]]) ++at;
            if (at >= limit_) {
                if (base_ < 0) break;
                at = end_scope();
            } else if (at == begin) {
                at = begin_scope(scopes[next]);
            } else if (s_[at] == '[') {
                at = open_bracket(at);
            } else if (s_[at] == ']') {
                at = close_bracket(at);
            } else if (s_[at] == '|') {
                at = read_bar(at);
            } else {
                drop_target();
                if (s_[at] == '\n') line_ = at;
                at = s_[at] == '{' && begins_table(at) ? at + 2 : at + 1;
            }
        }
        std::erase_if(spans_, [](const Span& span) { return span.end < 0; });
        return std::move(spans_);
    }

private:
    Place begin_scope(const Span& scope) {
        const Kind kind = scope.kind;
        if (kind != COMMENT && kind != TEMPLATE && kind != VARIANT) drop_target();
        spans_.push_back(scope);
        if (kind < REF || kind == COMMENT) return scope.end;
        enter_scope();
        return scope.inner;
    }

    // What is open outside of the scope stays open. A target that holds a link is none.
    Place end_scope() {
        const Open scope = leave_scope();
        if (scope.count > 0) {
            drop_target();
            note_link();
        }
        return spans_[scope.span].end;
    }

    void note_link() {
        if (base_ >= 0) open_[base_].count = 1;
    }

    // Drop a link in whose target stands what no target can hold.
    void drop_target() {
        if (top_is(Mark::TARGET)) open_.pop_back();
    }

    // Read a run of `[`: a link needs an even number, an address after it one.
    Place open_bracket(Place at) {
        static constexpr ByteSet STOPS = bytes_of("[]<>\"{}");
        drop_target();
        const Place run = run_length(at);
        at += run;
        steps_ += run;
        Place web = protocol_end(at);
        if (web > at) {
            if (top_is(Mark::EXTERNAL)) {
                if (open_.back().limit == line_) return at;
                open_.pop_back();
            }
            while (web < limit_ && s_[web] > ' ' && !STOPS[s_[web]]) ++web;
            while (web < limit_ && is_blank(s_[web])) ++web;
            steps_ += web - at;
            spans_.push_back({EXTERNAL, at - 1, web, -1, -1});
            open_.push_back({Mark::EXTERNAL, last_span(), 0, line_});
            return web;
        }
        if (run % 2 == 0) {
            spans_.push_back({LINK, at - 2, at, -1, -1});
            open_.push_back({Mark::TARGET, last_span()});
        } else if (top_is(Mark::ANCHOR)) {
            ++open_.back().count;
        }
        return at;
    }

    // Close what `]` or `]]` closes.
    Place close_bracket(Place at) {
        const bool two = s_[at + 1] == ']', three = s_[at + 2] == ']';
        while (!all_closed()) {
            ++steps_;
            Open& top = open_.back();
            Span& span = spans_[top.span];
            if (top.mark == Mark::EXTERNAL) {
                const bool in_line = top.limit == line_;
                open_.pop_back();
                if (!in_line || (top_is(Mark::ANCHOR) && two && !three)) continue;
                span.close = at;
                return span.end = at + 1;
            }
            if (top.mark == Mark::TARGET) {
                if (!two || !end_target(span, at)) {
                    open_.pop_back();
                    continue;
                }
            } else if (!two || (three && top.count > 0)) {
                top.count = std::max(top.count - 1, 0);
                break;
            }
            open_.pop_back();
            if (has_target(span.inner, at)) {
                span.close = at;
                span.end = at + 2;
                note_link();
                drop_anchors();
            }
            return at + 2;
        }
        return at + 1;
    }

    // Drop the links around a link: only captions, so targets with a prefix, can hold one.
    // An external link around it stays, the innermost if there are more.
    void drop_anchors() {
        const bool external = top_is(Mark::EXTERNAL);
        const Open innermost = external ? open_.back() : Open{};
        for (; !all_closed(); ++steps_) {
            const Mark mark = open_.back().mark;
            const bool plain = mark == Mark::ANCHOR && spans_[open_.back().span].colon < 0;
            if (mark != Mark::EXTERNAL && !plain) break;
            open_.pop_back();
        }
        if (external) open_.push_back(innermost);
    }

    // Read a bar: it begins an anchor, or ends a table.
    Place read_bar(Place at) {
        if (top_is(Mark::TARGET)) {
            Span& span = spans_[open_.back().span];
            if (end_target(span, at)) {
                span.pipe = at;
                open_.back().mark = Mark::ANCHOR;
            } else {
                open_.pop_back();
            }
        } else if (s_[at + 1] == '}' && base_ < 0 && !tables_.empty() && begins_line(at)) {
            spans_[tables_.back()].close = at;
            tables_.pop_back();
        }
        return at + 1;
    }

    bool begins_table(Place at) {
        if (s_[at + 1] != '|' || base_ >= 0 || !begins_line(at)) return false;
        spans_.push_back({TABLE, at, at + 2, -1, at + 2});
        tables_.push_back(last_span());
        return true;
    }

    // Whether only blanks and colons stand before `at` in its line.
    bool begins_line(Place at) {
        Place k = at - 1;
        while (k >= 0 && s_[k] != '\n' && (is_white(s_[k]) || s_[k] == ':')) --k;
        steps_ += at - k;
        return k < 0 || s_[k] == '\n';
    }

    bool has_target(Place begin, Place end) const {
        while (begin < end && is_white(s_[begin])) ++begin;
        return begin < end && s_[begin] != '|';
    }

    // End a target at its bar or bracket and look for its prefix, unless it is too long.
    bool end_target(Span& link, Place end) {
        Place k = link.inner;
        if (end - k > LONGEST_TARGET) return false;
        steps_ += end - k;
        while (k < end && is_white(s_[k])) ++k;
        if (s_[k] == ':') return true;  // a link to a file, not the file
        for (; k < end && s_[k] != ':'; ++k)
            if (s_[k] == '#' && s_[k - 1] != '&') return true;  // a section
        if (k < end) link.colon = k;
        return true;
    }

    // Where `https://`, `//` or `mailto:` ends, or `at` if there is none.
    Place protocol_end(Place at) const {
        std::string name;
        for (Place k = at; name.size() < 12 && is_alphanumeric(s_[k]); ++k)
            name += static_cast<char>(small(s_[k]));
        Place k = at + static_cast<Place>(name.size());
        if (!name.empty() && s_[k++] != ':') return at;
        if (name == "mailto") return k;
        return s_[k] == '/' && s_[k + 1] == '/' ? k + 2 : at;
    }

    std::vector<int> tables_;  // open ones
};

}  // namespace

std::vector<Span> find_spans(const Source& source, int64_t& steps) {
    return LinkFinder(source, steps).run(ScopeFinder(source, steps).run());
}

}  // namespace sgtb::wikitext
