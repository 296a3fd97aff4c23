// The BPF programs of off-cpu and the plugin together, for equality: recorded events of the
// scheduler drive the programs in a simulated kernel, with window edges at many places, and every
// figure is computed a second time from the events alone.

#define BOOST_TEST_MODULE recorded_off_cpu_programs
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "plugins/off-cpu/handover.hpp"
#include "tests/recorded/off_cpu_recording.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
namespace data = boost::unit_test::data;

namespace {

const std::vector<std::string> kTapes{"turns", "kinds", "ends", "takeover"};

// Time, thread and start, as records name a thread's figures of a window.
using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

Key key_of(const ctprof_record& record) {
  return {record.at_ns, record.tid, record.start_time_clock_ticks};
}

using Numbers = std::array<std::uint64_t, off_cpu::kOffers>;

// All but stacks.
std::map<Key, Numbers> delivered_numbers(const Received& received) {
  std::map<Key, Numbers> delivered;
  for (const ReceivedRecord& got : received.records)
    if (got.record.offer != off_cpu::kOfferStacks)
      delivered[key_of(got.record)][got.record.offer] += got.record.weight;
  return delivered;
}

Numbers expected_numbers(const TimelineFigures& figures) {
  Numbers numbers{};
  numbers[off_cpu::kOfferCount] = figures.waits;
  numbers[off_cpu::kOfferTotal] = figures.off_cpu();
  numbers[off_cpu::kOfferLongest] = figures.longest;
  numbers[off_cpu::kOfferShortest] = figures.shortest;
  for (std::size_t kind = 0; kind < OFF_KINDS; ++kind) {
    numbers[off_cpu::kOfferKinds + 2 * kind] = figures.counts[kind];
    numbers[off_cpu::kOfferKinds + 2 * kind + 1] = figures.ns[kind];
  }
  return numbers;
}

// The thread's numbers, under one of its names; they are taken out.
Numbers take_numbers(std::map<Key, Numbers>& delivered, const Timeline& line,
                     const TimelineFigures& figures) {
  for (const auto& [tid, start] : line.names) {
    const auto found = delivered.extract(Key{figures.until, tid, start / kNsPerTick});
    if (!found.empty()) return found.mapped();
  }
  return {};
}

// What the recorder says of its own sums: of how many threads they add up, and of how many it
// knows.
std::pair<std::string, std::string> closure_of(const Received& received) {
  const std::string message = received.message();
  const std::size_t begin = message.find(", for ") + 6, of = message.find(" of ", begin);
  return {message.substr(begin, of - begin),
          message.substr(of + 4, message.find(" threads", of) - of - 4)};
}

// How many events it says that it did not see.
std::uint64_t unseen_events_of(const Received& received) {
  const std::string message = received.message();
  const std::size_t end = message.find(" wake-ups or switches");
  if (end == message.npos) return 0;
  return std::stoull(message.substr(message.rfind(' ', end - 1) + 1));
}

// ... and how many there were.
std::uint64_t unseen_events_of(const Timelines& lines) {
  std::uint64_t events = 0;
  for (const auto& [origin, line] : lines) events += line.odd;
  return events;
}

constexpr unsigned kSeeds = 4;

}  // namespace

// Compares the figures of all windows with the scheduler's events. Returns how many threads there
// were, and counts the events that the recorder did not see.
std::size_t check_windows(const Recording& recording, unsigned seed, std::uint64_t& unseen) {
  std::size_t threads = 0;
  for (const Window& window : recording.windows) {
    auto delivered = delivered_numbers(*window.received);
    const std::size_t before = threads;
    for (const auto& [origin, line] : recording.lines) {
      const TimelineFigures figures = figures_between(line, window.opened, window.ended);
      if (figures.wall == 0) continue;
      BOOST_TEST_CONTEXT("seed " << seed << " from " << window.opened << " tid " << origin.second) {
        BOOST_TEST(figures.off_cpu() + figures.ns[OFF_RUNS] == figures.wall);
        BOOST_TEST(take_numbers(delivered, line, figures) == expected_numbers(figures),
                   boost::test_tools::per_element());
      }
      ++threads;
    }
    BOOST_TEST(delivered.empty());  // nothing of any other thread
    const auto [exact, all] = closure_of(*window.received);
    BOOST_TEST(exact == std::to_string(threads - before));
    BOOST_TEST(all == exact);
    unseen += unseen_events_of(*window.received);
  }
  return threads;
}

// Whatever the edges of windows cut: a turn, a wait, a wake-up, a birth, an end.
BOOST_DATA_TEST_CASE(figures_of_a_window_are_what_its_edges_leave_of_each_thread,
                     data::make(kTapes) * data::make({1u, 7u, 60u}), name, number) {
  const Tape tape = sched_tape_of(name);
  std::size_t threads = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Recording recording(tape, settings_of(seed), number);
    std::uint64_t unseen = 0;
    threads += check_windows(recording, seed, unseen);
    BOOST_TEST(unseen == unseen_events_of(recording.lines));
  }
  BOOST_TEST(threads >= 3 * kSeeds);
}

// Windows with time between them, in which threads are read: that time is in no window.
BOOST_DATA_TEST_CASE(figures_leave_out_the_time_between_windows,
                     data::make(kTapes) * data::make({1u, 7u, 60u}), name, number) {
  const Tape tape = sched_tape_of(name);
  std::size_t threads = 0, windows = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Recording recording(tape, settings_of(seed), number, Events::All, Edges::Own);
    std::uint64_t unseen = 0;
    threads += check_windows(recording, seed, unseen);
    windows += recording.windows.size();
    for (const Window& window : recording.windows) {
      std::uint64_t expected = 0, got = 0;
      for (const auto& [origin, line] : recording.lines)
        expected += figures_between(line, window.opened, window.ended).charged(false);
      for (const ReceivedRecord& record : window.received->records)
        if (record.record.offer == off_cpu::kOfferStacks) got += record.record.weight;
      BOOST_TEST(got == expected);
    }
  }
  BOOST_TEST(windows >= kSeeds);
  BOOST_TEST(threads > 0u);
}

BOOST_DATA_TEST_CASE(stacks_of_a_window_weigh_its_waiting_time,
                     data::make(kTapes) * data::make({1u, 7u, 60u}) * data::make({0u, 1u}), name,
                     number, all_waits) {
  const Tape tape = sched_tape_of(name);
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    kernel_settings settings = settings_of(seed);
    settings.all_waits = all_waits;
    if (seed == 1) settings.stacks_room = 2;  // most are lost
    if (seed == 2) settings.every_stack = 1;
    const Recording recording(tape, settings, number);
    std::uint64_t lost = 0;
    for (const Window& window : recording.windows) {
      std::uint64_t expected = 0, got = 0;
      for (const auto& [origin, line] : recording.lines)
        expected += figures_between(line, window.opened, window.ended).charged(all_waits != 0);
      for (const ReceivedRecord& record : window.received->records)
        if (record.record.offer == off_cpu::kOfferStacks) got += record.record.weight;
      BOOST_TEST(got == expected);
      lost += window.received->lost();
    }
    if (seed != 1) BOOST_TEST(lost == 0u);
    if (seed == 1 && name == "turns") BOOST_TEST(lost > 0u);
  }
}

// The figures of such a thread are lost with its record.
BOOST_AUTO_TEST_CASE(exits_that_find_no_room_are_counted_as_lost) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    kernel_settings settings = settings_of(seed);
    settings.others_room = 0;
    const Recording recording(sched_tape_of("ends"), settings, 7);
    std::uint64_t lost = 0, exits = 0;
    for (const Window& window : recording.windows) lost += window.received->lost();
    for (const auto& [origin, line] : recording.lines)
      exits += line.ended > recording.windows.front().opened &&
               line.ended <= recording.windows.back().ended;
    BOOST_TEST(exits > 0u);
    BOOST_TEST(lost == exits);
  }
}

// Where a kernel hides threads, wake-ups and switches are not seen; whatever is made up for them,
// each thread's time is all there, and they are counted.
BOOST_DATA_TEST_CASE(unseen_events_leave_no_time_out, data::make(kTapes) * data::make({1u, 60u}),
                     name, number) {
  const Recording recording(sched_tape_of(name), settings_of(2), number, Events::AsSeen);
  std::uint64_t unseen = 0;
  for (const Window& window : recording.windows) {
    const auto [exact, threads] = closure_of(*window.received);
    BOOST_TEST_CONTEXT(window.received->message()) BOOST_TEST(exact == threads);
    unseen += unseen_events_of(*window.received);
  }
  BOOST_TEST(unseen == unseen_events_of(recording.lines));
}
