// Lines of entity lists: the plain JSON objects among them, read and validated.
//
// A line with anything unusual is for Python, which reads all valid lines the same way and names
// the errors of the others.
#include <charconv>
#include <cmath>

#include "check.hpp"
#include "name_forms.hpp"

namespace sgtb {

namespace {

constexpr std::size_t MAX_KEY = 500, MAX_SPELLING = 2000, MAX_LABEL = 100;
constexpr int64_t MAX_COUNT = 0xFFFFFFFF;

// Thrown for a line that Python reads.
struct Unusual {};

// A string of Python; its text must be valid UTF-8.
nb::object string_of(std::string_view text) {
    PyObject* made = PyUnicode_DecodeUTF8(text.data(), text.size(), nullptr);
    if (!made) {
        PyErr_Clear();
        throw Unusual{};
    }
    return nb::steal(made);
}

// A cursor in a line of JSON.
class Cursor {
public:
    explicit Cursor(std::string_view line) : line_(line) {}

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

    // A string; valid until the next one with an escape is read.
    std::string_view string() {
        need('"');
        const std::size_t begin = at_;
        while (at_ < line_.size() && line_[at_] != '"' && line_[at_] != '\\' && !control()) ++at_;
        if (at_ < line_.size() && line_[at_] == '"')
            return line_.substr(begin, at_++ - begin);
        unescaped_.assign(line_.substr(begin, at_ - begin));
        while (at_ < line_.size() && line_[at_] != '"') {
            if (control()) throw Unusual{};
            if (line_[at_] == '\\') {
                ++at_;
                read_escape();
            } else {
                unescaped_ += line_[at_++];
            }
        }
        need('"');
        return unescaped_;
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

    void read_escape() {
        if (at_ >= line_.size()) throw Unusual{};
        const char kind = line_[at_++];
        constexpr std::string_view escapes = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        if (kind != 'u') {
            const std::size_t found = escapes.find(kind);
            if (found == escapes.npos) throw Unusual{};
            unescaped_ += meant[found];
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
        put_utf8(code);
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

    void put_utf8(uint32_t code) {
        const auto put = [&](uint32_t byte) { unescaped_ += static_cast<char>(byte); };
        if (code < 0x80) return put(code);
        if (code < 0x800) {
            put(0xC0 | code >> 6);
        } else {
            if (code < 0x10000) {
                put(0xE0 | code >> 12);
            } else {
                put(0xF0 | code >> 18);
                put(0x80 | (code >> 12 & 0x3F));
            }
            put(0x80 | (code >> 6 & 0x3F));
        }
        put(0x80 | (code & 0x3F));
    }

    std::string_view line_;
    std::size_t at_ = 0;
    std::string unescaped_;
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
    LineReader(const NameForms& forms, std::string_view line) : forms_(forms), json_(line) {}

    // (keys, id, name, aliases, description, type, popularity, links, in_links, out_links); keys
    // is a set of bits in the order of KEYS.
    nb::object read() {
        json_.need('{');
        do {
            const std::string_view key = json_.string();
            int64_t k = 0;
            while (k < N_KEYS && KEYS[k] != key) ++k;
            if (k == N_KEYS || keys_ >> k & 1) throw Unusual{};
            keys_ |= int64_t{1} << k;
            json_.need(':');
            read_value(k);
        } while (json_.take(','));
        json_.need('}');
        if (!json_.at_end() || (keys_ & 3) != 3) throw Unusual{};
        return nb::make_tuple(keys_, id_, name_, aliases_, description_, type_, popularity_, links_,
                              in_links_, out_links_);
    }

private:
    static constexpr int64_t N_KEYS = 9;
    static constexpr std::string_view KEYS[N_KEYS] = {
        "id", "name", "aliases", "description", "type", "popularity", "links", "in_links",
        "out_links"};

    void read_value(int64_t key) {
        switch (key) {
            case 0: id_ = read_id(); break;
            case 1: name_ = read_name(); break;
            case 2: aliases_ = read_list([&] { return read_alias(); }); break;
            case 3: description_ = read_text(); break;
            case 4: type_ = read_label(); break;
            case 5: popularity_ = nb::float_(read_popularity()); break;
            case 6: links_ = read_list([&] { return string_of(json_.string()); }); break;
            case 7: in_links_ = nb::int_(read_count(0, MAX_COUNT >> 1)); break;
            default: out_links_ = nb::int_(read_count(0, MAX_COUNT >> 1));
        }
    }

    nb::object read_id() {
        const std::string_view id = json_.string();
        // Not quite the rule of ids, which may have spaces of Unicode.
        if (!is_clean(id) || id.size() > MAX_KEY) throw Unusual{};
        return string_of(id);
    }

    nb::object read_name() {
        const std::string_view name = json_.string();
        if (!is_clean(name) || name.size() > MAX_SPELLING) throw Unusual{};
        nb::object made = string_of(name);  // which finds invalid UTF-8
        normal_.clear();
        if (!forms_.append(name, normal_) || normal_.size() > MAX_KEY) throw Unusual{};
        return made;
    }

    nb::object read_text() {
        const std::string_view text = json_.string();
        if (!is_clean(text) || text.size() > MAX_SPELLING) throw Unusual{};
        return string_of(text);
    }

    nb::object read_label() {
        const std::string_view label = json_.string();
        if (!is_clean(label) || !is_plain_label(label)) throw Unusual{};
        return string_of(label);
    }

    template <class Read>
    nb::object read_list(Read read) {
        json_.need('[');
        nb::list items;
        if (!json_.take(']')) {
            do items.append(read());
            while (json_.take(','));
            json_.need(']');
        }
        return nb::tuple(items);
    }

    // Name, source ("": not stated) and count.
    nb::object read_alias() {
        if (json_.peek() == '"') return nb::make_tuple(read_name(), "", 1);
        nb::object name, source;
        int64_t count = 0;
        json_.need('{');
        do {
            const std::string_view key = json_.string();
            const bool is_name = key == "name", is_source = key == "source";
            const bool again = is_name ? name.is_valid() : is_source ? source.is_valid() : count;
            if (again || !(is_name || is_source || key == "count")) throw Unusual{};
            json_.need(':');
            if (is_name)
                name = read_name();
            else if (is_source)
                source = read_source();
            else
                count = read_count(1, MAX_COUNT);
        } while (json_.take(','));
        json_.need('}');
        if (!name.is_valid()) throw Unusual{};
        return nb::make_tuple(name, source.is_valid() ? source : nb::str(""),
                              count ? count : 1);
    }

    nb::object read_source() {
        const std::string_view source = json_.string();
        if (!is_plain_label(source)) throw Unusual{};
        return string_of(source);
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
    Cursor json_;
    std::string normal_;
    int64_t keys_ = 0;
    nb::object id_, name_, aliases_ = nb::tuple(), description_ = nb::str(""), type_ = nb::str("");
    nb::object popularity_ = nb::float_(std::nan("")), links_ = nb::tuple();
    nb::object in_links_ = nb::int_(-1), out_links_ = nb::int_(-1);
};

// Read a line of an entity list; None: it is for Python.
nb::object read_entity_line(const NameForms& forms, nb::handle line) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(line.ptr(), &data, &size) != 0) throw nb::python_error();
    try {
        return LineReader(forms, {data, static_cast<std::size_t>(size)}).read();
    } catch (const Unusual&) {
        return nb::none();
    }
}

}  // namespace

void bind_entity_lines(nb::module_& module) {
    module.def("read_entity_line", &read_entity_line);
}

}  // namespace sgtb
