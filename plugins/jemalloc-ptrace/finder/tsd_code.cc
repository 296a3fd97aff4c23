#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

#include <elf.h>

namespace ctprof::jemalloc {
namespace {

// Next to each other (5.0 to 5.2), or with the event's threshold between (since 5.3).
bool match(const TlsAddress& allocated, const TlsAddress& deallocated) {
  if (allocated.slot != deallocated.slot) return false;
  const auto distance =
      static_cast<std::uint64_t>(deallocated.offset) - static_cast<std::uint64_t>(allocated.offset);
  return distance == 8 || distance == 16;
}

}  // namespace

std::vector<TlsAddress> places_added_to(std::uint16_t machine, const Code& code) {
  switch (machine) {
    case EM_X86_64: return places_added_to_x86_64(code);
    case EM_AARCH64: return places_added_to_aarch64(code);
    default: return {};
  }
}

std::optional<CounterPlaces> counters_in(std::uint16_t machine, const Code& malloc,
                                         const Code& free) {
  const auto by_malloc = places_added_to(machine, malloc);
  const auto by_free = places_added_to(machine, free);
  std::optional<CounterPlaces> found;
  for (const TlsAddress& allocated : by_malloc)
    for (const TlsAddress& deallocated : by_free) {
      if (!match(allocated, deallocated)) continue;
      if (found) return std::nullopt;
      found = CounterPlaces{allocated, deallocated};
    }
  return found;
}

}  // namespace ctprof::jemalloc
