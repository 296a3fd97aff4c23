// For sources that work while a window is open: what the window is about, and where those that
// record call stacks put them.
//
//   inline constexpr sdk::Metric<sdk::StackCount, sdk::StackSum> kFaultStacks{{
//       .name = "example_fault_stacks", .description = "Where pages were faulted in."}};
//
//   class Faults : public sdk::RecordSource {
//    public:
//     static constexpr auto kOffers = sdk::offers(kFaultStacks);
//     explicit Faults(const sdk::Host& host);
//     void start(const sdk::Window& window);           // throws where it cannot
//     void drain(const sdk::Records& records) {
//       while (const Fault* fault = next()) {
//         sdk::Record record(fault->tgid, fault->tid, 1);
//         record.at_ns = fault->at_ns;
//         record.set_kernel(fault->kernel_addresses());
//         record.set_user(fault->user_addresses());    // or registers and a copy: set_user_copy
//         records.put(record);
//       }
//       records.count_lost(take_lost());
//     }
//     void stop();
//   };
//
// Stacks are handed over raw. ctprof unwinds what is copied, names addresses, and puts a thread's
// stacks into its row. A recorder runs while others are measured, so be cheap: keep a sample in the
// kernel's buffer until `drain` is called, some fifty times a second, and allocate nothing for it.
//
// One object does all of it, on one thread at a time. `drain` may be called after `stop` as well,
// and is called once more then, for what was still in the buffer. One that keeps sums, or follows
// what takes long, has `void window_ends()` too: at the end of each window, before its last drain.
// One that keeps sums also has `void window_opens()`, which begins a window and discards what was
// counted before. ctprof calls it after threads are first read, and `window_ends()` before they are
// read last, so that no sum covers more time than the window of its thread.
//
// A number beside the stacks, as in `sdk::offers(kFaultStacks, kFaults)`, is told by records of a
// weight alone, whose `offer` is 1 here: those of what counts up are added, thread by thread.
//
// What is here:   Window, Record, Records.
// What is not:    the bases ExitedSource and RecordSource (source.hpp), the structs behind
// (record.h
//                 in abi/).

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

#include "ctprof/abi.h"

namespace ctprof::sdk {

// What a window is about. Gone after `start`, with its lists. Numbers that nobody gave are 0, and
// then yours to choose; so are those that an older ctprof does not know.
class Window {
 public:
  explicit Window(const ctprof_window& window) : abi_(&window) {}

  // Only these processes; none: all.
  std::span<const std::uint64_t> pids() const { return {abi_->pids, abi_->pids_count}; }
  // Only threads in these cgroups, by id, and below them; none: all. It spares work: ctprof leaves
  // out who is in others by itself, and decides by names, for a cgroup may be made anew.
  std::span<const std::uint64_t> cgroups() const { return {abi_->cgroups, abi_->cgroups_count}; }
  // When it was opened, on CLOCK_BOOTTIME.
  std::uint64_t opened_ns() const { return abi_->opened_ns; }
  // Samples a second on each CPU.
  std::uint32_t frequency_hz() const { return abi_->frequency_hz; }
  // One stack for so much time, on average.
  std::uint64_t period_ns() const { return abi_->period_ns; }
  // The most frames of a stack.
  std::uint32_t depth() const { return abi_->depth; }
  // How much of the user stack's top to copy.
  std::uint32_t stack_bytes() const { return abi_->stack_bytes; }
  // A process, not running yet, whose descendants are to be marked (kDescendant, kWasBorn); 0:
  // none.
  std::uint64_t command() const {
    return has(offsetof(ctprof_window, command)) ? abi_->command : 0;
  }
  // How user stacks are wanted: CTPROF_USER_ADDRESSES, _COPY; _NONE: as you like.
  ctprof_user_stack user_kind() const {
    return has(offsetof(ctprof_window, user_kind)) ? abi_->user_kind : ctprof_user_stack{};
  }
  // Of the kernel's buffer for each CPU.
  std::uint64_t ring_bytes() const {
    return has(offsetof(ctprof_window, ring_bytes)) ? abi_->ring_bytes : 0;
  }
  // Looks at all threads a second.
  std::uint32_t passes_hz() const {
    return has(offsetof(ctprof_window, passes_hz)) ? abi_->passes_hz : 0;
  }
  // Of all CPUs' time, in millionths, what this source may cost; 0: nobody says.
  std::uint64_t budget_ppm() const { return abi_->budget_ppm; }
  // One look at what is there now, complete in the drain after `start`.
  bool once() const { return is(CTPROF_WINDOW_ONCE); }
  // A stack at each event, and not one per period_ns().
  bool every_stack() const { return is(CTPROF_WINDOW_EVERY_STACK); }
  // Stacks of all times off a CPU, not of blocked ones alone.
  bool all_waits() const { return is(CTPROF_WINDOW_ALL_WAITS); }
  // Also the processes that those of pids() fork while the window is open, and what these fork. A
  // RecordSource puts each as CTPROF_CHANGE_FORKED before its first record.
  bool inherits() const { return is(CTPROF_WINDOW_INHERIT); }
  // ctprof makes unwind tables on request (Records::want_table).
  bool makes_tables() const { return is(CTPROF_WINDOW_TABLES); }

 private:
  bool has(std::size_t offset) const { return abi_->size > offset; }
  bool is(ctprof_window_flags flag) const {
    return has(offsetof(ctprof_window, flags)) && (abi_->flags & flag) != 0;
  }

  const ctprof_window* abi_;
};

// One stack of one thread, being filled; or, of an offer that is a number, how much it grew. The
// spans are not copied: they must live until the record has been put. `flags`, `offer` (0, the
// first), `at_ns` and `start_time_clock_ticks` are plain fields of the base, and explained there.
struct Record : ctprof_record {
  // `weight`: in the unit of the offer's metric.
  Record(std::uint64_t of_tgid, std::uint64_t of_tid, std::uint64_t of_weight) : ctprof_record{} {
    size = sizeof(ctprof_record);
    tgid = of_tgid;
    tid = of_tid;
    weight = of_weight;
  }

  // Addresses in the kernel, leaf first.
  void set_kernel(std::span<const std::uint64_t> addresses) {
    kernel = addresses.data();
    kernel_count = static_cast<std::uint32_t>(addresses.size());
  }
  // Addresses in user space, leaf first: followed by frame pointers, for example.
  void set_user(std::span<const std::uint64_t> addresses) {
    user_kind = CTPROF_USER_ADDRESSES;
    user = addresses.data();
    user_count = static_cast<std::uint32_t>(addresses.size());
  }
  // Frames that were found by unwind tables, leaf first, as words of CTPROF_USER_FRAMES.
  void set_user_frames(std::span<const std::uint64_t> frames) {
    user_kind = CTPROF_USER_FRAMES;
    user = frames.data();
    user_count = static_cast<std::uint32_t>(frames.size());
  }
  // Registers (`link`: on arm64 alone), and memory from the stack pointer on, for ctprof to unwind.
  void set_user_copy(std::uint64_t pc, std::uint64_t stack_pointer, std::uint64_t frame_pointer,
                     std::uint64_t link, std::span<const std::uint8_t> memory) {
    user_kind = CTPROF_USER_COPY;
    ip = pc;
    sp = stack_pointer;
    bp = frame_pointer;
    lr = link;
    stack = memory.data();
    stack_size = memory.size();
  }
};

// Where a drain writes to.
class Records {
 public:
  explicit Records(ctprof_records& records) : abi_(&records) {}

  // Copied when it returns.
  void put(const Record& record) const { abi_->put(abi_->core, &record); }

  // What the kernel does not let us see of a thread is a gap there, and not zero.
  void put_unseen(std::uint64_t tgid, std::uint64_t tid, std::uint64_t start_time_clock_ticks,
                  std::uint32_t offer) const {
    Record record(tgid, tid, 0);
    record.start_time_clock_ticks = start_time_clock_ticks;
    record.offer = offer;
    record.flags = CTPROF_RECORD_UNSEEN;
    put(record);
  }

  // So many more were taken, and lost by a full buffer; or should have been taken, and were not.
  void count_lost(std::uint64_t count) const { abi_->lost += count; }
  void count_unseen(std::uint64_t count) const { abi_->unseen += count; }
  // Counts a loss, and says where it was. `size` need not be filled.
  void lose(ctprof_loss loss) const {
    (loss.kind == CTPROF_LOSS_FULL ? abi_->lost : abi_->unseen) += loss.count;
    loss.size = sizeof loss;
    if (has(offsetof(ctprof_records, lose))) abi_->lose(abi_->core, &loss);
  }
  // What a process mapped, and such; before the records that it matters to. `size` need not be
  // filled.
  void put(ctprof_change change) const {
    change.size = sizeof change;
    if (has(offsetof(ctprof_records, change))) abi_->change(abi_->core, &change);
  }
  // CPU time that it cost outside of its own calls: in programs attached to the kernel.
  void count_cpu_ns(std::uint64_t ns) const {
    if (has(offsetof(ctprof_records, cpu_ns))) abi_->cpu_ns += ns;
  }
  // Asks for the unwind table of a file, which a later drain finds in next_table(). REQUIRES: the
  // window makes_tables(). `size` need not be filled.
  void want_table(ctprof_table_request request) const {
    request.size = sizeof request;
    if (has(offsetof(ctprof_records, want_table))) abi_->want_table(abi_->core, &request);
  }
  // The next table that was asked for, valid until the next call; false: there is none now.
  bool next_table(ctprof_unwind_table& table) const {
    table = {};
    table.size = sizeof table;
    return has(offsetof(ctprof_records, next_table)) && abi_->next_table(abi_->core, &table) != 0;
  }
  // A sentence for the user, who is told once, though all is well: a buffer that had to be smaller.
  void remark(std::string_view sentence) const {
    std::snprintf(abi_->message, abi_->message_size, "%.*s", static_cast<int>(sentence.size()),
                  sentence.data());
  }

 private:
  // An older ctprof does not have the tail.
  bool has(std::size_t offset) const { return abi_->size > offset; }

  ctprof_records* abi_;
};

}  // namespace ctprof::sdk
