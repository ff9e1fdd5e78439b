#include "bind.hpp"
#include "check.hpp"

namespace sgtb {

void bind_text(nb::module_& module) { (void)module; }

}  // namespace sgtb
