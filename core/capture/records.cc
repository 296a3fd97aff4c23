#include "core/capture/records.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/record_checks.hpp"
#include "core/capture/records_processes.hpp"
#include "core/registry/plugin_call.hpp"

namespace ctprof {
namespace {

// Limit of losses that are stored; further ones are only counted.
constexpr std::size_t kMostLosses = 4096;

// Size up to the last field of the first version of each struct.
constexpr std::size_t kLeastRecord = offsetof(ctprof_record, stack_size) + sizeof(std::uint64_t);
constexpr std::size_t kLeastChange = sizeof(ctprof_change);
constexpr std::size_t kLeastLoss = sizeof(ctprof_loss);

// Copies the part of the struct that both sides know; the rest is zero. REQUIRES: its size is not
// too small.
template <class Struct>
Struct copied(const Struct& given) {
  Struct copy{};
  std::memcpy(static_cast<void*>(&copy), &given, std::min<std::size_t>(given.size, sizeof copy));
  return copy;
}

std::size_t memory_of(const RecordOptions& options) {
  const auto of_host = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return std::min(options.memory, of_host / 4);
}

ctprof_window_flags flags_of(const RecordOptions& options) {
  ctprof_window_flags flags = 0;
  if (options.once) flags |= CTPROF_WINDOW_ONCE;
  if (options.every_stack) flags |= CTPROF_WINDOW_EVERY_STACK;
  if (options.all_waits) flags |= CTPROF_WINDOW_ALL_WAITS;
  if (options.inherits) flags |= CTPROF_WINDOW_INHERIT;
  if (options.user_kind != CTPROF_USER_ADDRESSES) flags |= CTPROF_WINDOW_TABLES;
  return flags;
}

// Clears the fields that this kind of user part does not use.
void drop_unused(ctprof_record& record) {
  const bool has_words =
      record.user_kind == CTPROF_USER_ADDRESSES || record.user_kind == CTPROF_USER_FRAMES;
  if (!has_words) record.user_count = 0;
  if (record.user_kind != CTPROF_USER_COPY) record.stack_size = 0;
}

}  // namespace

// One recorder with its worker.
class Records::Recorder {
 public:
  Recorder(const PlannedSource& planned, const ctprof_host& host, std::size_t memory,
           Processes& processes, int proc)
      : planned_(planned),
        table_(planned_.source->table),
        owner_(call_owner(planned.plugin->path, "source '" + planned.source->name + "'")),
        host_(host),
        memory_(memory),
        processes_(processes),
        tables_(proc),
        recorded_(nothing_yet()) {}
  ~Recorder() {
    if (opened_) contained(owner_, "close_worker", [&] { table_.close_worker(worker_); });
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  const std::string& source() const { return recorded_.source; }

  // Returns why it cannot start, or "".
  std::string start(const ctprof_window& window) {
    std::string failed = asked(owner_, "open_worker", message_, [&] {
      return table_.open_worker(&host_, &worker_, message_.data(), message_.size());
    });
    opened_ = failed.empty();
    if (opened_)
      failed = asked(owner_, "start", message_, [&] {
        return table_.start(worker_, &window, message_.data(), message_.size());
      });
    works_ = failed.empty();
    return failed;
  }

  void drain() {
    if (!works_) return;
    const std::uint64_t begin = thread_cpu_time_ns();
    ctprof_records to = target();
    fail(asked(owner_, "drain_records", message_,
               [&] { return table_.drain_records(worker_, &to); }));
    if (works_ && message_[0]) recorded_.remark = message_.data();
    recorded_.lost += to.lost;
    recorded_.unseen += to.unseen;
    recorded_.cpu_elsewhere_ns += to.cpu_ns;
    recorded_.cpu_ns += thread_cpu_time_ns() - begin + tables_.take_cpu_ns();
  }

  // Returns whether the recorder keeps sums. Its windows then open and close by separate calls,
  // between the two readings of the threads.
  bool keeps_sums() const { return table_.window_opens && table_.window_ends; }

  void open_sums() {
    if (!works_ || !keeps_sums()) return;
    const std::uint64_t begin = thread_cpu_time_ns();
    take_recorded();
    sums_opened_ns_ = boottime_ns();
    fail(asked(owner_, "window_opens", message_,
               [&] { return table_.window_opens(worker_, message_.data(), message_.size()); }));
    recorded_.cpu_ns += thread_cpu_time_ns() - begin;
  }

  void close_sums() {
    if (!works_ || !keeps_sums() || sums_opened_ns_ == 0) return;
    const std::uint64_t covered_ns = boottime_ns() - sums_opened_ns_;
    tell_end();
    closed_.emplace(take_recorded());
    closed_->covered_ns = covered_ns;
    sums_opened_ns_ = 0;
  }

  void end_window() {
    if (works_ && !keeps_sums()) tell_end();
  }

  // Ends the window of the recorder and drains the rest of its records.
  void tell_end() {
    const std::uint64_t begin = thread_cpu_time_ns();
    if (table_.window_ends)
      fail(asked(owner_, "window_ends", message_,
                 [&] { return table_.window_ends(worker_, message_.data(), message_.size()); }));
    recorded_.cpu_ns += thread_cpu_time_ns() - begin;
    drain();
  }

  void stop() {
    if (!works_) return;
    fail(asked(owner_, "stop", message_,
               [&] { return table_.stop(worker_, message_.data(), message_.size()); }));
    drain();
  }

  // Returns the records of the window; for sums, those until close_sums().
  Recorded take() {
    Recorded taken = take_recorded();
    if (!closed_) return taken;
    Recorded window = std::move(*closed_);
    closed_.reset();
    window.cpu_ns += taken.cpu_ns;
    window.cpu_elsewhere_ns += taken.cpu_elsewhere_ns;
    window.failed = taken.failed;
    return window;
  }

 private:
  // The remark and the failure also apply to the next window.
  Recorded take_recorded() {
    Recorded next = nothing_yet();
    next.remark = recorded_.remark;
    next.failed = recorded_.failed;
    recorded_.tables = tables_.files();
    recorded_.tables_refused = tables_.refused();
    return std::exchange(recorded_, std::move(next));
  }

  Recorded nothing_yet() const {
    Recorded recorded(memory_);
    recorded.plugin = planned_.plugin->name;
    recorded.source = planned_.source->name;
    for (const OfferTable& offer : planned_.source->offers)
      recorded.metrics.push_back(offer.metric);
    return recorded;
  }

  ctprof_records target() {
    ctprof_records to{};
    to.size = sizeof to;
    to.core = this;
    to.put = &put_record;
    to.message = message_.data();
    to.message_size = message_.size();
    to.context = host_.context;
    to.change = &put_change;
    to.lose = &put_loss;
    to.want_table = [](void* core, const ctprof_table_request* request) {
      static_cast<Recorder*>(core)->tables_.want(request);
    };
    to.next_table = [](void* core, ctprof_unwind_table* table) {
      return static_cast<Recorder*>(core)->tables_.next(table);
    };
    return to;
  }

  // Stores the first failure and stops the recorder.
  void fail(std::string why) {
    if (!works_ || why.empty()) return;
    works_ = false;
    recorded_.failed = std::move(why);
  }

  static void put_record(void* core, const ctprof_record* record) {
    static_cast<Recorder*>(core)->put(record, kLeastRecord);
  }
  static void put_change(void* core, const ctprof_change* change) {
    static_cast<Recorder*>(core)->put(change, kLeastChange);
  }
  static void put_loss(void* core, const ctprof_loss* loss) {
    static_cast<Recorder*>(core)->put(loss, kLeastLoss);
  }

  template <class Struct>
  void put(const Struct* given, std::size_t least) {
    if (!works_) return;
    if (!given || given->size < least)
      return fail("it passed a null pointer or a struct that is too small");
    take(copied(*given));
  }

  void take(ctprof_record record) {
    drop_unused(record);
    if (const std::string fault = fault_of(record, planned_, tables_.files().size());
        !fault.empty())
      return fail("it recorded a stack " + fault);
    if (!processes_.is_wanted(record.tgid)) return void(++recorded_.others);
    if (record.user_kind != CTPROF_USER_NONE) processes_.meet(record.tgid);
    if (!recorded_.records.add(record)) return void(++recorded_.no_room);
    if (record.flags & CTPROF_RECORD_UNSEEN) return;
    const MetricDef& metric = recorded_.metrics[record.offer];
    ++(metric.storage == Storage::U64 ? recorded_.numbers : recorded_.taken);
    recorded_.cut += (record.flags & CTPROF_RECORD_CUT) != 0;
    recorded_.walked += record.user_kind == CTPROF_USER_FRAMES;
    recorded_.copied += record.user_kind == CTPROF_USER_COPY;
    recorded_.without_user += (record.flags & CTPROF_RECORD_NO_USER) != 0;
  }

  void take(const ctprof_change& change) {
    if (const std::string fault = fault_of(change); !fault.empty())
      return fail("it reported a mapping change " + fault);
    if (processes_.note(change) && !recorded_.records.add(change)) ++recorded_.changes_lost;
  }

  void take(const ctprof_loss& loss) {
    if (loss.kind > CTPROF_LOSS_OFFLINE || loss.until_ns < loss.from_ns)
      return fail("it reported a loss of an unknown kind, or one whose end precedes its start");
    if (recorded_.losses.size() == kMostLosses) return void(++recorded_.losses_left_out);
    recorded_.losses.push_back(loss);
  }

  PlannedSource planned_;
  const ctprof_source& table_;
  const CallOwner* owner_;
  ctprof_host host_;
  std::size_t memory_;
  Processes& processes_;
  UnwindTables tables_;
  void* worker_ = nullptr;
  bool opened_ = false;
  bool works_ = false;
  std::array<char, 512> message_{};
  Recorded recorded_;
  std::optional<Recorded> closed_;    // sums of the window, while its threads are read again
  std::uint64_t sums_opened_ns_ = 0;  // on CLOCK_BOOTTIME; 0: no window of sums is open
};

Records::Records(const std::vector<PlannedSource>& recorders, const Probed& probed,
                 const RecordOptions& options, WantedProcesses wanted, int proc)
    : options_(options),
      processes_(std::make_unique<Processes>(std::move(wanted), proc, options.code_patience)) {
  for (const PlannedSource& planned : recorders)
    recorders_.push_back(std::make_unique<Recorder>(planned, probed.host_for(*planned.plugin),
                                                    memory_of(options) / recorders.size(),
                                                    *processes_, proc));
}

Records::~Records() = default;

Result<void> Records::start() {
  ctprof_window window{};
  window.size = sizeof window;
  const std::vector<std::uint64_t>& pids = processes_->wanted().pids();
  window.pids = pids.data();
  window.pids_count = static_cast<std::uint32_t>(pids.size());
  window.cgroups = &options_.cgroup;
  window.cgroups_count = options_.cgroup != 0 ? 1 : 0;
  window.frequency_hz = options_.frequency_hz;
  window.opened_ns = boottime_ns();
  window.depth = options_.depth;
  window.stack_bytes = options_.stack_bytes;
  window.user_kind = options_.user_kind;
  window.ring_bytes = options_.ring_bytes;
  window.passes_hz = options_.passes_hz;
  window.period_ns = options_.period_ns;
  window.budget_ppm = options_.budget_ppm;
  window.flags = flags_of(options_);
  for (const auto& recorder : recorders_)
    if (const std::string failed = recorder->start(window); !failed.empty())
      return error("starting the recorder", recorder->source(), failed);
  return {};
}

void Records::drain() {
  for (const auto& recorder : recorders_) recorder->drain();
}

void Records::open_sums() {
  for (const auto& recorder : recorders_) recorder->open_sums();
}

void Records::close_sums() {
  for (const auto& recorder : recorders_) recorder->close_sums();
}

void Records::end_window() {
  for (const auto& recorder : recorders_) recorder->end_window();
}

void Records::stop() {
  for (const auto& recorder : recorders_) recorder->stop();
}

void Records::forget() {
  end_window();
  take();
}

std::vector<std::uint64_t> Records::followed() const { return processes_->wanted().followed(); }

RecordedWindow Records::take() {
  RecordedWindow window;
  for (const auto& recorder : recorders_) window.recorders.push_back(recorder->take());
  processes_->take(window);
  window.depth = options_.depth;
  return window;
}

}  // namespace ctprof
