// Where the counters are in a file that was stripped of all names, and has no debug information: by
// the version's text and a table, or by all code of a program.
//
// Since 5.3.0 the initial image of jemalloc's thread-local variable holds an empty cache of 24
// pairs (1, 0), like nothing else: it tells that a file carries jemalloc, and where the variable is
// in its thread-local segment. The version is a text among the constants of the file.
//
// The table for stack unwinding, which strip(1) leaves, tells where each function begins. Every
// function is followed as malloc is (tsd_code.hpp); of the places to which any of them adds, two
// are the counters when what surrounds them in the image of the thread-local segment is
// jemalloc's: before 5.3 the variable begins with the state of a thread that has not called it yet,
// since 5.3 the empty cache ends where the counters begin. A program's own
// pair of counters has neither.
//
// What is here:   the table of versions, the search.
// What is not:    whether it is worth while (allocator_file.hpp).

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"
#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"
#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

namespace ctprof::jemalloc {

// Bytes from the start of jemalloc's thread-local variable.
struct TsdFields {
  std::int64_t allocated = 0;
  std::int64_t deallocated = 0;
  bool operator==(const TsdFields&) const = default;
};

struct KnownVersion {
  std::string_view text;  // as far as it tells the version from every other
  std::uint16_t machine;
  TsdFields fields;
  std::int64_t cache;  // where the empty cache is, -1: there is none in the image
};

std::span<const KnownVersion> known_versions();

// Where the image of a thread-local segment has the empty cache.
std::optional<std::int64_t> empty_cache_in(std::span<const std::uint64_t> image);
std::optional<std::int64_t> empty_cache_of(const ElfFile& file);

// The version whose text is among the constants of the file; null when none is. Reads the file's
// constants, so ask it of jemalloc only.
const KnownVersion* version_of(const ElfFile& file);
// Whether `text` is there.
bool has_constant(const ElfFile& file, std::string_view text);

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
