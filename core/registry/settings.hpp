// What plugins are told on the command line: `--set PLUGIN.KEY=VALUE`.
//
// A key that a plugin has no option for is refused here, with those that it has; what a value may
// be, the plugin says when it is opened (probed.hpp).

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/plugin.hpp"

namespace ctprof {

// Gives the options named their values; of two for one option the later counts. The error is one
// sentence, for the first entry that cannot be taken.
Result<void> apply_settings(std::vector<Plugin>& plugins, std::span<const std::string> given);

}  // namespace ctprof
