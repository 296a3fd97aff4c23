// The live command: its options. A ctprof that was built without ncurses has the command too, to
// report that.

#pragma once

#include <cstddef>

#include "tools/ctprof/options/capture_options.hpp"
#include "tools/ctprof/options/common_options.hpp"
#include "tools/ctprof/options/emit_options.hpp"
#include "tools/ctprof/options/recorder_options.hpp"
#include "tools/ctprof/options/report_options.hpp"

namespace ctprof::cli {

struct LiveOptions : CommonOptions, HostChoice, RecorderOptions, MergeOptions, EmitOption {
  std::size_t history_bytes = 128u << 20;
};

// Defined in live.cc, or without ncurses in without_live.cc.
int run_live(const LiveOptions& options);

}  // namespace ctprof::cli
