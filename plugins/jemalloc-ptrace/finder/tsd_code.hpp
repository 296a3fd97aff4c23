// Where the counters are, read out of the machine code of malloc and free, or of functions that do
// the same under other names (sdallocx, say).
//
// On their fast path, malloc adds the size to the thread's counter of allocated bytes and free to
// that of deallocated ones. Both functions are followed from their first instruction in the order
// of the text, with what is known of each register: the thread pointer, a distance from it, a
// counter that was loaded, its sum. A place at a fixed distance from the thread pointer that is
// loaded, gets something added that is no constant, and is stored again, is a counter. jemalloc has
// others (the 5.2 line counts bytes until it samples), so that the two functions are matched: in
// all its versions since 5.0 the counter of free stands 8 or 16 bytes behind that of malloc.
//
// Pure functions on bytes; whatever the bytes are, they end.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ctprof::jemalloc {

// A place in thread-local storage: `offset` bytes from the thread pointer, or from where the number
// in a slot of the file leads from there.
struct Place {
  std::uint64_t slot = 0;  // its address in the file's own count, 0 for none
  std::int64_t offset = 0;
  bool operator==(const Place&) const = default;
};

struct Code {
  std::uint64_t address = 0;
  std::span<const std::uint8_t> bytes;
};

// The places to which a function adds, in the order of its stores, each once.
std::vector<Place> places_added_to(std::uint16_t machine, const Code& code);
std::vector<Place> places_added_to_x86_64(const Code& code);
std::vector<Place> places_added_to_aarch64(const Code& code);

struct CounterPlaces {
  Place allocated;
  Place deallocated;
};

// Nothing when no pair fits, or more than one does.
std::optional<CounterPlaces> counters_in(std::uint16_t machine, const Code& malloc,
                                         const Code& free);

}  // namespace ctprof::jemalloc
