// Tests the second heading line of a window: memory, pressure, iowait, load and throttling.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/render/host_text.hpp"
#include "tests/unit/render/window_report.hpp"

namespace ctprof::host_text_test {
namespace {

using namespace window_report;

MetricDef with_unit(const char* role, const char* newtype, const char* rule) {
  return with_role(metric(std::string("h.") + role, newtype, rule, Entity::Host), role);
}

// Ten seconds on two CPUs; 3 GiB of 24 GiB are available.
RunFacts loaded_host(double load, std::uint64_t cpu_pressure_us) {
  WindowEnds ends;
  ends.add_host();
  ends.add_host(with_unit("cpu-pressure", "MonotonicUs", "SumUs"), 1000, 1000 + cpu_pressure_us);
  ends.add_host(with_unit("io-pressure", "MonotonicUs", "SumUs"), 5, 50'005);
  ends.add_host(with_unit("memory-pressure", "MonotonicUs", "SumUs"), 7, 7);
  ends.add_host(with_unit("memory-available", "GaugeBytes", "MaxGaugeBytes"), 5ULL << 30,
                3ULL << 30);
  for (Snapshot* end : {&ends.before, &ends.after}) {
    hand_made::add_f64(*end, with_unit("load", "GaugeF64", "MaxGaugeF64"), {load});
    end->objects["host"] = R"({"cpu_model":"total_memory_kib","total_memory_kib":25165824})";
  }
  return collect_run_facts(ends.window());
}

std::string line_of(const std::vector<RunFacts>& sides, std::size_t width = 0) {
  return format_host_load(sides, width);
}

BOOST_AUTO_TEST_SUITE(host_text_test)

BOOST_AUTO_TEST_CASE(shows_memory_pressure_iowait_and_load_in_one_line) {
  BOOST_TEST(line_of({loaded_host(4.1, 7'800'000)}) ==
             "mem 21.0 of 24.0 GiB   pressure cpu 78 io 0.5 mem 0 %   iowait 5.0 %   load 4.1\n");
}

BOOST_AUTO_TEST_CASE(limits_pressure_to_all_of_the_time) {
  const std::string line = line_of({loaded_host(0, 99'000'000)});
  BOOST_TEST(line.find("cpu 100 io") != line.npos, line);
}

BOOST_AUTO_TEST_CASE(two_windows_show_both_values_where_they_differ) {
  const std::string line = line_of({loaded_host(0.4, 0), loaded_host(4.1, 7'800'000)});
  BOOST_TEST(line ==
             "mem 21.0 of 24.0 GiB   pressure cpu 0→78 io 0.5 mem 0 %   iowait 5.0 %   load "
             "0.4→4.1\n");
}

BOOST_AUTO_TEST_CASE(omits_unknown_values) {
  WindowEnds ends;
  ends.add_host();
  BOOST_TEST(line_of({collect_run_facts(ends.window())}) == "iowait 5.0 %\n");
  BOOST_TEST(line_of({collect_run_facts(WindowEnds().window())}) == "");
}

BOOST_AUTO_TEST_CASE(sums_the_throttled_time_of_cgroups) {
  WindowEnds ends;
  ends.add_host();
  const MetricDef throttled =
      with_role(metric("throttled", "MonotonicUs", "SumUs", Entity::Cgroup), "throttled-time");
  for (const bool is_end : {false, true}) {
    Snapshot& end = is_end ? ends.after : ends.before;
    end.table(Entity::Cgroup).rows = 2;
    add_text(end, identity_metric(kCgroupPath), {"/a", "/b"});
    add_u64(end, identity_metric(kCgroupId), {1, 2});
    add_u64(end, throttled, {is_end ? 2'000'000u : 0u, is_end ? 3'000'000u : 0u});
  }
  BOOST_TEST(line_of({collect_run_facts(ends.window())}) == "iowait 5.0 %   throttled 50 %\n");
}

BOOST_AUTO_TEST_CASE(fits_the_width) {
  std::string text = line_of({loaded_host(0.4, 0), loaded_host(4.1, 7'800'000)}, 40);
  for (; !text.empty(); text.erase(0, text.find('\n') + 1))
    BOOST_TEST(get_display_width(text.substr(0, text.find('\n'))) <= 40u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::host_text_test
