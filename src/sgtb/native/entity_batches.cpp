// Blocks of lines of entity lists, read and packed without Python objects, for threads.
//
// A block has whole lines. Those that are plain become batches; each of the others is a line for
// Python. Both are spans of the block, in order.
#include <cstring>
#include <unordered_map>

#include "check.hpp"
#include "entity_lines.hpp"
#include "hash.hpp"
#include "name_records.hpp"
#include "name_variants.hpp"

namespace sgtb {

namespace {

constexpr std::size_t MAX_TEXT = 1 << 20, MAX_TYPE = 0xFFFF;
constexpr uint32_t NONE = 0xFFFFFFFF;

// The part of a block from begin to end: so many plain lines, or one for Python (lines is 0).
struct Span {
    int64_t begin, end, lines;
};

// The spans of a block, and a batch for each; empty for a line for Python.
template <class Batch>
struct Block {
    std::vector<Span> spans;
    std::vector<Batch> batches;

    nb::list tuples() const {
        nb::list out;
        for (const Span& span : spans) out.append(nb::make_tuple(span.begin, span.end, span.lines));
        return out;
    }
};

// Divide a block into spans, each with a batch. `add` adds a line to a batch if it is plain; lines
// of more than `max_line` bytes are for Python.
template <class Batch, class Add>
Block<Batch>* read_block(Bytes block, int64_t max_line, Add add) {
    auto out = std::make_unique<Block<Batch>>();
    auto& [spans, batches] = *out;
    bool open = false;  // the last span has plain lines
    const char* const data = reinterpret_cast<const char*>(block.data());
    for (int64_t at = 0; at < block.size();) {
        const void* found = std::memchr(data + at, '\n', block.size() - at);
        const int64_t end = found ? static_cast<const char*>(found) - data + 1 : block.size();
        if (!open) batches.emplace_back();
        const bool plain =
            end - at <= max_line && add(std::string_view(data + at, end - at), batches.back());
        if (open && plain) {
            spans.back().end = end;
            ++spans.back().lines;
        } else {
            if (open) batches.emplace_back();
            spans.push_back({at, end, plain});
        }
        open = plain;
        at = end;
    }
    return out.release();
}

// ---- the first pass: ids and sources

// Distinct texts in the order of their first use.
class Vocabulary {
public:
    uint32_t number(std::string_view text) {
        const auto [place, is_new] = numbers_.try_emplace(std::string(text), numbers_.size());
        if (is_new) texts_.emplace_back(text);
        return place->second;
    }
    const std::vector<std::string>& texts() const { return texts_; }

private:
    std::unordered_map<std::string, uint32_t> numbers_;
    std::vector<std::string> texts_;
};

nb::list list_of(const Vocabulary& words) {
    nb::list out;
    for (const std::string& text : words.texts()) out.append(string_of(text));
    return out;
}

struct ScannedBatch {
    std::vector<std::string> ids;
    Vocabulary sources;
};

using ScannedBlock = Block<ScannedBatch>;

ScannedBlock* scan_entity_lines(const NameForms* forms, Bytes block, int64_t max_line) {
    PlainLine line;
    const auto add = [&](std::string_view text, ScannedBatch& batch) {
        if (!read_plain_line(*forms, text, line)) return false;
        batch.ids.emplace_back(line.id);
        for (const PlainAlias& alias : line.aliases) batch.sources.number(alias.source);
        return true;
    };
    return read_block<ScannedBatch>(block, max_line, add);
}

// Numbers of entities by id, in the order in which they were added.
class EntityNumbers {
public:
    int64_t size() const { return static_cast<int64_t>(ends_.size()) - 1; }

    // The number of an id; NONE: unknown.
    uint32_t find(std::string_view id) const { return slots_[place(id)]; }

    // Add an id if it is new; return its number.
    uint32_t add(std::string_view id) {
        const std::size_t at = place(id);
        if (slots_[at] != NONE) return slots_[at];
        const auto number = static_cast<uint32_t>(size());
        slots_[at] = number;
        text_ += id;
        ends_.push_back(text_.size());
        if (2 * ends_.size() > slots_.size()) fill(2 * slots_.size());
        return number;
    }

    // Add the ids of a span; false, and none added: one is known or there twice.
    bool add_span(const ScannedBlock& block, std::size_t span) {
        const auto before = static_cast<uint32_t>(size());
        uint32_t next = before;
        for (const std::string& id : block.batches.at(span).ids) {
            if (add(id) == next) {
                ++next;
                continue;
            }
            text_.resize(ends_[before]);
            ends_.resize(before + 1);
            fill(slots_.size());
            return false;
        }
        return true;
    }

private:
    std::string_view id(uint32_t number) const {
        return std::string_view(text_).substr(ends_[number], ends_[number + 1] - ends_[number]);
    }

    // Where an id is, or would be.
    std::size_t place(std::string_view wanted) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = Hash().add(wanted).value() & mask;
        while (slots_[at] != NONE && id(slots_[at]) != wanted) at = (at + 1) & mask;
        return at;
    }

    void fill(std::size_t size) {
        slots_.assign(size, NONE);
        for (uint32_t number = 0; number + 1 < ends_.size(); ++number)
            slots_[place(id(number))] = number;
    }

    std::string text_;
    std::vector<uint64_t> ends_{0};
    std::vector<uint32_t> slots_ = std::vector<uint32_t>(1024, NONE);
};

nb::object number_of(const EntityNumbers& numbers, nb::handle id) {
    std::string_view text;
    const uint32_t number = utf8_of(id.ptr(), text) ? numbers.find(text) : NONE;
    return number == NONE ? nb::none() : nb::object(nb::int_(number));
}

uint32_t add_id(EntityNumbers& numbers, nb::handle id) {
    std::string_view text;
    if (!utf8_of(id.ptr(), text)) Path{"id"}.fail("a text is needed");
    return numbers.add(text);
}

// ---- the second pass: what is stored

// Entities with consecutive numbers, from `first` on.
struct PackedBatch {
    uint32_t first = 0;
    int64_t spellings = 0, unknown_links = 0;
    std::string text;   // of all entities: id, title, description, spellings
    std::string names;  // records of names, a run
    std::string ids;    // records of ids, a run
    Vocabulary types;   // names of types as written
    std::string rows;   // their own type is a number of `types`, text begins at 0
    std::string links;  // int32, targets of the links of all entities, ascending
};

using PackedBlock = Block<PackedBatch>;

nb::object batch_of(const PackedBlock& block, std::size_t span) {
    const PackedBatch& b = block.batches.at(span);
    return nb::make_tuple(b.first, b.spellings, b.unknown_links, bytes_of(b.text),
                          bytes_of(b.names), bytes_of(b.ids), list_of(b.types), bytes_of(b.rows),
                          bytes_of(b.links));
}

// What the lines of a list are packed with. Read by several threads.
//
// maker    makes variants, by a copy in each thread; none: there are none
// numbers  of all entities
// sources  numbers of sources by name; "": of names without a source
// coarse   coarse types by the names of types in lower case
// named    whether the name of an entity is one of its spellings
// skips    whether links to unknown ids are left out; else such a line is for Python
struct Packing {
    const NameForms* forms;
    std::unique_ptr<const VariantMaker> maker;
    const EntityNumbers* numbers;
    std::unordered_map<std::string, uint32_t> sources;
    std::unordered_map<std::string, std::string> coarse;
    uint32_t variant;
    bool named, skips;
};

class BlockPacker {
public:
    explicit BlockPacker(const Packing& packing) : packing_(packing) {
        if (packing.maker) maker_ = std::make_unique<VariantMaker>(*packing.maker);
    }

    // Add the entity of a line to a batch; false, and nothing added: it is for Python.
    bool add(std::string_view text, PackedBatch& out) {
        if (!read_plain_line(*packing_.forms, text, line_)) return false;
        const uint32_t number = packing_.numbers->find(line_.id);
        if (number == NONE || !find_links(number) || !find_spellings()) return false;
        const std::size_t text_before = out.text.size(), names_before = out.names.size();
        out.text.append(line_.id).append(line_.name).append(line_.description);
        const std::size_t spelled = out.text.size();
        if (!pack_spellings(*packing_.forms, spellings_, number, out.text, out.names) ||
            out.text.size() - spelled > MAX_TEXT || out.types.texts().size() > MAX_TYPE) {
            out.text.resize(text_before);
            out.names.resize(names_before);
            return false;
        }
        if (out.rows.empty()) out.first = number;
        out.spellings += static_cast<int64_t>(spellings_.size());
        out.unknown_links += unknown_links_;
        put_id(out.ids, number);
        Row row{};
        row.text_at = static_cast<int64_t>(text_before);
        row.id_size = static_cast<int32_t>(line_.id.size());
        row.title_size = static_cast<int32_t>(line_.name.size());
        row.description_size = static_cast<int32_t>(line_.description.size());
        row.spellings_size = static_cast<int32_t>(out.text.size() - spelled);
        row.links = static_cast<int32_t>(links_.size());
        row.stated_out = static_cast<int32_t>(line_.out_links);
        row.stated_in = static_cast<int32_t>(line_.in_links);
        row.popularity = static_cast<float>(line_.popularity);
        row.vector = -1;
        row.alive = 1;
        row.own_type = static_cast<uint16_t>(out.types.number(line_.type));
        put_raw(out.rows, row);
        for (const int32_t target : links_) put_raw(out.links, target);
        return true;
    }

private:
    // The distinct targets of the links, without the entity itself; false: one is unknown.
    bool find_links(uint32_t own) {
        links_.clear();
        unknown_links_ = 0;
        for (const std::string_view id : line_.links) {
            const uint32_t target = packing_.numbers->find(id);
            if (target == NONE)
                ++unknown_links_;
            else if (target != own)
                links_.push_back(static_cast<int32_t>(target));
        }
        if (unknown_links_ && !packing_.skips) return false;
        std::sort(links_.begin(), links_.end());
        links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
        return true;
    }

    // The aliases, the name if it is none of them, and variants of all.
    bool find_spellings() {
        spellings_.clear();
        bool named = !packing_.named;
        for (const PlainAlias& alias : line_.aliases) {
            if (!add_spelling(alias.name, alias.source, alias.count)) return false;
            named |= alias.name == line_.name;
        }
        if (!named && !add_spelling(line_.name, {}, 1)) return false;
        if (!maker_) return true;
        std::vector<std::string_view> names;
        for (const Counted& one : spellings_) names.push_back(one.text);
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        names.insert(names.begin(), line_.name);
        variants_.clear();
        if (!maker_->make(*packing_.forms, names, coarse_type(), variants_))
            return false;
        for (const std::string& one : variants_)
            spellings_.push_back({one, packing_.variant, 1});
        return true;
    }

    bool add_spelling(std::string_view name, std::string_view source, int64_t count) {
        const auto found = packing_.sources.find(std::string(source));
        if (found == packing_.sources.end()) return false;
        spellings_.push_back({name, found->second, static_cast<uint64_t>(count)});
        return true;
    }

    std::string_view coarse_type() const {
        std::string small(line_.type);
        for (char& c : small)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        const auto found = packing_.coarse.find(small);
        return found == packing_.coarse.end() ? line_.type : std::string_view(found->second);
    }

    void put_id(std::string& out, uint32_t number) const {
        put_raw(out, static_cast<uint32_t>(line_.id.size() + 1 + sizeof(number)));
        out.append(line_.id).push_back('\0');
        put_raw(out, number);
    }

    const Packing& packing_;
    std::unique_ptr<VariantMaker> maker_;  // a copy, as each thread needs its own
    PlainLine line_;
    std::vector<int32_t> links_;
    int64_t unknown_links_ = 0;
    std::vector<Counted> spellings_;
    std::vector<std::string> variants_;
};

PackedBlock* pack_entity_lines(const Packing* packing, Bytes block, int64_t max_line) {
    BlockPacker packer(*packing);
    return read_block<PackedBatch>(
        block, max_line,
        [&](std::string_view text, PackedBatch& batch) { return packer.add(text, batch); });
}

Packing* make_packing(const NameForms& forms, const VariantMaker* maker,
                      const EntityNumbers& numbers, nb::dict sources, nb::dict coarse,
                      int64_t variant, bool named, bool skips) {
    check_value(variant, -1, 256, "variant");
    auto out = std::make_unique<Packing>();
    out->forms = &forms;
    if (maker) out->maker = std::make_unique<VariantMaker>(*maker);  // others use and change it
    out->numbers = &numbers;
    for (auto [name, number] : sources) {
        const int64_t source = nb::cast<int64_t>(number);
        check_value(source, 0, 256, "sources");
        out->sources[nb::str(name).c_str()] = static_cast<uint32_t>(source);
    }
    for (auto [name, type] : coarse) out->coarse[nb::str(name).c_str()] = nb::str(type).c_str();
    out->variant = static_cast<uint32_t>(variant);
    out->named = named;
    out->skips = skips;
    return out.release();
}

}  // namespace

void bind_entity_batches(nb::module_& module) {
    nb::class_<ScannedBlock>(module, "ScannedBlock")
        .def_prop_ro("spans", &ScannedBlock::tuples)
        .def("sources", [](const ScannedBlock& block, std::size_t span) {
            return list_of(block.batches.at(span).sources);
        });
    SGTB_BIND(scan_entity_lines, forms, block, max_line);
    nb::class_<EntityNumbers>(module, "EntityNumbers")
        .def(nb::init<>())
        .def("__len__", &EntityNumbers::size)
        .def("get", &number_of)
        .def("add", &add_id)
        .def("add_span", &EntityNumbers::add_span);
    nb::class_<PackedBlock>(module, "PackedBlock")
        .def_prop_ro("spans", &PackedBlock::tuples)
        .def("batch", &batch_of);
    nb::class_<Packing>(module, "Packing");
    module.def("packing", &make_packing, nb::keep_alive<0, 1>(), nb::keep_alive<0, 3>(),
               nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg(), nb::arg(),
               nb::rv_policy::take_ownership);
    SGTB_BIND(pack_entity_lines, packing, block, max_line);
}

}  // namespace sgtb
