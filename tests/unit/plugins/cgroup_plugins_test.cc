// Tests the plugins cgroup and psi: the offers, values and gaps of their sources, on
// recorded kernels and on this host.

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

#include "tests/unit/support/fixtures.hpp"
#include "tests/unit/support/loaded_plugin.hpp"
#include "tests/unit/support/source_driver.hpp"

namespace cgroup_plugins_test {
namespace {

constexpr std::uint32_t kHost = 0;
constexpr std::uint32_t kPsiCgroups = 1;
constexpr std::uint32_t kOnlySource = 0;
constexpr ctprof_host_flags kLive = CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS;
constexpr std::array kKernels{"5.10", "6.1", "6.12", "6.18", "6.18-arm64", "7.2"};

const std::string kService = "/ctp.slice/work.service";
const std::string kEscapedName = "/ctp.slice/weird name\\x2d\"q\".scope";

const LoadedPlugin& plugin(const std::string& name) {
  static std::map<std::string, LoadedPlugin> loaded;
  return loaded.try_emplace(name, name).first->second;
}

std::string refusal_of(const std::map<std::string, std::string>& refusals,
                       const std::string& metric) {
  const auto it = refusals.find(metric);
  return it == refusals.end() ? "" : it->second;
}

// Checks that every cell is a value or a regular gap, and that each metric that is not refused has
// a value somewhere.
void check_all_cells(const SourceDriver& source,
                     const std::map<std::string, std::string>& refusals) {
  for (const auto& [metric, gaps] : source.gaps()) BOOST_TEST_CONTEXT(metric) {
      BOOST_TEST(!gaps.contains("Untouched"));
      BOOST_TEST(!gaps.contains("Malformed"));
      BOOST_TEST(!gaps.contains("SourceFailed"));
      if (!refusals.contains(metric)) BOOST_TEST(gaps.contains("None"));
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cgroup_plugins_test)

BOOST_AUTO_TEST_CASE(refuses_metrics_that_5_10_lacks) {
  const TestHost host(fixture_path("5.10"), {1, 1}, 0);
  const auto refusals = SourceDriver(*plugin("cgroup"), kOnlySource, host).probe();
  BOOST_TEST(refusals.size() == 6u);
  BOOST_TEST(refusal_of(refusals, "cgroup.memory.peak") ==
             "Unsupported: cgroups have no memory.peak here: it needs CONFIG_MEMCG and Linux 5.19");
  for (const char* metric :
       {"cgroup.pids.peak", "cgroup.memory.zswap.current", "cgroup.cpu.nr_bursts",
        "cgroup.cpu.burst_usec", "cgroup.cpu.local.throttled_usec"})
    BOOST_TEST(refusal_of(refusals, metric).starts_with("Unsupported: "), metric);
}

// Process 1 of a container is not the init that mounts the hierarchies of the host. The ns/pid file
// of this tree is not the initial PID namespace.
BOOST_AUTO_TEST_CASE(offers_a_remedy_of_the_init_system_only_outside_of_containers) {
  const auto root =
      std::filesystem::temp_directory_path() / ("ctprof-init-" + std::to_string(::getpid()));
  const auto write_file = [&](const char* path, const char* text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  write_file("proc/1/comm", "init\n");
  write_file("proc/7/task/7/cgroup", "5:blkio:/\n0::/\n");
  write_file("proc/self/ns/pid", "");
  write_file("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
  const TestHost recorded(root, {7, 7}, 0), container_host(root, {7, 7}, kLive);
  SourceDriver recorded_source(*plugin("cgroup"), kOnlySource, recorded),
      container_source(*plugin("cgroup"), kOnlySource, container_host);
  for (SourceDriver* source : {&recorded_source, &container_source})
    BOOST_TEST(refusal_of(source->probe(), "cgroup.io.stat.rbytes")
                   .ends_with("it is mounted as cgroup v1, which has these values"));
  BOOST_TEST(
      recorded_source.remedies().at("cgroup.io.stat.rbytes").starts_with("boot: cgroup_no_v1=all"));
  BOOST_TEST(!container_source.remedies().contains("cgroup.io.stat.rbytes"));
  std::filesystem::remove_all(root);
}

BOOST_AUTO_TEST_CASE(offers_all_metrics_on_7_2) {
  const TestHost host(fixture_path("7.2"), {1, 1}, 0);
  BOOST_TEST(SourceDriver(*plugin("cgroup"), kOnlySource, host).probe().empty());
}

BOOST_AUTO_TEST_CASE(reads_recorded_cgroups) {
  const TestHost host(fixture_path("6.12"), {1, 1}, 0);
  SourceDriver cgroups(*plugin("cgroup"), kOnlySource, host);
  cgroups.collect_cgroups({"/", kService, kEscapedName, "/nobody", "/../outside"});
  BOOST_TEST(cgroups.cell("cgroup.cpu.usage_usec", 0) == "10040000");
  BOOST_TEST(cgroups.cell("cgroup.memory.current", 0) == "NotApplicable");
  BOOST_TEST(cgroups.cell("cgroup.cpu.max_quota_us", 0) == "NotApplicable");
  BOOST_TEST(cgroups.cell("cgroup.cpu.max_quota_us", 1) == "60000");
  BOOST_TEST(cgroups.cell("cgroup.cpu.weight_nice", 1) == "-4");
  BOOST_TEST(cgroups.cell("cgroup.cpu.local.throttled_usec", 1) == "5119033");
  BOOST_TEST(cgroups.cell("cgroup.memory.max", 1) == "134217728");
  BOOST_TEST(cgroups.cell("cgroup.memory.swap.max", 1) == "18446744073709551615");
  BOOST_TEST(cgroups.cell("cgroup.pids.events", 1) == "max=0 ");
  BOOST_TEST(cgroups.cell("cgroup.io.stat.rbytes", 1) == "254:0=2754560 ");
  BOOST_TEST(cgroups.cell("cgroup.memory.stat", 1).starts_with("anon=4571136 file=667648 "));
  BOOST_TEST(cgroups.cell("cgroup.memory.max", 2) == "18446744073709551615");
  BOOST_TEST(cgroups.cell("cgroup.cpu.usage_usec", 3) == "Unsupported");  // not recorded
  BOOST_TEST(cgroups.cell("cgroup.cpu.usage_usec", 4) == "Unsupported");  // above the root
}

BOOST_AUTO_TEST_CASE(fills_only_requested_metrics) {
  const TestHost host(fixture_path("6.12"), {1, 1}, 0);
  SourceDriver cgroups(*plugin("cgroup"), kOnlySource, host);
  cgroups.collect_cgroups({kService}, {"cgroup.pids.current"});
  BOOST_TEST(cgroups.cell("cgroup.pids.current", 0) == "26");
  BOOST_TEST(cgroups.gaps().size() == 1u);
}

BOOST_AUTO_TEST_CASE(reads_recorded_pressure) {
  const TestHost host(fixture_path("6.12"), {1, 1}, 0);
  SourceDriver host_source(*plugin("psi"), kHost, host);
  host_source.collect_host();
  BOOST_TEST(host_source.cell("host.psi.cpu.some.avg10", 0) == "4002");
  BOOST_TEST(host_source.cell("host.psi.io.some.total_usec", 0) == "4339");
  BOOST_TEST(host_source.cell("host.psi.irq.some.avg10", 0) == "NotApplicable");
  BOOST_TEST(host_source.cell("host.psi.irq.full.avg10", 0) == "Unsupported");
  SourceDriver cgroup_source(*plugin("psi"), kPsiCgroups, host);
  cgroup_source.collect_cgroups({kService, "/nobody"});
  BOOST_TEST(cgroup_source.cell("cgroup.psi.cpu.full.avg10", 0) == "1579");
  BOOST_TEST(cgroup_source.cell("cgroup.psi.cpu.full.avg10", 1) == "Unsupported");
}

BOOST_AUTO_TEST_CASE(refuses_pressure_metrics_that_the_kernel_lacks) {
  const TestHost host(fixture_path("5.10"), {1, 1}, 0);
  for (const auto& [source, entity] : {std::pair{kHost, "host"}, {kPsiCgroups, "cgroup"}}) {
    const auto refusals = SourceDriver(*plugin("psi"), source, host).probe();
    BOOST_TEST(refusals.size() == 12u);
    BOOST_TEST(refusal_of(refusals, std::string(entity) + ".psi.irq.some.avg10")
                   .starts_with("NotApplicable: "));
    BOOST_TEST(refusal_of(refusals, std::string(entity) + ".psi.irq.full.avg10")
                   .starts_with("Unsupported: the kernel does not measure pressure by interrupts"));
    BOOST_TEST(refusal_of(refusals, std::string(entity) + ".psi.cpu.full.avg10")
                   .ends_with("came with Linux 5.13"));
  }
}

BOOST_AUTO_TEST_CASE(refuses_all_metrics_without_a_v2_hierarchy) {
  const TestHost host(fixture_path("6.18-scx"), {151, 151}, 0);
  const auto refusals = SourceDriver(*plugin("cgroup"), kOnlySource, host).probe();
  BOOST_TEST(refusals.size() == 35u);
  BOOST_TEST(refusal_of(refusals, "cgroup.memory.current") ==
             "Unsupported: no cgroup v2 hierarchy is mounted");
  BOOST_TEST(SourceDriver(*plugin("psi"), kPsiCgroups, host).probe().size() == 32u);
}

BOOST_AUTO_TEST_CASE(fills_every_cell_on_every_recorded_kernel) {
  for (const char* kernel : kKernels) BOOST_TEST_CONTEXT(kernel) {
      const TestHost host(fixture_path(kernel), {1, 1}, 0);
      for (const auto& [name, source] : {std::pair{"cgroup", kOnlySource}, {"psi", kPsiCgroups}}) {
        SourceDriver cgroups(*plugin(name), source, host);
        const auto refusals = cgroups.probe();
        cgroups.collect_cgroups({"/", "/ctp.slice", kService, kEscapedName});
        check_all_cells(cgroups, refusals);
      }
      SourceDriver host_source(*plugin("psi"), kHost, host);
      const auto refusals = host_source.probe();
      host_source.collect_host();
      check_all_cells(host_source, refusals);
    }
}

BOOST_AUTO_TEST_CASE(fills_every_cell_on_this_host) {
  const TestHost host("", {1, 1}, kLive);
  if (host.abi.cgroup_fd < 0) return;
  for (const auto& [name, source] : {std::pair{"cgroup", kOnlySource}, {"psi", kPsiCgroups}}) {
    SourceDriver cgroups(*plugin(name), source, host);
    const auto refusals = cgroups.probe();
    cgroups.collect_cgroups({"/", "/there is no such cgroup", "/gone (deleted)"});
    for (const auto& [metric, gaps] : cgroups.gaps()) BOOST_TEST_CONTEXT(metric) {
        BOOST_TEST(!gaps.contains("Untouched"));
        const bool is_not_applicable = metric.find(".irq.some.") != std::string::npos;
        BOOST_TEST(cgroups.cell(metric, 1) == (is_not_applicable ? "NotApplicable" : "ThreadGone"));
        BOOST_TEST(cgroups.cell(metric, 2) == (is_not_applicable ? "NotApplicable" : "ThreadGone"));
        BOOST_TEST((refusals.contains(metric) || cgroups.cell(metric, 0) != "ThreadGone"));
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cgroup_plugins_test
