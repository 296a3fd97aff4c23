// Names for the stacks of a window: of frames that have none, and frames for what a compiler put
// into other functions.
//
//   name_stacks(window, sources_here(files, window.pools->stacks.table), {.inlines = true});
//
// A name never changes once it is there, and no weight does. Columns of stacks get other ids.
//
// Threads: one, which has the window to itself.

#pragma once

#include <atomic>
#include <chrono>
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
  bool debuginfod = false;  // also asks servers; only `symbolize` does
  // Null, or: what takes long ends, and what is known by then is kept, once it is true. Where it is
  // true already when a window is unwound, it ended the window, and nothing else.
  const std::atomic<bool>* stop = nullptr;
};

struct StackNames {
  std::size_t frames = 0;   // all, but for the one above stacks that were cut
  std::size_t named = 0;    // that got their names now
  std::size_t unnamed = 0;  // that have none still
  std::size_t inlined = 0;  // that were added
  std::size_t cut = 0;      // modules whose debug information was too large, or took too much
  // As those of WithInlines.
  std::vector<Module> without_info = {}, without_moved = {}, without_split = {};
  std::vector<Module> beyond_limits = {};  // with frames that have no name because of a limit
  bool has_reader = true;  // false: inlined functions need libdw, which is not installed
};

// What names may cost, and then how long frames of inlined functions may take. The defaults are for
// a file that a user names functions in; NameLimits has those for a recording.
struct NamingLimits {
  NameLimits names{.steps = 16ULL << 30, .steps_of_module = 4ULL << 30, .first = 64 << 20};
  std::chrono::nanoseconds inlines = std::chrono::seconds(10);
};

// Names what can be. Where the table has no more room for a stack with its inlined functions, it is
// its outer part. The tallies of the window are set right.
// REQUIRES: `sources` know the modules by their numbers in the window's table.
StackNames name_stacks(Snapshot& window, const NameSources& sources, bool inlines,
                       const NamingLimits& limits = {});

// "'/bin/a', '/bin/b', '/bin/c' and 2 others", as UTF-8. Of a module of no file, its process.
std::string in_words(const std::vector<Module>& modules);
// The message about modules whose frames have no name because of a limit. REQUIRES: there are some.
std::string unnamed_for_limits(const std::vector<Module>& modules);

// Where inlined functions could not be found, and why: a message for each reason.
std::vector<std::string> inlines_missing_in_words(const StackNames& names);

// A module with frames that have no name.
struct Nameless {
  std::uint32_t module = 0;
  std::size_t frames = 0;
};
// Those with most of them first.
std::vector<Nameless> nameless_modules(const StackTable& table);

}  // namespace ctprof
