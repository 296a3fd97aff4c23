// Finds names for all frames of a table in one batch, at the end of a recording or later.
//
// Each module is searched once for all of its frames: the symbols of a file, the perf map of a
// just-in-time compiler for a process, the symbol list of the kernel. A frame without a name keeps
// its module and offset, and may get a name later or on another host.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "core/stacks/stack_table.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// The sources of names. Each function is called only if a frame needs it.
struct NameSources {
  // Returns the file of a module of the table; null if unreadable. It is valid until the next call.
  std::function<const ElfFile*(std::uint32_t module)> file;
  // Returns the text of /tmp/perf-<pid>.map of this process; empty if there is none.
  std::function<std::string(std::uint64_t process)> perf_map;
  // Returns the text of /proc/kallsyms.
  std::function<std::string()> kernel_symbols;
  // Optional: returns the debug file of a module, where `own` is the module's file or null. Null if
  // no debug file is found. It is valid until the next call.
  std::function<const ElfFile*(std::uint32_t module, const ElfFile* own)> debug_file{};
  // Optional: returns the file to which dwz moved debug information of `file`, which belongs to a
  // module with this path. Null and validity as above.
  std::function<const ElfFile*(const ElfFile& file, const std::string& path)> dwz_file{};
  // Optional: opens regular files that debug information names (.dwo, .dwp).
  std::function<sdk::Fd(const std::string& path)> open_named{};
};

// Limits on the search for names: steps as NameWork counts them, and time for work that steps do
// not cover. Every module has an equal share of the steps. First each module may use at most
// `first_steps_per_module`; the rest is then divided between the modules that need more. So
// expensive modules do not use the shares of others.
struct FrameNamingLimits {
  std::uint64_t steps = 1 << 30;
  std::uint64_t steps_per_module = 256 << 20;  // 300,000 places in node take 200 million
  std::uint64_t first_steps_per_module = 8 << 20;
  std::chrono::nanoseconds max_time = std::chrono::seconds(30);
  // If not null: no further module is searched once it is true. A signal handler may set it.
  const std::atomic<bool>* stop = nullptr;
};

struct NamedFrames {
  std::size_t unnamed_frames = 0;              // number of frames without a name
  std::vector<std::uint32_t> limited_modules;  // modules with such frames because of a limit
  std::uint64_t steps = 0;                     // steps that the search took
};

// Sets only missing names. No further module is searched after the time limit.
NamedFrames name_frames(StackTable& table, const NameSources& sources,
                        const FrameNamingLimits& limits = {});

// The result of expand_inlines().
struct InlineExpansion {
  StackTable table;
  std::vector<std::uint32_t> nodes;  // node n of the old table is now [n], or kNoStack
  std::size_t complete_modules = 0;  // modules whose debug information was read completely
  std::size_t limited_modules = 0;   // modules that exceeded a limit
  // Modules with unknown inlined functions: those without debug information; those that need a dwz
  // file that is missing; those that need .dwo files that are missing. In the last two cases some
  // inlined functions may be known.
  std::vector<Module> without_debug_information, without_dwz_file, without_split_units;
  bool has_reader = true;  // false: libdw is missing, and no module was read
};

// Returns a table in which inlined functions are named frames of their own, each called by the
// function that it was inlined into. They come from debug information. Modules are read one after
// the other until `time` is over; each may use a quarter of the remaining time. A module that
// already has such frames is skipped. `stop`: see FrameNamingLimits.
InlineExpansion expand_inlines(const StackTable& table, const NameSources& sources,
                               std::chrono::nanoseconds time,
                               const std::atomic<bool>* stop = nullptr);

}  // namespace ctprof
