// Binding of kernels: arguments are read by the types of a C++ function, the GIL is released.
//
//     SGTB_RECORD(Points, offsets, residual)                  // attributes of a Python object
//     SGTB_BIND(fill_rows, documents, points, out);
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "array.hpp"
#include "check.hpp"

namespace sgtb {

namespace nb = nanobind;

// The name of an argument or of a field of one, for errors.
struct Path {
    const char* name;
    const Path* parent = nullptr;

    std::string text() const;
    [[noreturn]] void fail(const std::string& problem) const;  // as a TypeError
};

// A type of items of arrays: its name, its size, and the characters that buffers have for it. Those
// of integers are the C types, of which several have the same size.
struct ItemType {
    const char* name;
    Py_ssize_t size;
    std::string_view formats;
};

template <class T>
constexpr ItemType item_type() {
    if constexpr (std::is_same_v<T, float>) return {"float32", 4, "f"};
    if constexpr (std::is_same_v<T, double>) return {"float64", 8, "d"};
    if constexpr (std::is_same_v<T, bool>) return {"bool", 1, "?"};
    if constexpr (std::is_same_v<T, uint8_t>) return {"uint8", 1, "B?"};
    if constexpr (std::is_same_v<T, int8_t>) return {"int8", 1, "b"};
    if constexpr (std::is_same_v<T, int16_t>) return {"int16", 2, "hilq"};
    if constexpr (std::is_same_v<T, uint16_t>) return {"uint16", 2, "HILQ"};
    if constexpr (std::is_same_v<T, int32_t>) return {"int32", 4, "hilq"};
    if constexpr (std::is_same_v<T, uint32_t>) return {"uint32", 4, "HILQ"};
    if constexpr (std::is_same_v<T, int64_t>) return {"int64", 8, "hilq"};
    if constexpr (std::is_same_v<T, uint64_t>) return {"uint64", 8, "HILQ"};
}

// The buffers of a call's arrays; released with the GIL held.
class Buffers {
public:
    Buffers() = default;
    Buffers(const Buffers&) = delete;
    Buffers(Buffers&&) = default;
    ~Buffers() {
        for (Py_buffer& buffer : held_) PyBuffer_Release(&buffer);
    }

    // The buffer of an array of this rank and with items of this type.
    const Py_buffer& get(PyObject* object, const Path& path, bool writable, int rank,
                         const ItemType& type);

private:
    std::vector<Py_buffer> held_;
};

// Reader<T>::read fills a T from a Python object: a pointer from an instance of a class bound with
// nanobind, a struct from attributes, by the function that SGTB_RECORD makes.
template <class T>
struct Reader {
    static void read(Buffers& buffers, PyObject* object, const Path& path, T& out) {
        if constexpr (std::is_pointer_v<T>) {
            using Class = std::remove_pointer_t<T>;
            if (!nb::isinstance<Class>(object)) path.fail("an object of another type");
            out = nb::inst_ptr<Class>(object);
        } else {
            read_record(buffers, object, path, out);
        }
    }
};

template <>
struct Reader<int64_t> {
    static void read(Buffers&, PyObject* object, const Path& path, int64_t& out);
};

template <>
struct Reader<double> {
    static void read(Buffers&, PyObject* object, const Path& path, double& out);
};

template <>
struct Reader<bool> {
    static void read(Buffers&, PyObject* object, const Path& path, bool& out);
};

template <class T, int N>
struct Reader<Array<T, N>> {
    static void read(Buffers& buffers, PyObject* object, const Path& path, Array<T, N>& out) {
        using Value = std::remove_const_t<T>;
        const Py_buffer& buffer =
            buffers.get(object, path, !std::is_const_v<T>, N, item_type<Value>());
        std::array<int64_t, N> shape;
        for (int d = 0; d < N; ++d) shape[d] = buffer.shape[d];
        out = Array<T, N>(static_cast<T*>(buffer.buf), shape);
    }
};

nb::object get_field(PyObject* object, const Path& path);

// A list or tuple.
template <class T>
struct Reader<std::vector<T>> {
    static void read(Buffers& buffers, PyObject* object, const Path& path, std::vector<T>& out) {
        const Py_ssize_t n = PySequence_Size(object);
        PyErr_Clear();
        if (n < 0) path.fail("a sequence is needed");
        out.resize(n);
        for (Py_ssize_t i = 0; i < n; ++i) {
            nb::object item = nb::steal(PySequence_GetItem(object, i));
            if (!item.is_valid()) throw nb::python_error();
            Reader<T>::read(buffers, item.ptr(), path, out[i]);
        }
    }
};

template <class T>
void read_field(Buffers& buffers, PyObject* object, const char* name, const Path& parent, T& out) {
    Path path{name, &parent};
    nb::object field = get_field(object, path);  // an array's buffer holds a reference of its own
    Reader<T>::read(buffers, field.ptr(), path, out);
}

#define SGTB_PARENS ()
#define SGTB_EXPAND(...) SGTB_EXPAND3(SGTB_EXPAND3(SGTB_EXPAND3(__VA_ARGS__)))
#define SGTB_EXPAND3(...) SGTB_EXPAND2(SGTB_EXPAND2(SGTB_EXPAND2(__VA_ARGS__)))
#define SGTB_EXPAND2(...) SGTB_EXPAND1(SGTB_EXPAND1(SGTB_EXPAND1(__VA_ARGS__)))
#define SGTB_EXPAND1(...) __VA_ARGS__
#define SGTB_EACH(macro, ...) __VA_OPT__(SGTB_EXPAND(SGTB_EACH_STEP(macro, __VA_ARGS__)))
#define SGTB_EACH_STEP(macro, first, ...) \
    macro(first) __VA_OPT__(SGTB_EACH_AGAIN SGTB_PARENS(macro, __VA_ARGS__))
#define SGTB_EACH_AGAIN() SGTB_EACH_STEP
#define SGTB_READ_FIELD(field) read_field(buffers, object, #field, path, out.field);

// Declare, behind a struct, that it is read from a Python object's attributes.
#define SGTB_RECORD(Name, ...)                                                                    \
    inline void read_record(Buffers& buffers, PyObject* object, const Path& path, Name& out) {    \
        SGTB_EACH(SGTB_READ_FIELD, __VA_ARGS__)                                                   \
    }

void check_count(std::size_t given, std::size_t needed, const char* name);

// How a kernel is called. One that takes `Buffers&` first may move them to keep its arrays.
template <bool KeepsBuffers, class Result, class... Args>
struct Call {
    using Values = std::tuple<std::decay_t<Args>...>;

    template <auto Function, std::size_t... I>
    static nb::object call(nb::args args, const char* name, const std::vector<std::string>& names,
                           std::index_sequence<I...>) {
        check_count(args.size(), sizeof...(Args), name);
        Buffers buffers;
        Values values;
        (Reader<std::tuple_element_t<I, Values>>::read(
             buffers, PyTuple_GetItem(args.ptr(), I), Path{names[I].c_str()}, std::get<I>(values)),
         ...);
        auto run = [&] {
            nb::gil_scoped_release released;
            if constexpr (KeepsBuffers)
                return Function(buffers, std::get<I>(values)...);
            else
                return Function(std::get<I>(values)...);
        };
        if constexpr (std::is_void_v<Result>) {
            run();
            return nb::none();
        } else {
            // A pointer is an object made for the caller, which frees it with the last reference.
            return nb::cast(run(), nb::rv_policy::take_ownership);
        }
    }
};

template <class>
struct Signature;
template <class Result, class... Args>
struct Signature<Result (*)(Args...)> : Call<false, Result, Args...> {};
template <class Result, class... Args>
struct Signature<Result (*)(Buffers&, Args...)> : Call<true, Result, Args...> {};

constexpr std::size_t count_names(std::string_view names) {
    return 1 + std::count(names.begin(), names.end(), ',');
}

// Make a kernel callable from Python; the names of its arguments are those in errors.
#define SGTB_BIND(function, ...) SGTB_BIND_AS(#function, function, __VA_ARGS__)
#define SGTB_BIND_AS(name, function, ...) \
    bind<&function, count_names(#__VA_ARGS__)>(module, name, #__VA_ARGS__)

template <auto Function, std::size_t n_names>
void bind(nb::module_& module, const char* name, const char* names) {
    using S = Signature<decltype(Function)>;
    static_assert(n_names == std::tuple_size_v<typename S::Values>, "one name per argument");
    module.def(name, [name, all = split_names(names)](nb::args args) {
        return S::template call<Function>(args, name, all, std::make_index_sequence<n_names>{});
    });
}

}  // namespace sgtb
