// What is known of jemalloc's layout without looking at code: for files whose functions cannot be
// found because they were stripped of all names, and that carry no debug information.
//
// Since 5.3.0 the initial image of its thread-local variable holds an empty cache of 24 pairs (1,
// 0), which nothing else looks like: it tells that a file carries jemalloc, and where in its
// thread-local segment. The version is a text among the constants of the file.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"

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

}  // namespace ctprof::jemalloc
