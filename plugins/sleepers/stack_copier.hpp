// Copies the tops of user stacks with process_vm_readv(2): no thread is attached to, or stopped.
//
// A copy extends to the base of the stack. The base is the thread pointer, because C libraries
// place a thread's stack below it, or for the first thread the address that the kernel knows. If
// neither is known, the copy has the size of most stacks. Therefore no more of a stack is needed
// after unwinding, when its thread has long run on. More than 64 KiB are copied for the few threads
// whose stacks are that large, up to 256 KiB, within the limit of a pass.
//
// A process can block the reader of its memory, with a stack in a file on a file system of its own.
// Therefore this runs in a thread that can be abandoned (pass_thread.hpp), and reports the process
// that it reads from. Another thread then continues with what was copied before.

#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "plugins/sleepers/pass.hpp"

namespace ctprof::sleepers {

class StackCopier {
 public:
  // `max_bytes`: of one stack; 0: the limit of a record. `avoided_processes` are not read.
  StackCopier(std::size_t max_bytes, std::set<std::uint32_t> avoided_processes)
      : max_bytes_(max_bytes), avoided_processes_(std::move(avoided_processes)) {}

  // Fills the user parts of these sleepers, and sets them to Copied, or to Unavailable if nothing
  // can be read. Throws AbandonedPass after take_over().
  void copy(Pass& pass, std::span<const std::uint32_t> sleepers);
  // See Sampler.
  bool take_over(std::uint32_t process, Pass& pass);
  // May be called from any thread.
  std::uint32_t current_process() const { return current_process_; }
  std::uint64_t read_start_ns() const { return read_start_ns_; }

 private:
  struct CopyRequest {
    std::uint32_t sleeper;  // index in the pass
    std::size_t size;
  };

  std::size_t requested_bytes(const Sleeper& sleeper) const;
  // Returns the permitted size; the parts beyond kGuaranteedBytes share one limit for the whole
  // pass.
  static std::size_t grant_bytes(Pass& pass, std::size_t requested);
  void copy_process(Pass& pass, std::span<const std::uint32_t> sleepers);
  // Returns the number of finished stacks, at least one.
  std::size_t read_stacks(Pass& pass, std::span<const CopyRequest> requests);

  std::size_t max_bytes_;
  std::set<std::uint32_t> avoided_processes_;
  std::atomic<std::uint32_t> current_process_{0};  // the thread that sets it to 0 owns the pass
  std::atomic<std::uint64_t> read_start_ns_{0};
  std::vector<std::uint32_t> order_;
  std::vector<CopyRequest> requests_;
  std::vector<iovec> local_buffers_, remote_buffers_;
};

}  // namespace ctprof::sleepers
