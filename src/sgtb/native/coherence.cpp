#include "bind.hpp"
#include "check.hpp"

namespace sgtb {

void bind_coherence(nb::module_& module) { (void)module; }

}  // namespace sgtb
