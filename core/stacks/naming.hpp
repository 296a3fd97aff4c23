// Names for all frames of a table in one batch, once recording is over or much later.
//
// Each module is asked once for all of its frames: a file for its symbols, a process for the map
// that its just-in-time compiler wrote, the kernel for its list. A frame that gets no name keeps
// its module and its place there, and may get one later or elsewhere.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/stacks/elf_file.hpp"
#include "core/stacks/stack_table.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Where names come from; each is asked only if there is a frame for it.
struct NameSources {
  // The file of a module of the table; null: it cannot be read. It lives until the next call.
  std::function<const ElfFile*(std::uint32_t module)> file;
  // What /tmp/perf-<pid>.map says in that process; empty: there is none.
  std::function<std::string(std::uint64_t process)> perf_map;
  // What /proc/kallsyms says.
  std::function<std::string()> kernel;
  // May be left out: what was stripped from a module's file, where `own` is that file or null.
  // Null: nobody has it. It lives until the next call.
  std::function<const ElfFile*(std::uint32_t module, const ElfFile* own)> stripped{};
  // May be left out, and is like that: what dwz moved out of the debug information of a file, which
  // belongs to a module with that path.
  std::function<const ElfFile*(const ElfFile& file, const std::string& path)> moved{};
  // May be left out: opens regular files that debug information names (.dwo, .dwp).
  std::function<sdk::Fd(const std::string& path)> open_named{};
};

// What names may cost: steps as NameWork counts them, and time for what these do not bound. Every
// module has an equal share of the steps, so those that take most of it leave the others theirs: at
// first each has at most `first`, then what is left is for those that this did not suffice for.
struct NameLimits {
  std::uint64_t steps = 1 << 30;
  std::uint64_t steps_of_module = 256 << 20;  // 300,000 places in node take 200 million
  std::uint64_t first = 8 << 20;
  std::chrono::nanoseconds time = std::chrono::seconds(30);
  // Null, or: no module is asked any more once it is true. A signal handler may set it.
  const std::atomic<bool>* stop = nullptr;
};

struct NamedFrames {
  std::size_t unnamed = 0;            // frames that have no name
  std::vector<std::uint32_t> beyond;  // modules with such frames because of a limit
  std::uint64_t steps = 0;            // that it took
};

// Leaves alone what has a name. No module is asked any more once the time is over.
NamedFrames name_frames(StackTable& table, const NameSources& sources,
                        const NameLimits& limits = {});

// What with_inlines() made of a table.
struct WithInlines {
  StackTable table;
  std::vector<std::uint32_t> nodes;  // node n of the old table is now [n], or kNoStack
  std::size_t told = 0;              // modules whose debug information told all that it has
  std::size_t cut = 0;               // modules whose was too large, or took too much
  // Modules of which inlined functions are unknown, or some of them: without debug information;
  // whose debug information is in part in a file of dwz, or in .dwo files, that is not here.
  std::vector<Module> without_info, without_moved, without_split;
  bool has_reader = true;  // false: libdw is not here, and no module was asked
};

// A table in which functions that a compiler put into others are frames of their own, named, each
// called by the one that it was put into. Debug information tells them: of each module as long as
// there is time, one after the other, a quarter of what is left for each. A module that has such
// frames already is left alone.
// `stop`: see NameLimits.
WithInlines with_inlines(const StackTable& table, const NameSources& sources,
                         std::chrono::nanoseconds time, const std::atomic<bool>* stop = nullptr);

}  // namespace ctprof
