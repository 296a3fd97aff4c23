// Where the debug information of a file may lie: in itself, in a package or file beside it, or in
// the places that distributions use.
//
// Each place is looked up under the root of the process first and then under ours, by path and
// never out of that root. A file found by its name counts when it belongs to the other: the same
// build id, or the checksum that a debug link gives.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/allocator_file.hpp"
#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"
#include "plugins/jemalloc-ptrace/finder/watch.hpp"

namespace ctprof::jemalloc {

// What a file says about its debug information.
struct DebugHints {
  std::string build_id;        // bytes
  std::string link;            // the name in .gnu_debuglink
  std::uint32_t checksum = 0;  // of that file
};
DebugHints debug_hints(const ElfFile& file);

// Asks the file itself, then all places under each of `roots` (open directories), `path` being the
// file's own under the first.
std::optional<DebugFacts> debug_facts(const ElfFile& file, const std::string& path,
                                      const std::vector<int>& roots, Watch* watch = nullptr);

}  // namespace ctprof::jemalloc
