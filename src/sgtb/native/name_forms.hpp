// The normal form of names, by a table of characters.
#pragma once

#include <string>
#include <string_view>

#include "bind.hpp"
#include "utf8.hpp"

namespace sgtb {

// Longest names in normal form and as written, in bytes, and largest count; see kb/layout.py.
inline constexpr std::size_t MAX_KEY = 500, MAX_SPELLING = 2000;
inline constexpr int64_t MAX_COUNT = 0xFFFFFFFF;

// Makes the normal form of names whose characters are in the table. These are characters whose
// replacement does not depend on their neighbours; names with others are for Python.
class NameForms {
public:
    // codes         first and end of each range of characters in the table
    // offsets, text what replaces each character, UTF-8
    // words         whether a character is part of a word, as in regular expressions
    NameForms(Buffers& buffers, Ints codes, Ints offsets, Bytes text, Bytes words);

    // Append the normal form of a name in valid UTF-8; false, and nothing appended: for Python.
    bool append(std::string_view name, std::string& out) const;

private:
    int64_t place(uint32_t code) const;
    bool is_word(uint32_t code) const;
    bool ends_possessive(std::string_view name, std::size_t begin, std::size_t end) const;

    Ints codes_, offsets_;
    Bytes text_, words_;
    Buffers buffers_;
};

inline nb::str string_of(std::string_view text) { return nb::str(text.data(), text.size()); }
inline nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }

// The UTF-8 of a string, valid as long as it; false for one with lone surrogates.
inline bool utf8_of(PyObject* text, std::string_view& out) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : nullptr;
    if (!data) {
        PyErr_Clear();
        return false;
    }
    out = {data, static_cast<std::size_t>(size)};
    return true;
}

}  // namespace sgtb
