#include "core/base/version.hpp"

namespace ctprof {

const std::string_view kVersion = CTPROF_VERSION;

}  // namespace ctprof
