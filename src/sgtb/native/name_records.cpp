// Records of names: made of an entity's spellings, sorted, merged, and packed as values.
//
// A record is a name in normal form, a zero byte, and entity, source and count, so that records
// sort by name, entity and source. A run is a sequence of records, each after its size.
#include "name_records.hpp"

#include <cstring>
#include <memory>
#include <queue>

#include "check.hpp"

namespace sgtb {

namespace {

constexpr std::size_t TAIL = 9, SIZE = 4;

template <class T>
T get_raw(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

void put_big_endian(std::string& out, uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

uint32_t get_big_endian(const char* at) {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(at[i]);
    return value;
}

nb::object owned(PyObject* made) {
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

// Call a function without the GIL.
template <class Function>
auto released(Function function) {
    nb::gil_scoped_release without;
    return function();
}

// ---- spellings of one entity

void sort_by_name(std::vector<Counted>& items) {
    std::sort(items.begin(), items.end(), [](const Counted& a, const Counted& b) {
        const int order = a.text.compare(b.text);
        return order < 0 || (order == 0 && a.source < b.source);
    });
}

// Add spellings, tuples of text, source and count; false: some are for Python.
bool read_spellings(PyObject* given, std::vector<Counted>& out) {
    const Py_ssize_t n = PyList_Check(given) ? PyList_Size(given) : -1;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* one = PyList_GetItem(given, i);
        if (!PyTuple_Check(one) || PyTuple_Size(one) != 3) return false;
        Counted item;
        const long long source = PyLong_AsLongLong(PyTuple_GetItem(one, 1));
        const long long count = PyLong_AsLongLong(PyTuple_GetItem(one, 2));
        if (PyErr_Occurred()) throw nb::python_error();
        if (source < 0 || source > 0xFF || count < 1 || count > MAX_COUNT ||
            !utf8_of(PyTuple_GetItem(one, 0), item.text) || item.text.size() > MAX_SPELLING)
            return false;
        item.source = static_cast<uint32_t>(source);
        item.count = static_cast<uint64_t>(count);
        out.push_back(item);
    }
    return n >= 0;
}

// Merge items of one name and source: counts are added, and capped.
void merge_counts(std::vector<Counted>& items) {
    std::size_t kept = 0;
    for (const Counted& item : items) {
        if (kept && items[kept - 1].same_name(item))
            items[kept - 1].count = std::min<uint64_t>(items[kept - 1].count + item.count, MAX_COUNT);
        else
            items[kept++] = item;
    }
    items.resize(kept);
}

// The records of an entity as a run; false: some names are for Python.
bool make_records(const NameForms& forms, const std::vector<Counted>& spellings, uint32_t entity,
                  std::string& out) {
    std::string text;
    std::vector<std::size_t> ends;
    for (const Counted& one : spellings) {
        const std::size_t begin = text.size();
        if (!forms.append(one.text, text) || text.size() - begin > MAX_KEY) return false;
        ends.push_back(text.size());
    }
    std::vector<Counted> names;
    for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++])
        names.push_back({std::string_view(text).substr(begin, ends[i] - begin),
                         spellings[i].source, spellings[i].count});
    sort_by_name(names);
    for (std::size_t i = 0, end; i < names.size(); i = end) {
        uint64_t sum = 0, most = 0;
        for (end = i; end < names.size() && names[end].same_name(names[i]); ++end) {
            sum += names[end].count;
            most = std::max(most, names[end].count);
        }
        // Spellings that were not counted, all with 1, count once.
        const uint64_t count = most > 1 ? std::min<uint64_t>(sum, MAX_COUNT) : 1;
        put_raw(out, static_cast<uint32_t>(names[i].text.size() + 1 + TAIL));
        out.append(names[i].text).push_back('\0');
        put_big_endian(out, entity);
        out += static_cast<char>(names[i].source);
        put_big_endian(out, static_cast<uint32_t>(count));
    }
    return true;
}

// Return the spellings of an entity as they are stored, their number, and its records as a run.
// None: some are invalid, or have characters that the table of normal forms lacks.
nb::object pack_names(const NameForms& forms, nb::handle spellings, int64_t entity) {
    check_value(entity, 0, int64_t{1} << 32, "entity");
    std::vector<Counted> items;
    std::string packed, records;
    if (!read_spellings(spellings.ptr(), items) ||
        !pack_spellings(forms, items, static_cast<uint32_t>(entity), packed, records))
        return nb::none();
    return nb::make_tuple(bytes_of(packed), items.size(), bytes_of(records));
}

// ---- runs

// The record at a position of a run, without its size; the position moves behind it.
std::string_view next_record(Bytes run, int64_t& at) {
    const int64_t left = run.size() - at - static_cast<int64_t>(SIZE);
    const int64_t size = left < 0 ? 0 : get_raw<uint32_t>(run.data() + at);
    if (left < 0 || size > left) fail("records", "a run is truncated");
    const char* data = reinterpret_cast<const char*>(run.data()) + at + SIZE;
    at += SIZE + size;
    return {data, static_cast<std::size_t>(size)};
}

void put_record(std::string& out, std::string_view record) {
    put_raw(out, static_cast<uint32_t>(record.size()));
    out += record;
}

// Write the records of a run in order.
void sort_records(Bytes records, Array<uint8_t> out) {
    struct Item {
        uint64_t head;  // the first bytes, which decide most comparisons
        std::string_view record;
    };
    check_equal(out.size(), records.size(), "out");
    std::vector<Item> items;
    for (int64_t at = 0; at < records.size();) {
        const std::string_view record = next_record(records, at);
        uint64_t head = 0;
        for (std::size_t i = 0; i < 8; ++i)
            head = head << 8 | (i < record.size() ? static_cast<uint8_t>(record[i]) : 0);
        items.push_back({head, record});
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
        return a.head != b.head ? a.head < b.head : a.record < b.record;
    });
    uint8_t* to = out.data();
    for (const Item& item : items) {
        const auto size = static_cast<uint32_t>(item.record.size());
        std::memcpy(to, &size, SIZE);
        std::memcpy(to + SIZE, item.record.data(), size);
        to += SIZE + size;
    }
}

// Merges sorted runs.
class RunMerger {
public:
    RunMerger(Buffers& buffers, std::vector<Bytes> runs)
        : runs_(std::move(runs)), at_(runs_.size(), 0), buffers_(std::move(buffers)) {
        for (std::size_t i = 0; i < runs_.size(); ++i) advance(i);
    }

    // About `size` bytes of the next records, as a run. Empty: no more. Records that differ only
    // in their last `tail` bytes are not split.
    nb::object next(int64_t size, int64_t tail) {
        check_value(tail, 0, 1 << 20, "tail");
        return bytes_of(released([&] { return merged(size, tail); }));
    }

private:
    std::string merged(int64_t size, int64_t tail) {
        std::string out;
        std::string_view before;
        while (!heads_.empty()) {
            const Head head = heads_.top();
            const std::size_t rest = std::min<std::size_t>(head.record.size(), tail);
            const std::string_view own = head.record.substr(0, head.record.size() - rest);
            if (static_cast<int64_t>(out.size()) >= size && own != before) break;
            before = own;
            put_record(out, head.record);
            heads_.pop();
            advance(head.run);
        }
        return out;
    }

    struct Head {
        std::string_view record;
        std::size_t run;
        bool operator<(const Head& other) const { return record > other.record; }
    };

    void advance(std::size_t run) {
        if (at_[run] < runs_[run].size()) heads_.push({next_record(runs_[run], at_[run]), run});
    }

    std::vector<Bytes> runs_;
    std::vector<int64_t> at_;
    std::priority_queue<Head> heads_;
    Buffers buffers_;
};

RunMerger* make_run_merger(Buffers& buffers, std::vector<Bytes> runs) {
    return new RunMerger(buffers, std::move(runs));
}

// ---- values of names

struct Record {
    std::string_view name;
    uint32_t entity, count;
    uint8_t source;
};

Record next_name(Bytes records, int64_t& at) {
    const std::string_view record = next_record(records, at);
    if (record.size() < TAIL + 1) fail("records", "a record of a name is too short");
    const char* tail = record.data() + record.size() - TAIL;
    return {record.substr(0, record.size() - TAIL - 1), get_big_endian(tail),
            get_big_endian(tail + 5), static_cast<uint8_t>(tail[4])};
}

Bytes bytes_view(nb::handle object, Buffers& buffers) {
    Bytes out;
    Reader<Bytes>::read(buffers, object.ptr(), Path{"records"}, out);
    return out;
}

// The distinct names of a run of sorted records.
nb::object distinct_names(nb::handle run) {
    Buffers buffers;
    const Bytes records = bytes_view(run, buffers);
    nb::list out;
    std::string_view before;
    for (int64_t at = 0; at < records.size();) {
        const Record record = next_name(records, at);
        if (at > 0 && record.name == before && nb::len(out)) continue;
        before = record.name;
        out.append(owned(PyUnicode_DecodeUTF8(before.data(), before.size(), nullptr)));
    }
    return out;
}

// Makes the values of names, as `pack_name` of name_index.py does one by one.
class ValuePacker {
public:
    // weights  of the sources
    // variant  the source that the fuzzy index does not count; -1: none
    // pages    of each name, two numbers; empty: all 0
    ValuePacker(Buffers& buffers, Bytes rows, Bytes text, Doubles weights, int64_t variant,
                Array<const uint32_t, 2> pages)
        : rows_(rows), text_(text), weights_(weights), variant_(variant), pages_(pages),
          buffers_(std::move(buffers)) {
        if (pages.size()) check_equal(pages.shape(1), 2, "pages");
    }

    // Return (name, value) of the names of a run of sorted records, the text of those that are
    // no variants, and where each of these ends, over all calls, as bytes of int64.
    nb::object pack(nb::handle run) {
        Buffers buffers;
        const Bytes records = bytes_view(run, buffers);
        const Packed packed = released([&] { return pack_all(records); });
        nb::object items = owned(PyList_New(packed.ends.size() / 2));
        std::size_t begin = 0;
        const auto next = [&](std::size_t i) {
            const std::string_view text(packed.bytes.data() + begin, packed.ends[i] - begin);
            begin = packed.ends[i];
            return bytes_of(text).release().ptr();
        };
        for (std::size_t i = 0; i < packed.ends.size(); i += 2) {
            nb::object item = owned(PyTuple_New(2));
            PyTuple_SetItem(item.ptr(), 0, next(i));
            PyTuple_SetItem(item.ptr(), 1, next(i + 1));
            PyObject_GC_UnTrack(item.ptr());
            PyList_SetItem(items.ptr(), i / 2, item.release().ptr());
        }
        return nb::make_tuple(items, bytes_of(packed.listed), bytes_of(packed.listed_ends));
    }

private:
    struct Packed {
        std::string bytes;              // names and values by turns
        std::vector<std::size_t> ends;  // of each
        std::string listed, listed_ends;
    };

    Packed pack_all(Bytes records) {
        Packed out;
        for (int64_t at = 0; at < records.size();) {
            const std::string_view name = read_name(records, at);
            out.bytes += name;
            out.ends.push_back(out.bytes.size());
            put_value(out.bytes);
            out.ends.push_back(out.bytes.size());
            if (is_listed()) {
                out.listed += name;
                put_raw(out.listed_ends, listed_end_ += static_cast<int64_t>(name.size()));
            }
        }
        return out;
    }

    // Read all records of a name: `entities_`, and `counts_` by entity and source.
    std::string_view read_name(Bytes records, int64_t& at) {
        entities_.clear();
        counts_.clear();
        const std::size_t sources = weights_.size();
        std::string_view name;
        for (int64_t next = at; next < records.size(); at = next) {
            const Record record = next_name(records, next);
            if (entities_.empty())
                name = record.name;
            else if (record.name != name)
                break;
            check_value(record.source, 0, weights_.size(), "records");
            if (entities_.empty() || entities_.back() != record.entity) {
                entities_.push_back(record.entity);
                counts_.resize(counts_.size() + sources, 0);
            }
            counts_[counts_.size() - sources + record.source] += record.count;
        }
        return name;
    }

    void put_value(std::string& out) {
        const std::size_t n = entities_.size(), sources = weights_.size();
        set_priors();
        std::vector<std::size_t> order(n);
        for (std::size_t i = 0; i < n; ++i) order[i] = i;
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return comes_first(a, b); });
        for (int64_t column = 0; column < 2; ++column)
            put_raw(out, pages_.size() ? page_count(column) : uint32_t{0});
        ++done_;
        for (const std::size_t i : order) {
            put_raw(out, entities_[i]);
            put_raw(out, priors_[i]);
        }
        for (const std::size_t i : order)
            for (std::size_t s = 0; s < sources; ++s)
                put_raw(out, static_cast<uint32_t>(std::min<uint64_t>(counts_[i * sources + s], MAX_COUNT)));
    }

    uint32_t page_count(int64_t column) const {
        check_value(done_, 0, pages_.shape(0), "pages");
        return pages_(done_, column);
    }

    // P(entity | name): the weighted mean over the sources that have the name.
    void set_priors() {
        const std::size_t n = entities_.size(), sources = weights_.size();
        priors_.assign(n, 1.0f);
        if (n == 1) return;
        std::vector<uint64_t> totals(sources, 0);
        for (std::size_t i = 0; i < counts_.size(); ++i) totals[i % sources] += counts_[i];
        double total = 0.0;
        for (std::size_t s = 0; s < sources; ++s)
            if (totals[s]) total += weights_[s];
        for (std::size_t i = 0; i < n; ++i) {
            double sum = 0.0;
            for (std::size_t s = 0; s < sources; ++s)
                if (totals[s])
                    sum += weights_[s] * (static_cast<double>(counts_[i * sources + s]) /
                                          static_cast<double>(totals[s]));
            priors_[i] = static_cast<float>(sum / total);
        }
    }

    // The higher prior, then the more popular entity, then the lower id.
    bool comes_first(std::size_t a, std::size_t b) const {
        if (priors_[a] != priors_[b]) return priors_[a] > priors_[b];
        const float one = row(entities_[a]).popularity, two = row(entities_[b]).popularity;
        const bool known = one == one, other_known = two == two;
        if (known != other_known) return known;
        if (known && one != two) return one > two;
        return id_of(entities_[a]) < id_of(entities_[b]);
    }

    Row row(uint32_t entity) const {
        check_value(entity, 0, rows_.size() / sizeof(Row), "records");
        return get_raw<Row>(rows_.data() + entity * sizeof(Row));
    }

    std::string_view id_of(uint32_t entity) const {
        const Row found = row(entity);
        check_value(found.text_at, 0, text_.size() + 1, "rows");
        check_value(found.id_size, 0, text_.size() - found.text_at + 1, "rows");
        return {reinterpret_cast<const char*>(text_.data()) + found.text_at,
                static_cast<std::size_t>(found.id_size)};
    }

    bool is_listed() const {
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if (counts_[i] && static_cast<int64_t>(i) % weights_.size() != variant_) return true;
        return false;
    }

    Bytes rows_, text_;
    Doubles weights_;
    int64_t variant_;
    Array<const uint32_t, 2> pages_;
    Buffers buffers_;
    int64_t done_ = 0, listed_end_ = 0;
    std::vector<uint32_t> entities_;
    std::vector<uint64_t> counts_;
    std::vector<float> priors_;
};

ValuePacker* make_value_packer(Buffers& buffers, Bytes rows, Bytes text, Doubles weights,
                               int64_t variant, Array<const uint32_t, 2> pages) {
    return new ValuePacker(buffers, rows, text, weights, variant, pages);
}

}  // namespace

bool pack_spellings(const NameForms& forms, std::vector<Counted>& spellings, uint32_t entity,
                    std::string& packed, std::string& records) {
    sort_by_name(spellings);
    merge_counts(spellings);
    for (const Counted& one : spellings) {
        packed += static_cast<char>(one.source);
        put_raw(packed, static_cast<uint32_t>(one.count));
        put_raw(packed, static_cast<uint16_t>(one.text.size()));
        packed += one.text;
    }
    return make_records(forms, spellings, entity, records);
}

void bind_name_records(nb::module_& module) {
    module.def("pack_names", &pack_names);
    module.def("distinct_names", &distinct_names);
    SGTB_BIND(sort_records, records, out);
    nb::class_<RunMerger>(module, "RunMerger").def("next", &RunMerger::next);
    SGTB_BIND_AS("run_merger", make_run_merger, runs);
    nb::class_<ValuePacker>(module, "ValuePacker").def("pack", &ValuePacker::pack);
    SGTB_BIND_AS("value_packer", make_value_packer, rows, text, weights, variant, pages);
}

}  // namespace sgtb
