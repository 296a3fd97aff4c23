// Functions that a compiler put into others, as debug information (DWARF) tells them.
//
// libdw reads it. Loading that takes 0.6 ms, which no start is to pay: so it happens when somebody
// asks first. It gets no file whose sections claim to be more than 512 MiB, and opens none by
// itself: what dwz moved to another file is read of the one that is handed over, or not at all. All
// units are passed over once for all addresses, as long as there is time.
//
// What is not here: units that lie in .dwo files of their own; lines.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/stacks/elf_file.hpp"

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
  // As they stand in the debug information (demangle.hpp); empty: it does not tell.
  std::vector<std::string> names;
  // For each address which of these were inlined there, outermost first. The function that they are
  // in is not among them.
  std::vector<std::vector<std::uint32_t>> chains;
};

// Of addresses in ascending order, each once. The files have descriptors; `moved` is what dwz moved
// out of the file, or null. It also ends once `stop` is true, which may be null.
Inlines inlines_in(const ElfFile& file, const ElfFile* moved,
                   std::span<const FileAddress> addresses,
                   std::chrono::steady_clock::time_point until,
                   const std::atomic<bool>* stop = nullptr);

}  // namespace ctprof
