#include "bind.hpp"
#include "check.hpp"

namespace sgtb {

void bind_wikitext(nb::module_& module) { (void)module; }

}  // namespace sgtb
