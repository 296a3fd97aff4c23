// The options of `record --every`, and those by which other verbs find what it recorded.

#pragma once

#include <cstdint>
#include <vector>

#include "core/archive/rotation.hpp"
#include "core/archive/span.hpp"
#include "core/base/result.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

struct AlwaysOptions {
  std::uint64_t every_ns = 0;  // 0: not asked for
  KeepRules rules{7ULL * 86400 * 1'000'000'000, 2ULL << 30};
  bool dry_run = false;
};

// The error is one sentence that names the valid form.
Result<AlwaysOptions> read_always_options(const OptionValues& given);

// Of --since and --until; the first of each is for the first side, and so on.
Result<std::vector<Span>> read_spans(const OptionValues& given);

}  // namespace ctprof::cli
