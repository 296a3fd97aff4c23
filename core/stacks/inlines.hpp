// Reads inlined functions from debug information (DWARF).
//
// libdw parses it. The library is loaded at first use, because loading takes 0.6 ms, which not
// every start should pay. It gets no file whose sections claim more than 512 MiB, and opens no
// files itself: the caller passes the dwz file, and a function that opens split units (.dwo, .dwp).
// Sections compressed with zstd are unpacked first. All units are read once for all addresses,
// until the deadline.
//
// Line numbers are not read.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

struct Inlines {
  enum class Outcome : std::uint8_t {
    Complete,    // all that the file has
    NoInfo,      // the file has no debug information
    TooLarge,    // its sections are too large
    Incomplete,  // time or memory ran out; the partial result is correct
    NoLibdw,     // libdw is missing at run time, or was missing at build time
  };

  Outcome outcome = Outcome::NoInfo;
  bool lacks_dwz_file = false;          // the file to which dwz moved parts is missing
  std::size_t missing_split_units = 0;  // units of these addresses whose files are missing
  // Mangled names as in the debug information (see demangle.hpp); empty if it has none.
  std::vector<std::string> names;
  // By address: indexes of the inlined functions there, outermost first, without the function that
  // contains them.
  std::vector<std::vector<std::uint32_t>> chains;
};

// The sources of debug information that is not in the file itself.
struct DebugSources {
  const ElfFile* dwz_file = nullptr;  // the file to which dwz moved parts; null if missing
  // Opens a regular file by a path in the debug information; empty: no such file is opened.
  std::function<sdk::Fd(const std::string& program_path)> open{};
  std::string program_path{};  // of the program; its .dwp file is in the same directory
};

// Finds the inlined functions at unique addresses in ascending order. The files must have
// descriptors. Stops at `deadline`, or once `stop`, which may be null, is true.
Inlines find_inlines(const ElfFile& file, const DebugSources& sources,
                     std::span<const FileAddress> addresses,
                     std::chrono::steady_clock::time_point deadline,
                     const std::atomic<bool>* stop = nullptr);

}  // namespace ctprof
