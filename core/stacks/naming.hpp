// Names for all frames of a table in one batch, once recording is over.
//
// Each module is asked once for all of its frames: a file for its symbols, a process for the map
// that its just-in-time compiler wrote, the kernel for its list. A frame that gets no name keeps
// its module and its place there, and may get one later or elsewhere.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/stacks/elf_file.hpp"
#include "core/stacks/stack_table.hpp"

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
};

// Leaves alone what has a name. Returns how many frames have none.
std::size_t name_frames(StackTable& table, const NameSources& sources);

}  // namespace ctprof
