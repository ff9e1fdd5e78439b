// The extension module: one of several builds of the same source, see CMakeLists.txt.
#include "bind.hpp"

// Files with kernels; each has a function that binds them.
#define SGTB_PARTS                                                                                \
    trees, search, explanation, features, candidates, contexts, similarity, coherence, ranking,   \
        text, words, mentions, fuzzy, wikitext, name_forms, name_records, entity_lines,           \
        entity_batches, name_variants
#define SGTB_DECLARE_PART(part) void bind_##part(nb::module_&);
#define SGTB_BIND_PART(part) sgtb::bind_##part(module);

namespace sgtb {

SGTB_EACH(SGTB_DECLARE_PART, SGTB_PARTS)

// Whether there is a build for x86-64-v3 and this processor can run it.
static bool supports_v3() {
#if defined(SGTB_HAS_V3) && defined(__clang__)  // which knows no levels before version 19
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#elif defined(SGTB_HAS_V3)
    return __builtin_cpu_supports("x86-64-v3");
#else
    return false;
#endif
}

}  // namespace sgtb

NB_MODULE(SGTB_MODULE, module) {
    nanobind::set_leak_warnings(false);  // objects held at exit are no defect
    SGTB_EACH(SGTB_BIND_PART, SGTB_PARTS)
    module.def("supports_v3", &sgtb::supports_v3);
}
