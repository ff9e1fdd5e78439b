// Name variants by the rules of name_variants.py, for names of Latin letters.
#pragma once

#include <memory>

#include "name_forms.hpp"

namespace sgtb {

// Makes variants, in one thread at a time.
class VariantMaker {
public:
    // words   sets of words by name
    // maps    other words of a word, by name
    // spelt   British and American parts of words
    // places  other names of places by normal name
    // Limits are those of the names of an entity, and of their variants.
    VariantMaker(nb::dict words, nb::dict maps, nb::handle spelt, nb::dict places,
                 std::size_t max_names, std::size_t max_variants);
    VariantMaker(const VariantMaker& other);
    ~VariantMaker();

    // Append the variants of an entity's names; false: some names are for Python.
    bool make(const NameForms& forms, const std::vector<std::string_view>& names,
              std::string_view type, std::vector<std::string>& out);

private:
    class Rules;
    std::unique_ptr<Rules> rules_;
};

}  // namespace sgtb
