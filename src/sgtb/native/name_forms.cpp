// The normal form of names, by a table of characters.
#include "name_forms.hpp"

#include "check.hpp"

namespace sgtb {

namespace {

constexpr uint32_t RIGHT_QUOTE = 0x2019;

// Where the character before a position begins.
std::size_t before(std::string_view text, std::size_t at) {
    do --at;
    while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80);
    return at;
}

}  // namespace

NameForms::NameForms(Buffers& buffers, Ints codes, Ints offsets, Bytes text, Bytes words)
    : codes_(codes), offsets_(offsets), text_(text), words_(words), buffers_(std::move(buffers)) {
    if (codes.size() % 2) fail("codes", "has no end for each first character");
    int64_t n = 0;
    for (int64_t i = 0; i < codes.size(); i += 2) {
        check_value(codes[i], 0, codes[i + 1] + int64_t{1}, "codes");
        n += codes[i + 1] - codes[i];
    }
    check_offsets(offsets, n, text.size(), "offsets");
    check_equal(words.size(), n, "words");
}

int64_t NameForms::place(uint32_t code) const {
    int64_t first = 0;
    for (int64_t i = 0; i < codes_.size(); i += 2) {
        const auto low = static_cast<uint32_t>(codes_[i]), end = static_cast<uint32_t>(codes_[i + 1]);
        if (code >= low && code < end) return first + (code - low);
        first += end - low;
    }
    return -1;
}

bool NameForms::is_word(uint32_t code) const {
    const int64_t at = place(code);
    return at >= 0 && words_[at];
}

// Whether an apostrophe in begin..end-1 makes a possessive: a word before it, perhaps with a space
// between, and an s that ends a word after it.
bool NameForms::ends_possessive(std::string_view name, std::size_t begin, std::size_t end) const {
    if (begin == 0 || end >= name.size() || (name[end] != 's' && name[end] != 'S')) return false;
    if (end + 1 < name.size() && is_word(character_at(name, end + 1).code)) return false;
    std::size_t at = before(name, begin);
    if (name[at] == ' ' && at > 0) at = before(name, at);
    return is_word(character_at(name, at).code);
}

bool NameForms::append(std::string_view name, std::string& out) const {
    const std::size_t start = out.size();
    bool gap = false;
    for (std::size_t i = 0; i < name.size();) {
        const auto [code, size] = character_at(name, i);
        const int64_t at = place(code);
        if (at < 0) {
            out.resize(start);
            return false;
        }
        i += size;
        if ((code == '\'' || code == RIGHT_QUOTE) && ends_possessive(name, i - size, i)) {
            ++i;
            continue;
        }
        for (int32_t k = offsets_[at]; k < offsets_[at + 1]; ++k) {
            const char byte = static_cast<char>(text_[k]);
            if (byte == ' ') {
                gap = true;
                continue;
            }
            if (gap && out.size() > start) out += ' ';
            gap = false;
            out += byte;
        }
    }
    return out.size() > start;
}

namespace {

NameForms* make_name_forms(Buffers& buffers, Ints codes, Ints offsets, Bytes text, Bytes words) {
    return new NameForms(buffers, codes, offsets, text, words);
}

// The normal form of a name; None: for Python.
nb::object normal_form(const NameForms& forms, nb::handle name) {
    std::string_view text;
    std::string out;
    if (!utf8_of(name.ptr(), text) || !forms.append(text, out)) return nb::none();
    return string_of(out);
}

// The normal forms of the lines of a text, each with a line end. `other` makes the normal form of a
// line for Python. None: the text has lone surrogates.
nb::object normal_lines(const NameForms& forms, nb::handle given, nb::handle other) {
    std::string_view text;
    if (!utf8_of(given.ptr(), text)) return nb::none();
    std::string out;
    out.reserve(text.size() + 1);
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        if (!forms.append(line, out)) {
            nb::object form = other(string_of(line));
            std::string_view made;
            if (!utf8_of(form.ptr(), made)) Path{"other"}.fail("must return a text");
            out += made;
        }
        out += '\n';
        at = end + 1;
    }
    return string_of(out);
}

}  // namespace

void bind_name_forms(nb::module_& module) {
    nb::class_<NameForms>(module, "NameForms")
        .def("normal", &normal_form)
        .def("normal_lines", &normal_lines);
    SGTB_BIND_AS("name_forms", make_name_forms, codes, offsets, text, words);
}

}  // namespace sgtb
