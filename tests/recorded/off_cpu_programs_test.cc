// The BPF programs of off-cpu and the plugin together, for equality: recorded events of the
// scheduler drive the programs in a simulated kernel, with window edges at many places, and every
// figure is computed a second time from the events alone.

#define BOOST_TEST_MODULE recorded_off_cpu_programs
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/off-cpu/waits.hpp"
#include "tests/recorded/off_cpu_simulated.hpp"
#include "tests/recorded/received.hpp"
#include "tests/recorded/sched_tape.hpp"
#include "tests/recorded/sched_timeline.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
using namespace ctprof::recorded::sched_tape;
namespace data = boost::unit_test::data;

namespace {

constexpr std::uint64_t kNsPerTick = 1'000'000'000 / TestHost::kUserHz;
const std::vector<std::string> kTapes{"turns", "kinds", "ends", "takeover"};

struct Window {
  std::uint64_t opened = 0, ended = 0;
  std::unique_ptr<Received> received = std::make_unique<Received>();
};

// The events of a tape: with those that the kernel kept from programs, or as they were seen.
enum class Events { All, AsSeen };

// A recording: so many windows of random lengths over all events, with drains in between.
class Recording {
 public:
  Recording(const Tape& tape, kernel_settings settings, unsigned number_of_windows,
            Events which = Events::All)
      : lengths_(settings.seed + 7) {
    events = events_of(tape);
    if (which == Events::All) repaired_ = with_unseen_events(events);
    if (which == Events::All) events.clear();
    for (const sched_event& event : repaired_) events.push_back(&event);
    const TestHost host(std::getenv("TAPES"));
    auto input = std::make_unique<SimulatedInput>(events, settings);
    SimulatedInput& kernel = *input;
    const off_cpu::Setup setup{.pids = {tape.number("pid")},
                               .period_ns = settings.period_ns,
                               .every_stack = settings.every_stack != 0,
                               .all_waits = settings.all_waits != 0};
    off_cpu::Waits waits(host.host(), std::move(input), setup, 0);
    waits.start();
    record_windows(kernel, waits, number_of_windows);
    lines = timelines_of(events, 0);
  }

  std::vector<const sched_event*> events;
  std::vector<Window> windows;
  Timelines lines;

 private:
  void record_windows(SimulatedInput& kernel, off_cpu::Waits& waits, unsigned number) {
    const std::uint64_t first = kernel.now_ns(CLOCK_MONOTONIC), last = events.back()->at;
    const std::uint64_t mean = (last - first) / number;
    for (windows.emplace_back(); kernel.now_ns(CLOCK_MONOTONIC) <= last; windows.emplace_back()) {
      for (int drains = 0; drains < 3; ++drains) {
        kernel.advance_to(kernel.now_ns(CLOCK_MONOTONIC) + lengths_() % (2 * mean / 3 + 1));
        waits.drain(windows.back().received->sink());
      }
      if (lengths_() % 2 == 0) kernel.advance_to_edge_at_end_of_turn();
      waits.window_ends();
      kernel.advance_to(kernel.now_ns(CLOCK_MONOTONIC) + lengths_() % 1'000'000);
      waits.drain(windows.back().received->sink());
    }
    windows.pop_back();
    for (std::size_t i = 0; i < windows.size(); ++i) {
      windows[i].opened = kernel.edges().at(i);
      windows[i].ended = kernel.edges().at(i + 1);
    }
  }

  std::vector<sched_event> repaired_;
  std::minstd_rand lengths_;
};

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

kernel_settings settings_of(unsigned seed) {
  return {
      .period_ns = 300'000, .every_stack = 0, .all_waits = 0, .seed = seed, .stacks_room = 60'000};
}

Tape tape_of(const std::string& name) {
  return Tape::load(std::string(std::getenv("TAPES")) + "/sched_" + name + ".tape.zst");
}

// What the recorder says of its own sums: of how many threads they add up, and of how many it
// knows.
std::pair<std::string, std::string> closure_of(const Received& received) {
  const std::string message = received.message();
  const std::size_t begin = message.find(", for ") + 6, of = message.find(" of ", begin);
  return {message.substr(begin, of - begin),
          message.substr(of + 4, message.find(" threads", of) - of - 4)};
}

constexpr unsigned kSeeds = 4;

}  // namespace

// Whatever the edges of windows cut: a turn, a wait, a wake-up, a birth, an end.
BOOST_DATA_TEST_CASE(figures_of_a_window_are_what_its_edges_leave_of_each_thread,
                     data::make(kTapes) * data::make({1u, 7u, 60u}), name, number) {
  const Tape tape = tape_of(name);
  std::size_t threads = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Recording recording(tape, settings_of(seed), number);
    for (const Window& window : recording.windows) {
      auto delivered = delivered_numbers(*window.received);
      const std::size_t before = threads;
      for (const auto& [origin, line] : recording.lines) {
        const TimelineFigures figures = figures_between(line, window.opened, window.ended);
        if (figures.wall == 0) continue;
        BOOST_TEST_CONTEXT("seed " << seed << " from " << window.opened << " tid "
                                   << origin.second) {
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
    }
  }
  BOOST_TEST(threads > 5 * kSeeds);
}

BOOST_DATA_TEST_CASE(stacks_of_a_window_weigh_its_waiting_time,
                     data::make(kTapes) * data::make({1u, 7u, 60u}) * data::make({0u, 1u}), name,
                     number, all_waits) {
  const Tape tape = tape_of(name);
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

// Where a kernel hides threads, wake-ups and switches are not seen; whatever is made up for them,
// each thread's time is all there.
BOOST_DATA_TEST_CASE(unseen_events_leave_no_time_out, data::make(kTapes) * data::make({1u, 60u}),
                     name, number) {
  const Recording recording(tape_of(name), settings_of(2), number, Events::AsSeen);
  for (const Window& window : recording.windows) {
    const auto [exact, threads] = closure_of(*window.received);
    BOOST_TEST_CONTEXT(window.received->message()) BOOST_TEST(exact == threads);
  }
}

// Of a stack that was taken as a thread resumed: the wait before, and what of it the window has.
struct TakenStack {
  const ReceivedRecord* got;
  std::uint64_t wait = 0;  // in the window, as far as it is charged
  bool is_first = false;   // of a thread that was born before it
};

// Only of threads that have one name.
std::vector<TakenStack> taken_stacks(const Recording& recording, const Window& window,
                                     bool all_waits) {
  std::vector<TakenStack> taken;
  for (const auto& [origin, line] : recording.lines) {
    if (line.names.size() > 1) continue;
    for (const ReceivedRecord& got : window.received->records) {
      if (got.record.offer != off_cpu::kOfferStacks || got.record.tid != origin.second ||
          got.record.start_time_clock_ticks != origin.first / kNsPerTick ||
          (got.record.flags & CTPROF_RECORD_REST) != 0)
        continue;
      for (std::size_t i = 0; i < line.away.size(); ++i) {
        if (line.away[i].second != got.record.at_ns) continue;
        Timeline wait;
        for (const StateSpan& span : line.spans)
          if (span.from >= line.away[i].first && span.to <= line.away[i].second)
            wait.spans.push_back(span);
        const auto figures = figures_between(wait, window.opened, window.ended);
        taken.push_back({&got, figures.charged(all_waits), i <= 1 && line.born != 0});
        break;
      }
    }
  }
  return taken;
}

BOOST_DATA_TEST_CASE(each_wait_has_its_stack_on_request,
                     data::make({"turns", "kinds"}) * data::make({0u, 1u}), name, all_waits) {
  kernel_settings settings = settings_of(3);
  settings.every_stack = 1;
  settings.all_waits = all_waits;
  const Recording recording(tape_of(name), settings, 7);
  std::size_t stacks = 0;
  for (const Window& window : recording.windows)
    for (const TakenStack& taken : taken_stacks(recording, window, all_waits != 0)) {
      if (taken.is_first) continue;  // the first wait of a new thread is charged to the second
      BOOST_TEST(taken.got->record.weight == taken.wait);
      ++stacks;
    }
  BOOST_TEST(stacks > 1000u);
}

// --offcpu-period: one that is as long has its own stack, with its length; shorter ones are charged
// in a row to stacks at thresholds of half a period to one and a half, two of them at most.
BOOST_DATA_TEST_CASE(a_wait_of_a_period_is_charged_to_its_own_stack,
                     data::make({"turns", "kinds"}) * data::make({100u, 300u, 1000u, 5000u}), name,
                     period_us) {
  kernel_settings settings = settings_of(5);
  settings.period_ns = period_us * 1000ull;
  const Recording recording(tape_of(name), settings, 7);
  std::size_t long_waits = 0, thresholds = 0;
  for (const Window& window : recording.windows)
    for (const TakenStack& taken : taken_stacks(recording, window, false)) {
      if (taken.is_first) continue;
      const std::uint64_t weight = taken.got->record.weight;
      if (taken.wait >= settings.period_ns) {
        BOOST_TEST(weight == taken.wait);
        ++long_waits;
      } else {
        BOOST_TEST(weight >= settings.period_ns / 2);
        BOOST_TEST(weight <= 3 * settings.period_ns);
        ++thresholds;
      }
    }
  BOOST_TEST(long_waits + thresholds > 20u);
}

// Places are met in proportion to the time that is spent there, whatever the rhythm: threads wait
// 0.9 ms at one place and 0.2 ms at another, in turns.
BOOST_DATA_TEST_CASE(a_place_weighs_as_long_as_it_was_waited_at, data::make({100u, 1000u, 10'000u}),
                     period_us) {
  constexpr double kLargestShare = 0.02;
  constexpr std::uint64_t kLongWait = 500'000;
  const Tape tape = tape_of("turns");
  double got_long = 0, got_short = 0, long_ns = 0, short_ns = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    kernel_settings settings = settings_of(seed);
    settings.period_ns = period_us * 1000ull;
    settings.all_waits = 1;
    const Recording recording(tape, settings, 1);
    const Window& window = recording.windows.front();
    for (const ReceivedRecord& got : window.received->records) {
      if (got.record.offer != off_cpu::kOfferStacks || got.kernel.empty()) continue;
      (got.kernel[0] == KERNEL_LONG_WAIT ? got_long : got_short) +=
          got.kernel[0] == KERNEL_OPEN_WAIT ? 0 : static_cast<double>(got.record.weight);
    }
    for (const auto& [origin, line] : recording.lines)
      for (const auto& [left, back] : line.away)
        if (left >= window.opened && back < window.ended)
          (back - left >= kLongWait ? long_ns : short_ns) += static_cast<double>(back - left);
  }
  const double share = got_long / (got_long + got_short), is = long_ns / (long_ns + short_ns);
  BOOST_TEST(std::abs(share - is) < kLargestShare);
}
