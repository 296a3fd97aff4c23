#include "plugins/taskstats/ends.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

namespace ctprof::taskstats {
namespace {

constexpr std::uint64_t kNsPerUs = 1'000;
// KB_MASK of the kernel's tsacct.c, which applies to all byte counters.
constexpr std::uint64_t kRoundedTo = 1024;
// Limit of one drain: more than the socket's buffer holds. A burst may produce messages faster than
// ctprof reads them.
constexpr std::size_t kMostAtDrain = 65'536;

}  // namespace

struct Ends::Columns {
  explicit Columns(const sdk::Batch& of)
      : wanted(OfferedOfEnded::wanted(of)),
        tgid(of.column(sdk::kTgid)),
        tid(of.column(sdk::kTid)),
        start(of.column(sdk::kStartTime)),
        within(of.column(sdk::kStartWithin)),
        ended_at(of.column(sdk::kEndedAt)),
        parent(of.column(sdk::kParent)),
        bytes_rounded(of.column(sdk::kBytesRounded)),
        comm(of.column(sdk::kComm)),
        pcomm(of.column(sdk::kPcomm)) {}

  std::vector<OfferedOfEnded::Cells> wanted;
  sdk::Column<CTPROF_U64> tgid, tid, start, within, ended_at, parent, bytes_rounded;
  sdk::Column<CTPROF_STRING> comm, pcomm;
};

void Ends::start(const sdk::Window& window) {
  pids_.assign(window.pids().begin(), window.pids().end());
  std::ranges::sort(pids_);
  if (const Refused refused = input_->open(); refused.error != 0)
    throw std::runtime_error(refused.why);
  const auto cpus = possible_cpus(host_);
  if (!cpus) throw std::runtime_error("the list of possible CPUs cannot be read");
  if (const Refused refused = input_->listen(cpus.value); refused.error != 0)
    throw std::runtime_error(refused.why);
  drained_ns_ = input_->now_ns(CLOCK_BOOTTIME);
}

void Ends::drain(const sdk::Listing& listing) {
  Rows rows(listing);
  std::size_t taken = 0;
  while (taken < kMostAtDrain) {
    const auto messages = input_->exit_messages();
    const Between came{drained_ns_, input_->now_ns(CLOCK_BOOTTIME)};
    for (const Bytes message : messages)
      if (!take(rows, parse_exit(message, input_->family()), came)) listing.count_lost(1);
    taken += messages.size();
    if (messages.empty()) {
      drained_ns_ = came.last_ns;
      break;
    }
  }
  rows.commit();
  const std::uint64_t lost = input_->lost();
  listing.count_lost(lost - lost_told_);
  lost_told_ = lost;
}

// Returns false if the message is lost: it cannot be parsed, or ctprof has no capacity for another
// row.
bool Ends::take(Rows& rows, const Exit& exit, const Between& came) {
  const auto who = exit.tid == 0 ? std::nullopt : who_of(exit.stats);
  if (!who) return false;
  const std::uint32_t tgid = exit.tgid != 0 ? exit.tgid : who->tgid;
  if (!pids_.empty() && !std::ranges::binary_search(pids_, tgid)) return true;
  if (!rows.add()) return false;
  put(rows, exit, *who, came);
  return true;
}

// Writes a row. The thread exited at an unknown time in the interval; the middle is off by at most
// half of it.
void Ends::put(Rows& rows, const Exit& exit, const Who& who, const Between& came) {
  Columns& columns = rows.columns();
  const std::uint32_t row = rows.row();
  const std::uint16_t version = version_of(exit.stats);
  const std::uint32_t tgid = exit.tgid != 0 ? exit.tgid : who.tgid;
  const std::uint64_t ns_per_tick = kNsPerSecond / host_.user_hz();
  const std::uint64_t middle = came.first_ns + (came.last_ns - came.first_ns) / 2;
  const std::uint64_t born = middle - std::min(middle, who.lived_us * kNsPerUs);
  if (!layout_.is_of(version, exit.stats.size())) layout_ = Layout(version, exit.stats.size());
  for (OfferedOfEnded::Cells cells : columns.wanted)
    cells.column.put(row, read_figure(exit.stats, layout_, cells.field));
  columns.tid.put(row, std::uint64_t{exit.tid});
  tgid == 0 ? columns.tgid.put(row, Gap::Unsupported) : columns.tgid.put(row, std::uint64_t{tgid});
  columns.comm.put(row, who.comm);
  tgid == exit.tid ? columns.pcomm.put(row, who.comm) : columns.pcomm.put(row, Gap::ThreadGone);
  columns.start.put(row, born / ns_per_tick);
  columns.within.put(row, (came.last_ns - middle) / ns_per_tick + 1);
  columns.ended_at.put(row, middle);
  columns.parent.put(row, std::uint64_t{who.parent});
  columns.bytes_rounded.put(row, kRoundedTo);
}

}  // namespace ctprof::taskstats
