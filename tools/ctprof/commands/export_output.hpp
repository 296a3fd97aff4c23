// ctprof export --to NAME, where NAME is an output plugin: passes one window to the plugin, which
// writes it to -o, or sends it.

#pragma once

#include <functional>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/commands/export_options.hpp"

namespace ctprof::cli {

// Reads the capture to export, with pseudonyms if the options request them.
using ReadCapture = std::function<Result<Snapshot>(const Vocabulary& vocabulary)>;

// Passes the window and prints the result. Calls `read` only for a plugin that requests rows of
// threads. Returns the exit status.
int export_to_output(const ExportOptions& options, const ReadCapture& read);

}  // namespace ctprof::cli
