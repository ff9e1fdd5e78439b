// The extension module: one of several builds of the same source, see CMakeLists.txt.
#include <nanobind/nanobind.h>

namespace sgtb {
void bind_trees(nanobind::module_&);
void bind_search(nanobind::module_&);
void bind_explanation(nanobind::module_&);
void bind_features(nanobind::module_&);
void bind_candidates(nanobind::module_&);
void bind_contexts(nanobind::module_&);
void bind_similarity(nanobind::module_&);
void bind_coherence(nanobind::module_&);
void bind_ranking(nanobind::module_&);
void bind_text(nanobind::module_&);
void bind_words(nanobind::module_&);
void bind_mentions(nanobind::module_&);
void bind_fuzzy(nanobind::module_&);
void bind_wikitext(nanobind::module_&);
void bind_name_forms(nanobind::module_&);
void bind_name_records(nanobind::module_&);
void bind_entity_lines(nanobind::module_&);
void bind_entity_batches(nanobind::module_&);
void bind_name_variants(nanobind::module_&);

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
    sgtb::bind_trees(module);
    sgtb::bind_search(module);
    sgtb::bind_explanation(module);
    sgtb::bind_features(module);
    sgtb::bind_candidates(module);
    sgtb::bind_contexts(module);
    sgtb::bind_similarity(module);
    sgtb::bind_coherence(module);
    sgtb::bind_ranking(module);
    sgtb::bind_text(module);
    sgtb::bind_words(module);
    sgtb::bind_mentions(module);
    sgtb::bind_fuzzy(module);
    sgtb::bind_wikitext(module);
    sgtb::bind_name_forms(module);
    sgtb::bind_name_records(module);
    sgtb::bind_entity_lines(module);
    sgtb::bind_entity_batches(module);
    sgtb::bind_name_variants(module);
    module.def("supports_v3", &sgtb::supports_v3);
}
