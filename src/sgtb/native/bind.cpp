// Arguments of kernels that are read the same way whatever the kernel, and errors about them.
#include "bind.hpp"

#include <sstream>

namespace sgtb {

std::string Path::text() const {
    return parent ? parent->text() + "." + name : std::string(name);
}

void Path::fail(const std::string& problem) const {
    throw nb::type_error((text() + ": " + problem).c_str());
}

const Py_buffer& Buffers::get(PyObject* object, const Path& path, bool writable, int rank,
                              const ItemType& type) {
    Py_buffer buffer;
    int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &buffer, flags) != 0) {
        PyErr_Clear();
        path.fail(writable ? "a writable C-contiguous array is needed"
                           : "a C-contiguous array is needed");
    }
    held_.push_back(buffer);
    std::string_view format = buffer.format ? buffer.format : "";
    if (format.starts_with('@') || format.starts_with('=')) format.remove_prefix(1);
    if (buffer.ndim != rank || buffer.itemsize != type.size || format.size() != 1 ||
        type.formats.find(format[0]) == type.formats.npos)
        path.fail("a " + std::to_string(rank) + "-dimensional array of " + type.name +
                  " is needed");
    if (buffer.len > 0 && reinterpret_cast<std::uintptr_t>(buffer.buf) % buffer.itemsize != 0)
        path.fail("an aligned array is needed");
    return held_.back();
}

void Reader<int64_t>::read(Buffers&, PyObject* object, const Path& path, int64_t& out) {
    PyObject* number = PyNumber_Index(object);
    out = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        path.fail("a whole number is needed");
    }
}

void Reader<double>::read(Buffers&, PyObject* object, const Path& path, double& out) {
    out = PyFloat_AsDouble(object);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        path.fail("a number is needed");
    }
}

void Reader<bool>::read(Buffers&, PyObject* object, const Path&, bool& out) {
    int truth = PyObject_IsTrue(object);
    if (truth < 0) throw nb::python_error();
    out = truth != 0;
}

nb::object get_field(PyObject* object, const Path& path) {
    PyObject* field = PyObject_GetAttrString(object, path.name);
    if (!field) {
        PyErr_Clear();
        path.fail("is missing");
    }
    return nb::steal(field);
}

void check_count(std::size_t given, std::size_t needed, const char* name) {
    if (given != needed)
        Path{name}.fail(std::to_string(needed) + " arguments are needed, " +
                        std::to_string(given) + " given");
}

void fail(const char* name, const std::string& problem) {
    throw std::invalid_argument(std::string(name) + ": " + problem);
}

std::vector<std::string> split_names(std::string_view names) {
    std::istringstream list{std::string(names)};
    std::vector<std::string> out;
    for (std::string name; std::getline(list >> std::ws, name, ',');) out.push_back(name);
    return out;
}

void fail_length(int64_t length, int64_t expected, const char* name) {
    fail(name, "length " + std::to_string(length) + ", expected " + std::to_string(expected));
}

void fail_short(int64_t length, int64_t least, const char* name) {
    fail(name, "length " + std::to_string(length) + ", at least " + std::to_string(least) +
                   " needed");
}

void fail_value(int64_t value, int64_t low, int64_t end, const char* name) {
    fail(name, std::to_string(value) + " is outside " + std::to_string(low) + ".." +
                   std::to_string(end - 1));
}

void fail_end(int64_t end, int64_t expected, const char* name) {
    fail(name, "ends with " + std::to_string(end) + ", expected " + std::to_string(expected));
}

}  // namespace sgtb
