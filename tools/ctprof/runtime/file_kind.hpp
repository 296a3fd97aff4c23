// Decides whether a command may replace an existing output file. It may replace a file of the same
// kind; any other file requires --force. This protects the user's files against a mistyped -o.

#pragma once

#include <array>
#include <string_view>

#include "core/base/result.hpp"
#include "core/file/write/destination.hpp"

namespace ctprof::cli {

// A kind of output file, and the bytes near its start that identify it.
struct FileKind {
  std::string_view noun;                         // "snapshot"
  std::array<std::string_view, 2> signatures{};  // a file contains one of them; both empty: the
                                                 // kind has no signature
  bool is_compressed = false;  // by zstd: the signatures are in the decompressed data
};

inline constexpr FileKind kSnapshotFile{"snapshot", {"{\""}, true};
inline constexpr FileKind kPageFile{"page or flame graph of ctprof",
                                    {"name=\"generator\" content=\"ctprof\"", "class=\"flame"}};

// Fails with an error that suggests --force if the existing file is of another kind. Succeeds if
// the file is missing, empty or not a regular file.
Result<void> check_replaceable(const Destination& place, const FileKind& kind);

}  // namespace ctprof::cli
