// Tests findings about several cgroups of one window: throttled, or with killed processes. And
// findings with several parts: settings, reading and writing.

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/compare/report/findings.hpp"
#include "core/render/findings_text.hpp"
#include "tests/unit/support/screen_windows.hpp"

namespace ctprof::cgroup_findings_test {
namespace {

using namespace screen_windows;

const MetricDef kThrottled = with_role(
                    metric("throttled_usec", "MonotonicCount", "SumCount", Entity::Cgroup),
                    "throttled-time"),
                kEvents =
                    [] {
                      MetricDef def = with_role(
                          metric("events", "CountMap", "MapSum", Entity::Cgroup), "memory-events");
                      def.family = "cumulative";
                      return def;
                    }(),
                kWall =
                    with_role(metric("h.wall", "MonotonicNs", "SumNs", Entity::Host), "host-wall"),
                kRead = with_headline(metric("read", "Bytes", "SumBytes"),
                                      {"read/s", 8, CTPROF_SHOWN_RATE, false, 0x1p20}),
                kWritten = with_headline(metric("written", "Bytes", "SumBytes"),
                                         {"write/s", 9, CTPROF_SHOWN_RATE, false, 0x1p20});
MetricDef host_metric(const std::string& role, const char* newtype, const char* rule) {
  return with_role(metric("h." + role, newtype, rule, Entity::Host), role);
}
MetricDef setting(std::string name) {
  MetricDef def = metric(std::move(name), "OrdinalI32", "RangeI32");
  def.is_setting = true;
  return def;
}

struct Cgroup {
  std::string path;
  std::uint64_t throttled_ms = 0, kills = 0;  // kills include those of descendants
};

// A window of ten seconds.
Snapshot window_with(const std::vector<Cgroup>& cgroups) {
  return window_of({{.name = "server", .cpu = kSecond}}, 10, {}, [&](Snapshot& end, bool is_end) {
    end.table(Entity::Host).rows = 1;
    end.table(Entity::Cgroup).rows = cgroups.size();
    add_u64(end, kWall, {is_end ? 20 * kSecond : 10 * kSecond});
    Cells<std::string> paths;
    Cells<std::uint64_t> throttled;
    Cells<hand_made::MapValue> events;
    for (const Cgroup& cgroup : cgroups) {
      paths.push_back(cgroup.path);
      throttled.push_back(is_end ? 1000 * cgroup.throttled_ms : 0);
      events.push_back(hand_made::MapValue{{"oom_kill", is_end ? cgroup.kills : 0}});
    }
    add_text(end, identity_metric(kCgroupPath), paths);
    add_u64(end, kThrottled, throttled);
    hand_made::add_map(end, kEvents, events);
  });
}

std::vector<std::string> findings_of(const Report& report) {
  std::vector<std::string> found;
  for (const Finding& finding : find_causes(report)) found.push_back(format_finding(finding));
  return found;
}
std::vector<std::string> findings_of(const std::vector<Cgroup>& cgroups) {
  return findings_of(report_of(window_with(cgroups)));
}
using Texts = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(cgroup_findings_test)

BOOST_AUTO_TEST_CASE(finds_each_of_two_throttled_cgroups) {
  BOOST_TEST(findings_of({{"/a", 2000}, {"/b", 3000}, {"/c", 100}}) ==
                 (Texts{"/b was throttled for 3.0 s in 10.0 s by its CPU quota",
                        "/a was throttled for 2.0 s in 10.0 s by its CPU quota"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(counts_throttled_cgroups_beyond_two) {
  const auto found = findings_of({{"/a", 5000}, {"/b", 4000}, {"/c", 3000}, {"/d", 2000}});
  BOOST_TEST(found == (Texts{"/a was throttled for 5.0 s in 10.0 s by its CPU quota",
                             "/b was throttled for 4.0 s in 10.0 s by its CPU quota; so were 2 "
                             "other cgroups"}),
             boost::test_tools::per_element());
  BOOST_TEST(findings_of({{"/a", 5000}, {"/b", 4000}, {"/c", 3000}}).back() ==
             "/b was throttled for 4.0 s in 10.0 s by its CPU quota; so was 1 other cgroup");
}

// The most throttled cgroup was throttled before, the other was not.
BOOST_AUTO_TEST_CASE(finds_a_newly_throttled_cgroup_beside_a_larger_one) {
  const Snapshot first = window_with({{"/a", 9000}, {"/b", 0}}),
                 last = window_with({{"/a", 9000}, {"/b", 2000}});
  BOOST_TEST(findings_of(report_of({&first, &last})) ==
                 (Texts{"/b was throttled for 2.0 s in 10.0 s by its CPU quota"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(finds_each_cgroup_with_killed_processes) {
  BOOST_TEST(findings_of({{"/", 0, 4}, {"/a", 0, 3}, {"/a/x", 0, 1}, {"/b", 0, 1}}) ==
                 (Texts{"/a ran out of memory: the kernel killed 2 processes in it (oom_kill)",
                        "/a/x ran out of memory: the kernel killed 1 process in it (oom_kill); "
                        "so did 1 other cgroup"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keeps_the_largest_of_many_cgroups) {
  std::vector<Cgroup> many;
  for (std::uint64_t at = 0; at < 100; ++at) many.push_back({"/c" + std::to_string(at), 600 + at});
  const Report report = report_of(window_with(many));
  const auto& kept = report.runs(0)[0].window->load.throttled_cgroups;
  BOOST_TEST(kept.size() == HostLoad::kMaxCgroups);
  BOOST_TEST(kept.contains("/c99"));
  BOOST_TEST(!kept.contains("/c35"));
}

BOOST_AUTO_TEST_CASE(reading_and_writing_are_one_finding) {
  const Report report = report_of(
      window_of({{.name = "copy", .cpu = kSecond}}, 10, {}, [](Snapshot& end, bool is_end) {
        end.table(Entity::Host).rows = 1;
        add_u64(end, kWall, {is_end ? 20 * kSecond : 10 * kSecond});
        add_u64(end, host_metric("disk-busy", "MonotonicNs", "SumNs"), {is_end ? 9 * kSecond : 0});
        add_u64(end, host_metric("disk-read", "Bytes", "SumBytes"), {is_end ? 200u << 20 : 0});
        add_u64(end, host_metric("disk-write", "Bytes", "SumBytes"), {is_end ? 100u << 20 : 0});
        add_u64(end, kRead, {is_end ? 200u << 20 : 0});
        add_u64(end, kWritten, {is_end ? 100u << 20 : 0});
      }));
  const auto found = findings_of(report);
  BOOST_REQUIRE(found.size() == 1);
  BOOST_TEST(found[0].starts_with("copy moved 20.0MiB per second (read/s) and 10.0MiB per second "
                                  "(write/s), while the disks were busy for 90 % of the time"),
             found[0]);
}

BOOST_AUTO_TEST_CASE(settings_of_a_group_are_one_finding) {
  const auto window = [](std::int64_t value, std::uint64_t cpu) {
    return window_of({{.name = "server", .cpu = cpu}}, 10, {}, [&](Snapshot& end, bool) {
      for (const char* name : {"nice", "policy", "priority", "slice", "weight"})
        hand_made::add_i64(end, setting(name), {value});
    });
  };
  const Snapshot first = window(0, 9 * kSecond), last = window(5, 2 * kSecond);
  const auto found = findings_of(report_of({&first, &last}));
  BOOST_REQUIRE(found.size() == 1);
  BOOST_TEST(found[0].starts_with("server nice 0 → 5, policy 0 → 5, priority 0 → 5 and 2 other "
                                  "settings; %cpu 90.0→20.0"),
             found[0]);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::cgroup_findings_test
