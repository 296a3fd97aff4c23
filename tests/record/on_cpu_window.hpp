// Windows with the recorder on-cpu, for tests that sample programs of this host.

#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/capture/capture.hpp"
#include "core/capture/recorder_notes.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/loader.hpp"
#include "core/window/differences.hpp"

namespace ctprof {

inline const Registry& load_registry() {
  static const Registry made = [] {
    const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
    LoadOptions options;
    options.shipped_directory = directory ? directory : ".";
    options.selected_plugins = std::vector<std::string>{"on-cpu", "procfs-sched"};
    return Registry(*load_plugins(options));
  }();
  return made;
}

// The results of a window.
struct SampledWindow {
  Snapshot snapshot;
  RecorderResult recorded;
  std::vector<ProcessCode> code;
  std::uint64_t length_ns = 0;

  std::uint64_t run_time_ns(std::uint64_t pid) const {
    const auto tids = snapshot.threads().find(kTid)->u64();
    const auto times = snapshot.threads().find("run_time_ns")->u64();
    for (std::size_t row = 0; row < tids.size(); ++row)
      if (tids[row] == pid) return times[row];
    return 0;
  }
};

// Samples for `length`; only `pids`, unless it is empty.
inline SampledWindow record_window(
    RecordOptions options, std::chrono::milliseconds length,
    const std::vector<std::uint64_t>& pids = {},
    std::chrono::milliseconds drain_interval = std::chrono::milliseconds(20)) {
  options.recorders = {"on-cpu"};
  CaptureOptions capture;
  capture.is_window = true;
  capture.metrics = std::vector<std::string>{"run_time_ns"};
  capture.pids = pids;
  capture.record = options;
  auto session = Session::open(load_registry(), capture);
  BOOST_REQUIRE_MESSAGE(session, session.error().text);
  const auto begun = session->begin();
  BOOST_REQUIRE_MESSAGE(begun, begun.error().text);
  const auto opened = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < opened + length) {
    std::this_thread::sleep_for(drain_interval);
    session->drain();
  }
  auto snapshot = session->end();
  const auto length_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - opened);
  BOOST_REQUIRE_MESSAGE(snapshot, snapshot.error().text);
  convert_to_differences(*snapshot);
  auto all = session->take_recorded();
  BOOST_REQUIRE(all.recorders.size() == 1);
  BOOST_TEST_MESSAGE(describe_recorder(all.recorders.front(), {}));
  BOOST_TEST(all.recorders.front().failure == "");
  return {std::move(*snapshot), std::move(all.recorders.front()), std::move(all.code),
          static_cast<std::uint64_t>(length_ns.count())};
}

inline std::string sampling_refusal() {
  CaptureOptions capture;
  capture.is_window = true;
  capture.record.recorders = {"on-cpu"};
  auto session = Session::open(load_registry(), capture);
  if (!session) return session.error().text;
  const auto begun = session->begin();
  return begun ? "" : begun.error().text;
}

// Skips a test where the recorder cannot run, and reports why.
inline boost::test_tools::assertion_result may_sample(boost::unit_test::test_unit_id) {
  static const std::string reason = sampling_refusal();
  boost::test_tools::assertion_result allowed(reason.empty());
  allowed.message() << reason;
  return allowed;
}

}  // namespace ctprof
