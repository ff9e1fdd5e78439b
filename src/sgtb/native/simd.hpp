// Eight numbers at a time, in as many registers as the target needs.
//
// The order of operations is that of plain loops, so every target gives the same bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace sgtb {

#if defined(__GNUC__) && !defined(SGTB_PLAIN)  // GCC and Clang
#define SGTB_VECTORS
#endif

#if defined(SGTB_VECTORS) && defined(__AVX2__)
inline constexpr int REGISTER = 32;
#else
inline constexpr int REGISTER = 16;
#endif

// N lanes of T that fill whole registers of R bytes; without vector extensions, N numbers.
template <class T, int N, int R = REGISTER>
struct Lanes {
#if defined(SGTB_VECTORS)
    typedef T Part __attribute__((vector_size(R)));
    static constexpr int width = R / static_cast<int>(sizeof(T));
    T operator[](int i) const { return part[i / width][i % width]; }
#else
    typedef T Part;
    static constexpr int width = 1;
    T operator[](int i) const { return part[i]; }
#endif
    static constexpr int parts = N / width;
    static_assert(parts * width == N);
    Part part[parts];

    static Lanes all(T value) {
        Lanes out;
        for (int p = 0; p < parts; ++p) out.part[p] = value - Part{};
        return out;
    }
    static Lanes load(const T* from) {
        Lanes out;  // register by register: one copy of all would go through memory
        for (int p = 0; p < parts; ++p) std::memcpy(&out.part[p], from + p * width, sizeof(Part));
        return out;
    }
    void store(T* to) const {
        for (int p = 0; p < parts; ++p) std::memcpy(to + p * width, &part[p], sizeof(Part));
    }

    // Apply an operation to each part of two operands.
    template <class Operation>
    static Lanes zip(Lanes a, Lanes b, Operation operation) {
        for (int p = 0; p < parts; ++p) a.part[p] = operation(a.part[p], b.part[p]);
        return a;
    }
    friend Lanes operator+(Lanes a, Lanes b) {
        return zip(a, b, [](Part x, Part y) -> Part { return x + y; });
    }
    friend Lanes operator-(Lanes a, Lanes b) {
        return zip(a, b, [](Part x, Part y) -> Part { return x - y; });
    }
    friend Lanes operator*(Lanes a, Lanes b) {
        return zip(a, b, [](Part x, Part y) -> Part { return x * y; });
    }
    friend Lanes operator&(Lanes a, Lanes b) {
        return zip(a, b, [](Part x, Part y) -> Part { return x & y; });
    }
    friend Lanes operator|(Lanes a, Lanes b) {
        return zip(a, b, [](Part x, Part y) -> Part { return x | y; });
    }
    // All bits set where a <= b, of integers.
    friend Lanes at_most(Lanes a, Lanes b) {
        return zip(a, b, [](Part x, Part y) -> Part { return x <= y ? ~Part{} : Part{}; });
    }
    // The larger of two numbers; b where they are equal or not ordered.
    friend Lanes larger(Lanes a, Lanes b) {
        return zip(a, b, [](Part x, Part y) -> Part { return x > y ? x : y; });
    }
};

// Count how many of fifteen numbers are below `value`.
inline int count_below(const float* numbers, float value) {
#if defined(SGTB_VECTORS)
    typedef float Four __attribute__((vector_size(16)));
    typedef int32_t Counts __attribute__((vector_size(16)));
    auto below = [&](int i) -> Counts {
        Four some;
        std::memcpy(&some, numbers + i, sizeof(some));
        return some < value - Four{};  // -1 where true
    };
    // The last four overlap those before by one.
    const Counts n = below(0) + below(4) + below(8) + (below(11) & Counts{0, -1, -1, -1});
    return -(n[0] + n[1] + n[2] + n[3]);
#else
    int n = 0;
    for (int i = 0; i < 15; ++i) n += numbers[i] < value;
    return n;
#endif
}

using Eight = Lanes<float, 8>;
using EightDoubles = Lanes<double, 8>;

// Add 1 to a count where a > b.
inline void count_above(const Eight& a, const Eight& b, Lanes<int32_t, 8>& count) {
#if defined(SGTB_VECTORS)
    for (int p = 0; p < Eight::parts; ++p) count.part[p] -= a.part[p] > b.part[p];
#else
    for (int i = 0; i < 8; ++i) count.part[i] += a.part[i] > b.part[i];
#endif
}

// The same numbers in double precision.
template <int N>
Lanes<double, N> doubles(const Lanes<float, N>& a) {
    Lanes<double, N> out;
#if defined(SGTB_VECTORS)
    typedef float Half __attribute__((vector_size(REGISTER / 2)));
    using Part = typename Lanes<double, N>::Part;
    for (int p = 0; p < out.parts; ++p) {
        Half half;
        std::memcpy(&half, reinterpret_cast<const char*>(a.part) + p * sizeof(Half), sizeof(Half));
        out.part[p] = __builtin_convertvector(half, Part);
    }
#else
    for (int i = 0; i < N; ++i) out.part[i] = a.part[i];
#endif
    return out;
}

}  // namespace sgtb
