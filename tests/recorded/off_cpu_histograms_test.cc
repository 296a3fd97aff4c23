// Tests the histograms of off-cpu: recorded scheduler events drive the programs and the plugin in a
// simulated kernel, with many different window edges. All histograms are computed a second time
// from the events.

#define BOOST_TEST_MODULE recorded_off_cpu_histograms
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>

#include "plugins/off-cpu/record_writer.hpp"
#include "tests/recorded/off_cpu_recording.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
namespace data = boost::unit_test::data;

namespace {

const std::vector<std::string> kTraces{"turns", "kinds", "ends", "takeover"};
constexpr unsigned kAll = 1U << OFF_BLOCKED_WAITS | 1U << OFF_CPU_WAITS | 1U << OFF_SLICES;
constexpr unsigned kSeeds = 4;
// A run may end this much after its switch event (kMaxCorrectionNs of the programs).
constexpr std::uint64_t kMaxTurnDelayNs = 1'000'000;

using Counts = std::map<std::uint32_t, std::uint64_t>;  // by bucket
// By time, thread, start and kind of histogram.
using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t>;

std::map<Key, Counts> received_histograms(const ReceivedData& received) {
  std::map<Key, Counts> histograms;
  for (const ReceivedRecord& got : received.records) {
    const ctprof_record& record = got.record;
    if (record.offer < off_cpu::kOfferFirstHistogram) continue;
    BOOST_TEST((record.flags & CTPROF_RECORD_OF_WINDOW) != 0);
    histograms[{record.at_ns, record.tid, record.start_time_clock_ticks,
                record.offer - off_cpu::kOfferFirstHistogram}][record.element] += record.weight;
  }
  return histograms;
}

std::uint32_t histogram_of(std::uint32_t state) {
  if (state == OFF_RUNNING) return OFF_SLICES;
  return state == OFF_SLEEPING || state == OFF_BLOCKED ? OFF_BLOCKED_WAITS : OFF_CPU_WAITS;
}

// Computes the bucket without the function of the SDK: half powers of two.
std::uint32_t bucket_of(std::uint64_t length) {
  std::uint32_t bucket = 18;
  std::uint64_t next = 768;  // the smallest time of the next bucket
  for (; length >= next && bucket < 81; ++bucket)
    next = bucket % 2 == 0 ? next / 3 * 4 : next / 2 * 3;
  return bucket;
}

Counts expected_histogram(const Timeline& line, std::uint32_t kind, std::uint64_t opened,
                          std::uint64_t ended) {
  Counts counts;
  for (const StateSpan& span : line.spans) {
    if (span.state > OFF_RUNNING || histogram_of(span.state) != kind) continue;
    const std::uint64_t from = std::max(span.from, opened), to = std::min(span.to, ended);
    const bool is_instant = from == span.to && span.to < ended;
    if (from < to || is_instant) ++counts[bucket_of(to - std::min(from, to))];
  }
  return counts;
}

// Returns whether a run contains the edge, but its switch event may precede the edge. The run then
// counts on one side.
bool may_end_after_event(const Timeline& line, std::uint64_t edge) {
  return std::ranges::any_of(line.spans, [&](const StateSpan& span) {
    return span.state == OFF_RUNNING && span.from <= edge && span.to >= edge &&
           span.to - edge <= kMaxTurnDelayNs;
  });
}

std::uint64_t distance(const Counts& a, const Counts& b) {
  std::uint64_t total = 0;
  for (std::uint32_t bucket = 0; bucket < CTPROF_HISTOGRAM_BUCKETS; ++bucket) {
    const auto in = [bucket](const Counts& counts) {
      const auto found = counts.find(bucket);
      return found == counts.end() ? std::int64_t{0} : static_cast<std::int64_t>(found->second);
    };
    total += static_cast<std::uint64_t>(std::llabs(in(a)-in(b)));
  }
  return total;
}

// Removes and returns a histogram that was recorded under one of the thread's ids.
Counts take_histogram(std::map<Key, Counts>& received, const Timeline& line, std::uint64_t until,
                      std::uint32_t kind) {
  for (const auto& [tid, start] : line.ids)
    if (const auto found = received.extract(Key{until, tid, start / kNsPerTick, kind});
        !found.empty())
      return found.mapped();
  return {};
}

// Compares the histograms of a window. Returns how many times they count.
std::uint64_t check_window(const Recording& recording, const Window& window) {
  std::uint64_t times = 0;
  auto received = received_histograms(*window.received);
  for (const auto& [origin, line] : recording.timelines) {
    const TimelineFigures figures = figures_between(line, window.opened, window.ended);
    if (figures.wall == 0) continue;
    std::uint64_t allowed = 0;
    for (const std::uint64_t edge : {window.opened, window.ended})
      if (may_end_after_event(line, edge)) allowed += 3;
    for (std::uint32_t kind = 0; kind < OFF_HISTOGRAMS; ++kind) {
      const Counts expected = expected_histogram(line, kind, window.opened, window.ended);
      const Counts got = take_histogram(received, line, figures.until, kind);
      for (const auto& [bucket, count] : expected) times += count;
      BOOST_TEST_CONTEXT("kind " << kind << " from " << window.opened << " tid " << origin.second)
      BOOST_TEST(distance(got, expected) <= (kind == OFF_SLICES ? allowed : 0));
    }
  }
  BOOST_TEST(received.empty());  // there are no other threads
  return times;
}

kernel_settings settings_with(unsigned seed, unsigned histograms) {
  kernel_settings settings = default_settings(seed);
  settings.requested_histograms = histograms;
  return settings;
}

}  // namespace

BOOST_DATA_TEST_CASE(each_time_counts_in_its_bucket,
                     data::make(kTraces) * data::make({1u, 7u, 60u}) * data::make({0u, 1u}), name,
                     number, separate) {
  const Trace trace = load_sched_trace(name);
  std::uint64_t times = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Recording recording(trace, settings_with(seed, kAll), number, Events::All,
                              separate != 0 ? Edges::Separate : Edges::Shared);
    for (const Window& window : recording.windows) times += check_window(recording, window);
  }
  BOOST_TEST(times > 0u);
}

// The source would fail if it reported a histogram that was not requested.
BOOST_AUTO_TEST_CASE(only_requested_histograms_are_reported) {
  for (const unsigned requested : {0U, 1U << OFF_CPU_WAITS}) {
    const Recording recording(load_sched_trace("turns"), settings_with(0, requested), 7);
    std::uint64_t records = 0;
    for (const Window& window : recording.windows)
      for (const auto& [key, counts] : received_histograms(*window.received)) {
        BOOST_TEST(std::get<3>(key) == std::uint32_t{OFF_CPU_WAITS});
        ++records;
      }
    BOOST_TEST((records > 0) == (requested != 0));
  }
}

BOOST_AUTO_TEST_CASE(threads_without_memory_for_histograms_have_gaps) {
  kernel_settings settings = settings_with(0, kAll);
  settings.refuses_histograms = 1;
  const Recording recording(load_sched_trace("ends"), settings, 7);
  std::uint64_t gaps = 0;
  for (const Window& window : recording.windows)
    for (const ReceivedRecord& got : window.received->records) {
      if (got.record.offer < off_cpu::kOfferFirstHistogram) continue;
      BOOST_TEST((got.record.flags & CTPROF_RECORD_UNSEEN) != 0);
      ++gaps;
    }
  BOOST_TEST(gaps > 0u);
}
