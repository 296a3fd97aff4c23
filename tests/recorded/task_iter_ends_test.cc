// Tests exited threads by BPF, for exact results: recorded records are replayed through task-iter's
// source and the core, and compared with the records and with the last values that each thread read
// about itself.

#define BOOST_TEST_MODULE recorded_task_iter_ends
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

#include "core/window/merge_exited_threads.hpp"
#include "plugins/task-iter/exited_threads.hpp"
#include "tests/recorded/exits_replay.hpp"
#include "tests/recorded/task_iter_trace.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
using namespace ctprof::recorded::task_iter_trace;
namespace data = boost::unit_test::data;

namespace {

constexpr std::uint64_t kNsPerTick = 1'000'000'000 / TestHost::kUserHz;
const std::vector<std::string> kTraces{"threads", "processes", "takeover"};

struct Figures {
  static constexpr auto kOffers = sdk::joined(
      task_iter::ExitedThreadColumns::Always::kOffers, task_iter::CpuTimeColumns::kOffers,
      task_iter::AllDelays::kOffers, task_iter::AllStatistics::kOffers);
};

__extension__ typedef unsigned __int128 Wide;

Trace load_trace(const std::string& name) {
  return Trace::load(std::string(std::getenv("TRACES")) + "/task_iter_" + name + ".trace.zst");
}

ReceivedExits replay(const Trace& trace) {
  return replay_exits<task_iter::ExitedThreads, ReplayedInput, Figures>(trace);
}

// Returns the trace as if the programs had followed the children of the process.
Trace with_followed_children(const Trace& trace) {
  TraceWriter writer;
  for (const char* fact : {"pid", "layout:ended_birth", "layout:ended_cgroup", "layout:ended_exec",
                           "layout:ended_thread"})
    writer.add_fact(fact, trace.fact(fact));
  for (recorded::Frame frame : trace.frames()) {
    std::vector<std::byte> bytes(frame.bytes.begin(), frame.bytes.end());
    auto* ended = reinterpret_cast<exit_record_thread*>(bytes.data());
    if (frame.kind == kRecord && ended->kind == EXIT_RECORD_THREAD &&
        ended->task.tgid != trace.number("pid"))
      ended->task.properties |= RECORD_OF_FOLLOWED;
    frame.bytes = bytes;
    writer.put_frame(frame);
  }
  return Trace::parse(writer.bytes());
}

// Returns the processes of the rows if only the process of the trace is requested.
std::set<std::uint64_t> processes_of(const Trace& trace, bool inherits) {
  const ReceivedExits exits = replay_exits<task_iter::ExitedThreads, ReplayedInput, Figures>(
      trace, {trace.number("pid")}, inherits);
  std::set<std::uint64_t> tgids;
  for (std::size_t row = 0; row < exits.rows(); ++row) tgids.insert(exits.value(row, "tgid"));
  return tgids;
}

template <class Record>
std::vector<const Record*> records_of(const Trace& trace, exit_record_kind kind) {
  std::vector<const Record*> found;
  for (const recorded::Frame& frame : trace.frames())
    if (frame.kind == kRecord &&
        *reinterpret_cast<const std::uint32_t*>(frame.bytes.data()) == kind)
      found.push_back(reinterpret_cast<const Record*>(frame.bytes.data()));
  return found;
}

// Repeats the computation of cputime_adjust(): ticks of user and system time are scaled to the run
// time, and neither is below its previous value.
std::pair<std::uint64_t, std::uint64_t> user_and_system(const ::record& task) {
  const std::uint64_t ran = task.sum_exec_runtime;
  if (task.prev_stime + task.prev_utime >= ran) return {task.prev_utime, task.prev_stime};
  std::uint64_t system = task.utime == 0 ? ran : 0;
  if (task.stime == 0) system = 0;
  if (task.stime != 0 && task.utime != 0)
    system =
        static_cast<std::uint64_t>(static_cast<Wide>(task.stime) * ran / (task.stime + task.utime));
  system = std::max<std::uint64_t>(system, task.prev_stime);
  if (ran - system < task.prev_utime) system = ran - task.prev_utime;
  return {ran - system, system};
}

// Returns counters by metric name.
std::map<std::string, std::uint64_t> counters_of(const ::record& task) {
  return {{"run_time_ns", task.sum_exec_runtime},
          {"minflt", task.min_flt},
          {"majflt", task.maj_flt},
          {"voluntary_csw", task.nvcsw},
          {"nonvoluntary_csw", task.nivcsw},
          {"nr_migrations", task.nr_migrations},
          {"wait_time_ns", task.run_delay},
          {"timeslices", task.pcount},
          {"cpu_delay_count", task.pcount},
          {"cpu_delay_total_ns", task.run_delay},
          {"rchar", task.rchar},
          {"wchar", task.wchar},
          {"syscr", task.syscr},
          {"syscw", task.syscw},
          {"read_bytes", task.read_bytes},
          {"write_bytes", task.write_bytes},
          {"cancelled_write_bytes", task.cancelled_write_bytes},
          {"utime_clock_ticks", user_and_system(task).first / kNsPerTick},
          {"stime_clock_ticks", user_and_system(task).second / kNsPerTick}};
}

void check_row(const ReceivedExits& exits, std::size_t row, const exit_record_thread& ended) {
  const ::record& task = ended.task;
  for (const auto& [metric, value] : counters_of(task)) {
    BOOST_TEST_CONTEXT(metric) BOOST_TEST(exits.value(row, metric) == value);
  }
  BOOST_TEST(exits.value(row, "tgid") == task.tgid);
  BOOST_TEST(exits.value(row, "start_time_clock_ticks") == task.start_boottime / kNsPerTick);
  BOOST_TEST(exits.value(row, "born_at_ns") == task.start_boottime);
  BOOST_TEST(exits.text(row, "comm") == task.comm);
  BOOST_TEST(exits.text(row, "pcomm") == ended.pcomm);
  BOOST_TEST(exits.value(row, "rt_priority") == task.rt_priority);
  BOOST_TEST(exits.value(row, "nice") == static_cast<std::uint64_t>(task.static_prio - 120));
  BOOST_TEST(exits.value(row, "descendant") == 1u);
  BOOST_TEST(exits.value(row, "kernel_thread") == 0u);
  const bool has_delays = (task.properties & RECORD_OF_DELAYS) != 0;
  BOOST_TEST(exits.has(row, "blkio_delay_count") == has_delays);
  if (has_delays)
    BOOST_TEST(exits.value(row, "blkio_delay_count") == task.delays[RECORD_BLKIO].count);
  else
    BOOST_TEST((exits.gap(row, "blkio_delay_count") == Gap::PredatesSwitch));
}

// Rows are in any order. Two threads with the same tid exited at different times.
std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> rows_by_end(
    const ReceivedExits& exits) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> rows;
  for (std::size_t row = 0; row < exits.rows(); ++row)
    rows[{exits.value(row, "ended_at_ns"), exits.value(row, "tid")}] = row;
  return rows;
}

}  // namespace

BOOST_DATA_TEST_CASE(each_exited_thread_has_its_last_values, data::make(kTraces), name) {
  const Trace trace = load_trace(name);
  const ReceivedExits exits = replay(trace);
  const auto records = records_of<exit_record_thread>(trace, EXIT_RECORD_THREAD);
  const auto rows = rows_by_end(exits);
  BOOST_TEST(exits.rows() == records.size());
  BOOST_TEST(rows.size() == records.size());
  BOOST_TEST(records.size() > 1u);
  for (const exit_record_thread* record : records) {
    const auto row = rows.find({record->task.now_boottime, record->task.tid});
    BOOST_TEST_REQUIRE((row != rows.end()));
    BOOST_TEST_CONTEXT("tid " << record->task.tid) check_row(exits, row->second, *record);
  }
}

BOOST_DATA_TEST_CASE(cgroups_have_their_recorded_names, data::make(kTraces), name) {
  const Trace trace = load_trace(name);
  const ReceivedExits exits = replay(trace);
  std::map<std::uint64_t, std::string> paths;
  for (const exit_record_cgroup* cgroup :
       records_of<exit_record_cgroup>(trace, EXIT_RECORD_CGROUP)) {
    std::string& path = paths[cgroup->id];
    for (const auto& part : cgroup->names)
      if (part[0] != 0) path.insert(0, "/" + std::string(part));
    if (path.empty()) path = "/";
  }
  BOOST_TEST(!paths.empty());
  const auto rows = rows_by_end(exits);
  for (const exit_record_thread* record : records_of<exit_record_thread>(trace, EXIT_RECORD_THREAD))
    BOOST_TEST(exits.text(rows.at({record->task.now_boottime, record->task.tid}), "cgroup") ==
               paths.at(record->task.cgroup_id));
  BOOST_TEST(paths.begin()->second.ends_with("/ctprof-recorded/inner"));
}

// A thread cannot read its own last switch; it read all other values last.
BOOST_DATA_TEST_CASE(values_equal_those_that_threads_read_about_themselves,
                     data::make({"threads", "processes"}), name) {
  const Trace trace = load_trace(name);
  const ReceivedExits exits = replay(trace);
  std::map<std::uint64_t, std::size_t> rows;  // by tid; the workload used each tid once
  for (std::size_t row = 0; row < exits.rows(); ++row) rows[exits.value(row, "tid")] = row;
  std::istringstream lines(trace.output());
  std::size_t threads = 0;
  for (std::uint64_t tid = 0, cpu_ns = 0, minflt = 0, majflt = 0, voluntary = 0, involuntary = 0;
       lines >> tid >> cpu_ns >> minflt >> majflt >> voluntary >> involuntary; ++threads) {
    const std::size_t row = rows.at(tid);
    BOOST_TEST_CONTEXT("tid " << tid) {
      BOOST_TEST(exits.value(row, "minflt") == minflt);
      BOOST_TEST(exits.value(row, "majflt") == majflt);
      BOOST_TEST(exits.value(row, "voluntary_csw") == voluntary + 1);
      BOOST_TEST(exits.value(row, "nonvoluntary_csw") == involuntary);
      BOOST_TEST(exits.value(row, "run_time_ns") >= cpu_ns);
      for (const char* metric : {"rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes"}) {
        std::uint64_t read = 0;
        lines >> read;
        BOOST_TEST_CONTEXT(metric) BOOST_TEST(exits.value(row, metric) == read);
      }
    }
    std::string remaining_text;  // output of wait4
    std::getline(lines, remaining_text);
  }
  BOOST_TEST(threads >= 40u);
}

BOOST_AUTO_TEST_CASE(an_exec_by_another_thread_than_the_leader_is_not_an_exit) {
  const Trace trace = load_trace("takeover");
  const ReceivedExits exits = replay(trace);
  const auto execs = records_of<exit_record_exec>(trace, EXIT_RECORD_EXEC);
  BOOST_TEST_REQUIRE(execs.size() == 1u);
  BOOST_TEST_REQUIRE(exits.ended.execs.size() == 1u);
  BOOST_TEST(exits.ended.execs[0].tgid == execs[0]->tgid);
  BOOST_TEST(exits.ended.execs[0].tid == execs[0]->tid);
  BOOST_TEST(exits.ended.execs[0].at_ns == execs[0]->at_boottime);
  BOOST_TEST(exits.rows() == 2u);  // the replaced leader, and the thread that replaced it
  BOOST_TEST(exits.value(0, "tid") == trace.number("pid"));
  BOOST_TEST(exits.value(1, "tid") == trace.number("pid"));
}

BOOST_AUTO_TEST_CASE(starts_of_exited_threads_leave_no_row) {
  const Trace trace = load_trace("processes");
  BOOST_TEST(records_of<exit_record_fork>(trace, EXIT_RECORD_FORK).size() == 40u);
  const ReceivedExits exits = replay(trace);
  BOOST_TEST(exits.ended.forks.empty());
  BOOST_TEST(exits.rows() == 41u);
}

// The buffer of the kernel was full. The kernel counts from the start; the core receives the
// difference.
BOOST_AUTO_TEST_CASE(counts_lost_threads_once) {
  const Trace whole = load_trace("threads");
  TraceWriter writer;
  for (const Layout& layout : kLayouts) writer.add_layouts(std::span(&layout, 1));
  std::uint64_t lost = 0;
  for (const recorded::Frame& frame : whole.frames())
    frame.kind == kLost ? writer.put_value(kLost, lost += 3) : writer.put_frame(frame);
  const ReceivedExits exits = replay(Trace::parse(writer.bytes()));
  BOOST_TEST(lost > 3u);
  BOOST_TEST(exits.ended.lost == lost);
}

// Beyond the limit, threads with the same process, name and cgroup share a row with their sums.
BOOST_DATA_TEST_CASE(merged_rows_contain_the_sums_of_their_threads,
                     data::make({"threads", "processes"}), name) {
  const Trace trace = load_trace(name);
  ReceivedExits exits = replay(trace);
  const std::size_t threads = exits.rows();
  merge_exited_threads(exits.ended, 0, threads - 1);
  std::map<std::string, std::uint64_t> expected, got;
  for (const exit_record_thread* record : records_of<exit_record_thread>(trace, EXIT_RECORD_THREAD))
    for (const auto& [metric, value] : counters_of(record->task)) expected[metric] += value;
  std::uint64_t counted = 0;
  for (std::size_t row = 0; row < exits.rows(); ++row) {
    for (const auto& [metric, value] : expected) got[metric] += exits.value(row, metric);
    counted += exits.value(row, "threads");
  }
  for (const auto& [metric, value] : expected) {
    BOOST_TEST_CONTEXT(metric) BOOST_TEST(got[metric] == value);
  }
  BOOST_TEST(exits.rows() == 1u);
  BOOST_TEST(counted == threads);
  BOOST_TEST(exits.ended.merged == threads - exits.rows());
}

BOOST_AUTO_TEST_CASE(followed_children_of_requested_processes_have_rows) {
  const Trace trace = load_trace("processes"), followed = with_followed_children(trace);
  std::set<std::uint64_t> all;
  for (const exit_record_thread* record : records_of<exit_record_thread>(trace, EXIT_RECORD_THREAD))
    all.insert(record->task.tgid);
  const std::set<std::uint64_t> requested{trace.number("pid")};
  BOOST_TEST(all.size() > 2u);
  BOOST_TEST((processes_of(followed, true) == all));
  BOOST_TEST((processes_of(followed, false) == requested));
  BOOST_TEST((processes_of(trace, true) == requested));
}
