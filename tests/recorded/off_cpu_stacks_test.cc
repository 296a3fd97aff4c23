// Tests the stacks of off-cpu and their weights, for exact results. Recorded scheduler events drive
// the BPF programs in a simulated kernel. The weight of each stack is computed a second time only
// from the events.

#define BOOST_TEST_MODULE recorded_off_cpu_stacks
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/off-cpu/record_writer.hpp"
#include "tests/recorded/off_cpu_recording.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
namespace data = boost::unit_test::data;

namespace {

// Excludes "takeover", in which two threads have records with the same id.
const std::vector<std::string> kTraces{"turns", "kinds", "ends"};

// A stack that was taken when a thread resumed, with the preceding wait and its part inside the
// window.
struct TakenStack {
  const ReceivedRecord* received_record;
  std::uint64_t wait = 0;  // inside the window, if it counts
  bool is_first = false;   // a new thread's wait before its first run
};

// Requires that each thread has one id.
std::vector<TakenStack> taken_stacks(const Recording& recording, const Window& window,
                                     bool all_waits) {
  std::vector<TakenStack> taken;
  for (const auto& [origin, line] : recording.timelines) {
    if (line.ids.size() > 1) continue;
    for (const ReceivedRecord& got : window.received->records) {
      if (got.record.offer != off_cpu::kOfferStacks || got.record.tid != origin.second ||
          got.record.start_time_clock_ticks != origin.first / kNsPerTick ||
          (got.record.flags & CTPROF_RECORD_REST) != 0)
        continue;
      for (std::size_t i = 0; i < line.off_cpu_spans.size(); ++i) {
        if (line.off_cpu_spans[i].second != got.record.at_ns) continue;
        Timeline wait;
        for (const StateSpan& span : line.spans)
          if (span.from >= line.off_cpu_spans[i].first && span.to <= line.off_cpu_spans[i].second)
            wait.spans.push_back(span);
        const auto figures = figures_between(wait, window.opened, window.ended);
        taken.push_back({&got, figures.charged(all_waits), i <= 1 && line.started_ns != 0});
        break;
      }
    }
  }
  return taken;
}

// Returns the weights of a thread's stacks in a window, in order of time, if all thresholds are
// equal. The wait of a new thread before its first run is added to its next wait.
std::vector<std::uint64_t> expected_weights(const Timeline& line, const Window& window,
                                            std::uint64_t period, std::uint64_t threshold) {
  std::vector<std::uint64_t> weights;
  std::uint64_t carried = 0, charge = 0;
  for (std::size_t i = 0; i < line.off_cpu_spans.size(); ++i) {
    const auto [left, back] = line.off_cpu_spans[i];
    if (back < window.opened || back >= window.ended) continue;
    std::uint64_t waited = 0;
    for (const StateSpan& span : line.spans)
      if (span.state <= OFF_BLOCKED && span.from >= left && span.to <= back)
        waited += span.to - std::min(span.to, std::max(span.from, window.opened));
    if (waited >= period) {
      charge += waited;
    } else {
      carried += waited;
      for (int stacks = 0; stacks < 2 && carried >= threshold && waited > 0; ++stacks) {
        charge += threshold;
        carried -= threshold;
      }
    }
    const bool is_first_turn = i == 0 && line.started_ns != 0;
    if (charge > 0 && !is_first_turn) weights.push_back(std::exchange(charge, 0));
  }
  return weights;
}

}  // namespace

BOOST_DATA_TEST_CASE(records_a_stack_for_each_wait_on_request,
                     data::make({"turns", "kinds"}) * data::make({0u, 1u}), name, all_waits) {
  kernel_settings settings = default_settings(3);
  settings.every_stack = 1;
  settings.all_waits = all_waits;
  const Recording recording(load_sched_trace(name), settings, 7);
  std::size_t stacks = 0;
  for (const Window& window : recording.windows)
    for (const TakenStack& taken_stack : taken_stacks(recording, window, all_waits != 0)) {
      if (taken_stack.is_first) continue;  // the first wait of a new thread counts for the second
      BOOST_TEST(taken_stack.received_record->record.weight == taken_stack.wait);
      ++stacks;
    }
  BOOST_TEST(stacks > 1000u);
}

// A second program at the tracepoint adds a kernel frame.
BOOST_DATA_TEST_CASE(removes_any_number_of_tracing_frames, data::make({0u, 1u, 4u, 5u}), frames) {
  kernel_settings settings = default_settings(3);
  settings.every_stack = 1;
  settings.tracing_frames = frames;
  const Recording recording(load_sched_trace("turns"), settings, 3);
  std::size_t stacks = 0;
  for (const Window& window : recording.windows)
    for (const ReceivedRecord& got : window.received->records) {
      if (got.record.offer != off_cpu::kOfferStacks || got.kernel.empty()) continue;
      BOOST_TEST(got.kernel.size() == 1u);
      BOOST_TEST((got.kernel[0] == KERNEL_LONG_WAIT || got.kernel[0] == KERNEL_SHORT_WAIT ||
                  got.kernel[0] == KERNEL_OPEN_WAIT));
      ++stacks;
    }
  BOOST_TEST(stacks > 1000u);
}

// --offcpu-period: a wait of at least one period has its own stack with its length. Shorter waits
// are summed and assigned to stacks at random thresholds of 0.5 to 1.5 periods, to at most two
// stacks each.
BOOST_DATA_TEST_CASE(a_wait_of_a_period_has_its_own_stack,
                     data::make({"turns", "kinds"}) * data::make({100u, 300u, 1000u, 5000u}), name,
                     period_us) {
  kernel_settings settings = default_settings(5);
  settings.period_ns = period_us * 1000ull;
  const Recording recording(load_sched_trace(name), settings, 7);
  std::size_t long_waits = 0, thresholds = 0;
  for (const Window& window : recording.windows)
    for (const TakenStack& taken_stack : taken_stacks(recording, window, false)) {
      if (taken_stack.is_first) continue;
      const std::uint64_t weight = taken_stack.received_record->record.weight;
      if (taken_stack.wait >= settings.period_ns) {
        BOOST_TEST(weight == taken_stack.wait);
        ++long_waits;
      } else {
        BOOST_TEST(weight >= settings.period_ns / 2);
        BOOST_TEST(weight <= 3 * settings.period_ns);
        ++thresholds;
      }
    }
  BOOST_TEST(long_waits + thresholds > 20u);
}

BOOST_DATA_TEST_CASE(assigns_shorter_waits_at_thresholds,
                     data::make(kTraces) * data::make({50u, 300u, 2000u}), name, period_us) {
  constexpr std::uint32_t kRandomNumbers[] = {1u << 8, 1u << 30, 1u << 31, 0xFFFFFFFF};
  std::size_t stacks = 0;
  for (const std::uint32_t random : kRandomNumbers) {
    kernel_settings settings = default_settings(random % 5);
    settings.period_ns = period_us * 1000ull;
    settings.fixed_random = random;
    const std::uint64_t threshold =
        settings.period_ns / 2 + ((random >> 8) * settings.period_ns >> 24);
    const Recording recording(load_sched_trace(name), settings, 7);
    for (const Window& window : recording.windows) {
      std::map<std::uint64_t, std::vector<std::uint64_t>> got;  // by tid and time of resuming
      for (const ReceivedRecord& record : window.received->records)
        if (record.record.offer == off_cpu::kOfferStacks && !record.kernel.empty() &&
            record.kernel[0] != KERNEL_OPEN_WAIT)
          got[record.record.tid].push_back(record.record.weight);
      for (const auto& [origin, line] : recording.timelines) {
        if (line.ids.size() > 1) continue;
        const auto expected = expected_weights(line, window, settings.period_ns, threshold);
        BOOST_TEST_CONTEXT("random " << random << " tid " << origin.second)
        BOOST_TEST(got[origin.second] == expected, boost::test_tools::per_element());
        stacks += expected.size();
      }
    }
  }
  BOOST_TEST(stacks > 20u);
}

// The share of a place is proportional to the time spent there, whatever the rhythm: threads
// alternately wait 0.9 ms at one place and 0.2 ms at another.
BOOST_DATA_TEST_CASE(weights_of_places_are_proportional_to_waiting_times,
                     data::make({100u, 1000u, 10'000u}), period_us) {
  constexpr double kLargestShare = 0.02;
  constexpr std::uint64_t kLongWait = 500'000;
  const Trace trace = load_sched_trace("turns");
  double received_long = 0, received_short = 0, long_ns = 0, short_ns = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    kernel_settings settings = default_settings(seed);
    settings.period_ns = period_us * 1000ull;
    settings.all_waits = 1;
    const Recording recording(trace, settings, 1);
    const Window& window = recording.windows.front();
    for (const ReceivedRecord& got : window.received->records) {
      if (got.record.offer != off_cpu::kOfferStacks || got.kernel.empty()) continue;
      (got.kernel[0] == KERNEL_LONG_WAIT ? received_long : received_short) +=
          got.kernel[0] == KERNEL_OPEN_WAIT ? 0 : static_cast<double>(got.record.weight);
    }
    for (const auto& [origin, line] : recording.timelines)
      for (const auto& [left, back] : line.off_cpu_spans)
        if (left >= window.opened && back < window.ended)
          (back - left >= kLongWait ? long_ns : short_ns) += static_cast<double>(back - left);
  }
  const double share = received_long / (received_long + received_short),
               is = long_ns / (long_ns + short_ns);
  BOOST_TEST(std::abs(share - is) < kLargestShare);
}
