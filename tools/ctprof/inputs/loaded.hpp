// What arguments name, read: files, and windows out of a directory of `record --every`.
//
// Not here: which files arguments name (given.hpp), what they mean together (sides.hpp).

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/inputs/given.hpp"

namespace ctprof::cli {

using Runs = std::vector<Snapshot>;

// An argument, read. That of a span is named with the times of what was found.
struct Loaded {
  Given given;
  std::vector<Runs> files;
};

using LoadedSide = std::vector<Loaded>;

// Reads all files of all sides' arguments with the user's own rights, a few at the same time.
Result<std::vector<LoadedSide>> load_all(std::vector<std::vector<Given>> sides,
                                         const Vocabulary& vocabulary, const Options& options);

// Outlines of all files; none where some of them can only be read whole. What is wrong with a file
// is found out when it is.
std::optional<std::vector<LoadedSide>> load_outlines(std::span<const std::vector<Given>> sides,
                                                     const Options& options);

// The one snapshot or window of an argument, for verbs that take one: of a span, the whole. The
// error says so where it is several.
Result<Snapshot> load_one(const std::string& argument, const Vocabulary& vocabulary,
                          const Options& options);

}  // namespace ctprof::cli
