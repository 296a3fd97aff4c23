#include "tests/recorded/off_cpu_trace.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace ctprof::recorded::off_cpu_trace {

using off_cpu::Counters;
using off_cpu::RecordCallback;
using off_cpu::StackTop;

// Layout version 1.
static_assert(sizeof(off_sums) == 80 && offsetof(off_sums, counts) == 40 &&
              offsetof(off_sums, waits) == 56 && offsetof(off_sums, unexpected_events) == 60 &&
              offsetof(off_sums, longest) == 64 && offsetof(off_sums, shortest) == 72);
static_assert(sizeof(off_thread) == 272 && offsetof(off_thread, state_start) == 16 &&
              offsetof(off_thread, departure) == 24 &&
              offsetof(off_thread, run_time_at_arrival) == 40 &&
              offsetof(off_thread, current_wait) == 72 && offsetof(off_thread, created) == 80 &&
              offsetof(off_thread, origin) == 96 && offsetof(off_thread, sums) == 112);
static_assert(sizeof(off_stack_place) == 1072 && sizeof(off_identity) == 16 &&
              offsetof(off_stack_place, kernel) == 56);
static_assert(offsetof(off_stack, at) == 24 && offsetof(off_stack, weight) == 32 &&
              offsetof(off_stack, place) == 56 && OFF_STACK_WITHOUT_USER == 1136);
static_assert(sizeof(off_exit) == 304 && offsetof(off_exit, at) == 24 &&
              offsetof(off_exit, thread) == 32);
static_assert(sizeof(off_snapshot) == 1360 && sizeof(off_check) == 24 && sizeof(off_process) == 24);

// --- recording ---

RecordingInput::RecordingInput(std::unique_ptr<off_cpu::KernelInput> input,
                               std::vector<std::uint64_t> pids, TraceWriter& trace)
    : input_(std::move(input)), pids_(std::move(pids)), trace_(trace) {
  trace_.add_layouts(kLayouts);
  trace_.add_fact("way", std::to_string(static_cast<int>(input_->resume_hook())));
  trace_.add_fact("to_boottime_ns",
                  std::to_string(now_ns(CLOCK_BOOTTIME) - now_ns(CLOCK_MONOTONIC)));
}

// Records all answers except those of OFF_LIST_PROCESSES, which lists all processes of the host; of
// these, only the recorded processes.
void RecordingInput::visit_threads(off_pass_purpose what, const off_cpu::RecordCallback& take) {
  trace_.put_value(kPass, static_cast<std::uint32_t>(what));
  input_->visit_threads(what, [&](Bytes bytes) {
    off_identity identity;
    std::memcpy(&identity, bytes.data(), sizeof identity);
    if (std::ranges::find(pids_, identity.tgid) == pids_.end()) return;
    trace_.put(kRecord, bytes);
    take(bytes);
  });
  trace_.put_value(kReturned, std::uint64_t{0});
}

std::uint64_t RecordingInput::open_window(std::uint32_t number) {
  const std::uint64_t edge = input_->open_window(number);
  trace_.put_value(kOpenWindow, WindowEdge{number, edge});
  return edge;
}

bool RecordingInput::read_stacks(const off_cpu::RecordCallback& take) {
  trace_.put(kReadStacks);
  const bool is_all = input_->read_stacks([&](Bytes bytes) {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    const off_stack& stack = *reinterpret_cast<const off_stack*>(copy.data());
    if (stack.kind == OFF_STACK)
      std::memset(copy.data() + OFF_STACK_WITHOUT_USER, pattern_of(stack.identity.tid),
                  copy.size() - OFF_STACK_WITHOUT_USER);
    trace_.put(kRecord, copy);
    take(bytes);
  });
  trace_.put_value(kReturned, std::uint64_t{is_all});
  return is_all;
}

void RecordingInput::read_other_records(const off_cpu::RecordCallback& take) {
  trace_.put(kReadOthers);
  input_->read_other_records([&](Bytes bytes) {
    trace_.put(kRecord, bytes);
    take(bytes);
  });
  trace_.put_value(kReturned, std::uint64_t{0});
}

std::vector<StackTop> RecordingInput::read_user_stacks(std::vector<StackTop> wanted,
                                                       std::size_t size,
                                                       std::chrono::milliseconds patience) {
  std::vector<StackTop> tops = input_->read_user_stacks(std::move(wanted), size, patience);
  trace_.put(kReadMemory);
  for (const StackTop& top : tops) {
    const MemoryRead read{top.tgid, top.address, top.number};
    std::vector<std::byte> bytes(sizeof read + top.bytes.size(), std::byte{pattern_of(top.number)});
    std::memcpy(bytes.data(), &read, sizeof read);
    trace_.put(kRecord, bytes);
  }
  trace_.put_value(kReturned, std::uint64_t{tops.size()});
  return tops;
}

void RecordingInput::set_period(std::uint64_t period_ns, bool every_stack) {
  trace_.put_value(kSetPeriod, Period{period_ns, every_stack});
  input_->set_period(period_ns, every_stack);
}

Counters RecordingInput::counters() const {
  const Counters counters = input_->counters();
  trace_.put_value(kCounters, counters);
  return counters;
}

void RecordingInput::end_measuring() {
  input_->end_measuring();
  trace_.put_value(kCost, input_->ns_per_switch());
}

// --- replaying ---

ReplayedInput::ReplayedInput(const Trace& trace, Cursor& cursor)
    : cursor_(cursor),
      to_boottime_ns_(trace.number("to_boottime_ns")),
      way_(static_cast<off_cpu::ResumeHook>(trace.number("way"))) {
  trace.require_layouts(kLayouts);
}

std::uint64_t ReplayedInput::now_ns(clockid_t clock) const {
  return cursor_.clock_ns() + (clock == CLOCK_BOOTTIME ? to_boottime_ns_ : 0);
}

// The recorder may query state at any time; it gets the state that the trace contains before its
// next event.
void ReplayedInput::read_state() const {
  while (!cursor_.is_at_end() &&
         (cursor_.peek().kind == kCounters || cursor_.peek().kind == kCost)) {
    const Frame& frame = cursor_.next();
    frame.kind == kCounters ? void(counters_ = frame.as<Counters>())
                            : void(ns_per_switch_ = frame.as<double>());
  }
}

Counters ReplayedInput::counters() const {
  read_state();
  return counters_;
}

double ReplayedInput::ns_per_switch() const {
  read_state();
  return ns_per_switch_;
}

const Frame& ReplayedInput::event(std::uint32_t kind) {
  read_state();
  return cursor_.next(kind);
}

std::uint64_t ReplayedInput::deliver(const off_cpu::RecordCallback& take) {
  while (cursor_.peek().kind == kRecord) take(cursor_.next().bytes);
  return cursor_.next(kReturned).as<std::uint64_t>();
}

void ReplayedInput::visit_threads(off_pass_purpose what, const off_cpu::RecordCallback& take) {
  if (event(kPass).as<std::uint32_t>() != what) throw BadTrace("a pass for another purpose");
  deliver(take);
}

std::uint64_t ReplayedInput::open_window(std::uint32_t number) {
  const WindowEdge& edge = event(kOpenWindow).as<WindowEdge>();
  if (edge.number != number) throw BadTrace("a window of another number");
  return edge.ns;
}

bool ReplayedInput::read_stacks(const off_cpu::RecordCallback& take) {
  event(kReadStacks);
  return deliver(take) != 0;
}

void ReplayedInput::read_other_records(const off_cpu::RecordCallback& take) {
  event(kReadOthers);
  deliver(take);
}

std::vector<StackTop> ReplayedInput::read_user_stacks(std::vector<StackTop> wanted,
                                                      std::size_t size, std::chrono::milliseconds) {
  std::vector<StackTop> tops;
  event(kReadMemory);
  deliver([&](Bytes bytes) {
    MemoryRead read;
    std::memcpy(&read, bytes.data(), sizeof read);
    const auto is_recorded = [&](const StackTop& top) { return top.number == read.number; };
    const auto known = std::ranges::find_if(wanted, is_recorded);
    if (known == wanted.end() || known->address != read.from || bytes.size() - sizeof read > size)
      throw BadTrace("the recorder reads memory at other addresses than the recording");
    const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
    tops.push_back(*known);
    tops.back().bytes.assign(begin + sizeof read, begin + bytes.size());
  });
  return tops;
}

void ReplayedInput::set_period(std::uint64_t period_ns, bool every_stack) {
  const Period& period = event(kSetPeriod).as<Period>();
  if (period.ns != period_ns || (period.every_stack != 0) != every_stack)
    throw BadTrace("the recorder sets another period");
}

}  // namespace ctprof::recorded::off_cpu_trace
