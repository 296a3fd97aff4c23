// Reads the files of arguments, and windows from a directory of `record --every`.
//
// See also: capture_arguments.hpp (resolves arguments to files), sides.hpp (combines them).

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/inputs/capture_arguments.hpp"

namespace ctprof::cli {

using Runs = std::vector<Snapshot>;

// An argument with its data. The text of a span includes the times of its windows.
struct LoadedArgument {
  CaptureArgument argument;
  std::vector<Runs> files;
};

using LoadedSide = std::vector<LoadedArgument>;

// Reads all files of all sides' arguments with the user's own privileges, a few concurrently.
Result<std::vector<LoadedSide>> load_arguments(std::vector<std::vector<CaptureArgument>> sides,
                                               const Vocabulary& vocabulary,
                                               const CommonOptions& options);

// Returns the outlines of all files, or none if some file can only be read as a whole. Errors in a
// file are reported when it is read as a whole.
std::optional<std::vector<LoadedSide>> load_outlines(
    std::span<const std::vector<CaptureArgument>> sides, const CommonOptions& options);

// Reads the only snapshot or window of an argument, for commands that take one; the windows of a
// span are joined. Fails with an explanation if there are several.
Result<Snapshot> load_single_capture(const std::string& argument, const Vocabulary& vocabulary,
                                     const InputOptions& options);

}  // namespace ctprof::cli
