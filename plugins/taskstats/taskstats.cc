// taskstats: a thread's delays from the kernel's delay accounting, and the peak memory of its
// process.
//
// Source: generic netlink, family TASKSTATS, one request per thread; needs CAP_NET_ADMIN. Seven
// metrics that /proc also has are offered with a better rank, because they have no additional cost
// here. I/O bytes and calls are not offered: taskstats rounds them down to multiples of 1,024.
//
// Contents: the source of living threads, the summary and the plugin's table.
// See also: exited_threads.hpp for exited threads, socket.hpp, decode.hpp and probe.hpp.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/taskstats/columns.hpp"
#include "plugins/taskstats/decode.hpp"
#include "plugins/taskstats/exited_threads.hpp"
#include "plugins/taskstats/probe.hpp"
#include "plugins/taskstats/socket.hpp"

namespace ctprof::taskstats {
namespace {

// The tallies of a capture, which become `taskstats_summary` of the file.
//
// Its fields are those of the reference: ok_count, eperm_count, esrch_count, other_err_count; and
// one of ctprof: asked_again_count, the number of threads whose first answer was lost.

// Threads by the result of their request.
enum class Tally : std::uint32_t {
  Ok,
  Denied,
  ThreadGone,
  Other,
  Retried,
  MayPredateSwitch,  // included in Ok: threads with only CPU delays, which may be older than the
                     // switch
};
constexpr std::uint32_t kTallyCount = 6;

void count(const sdk::Batch& batch, Tally tally) { batch.tally(static_cast<std::uint32_t>(tally)); }

Tally tally_of(int error) {
  switch (error) {
    case 0: return Tally::Ok;
    case EPERM: return Tally::Denied;
    case ESRCH: return Tally::ThreadGone;
    default: return Tally::Other;
  }
}

void count_answer(const sdk::Batch& batch, int error) { count(batch, tally_of(error)); }

void put_taskstats_summary(const sdk::Summary& summary) {
  const auto tally = [&](Tally counter) {
    return summary.tally(static_cast<std::uint32_t>(counter));
  };
  summary.put("ok_count", tally(Tally::Ok));
  summary.put("eperm_count", tally(Tally::Denied));
  summary.put("esrch_count", tally(Tally::ThreadGone));
  summary.put("other_err_count", tally(Tally::Other));
  summary.put("asked_again_count", tally(Tally::Retried));
  if (tally(Tally::MayPredateSwitch) > 0)
    summary.note(
        "taskstats: kernel.task_delayacct was enabled after boot. Older threads have only CPU "
        "delays and cannot be distinguished from threads without delays: " +
        std::to_string(tally(Tally::MayPredateSwitch)) + " of " + std::to_string(tally(Tally::Ok)) +
        " threads have no other delays; boot with delayacct to account for all threads");
}

using ReadAtField = sdk::Fields<sdk::kReadAt>;

class Threads : public sdk::ThreadSource {
 public:
  static constexpr const char* kName = "threads";
  static constexpr auto kOffers = sdk::joined(LivingThreadMetrics::kOffers, ReadAtField::kOffers);
  static constexpr std::int32_t kRank = 10;  // before /proc
  static constexpr std::uint32_t kTallies = taskstats::kTallyCount;
  static constexpr const char* kSummaryKey = "taskstats_summary";

  explicit Threads(const sdk::Host& host) : may_predate_switch_(may_be_enabled_after_boot(host)) {
    if (const SocketError refused = socket_.open(); refused.error != 0)
      throw std::runtime_error(refused.message);
  }
  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    probe_host(host, probe, kExactFields);
  }
  static void summarise(const sdk::Summary& summary) { put_taskstats_summary(summary); }

  void collect(const sdk::Batch& batch) {
    const Rows rows(batch);
    unanswered_rows_.clear();
    for (std::uint32_t first = 0; first < batch.rows(); first += Socket::kMaxRequests)
      request_threads(rows, first,
                      std::min<std::uint32_t>(Socket::kMaxRequests, batch.rows() - first));
    for (const std::uint32_t row : unanswered_rows_) retry_thread(rows, row);
  }

 private:
  // A batch, and its selected fields.
  struct Rows {
    explicit Rows(const sdk::Batch& batch_to_fill)
        : batch(batch_to_fill),
          selected(LivingThreadMetrics::select_columns(batch_to_fill)),
          read_at(batch_to_fill) {
      for (const sdk::Thread thread : batch.threads()) tids.push_back(thread.tid);
    }

    const sdk::Batch& batch;
    std::vector<std::uint64_t> tids;
    std::vector<LivingThreadMetrics::SelectedColumn> selected;
    ReadAtField read_at;
  };

  void request_threads(const Rows& rows, std::uint32_t first, std::uint32_t count) {
    const auto answers = socket_.request_threads(std::span(rows.tids).subspan(first, count));
    for (std::uint32_t i = 0; i < count; ++i)
      should_retry(answers[i].error) ? unanswered_rows_.push_back(first + i)
                                     : put(rows, first + i, answers[i]);
  }

  void retry_thread(const Rows& rows, std::uint32_t row) {
    count(rows.batch, Tally::Retried);
    put(rows, row, socket_.request_threads(std::span(rows.tids).subspan(row, 1)).front());
  }

  void put(const Rows& rows, std::uint32_t row, const Answer& answer) {
    count_answer(rows.batch, answer.error);
    if (answer.error == 0) return put_fields(rows, row, answer.stats);
    for (LivingThreadMetrics::SelectedColumn cells : rows.selected)
      cells.column.put(row, gap_of_answer(answer.error));
    ReadAtField(rows.read_at).fail(row, gap_of_answer(answer.error));
  }

  void put_fields(const Rows& rows, std::uint32_t row, Bytes stats) {
    const std::uint16_t version = version_of(stats);
    if (!layout_.matches(version, stats.size())) layout_ = Layout(version, stats.size());
    for (LivingThreadMetrics::SelectedColumn cells : rows.selected)
      cells.column.put(row, read_metric(stats, layout_, cells.field));
    ReadAtField(rows.read_at).put(row, socket_.last_answer_ns());
    if (may_predate_switch_ && !has_delays(stats)) count(rows.batch, Tally::MayPredateSwitch);
  }

  // Returns whether any delay except those of the cpu kind was recorded.
  bool has_delays(Bytes stats) const {
    for (std::size_t i = kFirstSwitchedField; i < kDelayFieldsEnd; i += kValuesPerDelayKind)
      if (read_field(stats, layout_, static_cast<Field>(i)).value > 0) return true;
    return false;
  }

  Socket socket_;
  Layout layout_{0, 0};
  std::vector<std::uint32_t> unanswered_rows_;  // rows whose answers did not arrive
  bool may_predate_switch_;
};

constexpr sdk::Extra kDerived{.derived = sdk::array_of(vocabulary::kTaskstatsDerived)};

}  // namespace
}  // namespace ctprof::taskstats

CTPROF_PLUGIN_WITH("taskstats", "1.0",
                   "What threads wait for, from the kernel's delay accounting, read by netlink.",
                   ctprof::taskstats::kDerived, ctprof::taskstats::Threads,
                   ctprof::taskstats::ExitedThreads)
