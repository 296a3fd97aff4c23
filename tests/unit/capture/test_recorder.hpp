// A recorder that the test controls, and a Records object that drives it.

#pragma once

#include <boost/test/unit_test.hpp>

#include <fcntl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/capture/active_recorders.hpp"
#include "tests/unit/support/fake_plugins.hpp"

namespace ctprof::test_recorder {

constexpr sdk::Metric<sdk::StackCount, sdk::StackSum> kStacks{
    {.name = "small_stacks", .description = "for tests"}};

constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kEvents{
    {.name = "small_events", .description = "for tests"}};

constexpr sdk::Metric<sdk::HistogramNs, sdk::HistogramMerge> kTimes{
    {.name = "small_times_ns", .description = "for tests", .flags = CTPROF_METRIC_COSTLY}};

// A recorder whose start and drain call functions of the test.
struct TestRecorder : sdk::RecordSource {
  static constexpr auto kOffers = sdk::offers(kStacks, kEvents, kTimes);
  static inline std::function<void(const sdk::Window&)> on_start;
  static inline std::function<void(const sdk::Records&)> on_drain;
  static inline int starts, stops, drains, ends;
  static inline bool refuses;

  static void probe(const sdk::Host&, const sdk::Probe& probe) {
    if (refuses) probe.refuse_all(Gap::Denied, "not permitted");
  }
  explicit TestRecorder(const sdk::Host&) {}
  void start(const sdk::Window& window) {
    ++starts;
    if (on_start) on_start(window);
  }
  void drain(const sdk::Records& records) {
    ++drains;
    if (on_drain) on_drain(records);
  }
  void window_ends() { ++ends; }
  void stop() { ++stops; }
};

// A registry that contains TestRecorder, and a Records object that drives it.
struct RecorderFixture {
  RecorderFixture()
      : registry(fake::make_registry(plugins())),
        probed(registry, fake::host_without_files(), RecorderSelection::All) {
    TestRecorder::on_start = nullptr;
    TestRecorder::on_drain = nullptr;
    TestRecorder::starts = TestRecorder::stops = TestRecorder::drains = TestRecorder::ends = 0;
  }
  static std::vector<Plugin> plugins() {
    std::vector<Plugin> result;
    result.push_back(fake::make_fake_plugin<TestRecorder>("small"));
    return result;
  }

  std::unique_ptr<ActiveRecorders> records(RecordOptions options = {},
                                           std::vector<std::uint64_t> pids = {},
                                           const ExpensiveRecords& expensive = {}) {
    options.recorders = {"small"};
    options.code_timeout = options.open_timeout = std::chrono::hours(1);
    return std::make_unique<ActiveRecorders>(
        *plan_recorders(probed, options.recorders, expensive), probed, options,
        RequestedProcesses(std::move(pids), "", proc.get()), proc.get());
  }
  // Drains the recorder once and returns the result.
  RecorderResult drain_once(std::function<void(const sdk::Records&)> drain,
                            RecordOptions options = {}, std::vector<std::uint64_t> pids = {}) {
    const auto all = records(options, std::move(pids));
    BOOST_TEST(bool(all->start()));
    TestRecorder::on_drain = std::move(drain);
    all->drain();
    return std::move(all->take().recorders.front());
  }

  Registry registry;
  ProbedHost probed;
  sdk::Fd proc{::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
};

inline ctprof_change make_change(ctprof_change_kind kind, std::uint64_t tgid,
                                 ctprof_text path = {}) {
  ctprof_change result{};
  result.size = sizeof result;
  result.kind = kind;
  result.tgid = tgid;
  result.path = path;
  return result;
}

inline ctprof_loss make_loss(ctprof_loss_kind kind, std::uint32_t cpu, std::uint64_t from_ns,
                             std::uint64_t until_ns, std::uint64_t count) {
  return {sizeof(ctprof_loss), kind, cpu, 0, from_ns, until_ns, count};
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ctprof::test_recorder
