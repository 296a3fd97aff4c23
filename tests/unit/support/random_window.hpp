// Builds windows between random hosts (random_host.hpp).

#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <utility>

#include "core/window/differences.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/support/random_host.hpp"

namespace ctprof::tests {

// Returns a random host, captured this many seconds after its boot.
inline Snapshot random_host_at(std::uint64_t seed, std::uint64_t second) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  Snapshot snapshot = RandomHost(seed).make();
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = second * kSecond;
  snapshot.read_at.assign(snapshot.threads().rows, 5);
  return snapshot;
}

// Returns a window from 10 to 20 s after boot between two random hosts that share some threads. The
// threads of a third random host exited at 15 s.
inline Snapshot random_window(std::uint64_t seed) {
  constexpr std::uint64_t kEndedAt = 15;
  ExitedThreads ended;
  ended.rows = random_host_at(seed + 2, kEndedAt);
  ended.exit_ns.assign(ended.rows.threads().rows, kEndedAt * 1'000'000'000);
  ended.has_source = true;
  ended.lost = seed;
  auto made =
      make_window(random_host_at(seed, 10), random_host_at(seed + seed % 2, 20), std::move(ended));
  BOOST_REQUIRE_MESSAGE(made.has_value(), made.error().text);
  return std::move(*made);
}

}  // namespace ctprof::tests
