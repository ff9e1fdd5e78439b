// Lists of different lengths in one array: list i is items[offsets[i] .. offsets[i + 1] - 1].
#pragma once

#include <string>

#include "bind.hpp"
#include "check.hpp"

namespace sgtb {

template <class T>
struct Ragged {
    Longs offsets;
    Array<const T> items;

    std::span<const T> operator[](int64_t i) const {
        SGTB_ASSERT(offsets[i] >= 0 && offsets[i + 1] <= items.size());
        return {items.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

template <class T>
struct Reader<Ragged<T>> {
    static void read(Buffers& buffers, PyObject* object, const Path& path, Ragged<T>& out) {
        read_field(buffers, object, "offsets", path, out.offsets);
        read_field(buffers, object, "items", path, out.items);
    }
};

template <class T>
void check_ragged(const Ragged<T>& lists, int64_t n, const char* name) {
    check_offsets(lists.offsets, n, lists.items.size(), name);
}

// Rows of a sparse matrix: row r has `values` at `columns`.
struct SparseRows {
    Longs offsets;
    Ints columns;
    Floats values;
};

SGTB_RECORD(SparseRows, offsets, columns, values)

inline void check_sparse(const SparseRows& rows, int64_t n, int64_t n_columns, const char* name) {
    check_offsets(rows.offsets, n, rows.columns.size(), name);
    check_equal(rows.values.size(), rows.columns.size(), name);
    check_range(rows.columns, 0, n_columns, name);
}

}  // namespace sgtb
