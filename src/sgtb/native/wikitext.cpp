// Binding of the wikitext passes.
#include "wikitext.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/unordered_set.h>

#include "bind.hpp"
#include "check.hpp"

namespace sgtb {

namespace {

using namespace wikitext;

nb::object decoded(const std::string& bytes, Range range) {
    PyObject* text =
        PyUnicode_DecodeUTF8(bytes.data() + range.begin, range.end - range.begin, "replace");
    if (!text) throw nb::python_error();
    return nb::steal(text);
}

// Read a page. `is_hidden` tells of a link's prefix, in bytes, whether the link shows no text.
//
// Returns the text; columns of links: target, anchor, begin and end in the text, line, flags;
// the ranges of the text in bold; a measure of the time taken.
nb::tuple read_wikitext(const Lexicon& lexicon, nb::bytes page, nb::callable is_hidden) {
    if (page.size() > Source::MAX_SIZE) fail("page", "longer than 1 GiB");
    const Source source({page.c_str(), page.size()});
    int64_t steps = 0;
    auto without_gil = [](auto pass) {
        nb::gil_scoped_release released;
        return pass();
    };
    auto spans = without_gil([&] { return find_spans(source, steps); });
    for (Span& span : spans) {
        if (span.colon < 0) continue;
        const nb::bytes prefix(page.c_str() + span.inner, span.colon - span.inner);
        span.hidden = nb::cast<bool>(is_hidden(prefix));
    }
    const Plain plain = without_gil([&] { return write_plain(source, spans, lexicon, steps); });
    nb::list target, anchor, begin, end, line, flags, bold;
    for (const Link& link : plain.links) {
        target.append(decoded(plain.targets, link.target));
        anchor.append(decoded(link.place.begin < 0 ? plain.aside : plain.text, link.anchor));
        begin.append(link.place.begin);
        end.append(link.place.end);
        line.append(link.line);
        flags.append(link.flags);
    }
    for (const Range& range : plain.bold) bold.append(nb::make_tuple(range.begin, range.end));
    return nb::make_tuple(decoded(plain.text, {0, static_cast<int32_t>(plain.text.size())}),
                          nb::make_tuple(target, anchor, begin, end, line, flags),
                          nb::tuple(bold), steps);
}

}  // namespace

void bind_wikitext(nb::module_& module) {
    nb::class_<Lexicon>(module, "Lexicon")
        .def(nb::init<decltype(Lexicon::characters), decltype(Lexicon::lower_case)>());
    module.def("read_wikitext", &read_wikitext, nb::arg("lexicon"), nb::arg("page"),
               nb::arg("is_hidden"));
    const std::pair<const char*, Flag> names[] = {
        {"IN_TEMPLATE", IN_TEMPLATE}, {"IN_REF", IN_REF}, {"IN_TABLE", IN_TABLE},
        {"IN_CAPTION", IN_CAPTION},   {"HIDDEN", HIDDEN}, {"IN_LIST", IN_LIST}};
    for (const auto& [name, flag] : names) module.attr(name) = static_cast<int>(flag);
}

}  // namespace sgtb
