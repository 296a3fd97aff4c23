// The options of `ctprof record`.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/archive/rotation.hpp"
#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/capture_options.hpp"
#include "tools/ctprof/options/common_options.hpp"
#include "tools/ctprof/options/emit_options.hpp"
#include "tools/ctprof/options/output_options.hpp"
#include "tools/ctprof/options/recorder_options.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"

namespace ctprof::cli {

// The options of --every.
struct ContinuousOptions {
  std::uint64_t every_ns = 0;  // 0: not requested
  RetentionRules rules{7ULL * 86400 * kNsPerSecond, 2ULL << 30};
  bool dry_run = false;
};

struct RecordCommandOptions : CommonOptions,
                              OutputOptions,
                              HostChoice,
                              RecorderOptions,
                              EmitOption,
                              StrictOption {
  std::uint64_t duration_ns = 0;  // 0: until an interrupt or the command's exit
  std::uint64_t repeat = 0;       // consecutive windows into a directory; 0: one into a file
  ContinuousOptions continuous{};
  // One command for each side, which runs before each run of its side; empty: one side.
  std::vector<std::string> interleave{};
  std::vector<std::string> child_command{};  // the words after --
  std::optional<InterleavedPair> pair{};     // of one interleaved run

  Result<void> check(const CommandLine& line);
  // The options of a session.
  CaptureOptions make_capture_options() const;
};

// The plugins that a recording needs.
inline LoadScope plugin_scope(const RecordCommandOptions& options) {
  return capture_scope(!options.record.recorders.empty(), options.metrics.has_value());
}

// Returns the exit status.
int run_record(const RecordCommandOptions& options);

}  // namespace ctprof::cli
