// Locates the counters in a file that was stripped of all names, and has no debug information: by
// the version's text and a table, or by all code of a program.
//
// Since 5.3.0 the initial image of jemalloc's thread-local variable contains an empty cache of 24
// pairs (1, 0), which is unique: it shows that a file contains jemalloc, and where the variable is
// in its thread-local segment. The version is a text among the constants of the file.
//
// The table for stack unwinding, which strip(1) keeps, contains the start of each function. Every
// function is followed like malloc (tsd_code.hpp). Of the places to which any of them adds, two are
// the counters if their surroundings in the image of the thread-local segment are those of
// jemalloc. Before 5.3 the variable begins with the state of a thread that has not called jemalloc
// yet; since 5.3 the counters are at a fixed distance after the empty cache. A program's own pair
// of counters has neither.
//
// See also: allocator_file.hpp, which decides when to use this search.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"
#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

namespace ctprof::jemalloc {

// Offsets from the start of jemalloc's thread-local variable.
struct TsdFields {
  std::int64_t allocated = 0;
  std::int64_t deallocated = 0;
  bool operator==(const TsdFields&) const = default;
};

struct KnownVersion {
  std::string_view text;  // long enough to distinguish the version from all others
  std::uint16_t machine;
  TsdFields fields;
  std::int64_t cache_offset;  // offset of the empty cache, -1: the image has none
};

std::span<const KnownVersion> known_versions();

// Returns the offset of the empty cache in the image of a thread-local segment.
std::optional<std::int64_t> find_empty_cache(std::span<const std::uint64_t> image);
std::optional<std::int64_t> read_empty_cache(const ElfFile& file);

// Returns the version whose text is among the constants of the file; null if there is none. It
// reads the file's constants, so call it only for jemalloc.
const KnownVersion* find_version(const ElfFile& file);
// Returns whether `text` is among the constants.
bool has_constant(const ElfFile& file, std::string_view text);

// Returns the functions in the order of their addresses: from the table for unwinding
// (.eh_frame_hdr), or else from its records (.eh_frame); empty if the file has neither, or one that
// no linker writes.
std::vector<Function> list_unwind_functions(const ElfFile& file);

// The image of the thread-local segment, for the search.
class TsdImage {
 public:
  explicit TsdImage(const ElfFile& file);

  // Returns whether a part of it may belong to jemalloc; a cheap check that excludes nearly every
  // program.
  bool may_be_jemalloc() const;
  // Returns whether these may be the counters, as offsets from the start of the segment.
  bool has_counters_at(std::int64_t allocated, std::int64_t deallocated) const;

 private:
  bool is_state(std::size_t word) const;

  std::vector<std::uint64_t> words_;
  std::optional<std::int64_t> cache_offset_;
};

// Returns the counters relative to the thread pointer; `start` is the start of the segment. Returns
// no value if no pair fits, or more than one does.
std::optional<CounterPlaces> find_counters_in_stripped(const ElfFile& file, const TsdImage& image,
                                                       std::int64_t start);

}  // namespace ctprof::jemalloc
