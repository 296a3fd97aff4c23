// The options of `record --every`, and those that select from its directory in other commands.

#pragma once

#include <cstdint>
#include <vector>

#include "core/archive/rotation.hpp"
#include "core/archive/span.hpp"
#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

struct ContinuousOptions {
  std::uint64_t every_ns = 0;  // 0: not requested
  RetentionRules rules{7ULL * 86400 * kNsPerSecond, 2ULL << 30};
  bool dry_run = false;
};

// The error is one sentence that names the valid form.
Result<ContinuousOptions> read_continuous_options(const OptionValues& values);

// Reads --since and --until. The first occurrence of each applies to the first side, and so on.
Result<std::vector<Span>> read_spans(const OptionValues& values);

}  // namespace ctprof::cli
