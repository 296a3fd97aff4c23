// Finds names for frames of a window's stacks, and adds frames for inlined functions.
//
//   name_stacks(window, make_local_sources(files, window.pools->stacks.table), true);
//
// Existing names and all weights stay unchanged. Columns of stacks receive new ids.
//
// Threads: one, with exclusive access to the window.

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

// Optional sources of names, in addition to the symbols of the files themselves.
struct NameOptions {
  std::vector<std::string> debug_directories = {};  // directories to search before /usr/lib/debug
  bool find_inlined = false;
  bool debuginfod = false;  // also queries debuginfod servers; only `symbolize` sets it
  // May be null. When it becomes true, long operations stop and keep their results so far. If it is
  // already true when unwinding begins, it only ended the window, and does not stop the unwinding.
  const std::atomic<bool>* stop = nullptr;
};

// The result of name_stacks().
struct NamingResult {
  std::size_t frames = 0;         // all frames except the one that marks truncated stacks
  std::size_t newly_named = 0;    // frames that this call named
  std::size_t still_unnamed = 0;  // frames that still have no name
  std::size_t added_inlined = 0;  // frames of inlined functions that were added
  // Modules whose debug information was too large, or took too long.
  std::size_t oversized_modules = 0;
  // The same lists as in InlineExpansion.
  std::vector<Module> without_info = {}, without_moved = {}, without_split = {};
  std::vector<Module> beyond_limits = {};  // modules with unnamed frames because of a limit
  bool has_reader = true;  // false: inlined functions need libdw, which is not installed
};

// Limits the work for names, and then the time for frames of inlined functions. The defaults apply
// when a user adds names to an existing file; FrameNamingLimits has the defaults for a recording.
struct NamingLimits {
  FrameNamingLimits names{
      .steps = 16ULL << 30, .steps_per_module = 4ULL << 30, .first_steps_per_module = 64 << 20};
  std::chrono::nanoseconds inlines = std::chrono::seconds(10);
};

// Names as many frames as possible, and updates the stack tallies of the window. If the table has
// no space for a stack with its inlined functions, the stack is replaced by its outer part.
NamingResult name_stacks(Snapshot& window, const NameSources& sources, bool inlines,
                         const NamingLimits& limits = {});

// Returns a text such as "'/bin/a', '/bin/b', '/bin/c' and 2 others", in UTF-8. A module without a
// file is described by its process.
std::string describe_modules(const std::vector<Module>& modules);
// Returns the message about modules with unnamed frames because of a limit. REQUIRES: `modules` is
// not empty.
std::string naming_limit_message(const std::vector<Module>& modules);

// Returns a message for each reason why inlined functions are missing.
std::vector<std::string> missing_inlines_messages(const NamingResult& names);

// A module with unnamed frames.
struct UnnamedModule {
  std::uint32_t module = 0;
  std::size_t frames = 0;
};
// Returns these modules, those with the most unnamed frames first.
std::vector<UnnamedModule> find_unnamed_modules(const StackTable& table);

}  // namespace ctprof
