// Products of vectors with many others, which lie in panels of eight:
//
//     panel 0   coordinate 0  v0 v1 v2 ... v7     coordinate 1  v0 v1 v2 ... v7     ...
//     panel 1   coordinate 0  v8 v9 v10 ... v15   ...
//
// Every sum runs in coordinate order, so results are those of plain loops.
#pragma once

#include <algorithm>
#include <vector>

#include "simd.hpp"

namespace sgtb {

class Panels {
public:
    static constexpr int64_t WIDTH = 8;  // vectors of a panel

    // Make room for n vectors, which are 0 until they are put in.
    void make_room(int64_t n, int64_t n_coordinates) {
        n_coordinates_ = n_coordinates;
        values_.assign((n + WIDTH - 1) / WIDTH * WIDTH * n_coordinates, 0.0f);
    }
    void put(int64_t i, const float* vector) {
        float* const to = values_.data() + i / WIDTH * WIDTH * n_coordinates_ + i % WIDTH;
        for (int64_t k = 0; k < n_coordinates_; ++k) to[k * WIDTH] = vector[k];
    }

    // Lay out n vectors; vector(i) points to the coordinates of the i-th.
    template <class Vector>
    void fill(int64_t n, int64_t n_coordinates, Vector vector) {
        make_room(n, n_coordinates);
        for (int64_t i = 0; i < n; ++i) put(i, vector(i));
    }

    // Write the products of n vectors with those of panels first..last-1, row by row.
    void multiply(int64_t n, const float* const* vectors, int64_t first, int64_t last, float* out,
                  int64_t stride) const {
        multiply(n, vectors, first, last, out, stride, 0, n_coordinates_);
    }

    // Write the products of some coordinates only.
    void multiply(int64_t n, const float* const* vectors, int64_t first, int64_t last, float* out,
                  int64_t stride, int64_t begin, int64_t end) const {
        for (int64_t p = first; p < last; p += AT_ONCE) {
            float* const to = out + (p - first) * WIDTH;
            for (int64_t r = 0; r < n; r += ROWS) {
                if (p + AT_ONCE <= last)
                    multiply_rows<AT_ONCE>(n - r, vectors + r, p, to + r * stride, stride, begin, end);
                else
                    multiply_rows<1>(n - r, vectors + r, p, to + r * stride, stride, begin, end);
            }
        }
    }

private:
    static constexpr int ROWS = 4;
    static constexpr int AT_ONCE = REGISTER == 32 ? 2 : 1;  // panels; sums stay in registers

    const float* panel(int64_t p) const { return values_.data() + p * WIDTH * n_coordinates_; }

    template <int N_PANELS>
    void multiply_rows(int64_t n, const float* const* rows, int64_t p, float* out, int64_t stride,
                       int64_t begin, int64_t end) const {
        if (n >= 4) return multiply_tile<4, N_PANELS>(rows, p, out, stride, begin, end);
        if (n == 3) return multiply_tile<3, N_PANELS>(rows, p, out, stride, begin, end);
        if (n == 2) return multiply_tile<2, N_PANELS>(rows, p, out, stride, begin, end);
        multiply_tile<1, N_PANELS>(rows, p, out, stride, begin, end);
    }

    template <int N_ROWS, int N_PANELS>
    [[gnu::noinline]] void multiply_tile(const float* const* rows, int64_t p, float* out,
                                         int64_t stride, int64_t begin, int64_t end) const {
        Eight sum[N_ROWS][N_PANELS];
        for (auto& row : sum)
            for (Eight& one : row) one = Eight::all(0.0f);
        const float* const left = panel(p);
        const int64_t size = WIDTH * n_coordinates_;
        for (int64_t k = begin; k < end; ++k) {
            Eight x[N_PANELS];
            for (int j = 0; j < N_PANELS; ++j) x[j] = Eight::load(left + j * size + k * WIDTH);
            for (int i = 0; i < N_ROWS; ++i) {
                const Eight a = Eight::all(rows[i][k]);
                for (int j = 0; j < N_PANELS; ++j) sum[i][j] = sum[i][j] + a * x[j];
            }
        }
        for (int i = 0; i < N_ROWS; ++i)
            for (int j = 0; j < N_PANELS; ++j) sum[i][j].store(out + i * stride + j * WIDTH);
    }

    int64_t n_coordinates_ = 0;
    std::vector<float> values_;
};

}  // namespace sgtb
