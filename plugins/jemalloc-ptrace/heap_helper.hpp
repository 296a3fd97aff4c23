// Finds jemalloc in processes, and reads counters, by a helper process that may block instead of
// ctprof.
//
// A file system whose server does not answer blocks every process that opens or reads its files, or
// reads memory that is mapped from them, for an unlimited time. A blocked helper is abandoned after
// a timeout and another one is created; the file system is not accessed again in this capture, and
// a note names its mount point. After kMaxLosses lost helpers no requests are sent, and all
// remaining results are NotAnswering.
//
// See also: heap_server.hpp for the work of the helper, plugins/shared/helper_process.hpp for its
// creation and confinement.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ctprof/host.hpp"
#include "plugins/jemalloc-ptrace/counter_reader.hpp"
#include "plugins/jemalloc-ptrace/heap_server.hpp"
#include "plugins/shared/helper_process.hpp"

namespace ctprof::jemalloc {

// Requests whether a process has jemalloc, and contains the answer; see FindItem.
struct FindRequest {
  std::uint64_t tid;
  ProgramNumber known_program = 0;
  bool has_few_threads = false;
  ProgramNumber program = 0;  // its number from now on; set by `find`
  bool is_same_program = false;
  FindResult found{FindStatus::NotAnswering, {}, 0};
};

// Requests the counters of those threads of one process that have no failure so far.
struct ReadRequest {
  ProgramNumber program;
  Counters counters;
  std::span<Tracee> tracees;
  std::span<Reading> readings;  // one for each tracee
  bool is_still_running = false;
};

// Belongs to a plugin or its context. All workers of a session may use it concurrently; it locks.
class HeapHelper {
 public:
  explicit HeapHelper(const sdk::Host& host) : proc_(host.proc()) {}

  // Creates the helper before the first request. Forking is cheaper while ctprof uses little
  // memory, and the helper starts in parallel with other work.
  void prepare();
  void find(std::span<FindRequest> questions);
  // REQUIRES: at most kMaxItems tracees in total.
  void read(std::span<ReadRequest> questions);
  // Returns whether the helper that found this program is still in use.
  bool has_current_helper_for(ProgramNumber program);
  // Drops these programs; they are no longer requested.
  void release(std::span<const ProgramNumber> programs);
  // Ends a capture: drops the helper, so that the next capture starts anew. Returns sentences about
  // reads that did not answer.
  std::vector<std::string> finish_capture();

 private:
  static constexpr int kMaxLosses = 5;
  // The time limit of a capture, for file systems that answer each time, but slowly. Files that are
  // expensive cost 6 seconds in total.
  static constexpr int kMaxSeconds = 20;
  static constexpr int kMaxSlices = kMaxSeconds * 1000 / kHelperSliceMs;

  void create_helper();
  bool was_lost_while_idle();
  // Returns the shared area of a living helper, or null if no further helper is permitted.
  SharedArea* shared_area();
  // Returns the number of answered items; fewer than `count` if the helper was lost.
  std::uint32_t send_request(Request request, std::uint32_t count);
  std::uint32_t send_requests(std::span<FindRequest> questions);
  std::uint32_t send_requests(std::span<ReadRequest> questions);
  // Abandons a helper that blocks or has exited. Returns true if the item that it was working on
  // may be tried again.
  bool abandon_helper(std::uint64_t tid, const ReadRequest* reading);
  NameItem name_mount(std::uint64_t tid, std::uint64_t device, std::uint64_t address,
                      const ReadRequest* reading);
  void stop_requests(const std::string& sentence);
  void add_note(std::string sentence);

  int proc_;
  std::mutex mutex_;
  std::unique_ptr<HelperProcess> helper_;
  bool is_idle_ = false;  // it was created in advance, and has had no request yet
  HelperProcess::Reply last_reply_ = HelperProcess::Reply::Answered;
  ProgramNumber last_program_ = 0;
  // Programs up to this number were found by earlier helpers.
  ProgramNumber last_foreign_program_ = 0;
  std::vector<ProgramNumber> released_;
  std::vector<std::uint64_t> avoided_devices_;
  int losses_ = 0;
  int remaining_slices_ = kMaxSlices;
  bool has_given_up_ = false;
  std::vector<std::string> notes_;
};

}  // namespace ctprof::jemalloc
