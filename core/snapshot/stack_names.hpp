// Names for the stacks of a window: of frames that have none, and frames for what a compiler put
// into other functions.
//
//   name_stacks(window, sources_here(files, window.pools->stacks.table), {.inlines = true});
//
// A name never changes once it is there, and no weight does. Columns of stacks get other ids.
//
// Threads: one, which has the window to itself.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "core/stacks/naming.hpp"

namespace ctprof {

// What is wanted beside the names that files themselves have.
struct NameOptions {
  std::vector<std::string> debug_directories = {};  // searched before /usr/lib/debug
  bool inlines = false;
};

struct StackNames {
  std::size_t frames = 0;   // all, but for the one above stacks that were cut
  std::size_t named = 0;    // that got their names now
  std::size_t unnamed = 0;  // that have none still
  std::size_t inlined = 0;  // that were added
  std::size_t cut = 0;      // modules whose debug information was too large, or took too much
  bool has_reader = true;   // false: inlined functions are told by libdw, which is not here
};

// Names what can be. Frames of inlined functions take ten seconds at most, and a stack for which
// the table has no more room then is its outer part. The tallies of the window are set right.
// REQUIRES: `sources` know the modules by their numbers in the window's table.
StackNames name_stacks(Snapshot& window, const NameSources& sources, bool inlines);

// A module with frames that have no name.
struct Nameless {
  std::uint32_t module = 0;
  std::size_t frames = 0;
};
// Those with most of them first.
std::vector<Nameless> nameless_modules(const StackTable& table);

}  // namespace ctprof
