// Whether what stands where a verb writes may be replaced: an older file of the same kind is, any
// other asks for --force. A name mistyped behind -o costs nobody their notes.

#pragma once

#include <array>
#include <string_view>

#include "core/base/result.hpp"
#include "core/file/write/destination.hpp"

namespace ctprof::cli {

// What a verb writes, and by which of its first bytes it is known.
struct FileKind {
  std::string_view noun;                    // "snapshot"
  std::array<std::string_view, 2> marks{};  // one of them is there; both empty: nobody can tell
  bool is_packed = false;                   // by zstd: the marks are in what it unfolds to
};

inline constexpr FileKind kSnapshotFile{"snapshot", {"{\""}, true};
inline constexpr FileKind kPageFile{"page or picture of ctprof's",
                                    {"name=\"generator\" content=\"ctprof\"", "class=\"flame"}};

// The error says that --force replaces it. What is not there, is empty or is no regular file is
// fine.
Result<void> check_replaced(const Destination& place, const FileKind& kind);

}  // namespace ctprof::cli
