// A hash table from hashes of words or names to their numbers.
#pragma once

#include "bind.hpp"
#include "check.hpp"

namespace sgtb {

// The numbers of words by the hashes of these; -1: an empty place.
struct WordTable {
    Array<const uint64_t> hashes;
    Ints numbers;

    // The place of a word, or the empty one where it would be.
    int64_t place(uint64_t hash) const {
        const auto mask = static_cast<uint64_t>(numbers.size() - 1);
        uint64_t at = hash & mask;
        for (int64_t probes = 0; probes < numbers.size(); ++probes, at = (at + 1) & mask)
            if (numbers[at] < 0 || hashes[at] == hash) return static_cast<int64_t>(at);
        fail("table.numbers", "no place is empty");
    }
};

SGTB_RECORD(WordTable, hashes, numbers)

inline void check_table(const WordTable& table) {
    check_at_least(table.numbers.size(), 1, "table.numbers");
    if (table.numbers.size() & (table.numbers.size() - 1))
        fail("table.numbers", "the length is no power of two");
    check_equal(table.hashes.size(), table.numbers.size(), "table.hashes");
}

}  // namespace sgtb
