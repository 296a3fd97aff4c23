// Classes for sources that work while a window is open: the parameters of a window, and the
// receiver of recorded call stacks.
//
//   inline constexpr sdk::Metric<sdk::StackCount, sdk::StackSum> kFaultStacks{{
//       .name = "example_fault_stacks", .description = "Stacks of page faults."}};
//
//   class Faults : public sdk::RecordSource {
//    public:
//     static constexpr auto kOffers = sdk::offers(kFaultStacks);
//     explicit Faults(const sdk::Host& host);
//     void start(const sdk::Window& window);           // throws on failure
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
// Stacks are passed raw. ctprof unwinds copied stacks, symbolizes addresses, and stores a thread's
// stacks in its row. A recorder runs while other threads are measured, so it must be cheap: keep
// samples in the kernel's buffer until `drain` is called, about fifty times per second, and
// allocate no memory for them.
//
// One object receives all calls, on one thread at a time. `drain` may be called after `stop` as
// well, and is then called once more for the rest of the buffer. A recorder that keeps sums, or
// follows events that take long, also has `void window_ends()`, which is called at the end of each
// window before its last drain. A recorder that keeps sums also has `void window_opens()`, which
// begins a window and discards earlier counts. ctprof calls it after the first read of the threads,
// and `window_ends()` before the last read, so that no sum covers more time than the window of its
// thread.
//
// A recorder can also offer numbers, as in `sdk::offers(kFaultStacks, kFaults)`. Their records have
// only a weight, and their `offer` is 1 here. Weights of a cumulative metric are added per thread.
// A record of a histogram also has a value (Record::set_value), which it counts `weight` times.
//
// Contents:   Window, Record, Records.
// See also:   source.hpp for the bases ExitedSource and RecordSource, abi/record.h for the structs.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ctprof/abi.h"
#include "ctprof/message.hpp"

namespace ctprof::sdk {

// The parameters of a window. The object and its lists are valid only during `start`. A number that
// was not specified is 0, and then the source chooses; so is a number that an older ctprof does not
// know.
class Window {
 public:
  explicit Window(const ctprof_window& window) : abi_(&window) {}

  // Only these processes; empty: all.
  std::span<const std::uint64_t> pids() const { return {abi_->pids, abi_->pids_count}; }
  // Only threads in these cgroups, identified by id, and in their descendants; empty: all. Using it
  // saves work: ctprof itself also filters threads, and does so by name, because a cgroup may be
  // created again.
  std::span<const std::uint64_t> cgroups() const { return {abi_->cgroups, abi_->cgroups_count}; }
  // The time at which the window was opened, on CLOCK_BOOTTIME.
  std::uint64_t opened_ns() const { return abi_->opened_ns; }
  // Samples per second on each CPU.
  std::uint32_t frequency_hz() const { return abi_->frequency_hz; }
  // The average time per stack.
  std::uint64_t period_ns() const { return abi_->period_ns; }
  // The maximum number of frames of a stack.
  std::uint32_t depth() const { return abi_->depth; }
  // The number of bytes to copy from the top of the user stack.
  std::uint32_t stack_bytes() const { return abi_->stack_bytes; }
  // A process that does not run yet and whose descendants are to be marked (kDescendant, kWasBorn);
  // 0: none.
  std::uint64_t command() const {
    return has(offsetof(ctprof_window, command)) ? abi_->command : 0;
  }
  // The requested form of user stacks: CTPROF_USER_ADDRESSES, _COPY; _NONE: any form.
  ctprof_user_stack user_kind() const {
    return has(offsetof(ctprof_window, user_kind)) ? abi_->user_kind : ctprof_user_stack{};
  }
  // Size of the kernel's buffer for each CPU, in bytes.
  std::uint64_t ring_bytes() const {
    return has(offsetof(ctprof_window, ring_bytes)) ? abi_->ring_bytes : 0;
  }
  // Passes over all threads per second.
  std::uint32_t passes_hz() const {
    return has(offsetof(ctprof_window, passes_hz)) ? abi_->passes_hz : 0;
  }
  // The share of all CPUs' time that this source may use, in millionths; 0: not specified.
  std::uint64_t budget_ppm() const { return abi_->budget_ppm; }
  // Whether the offer with this index was requested. Do no work for other offers, and put no
  // records of them.
  bool requests(std::uint32_t offer) const {
    if (!has(offsetof(ctprof_window, offers)) || !abi_->offers) return true;
    const std::span<const std::uint32_t> requested(abi_->offers, abi_->offers_count);
    return std::find(requested.begin(), requested.end(), offer) != requested.end();
  }
  // One pass over the current state, complete in the first drain after `start`.
  bool once() const { return is(CTPROF_WINDOW_ONCE); }
  // A stack at each event instead of one per period_ns().
  bool every_stack() const { return is(CTPROF_WINDOW_EVERY_STACK); }
  // Stacks of all off-CPU time, not only of blocked time.
  bool all_waits() const { return is(CTPROF_WINDOW_ALL_WAITS); }
  // Also the processes that those of pids() fork while the window is open, and their descendants. A
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

// One stack of one thread, or, for a numeric offer, an increment. The spans are not copied: they
// must be valid until the record has been put. `flags`, `offer` (0, the first), `at_ns` and
// `start_time_clock_ticks` are plain members of the base, which explains them.
struct Record : ctprof_record {
  // `of_weight` is in the unit of the offer's metric.
  Record(std::uint64_t of_tgid, std::uint64_t of_tid, std::uint64_t of_weight) : ctprof_record{} {
    size = sizeof(ctprof_record);
    tgid = of_tgid;
    tid = of_tid;
    weight = of_weight;
  }

  // Sets the value that a record of a histogram counts; its weight is the number of such values.
  void set_value(std::uint64_t value) { element = ctprof_histogram_bucket(value); }
  // Sets addresses in the kernel, leaf first.
  void set_kernel(std::span<const std::uint64_t> addresses) {
    kernel = addresses.data();
    kernel_count = static_cast<std::uint32_t>(addresses.size());
  }
  // Sets addresses in user space, leaf first, for example from frame pointers.
  void set_user(std::span<const std::uint64_t> addresses) {
    user_kind = CTPROF_USER_ADDRESSES;
    user = addresses.data();
    user_count = static_cast<std::uint32_t>(addresses.size());
  }
  // Sets frames that were found with unwind tables, leaf first, as words of CTPROF_USER_FRAMES.
  void set_user_frames(std::span<const std::uint64_t> frames) {
    user_kind = CTPROF_USER_FRAMES;
    user = frames.data();
    user_count = static_cast<std::uint32_t>(frames.size());
  }
  // Sets registers (`link` only on arm64) and a copy of memory that begins at the stack pointer,
  // which ctprof unwinds.
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

// Receives the records of a drain.
class Records {
 public:
  explicit Records(ctprof_records& records) : abi_(&records) {}

  // Copies the record before it returns.
  void put(const Record& record) const { abi_->put(abi_->core, &record); }

  // Reports that the kernel does not permit the source to observe a thread: its cell becomes a gap
  // instead of zero.
  void put_unseen(std::uint64_t tgid, std::uint64_t tid, std::uint64_t start_time_clock_ticks,
                  std::uint32_t offer) const {
    Record record(tgid, tid, 0);
    record.start_time_clock_ticks = start_time_clock_ticks;
    record.offer = offer;
    record.flags = CTPROF_RECORD_UNSEEN;
    put(record);
  }

  // Count records that a full buffer dropped, and records that were due and not recorded.
  void count_lost(std::uint64_t count) const { abi_->lost += count; }
  void count_unseen(std::uint64_t count) const { abi_->unseen += count; }
  // Counts a loss, and reports its place and time. `size` need not be filled.
  void lose(ctprof_loss loss) const {
    (loss.kind == CTPROF_LOSS_FULL ? abi_->lost : abi_->unseen) += loss.count;
    loss.size = sizeof loss;
    if (has(offsetof(ctprof_records, lose))) abi_->lose(abi_->core, &loss);
  }
  // Reports a change of a process's mappings. Call it before the records that depend on it. `size`
  // need not be filled.
  void put(ctprof_change change) const {
    change.size = sizeof change;
    if (has(offsetof(ctprof_records, change))) abi_->change(abi_->core, &change);
  }
  // Adds CPU time that the source used outside its own calls: in programs that are attached to the
  // kernel.
  void count_cpu_ns(std::uint64_t ns) const {
    if (has(offsetof(ctprof_records, cpu_ns))) abi_->cpu_ns += ns;
  }
  // Requests the unwind table of a file, which next_table() returns in a later drain. REQUIRES: the
  // window makes_tables(). `size` need not be filled.
  void want_table(ctprof_table_request request) const {
    request.size = sizeof request;
    if (has(offsetof(ctprof_records, want_table))) abi_->want_table(abi_->core, &request);
  }
  // Gets the next requested table, valid until the next call; returns false if none is ready.
  bool next_table(ctprof_unwind_table& table) const {
    table = {};
    table.size = sizeof table;
    return has(offsetof(ctprof_records, next_table)) && abi_->next_table(abi_->core, &table) != 0;
  }
  // Sets a remark that is reported to the user although recording succeeded, for example that a
  // buffer had to be smaller. It replaces earlier remarks of this source, so a source with several
  // sentences passes all of them that still apply.
  void remark(std::string_view sentence) const {
    write_message(abi_->message, abi_->message_size, sentence);
  }

 private:
  // Whether the struct of this ctprof contains the field; an older one may end before it.
  bool has(std::size_t offset) const { return abi_->size > offset; }

  ctprof_records* abi_;
};

}  // namespace ctprof::sdk
