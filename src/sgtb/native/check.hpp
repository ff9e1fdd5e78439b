// Checks of what callers pass in: every entry point makes them once, before it reads an element.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "array.hpp"

namespace sgtb {

// The errors are made in bind.cpp: they become a ValueError.
[[noreturn]] void fail(const char* name, const std::string& problem);
[[noreturn]] void fail_length(int64_t length, int64_t expected, const char* name);
[[noreturn]] void fail_short(int64_t length, int64_t least, const char* name);
[[noreturn]] void fail_value(int64_t value, int64_t low, int64_t end, const char* name);
[[noreturn]] void fail_end(int64_t end, int64_t expected, const char* name);

inline void check_equal(int64_t length, int64_t expected, const char* name) {
    if (length != expected) fail_length(length, expected, name);
}

// The names in "a, b, c".
std::vector<std::string> split_names(std::string_view names);

// Raise unless all arrays have n items: SGTB_CHECK_LENGTHS(n, prior, facts.degree, out).
#define SGTB_CHECK_LENGTHS(n, ...) check_lengths(#__VA_ARGS__, n, __VA_ARGS__)
template <class... Arrays>
void check_lengths(const char* names, int64_t n, const Arrays&... arrays) {
    const int64_t lengths[] = {arrays.size()...};
    for (std::size_t i = 0; i < sizeof...(arrays); ++i)
        if (lengths[i] != n) fail_length(lengths[i], n, split_names(names)[i].c_str());
}

template <class T, int N>
void check_shape(const Array<T, N>& array, const std::array<int64_t, N>& shape, const char* name) {
    for (int d = 0; d < N; ++d) check_equal(array.shape(d), shape[d], name);
}

inline void check_at_least(int64_t length, int64_t least, const char* name) {
    if (length < least) fail_short(length, least, name);
}

inline void check_value(int64_t value, int64_t low, int64_t end, const char* name) {
    if (value < low || value >= end) fail_value(value, low, end, name);
}

// All values are in low..end-1.
template <class T, int N>
void check_range(Array<T, N> values, int64_t low, int64_t end, const char* name) {
    using Value = std::remove_const_t<T>;
    if (values.size() == 0) return;
    Value least = *values.begin(), most = least;
    for (Value value : values) {
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    check_value(static_cast<int64_t>(least), low, end, name);
    check_value(static_cast<int64_t>(most), low, end, name);
}

// Offsets of `n` groups into `total` items: n + 1 ascending numbers from 0 to `total`.
template <class T>
void check_offsets(Array<T> offsets, int64_t n, int64_t total, const char* name) {
    if (offsets.size() == 0) fail(name, "is empty");
    check_equal(offsets.size(), n + 1, name);
    if (offsets[0] != 0) fail(name, "does not begin with 0");
    bool ascending = true;
    for (int64_t i = 0; i < n; ++i) ascending &= offsets[i] <= offsets[i + 1];
    if (!ascending) fail(name, "is not ascending");
    if (offsets[n] != total) fail_end(offsets[n], total, name);
}

// Offsets of any number of groups into `total` items.
template <class T>
void check_groups(Array<T> offsets, int64_t total, const char* name) {
    check_offsets(offsets, offsets.size() - 1, total, name);
}

}  // namespace sgtb
