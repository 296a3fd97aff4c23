// Tests exited threads by netlink, for exact results: recorded messages are replayed through
// taskstats' source and the core, and compared with the kernel's struct in the messages and with
// the last values that each thread read about itself.

#define BOOST_TEST_MODULE recorded_taskstats_ends
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "core/window/merge_exited_threads.hpp"
#include "plugins/taskstats/exited_threads.hpp"
#include "tests/recorded/exits_replay.hpp"
#include "tests/recorded/taskstats_trace.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
using namespace ctprof::recorded::taskstats_trace;
namespace data = boost::unit_test::data;

namespace {

constexpr std::uint64_t kNsPerTick = 1'000'000'000 / TestHost::kUserHz;
constexpr std::uint16_t kInterleaved = 15;  // version with another order of members than the header
const std::vector<std::string> kTraces{"threads", "processes", "takeover"};

Trace load_trace(const std::string& name) {
  return Trace::load(std::string(std::getenv("TRACES")) + "/taskstats_" + name + ".trace.zst");
}

// `pids`: the requested processes; empty: all.
ReceivedExits replay(const Trace& trace, const std::vector<std::uint64_t>& pids = {}) {
  return replay_exits<ctprof::taskstats::ExitedThreads, ReplayedInput,
                      ctprof::taskstats::ExitedThreadMetrics>(trace, pids);
}

// One message, and the interval in which it arrived.
struct Message {
  std::uint32_t tid = 0, tgid = 0;
  ::taskstats stats{};
  std::uint64_t first_ns = 0, last_ns = 0;

  std::uint64_t middle_ns() const { return first_ns + (last_ns - first_ns) / 2; }
};

template <class Value>
Value value_at(Bytes bytes, std::size_t at) {
  Value value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Calls take(type, content) for each attribute.
template <class Take>
void for_each_attribute(Bytes list, Take take) {
  for (std::size_t at = 0; at + NLA_HDRLEN <= list.size();) {
    const auto header = value_at<nlattr>(list, at);
    take(header.nla_type & NLA_TYPE_MASK,
         list.subspan(at + NLA_HDRLEN, header.nla_len - NLA_HDRLEN));
    at += NLA_ALIGN(header.nla_len);
  }
}

Message message_of(Bytes bytes) {
  Message message;
  const Bytes attributes = bytes.subspan(NLMSG_HDRLEN + GENL_HDRLEN);
  for_each_attribute(attributes, [&](int type, Bytes content) {
    for_each_attribute(content, [&](int inner, Bytes value) {
      if (inner == TASKSTATS_TYPE_PID) message.tid = value_at<std::uint32_t>(value, 0);
      if (inner == TASKSTATS_TYPE_TGID) message.tgid = value_at<std::uint32_t>(value, 0);
      if (inner == TASKSTATS_TYPE_STATS && type == TASKSTATS_TYPE_AGGR_PID)
        std::memcpy(&message.stats, value.data(), std::min(value.size(), sizeof message.stats));
    });
  });
  if (message.tgid == 0) message.tgid = message.stats.ac_tgid;
  return message;
}

// Returns all messages of a trace. The messages of a drain arrived after the last empty read of the
// previous drain.
std::vector<Message> messages_of(const Trace& trace) {
  std::vector<Message> messages;
  std::uint64_t drained_ns = 0;
  std::size_t first = 0;  // first message of the read
  for (const recorded::Frame& frame : trace.frames()) {
    if (frame.kind == kMessages) first = messages.size();
    if (frame.kind == kMessage) messages.push_back(message_of(frame.bytes));
    if (frame.kind != kClock) continue;
    const auto now_ns = frame.as<std::uint64_t>();
    for (std::size_t i = first; i < messages.size(); ++i) {
      messages[i].first_ns = drained_ns;
      messages[i].last_ns = now_ns;
    }
    if (first == messages.size()) drained_ns = now_ns;
    first = messages.size();
  }
  return messages;
}

std::map<std::string, std::uint64_t> counters_of(const ::taskstats& stats) {
  return {{"run_time_ns", stats.cpu_run_virtual_total},
          {"minflt", stats.ac_minflt},
          {"majflt", stats.ac_majflt},
          {"voluntary_csw", stats.nvcsw},
          {"nonvoluntary_csw", stats.nivcsw},
          {"wait_time_ns", stats.cpu_delay_total},
          {"timeslices", stats.cpu_count},
          {"cpu_delay_count", stats.cpu_count},
          {"cpu_delay_total_ns", stats.cpu_delay_total},
          {"blkio_delay_count", stats.blkio_count},
          {"blkio_delay_total_ns", stats.blkio_delay_total},
          {"swapin_delay_count", stats.swapin_count},
          {"freepages_delay_count", stats.freepages_count},
          {"thrashing_delay_count", stats.thrashing_count},
          {"compact_delay_count", stats.compact_count},
          {"wpcopy_delay_count", stats.wpcopy_count},
          {"rchar", stats.read_char},
          {"wchar", stats.write_char},
          {"read_bytes", stats.read_bytes},
          {"write_bytes", stats.write_bytes},
          {"cancelled_write_bytes", stats.cancelled_write_bytes}};
}

void check_row(const ReceivedExits& exits, std::size_t row, const Message& message) {
  const ::taskstats& stats = message.stats;
  for (const auto& [metric, value] : counters_of(stats)) {
    BOOST_TEST_CONTEXT(metric) BOOST_TEST(exits.value(row, metric) == value);
  }
  BOOST_TEST(exits.value(row, "tgid") == message.tgid);
  BOOST_TEST(exits.text(row, "comm") == stats.ac_comm);
  BOOST_TEST(exits.value(row, "parent") == stats.ac_ppid);
  BOOST_TEST(exits.value(row, "bytes_rounded") == 1024u);
  BOOST_TEST(exits.has(row, "pcomm") == (message.tgid == message.tid));
  BOOST_TEST(exits.has(row, "hiwater_vm_bytes") == (stats.hiwater_vm != 0));
  if (stats.hiwater_vm != 0) {
    BOOST_TEST(exits.value(row, "hiwater_rss_bytes") == stats.hiwater_rss * 1024);
    BOOST_TEST(exits.value(row, "hiwater_vm_bytes") == stats.hiwater_vm * 1024);
  }
  const std::uint64_t middle = message.middle_ns();
  BOOST_TEST(exits.value(row, "ended_at_ns") == middle);
  BOOST_TEST(exits.value(row, "start_time_clock_ticks") ==
             (middle - stats.ac_etime * 1000) / kNsPerTick);
  BOOST_TEST(exits.value(row, "start_within_ticks") == (message.last_ns - middle) / kNsPerTick + 1);
}

std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> rows_by_end(
    const ReceivedExits& exits) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> rows;
  for (std::size_t row = 0; row < exits.rows(); ++row)
    rows[{exits.value(row, "ended_at_ns"), exits.value(row, "tid")}] = row;
  return rows;
}

}  // namespace

BOOST_DATA_TEST_CASE(each_exited_thread_has_the_values_of_its_message, data::make(kTraces), name) {
  const Trace trace = load_trace(name);
  const ReceivedExits exits = replay(trace);
  const auto messages = messages_of(trace);
  const auto rows = rows_by_end(exits);
  BOOST_TEST(exits.rows() == messages.size());
  BOOST_TEST(rows.size() == messages.size());
  BOOST_TEST(messages.size() > 1u);
  for (const Message& message : messages) {
    BOOST_TEST_REQUIRE(message.stats.version != kInterleaved);
    const auto row = rows.find({message.middle_ns(), message.tid});
    BOOST_TEST_REQUIRE((row != rows.end()));
    BOOST_TEST_CONTEXT("tid " << message.tid) check_row(exits, row->second, message);
  }
}

BOOST_DATA_TEST_CASE(only_threads_of_the_requested_processes_have_rows, data::make(kTraces), name) {
  constexpr std::size_t kMaxProcesses = 4;  // the largest, each of which is replayed separately
  const Trace trace = load_trace(name);
  std::map<std::uint64_t, std::multiset<std::uint64_t>> tids_of_process;
  for (const Message& message : messages_of(trace))
    tids_of_process[message.tgid].insert(message.tid);
  std::vector<std::uint64_t> processes;
  for (const auto& [tgid, tids] : tids_of_process) processes.push_back(tgid);
  std::ranges::stable_sort(processes, std::greater(),
                           [&](std::uint64_t tgid) { return tids_of_process[tgid].size(); });
  processes.resize(std::min(processes.size(), kMaxProcesses));
  for (const std::uint64_t tgid : processes) {
    const ReceivedExits exits = replay(trace, {tgid});
    std::multiset<std::uint64_t> tids;
    for (std::size_t row = 0; row < exits.rows(); ++row) {
      BOOST_TEST(exits.value(row, "tgid") == tgid);
      tids.insert(exits.value(row, "tid"));
    }
    BOOST_TEST(tids == tids_of_process[tgid], boost::test_tools::per_element());
  }
}

// The kernel creates the message before the thread's last switch. Byte counts are rounded down to
// multiples of 1,024.
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
      BOOST_TEST(exits.value(row, "voluntary_csw") == voluntary);
      BOOST_TEST(exits.value(row, "nonvoluntary_csw") == involuntary);
      std::map<std::string, std::uint64_t> io;
      for (const char* metric : {"rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes"})
        lines >> io[metric];
      for (const char* metric : {"rchar", "wchar", "read_bytes", "write_bytes"})
        BOOST_TEST(exits.value(row, metric) == io[metric] / 1024 * 1024);
    }
    std::string remaining_text;  // output of wait4
    std::getline(lines, remaining_text);
  }
  BOOST_TEST(threads >= 40u);
}

// The buffer of the socket was full. The kernel counts from the start; the core receives the
// difference. Each malformed message counts as a lost thread, too.
BOOST_AUTO_TEST_CASE(counts_lost_threads_once) {
  const Trace whole = load_trace("threads");
  TraceWriter writer;
  writer.add_layouts(kLayouts);
  writer.add_fact("family", whole.fact("family"));
  std::uint64_t lost = 0, cut = 0;
  for (const recorded::Frame& frame : whole.frames()) {
    if (frame.kind == kMessage && ++cut % 4 == 0)
      writer.put(kMessage, frame.bytes.first(frame.bytes.size() / 2));
    else if (frame.kind == kLost)
      writer.put_value(kLost, lost += 3);
    else
      writer.put_frame(frame);
  }
  const ReceivedExits exits = replay(Trace::parse(writer.bytes()));
  BOOST_TEST(exits.ended.lost == lost + cut / 4);
  BOOST_TEST(exits.rows() == cut - cut / 4);
  BOOST_TEST(cut > 40u);
}

BOOST_DATA_TEST_CASE(merged_rows_contain_the_sums_of_their_threads,
                     data::make({"threads", "processes"}), name) {
  const Trace trace = load_trace(name);
  ReceivedExits exits = replay(trace);
  const std::size_t threads = exits.rows();
  merge_exited_threads(exits.ended, 0, threads - 1);
  std::map<std::string, std::uint64_t> expected, got;
  for (const Message& message : messages_of(trace))
    for (const auto& [metric, value] : counters_of(message.stats)) expected[metric] += value;
  std::uint64_t counted = 0;
  for (std::size_t row = 0; row < exits.rows(); ++row) {
    for (const auto& [metric, value] : expected) got[metric] += exits.value(row, metric);
    counted += exits.value(row, "threads");
  }
  for (const auto& [metric, value] : expected) {
    BOOST_TEST_CONTEXT(metric) BOOST_TEST(got[metric] == value);
  }
  BOOST_TEST(exits.rows() < threads);
  BOOST_TEST(counted == threads);
  BOOST_TEST(exits.ended.merged == threads - exits.rows());
}
