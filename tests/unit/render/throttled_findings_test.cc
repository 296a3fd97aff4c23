// Tests findings about groups that wait for a CPU in cgroups that a CPU quota throttles, in the v2
// hierarchy and in a v1 hierarchy, whose cgroups are rows of a plugin's entity.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/unit/render/sign_windows.hpp"

namespace ctprof::throttled_findings_test {
namespace {

using namespace sign_windows;

const Entity kV1 = *find_or_add_plugin_entity("quota_group");

struct Cgroup {
  std::string path;
  std::uint64_t throttled_ms = 0;
  std::uint64_t quota_us = 20'000;
};

// The cgroups of a host, and the cgroup of each row. On a host with v1, the v2 cgroup of all
// threads is the root.
struct Host {
  std::vector<Row> rows;
  std::vector<std::string> cgroup_of_row;
  std::vector<Cgroup> cgroups;
  bool has_v1 = false;
};

MetricDef make_metric(const char* name, const char* newtype, const char* rule, const char* role,
                      bool is_v1) {
  return with_role(metric(name, newtype, rule, is_v1 ? kV1 : Entity::Cgroup), role);
}

void add_cgroups(Snapshot& end, const Host& host, bool is_last) {
  Cells<std::string> paths;
  Cells<std::uint64_t> throttled, quotas, periods;
  for (const Cgroup& one : host.cgroups) {
    paths.push_back(one.path);
    throttled.push_back(is_last ? one.throttled_ms * (host.has_v1 ? kMs : 1000) : 0);
    quotas.push_back(one.quota_us);
    periods.push_back(100'000);
  }
  end.table(host.has_v1 ? kV1 : Entity::Cgroup).rows = host.cgroups.size();
  add_text(
      end,
      host.has_v1 ? metric("quota_group.path", "IdText", "Key", kV1) : identity_metric(kCgroupPath),
      paths);
  add_u64(end,
          host.has_v1 ? make_metric("stopped", "MonotonicNs", "SumNs", "throttled-time", true)
                      : make_metric("stopped", "MonotonicUs", "SumUs", "throttled-time", false),
          throttled);
  MetricDef quota = make_metric("quota", "LimitUs", "LimitMax", "cpu-quota", host.has_v1);
  quota.source = host.has_v1 ? "<v1>/cpu.cfs_quota_us" : "<cgroup>/cpu.max:field 1";
  add_u64(end, quota, quotas);
  add_u64(end, make_metric("period", "LimitUs", "LimitMax", "cpu-period", host.has_v1), periods);
}

Snapshot make_end(const Host& host, bool is_last) {
  Snapshot end = end_of(host.rows, is_last);
  Cells<std::string> of_processes, of_threads;
  for (std::size_t at = 0; at < host.rows.size(); ++at) {
    of_threads.push_back(host.has_v1 ? "/" : host.cgroup_of_row[at]);
    if (host.rows[at].number == 0) of_processes.push_back(host.cgroup_of_row[at]);
  }
  add_text(end, identity_metric(kCgroup), of_threads);
  if (host.has_v1)
    add_text(end, with_role(metric("path", "IdText", "Key", Entity::Process), "cpu-cgroup"),
             of_processes);
  add_cgroups(end, host, is_last);
  end.table(Entity::Host).rows = 1;
  add_u64(end, with_role(metric("h.wall", "MonotonicNs", "SumNs", Entity::Host), "host-wall"),
          {(is_last ? kOpened + kSeconds : kOpened) * kSecond});
  add_u64(end,
          with_role(metric("h.cpus", "GaugeCount", "MaxGaugeCount", Entity::Host), "host-cpus"),
          {2});
  return end;
}

Snapshot make_window_of(const Host& host) {
  auto made = make_window(make_end(host, false), make_end(host, true), {});
  BOOST_REQUIRE(made);
  convert_to_differences(*made);
  return std::move(*made);
}

std::string find_findings(const Host& host) { return text_of(report_of(make_window_of(host))); }

// A server that waits for 8 of 10 seconds, and a compiler that runs meanwhile.
Host make_host(bool has_v1, std::uint64_t throttled_ms, const std::string& of_server = "/a") {
  return {.rows = {{.process = 1, .name = "server", .cpu = 2 * kSecond, .waited = 8 * kSecond},
                   {.process = 2, .name = "compiler", .cpu = 9 * kSecond}},
          .cgroup_of_row = {of_server, "/b"},
          .cgroups = {{"/a", throttled_ms}},
          .has_v1 = has_v1};
}

BOOST_AUTO_TEST_SUITE(throttled_findings_test)

BOOST_AUTO_TEST_CASE(quota_of_a_v2_cgroup_explains_the_wait_of_its_group) {
  BOOST_TEST(find_findings(make_host(false, 8'000)) ==
             "1 /a was throttled for 8.0 s in 10.0 s by its CPU quota (cpu.max, 20 of 100 ms); in "
             "it, server waited 8.0 s for a CPU\n    ctprof show a.zst --group-by cgroup\n");
}

BOOST_AUTO_TEST_CASE(quota_of_a_v1_cgroup_explains_the_wait_of_its_group) {
  BOOST_TEST(find_findings(make_host(true, 8'000)) ==
             "1 /a was throttled for 8.0 s in 10.0 s by its CPU quota (cpu.cfs_quota_us, 20 of 100 "
             "ms); in it, server waited 8.0 s for a CPU\n    ctprof show a.zst --entity "
             "quota_group\n");
}

BOOST_AUTO_TEST_CASE(quota_also_stops_the_cgroups_below) {
  for (const bool has_v1 : {false, true}) {
    const std::string text = find_findings(make_host(has_v1, 8'000, "/a/b/c"));
    BOOST_TEST(contains(text, "1 /a was throttled "), text);
    BOOST_TEST(contains(text, "in it, server waited 8.0 s"), text);
    BOOST_TEST(!contains(text, "compiler"), text);
  }
}

BOOST_AUTO_TEST_CASE(quota_does_not_explain_waits_in_other_cgroups) {
  for (const bool has_v1 : {false, true})
    for (const char* other : {"/", "/ab", "/b/a"}) {
      const std::string text = find_findings(make_host(has_v1, 8'000, other));
      BOOST_TEST(contains(text, "server waited 8.0 s for a CPU in 10.0 s"), text);
      BOOST_TEST(contains(text, "while compiler ran for 9.0 s"), text);
      BOOST_TEST(!contains(text, "in it, "), text);
    }
}

BOOST_AUTO_TEST_CASE(short_throttling_does_not_explain_a_long_wait) {
  const std::string text = find_findings(make_host(true, 1'000));
  BOOST_TEST(contains(text, "1 server waited 8.0 s for a CPU in 10.0 s"), text);
  BOOST_TEST(contains(text, "/a was throttled for 1.0 s in 10.0 s"), text);
}

// Eight threads wait at the same time for two stopped CPUs.
BOOST_AUTO_TEST_CASE(quota_explains_the_waits_of_more_threads_than_cpus) {
  Host host = make_host(true, 16'000);
  host.rows = threads(8, {.name = "server", .cpu = kSecond, .waited = 8 * kSecond});
  host.cgroup_of_row.assign(host.rows.size(), "/a");
  const std::string text = find_findings(host);
  BOOST_TEST(contains(text, "in it, server waited 64.0 s for a CPU"), text);
  BOOST_TEST(!contains(text, "of the time that it was runnable"), text);
}

BOOST_AUTO_TEST_CASE(host_without_a_v1_cgroup_with_a_quota_is_not_throttled) {
  Host host = make_host(true, 0);
  host.cgroups.clear();
  BOOST_TEST(collect_run_facts(make_window_of(host)).window->load.throttled.value_or(-1) == 0);
  Snapshot window = make_window_of(host);
  for (Column& column : window.table(kV1).columns)
    column.provenance.gap = Gap::NotApplicable;  // no source filled it
  BOOST_TEST(!collect_run_facts(window).window->load.throttled);
}

BOOST_AUTO_TEST_CASE(omits_a_quota_that_was_removed) {
  Host host = make_host(true, 8'000);
  host.cgroups[0].quota_us = UINT64_MAX;
  BOOST_TEST(contains(find_findings(host), "by its CPU quota; in it, server"), find_findings(host));
}

BOOST_AUTO_TEST_CASE(compares_throttled_cgroups_of_v1_hierarchies) {
  const Snapshot calm = make_window_of(make_host(true, 0)),
                 throttled = make_window_of(make_host(true, 8'000));
  const std::string text = text_of(report_of({&calm, &throttled}));
  BOOST_TEST(contains(text, "/a was throttled for 8.0 s"), text);
  BOOST_TEST(contains(text, "ctprof compare a.zst b.zst --entity quota_group"), text);
  BOOST_TEST(!contains(text_of(report_of({&throttled, &throttled})), "throttled"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::throttled_findings_test
