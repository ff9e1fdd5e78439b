// Views of contiguous arrays, the only form in which kernels see data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#ifdef SGTB_CHECKED  // the sanitized build
#include <cstdio>
#include <cstdlib>
extern "C" void __sanitizer_print_stack_trace();
#define SGTB_ASSERT(condition)                                                            \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            __sanitizer_print_stack_trace();                                              \
            std::abort();                                                                 \
        }                                                                                 \
    } while (false)
#else
#define SGTB_ASSERT(condition) \
    do {                       \
    } while (false)
#endif

namespace sgtb {

// An N-dimensional view in C order. `Array<const T>` is read-only.
template <class T, int N = 1>
class Array {
public:
    using value_type = std::remove_const_t<T>;
    using element_type = T;
    static constexpr int rank = N;

    Array() = default;
    Array(T* data, std::array<int64_t, N> shape) : data_(data), shape_(shape) {}

    // A writable view may be used where a read-only one is wanted.
    operator Array<const T, N>() const
        requires(!std::is_const_v<T>)
    {
        return {data_, shape_};
    }

    T* data() const { return data_; }
    int64_t shape(int dimension) const { return shape_[dimension]; }

    int64_t size() const {
        int64_t n = 1;
        for (int64_t length : shape_) n *= length;
        return n;
    }

    T* begin() const { return data_; }
    T* end() const { return data_ + size(); }
    std::span<T> span() const { return {data_, static_cast<std::size_t>(size())}; }

    T& operator[](int64_t i) const
        requires(N == 1)
    {
        SGTB_ASSERT(i >= 0 && i < shape_[0]);
        return data_[i];
    }

    template <class... Index>
    T& operator()(Index... index) const
        requires(sizeof...(Index) == N)
    {
        return data_[offset({static_cast<int64_t>(index)...})];
    }

    // The view of one entry of the first dimension.
    Array<T, N - 1> row(int64_t i) const
        requires(N > 1)
    {
        SGTB_ASSERT(i >= 0 && i < shape_[0]);
        std::array<int64_t, N - 1> rest;
        int64_t stride = 1;
        for (int d = 1; d < N; ++d) {
            rest[d - 1] = shape_[d];
            stride *= shape_[d];
        }
        return {data_ + i * stride, rest};
    }

private:
    int64_t offset(std::array<int64_t, N> index) const {
        int64_t at = 0;
        for (int d = 0; d < N; ++d) {
            SGTB_ASSERT(index[d] >= 0 && index[d] < shape_[d]);
            at = at * shape_[d] + index[d];
        }
        return at;
    }

    T* data_ = nullptr;
    std::array<int64_t, N> shape_{};
};

using Bytes = Array<const uint8_t>;
using Ints = Array<const int32_t>;
using Longs = Array<const int64_t>;
using Floats = Array<const float>;
using Doubles = Array<const double>;

}  // namespace sgtb
