// The normal form of names, by a table of characters.
#pragma once

#include <string>
#include <string_view>

#include "bind.hpp"

namespace sgtb {

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

struct Character {
    uint32_t code;
    std::size_t size;
};

// The character at a position of valid UTF-8.
inline Character character_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) -> uint32_t {
        return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : 0;
    };
    const uint32_t first = byte(0);
    if (first < 0x80) return {first, 1};
    if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
    if (first < 0xF0) return {(first & 0xF) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
    return {(first & 7) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
            4};
}

// Append a character as UTF-8.
inline void put_utf8(std::string& out, uint32_t code) {
    const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
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

inline nb::str string_of(std::string_view text) { return nb::str(text.data(), text.size()); }

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
