// The options of `record` that are about call stacks: which recorders, and how they sample.

#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "core/capture/options.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

// The error is one sentence that names the valid form.
Result<RecordOptions> read_record_options(const OptionValues& given);

}  // namespace ctprof::cli
