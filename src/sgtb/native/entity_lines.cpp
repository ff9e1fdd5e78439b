// Lines of entity lists: the plain JSON objects among them, read and validated.
//
// A line with anything unusual is for Python, which reads all valid lines the same way and names
// the errors of the others.
#include "entity_lines.hpp"

#include <charconv>

#include "check.hpp"

namespace sgtb {

namespace {

constexpr std::size_t MAX_LABEL = 100;

// Thrown for a line that Python reads.
struct Unusual {};

// Whether a text is UTF-8 as Python decodes it: no surrogates, no longer forms than needed.
bool is_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) -> uint32_t {
        return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
    };
    for (std::size_t i = 0; i < text.size();) {
        const uint32_t first = byte(i);
        if (first < 0x80) {
            ++i;
            continue;
        }
        const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        if (first < 0xC2 || first > 0xF4) return false;
        for (std::size_t k = 1; k < size; ++k)
            if ((byte(i + k) & 0xC0) != 0x80) return false;
        const uint32_t second = byte(i + 1);
        if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
            (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90))
            return false;
        i += size;
    }
    return true;
}

// A cursor in a line of JSON.
class Cursor {
public:
    // unescaped  keeps the strings with escapes
    Cursor(std::string_view line, std::deque<std::string>& unescaped)
        : line_(line), unescaped_(unescaped) {}

    // Skip spaces, and the character if it is next.
    bool take(char wanted) {
        if (peek() != wanted) return false;
        ++at_;
        return true;
    }

    void need(char wanted) {
        if (!take(wanted)) throw Unusual{};
    }

    // The next character that is no space; 0 at the end.
    char peek() {
        while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' ||
                                      line_[at_] == '\n' || line_[at_] == '\r'))
            ++at_;
        return at_ < line_.size() ? line_[at_] : '\0';
    }

    bool at_end() { return peek() == '\0' && at_ == line_.size(); }

    // A string, as valid as the line and what keeps strings with escapes.
    std::string_view string() {
        need('"');
        const std::size_t begin = at_;
        while (at_ < line_.size() && line_[at_] != '"' && line_[at_] != '\\' && !control()) ++at_;
        if (at_ < line_.size() && line_[at_] == '"')
            return line_.substr(begin, at_++ - begin);
        std::string& out = unescaped_.emplace_back(line_.substr(begin, at_ - begin));
        while (at_ < line_.size() && line_[at_] != '"') {
            if (control()) throw Unusual{};
            if (line_[at_] == '\\') {
                ++at_;
                read_escape(out);
            } else {
                out += line_[at_++];
            }
        }
        need('"');
        return out;
    }

    // A number of JSON.
    std::string_view number() {
        peek();
        const std::size_t begin = at_;
        if (at_ < line_.size() && line_[at_] == '-') ++at_;
        const std::size_t first = at_;
        if (digits() > 1 && line_[first] == '0') throw Unusual{};
        if (at_ < line_.size() && line_[at_] == '.') {
            ++at_;
            digits();
        }
        if (at_ < line_.size() && (line_[at_] == 'e' || line_[at_] == 'E')) {
            ++at_;
            if (at_ < line_.size() && (line_[at_] == '+' || line_[at_] == '-')) ++at_;
            digits();
        }
        return line_.substr(begin, at_ - begin);
    }

private:
    bool control() const { return static_cast<uint8_t>(line_[at_]) < 0x20; }

    // Skip digits, at least one, and return how many.
    std::size_t digits() {
        const std::size_t begin = at_;
        while (at_ < line_.size() && line_[at_] >= '0' && line_[at_] <= '9') ++at_;
        if (at_ == begin) throw Unusual{};
        return at_ - begin;
    }

    void read_escape(std::string& out) {
        if (at_ >= line_.size()) throw Unusual{};
        const char kind = line_[at_++];
        constexpr std::string_view escapes = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        if (kind != 'u') {
            const std::size_t found = escapes.find(kind);
            if (found == escapes.npos) throw Unusual{};
            out += meant[found];
            return;
        }
        uint32_t code = hexadecimal();
        if (code >= 0xD800 && code < 0xE000) {  // half of a pair
            if (code >= 0xDC00 || line_.substr(at_, 2) != "\\u") throw Unusual{};
            at_ += 2;
            const uint32_t low = hexadecimal();
            if (low < 0xDC00 || low >= 0xE000) throw Unusual{};
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        put_utf8(out, code);
    }

    uint32_t hexadecimal() {
        uint32_t code = 0;
        const std::string_view digits = line_.substr(std::min(at_, line_.size()), 4);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(),
                                                  code, 16);
        if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) throw Unusual{};
        at_ += 4;
        return code;
    }

    std::string_view line_;
    std::size_t at_ = 0;
    std::deque<std::string>& unescaped_;
};

// Whether a text has no control characters, and no spaces but single ones between words. Spaces
// of Unicode are unusual, too.
bool is_clean(std::string_view text) {
    if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<uint8_t>(text[i]);
        if (byte < 0x20 || byte == 0x7F || (byte == ' ' && text[i - 1] == ' ')) return false;
        if (byte < 0xC2) continue;
        const std::string_view rest = text.substr(i, 3);
        if (byte == 0xC2 && rest.size() > 1 && static_cast<uint8_t>(rest[1]) <= 0xA0) return false;
        if (rest.starts_with("\xE1\x9A") || rest.starts_with("\xE2\x80") ||
            rest.starts_with("\xE2\x81") || rest.starts_with("\xE3\x80"))
            // Spaces and separators are among these; dashes and quotes are not.
            if (!(rest.starts_with("\xE2\x80") && rest.size() > 2 &&
                  static_cast<uint8_t>(rest[2]) >= 0x90 && static_cast<uint8_t>(rest[2]) < 0xA8))
                return false;
    }
    return true;
}

bool is_plain_label(std::string_view text) {
    for (const char c : text)
        if (c < 0x20 || c > 0x7E) return false;
    return !text.empty() && text.size() <= MAX_LABEL;
}

class LineReader {
public:
    LineReader(const NameForms& forms, std::string_view line, PlainLine& out)
        : forms_(forms), out_(out), json_(line, out.unescaped) {}

    void read() {
        json_.need('{');
        do {
            const std::string_view key = json_.string();
            int64_t k = 0;
            while (k < N_KEYS && KEYS[k] != key) ++k;
            if (k == N_KEYS || out_.keys >> k & 1) throw Unusual{};
            out_.keys |= int64_t{1} << k;
            json_.need(':');
            read_value(k);
        } while (json_.take(','));
        json_.need('}');
        if (!json_.at_end() || (out_.keys & 3) != 3) throw Unusual{};
    }

private:
    static constexpr int64_t N_KEYS = 9;
    static constexpr std::string_view KEYS[N_KEYS] = {
        "id", "name", "aliases", "description", "type", "popularity", "links", "in_links",
        "out_links"};

    void read_value(int64_t key) {
        switch (key) {
            case 0: out_.id = read_text(MAX_KEY); break;
            case 1: out_.name = read_name(); break;
            case 2: read_list([&] { out_.aliases.push_back(read_alias()); }); break;
            case 3: out_.description = read_text(MAX_SPELLING); break;
            case 4: out_.type = read_label(false); break;
            case 5: out_.popularity = read_popularity(); break;
            case 6: read_list([&] { out_.links.push_back(read_utf8()); }); break;
            case 7: out_.in_links = read_count(0, MAX_COUNT >> 1); break;
            default: out_.out_links = read_count(0, MAX_COUNT >> 1);
        }
    }

    std::string_view read_utf8() {
        const std::string_view text = json_.string();
        if (!is_utf8(text)) throw Unusual{};
        return text;
    }

    // An id, a name or a description. Not quite the rule of ids, which may have spaces of Unicode.
    std::string_view read_text(std::size_t most) {
        const std::string_view text = read_utf8();
        if (!is_clean(text) || text.size() > most) throw Unusual{};
        return text;
    }

    std::string_view read_name() {
        const std::string_view name = read_text(MAX_SPELLING);
        normal_.clear();
        if (!forms_.append(name, normal_) || normal_.size() > MAX_KEY) throw Unusual{};
        return name;
    }

    // A type or, if it may have other spaces, a source.
    std::string_view read_label(bool spaced) {
        const std::string_view label = json_.string();
        if (!is_plain_label(label) || !(spaced || is_clean(label))) throw Unusual{};
        return label;
    }

    template <class Read>
    void read_list(Read read) {
        json_.need('[');
        if (json_.take(']')) return;
        do read();
        while (json_.take(','));
        json_.need(']');
    }

    PlainAlias read_alias() {
        if (json_.peek() == '"') return {read_name(), {}, 1};
        PlainAlias alias{{}, {}, 0};
        json_.need('{');
        do {
            const std::string_view key = json_.string();
            const bool is_name = key == "name", is_source = key == "source";
            const bool again = is_name     ? !alias.name.empty()
                               : is_source ? !alias.source.empty()
                                           : alias.count != 0;
            if (again || !(is_name || is_source || key == "count")) throw Unusual{};
            json_.need(':');
            if (is_name)
                alias.name = read_name();
            else if (is_source)
                alias.source = read_label(true);
            else
                alias.count = read_count(1, MAX_COUNT);
        } while (json_.take(','));
        json_.need('}');
        if (alias.name.empty()) throw Unusual{};
        alias.count = std::max<int64_t>(alias.count, 1);
        return alias;
    }

    double read_popularity() {
        const std::string_view digits = json_.number();
#if defined(__cpp_lib_to_chars)
        double value = 0;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        // Python reads -0 as a whole number, which has no sign.
        if (error != std::errc() || !(std::abs(value) < 3e38) || (value == 0 && digits[0] == '-'))
            throw Unusual{};
        return value;
#else  // libc++ of older systems
        (void)digits;
        throw Unusual{};
#endif
    }

    int64_t read_count(int64_t low, int64_t high) {
        const std::string_view digits = json_.number();
        int64_t value = 0;
        const char* const last = digits.data() + digits.size();
        const auto [end, error] = std::from_chars(digits.data(), last, value);
        if (error != std::errc() || end != last || value < low || value > high ||
            digits.front() == '-')
            throw Unusual{};
        return value;
    }

    const NameForms& forms_;
    PlainLine& out_;
    Cursor json_;
    std::string normal_;
};

// Read a line of an entity list: (keys, id, name, aliases, description, type, popularity, links,
// in_links, out_links). None: it is for Python.
nb::object read_entity_line(const NameForms& forms, nb::handle line) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(line.ptr(), &data, &size) != 0) throw nb::python_error();
    PlainLine plain;
    if (!read_plain_line(forms, {data, static_cast<std::size_t>(size)}, plain)) return nb::none();
    nb::list aliases, links;
    for (const PlainAlias& one : plain.aliases)
        aliases.append(nb::make_tuple(string_of(one.name), string_of(one.source), one.count));
    for (const std::string_view id : plain.links) links.append(string_of(id));
    return nb::make_tuple(plain.keys, string_of(plain.id), string_of(plain.name),
                          nb::tuple(aliases), string_of(plain.description), string_of(plain.type),
                          plain.popularity, nb::tuple(links), plain.in_links, plain.out_links);
}

}  // namespace

bool read_plain_line(const NameForms& forms, std::string_view text, PlainLine& out) {
    out = {};
    try {
        LineReader(forms, text, out).read();
        return true;
    } catch (const Unusual&) {
        return false;
    }
}

void bind_entity_lines(nb::module_& module) {
    module.def("read_entity_line", &read_entity_line);
}

}  // namespace sgtb
