// The options of `record` that are about call stacks: which recorders, and how they sample.

#pragma once

#include <boost/program_options/variables_map.hpp>
#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "core/capture/records.hpp"

namespace ctprof::cli {

// The error is one sentence that names the valid form.
Result<RecordOptions> read_record_options(const boost::program_options::variables_map& given);

}  // namespace ctprof::cli
