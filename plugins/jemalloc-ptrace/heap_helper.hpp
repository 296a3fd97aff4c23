// Looking for jemalloc in processes, and reading counters, by a helper process that may hang in our
// place.
//
// A file system whose server does not answer holds up whoever opens or reads its files, or memory
// that is mapped from them, for as long as it likes. The helper that it holds up is given up after
// a while and another one made; the file system is not touched again in this capture, and a
// sentence names where it is mounted. After kMostLosses of them nothing is asked any more: all that
// is left is NotAnswering.
//
// What is here:   asking, and what becomes of questions that were not answered.
// What is not:    the helper's own work (heap_duty.hpp), how it is made and confined
// (plugins/shared/helper_process.hpp).

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ctprof/host.hpp"
#include "plugins/jemalloc-ptrace/counters_read.hpp"
#include "plugins/jemalloc-ptrace/heap_duty.hpp"
#include "plugins/shared/helper_process.hpp"

namespace ctprof::jemalloc {

// Whether a process has jemalloc: the questions of FindItem, and its answers.
struct FindQuestion {
  std::uint64_t tid;
  ProgramNumber known = 0;
  bool has_few_threads = false;
  ProgramNumber program = 0;  // by which it is known from now on; set by `find`
  bool same = false;
  Found found{Attach::NotAnswering, {}, 0};
};

// The counters of threads of one process, those whose outcome is good so far.
struct ReadQuestion {
  ProgramNumber program;
  Counters counters;
  std::span<Tracee> tracees;
  std::span<Reading> readings;  // as many
  bool still_runs = false;
};

// A plugin's, or a part of what it keeps: all workers of a session use it, at once if they like;
// they take turns.
class HeapHelper {
 public:
  explicit HeapHelper(const sdk::Host& host) : proc_(host.proc()) {}

  // Has the helper made ahead of the first question: the smaller we are, the less it costs, and it
  // gets ready meanwhile.
  void prepare();
  void find(std::span<FindQuestion> questions);
  // At most kMostItems tracees in all.
  void read(std::span<ReadQuestion> questions);
  // Whether the helper that found this program is still the one that will be asked.
  bool holds(ProgramNumber program);
  // Nobody asks about these programs any more.
  void release(std::span<const ProgramNumber> programs);
  // A capture is over: the helper is let go, and the next capture begins anew. Returns sentences on
  // what did not answer.
  std::vector<std::string> finish();

 private:
  static constexpr int kMostLosses = 5;
  // Of a capture, in slices: who answers in time each time, but slowly, holds it no longer. Files
  // that are dear cost 6 seconds in all.
  static constexpr int kMostSeconds = 20;
  static constexpr int kMostSlices = kMostSeconds * 1000 / kHelperSliceMs;

  void make_helper();
  bool lost_while_idle();
  // The board of a living helper, null where none can be had any more.
  Board* board();
  // How many items were answered; fewer than `count` when the helper was lost.
  std::uint32_t ask(Request request, std::uint32_t count);
  std::uint32_t ask_for(std::span<FindQuestion> questions);
  std::uint32_t ask_for(std::span<ReadQuestion> questions);
  // Puts an end to a helper that hangs or died. True: the item that it was at may be tried again.
  bool lose(std::uint64_t tid, const ReadQuestion* reading);
  NameItem name(std::uint64_t tid, std::uint64_t device, std::uint64_t address,
                const ReadQuestion* reading);
  void give_up(const std::string& sentence);
  void tell(std::string sentence);

  int proc_;
  std::mutex mutex_;
  std::unique_ptr<HelperProcess> helper_;
  bool is_idle_ = false;  // it was made ahead, and has not been asked yet
  HelperProcess::Reply last_reply_ = HelperProcess::Reply::Answered;
  ProgramNumber last_program_ = 0;
  ProgramNumber not_its_own_ = 0;  // programs up to this number were found by helpers before it
  std::vector<ProgramNumber> released_;
  std::vector<std::uint64_t> avoided_;
  int losses_ = 0;
  int slices_ = kMostSlices;
  bool given_up_ = false;
  std::vector<std::string> troubles_;
};

}  // namespace ctprof::jemalloc
