// Examines one file: whether it contains jemalloc, and where a thread's counters are.
//
// A file contains jemalloc if it defines mallctl under any prefix, has the variable tsd_tls, or has
// the empty cache in its thread-local image. A program may have none of these. It contains jemalloc
// if it has its messages, and either exports a malloc and a free whose code is that of jemalloc or
// has the initial state of its variable in the image. A file without a thread-local segment of some
// size, which is nearly every file, is dismissed by its program headers.
//
// The location comes from these sources, in this order: the code of an allocating and a freeing
// function, which costs two small reads and is how the program itself finds the counters; debug
// information, which is as reliable but slow and rarely available; the table of known versions,
// which relies on a text; for a program, all of its code that the tables for unwinding list.
//
// See also: finder.hpp for the files of a process and the values of slots; the headers of the
// sources.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/elf/elf_file.hpp"
#include "plugins/jemalloc-ptrace/finder/find_result.hpp"
#include "plugins/jemalloc-ptrace/finder/stripped_program.hpp"

namespace ctprof::jemalloc {

// The distance of the counters from the thread pointer. For a library, it starts with a number that
// the loader wrote into a slot.
struct Layout {
  std::optional<std::uint64_t> slot;  // its address as in the file, before relocation
  CounterPair counters{};
};

struct FileResult {
  // NotJemalloc, Found, ArchMismatch, DwarfParseFailure, DynamicTls or TooCostly.
  FindStatus status = FindStatus::NotJemalloc;
  Layout layout{};                 // only for Found
  std::uint64_t load_address = 0;  // of the file's first loaded segment, as in the file
  std::uint64_t load_offset = 0;   // of that segment in the file
  int error = 0;                   // only for TooCostly
};

// The content of debug information, regardless of where it was found.
struct DebugFacts {
  TsdFields fields;
  std::optional<std::uint64_t> tsd_offset;
};
using DebugFilesQuery = std::function<std::optional<DebugFacts>(const ElfFile&)>;

FileResult analyze_file(const ElfFile& file, const DebugFilesQuery& query);

}  // namespace ctprof::jemalloc
