// Records of an entity's names, made of its spellings.
#pragma once

#include "name_forms.hpp"

namespace sgtb {

// An entity as it is stored: ROW of kb/layout.py.
struct Row {
    int64_t text_at, links_at, near_at;
    int32_t id_size, title_size, description_size, spellings_size;
    int32_t links, in_links, stated_out, stated_in, near;
    float popularity;
    int32_t vector;
    uint8_t type, alive;
    uint16_t own_type;
};

static_assert(sizeof(Row) == 72);

template <class T>
void put_raw(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// A spelling with the number of its source and its count.
struct Counted {
    std::string_view text;
    uint32_t source;
    uint64_t count;

    bool same_name(const Counted& other) const {
        return source == other.source && text == other.text;
    }
};

// Merge the spellings of an entity, and append to `packed` how they are stored and to `records` its
// records of names as a run. False: some names are for Python; what was appended is invalid.
bool pack_spellings(const NameForms& forms, std::vector<Counted>& spellings, uint32_t entity,
                    std::string& packed, std::string& records);

}  // namespace sgtb
