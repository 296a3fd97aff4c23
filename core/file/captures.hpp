// Reads all captures of a file one after the other, for callers that need only one in memory at a
// time.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Receives a capture. An error stops the reading, which returns it.
using CaptureConsumer = std::function<Result<void>(Snapshot)>;

// Reads all captures of a regular file, in either layout, in the calling thread. Passes each to
// `consume` before it reads the next. Returns messages about skipped data at the end, such as a
// truncated capture. Fails if nothing can be read, or if `path` is not a regular file, even if
// another file replaces it during the call. The error names the file, the place and the reason.
// `path` is never interpreted as `FILE#N`. Threads: any.
Result<std::vector<std::string>> load_captures_of_file(const std::string& path,
                                                       const Vocabulary& vocabulary,
                                                       const CaptureConsumer& consume);

// Reads all captures of an argument as load_file() accepts it, with as many workers as the host can
// spare. For `FILE#2` it reads only the second capture; "-" is standard input.
Result<std::vector<std::string>> load_captures_of_argument(const std::string& argument,
                                                           const Vocabulary& vocabulary,
                                                           const CaptureConsumer& consume);

}  // namespace ctprof
