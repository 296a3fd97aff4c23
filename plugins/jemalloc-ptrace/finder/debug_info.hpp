// Finds the counters in debug information: two members of jemalloc's thread-local variable, `struct
// tsd_s`.
//
// The debug information of a file is in the file itself, in a package or file beside it, or in the
// directories that distributions use. Each is looked up first under the root of the process and
// then under that of ctprof, by path and never outside of that root. A file that was found by name
// counts only if it belongs to the other one: it has the same build id, or the checksum of the
// debug link.
//
// libdw (core/elf/libdw.hpp), if available, reads the DWARF. It never gets files whose sections
// claim to be larger than the limits, files that other files refer to (it would open them by name,
// in the namespace of ctprof), or entries that form a cycle.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/elf/debug_link.hpp"
#include "core/elf/elf_file.hpp"
#include "plugins/jemalloc-ptrace/finder/allocator_file.hpp"
#include "plugins/jemalloc-ptrace/finder/stripped_program.hpp"
#include "plugins/jemalloc-ptrace/finder/target_file.hpp"

namespace ctprof::jemalloc {

// Reads a file that contains debug information, or a .dwp, a package of debug information.
std::optional<TsdFields> find_tsd_fields(const ElfFile& file);

// References in a file to its debug information.
struct DebugHints {
  std::string build_id;  // bytes
  std::optional<DebugLink> link;
};
DebugHints read_debug_hints(const ElfFile& file);

// Searches the file itself, then all locations under each of `roots` (open directories). `path` is
// the file's path under the first root.
std::optional<DebugFacts> find_debug_facts(const ElfFile& file, const std::string& path,
                                           const std::vector<int>& roots,
                                           AccessMonitor* watch = nullptr);

}  // namespace ctprof::jemalloc
