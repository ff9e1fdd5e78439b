// Compressed rows: lists of different lengths, and sparse matrices, by SciPy's names.
#pragma once

#include <string>

#include "bind.hpp"
#include "check.hpp"

namespace sgtb {

// List i is data[indptr[i] .. indptr[i + 1] - 1]. A list of non-const items is an output.
template <class T>
struct Ragged {
    Array<std::conditional_t<std::is_const_v<T>, const int64_t, int64_t>> indptr;
    Array<T> data;

    Array<T> operator[](int64_t i) const {
        SGTB_ASSERT(indptr[i] >= 0 && indptr[i + 1] <= data.size());
        return {data.data() + indptr[i], {indptr[i + 1] - indptr[i]}};
    }
};

template <class T>
SGTB_RECORD(Ragged<T>, indptr, data)

template <class T>
void check_ragged(const Ragged<T>& lists, int64_t n, const std::string& name) {
    check_offsets(lists.indptr, n, lists.data.size(), (name + ".indptr").c_str());
}

// Row r of a sparse matrix has the values `data` in the columns `indices`.
template <class Index, class Value>
struct SparseMatrix {
    Array<std::conditional_t<std::is_const_v<Index>, const int64_t, int64_t>> indptr;
    Array<Index> indices;
    Array<Value> data;
};

using SparseRows = SparseMatrix<const int32_t, const float>;

template <class Index, class Value>
void read_record(Buffers& buffers, PyObject* object, const Path& path,
                 SparseMatrix<Index, Value>& out) {
    SGTB_EACH(SGTB_READ_FIELD, indptr, indices, data)
}

inline void check_sparse(const SparseRows& rows, int64_t n, int64_t n_columns, const char* name) {
    check_offsets(rows.indptr, n, rows.indices.size(), name);
    check_equal(rows.data.size(), rows.indices.size(), name);
    check_range(rows.indices, 0, n_columns, name);
}

}  // namespace sgtb
