// What one file tells: whether it carries jemalloc, and where a thread's counters are.
//
// It is jemalloc when it defines mallctl under any prefix, has the variable tsd_tls, or has the
// empty cache in its thread-local image. A program may have none of these: then it is jemalloc when
// it has its messages, and either exports a malloc and a free whose code is jemalloc's or has the
// first state of its variable in the image. A file without a thread-local segment of some size,
// which is nearly every file, is dismissed by its program headers.
//
// Sources of the place, in this order: the code of an allocating and a freeing function, which
// costs two small reads and is how the program itself finds the counters; debug information, as
// sure but slow and seldom there; the table of known versions, which trusts a text; of a program,
// all its code, as far as the tables for unwinding lead to it.
//
// What is here:   the decision.
// What is not:    which files a process has, what a file's slot holds in it (finder.hpp); the
// sources themselves.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/finder/stripped_program.hpp"

namespace ctprof::jemalloc {

// The counters' distance from the thread pointer; a library's begins with a number that the loader
// wrote into a slot.
struct Layout {
  std::optional<std::uint64_t> slot;  // its address in the file's own count
  CounterPair counters{};
};

struct FileVerdict {
  Attach attach =
      Attach::NotJemalloc;  // or Found, ArchMismatch, DwarfParseFailure, DynamicTls, TooCostly
  Layout layout{};          // of Found
  std::uint64_t load_address = 0;  // of the file's first loaded segment, in the file's own count
  std::uint64_t load_offset = 0;   // of that segment in the file
  int error = 0;                   // of TooCostly
};

// What debug information says, wherever it was found.
struct DebugFacts {
  TsdFields fields;
  std::optional<std::uint64_t> tsd_offset;
};
using AskDebugFiles = std::function<std::optional<DebugFacts>(const ElfFile&)>;

FileVerdict judge(const ElfFile& file, const AskDebugFiles& ask);

}  // namespace ctprof::jemalloc
