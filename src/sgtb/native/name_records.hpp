// Records of an entity's names, made of its spellings.
#pragma once

#include "name_forms.hpp"

namespace sgtb {

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
