// Tests the BPF programs and the plugin of off-cpu together, for exact results. Recorded scheduler
// events drive the programs in a simulated kernel, with many different window edges. All values are
// computed a second time only from the events.

#define BOOST_TEST_MODULE recorded_off_cpu_programs
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "plugins/off-cpu/record_writer.hpp"
#include "tests/recorded/off_cpu_recording.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
namespace data = boost::unit_test::data;

namespace {

const std::vector<std::string> kTraces{"turns", "kinds", "ends", "takeover"};

// Time, thread and start, which identify a thread's values of a window.
using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

Key make_key(const ctprof_record& record) {
  return {record.at_ns, record.tid, record.start_time_clock_ticks};
}

using Numbers = std::array<std::uint64_t, off_cpu::kOffers>;

// Collects all records except stacks.
std::map<Key, Numbers> received_numbers(const ReceivedData& received) {
  std::map<Key, Numbers> delivered;
  for (const ReceivedRecord& got : received.records)
    if (got.record.offer != off_cpu::kOfferStacks)
      delivered[make_key(got.record)][got.record.offer] += got.record.weight;
  return delivered;
}

Numbers expected_numbers(const TimelineFigures& figures) {
  Numbers numbers{};
  numbers[off_cpu::kOfferCount] = figures.waits;
  numbers[off_cpu::kOfferTotal] = figures.off_cpu();
  numbers[off_cpu::kOfferLongest] = figures.longest;
  numbers[off_cpu::kOfferShortest] = figures.shortest;
  for (std::size_t kind = 0; kind < OFF_WAIT_STATES; ++kind) {
    numbers[off_cpu::kOfferFirstState + 2 * kind] = figures.counts[kind];
    numbers[off_cpu::kOfferFirstState + 2 * kind + 1] = figures.ns[kind];
  }
  return numbers;
}

// Removes and returns the numbers that were recorded under one of the thread's ids.
Numbers take_numbers(std::map<Key, Numbers>& delivered, const Timeline& line,
                     const TimelineFigures& figures) {
  for (const auto& [tid, start] : line.ids) {
    const auto found = delivered.extract(Key{figures.until, tid, start / kNsPerTick});
    if (!found.empty()) return found.mapped();
  }
  return {};
}

// Returns the recorder's check of its own sums: the number of threads whose sums add up, and of all
// threads.
std::pair<std::string, std::string> sum_check_of(const ReceivedData& received) {
  const std::string message = received.message();
  const std::size_t begin = message.find(", for ") + 6, of = message.find(" of ", begin);
  return {message.substr(begin, of - begin),
          message.substr(of + 4, message.find(" threads", of) - of - 4)};
}

// Returns how many events the recorder reports as unseen.
std::uint64_t unseen_events_of(const ReceivedData& received) {
  const std::string message = received.message();
  const std::string label = "missed wake-ups and switches: ";
  const std::size_t begin = message.find(label);
  return begin == message.npos ? 0 : std::stoull(message.substr(begin + label.size()));
}

// Returns how many unseen events the timelines contain.
std::uint64_t unseen_events_of(const Timelines& lines) {
  std::uint64_t events = 0;
  for (const auto& [origin, line] : lines) events += line.unseen_events;
  return events;
}

constexpr unsigned kSeeds = 4;

}  // namespace

// Compares the values of all windows with the scheduler events. Returns the number of threads, and
// adds the events that the recorder did not see to `unseen`.
std::size_t check_windows(const Recording& recording, unsigned seed, std::uint64_t& unseen) {
  std::size_t threads = 0;
  for (const Window& window : recording.windows) {
    auto delivered = received_numbers(*window.received);
    const std::size_t before = threads;
    for (const auto& [origin, line] : recording.timelines) {
      const TimelineFigures figures = figures_between(line, window.opened, window.ended);
      if (figures.wall == 0) continue;
      BOOST_TEST_CONTEXT("seed " << seed << " from " << window.opened << " tid " << origin.second) {
        BOOST_TEST(figures.off_cpu() + figures.ns[OFF_RUNNING] == figures.wall);
        BOOST_TEST(take_numbers(delivered, line, figures) == expected_numbers(figures),
                   boost::test_tools::per_element());
      }
      ++threads;
    }
    BOOST_TEST(delivered.empty());  // there are no other threads
    const auto [exact, all] = sum_check_of(*window.received);
    BOOST_TEST(exact == std::to_string(threads - before));
    BOOST_TEST(all == exact);
    unseen += unseen_events_of(*window.received);
  }
  return threads;
}

// Window edges may split anything: running, waiting, wakeups, starts and exits.
BOOST_DATA_TEST_CASE(values_of_a_window_are_limited_by_its_edges,
                     data::make(kTraces) * data::make({1u, 7u, 60u}), name, number) {
  const Trace trace = load_sched_trace(name);
  std::size_t threads = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Recording recording(trace, default_settings(seed), number);
    std::uint64_t unseen = 0;
    threads += check_windows(recording, seed, unseen);
    BOOST_TEST(unseen == unseen_events_of(recording.timelines));
  }
  BOOST_TEST(threads >= 3 * kSeeds);
}

// Threads are read between these windows; the time in between belongs to no window.
BOOST_DATA_TEST_CASE(values_exclude_the_time_between_windows,
                     data::make(kTraces) * data::make({1u, 7u, 60u}), name, number) {
  const Trace trace = load_sched_trace(name);
  std::size_t threads = 0, windows = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Recording recording(trace, default_settings(seed), number, Events::All, Edges::Separate);
    std::uint64_t unseen = 0;
    threads += check_windows(recording, seed, unseen);
    windows += recording.windows.size();
    for (const Window& window : recording.windows) {
      std::uint64_t expected = 0, got = 0;
      for (const auto& [origin, line] : recording.timelines)
        expected += figures_between(line, window.opened, window.ended).charged(false);
      for (const ReceivedRecord& record : window.received->records)
        if (record.record.offer == off_cpu::kOfferStacks) got += record.record.weight;
      BOOST_TEST(got == expected);
    }
  }
  BOOST_TEST(windows >= kSeeds);
  BOOST_TEST(threads > 0u);
}

BOOST_DATA_TEST_CASE(stack_weights_equal_the_waiting_time_of_a_window,
                     data::make(kTraces) * data::make({1u, 7u, 60u}) * data::make({0u, 1u}), name,
                     number, all_waits) {
  const Trace trace = load_sched_trace(name);
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    kernel_settings settings = default_settings(seed);
    settings.all_waits = all_waits;
    if (seed == 1) settings.max_stack_records = 2;  // most stacks are lost
    if (seed == 2) settings.every_stack = 1;
    const Recording recording(trace, settings, number);
    std::uint64_t lost = 0;
    for (const Window& window : recording.windows) {
      std::uint64_t expected = 0, got = 0;
      for (const auto& [origin, line] : recording.timelines)
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

// The values of such a thread are lost with its record.
BOOST_AUTO_TEST_CASE(counts_exits_that_do_not_fit_as_lost) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    kernel_settings settings = default_settings(seed);
    settings.max_other_records = 0;
    const Recording recording(load_sched_trace("ends"), settings, 7);
    std::uint64_t lost = 0, exits = 0;
    for (const Window& window : recording.windows) lost += window.received->lost();
    for (const auto& [origin, line] : recording.timelines)
      exits += line.ended_ns > recording.windows.front().opened &&
               line.ended_ns <= recording.windows.back().ended;
    BOOST_TEST(exits > 0u);
    BOOST_TEST(lost == exits);
  }
}

// If the kernel hides threads from BPF, some wakeups and switches are not seen. The programs infer
// the missing states, so that each thread's time is complete, and count these events.
BOOST_DATA_TEST_CASE(unseen_events_do_not_lose_time, data::make(kTraces) * data::make({1u, 60u}),
                     name, number) {
  const Recording recording(load_sched_trace(name), default_settings(2), number, Events::Recorded);
  std::uint64_t unseen = 0;
  for (const Window& window : recording.windows) {
    const auto [exact, threads] = sum_check_of(*window.received);
    BOOST_TEST_CONTEXT(window.received->message()) BOOST_TEST(exact == threads);
    unseen += unseen_events_of(*window.received);
  }
  BOOST_TEST(unseen == unseen_events_of(recording.timelines));
}
