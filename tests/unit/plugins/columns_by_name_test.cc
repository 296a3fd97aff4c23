// Tests which column is filled from which field, by name. All values of a text differ, so that
// exchanged columns are found even if their types are equal.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

#include "ctprof/table.hpp"
#include "plugins/cgroup/files.hpp"
#include "plugins/host/stat.hpp"
#include "plugins/procfs-sched/sched.hpp"
#include "plugins/procfs-sched/stat.hpp"
#include "plugins/procfs-sched/status.hpp"
#include "plugins/procfs-sched/thread_files.hpp"
#include "plugins/psi/pressure.hpp"
#include "tests/unit/support/cells_by_name.hpp"

namespace columns_by_name_test {
using namespace ctprof;

namespace {

constexpr sdk::Thread kLeader{0, 7, 7, -1};

void check_columns(const CellTexts& found, const CellTexts& expected) {
  for (const auto& [name, value] : expected) BOOST_TEST(found.at(name) == value, name);
  BOOST_TEST(found.size() == expected.size());
  std::set<std::string> values;
  for (const auto& [name, value] : expected) values.insert(value);
  BOOST_TEST(values.size() == expected.size(), "two columns that cannot be distinguished");
}

template <class File>
CellTexts columns_of_text(std::string_view text) {
  return fill_one_row<File>([&](auto& file) { file.fill(kLeader, text); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(columns_by_name_test)

BOOST_AUTO_TEST_CASE(fills_columns_of_proc_io) {
  check_columns(
      columns_of_text<procfs::IoFile>("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n"
                                      "write_bytes: 6\ncancelled_write_bytes: 7\n"),
      {{"rchar", "1"},
       {"wchar", "2"},
       {"syscr", "3"},
       {"syscw", "4"},
       {"read_bytes", "5"},
       {"write_bytes", "6"},
       {"cancelled_write_bytes", "7"}});
}

BOOST_AUTO_TEST_CASE(fills_columns_of_proc_schedstat) {
  check_columns(columns_of_text<procfs::SchedstatFile>("1 2 3\n"),
                {{"run_time_ns", "1"}, {"wait_time_ns", "2"}, {"timeslices", "3"}});
}

BOOST_AUTO_TEST_CASE(fills_columns_of_proc_stat) {
  std::string text = "7 (x) S";
  for (int field = 4; field <= 52; ++field)
    text += " " + std::to_string(field == 41 ? 2 : 100 + field);
  check_columns(columns_of_text<procfs::StatFile>(text + "\n"), {{"minflt", "110"},
                                                                 {"majflt", "112"},
                                                                 {"utime_clock_ticks", "114"},
                                                                 {"stime_clock_ticks", "115"},
                                                                 {"priority", "118"},
                                                                 {"nice", "119"},
                                                                 {"processor", "139"},
                                                                 {"rt_priority", "140"},
                                                                 {"policy", "SCHED_RR"}});
}

BOOST_AUTO_TEST_CASE(fills_columns_of_proc_status) {
  const auto fill = [](auto& file) {
    file.fill(kLeader, procfs::StatusFile::parse(
                           "State:\tD (disk sleep)\nThreads:\t2\nvoluntary_ctxt_switches:\t3\n"
                           "nonvoluntary_ctxt_switches:\t4\n"));
  };
  check_columns(
      fill_one_row<procfs::StatusFile>(fill),
      {{"state", "D"}, {"nr_threads", "2"}, {"voluntary_csw", "3"}, {"nonvoluntary_csw", "4"}});
}

BOOST_AUTO_TEST_CASE(fills_columns_of_proc_sched) {
  const std::pair<const char*, const char*> keys[] = {
      {"nr_migrations", "nr_migrations"},
      {"nr_wakeups", "nr_wakeups"},
      {"nr_wakeups_local", "nr_wakeups_local"},
      {"nr_wakeups_remote", "nr_wakeups_remote"},
      {"nr_wakeups_sync", "nr_wakeups_sync"},
      {"nr_wakeups_migrate", "nr_wakeups_migrate"},
      {"nr_wakeups_affine", "nr_wakeups_affine"},
      {"nr_wakeups_affine_attempts", "nr_wakeups_affine_attempts"},
      {"nr_forced_migrations", "nr_forced_migrations"},
      {"nr_failed_migrations_affine", "nr_failed_migrations_affine"},
      {"nr_failed_migrations_running", "nr_failed_migrations_running"},
      {"nr_failed_migrations_hot", "nr_failed_migrations_hot"},
      {"wait_sum", "wait_sum"},
      {"wait_count", "wait_count"},
      {"wait_max", "wait_max"},
      {"sleep_max", "sleep_max"},
      {"sum_block_runtime", "block_sum"},
      {"block_max", "block_max"},
      {"iowait_sum", "iowait_sum"},
      {"iowait_count", "iowait_count"},
      {"exec_max", "exec_max"},
      {"slice_max", "slice_max"},
      {"core_forceidle_sum", "core_forceidle_sum"},
      {"slice", "fair_slice_ns"},
  };
  std::string text = "x (7, #threads: 1)\n-----------------------------------------------\n";
  CellTexts expected{{"voluntary_sleep_ns", "983"}, {"ext_enabled", "true"}};
  int value = 0;
  for (const auto& [key, metric] : keys) {
    text += std::string(key) + " : " + std::to_string(++value) + "\n";
    expected[metric] = std::to_string(value);
  }
  text += "policy : 0\next.enabled : 1\nsum_sleep_runtime : 1000\n";
  check_columns(columns_of_text<procfs::SchedFile>(text), expected);
}

BOOST_AUTO_TEST_CASE(fills_columns_of_host_stat) {
  auto stat = host::parse_stat(
      "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\ncpu3 1\nintr 11 0\nctxt 12\nprocesses 13\nprocs_running "
      "14\n"
      "procs_blocked 15\nsoftirq 16 0\n");
  stat.uptime = 17u;
  stat.irq_apart = false;
  stat.steal_apart = true;
  host::add_disk("1 2 3 4 5 6 7 8 9 18 11\n", stat);
  stat.memory_available = 19u;
  stat.load = 0.5;
  check_columns(fill_one_row<host::StatColumns>([&](auto& columns) { columns.put(0, stat, 100u); }),
                {{"host.cpu.user_ns", "10000000"},
                 {"host.cpu.nice_ns", "20000000"},
                 {"host.cpu.system_ns", "30000000"},
                 {"host.cpu.idle_ns", "40000000"},
                 {"host.cpu.iowait_ns", "50000000"},
                 {"host.cpu.irq_ns", "60000000"},
                 {"host.cpu.softirq_ns", "70000000"},
                 {"host.cpu.steal_ns", "80000000"},
                 {"host.cpu.guest_ns", "90000000"},
                 {"host.cpu.guest_nice_ns", "100000000"},
                 {"host.uptime_ns", "17"},
                 {"host.cpu.online", "2"},
                 {"host.cpu.irq_apart", "false"},
                 {"host.cpu.steal_apart", "true"},
                 {"host.interrupts", "11"},
                 {"host.context_switches", "12"},
                 {"host.forks", "13"},
                 {"host.procs_running", "14"},
                 {"host.procs_blocked", "15"},
                 {"host.softirqs", "16"},
                 {"host.disk.read_bytes", "1536"},
                 {"host.disk.write_bytes", "3584"},
                 {"host.disk.busy_ns", "18000000"},
                 {"host.memory.available_bytes", "19"},
                 {"host.load_1min", "0.500000"}});
}

BOOST_AUTO_TEST_CASE(fills_columns_of_pressure_files) {
  const auto fill = [](auto& files) {
    int base = 0;
    files.for_each([&](auto& file) {
      const auto n = [&](int i) { return std::to_string(base + i); };
      file.fill(0, "some avg10=" + n(1) + ".00 avg60=" + n(2) + ".00 avg300=" + n(3) +
                       ".00 total=" + n(4) + "\nfull avg10=" + n(5) + ".00 avg60=" + n(6) +
                       ".00 avg300=" + n(7) + ".00 total=" + n(8) + "\n");
      base += 10;
    });
  };
  const CellTexts found = fill_one_row<psi::HostFiles>(fill);
  int base = 0;
  for (const std::string resource : {"cpu", "memory", "io", "irq"}) {
    const auto n = [&](int i, const char* hundredths) {
      return std::to_string(base + i) + hundredths;
    };
    int i = 0;
    for (const std::string line : {"some.", "full."}) {
      const std::string name = "host.psi." + resource + "." + line;
      const bool has = resource != "irq" || line == "full.";
      for (const char* mean : {"avg10", "avg60", "avg300"})
        BOOST_TEST(found.at(name + mean) == (++i, has ? n(i, "00") : "NotApplicable"), name + mean);
      BOOST_TEST(found.at(name + "total_usec") == (++i, has ? n(i, "") : "NotApplicable"), name);
    }
    base += 10;
  }
}

BOOST_AUTO_TEST_CASE(fills_columns_of_cgroup_files) {
  const std::string_view cpu_stat =
      "usage_usec 1\nuser_usec 2\nsystem_usec 3\nnr_periods 4\nnr_throttled 5\n"
      "throttled_usec 6\nnr_bursts 7\nburst_usec 8\n";
  ctprof_host missing_host{};
  missing_host.size = sizeof missing_host;
  missing_host.cgroup_fd = -1;
  cgroupfs::Directory directory{
      sdk::Host(missing_host)};  // read only for the reason of a missing key
  check_columns(
      fill_one_row<cgroup::CpuStatFile>([&](auto& file) { file.fill(0, cpu_stat, directory); }),
      {{"cgroup.cpu.usage_usec", "1"},
       {"cgroup.cpu.user_usec", "2"},
       {"cgroup.cpu.system_usec", "3"},
       {"cgroup.cpu.nr_periods", "4"},
       {"cgroup.cpu.nr_throttled", "5"},
       {"cgroup.cpu.throttled_usec", "6"},
       {"cgroup.cpu.nr_bursts", "7"},
       {"cgroup.cpu.burst_usec", "8"}});
  check_columns(
      fill_one_row<cgroup::CpuMaxFile>([&](auto& file) { file.fill(0, "1 2\n", directory); }),
      {{"cgroup.cpu.max_quota_us", "1"}, {"cgroup.cpu.max_period_us", "2"}});
  const std::string_view io = "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n";
  check_columns(fill_one_row<cgroup::IoStatFile>([&](auto& file) { file.fill(0, io, directory); }),
                {{"cgroup.io.stat.rbytes", "8:0=1"},
                 {"cgroup.io.stat.wbytes", "8:0=2"},
                 {"cgroup.io.stat.rios", "8:0=3"},
                 {"cgroup.io.stat.wios", "8:0=4"},
                 {"cgroup.io.stat.dbytes", "8:0=5"},
                 {"cgroup.io.stat.dios", "8:0=6"}});
}

// Shows that the method works: a table with two exchanged columns of one newtype compiles, but
// fails the test.
BOOST_AUTO_TEST_CASE(finds_exchanged_columns) {
  struct Figures {
    sdk::ReadingOf<sdk::MonotonicNs> run = std::uint64_t{1};
    sdk::ReadingOf<sdk::MonotonicNs> wait = std::uint64_t{2};
  };
  using CorrectTable = sdk::Table<sdk::Fill<vocabulary::run_time_ns, &Figures::run>,
                                  sdk::Fill<vocabulary::wait_time_ns, &Figures::wait>>;
  using SwappedTable = sdk::Table<sdk::Fill<vocabulary::run_time_ns, &Figures::wait>,
                                  sdk::Fill<vocabulary::wait_time_ns, &Figures::run>>;
  const auto fill = [](auto& columns) { columns.put(0, Figures{}); };
  const CellTexts expected{{"run_time_ns", "1"}, {"wait_time_ns", "2"}};
  BOOST_TEST((fill_one_row<CorrectTable>(fill) == expected));
  BOOST_TEST((fill_one_row<SwappedTable>(fill) != expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace columns_by_name_test
