// Ctrl-C during long calls.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

namespace sgtb {

// Raises KeyboardInterrupt soon after Ctrl-C; call `check` in the outer loop of a long kernel.
class Interrupt {
public:
    void check() {
        auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        last_ = now;
        nanobind::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace sgtb
