// Functions that a compiler put into others, as debug information (DWARF) tells them.
//
// libdw reads it. Loading that takes 0.6 ms, which no start is to pay: so it happens when somebody
// asks first. It gets no file whose sections claim to be more than 512 MiB, and opens none by
// itself: what dwz moved to another file is read of the one that is handed over, and units that
// are in files of their own (.dwo, .dwp) by a function that is handed over. Sections that are
// packed by zstd are unpacked before. All units are passed over once for all addresses, as long as
// there is time.
//
// What is not here: lines.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/stacks/elf_file.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

struct Inlines {
  enum class Outcome : std::uint8_t {
    Told,      // all that it says
    NoInfo,    // the file has no debug information
    TooLarge,  // its sections are
    Cut,       // time or memory ran out; what there is, is right
    NoReader,  // libdw is not here, or was not when this was built
  };

  Outcome outcome = Outcome::NoInfo;
  bool lacks_moved = false;       // what dwz moved to another file is not here
  std::size_t split_missing = 0;  // units of these addresses whose files are not here
  // As they stand in the debug information (demangle.hpp); empty: it does not tell.
  std::vector<std::string> names;
  // For each address which of these were inlined there, outermost first. The function that they are
  // in is not among them.
  std::vector<std::vector<std::uint32_t>> chains;
};

// Where the parts of debug information are that are not in the file itself.
struct DebugSources {
  const ElfFile* moved = nullptr;  // what dwz moved out of it; null: it is not here
  // Opens a regular file by a path that the debug information names; empty: none is opened.
  std::function<sdk::Fd(const std::string& path)> open{};
  std::string path{};  // of the program; its .dwp file is beside it
};

// Of addresses in ascending order, each once. The files have descriptors. It also ends once `stop`
// is true, which may be null.
Inlines inlines_in(const ElfFile& file, const DebugSources& sources,
                   std::span<const FileAddress> addresses,
                   std::chrono::steady_clock::time_point until,
                   const std::atomic<bool>* stop = nullptr);

}  // namespace ctprof
