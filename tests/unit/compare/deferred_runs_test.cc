// Tests reports whose runs are loaded one by one: they equal the report of runs loaded in advance.

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/file/capture_file.hpp"
#include "core/render/report_json.hpp"
#include "core/window/differences.hpp"
#include "tests/unit/support/column_lines.hpp"
#include "tests/unit/support/stack_reports.hpp"

namespace ctprof::deferred_runs_test {
namespace {

using namespace hand_made;

constexpr std::size_t kRuns = 8;

// Returns a run with a group that only it has, one that all runs have, and one that some runs have.
Snapshot make_run(std::uint64_t number) {
  const std::string own = std::string("own") + static_cast<char>('a' + number);
  std::vector<std::pair<std::string, NamedStacks>> threads{
      {"worker", {{{"bin:spin", "bin:main"}, 100 * kMs + number * kMs}}},
      {own, {{{"bin:" + own, "bin:main"}, 10 * kMs}}}};
  if (number % 2 == 0) threads.push_back({"even", {{{"bin:wait", "bin:main"}, 5 * kMs}}});
  return window_of(threads);
}

// Files of runs, and their outlines, which are known before their rows are loaded.
struct RunFiles {
  RunFiles() {
    for (std::size_t number = 0; number < kRuns; ++number) {
      bytes.push_back(tests::to_file_bytes(make_run(number)));
      const TemporaryDirectory directory;
      std::ofstream(directory / "file", std::ios::binary) << bytes.back();
      auto outline = CaptureFile::open(directory / "file")->load_outline();
      BOOST_REQUIRE(outline && *outline);
      convert_to_differences(**outline);
      outlines.push_back(std::move(**outline));
    }
  }
  Snapshot load_run(std::size_t number) const {
    Snapshot snapshot = tests::load(bytes[number]);
    convert_to_differences(snapshot);
    return snapshot;
  }

  std::vector<std::string> bytes;
  std::vector<Snapshot> outlines;
};

std::vector<const Snapshot*> pointers(const std::vector<Snapshot>& snapshots) {
  std::vector<const Snapshot*> found;
  for (const Snapshot& snapshot : snapshots) found.push_back(&snapshot);
  return found;
}

Spec spec_of_two_sides() {
  Spec spec;
  spec.side_sizes = {kRuns / 2, kRuns / 2};
  return spec;
}

std::string report_json_text(const Report& report) {
  StringSink sink;
  const std::vector<std::string> files(report.sides().size(), "file");
  BOOST_REQUIRE(write_report_json(report, files, sink));
  return sink.text();
}

BOOST_AUTO_TEST_SUITE(deferred_runs_test)

BOOST_AUTO_TEST_CASE(equals_the_report_of_loaded_runs) {
  const RunFiles files;
  std::vector<Snapshot> whole;
  for (std::size_t number = 0; number < kRuns; ++number) whole.push_back(files.load_run(number));
  const auto expected = Report::make(pointers(whole), spec_of_two_sides(), {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(expected, expected.error().text);
  std::vector<std::atomic<int>> load_count(kRuns);
  std::vector<std::weak_ptr<const Snapshot>> loaded_runs(kRuns);
  const auto load_snapshot = [&](std::size_t number) -> Result<std::shared_ptr<const Snapshot>> {
    ++load_count[number];
    auto one = std::make_shared<const Snapshot>(files.load_run(number));
    loaded_runs[number] = one;
    return one;
  };
  const auto report =
      Report::make(pointers(files.outlines), load_snapshot, spec_of_two_sides(), {&kRuleSet, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  BOOST_TEST(report_json_text(*report) == report_json_text(*expected));
  BOOST_TEST(weights_of(*report, first_group(*report), "spin (bin)") ==
             weights_of(*expected, first_group(*expected), "spin (bin)"));
  for (std::size_t number = 0; number < kRuns; ++number) {
    BOOST_TEST(load_count[number] == 1);
    BOOST_TEST(loaded_runs[number].expired());
  }
}

// The error is that of the first failed run, whatever the thread order, and no thread waits
// forever.
BOOST_AUTO_TEST_CASE(returns_the_error_of_the_first_failed_run) {
  const RunFiles files;
  const auto load_snapshot = [&](std::size_t number) -> Result<std::shared_ptr<const Snapshot>> {
    if (number == 3 || number == 5) return Error{"run " + std::to_string(number)};
    return std::make_shared<const Snapshot>(files.load_run(number));
  };
  const auto report =
      Report::make(pointers(files.outlines), load_snapshot, spec_of_two_sides(), {&kRuleSet, {}});
  BOOST_REQUIRE(!report);
  BOOST_TEST(report.error().text == "run 3");
}

BOOST_AUTO_TEST_CASE(rethrows_an_exception_from_loading_a_run) {
  const RunFiles files;
  const auto load_snapshot = [&](std::size_t number) -> Result<std::shared_ptr<const Snapshot>> {
    if (number == 2) throw std::bad_alloc();
    return std::make_shared<const Snapshot>(files.load_run(number));
  };
  BOOST_CHECK_THROW(
      Report::make(pointers(files.outlines), load_snapshot, spec_of_two_sides(), {&kRuleSet, {}})
          .has_value(),
      std::bad_alloc);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::deferred_runs_test
