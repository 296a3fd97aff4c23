// Tests the time span of exported stacks: its start, its length, and the sampling period. Tests the
// values and labels of samples in pprof.

#include <array>
#include <boost/test/unit_test.hpp>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "core/flame/flame_tree.hpp"
#include "core/flame/stack_formats.hpp"
#include "core/flame/window_profile.hpp"
#include "tests/flame/stack_profile_builder.hpp"
#include "tests/unit/flame/gzip.hpp"
#include "tests/unit/support/named_stacks.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::tests::profile_span_test {
namespace {

using namespace hand_made;

constexpr std::uint64_t kPeriod = 10'101'010;
const MetricDef kOffCpu =
                    with_role(metric("offcpu_stacks", "StackNs", "StackSum"), "waiting-stacks"),
                kSleepingStacks = metric("sleeping_stacks", "StackCount", "StackSum");

// Returns a window that opens 100 s after boot and is 3 s long.
Snapshot recorded_window() {
  Snapshot snapshot = snapshot_of({{1, 1, "a", "a"}, {2, 2, "b", "b"}});
  add_stacks(snapshot, kStacks,
             {hand_made::StackValue{{"main;work", 3 * kPeriod}, {"main", 2 * kPeriod}},
              hand_made::StackValue{{"main", kPeriod}}});
  add_stacks(snapshot, kOffCpu,
             {hand_made::StackValue{{"main", 4 * kPeriod}}, hand_made::StackValue{}});
  add_stacks(snapshot, kSleepingStacks,
             {hand_made::StackValue{{"main", 1'000'000}}, hand_made::StackValue{}});
  snapshot.meta.start.boottime_ns = 103 * kSecond;
  snapshot.window.emplace();
  snapshot.window->opened_at.boottime_ns = 100 * kSecond;
  snapshot.window->opened_at.wall_unix_ns = 1'790'000'000 * kSecond;
  return snapshot;
}

StackProfile profile_of(const Snapshot& window) {
  auto profile = make_window_profile(window, {}, OwnerKey::Thread);
  BOOST_REQUIRE(profile);
  return std::move(*profile);
}

std::string export_text(const Snapshot& window,
                        Result<void> (*write)(const StackProfile& profile, Sink& out)) {
  StringSink sink;
  BOOST_REQUIRE(write(profile_of(window), sink));
  return sink.text();
}

// The contents of a pprof file (profile.proto). Types are pairs "name unit" of indices into the
// string table.
struct Pprof {
  std::vector<std::pair<std::int64_t, std::int64_t>> types;
  std::vector<std::vector<std::int64_t>> values;
  std::vector<std::vector<std::array<std::int64_t, 3>>> labels;  // key, text and number, by sample
  std::vector<std::string> strings;
  std::int64_t time = 0, duration = 0, period = 0, default_type = 0;
  std::pair<std::int64_t, std::int64_t> period_type;

  std::string name(const std::pair<std::int64_t, std::int64_t>& type) const {
    return strings.at(static_cast<std::size_t>(type.first)) + " " +
           strings.at(static_cast<std::size_t>(type.second));
  }
};

std::pair<std::int64_t, std::int64_t> type_name(protozero::pbf_reader reader) {
  std::pair<std::int64_t, std::int64_t> type;
  while (reader.next()) (reader.tag() == 1 ? type.first : type.second) = reader.get_int64();
  return type;
}

std::vector<std::array<std::int64_t, 3>> labels_in(protozero::pbf_reader sample) {
  std::vector<std::array<std::int64_t, 3>> labels;
  while (sample.next(3)) {
    protozero::pbf_reader label = sample.get_message();
    auto& fields = labels.emplace_back();
    while (label.next()) fields.at(label.tag() - 1) = label.get_int64();
  }
  return labels;
}

std::vector<std::int64_t> values_in(protozero::pbf_reader sample) {
  std::vector<std::int64_t> values;
  while (sample.next()) {
    if (sample.tag() != 2) {
      sample.skip();
      continue;
    }
    for (const std::int64_t value : sample.get_packed_int64()) values.push_back(value);
  }
  return values;
}

void take_sample(const protozero::pbf_reader& sample, Pprof& found) {
  found.values.push_back(values_in(sample));
  found.labels.push_back(labels_in(sample));
}

Pprof read_pprof(const std::string& packed) {
  const std::string data = decompress_gzip(packed);
  protozero::pbf_reader reader(data);
  Pprof found;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: found.types.push_back(type_name(reader.get_message())); break;
      case 2: take_sample(reader.get_message(), found); break;
      case 6: found.strings.push_back(reader.get_string()); break;
      case 9: found.time = reader.get_int64(); break;
      case 10: found.duration = reader.get_int64(); break;
      case 11: found.period_type = type_name(reader.get_message()); break;
      case 12: found.period = reader.get_int64(); break;
      case 14: found.default_type = reader.get_int64(); break;
      default: reader.skip();
    }
  }
  return found;
}

struct Sample {
  std::uint64_t time = 0, weight = 0;
};

// The samples of a trace, and its clocks by clock id.
struct Trace {
  std::vector<Sample> samples;
  std::map<std::uint64_t, std::uint64_t> clocks;
};

void take_clocks(protozero::pbf_reader snapshot, Trace& trace) {
  while (snapshot.next(1)) {
    protozero::pbf_reader clock = snapshot.get_message();
    std::uint64_t id = 0, time = 0;
    while (clock.next()) (clock.tag() == 1 ? id : time) = clock.get_uint64();
    trace.clocks[id] = time;
  }
}

Trace read_trace(const std::string& data) {
  Trace trace;
  protozero::pbf_reader packets(data);
  while (packets.next(1)) {
    protozero::pbf_reader packet = packets.get_message();
    Sample sample;
    bool is_sample = false;
    while (packet.next()) {
      switch (packet.tag()) {
        case 6: take_clocks(packet.get_message(), trace); break;
        case 8: sample.time = packet.get_uint64(); break;
        case 135: packet.skip(), is_sample = true; break;
        default: packet.skip();
      }
    }
    if (is_sample) trace.samples.push_back(sample);
  }
  return trace;
}

BOOST_AUTO_TEST_SUITE(profile_span_test)

BOOST_AUTO_TEST_CASE(only_samples_of_running_threads_have_a_period) {
  const Snapshot window = recorded_window();
  const StackProfile profile = profile_of(window);
  BOOST_TEST(profile.values[0].period_ns == kPeriod);
  BOOST_TEST(profile.values[1].period_ns == 0u);  // weighted by waiting time
  BOOST_TEST(profile.values[2].period_ns == 0u);  // an event count
  BOOST_TEST(profile.span.length_ns == 3 * kSecond);
}

BOOST_AUTO_TEST_CASE(durations_of_events_have_no_period) {
  Snapshot window = snapshot_of({{1, 1, "a", "a"}});
  add_stacks(window, kStacks,
             {hand_made::StackValue{{"main;work", 12'345'678}, {"main", 9'000'001}}});
  BOOST_TEST(profile_of(window).values[0].period_ns == 0u);
}

// A recorder can vary its period, so weights may have no common divisor.
BOOST_AUTO_TEST_CASE(a_variable_period_is_the_mean_of_the_samples) {
  Snapshot window = snapshot_of({{1, 1, "a", "a"}, {2, 2, "b", "b"}});
  add_stacks(window, kStacks,
             {hand_made::StackValue{{"main;work", 20'300'001}, {"main", 9'800'000}},
              hand_made::StackValue{{"main", 10'000'003}}});
  add_u64(window, metric("oncpu_samples", "MonotonicCount", "SumCount"), {3, 1});
  window.window.emplace();
  BOOST_TEST(profile_of(window).values[0].period_ns == 10'025'001u);
  std::int64_t samples = 0;
  for (const auto& values : read_pprof(export_text(window, write_pprof)).values)
    samples += values[1];
  BOOST_TEST(samples == 4);
}

// The recorder covered only part of the window; half of that covered time is the limit for idle
// waits.
BOOST_AUTO_TEST_CASE(idle_waits_are_measured_by_the_covered_time) {
  Snapshot window = recorded_window();
  add_u64(window, with_role(metric("switches", "MonotonicCount", "SumCount"), "voluntary-switches"),
          {2, std::nullopt});
  const auto shown = [&] {
    const StackProfile profile = profile_of(window);
    return make_flame_tree({{.profile = &profile, .value = 1, .hides_idle = true}})
        .root()
        .candidate.total;
  };
  BOOST_TEST(shown() == 4 * kPeriod);  // 40 ms of 3 s
  window.meta.stacks.push_back({.covered_ns = 70'000'000});
  BOOST_TEST(shown() == 0u);
  window.meta.stacks.back().covered_ns = 90'000'000;
  BOOST_TEST(shown() == 4 * kPeriod);
}

BOOST_AUTO_TEST_CASE(pprof_has_time_duration_period_and_numbers_of_samples) {
  const Pprof found = read_pprof(export_text(recorded_window(), write_pprof));
  std::vector<std::string> names;
  for (const auto& type : found.types) names.push_back(found.name(type));
  BOOST_TEST(
      names == (std::vector<std::string>{"oncpu_stacks nanoseconds", "offcpu_stacks nanoseconds",
                                         "sleeping_stacks count", "oncpu_samples count"}),
      boost::test_tools::per_element());
  BOOST_TEST(found.time == 1'790'000'000 * static_cast<std::int64_t>(kSecond));
  BOOST_TEST(found.duration == 3 * static_cast<std::int64_t>(kSecond));
  BOOST_TEST(found.period == static_cast<std::int64_t>(kPeriod));
  BOOST_TEST(found.name(found.period_type) == "oncpu_stacks nanoseconds");
  BOOST_TEST(found.strings.at(static_cast<std::size_t>(found.default_type)) == "oncpu_stacks");
  std::int64_t samples = 0;
  for (const auto& values : found.values) {
    BOOST_REQUIRE_EQUAL(values.size(), 4u);
    BOOST_TEST(values[0] == values[3] * static_cast<std::int64_t>(kPeriod));
    samples += values[3];
  }
  BOOST_TEST(samples == 6);
}

BOOST_AUTO_TEST_CASE(numbers_of_samples_use_the_period_of_their_own_value) {
  StackProfileBuilder stacks({{.name = "oncpu_stacks", .unit = "ns", .period_ns = 10},
                              {.name = "waits_stacks", .unit = "ns"},
                              {.name = "faults_stacks", .unit = "ns", .period_ns = 4}});
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  stacks.add_stack({stacks.make_frame(stacks.add_module("/bin/worker"), "main")}, {30, 7, 8});
  StringSink sink;
  BOOST_REQUIRE(write_pprof(stacks.get_profile(), sink));
  const Pprof found = read_pprof(sink.text());
  BOOST_REQUIRE_EQUAL(found.types.size(), 5u);
  BOOST_TEST(found.name(found.types[3]) == "oncpu_samples count");
  BOOST_TEST(found.name(found.types[4]) == "faults_samples count");
  BOOST_REQUIRE_EQUAL(found.values.size(), 1u);
  BOOST_TEST(found.values[0] == (std::vector<std::int64_t>{30, 7, 8, 3, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(samples_in_pprof_have_all_labels_of_their_owner) {
  StackProfileBuilder stacks(kOnCpu);
  stacks.add_owner({.process = "worker", .thread = "io", .cgroup = "/a", .pid = 7, .tid = 8});
  stacks.add_stack({stacks.make_frame(stacks.add_module("/bin/worker"), "main")}, {30});
  StringSink sink;
  BOOST_REQUIRE(write_pprof(stacks.get_profile(), sink));
  const Pprof found = read_pprof(sink.text());
  BOOST_REQUIRE_EQUAL(found.labels.size(), 1u);
  std::vector<std::string> labels;
  const auto text = [&](std::int64_t at) { return found.strings.at(static_cast<std::size_t>(at)); };
  for (const auto& [key, name, number] : found.labels[0])
    labels.push_back(text(key) + " " + text(name) + " " + std::to_string(number));
  const std::vector<std::string> expected{"process worker 0", "thread io 0", "cgroup /a 0",
                                          "pid  7", "tid  8"};
  BOOST_TEST(labels == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(samples_in_perfetto_are_inside_the_window) {
  const Trace trace = read_trace(export_text(recorded_window(), write_perfetto));
  BOOST_REQUIRE_EQUAL(trace.samples.size(), 3u);
  for (std::size_t at = 0; at < trace.samples.size(); ++at)
    BOOST_TEST(trace.samples[at].time == (100 + at) * kSecond);
  BOOST_TEST(trace.clocks.at(6) == 100 * kSecond);
  BOOST_TEST(trace.clocks.at(1) == 1'790'000'000 * kSecond);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::profile_span_test
