// Tops of user stacks, copied from outside with process_vm_readv(2): no thread is attached to, or
// stopped.
//
// A copy goes as far as the stack does: what tells where it begins is the thread pointer, behind
// which C libraries keep a thread's stack, or for the first thread what the kernel knows. Where
// neither does, it is as long as most stacks are. So nobody need be asked, after unwinding, for
// more of a stack: by then its thread has long run on. What is more than 64 KiB of a stack is
// fetched for those few who have it, up to 256 KiB, and within what a pass may cost.
//
// A process can hold up who reads its memory, with a stack in a file of a file system of its own;
// so this runs in a thread that can be left behind (watch.hpp), and says whom it reads from.
// Another thread then goes on with what was copied before.

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

class Copier {
 public:
  // `most`: bytes of one stack; 0: as many as a record may have. `avoided`: processes that are not
  // read.
  Copier(std::size_t most, std::set<std::uint32_t> avoided)
      : most_(most), avoided_(std::move(avoided)) {}

  // Fills the user parts of these, which are Copied then; Lacking where there is nothing to be had.
  // Throws LeftBehind after take_over().
  void copy(Pass& pass, std::span<const std::uint32_t> sleepers);
  // See Looker.
  bool take_over(std::uint32_t process, Pass& pass);
  // From any thread.
  std::uint32_t reads_from() const { return reads_from_; }
  std::uint64_t reads_since_ns() const { return reads_since_ns_; }

 private:
  struct Wanted {
    std::uint32_t sleeper;  // in the pass
    std::size_t size;
  };

  std::size_t wanted_of(const Sleeper& sleeper) const;
  // How much of it there may be; what is far below a stack's beginning is shared by all of a pass.
  static std::size_t granted(Pass& pass, std::size_t wanted);
  void copy_process(Pass& pass, std::span<const std::uint32_t> sleepers);
  // How many of them are done with; at least one.
  std::size_t read(Pass& pass, std::span<const Wanted> wanted);

  std::size_t most_;
  std::set<std::uint32_t> avoided_;
  std::atomic<std::uint32_t> reads_from_{0};  // the pass is of the thread that sets it to 0
  std::atomic<std::uint64_t> reads_since_ns_{0};
  std::vector<std::uint32_t> order_;
  std::vector<Wanted> wanted_;
  std::vector<iovec> here_, there_;
};

}  // namespace ctprof::sleepers
