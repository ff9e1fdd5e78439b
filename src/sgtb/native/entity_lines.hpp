// Lines of entity lists that are plain JSON objects.
#pragma once

#include <cmath>
#include <deque>

#include "name_forms.hpp"

namespace sgtb {

struct PlainAlias {
    std::string_view name, source;  // source "": not stated
    int64_t count;
};

// The fields of a line; views of its text, or of strings that it owns.
struct PlainLine {
    int64_t keys = 0;  // bits, in the order of KEYS
    std::string_view id, name, description, type;
    std::vector<PlainAlias> aliases;
    std::vector<std::string_view> links;
    double popularity = std::nan("");
    int64_t in_links = -1, out_links = -1;
    std::deque<std::string> unescaped;
};

// Read and validate a line; false: it is for Python.
bool read_plain_line(const NameForms& forms, std::string_view text, PlainLine& out);

}  // namespace sgtb
