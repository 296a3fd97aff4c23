// Reads the options of `record` for call stacks: the recorders, and how they sample.

#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "core/capture/options.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

// Returns an error of one sentence that names the valid form if an option is invalid.
Result<RecordOptions> read_record_options(const OptionValues& values);

}  // namespace ctprof::cli
