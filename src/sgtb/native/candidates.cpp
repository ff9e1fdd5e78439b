// Candidates of names as a knowledge base stores them: as arrays, and as Python records.
//
// The value of a name is two numbers, then (entity, prior) per candidate, then counts by source.
#include <cstring>

#include "bind.hpp"
#include "check.hpp"

namespace sgtb {

namespace {

template <class T>
T load(const uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

// Read the values of names; an empty one is that of an unknown name.
//
// sources       counts per candidate; `variant`: the source of variants, -1: none
// offsets       of the candidates of each name: all that it has, or the first ones
// heads         the two numbers of each name; 0 of an unknown one
// only_variant  whether no other source counts a candidate
void read_candidates(std::vector<Bytes> values, int64_t sources, int64_t variant,
                     Array<uint32_t, 2> heads, Longs offsets, Array<int32_t> entity,
                     Array<float> prior, Array<bool> only_variant) {
    const auto n_names = static_cast<int64_t>(values.size());
    check_value(sources, 0, int64_t{1} << 20, "sources");
    check_shape(heads, {2, n_names}, "heads");
    check_offsets(offsets, n_names, entity.size(), "offsets");
    SGTB_CHECK_LENGTHS(entity.size(), prior, only_variant);
    const int64_t width = 8 + 4 * sources;
    for (int64_t i = 0; i < n_names; ++i) {
        const Bytes value = values[i];
        const int64_t rest = value.size() - 8, n = offsets[i + 1] - offsets[i];
        if (value.size() && (rest < 0 || rest % width))
            fail("values", "one fits no number of candidates");
        const int64_t stored = value.size() ? rest / width : 0;
        check_value(n, 0, stored + 1, "offsets");
        for (int64_t j = 0; j < 2; ++j)
            heads(j, i) = value.size() ? load<uint32_t>(value.data() + 4 * j) : 0;
        for (int64_t j = 0; j < n; ++j) {
            const int64_t c = offsets[i] + j;
            const uint8_t* const pair = value.data() + 8 + 8 * j;
            const uint8_t* const counts = value.data() + 8 + 8 * stored + 4 * sources * j;
            entity[c] = load<int32_t>(pair);
            prior[c] = load<float>(pair + 4);
            bool listed = variant < 0;
            for (int64_t s = 0; s < sources; ++s)
                listed |= s != variant && load<uint32_t>(counts + 4 * s) != 0;
            only_variant[c] = !listed;
        }
    }
}

// ---- one name, as records

// Give a new object to a new tuple.
void put(const nb::object& tuple, Py_ssize_t i, PyObject* item) {
    if (!item || PyTuple_SetItem(tuple.ptr(), i, item) != 0) throw nb::python_error();
}

nb::object owned(PyObject* made) {
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

// Makes the records of a name's candidates. Reads with the GIL held: most of it makes objects.
class CandidateReader {
public:
    // rows      of entities, `row_size` bytes each
    // text_at   where in a row the position of its text is; from `id_size` on, the sizes of the
    //           id and of the title, which begin that text
    // sources   counts of a candidate
    CandidateReader(Buffers& buffers, Bytes rows, int64_t row_size, int64_t text_at,
                    int64_t id_size, Bytes text, int64_t sources)
        : rows_(rows), text_(text), row_size_(row_size), text_at_(text_at), id_size_(id_size),
          sources_(sources), buffers_(std::move(buffers)) {
        check_value(row_size, 16, 1 << 20, "row_size");
        check_value(text_at, 0, row_size - 7, "text_at");
        check_value(id_size, 0, row_size - 7, "id_size");
        check_value(sources, 0, 1 << 20, "sources");
    }

    // At most `limit` candidates of a name as (id, number, title, prior, counts), each of `type`,
    // a kind of tuple: its instances are allocated and filled, half the time of calling it.
    nb::object read(nb::handle value, int64_t limit, nb::handle type) const {
        if (!PyType_Check(type.ptr()) ||
            !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), &PyTuple_Type))
            Path{"type"}.fail("a kind of tuple is needed");
        Py_buffer buffer;
        if (PyObject_GetBuffer(value.ptr(), &buffer, PyBUF_SIMPLE) != 0) throw nb::python_error();
        const Released released{buffer};
        const int64_t size = 4 * sources_, width = 8 + size, rest = buffer.len - 8;
        if (rest < 0 || rest % width) fail("names", "a value fits no number of candidates");
        const int64_t stored = rest / width, n = std::clamp<int64_t>(limit, 0, stored);
        const auto* pairs = static_cast<const uint8_t*>(buffer.buf) + 8;
        prefetch(pairs, n);
        auto* kind = reinterpret_cast<PyTypeObject*>(type.ptr());
        const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(kind, Py_tp_alloc));
        nb::object found = owned(PyTuple_New(n)), counts;
        for (int64_t i = 0; i < n; ++i) {
            nb::object record = owned(allocate(kind, 5));
            const uint32_t number = load<uint32_t>(pairs + 8 * i);
            put_names(record, number);
            put(record, 1, PyLong_FromUnsignedLong(number));
            put(record, 3, PyFloat_FromDouble(load<float>(pairs + 8 * i + 4)));
            const auto* count = pairs + 8 * stored + size * i;
            // Names that were not counted have the same counts for most candidates.
            if (i == 0 || std::memcmp(count, count - size, size) != 0) counts = counts_of(count);
            put(record, 4, nb::object(counts).release().ptr());
            // Neither can be part of a cycle; the collector would look at each of them.
            PyObject_GC_UnTrack(record.ptr());
            put(found, i, record.release().ptr());
        }
        return found;
    }

private:
    struct Released {
        Py_buffer& buffer;
        ~Released() { PyBuffer_Release(&buffer); }
    };

    // Load the rows of candidates and then their texts, which are far apart, all at a time.
    void prefetch(const uint8_t* pairs, int64_t n) const {
        const int64_t rows = rows_.size() / row_size_;
        for (int64_t i = 0; i < n; ++i)
            if (const int64_t number = load<uint32_t>(pairs + 8 * i); number < rows)
                __builtin_prefetch(rows_.data() + number * row_size_ + text_at_);
        for (int64_t i = 0; i < n; ++i) {
            const int64_t number = load<uint32_t>(pairs + 8 * i);
            if (number >= rows) continue;
            const int64_t at = load<int64_t>(rows_.data() + number * row_size_ + text_at_);
            if (at >= 0 && at < text_.size()) __builtin_prefetch(text_.data() + at);
        }
    }

    nb::object counts_of(const uint8_t* count) const {
        nb::object counts = owned(PyTuple_New(sources_));
        for (int64_t s = 0; s < sources_; ++s)
            put(counts, s, PyLong_FromUnsignedLong(load<uint32_t>(count + 4 * s)));
        PyObject_GC_UnTrack(counts.ptr());
        return counts;
    }

    void put_names(const nb::object& record, int64_t number) const {
        check_value(number, 0, rows_.size() / row_size_, "names");
        const uint8_t* row = rows_.data() + number * row_size_;
        const int64_t at = load<int64_t>(row + text_at_), end = text_.size();
        const int64_t id = load<int32_t>(row + id_size_), title = load<int32_t>(row + id_size_ + 4);
        check_value(at, 0, end + 1, "entities");
        check_value(id, 0, end - at + 1, "entities");
        check_value(title, 0, end - at - id + 1, "entities");
        const char* text = reinterpret_cast<const char*>(text_.data()) + at;
        put(record, 0, PyUnicode_DecodeUTF8(text, id, nullptr));
        put(record, 2, PyUnicode_DecodeUTF8(text + id, title, nullptr));
    }

    Bytes rows_, text_;
    int64_t row_size_, text_at_, id_size_, sources_;
    Buffers buffers_;
};

CandidateReader* make_candidate_reader(Buffers& buffers, Bytes rows, int64_t row_size,
                                       int64_t text_at, int64_t id_size, Bytes text,
                                       int64_t sources) {
    return new CandidateReader(buffers, rows, row_size, text_at, id_size, text, sources);
}

}  // namespace

void bind_candidates(nb::module_& module) {
    SGTB_BIND(read_candidates, values, sources, variant, heads, offsets, entity, prior,
              only_variant);
    nb::class_<CandidateReader>(module, "CandidateReader").def("read", &CandidateReader::read);
    SGTB_BIND_AS("candidate_reader", make_candidate_reader, rows, row_size, text_at, id_size,
                 text, sources);
}

}  // namespace sgtb
