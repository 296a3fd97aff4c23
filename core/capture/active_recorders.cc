#include "core/capture/active_recorders.hpp"

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
#include "core/capture/recorder_processes.hpp"
#include "core/registry/plugin_call.hpp"

namespace ctprof {
namespace {

// Limit of losses that are stored; further ones are only counted.
constexpr std::size_t kMaxLosses = 4096;

// Size up to the last field of the first version of each struct.
constexpr std::size_t kMinRecordSize = offsetof(ctprof_record, stack_size) + sizeof(std::uint64_t);
constexpr std::size_t kMinChangeSize = sizeof(ctprof_change);
constexpr std::size_t kMinLossSize = sizeof(ctprof_loss);

// Copies the members that both versions of the struct have; the rest is zero. REQUIRES: its size is
// not too small.
template <class Struct>
Struct copy_known_fields(const Struct& original) {
  Struct copy{};
  std::memcpy(static_cast<void*>(&copy), &original,
              std::min<std::size_t>(original.size, sizeof copy));
  return copy;
}

std::size_t record_memory_limit(const RecordOptions& options) {
  const auto host_bytes = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return std::min(options.memory_bytes, host_bytes / 4);
}

ctprof_window_flags make_window_flags(const RecordOptions& options) {
  ctprof_window_flags flags = 0;
  if (options.sample_once) flags |= CTPROF_WINDOW_ONCE;
  if (options.records_every_stack) flags |= CTPROF_WINDOW_EVERY_STACK;
  if (options.records_all_waits) flags |= CTPROF_WINDOW_ALL_WAITS;
  if (options.inherits) flags |= CTPROF_WINDOW_INHERIT;
  if (options.user_kind != CTPROF_USER_ADDRESSES) flags |= CTPROF_WINDOW_TABLES;
  return flags;
}

// Clears the fields that this kind of user part does not use.
void clear_unused_fields(ctprof_record& record) {
  const bool has_words =
      record.user_kind == CTPROF_USER_ADDRESSES || record.user_kind == CTPROF_USER_FRAMES;
  if (!has_words) record.user_count = 0;
  if (record.user_kind != CTPROF_USER_COPY) record.stack_size = 0;
}

}  // namespace

// One recorder with its worker.
class ActiveRecorders::Recorder {
 public:
  Recorder(const PlannedSource& planned, const ctprof_host& host, std::size_t memory_bytes,
           RecorderProcesses& processes, int proc, const UnwindTables::Options& tables)
      : planned_(planned),
        table_(planned_.source->table),
        owner_(call_owner(planned.plugin->path, "source '" + planned.source->name + "'")),
        host_(host),
        memory_bytes_(memory_bytes),
        processes_(processes),
        tables_(proc, tables),
        result_(empty_result()) {
    for (std::uint32_t offer = 0; offer < planned.selected_offers.size(); ++offer)
      if (planned.selected_offers[offer]) requested_offers_.push_back(offer);
  }
  ~Recorder() {
    if (has_worker_) run_contained(owner_, "close_worker", [&] { table_.close_worker(worker_); });
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  const std::string& source() const { return result_.source; }

  // Returns why it cannot start, or "".
  std::string start(ctprof_window window) {
    window.offers = requested_offers_.data();
    window.offers_count = static_cast<std::uint32_t>(requested_offers_.size());
    std::string failure = run_contained_with_status(owner_, "open_worker", message_, [&] {
      return table_.open_worker(&host_, &worker_, message_.data(), message_.size());
    });
    has_worker_ = failure.empty();
    if (has_worker_)
      failure = run_contained_with_status(owner_, "start", message_, [&] {
        return table_.start(worker_, &window, message_.data(), message_.size());
      });
    is_running_ = failure.empty();
    return failure;
  }

  void drain() {
    if (!is_running_) return;
    const std::uint64_t begin = thread_cpu_time_ns();
    ctprof_records records = make_records();
    set_failure(run_contained_with_status(owner_, "drain_records", message_,
                                          [&] { return table_.drain_records(worker_, &records); }));
    if (is_running_ && message_[0]) result_.remark = message_.data();
    result_.lost += records.lost;
    result_.missed += records.unseen;
    result_.other_cpu_ns += records.cpu_ns;
    result_.cpu_ns += thread_cpu_time_ns() - begin + tables_.take_cpu_ns();
  }

  // Returns whether the recorder keeps sums. Its windows then open and close by separate calls,
  // between the two readings of the threads.
  bool keeps_sums() const { return table_.window_opens && table_.window_ends; }

  void open_sums() {
    if (!is_running_ || !keeps_sums()) return;
    const std::uint64_t begin = thread_cpu_time_ns();
    take_result();
    sums_opened_ns_ = boottime_ns();
    set_failure(run_contained_with_status(owner_, "window_opens", message_, [&] {
      return table_.window_opens(worker_, message_.data(), message_.size());
    }));
    result_.cpu_ns += thread_cpu_time_ns() - begin;
  }

  void close_sums() {
    if (!is_running_ || !keeps_sums() || sums_opened_ns_ == 0) return;
    const std::uint64_t covered_ns = boottime_ns() - sums_opened_ns_;
    end_source_window();
    closed_sums_.emplace(take_result());
    closed_sums_->covered_ns = covered_ns;
    sums_opened_ns_ = 0;
  }

  void end_window() {
    if (is_running_ && !keeps_sums()) end_source_window();
  }

  // Ends the window of the recorder and drains the rest of its records.
  void end_source_window() {
    const std::uint64_t begin = thread_cpu_time_ns();
    if (table_.window_ends)
      set_failure(run_contained_with_status(owner_, "window_ends", message_, [&] {
        return table_.window_ends(worker_, message_.data(), message_.size());
      }));
    result_.cpu_ns += thread_cpu_time_ns() - begin;
    drain();
  }

  void stop() {
    if (!is_running_) return;
    set_failure(run_contained_with_status(owner_, "stop", message_, [&] {
      return table_.stop(worker_, message_.data(), message_.size());
    }));
    drain();
  }

  // Returns the records of the window; for sums, those until close_sums().
  RecorderResult take() {
    RecorderResult result = take_result();
    if (!closed_sums_) return result;
    RecorderResult window = std::move(*closed_sums_);
    closed_sums_.reset();
    window.cpu_ns += result.cpu_ns;
    window.other_cpu_ns += result.other_cpu_ns;
    window.failure = result.failure;
    return window;
  }

 private:
  // The remark and the failure also apply to the next window.
  RecorderResult take_result() {
    RecorderResult next = empty_result();
    next.remark = result_.remark;
    next.failure = result_.failure;
    result_.tables = tables_.files();
    result_.refused_tables = tables_.count_refused();
    result_.unpackable_files = tables_.list_unpackable_files();
    return std::exchange(result_, std::move(next));
  }

  RecorderResult empty_result() const {
    RecorderResult result(memory_bytes_);
    result.plugin = planned_.plugin->name;
    result.source = planned_.source->name;
    for (const OfferTable& offer : planned_.source->offers) result.metrics.push_back(offer.metric);
    result.selected_offers = planned_.selected_offers;
    return result;
  }

  ctprof_records make_records() {
    ctprof_records records{};
    records.size = sizeof records;
    records.core = this;
    records.put = &put_record;
    records.message = message_.data();
    records.message_size = message_.size();
    records.context = host_.context;
    records.change = &put_change;
    records.lose = &put_loss;
    records.want_table = [](void* core, const ctprof_table_request* request) {
      static_cast<Recorder*>(core)->tables_.request(request);
    };
    records.next_table = [](void* core, ctprof_unwind_table* table) {
      return static_cast<Recorder*>(core)->tables_.next(table);
    };
    return records;
  }

  // Stores the first failure and stops the recorder.
  void set_failure(std::string message) {
    if (!is_running_ || message.empty()) return;
    is_running_ = false;
    result_.failure = std::move(message);
  }

  static void put_record(void* core, const ctprof_record* record) {
    static_cast<Recorder*>(core)->put(record, kMinRecordSize);
  }
  static void put_change(void* core, const ctprof_change* change) {
    static_cast<Recorder*>(core)->put(change, kMinChangeSize);
  }
  static void put_loss(void* core, const ctprof_loss* loss) {
    static_cast<Recorder*>(core)->put(loss, kMinLossSize);
  }

  template <class Struct>
  void put(const Struct* original, std::size_t min_size) {
    if (!is_running_) return;
    if (!original || original->size < min_size)
      return set_failure("it passed a null pointer or a struct that is too small");
    take(copy_known_fields(*original));
  }

  void take(ctprof_record record) {
    clear_unused_fields(record);
    if (const std::string error_text = find_error(record, planned_, tables_.files().size());
        !error_text.empty())
      return set_failure("it recorded a stack " + error_text);
    if (!processes_.is_requested(record.tgid)) return void(++result_.unrequested);
    if (record.user_kind != CTPROF_USER_NONE) processes_.request_code(record.tgid);
    if (!result_.records.add(record)) return void(++result_.dropped_for_memory);
    if (record.flags & CTPROF_RECORD_UNSEEN) return;
    const MetricDef& metric = result_.metrics[record.offer];
    if (metric.storage == Storage::Stacks) processes_.note_access(record.tgid);
    ++(metric.storage == Storage::Stacks ? result_.stack_records : result_.number_records);
    result_.truncated_stacks += (record.flags & CTPROF_RECORD_CUT) != 0;
    result_.walked_stacks += record.user_kind == CTPROF_USER_FRAMES;
    result_.copied_stacks += record.user_kind == CTPROF_USER_COPY;
    result_.stacks_without_user += (record.flags & CTPROF_RECORD_NO_USER) != 0;
  }

  void take(const ctprof_change& change) {
    if (const std::string error_text = find_error(change); !error_text.empty())
      return set_failure("it reported a mapping change " + error_text);
    if (processes_.handle_change(change) && !result_.records.add(change)) ++result_.lost_changes;
  }

  void take(const ctprof_loss& loss) {
    if (loss.kind > CTPROF_LOSS_OFFLINE || loss.until_ns < loss.from_ns)
      return set_failure(
          "it reported a loss of an unknown kind, or one whose end precedes its start");
    if (result_.losses.size() == kMaxLosses) return void(++result_.omitted_losses);
    result_.losses.push_back(loss);
  }

  PlannedSource planned_;
  std::vector<std::uint32_t> requested_offers_;
  const ctprof_source& table_;
  const CallOwner* owner_;
  ctprof_host host_;
  std::size_t memory_bytes_;
  RecorderProcesses& processes_;
  UnwindTables tables_;
  void* worker_ = nullptr;
  bool has_worker_ = false;
  bool is_running_ = false;
  std::array<char, kMessageBytes> message_{};
  RecorderResult result_;
  // Sums of the window, while its threads are read again.
  std::optional<RecorderResult> closed_sums_;
  std::uint64_t sums_opened_ns_ = 0;  // on CLOCK_BOOTTIME; 0: no window of sums is open
};

ActiveRecorders::ActiveRecorders(const std::vector<PlannedSource>& recorders,
                                 const ProbedHost& probed, const RecordOptions& options,
                                 RequestedProcesses requested, int proc)
    : options_(options),
      processes_(
          std::make_unique<RecorderProcesses>(std::move(requested), proc, options.code_timeout)) {
  const UnwindTables::Options tables{.close_timeout = options.code_timeout,
                                     .open_timeout = options.open_timeout};
  for (const PlannedSource& planned : recorders)
    recorders_.push_back(std::make_unique<Recorder>(planned, probed.host_for(*planned.plugin),
                                                    record_memory_limit(options) / recorders.size(),
                                                    *processes_, proc, tables));
}

ActiveRecorders::~ActiveRecorders() = default;

Result<void> ActiveRecorders::start() {
  ctprof_window window{};
  window.size = sizeof window;
  const std::vector<std::uint64_t>& pids = processes_->requested_processes().pids();
  window.pids = pids.data();
  window.pids_count = static_cast<std::uint32_t>(pids.size());
  window.cgroups = &options_.cgroup;
  window.cgroups_count = options_.cgroup != 0 ? 1 : 0;
  window.frequency_hz = options_.frequency_hz;
  window.opened_ns = boottime_ns();
  window.depth = options_.max_depth;
  window.stack_bytes = options_.stack_bytes;
  window.user_kind = options_.user_kind;
  window.ring_bytes = options_.ring_bytes;
  window.passes_hz = options_.passes_hz;
  window.period_ns = options_.period_ns;
  window.budget_ppm = options_.budget_ppm;
  window.flags = make_window_flags(options_);
  for (const auto& recorder : recorders_)
    if (const std::string failure = recorder->start(window); !failure.empty())
      return error("starting the recorder", recorder->source(), failure);
  return {};
}

void ActiveRecorders::drain() {
  for (const auto& recorder : recorders_) recorder->drain();
}

void ActiveRecorders::open_sums() {
  for (const auto& recorder : recorders_) recorder->open_sums();
}

void ActiveRecorders::close_sums() {
  for (const auto& recorder : recorders_) recorder->close_sums();
}

void ActiveRecorders::end_window() {
  for (const auto& recorder : recorders_) recorder->end_window();
}

void ActiveRecorders::stop() {
  for (const auto& recorder : recorders_) recorder->stop();
}

void ActiveRecorders::discard() {
  end_window();
  take();
}

std::vector<std::uint64_t> ActiveRecorders::followed_processes() const {
  return processes_->requested_processes().followed_processes();
}

RecordedWindow ActiveRecorders::take() {
  RecordedWindow window;
  for (const auto& recorder : recorders_) window.recorders.push_back(recorder->take());
  processes_->take(window);
  window.max_frames = options_.max_depth;
  return window;
}

}  // namespace ctprof
