// Whether the host's kernel was built with an option, as its configuration tells.
//
// Sources: /proc/config.gz (CONFIG_IKCONFIG_PROC); of the running kernel also
// /boot/config-<release>, where distributions put it.

#pragma once

#include <optional>
#include <string>

#include "ctprof/host.hpp"

namespace ctprof {

// Where the configuration may be looked for.
enum class KernelConfig { InProc, Anywhere };

// Whether it is y; nothing where there is no configuration to be read. `option`: "CONFIG_PSI".
std::optional<bool> is_built_with(const sdk::Host& host, const std::string& option,
                                  KernelConfig which = KernelConfig::Anywhere);

}  // namespace ctprof
