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
constexpr std::chrono::milliseconds kPatience{300};
// Limits of the copied size of such a stack: the minimum, which a BPF program copies, and the
// maximum. With many threads the limit of all stacks together reduces the size to the minimum.
constexpr std::size_t kLeastStack = OFF_PIECES * OFF_PIECE, kMostStack = 32 << 10;
constexpr std::size_t kMostStacks = 64 << 20;

template <class Record>
const Record* as(Bytes bytes, std::size_t size = sizeof(Record)) {
  return bytes.size() >= size ? reinterpret_cast<const Record*>(bytes.data()) : nullptr;
}

std::size_t stack_bytes_of(std::size_t threads) {
  return std::clamp(kMostStacks / std::max<std::size_t>(threads, 1) / OFF_PIECE * OFF_PIECE,
                    kLeastStack, kMostStack);
}

std::uint32_t kind_of(Bytes bytes) {
  const auto* kind = as<std::uint32_t>(bytes);
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
      own_frames_([this](std::uint64_t address) { return programs_->symbol_of(address); }) {
  if (programs_->way() == Way::None)
    way_remark_ =
        "this kernel has no hook for stacks of resuming threads: only threads that still wait at "
        "the end of a window have a stack";
  if (!programs_->knows_cgroups())
    cgroup_remark_ =
        "BPF programs cannot read cgroups on this kernel: all threads are traced, and ctprof drops "
        "those of other cgroups";
}

// --- windows ---

void Waits::start() {
  programs_->attach();
  const auto nothing = [](Bytes) {};
  programs_->look(OFF_FIRST_LOOK, nothing);
  ::usleep(kSettleUs);
  programs_->look(OFF_SECOND_LOOK, nothing);
  open_.number = 1;
  open_.opened_ns = programs_->open_window(open_.number);
  programs_->begin_measuring();
  measuring_since_ns_ = budgeted_ns_ = open_.opened_ns;
}

void Waits::window_opens() {
  ++open_.number;
  open_.opened_ns = programs_->open_window(open_.number);
  weights_.clear();
  closure_ = {};
}

void Waits::window_ends() {
  over_ = open_;
  ++open_.number;
  open_.opened_ns = over_.ended_ns = programs_->open_window(open_.number);
  is_over_ = true;
  at_end_.clear();
  found_.clear();
  programs_->look(OFF_COLLECT, [this](Bytes bytes) {
    const auto& look = *reinterpret_cast<const off_look*>(bytes.data());
    if (!found_.insert(key_of(look.thread.origin)).second) return;
    at_end_.push_back({look.who, look.thread, look.place, {}});
  });
  look_at_sleepers();
  look_for_hidden();
}

// Finds threads that are hidden from the programs. They have no events, and must not be reported as
// threads that never waited.
void Waits::look_for_hidden() {
  std::vector<std::uint32_t> met;
  Unseen unseen(host_, programs_->now_ns(CLOCK_BOOTTIME));
  programs_->look(OFF_MEET, [&](Bytes bytes) {
    met.push_back(reinterpret_cast<const off_check*>(bytes.data())->who.tgid);
  });
  std::ranges::sort(met);
  hidden_ = unseen.find(met, setup_.pids);
}

// Reads the user stacks of waiting threads, and checks whether the threads still waited afterwards.
void Waits::look_at_sleepers() {
  std::vector<StackTop> wanted;
  std::unordered_map<Key, std::size_t, Hash> by_key;
  for (std::size_t i = 0; i < at_end_.size(); ++i) {
    const Thread& thread = at_end_[i];
    by_key[key_of(thread.who)] = i;
    if (!thread.place.has_user ||
        happened_in(over_, thread.thread, setup_.all_waits).going_on_ns == 0)
      continue;
    wanted.push_back({thread.who.tgid, thread.place.sp, i});
  }
  const std::size_t size = stack_bytes_of(wanted.size());
  for (StackTop& top : programs_->read_user_stacks(std::move(wanted), size, kPatience))
    at_end_[top.number].stack = std::move(top.bytes);
  programs_->look(OFF_CHECK, [&](Bytes bytes) {
    const auto& check = *reinterpret_cast<const off_check*>(bytes.data());
    const auto known = by_key.find(key_of(check.who));
    if (known == by_key.end()) return;
    Thread& thread = at_end_[known->second];
    thread.moved_on = check.events != thread.thread.events;
  });
}

void Waits::drain(const sdk::Records& records) {
  if (is_stopped_) return;
  for (const auto& bytes : std::exchange(later_, {})) take(records, bytes);
  read(records);
  if (is_over_) finish_window(records);
  programs_->exchange_tables(records);
  adopt_moved();
  count_missing(records);
  count_cost(records);
  keep_to_budget();
  tell(records);
}

// For a process that moved into the cgroup, the programs only see the leader.
void Waits::adopt_moved() {
  if (programs_->counters()[OFF_MOVES] != told_[OFF_MOVES])
    programs_->look(OFF_ADOPT, [](Bytes) {});
}

// Exits are handed over after the stacks of the exited threads.
void Waits::read(const sdk::Records& records) {
  programs_->read_others([&](Bytes bytes) {
    kind_of(bytes) == OFF_END ? void(ends_.emplace_back(bytes.begin(), bytes.end()))
                              : take(records, bytes);
  });
  const bool is_all = programs_->read_stacks([&](Bytes bytes) { take(records, bytes); });
  if (!is_all && !is_over_) return;
  for (const auto& bytes : std::exchange(ends_, {})) take(records, bytes);
}

void Waits::finish_window(const sdk::Records& records) {
  for (const Thread& thread : at_end_) put_thread(records, thread, over_);
  char text[256];
  std::snprintf(text, sizeof text,
                "off-cpu: running and waiting times add up to the wall time, to the nanosecond, "
                "for %llu of %llu threads",
                static_cast<unsigned long long>(closure_.exact),
                static_cast<unsigned long long>(closure_.threads));
  closure_remark_ = text;
  if (closure_.worst_ns > 0) {
    std::snprintf(text, sizeof text, " (at most %.3f ms off)",
                  static_cast<double>(closure_.worst_ns) / 1e6);
    closure_remark_ += text;
  }
  if (closure_.surprises > 0)
    closure_remark_ += "; " + std::to_string(closure_.surprises) + " wake-ups or switches of " +
                       std::to_string(closure_.surprised) +
                       " threads were missed, for example because of threads hidden from BPF";
  closure_ = {};
  walk_remark_ = programs_->refused_walks();
  for (const UnseenThread& thread : hidden_)
    for (std::uint32_t offer = 0; offer < kOffers; ++offer)
      records.put_unseen(thread.tgid, thread.tid, thread.start_ticks, offer);
  hidden_remark_ = hidden_.empty() ? ""
                                   : "this kernel hides " + std::to_string(hidden_.size()) +
                                         " threads from BPF programs: their waits are unknown";
  weights_.clear();
  at_end_.clear();
  is_over_ = false;
  has_news_ = true;
}

// Records after the end of the last window are dropped.
void Waits::stop() {
  programs_->detach();
  is_stopped_ = true;
}

// --- records of the programs ---

bool Waits::is_later(Bytes bytes) const {
  if (!is_over_) return false;
  if (kind_of(bytes) == OFF_STACK || kind_of(bytes) == OFF_WALKED_STACK) {
    const auto* stack = as<off_stack>(bytes, OFF_STACK_WITHOUT_USER);
    return stack && stack->window > over_.number;
  }
  if (kind_of(bytes) == OFF_END) {
    const auto* end = as<off_end>(bytes);
    return end && end->thread.window > over_.number;
  }
  return false;
}

void Waits::take(const sdk::Records& records, Bytes bytes) {
  const bool later = is_later(bytes);
  if (later) later_.emplace_back(bytes.begin(), bytes.end());
  switch (kind_of(bytes)) {
    case OFF_STACK:
      if (const auto* stack = as<off_stack>(bytes, OFF_STACK_WITHOUT_USER); stack && !later)
        put_stack(records, *stack, bytes.size());
      return;
    case OFF_WALKED_STACK:
      if (const auto* stack = as<off_stack>(bytes, OFF_WALKED_BYTES); stack && !later)
        put_walked_stack(records, *stack, bytes.size());
      return;
    case OFF_END:
      if (const auto* end = as<off_end>(bytes)) put_end(records, *end);
      return;
    case OFF_FORK:
    case OFF_EXEC:
      if (const auto* process = as<off_process>(bytes)) handover_.put_process(records, *process);
      return;
    default: return;
  }
}

// A stack of a window that was already handed over is part of the rest.
void Waits::put_stack(const sdk::Records& records, const off_stack& stack, std::size_t size) {
  const Span& span = is_over_ ? over_ : open_;
  if (stack.window != span.number) return;
  const std::size_t skipped = stack.place.sp & (OFF_PIECE - 1);
  const std::size_t copied = size == sizeof stack ? stack.pieces * std::size_t{OFF_PIECE} : 0;
  std::span<const std::uint8_t> memory;
  if (copied > skipped) memory = std::span(stack.user).first(copied).subspan(skipped);
  handover_.put_place(records, {stack.who, stack.at}, stack.place, memory, stack.weight,
                      own_frames_of(stack.place));
  weights_[key_of(stack.origin)] += stack.weight;
}

void Waits::put_walked_stack(const sdk::Records& records, const off_stack& stack,
                             std::size_t size) {
  const Span& span = is_over_ ? over_ : open_;
  if (stack.window != span.number) return;
  std::uint64_t frames[sizeof stack.user / sizeof(std::uint64_t)];
  const std::size_t read = std::min(size - OFF_STACK_WITHOUT_USER, sizeof frames);
  std::memcpy(frames, stack.user, read);
  const std::size_t count = std::min<std::size_t>(stack.pieces, read / sizeof frames[0]);
  handover_.put_walked(records, {stack.who, stack.at}, stack.place,
                       {std::span(frames).first(count), stack.unused != 0}, stack.weight,
                       own_frames_of(stack.place));
  weights_[key_of(stack.origin)] += stack.weight;
}

// Returns the number of kernel frames that belong to tracing.
std::size_t Waits::own_frames_of(const off_place& place) {
  std::uint64_t kernel[OFF_FRAMES];
  const std::size_t frames = kernel_frames(place);
  std::copy_n(place.kernel, frames, kernel);
  return own_frames_.count({kernel, frames});
}

// The thread may have exited in the open window while the previous window is not handed over yet.
void Waits::put_end(const sdk::Records& records, const off_end& end) {
  Thread thread{end.who, end.thread, {}, {}};
  // A leader whose place another thread takes may already have that thread's id.
  if (end.thread.origin.tid == end.who.tgid) thread.who.tid = end.who.tgid;
  if (is_over_ && end.thread.window > over_.number) {
    if (!found_.contains(key_of(end.thread.origin))) put_thread(records, thread, over_);
    return;
  }
  Span span = is_over_ ? over_ : open_;
  if (end.thread.window != span.number) return;
  span.ended_ns = end.at;
  put_thread(records, thread, span);
  weights_.erase(key_of(end.thread.origin));
}

// --- threads ---

void Waits::put_thread(const sdk::Records& records, const Thread& thread, const Span& span) {
  const Happened happened = happened_in(span, thread.thread, setup_.all_waits);
  if (happened.wall_ns == 0) return;
  check(happened);
  const Whose whose{thread.who, span.ended_ns};
  handover_.put_numbers(records, whose, happened);
  const auto known = weights_.find(key_of(thread.thread.origin));
  const std::uint64_t charged = known == weights_.end() ? 0 : known->second;
  const std::uint64_t total = happened.stacks_ns(setup_.all_waits);
  const std::uint64_t left = total > charged ? total - charged : 0;
  const std::uint64_t going_on = std::min(happened.going_on_ns, left);
  std::span<const std::uint8_t> stack;
  if (!thread.moved_on) stack = thread.stack;
  if (going_on > 0) handover_.put_place(records, whose, thread.place, stack, going_on);
  handover_.put_rest(records, whose, left - going_on);
}

void Waits::check(const Happened& happened) {
  const std::int64_t error = happened.error_ns();
  ++closure_.threads;
  if (error == 0) ++closure_.exact;
  closure_.worst_ns = std::max(closure_.worst_ns, static_cast<std::uint64_t>(std::abs(error)));
  closure_.surprises += happened.sums.odd;
  if (happened.sums.odd > 0) ++closure_.surprised;
}

// --- losses and cost ---

void Waits::count_missing(const sdk::Records& records) {
  const Counters now = programs_->counters();
  const auto since = [&](off_counter counter) { return now[counter] - told_[counter]; };
  records.count_lost(since(OFF_LOST_STACKS) + since(OFF_LOST_ENDS));
  records.count_unseen(since(OFF_UNKNOWN_THREADS));
  told_ = now;
}

void Waits::count_cost(const sdk::Records& records) {
  const std::uint64_t now = programs_->now_ns(CLOCK_MONOTONIC);
  if (measuring_since_ns_ != 0 && now - measuring_since_ns_ >= kNsPerSecond) {
    programs_->end_measuring();
    measuring_since_ns_ = 0;
  }
  if (programs_->ns_per_switch() == 0) return;  // counted when it is known
  const std::uint64_t switches = told_[OFF_SWITCHES] - costed_switches_;
  costed_switches_ = told_[OFF_SWITCHES];
  records.count_cpu_ns(
      static_cast<std::uint64_t>(static_cast<double>(switches) * programs_->ns_per_switch()));
}

// Reduces the number of stacks, which is the adjustable cost: twice the period means half as many
// stacks.
void Waits::keep_to_budget() {
  const std::uint64_t now = programs_->now_ns(CLOCK_MONOTONIC);
  if (budget_ppm_ == 0 || programs_->ns_per_switch() == 0 || now - budgeted_ns_ < kNsPerSecond / 4)
    return;
  const double switches = static_cast<double>(told_[OFF_SWITCHES] - budgeted_switches_);
  const double all_cpus = static_cast<double>(now - budgeted_ns_) *
                          static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  budgeted_ns_ = now;
  budgeted_switches_ = told_[OFF_SWITCHES];
  if (switches * programs_->ns_per_switch() * 1e6 <
      0.8 * all_cpus * static_cast<double>(budget_ppm_))
    return;
  if (setup_.period_ns >= 100 * kNsPerSecond) return;
  setup_.every_stack ? void(setup_.every_stack = false) : void(setup_.period_ns *= 2);
  programs_->set_period(setup_.period_ns, setup_.every_stack);
  programs_->begin_measuring();
  measuring_since_ns_ = now;
  char text[128];
  std::snprintf(
      text, sizeof text,
      "off-cpu: the budget was nearly used up: stacks are now %.3f ms of waiting apart, on "
      "average",
      static_cast<double>(setup_.period_ns) / 1e6);
  budget_remark_ = text;
  has_news_ = true;
}

void Waits::tell(const sdk::Records& records) {
  if (!std::exchange(has_news_, false)) return;
  std::string all;
  for (const std::string* remark : {&closure_remark_, &budget_remark_, &way_remark_,
                                    &cgroup_remark_, &hidden_remark_, &walk_remark_})
    if (!remark->empty()) all += (all.empty() ? "" : "; ") + *remark;
  records.remark(all);
}

}  // namespace ctprof::off_cpu
