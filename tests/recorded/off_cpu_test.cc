// Tests the values of off-cpu, for exact results: recorded frames of its programs are replayed
// through the plugin, and computed a second time only from the frames.

#define BOOST_TEST_MODULE recorded_off_cpu
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>

#include "plugins/off-cpu/waits.hpp"
#include "tests/recorded/off_cpu_expected.hpp"
#include "tests/recorded/off_cpu_trace.hpp"
#include "tests/recorded/received.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
using namespace ctprof::recorded::off_cpu_trace;
namespace data = boost::unit_test::data;

namespace {

constexpr std::uint64_t kNsPerTick = 1'000'000'000 / TestHost::kUserHz;
const std::vector<std::string> kTraces{"kinds", "turns", "every", "ends", "takeover"};

std::string load_traces() { return std::getenv("TRACES"); }

struct Replay {
  explicit Replay(const std::string& name)
      : trace(Trace::load(load_traces() + "/off_cpu_" + name + ".trace.zst")),
        expected(compute_windows(trace)),
        to_boottime(trace.number("to_boottime_ns")) {
    const TestHost host(load_traces());
    Cursor cursor(trace);
    const off_cpu::Setup setup{.pids = {trace.number("pid")},
                               .period_ns = trace.number("period_ns"),
                               .records_every_stack = trace.number("every_stack") != 0,
                               .charges_all_waits = trace.number("all_waits") != 0};
    off_cpu::Waits waits(host.host(), std::make_unique<ReplayedInput>(trace, cursor), setup, 0);
    windows.push_back(std::make_unique<ReceivedData>());
    while (!cursor.is_at_end()) replay_frame(cursor, waits);
    windows.pop_back();
  }

  void replay_frame(Cursor& cursor, off_cpu::Waits& waits) {
    switch (cursor.next().kind) {
      case kStart: waits.start(); return;
      case kWindowEnds:
        waits.window_ends();
        is_stopped = true;
        return;
      case kDrain:
        waits.drain(windows.back()->sink());
        if (std::exchange(is_stopped, false)) windows.push_back(std::make_unique<ReceivedData>());
        return;
      case kStop: waits.stop(); return;
      case kOutput:
      case kCounters:
      case kCost: return;
      default: throw BadTrace("the recorder did not read all records");
    }
  }

  Trace trace;
  std::vector<ExpectedWindow> expected;
  std::uint64_t to_boottime;
  std::vector<std::unique_ptr<ReceivedData>> windows;
  bool is_stopped = false;
};

// The values of one thread in one window.
struct ReportedThread {
  std::array<std::uint64_t, off_cpu::kOffers> numbers{};
  std::uint64_t weight = 0, rest = 0, at_end = 0;
  std::vector<const ReceivedRecord*> stacks;
};

bool belongs_to(const ReceivedRecord& received, const ExpectedThread& thread) {
  return received.record.tgid == thread.identity.tgid &&
         received.record.start_time_clock_ticks == thread.identity.start_boottime / kNsPerTick;
}

bool is_taken_stack(const Replay& replay, std::size_t window, const ReceivedRecord& received) {
  return std::ranges::any_of(replay.expected[window].stacks, [&](const off_stack* stack) {
    return received.record.at_ns == stack->at + replay.to_boottime &&
           received.record.tid == stack->identity.tid;
  });
}

// The time of all records of a thread except stacks is the end of the thread's values.
std::map<Origin, ReportedThread> reported_threads(const Replay& replay, std::size_t window) {
  std::map<Origin, ReportedThread> all;
  for (const ReceivedRecord& received : replay.windows[window]->records) {
    const ctprof_record& record = received.record;
    BOOST_TEST((record.flags & CTPROF_RECORD_OF_WINDOW) != 0);
    std::size_t threads = is_taken_stack(replay, window, received);
    for (const auto& [origin, thread] : replay.expected[window].threads) {
      if (record.at_ns != thread.until + replay.to_boottime || record.tid != thread.identity.tid ||
          !belongs_to(received, thread))
        continue;
      ++threads;
      ReportedThread& of_thread = all[origin];
      of_thread.numbers[record.offer] += record.weight;
      if (record.offer != off_cpu::kOfferStacks) continue;
      const bool is_rest = (record.flags & CTPROF_RECORD_REST) != 0;
      (is_rest ? of_thread.rest : of_thread.at_end) += record.weight;
      if (!is_rest) of_thread.stacks.push_back(&received);
    }
    BOOST_TEST(threads == 1u);
  }
  return all;
}

void check_numbers(const ExpectedThread& thread, const ReportedThread& got) {
  using namespace off_cpu;
  BOOST_TEST(got.numbers[kOfferCount] == thread.waits);
  BOOST_TEST(got.numbers[kOfferTotal] == thread.off_cpu());
  BOOST_TEST(got.numbers[kOfferLongest] == thread.longest);
  BOOST_TEST(got.numbers[kOfferShortest] == thread.shortest);
  for (std::size_t kind = 0; kind < OFF_WAIT_STATES; ++kind) {
    BOOST_TEST(got.numbers[kOfferFirstState + 2 * kind] == thread.counts[kind]);
    BOOST_TEST(got.numbers[kOfferFirstState + 2 * kind + 1] == thread.ns[kind]);
  }
}

std::uint64_t charged_ns(const Replay& replay, const ExpectedThread& thread) {
  const bool all_waits = replay.trace.number("all_waits") != 0;
  return thread.ns[OFF_SLEEPING] + thread.ns[OFF_BLOCKED] +
         (all_waits ? thread.ns[OFF_QUEUED] + thread.ns[OFF_PREEMPTED] : 0);
}

std::vector<std::uint64_t> kernel_frames(const off_stack_place& place) {
  const auto bytes = static_cast<std::size_t>(std::max(place.kernel_bytes, 0));
  return {place.kernel, place.kernel + bytes / sizeof place.kernel[0]};
}

// The copy starts at the stack pointer, which can be anywhere in the recorded memory.
void check_stack(const ReceivedRecord& got, const off_stack& stack, std::uint64_t to_boottime) {
  BOOST_TEST(got.record.weight == stack.weight);
  BOOST_TEST(got.record.tgid == stack.identity.tgid);
  BOOST_TEST(got.record.tid == stack.identity.tid);
  BOOST_TEST(got.record.start_time_clock_ticks == stack.identity.start_boottime / kNsPerTick);
  BOOST_TEST(got.record.at_ns == stack.at + to_boottime);
  BOOST_TEST(got.kernel == kernel_frames(stack.place), boost::test_tools::per_element());
  BOOST_TEST(got.record.ip == stack.place.ip);
  BOOST_TEST(got.record.sp == stack.place.sp);
  const std::size_t skipped = stack.place.sp % OFF_PIECE;
  const std::size_t copied = stack.pieces * std::size_t{OFF_PIECE};
  BOOST_TEST(got.stack.size() == (copied > skipped ? copied - skipped : 0));
  for (const std::uint8_t byte : got.stack)
    if (byte != pattern_of(stack.identity.tid)) BOOST_FAIL("memory of another thread");
}

}  // namespace

BOOST_DATA_TEST_CASE(reports_exact_numbers_of_each_thread, data::make(kTraces), name) {
  const Replay replay(name);
  BOOST_TEST(replay.windows.size() == replay.expected.size());
  for (std::size_t window = 0; window < replay.windows.size(); ++window) {
    const auto all = reported_threads(replay, window);
    for (const auto& [origin, thread] : replay.expected[window].threads) {
      BOOST_TEST_CONTEXT("window " << window << " thread " << thread.identity.tid) {
        const auto got = all.find(origin);
        check_numbers(thread, got == all.end() ? ReportedThread() : got->second);
      }
    }
  }
}

BOOST_DATA_TEST_CASE(running_and_waiting_time_add_up_to_wall_time, data::make(kTraces), name) {
  const Replay replay(name);
  std::size_t threads = 0;
  for (const ExpectedWindow& window : replay.expected)
    for (const auto& [origin, thread] : window.threads) {
      BOOST_TEST_CONTEXT("window " << window.number << " thread " << thread.identity.tid)
      BOOST_TEST(thread.ns[OFF_RUNNING] + thread.off_cpu() == thread.wall);
      ++threads;
    }
  BOOST_TEST(threads > 1u);
  for (std::size_t window = 0; window < replay.windows.size(); ++window) {
    const std::string all = std::to_string(replay.expected[window].threads.size());
    const std::string message = replay.windows[window]->message();
    BOOST_TEST_CONTEXT(message)
    BOOST_TEST(message.find("for " + all + " of " + all + " threads") != message.npos);
  }
}

// The values of consecutive windows add up to the total time: no time is lost or counted twice at
// an edge.
BOOST_DATA_TEST_CASE(consecutive_windows_add_up_to_the_total_time, data::make(kTraces), name) {
  const Replay replay(name);
  std::map<Origin, std::uint64_t> total, first, last;
  for (const ExpectedWindow& window : replay.expected)
    for (const auto& [origin, thread] : window.threads) {
      total[origin] += thread.ns[OFF_RUNNING] + thread.off_cpu();
      first.try_emplace(origin, thread.until - thread.wall);
      last[origin] = thread.until;
    }
  for (const auto& [origin, ns] : total) BOOST_TEST(ns == last[origin] - first[origin]);
}

BOOST_DATA_TEST_CASE(stack_weights_add_up_to_the_waiting_time, data::make(kTraces), name) {
  const Replay replay(name);
  for (std::size_t window = 0; window < replay.windows.size(); ++window) {
    const auto all = reported_threads(replay, window);
    std::uint64_t weights = 0, waiting = 0;
    for (const auto& [origin, thread] : replay.expected[window].threads) {
      const std::uint64_t charged = charged_ns(replay, thread);
      const auto got = all.find(origin);
      const ReportedThread& is = got == all.end() ? ReportedThread() : got->second;
      const std::uint64_t open = std::min(thread.open_wait, charged - thread.stack_weight);
      BOOST_TEST_CONTEXT("window " << window << " thread " << thread.identity.tid) {
        BOOST_TEST(is.at_end == open);
        BOOST_TEST(is.rest == charged - thread.stack_weight - open);
        BOOST_TEST(is.stacks.size() == (open > 0 ? 1u : 0u));
        if (open > 0)
          BOOST_TEST(is.stacks[0]->kernel == kernel_frames(thread.place),
                     boost::test_tools::per_element());
      }
      waiting += charged;
    }
    for (const ReceivedRecord& received : replay.windows[window]->records)
      if (received.record.offer == off_cpu::kOfferStacks) weights += received.record.weight;
    BOOST_TEST(weights == waiting);
  }
}

BOOST_DATA_TEST_CASE(reports_each_recorded_stack_once, data::make(kTraces), name) {
  const Replay replay(name);
  std::size_t stacks = 0;
  for (std::size_t window = 0; window < replay.windows.size(); ++window) {
    std::multimap<std::pair<std::uint64_t, std::uint64_t>, const ReceivedRecord*> by_time;
    for (const ReceivedRecord& received : replay.windows[window]->records)
      by_time.emplace(std::pair(received.record.at_ns, received.record.tid), &received);
    for (const off_stack* stack : replay.expected[window].stacks) {
      const auto [begin, end] =
          by_time.equal_range({stack->at + replay.to_boottime, stack->identity.tid});
      BOOST_TEST_REQUIRE(std::distance(begin, end) == 1);
      check_stack(*begin->second, *stack, replay.to_boottime);
      ++stacks;
    }
  }
  BOOST_TEST(stacks > 20u);
}

// A stack is due at a threshold of 0.5 to 1.5 periods, or after a wait of one period.
BOOST_DATA_TEST_CASE(stacks_have_at_least_half_a_period, data::make(kTraces), name) {
  const Replay replay(name);
  const std::uint64_t period = replay.trace.number("period_ns");
  if (replay.trace.number("every_stack") != 0) return;
  for (const ExpectedWindow& window : replay.expected)
    for (const off_stack* stack : window.stacks) BOOST_TEST(stack->weight >= period / 2);
}

// --- counts that the workloads print ---

BOOST_AUTO_TEST_CASE(counts_each_sleep_of_a_thread_that_counts_them) {
  const Replay replay("kinds");
  BOOST_TEST_REQUIRE(replay.expected.size() == 1u);
  std::istringstream lines(replay.trace.output());
  std::size_t found = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint32_t tid = 0, calls = 0;
    words >> name >> tid >> calls;
    if (name != "nap") continue;
    for (const auto& [origin, got] : reported_threads(replay, 0)) {
      if (origin.second != tid) continue;
      BOOST_TEST(got.numbers[off_cpu::kOfferFirstState] == calls);
      ++found;
    }
  }
  BOOST_TEST(found == 1u);
}

BOOST_AUTO_TEST_CASE(reports_each_thread_that_was_created_and_exited) {
  const Replay replay("ends");
  std::set<Origin> origins;
  for (const ExpectedWindow& window : replay.expected)
    for (const auto& [origin, thread] : window.threads) origins.insert(origin);
  const auto created = std::stoul(replay.trace.output());  // by all threads
  BOOST_TEST(origins.size() == created + 1);
}
