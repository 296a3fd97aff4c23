#include "plugins/off-cpu/waits.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ctprof::off_cpu {
namespace {

// Delay between the first two passes, for threads that are being switched during the first one.
constexpr useconds_t kSettleUs = 2000;
// Timeout for reading all stacks of threads that sleep at the end of a window.
constexpr std::chrono::milliseconds kReadTimeout{300};
// Limits of the copied size of such a stack: the minimum, which a BPF program copies, and the
// maximum. With many threads the limit of all stacks together reduces the size to the minimum.
constexpr std::size_t kMinStackBytes = OFF_PIECES * OFF_PIECE, kMaxStackBytes = 32 << 10;
constexpr std::size_t kMaxTotalStackBytes = 64 << 20;

template <class Record>
const Record* cast_record(Bytes bytes, std::size_t size = sizeof(Record)) {
  return bytes.size() >= size ? reinterpret_cast<const Record*>(bytes.data()) : nullptr;
}

std::size_t choose_stack_bytes(std::size_t threads) {
  return std::clamp(kMaxTotalStackBytes / std::max<std::size_t>(threads, 1) / OFF_PIECE * OFF_PIECE,
                    kMinStackBytes, kMaxStackBytes);
}

// All offers except histograms are always requested.
bool is_requested_offer(std::uint32_t offer, std::uint32_t histograms) {
  return offer < kOfferFirstHistogram || (histograms >> (offer - kOfferFirstHistogram) & 1) != 0;
}

std::uint32_t kind_of(Bytes bytes) {
  const auto* kind = cast_record<std::uint32_t>(bytes);
  return kind ? *kind : 0;
}

}  // namespace

Waits::Waits(const sdk::Host& host, std::unique_ptr<KernelInput> programs, const Setup& setup,
             std::uint64_t budget_ppm)
    : host_(host),
      programs_(std::move(programs)),
      setup_(setup),
      budget_ppm_(budget_ppm),
      handover_(host, *programs_),
      own_frames_([this](std::uint64_t address) { return programs_->find_symbol(address); }) {
  if (programs_->resume_hook() == ResumeHook::None)
    unwind_remark_ =
        "this kernel has no hook for stacks of resuming threads: only threads that still wait at "
        "the end of a window have a stack";
  if (!programs_->can_read_cgroups())
    cgroup_remark_ =
        "BPF programs cannot read cgroups on this kernel: all threads are traced, and ctprof drops "
        "those of other cgroups";
}

// --- windows ---

void Waits::start() {
  programs_->attach();
  const auto nothing = [](Bytes) {};
  programs_->visit_threads(OFF_FIRST_PASS, nothing);
  ::usleep(kSettleUs);
  programs_->visit_threads(OFF_SECOND_PASS, nothing);
  open_window_.number = 1;
  open_window_.opened_ns = programs_->open_window(open_window_.number);
  programs_->begin_measuring();
  measuring_since_ns_ = budgeted_ns_ = open_window_.opened_ns;
}

void Waits::window_opens() {
  ++open_window_.number;
  open_window_.opened_ns = programs_->open_window(open_window_.number);
  weights_.clear();
  closure_ = {};
}

void Waits::window_ends() {
  finished_window_ = open_window_;
  ++open_window_.number;
  open_window_.opened_ns = finished_window_.ended_ns = programs_->open_window(open_window_.number);
  has_finished_window_ = true;
  threads_at_end_.clear();
  origins_at_end_.clear();
  programs_->visit_threads(OFF_COLLECT, [this](Bytes bytes) {
    const auto& snapshot = *reinterpret_cast<const off_snapshot*>(bytes.data());
    if (!origins_at_end_.insert(key_of(snapshot.thread.origin)).second) return;
    threads_at_end_.push_back({snapshot.identity, snapshot.thread, snapshot.place, {}});
    const auto* full = cast_record<off_snapshot_histograms>(bytes);
    if (full && full->is_known) threads_at_end_.back().histograms = full->histograms;
  });
  read_sleeping_stacks();
  find_hidden_threads();
}

// Finds threads that are hidden from the programs. They have no events, and must not be reported as
// threads that never waited.
void Waits::find_hidden_threads() {
  std::vector<std::uint32_t> tgids;
  HiddenThreads unseen(host_, programs_->now_ns(CLOCK_BOOTTIME));
  programs_->visit_threads(OFF_LIST_PROCESSES, [&](Bytes bytes) {
    tgids.push_back(reinterpret_cast<const off_check*>(bytes.data())->identity.tgid);
  });
  std::ranges::sort(tgids);
  hidden_ = unseen.find(tgids, setup_.pids);
}

// Reads the user stacks of waiting threads, and checks whether the threads still waited afterwards.
void Waits::read_sleeping_stacks() {
  std::vector<StackTop> requests;
  std::unordered_map<Key, std::size_t, Hash> by_key;
  for (std::size_t i = 0; i < threads_at_end_.size(); ++i) {
    const Thread& thread = threads_at_end_[i];
    by_key[key_of(thread.identity)] = i;
    if (!thread.place.has_user ||
        compute_window_sums(finished_window_, thread.thread, setup_.charges_all_waits)
                .unfinished_wait_ns == 0)
      continue;
    requests.push_back({thread.identity.tgid, thread.place.sp, i});
  }
  const std::size_t size = choose_stack_bytes(requests.size());
  for (StackTop& top : programs_->read_user_stacks(std::move(requests), size, kReadTimeout))
    threads_at_end_[top.number].stack = std::move(top.bytes);
  programs_->visit_threads(OFF_CHECK, [&](Bytes bytes) {
    const auto& check = *reinterpret_cast<const off_check*>(bytes.data());
    const auto entry = by_key.find(key_of(check.identity));
    if (entry == by_key.end()) return;
    Thread& thread = threads_at_end_[entry->second];
    thread.has_changed_state = check.events != thread.thread.events;
  });
}

void Waits::drain(const sdk::Records& records) {
  if (is_stopped_) return;
  for (const auto& bytes : std::exchange(next_window_records_, {})) handle_record(records, bytes);
  read(records);
  if (has_finished_window_) finish_window(records);
  programs_->exchange_tables(records);
  follow_moved_processes();
  count_lost_records(records);
  count_cost(records);
  adjust_period();
  report_remark(records);
}

// For a process that moved into the cgroup, the kernel reports only the leader to the programs.
void Waits::follow_moved_processes() {
  if (programs_->counters()[OFF_CGROUP_MOVES] != last_counters_[OFF_CGROUP_MOVES])
    programs_->visit_threads(OFF_FOLLOW_MOVED, [](Bytes) {});
}

// Exits are handed over after the stacks of the exited threads.
void Waits::read(const sdk::Records& records) {
  programs_->read_other_records([&](Bytes bytes) {
    kind_of(bytes) == OFF_EXIT ? void(pending_exits_.emplace_back(bytes.begin(), bytes.end()))
                               : handle_record(records, bytes);
  });
  const bool is_all = programs_->read_stacks([&](Bytes bytes) { handle_record(records, bytes); });
  if (!is_all && !has_finished_window_) return;
  for (const auto& bytes : std::exchange(pending_exits_, {})) handle_record(records, bytes);
}

void Waits::finish_window(const sdk::Records& records) {
  for (const Thread& thread : threads_at_end_) put_thread(records, thread, finished_window_);
  char text[256];
  std::snprintf(text, sizeof text,
                "off-cpu: running and waiting times add up to the wall time, to the nanosecond, "
                "for %llu of %llu threads",
                static_cast<unsigned long long>(closure_.exact_threads),
                static_cast<unsigned long long>(closure_.threads));
  closure_remark_ = text;
  if (closure_.max_error_ns > 0) {
    std::snprintf(text, sizeof text, " (at most %.3f ms off)",
                  static_cast<double>(closure_.max_error_ns) / 1e6);
    closure_remark_ += text;
  }
  if (closure_.unexpected_events > 0)
    closure_remark_ +=
        "; missed wake-ups and switches: " + std::to_string(closure_.unexpected_events) +
        ", threads with these: " + std::to_string(closure_.inconsistent_threads) +
        ", for example because of threads hidden from BPF";
  closure_ = {};
  walk_remark_ = programs_->describe_refused_walks();
  for (const HiddenThread& thread : hidden_)
    for (std::uint32_t offer = 0; offer < kOffers; ++offer)
      if (is_requested_offer(offer, setup_.histograms))
        records.put_unseen(thread.tgid, thread.tid, thread.start_ticks, offer);
  hidden_remark_ = hidden_.empty() ? ""
                                   : "this kernel hides " + std::to_string(hidden_.size()) +
                                         " threads from BPF programs: their waits are unknown";
  weights_.clear();
  threads_at_end_.clear();
  has_finished_window_ = false;
  has_new_remark_ = true;
}

// Records after the end of the last window are dropped.
void Waits::stop() {
  programs_->detach();
  is_stopped_ = true;
}

// --- records of the programs ---

bool Waits::is_of_next_window(Bytes bytes) const {
  if (!has_finished_window_) return false;
  if (kind_of(bytes) == OFF_STACK || kind_of(bytes) == OFF_WALKED_STACK) {
    const auto* stack = cast_record<off_stack>(bytes, OFF_STACK_WITHOUT_USER);
    return stack && stack->window > finished_window_.number;
  }
  if (kind_of(bytes) == OFF_EXIT) {
    const auto* end = cast_record<off_exit>(bytes);
    return end && end->thread.window > finished_window_.number;
  }
  return false;
}

void Waits::handle_record(const sdk::Records& records, Bytes bytes) {
  const bool belongs_to_next_window = is_of_next_window(bytes);
  if (belongs_to_next_window) next_window_records_.emplace_back(bytes.begin(), bytes.end());
  switch (kind_of(bytes)) {
    case OFF_STACK:
      if (const auto* stack = cast_record<off_stack>(bytes, OFF_STACK_WITHOUT_USER);
          stack && !belongs_to_next_window)
        put_stack(records, *stack, bytes.size());
      return;
    case OFF_WALKED_STACK:
      if (const auto* stack = cast_record<off_stack>(bytes, OFF_WALKED_BYTES);
          stack && !belongs_to_next_window)
        put_walked_stack(records, *stack, bytes.size());
      return;
    case OFF_EXIT:
      if (const auto* end = cast_record<off_exit>(bytes))
        put_exit(records, *end, cast_record<off_exit_histograms>(bytes));
      return;
    case OFF_FORK:
    case OFF_EXEC:
      if (const auto* process = cast_record<off_process>(bytes))
        handover_.put_process_change(records, *process);
      return;
    default: return;
  }
}

// Ignores a stack of a window that was handed over: its weight is part of the window's rest.
void Waits::put_stack(const sdk::Records& records, const off_stack& stack, std::size_t size) {
  const WindowSpan& span = has_finished_window_ ? finished_window_ : open_window_;
  if (stack.window != span.number) return;
  const std::size_t skipped_bytes = stack.place.sp & (OFF_PIECE - 1);
  const std::size_t copied_bytes =
      std::min(size - OFF_STACK_WITHOUT_USER, stack.pieces * std::size_t{OFF_PIECE});
  const auto* copy = reinterpret_cast<const std::uint8_t*>(&stack) + OFF_STACK_WITHOUT_USER;
  std::span<const std::uint8_t> memory;
  if (copied_bytes > skipped_bytes) memory = std::span(copy, copied_bytes).subspan(skipped_bytes);
  handover_.put_stack(records, {stack.identity, stack.at}, stack.place, memory, stack.weight,
                      count_tracing_frames(stack.place));
  weights_[key_of(stack.origin)] += stack.weight;
}

void Waits::put_walked_stack(const sdk::Records& records, const off_stack& stack,
                             std::size_t size) {
  const WindowSpan& span = has_finished_window_ ? finished_window_ : open_window_;
  if (stack.window != span.number) return;
  std::uint64_t frames[sizeof stack.user / sizeof(std::uint64_t)];
  const std::size_t read = std::min(size - OFF_STACK_WITHOUT_USER, sizeof frames);
  std::memcpy(frames, stack.user, read);
  const std::size_t count = std::min<std::size_t>(stack.pieces, read / sizeof frames[0]);
  handover_.put_walked_stack(records, {stack.identity, stack.at}, stack.place,
                             {std::span(frames).first(count), stack.unused != 0}, stack.weight,
                             count_tracing_frames(stack.place));
  weights_[key_of(stack.origin)] += stack.weight;
}

// Returns the number of kernel frames that belong to tracing.
std::size_t Waits::count_tracing_frames(const off_stack_place& place) {
  std::uint64_t kernel[OFF_FRAMES];
  const std::size_t frames = count_kernel_frames(place);
  std::copy_n(place.kernel, frames, kernel);
  return own_frames_.count({kernel, frames});
}

// The thread may have exited in the open window while the previous window is not handed over yet.
void Waits::put_exit(const sdk::Records& records, const off_exit& end,
                     const off_exit_histograms* full) {
  Thread thread{end.identity, end.thread, {}, {}};
  if (full && full->is_known) thread.histograms = full->histograms;
  // When another thread calls exec, the old leader may already have that thread's id as it exits.
  if (end.thread.origin.tid == end.identity.tgid) thread.identity.tid = end.identity.tgid;
  if (has_finished_window_ && end.thread.window > finished_window_.number) {
    if (!origins_at_end_.contains(key_of(end.thread.origin)))
      put_thread(records, thread, finished_window_);
    return;
  }
  WindowSpan span = has_finished_window_ ? finished_window_ : open_window_;
  if (end.thread.window != span.number) return;
  span.ended_ns = end.at;
  put_thread(records, thread, span);
  weights_.erase(key_of(end.thread.origin));
}

// --- threads ---

void Waits::put_thread(const sdk::Records& records, const Thread& thread, const WindowSpan& span) {
  const WindowSums window_sums =
      compute_window_sums(span, thread.thread, setup_.charges_all_waits,
                          thread.histograms ? &*thread.histograms : nullptr);
  if (window_sums.wall_ns == 0) return;
  check_sums(window_sums);
  const ThreadAtTime thread_at_end{thread.identity, span.ended_ns};
  handover_.put_sums(records, thread_at_end, window_sums);
  handover_.put_histograms(records, thread_at_end, window_sums, setup_.histograms);
  const auto charged_weight = weights_.find(key_of(thread.thread.origin));
  const std::uint64_t charged = charged_weight == weights_.end() ? 0 : charged_weight->second;
  const std::uint64_t total = window_sums.stacks_ns(setup_.charges_all_waits);
  const std::uint64_t remaining_ns = total > charged ? total - charged : 0;
  const std::uint64_t unfinished_ns = std::min(window_sums.unfinished_wait_ns, remaining_ns);
  std::span<const std::uint8_t> stack;
  if (!thread.has_changed_state) stack = thread.stack;
  if (unfinished_ns > 0)
    handover_.put_stack(records, thread_at_end, thread.place, stack, unfinished_ns);
  handover_.put_rest(records, thread_at_end, remaining_ns - unfinished_ns);
}

void Waits::check_sums(const WindowSums& window_sums) {
  const std::int64_t error = window_sums.error_ns();
  ++closure_.threads;
  if (error == 0) ++closure_.exact_threads;
  closure_.max_error_ns =
      std::max(closure_.max_error_ns, static_cast<std::uint64_t>(std::abs(error)));
  closure_.unexpected_events += window_sums.sums.unexpected_events;
  if (window_sums.sums.unexpected_events > 0) ++closure_.inconsistent_threads;
}

// --- losses and cost ---

void Waits::count_lost_records(const sdk::Records& records) {
  const Counters now = programs_->counters();
  const auto increase = [&](off_counter counter) { return now[counter] - last_counters_[counter]; };
  records.count_lost(increase(OFF_LOST_STACKS) + increase(OFF_LOST_EXITS));
  records.count_unseen(increase(OFF_UNKNOWN_THREADS));
  last_counters_ = now;
}

void Waits::count_cost(const sdk::Records& records) {
  const std::uint64_t now = programs_->now_ns(CLOCK_MONOTONIC);
  if (measuring_since_ns_ != 0 && now - measuring_since_ns_ >= kNsPerSecond) {
    programs_->end_measuring();
    measuring_since_ns_ = 0;
  }
  if (programs_->ns_per_switch() == 0) return;  // counted once the cost is known
  const std::uint64_t switches = last_counters_[OFF_SWITCHES] - accounted_switches_;
  accounted_switches_ = last_counters_[OFF_SWITCHES];
  records.count_cpu_ns(
      static_cast<std::uint64_t>(static_cast<double>(switches) * programs_->ns_per_switch()));
}

// Reduces the number of stacks, which is the adjustable cost: twice the period means half as many
// stacks.
void Waits::adjust_period() {
  const std::uint64_t now = programs_->now_ns(CLOCK_MONOTONIC);
  if (budget_ppm_ == 0 || programs_->ns_per_switch() == 0 || now - budgeted_ns_ < kNsPerSecond / 4)
    return;
  const double switches = static_cast<double>(last_counters_[OFF_SWITCHES] - budgeted_switches_);
  const double all_cpus = static_cast<double>(now - budgeted_ns_) *
                          static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  budgeted_ns_ = now;
  budgeted_switches_ = last_counters_[OFF_SWITCHES];
  if (switches * programs_->ns_per_switch() * 1e6 <
      0.8 * all_cpus * static_cast<double>(budget_ppm_))
    return;
  if (setup_.period_ns >= 100 * kNsPerSecond) return;
  setup_.records_every_stack ? void(setup_.records_every_stack = false)
                             : void(setup_.period_ns *= 2);
  programs_->set_period(setup_.period_ns, setup_.records_every_stack);
  programs_->begin_measuring();
  measuring_since_ns_ = now;
  char text[128];
  std::snprintf(text, sizeof text,
                "off-cpu: the budget was nearly used up: a stack is now recorded per %.3f ms of "
                "waiting, on average",
                static_cast<double>(setup_.period_ns) / 1e6);
  budget_remark_ = text;
  has_new_remark_ = true;
}

void Waits::report_remark(const sdk::Records& records) {
  if (!std::exchange(has_new_remark_, false)) return;
  std::string text;
  for (const std::string* remark : {&closure_remark_, &budget_remark_, &unwind_remark_,
                                    &cgroup_remark_, &hidden_remark_, &walk_remark_})
    if (!remark->empty()) text += (text.empty() ? "" : "; ") + *remark;
  records.remark(text);
}

}  // namespace ctprof::off_cpu
