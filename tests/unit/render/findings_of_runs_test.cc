// Tests findings of sides with several runs, which omit findings that need single windows.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/render/findings_text.hpp"
#include "tests/unit/support/screen_windows.hpp"
#include "tests/unit/support/several_runs.hpp"
#include "tests/unit/support/stack_reports.hpp"

namespace ctprof::findings_of_runs_test {
namespace {

using namespace screen_windows;

const MetricDef kResident = with_role(with_headline(metric("resident", "GaugeBytes",
                                                           "SumGaugeBytes", Entity::Process),
                                                    {"rss", 7, CTPROF_SHOWN_LEVEL, false, 0x1p24}),
                                      "resident"),
                kSampled = with_role(metric("on", "StackNs", "StackSum"), "running-stacks");

// Returns a window of one process with its memory at both ends.
Snapshot window_with_memory(std::uint64_t megabytes_before, std::uint64_t megabytes_after) {
  return window_of({{.name = "grower"}}, 10, {}, [&](Snapshot& snapshot, bool is_end) {
    add_u64(snapshot, kResident, {(is_end ? megabytes_after : megabytes_before) << 20});
  });
}

// Returns a window of a Python program with this run time.
Snapshot window_with_python(std::uint64_t ms) {
  Snapshot window = window_of({{.name = "python", .cpu = ms * kMs}});
  hand_made::NamedStacks taken;
  if (ms > 0) taken.push_back({{"python3:_PyEval_EvalFrameDefault", "python3:main"}, ms * kMs});
  hand_made::add_stacks(window, kSampled, {taken});
  return window;
}

std::string text_of(const std::vector<const Snapshot*>& runs, std::vector<std::size_t> sizes) {
  Spec spec;
  spec.side_sizes = std::move(sizes);
  const std::string files[] = {"a", "b"};
  return format_findings(report_of(runs, std::move(spec)),
                         {.files = files, .record_command = "ctprof record"}, {}, 100);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

BOOST_AUTO_TEST_SUITE(findings_of_runs_test)

BOOST_AUTO_TEST_CASE(finds_memory_that_grows_in_each_window_of_a_side) {
  const Snapshot calm = window_with_memory(10, 10), grows = window_with_memory(10, 90);
  const std::string one_side = text_of({&grows, &grows}, {2});
  BOOST_TEST(contains(one_side, "grower grew by 80.0MiB in 10.0 s, to 90.0MiB"), one_side);
  const std::string text = text_of({&calm, &calm, &grows, &grows}, {2, 2});
  BOOST_TEST(contains(text, "grower grew by 80.0MiB in 10.0 s, to 90.0MiB"), text);
  BOOST_TEST(text_of({&grows, &grows, &grows, &grows}, {2, 2}) == "");
}

BOOST_AUTO_TEST_CASE(compares_samples_without_names_with_the_windows_of_all_runs) {
  const Snapshot calm = window_with_python(0), few = window_with_python(600),
                 many = window_with_python(1200);
  BOOST_TEST(!contains(text_of({&few, &few}, {2}), "without names"));
  BOOST_TEST(
      contains(text_of({&few, &many, &many}, {3}), "python ran for 100 % of its time in Python"));
  BOOST_TEST(contains(text_of({&many}, {}), "without names"));
}

// The table shows a difference that is not significant together with its p value.
BOOST_AUTO_TEST_CASE(a_tested_difference_is_a_finding_only_if_it_is_significant) {
  const auto findings = [](const several_runs::TwoSides& sides) {
    const std::string files[] = {"a", "b"};
    return format_findings(sides.report(), {.files = files, .record_command = "ctprof record"}, {},
                           100);
  };
  const std::string insignificant = findings({{300, 303, 297, 301}, {300, 302, 900, 901}});
  BOOST_TEST(!contains(insignificant, "app"), insignificant);
  const std::string significant = findings({{300, 303, 297, 301}, {601, 602, 900, 901}});
  BOOST_TEST(contains(significant, "app ran for 7.4 s in 10.0 s; %cpu 30.0→73.6"), significant);
}

// Memory of one process that does not change inside the window.
Snapshot window_with_size(std::uint64_t megabytes) {
  return window_with_memory(megabytes, megabytes);
}

BOOST_AUTO_TEST_CASE(reports_memory_growth_between_sides_only_if_it_is_significant) {
  std::vector<Snapshot> runs;
  const auto text = [&](const std::vector<std::uint64_t>& sizes) {
    runs.clear();
    for (const std::uint64_t megabytes : sizes) runs.push_back(window_with_size(megabytes));
    std::vector<const Snapshot*> all;
    for (const Snapshot& run : runs) all.push_back(&run);
    return text_of(all, {4, 4});
  };
  const std::string insignificant = text({100, 101, 102, 103, 100, 101, 400, 401});
  BOOST_TEST(!contains(insignificant, "grew"), insignificant);
  const std::string significant = text({100, 100, 100, 100, 300, 300, 400, 400});
  BOOST_TEST(contains(significant, "grower grew by 247MiB between the windows, to 347MiB"),
             significant);
}

// Returns a window of exited processes that their parent has not reaped.
Snapshot make_zombie_window() {
  static const MetricDef kState = with_role(metric("state", "Char", "ModeChar"), "state");
  const std::vector<ThreadActivity> all(12, {.name = "child"});
  return window_of(all, 10, {}, [&](Snapshot& snapshot, bool) {
    add_text(snapshot, kState, Cells<std::string>(all.size(), "Z"));
  });
}

BOOST_AUTO_TEST_CASE(reports_no_new_state_for_sides_of_several_runs) {
  const Snapshot window = make_zombie_window();
  BOOST_TEST(contains(text_of({&window}, {}), "child has 12 zombies"), text_of({&window}, {}));
  BOOST_TEST(text_of({&window, &window, &window}, {2, 1}) == "");
  BOOST_TEST(text_of({&window, &window}, {1, 1}) == "");
}

// Returns a window of ten seconds with memory pressure, time in interrupts, and throttling of a
// cgroup.
Snapshot window_with_host_load(std::uint64_t pressure_ms, std::uint64_t interrupts_ms,
                               std::uint64_t stopped_ms) {
  const auto add_host = [](Snapshot& snapshot, const char* role, const char* newtype,
                           const char* rule, std::uint64_t number) {
    add_u64(snapshot,
            with_role(metric(std::string("h.") + role, newtype, rule, Entity::Host), role),
            {number});
  };
  return window_of({{.name = "a"}}, 10, {}, [&](Snapshot& snapshot, bool is_end) {
    snapshot.table(Entity::Host).rows = 1;
    const std::uint64_t ms = is_end ? kMs : 0;
    add_host(snapshot, "host-wall", "MonotonicNs", "SumNs", 10'000 * ms);
    add_host(snapshot, "host-idle", "MonotonicNs", "SumNs", 10'000 * ms);
    add_host(snapshot, "host-cpus", "GaugeCount", "MaxGaugeCount", 2);
    add_host(snapshot, "host-softirq", "MonotonicNs", "SumNs", interrupts_ms * ms);
    add_host(snapshot, "memory-pressure", "MonotonicUs", "SumUs", pressure_ms * ms / 1000);
    snapshot.table(Entity::Cgroup).rows = 1;
    add_text(snapshot, identity_metric(kCgroupPath), Cells<std::string>{"/quota"});
    add_u64(
        snapshot,
        with_role(metric("throttled", "MonotonicUs", "SumUs", Entity::Cgroup), "throttled-time"),
        {stopped_ms * ms / 1000});
  });
}

BOOST_AUTO_TEST_CASE(findings_of_the_host_use_the_medians_of_all_runs) {
  const Snapshot calm = window_with_host_load(0, 0, 0),
                 busy = window_with_host_load(4000, 5000, 3000);
  const std::string found = text_of({&calm, &busy, &busy}, {3});
  BOOST_TEST(contains(found, "waited for memory for 40 % of the time"), found);
  BOOST_TEST(contains(found, "the host spent 50 % of a CPU in interrupts"), found);
  BOOST_TEST(contains(found, "/quota was throttled for 3.0 s in 10.0 s"), found);
  BOOST_TEST(text_of({&busy, &calm, &calm}, {3}) == "");
  const std::string more = text_of({&calm, &calm, &busy, &busy}, {2, 2});
  BOOST_TEST(contains(more, "in interrupts"), more);
  BOOST_TEST(text_of({&calm, &busy, &busy, &busy, &busy, &busy}, {3, 3}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::findings_of_runs_test
