// All captures of a file, one after the other: for whoever reduces each and lets it go.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Takes a capture. Its error stops the reading, which returns it.
using TakeCapture = std::function<Result<void>(Snapshot)>;

// Reads all captures of a file, in either layout, by the calling thread alone, and hands each over
// before it reads the next. Returns sentences about what is left out at its end: one that was cut,
// say. Fails where nothing can be read, or it is no regular file, whatever takes its place
// meanwhile; the error names the file, the place and the reason. `path` is one whatever is in its
// name. Threads: any.
Result<std::vector<std::string>> load_each(const std::string& path, const Vocabulary& vocabulary,
                                           const TakeCapture& take);

// The same of an argument as load_file() has it, by as many workers as the host can spare: of
// `FILE#2` it is the one, "-" is standard input.
Result<std::vector<std::string>> take_captures(const std::string& argument,
                                               const Vocabulary& vocabulary,
                                               const TakeCapture& take);

}  // namespace ctprof
