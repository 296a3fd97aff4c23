// Where the counters are in a program that was stripped of all names.
//
// The table for stack unwinding, which strip(1) leaves, tells where each function begins. Every
// function is followed as malloc is (tsd_code.hpp); of the places to which any of them adds, two
// are the counters when what stands around them in the image of the thread-local segment is
// jemalloc's: before 5.3 the variable begins with the state of a thread that has not called it yet,
// since 5.3 the empty cache (known_versions.hpp) ends where the counters begin. A program's own
// pair of counters has neither.
//
// What is here:   the search.
// What is not:    whether it is worth while (allocator_file.hpp).

#pragma once

#include <optional>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"
#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"
#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

namespace ctprof::jemalloc {

// In the order of their addresses: by the table for unwinding (.eh_frame_hdr), or else by the
// records that it would lead to (.eh_frame); empty where the file has neither, or what no linker
// writes.
std::vector<Function> unwound_functions(const ElfFile& file);

// The image of the thread-local segment, as seen by the search.
class TsdImage {
 public:
  explicit TsdImage(const ElfFile& file);

  // Whether anything in it may be jemalloc's; a cheap look that nearly every program fails.
  bool may_be_jemalloc() const;
  // Whether these may be the counters, counted from the start of the segment.
  bool has_counters_at(std::int64_t allocated, std::int64_t deallocated) const;

 private:
  bool is_state(std::size_t word) const;

  std::vector<std::uint64_t> words_;
  std::optional<std::int64_t> cache_;
};

// Counted from the thread pointer, where the segment begins at `start`. Nothing when no pair fits,
// or more than one does.
std::optional<CounterPlaces> counters_of_stripped(const ElfFile& file, const TsdImage& image,
                                                  std::int64_t start);

}  // namespace ctprof::jemalloc
