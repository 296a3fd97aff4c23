#include "plugins/taskstats/exited_threads.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/base/clock.hpp"

namespace ctprof::taskstats {
namespace {

constexpr std::uint64_t kNsPerUs = 1'000;
// KB_MASK of the kernel's tsacct.c, which applies to all byte counters.
constexpr std::uint64_t kByteRounding = 1024;
// Limit of one drain: more than the socket's buffer holds. A burst may produce messages faster than
// ctprof reads them.
constexpr std::size_t kMaxMessagesPerDrain = 65'536;

}  // namespace

struct ExitedThreads::Columns {
  explicit Columns(const sdk::Batch& batch)
      : wanted(ExitedThreadMetrics::select_columns(batch)),
        tgid(batch.column(sdk::kTgid)),
        tid(batch.column(sdk::kTid)),
        start(batch.column(sdk::kStartTime)),
        start_tolerance(batch.column(sdk::kStartWithin)),
        ended_at(batch.column(sdk::kEndedAt)),
        parent(batch.column(sdk::kParent)),
        bytes_rounded(batch.column(sdk::kBytesRounded)),
        comm(batch.column(sdk::kComm)),
        pcomm(batch.column(sdk::kPcomm)) {}

  std::vector<ExitedThreadMetrics::SelectedColumn> wanted;
  sdk::Column<CTPROF_U64> tgid, tid, start, start_tolerance, ended_at, parent, bytes_rounded;
  sdk::Column<CTPROF_STRING> comm, pcomm;
};

void ExitedThreads::start(const sdk::Window& window) {
  pids_.assign(window.pids().begin(), window.pids().end());
  std::ranges::sort(pids_);
  if (const SocketError refused = input_->open(); refused.error != 0)
    throw std::runtime_error(refused.message);
  const auto cpus = read_possible_cpus(host_);
  if (!cpus) throw std::runtime_error("the list of possible CPUs cannot be read");
  if (const SocketError refused = input_->listen(cpus.value); refused.error != 0)
    throw std::runtime_error(refused.message);
  last_drain_ns_ = input_->now_ns(CLOCK_BOOTTIME);
}

void ExitedThreads::drain(const sdk::Listing& listing) {
  Rows rows(listing);
  std::size_t message_count = 0;
  while (message_count < kMaxMessagesPerDrain) {
    const auto messages = input_->receive_exit_messages();
    const Interval interval{last_drain_ns_, input_->now_ns(CLOCK_BOOTTIME)};
    for (const Bytes message : messages)
      if (!add_exit(rows, parse_exit(message, input_->family()), interval)) listing.count_lost(1);
    message_count += messages.size();
    if (messages.empty()) {
      last_drain_ns_ = interval.last_ns;
      break;
    }
  }
  rows.commit();
  const std::uint64_t lost = input_->lost_count();
  listing.count_lost(lost - reported_lost_);
  reported_lost_ = lost;
}

// Returns false if the message is lost: it cannot be parsed, or ctprof has no capacity for another
// row.
bool ExitedThreads::add_exit(Rows& rows, const Exit& exit, const Interval& interval) {
  const auto identity = exit.tid == 0 ? std::nullopt : parse_identity(exit.stats);
  if (!identity) return false;
  const std::uint32_t tgid = exit.tgid != 0 ? exit.tgid : identity->tgid;
  if (!pids_.empty() && !std::ranges::binary_search(pids_, tgid)) return true;
  if (!rows.add()) return false;
  write_row(rows, exit, *identity, interval);
  return true;
}

// Writes a row. The thread exited at an unknown time in the interval; the middle is off by at most
// half of it.
void ExitedThreads::write_row(Rows& rows, const Exit& exit, const ThreadIdentity& identity,
                              const Interval& interval) {
  Columns& columns = rows.columns();
  const std::uint32_t row = rows.row();
  const std::uint16_t version = version_of(exit.stats);
  const std::uint32_t tgid = exit.tgid != 0 ? exit.tgid : identity.tgid;
  const std::uint64_t tick_ns = ns_per_tick(host_.user_hz());
  const std::uint64_t middle = interval.first_ns + (interval.last_ns - interval.first_ns) / 2;
  const std::uint64_t start_ns = middle - std::min(middle, identity.age_us * kNsPerUs);
  if (!layout_.matches(version, exit.stats.size())) layout_ = Layout(version, exit.stats.size());
  for (ExitedThreadMetrics::SelectedColumn cells : columns.wanted)
    cells.column.put(row, read_metric(exit.stats, layout_, cells.field));
  columns.tid.put(row, std::uint64_t{exit.tid});
  tgid == 0 ? columns.tgid.put(row, Gap::Unsupported) : columns.tgid.put(row, std::uint64_t{tgid});
  columns.comm.put(row, identity.comm);
  tgid == exit.tid ? columns.pcomm.put(row, identity.comm)
                   : columns.pcomm.put(row, Gap::ThreadGone);
  columns.start.put(row, start_ns / tick_ns);
  columns.start_tolerance.put(row, (interval.last_ns - middle) / tick_ns + 1);
  columns.ended_at.put(row, middle);
  columns.parent.put(row, std::uint64_t{identity.parent});
  columns.bytes_rounded.put(row, kByteRounding);
}

}  // namespace ctprof::taskstats
