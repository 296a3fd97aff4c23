// The result of one pass over all threads: which ones sleep, and where.
//
// A Sampler fills a pass, in a thread of its own, and a Tally hands it over to the core. Passes are
// reused, so that their memory need not be allocated again.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ctprof::sleepers {

// Identifies the code of a process, and changes when the process maps other code.
struct CodeVersion {
  std::uint64_t memory = 0, pages = 0, execs = 0;
  bool operator==(const CodeVersion&) const = default;
};

enum class UserPart {
  None,         // a kernel thread
  Unavailable,  // it could not be read
  Copied
};

// A sleeping thread that is new or has run since the previous pass.
struct Sleeper {
  std::uint32_t tgid = 0, tid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t start_ns = 0, switches = 0;      // to detect that it has not run since
  std::size_t first_address = 0, addresses = 0;  // of its kernel part, in Pass::addresses
  UserPart user = UserPart::None;
  std::uint64_t ip = 0, sp = 0, bp = 0, lr = 0;
  // The largest possible distance from `sp` to the base of the stack; 0: unknown.
  std::uint64_t stack_extent = 0;
  std::size_t copy_offset = 0, copied = 0;  // in Pass::copies
  CodeVersion code;
};

// A thread that sleeps as in the previous pass, or of which nothing else is known.
struct SleepingThread {
  std::uint32_t tgid = 0, tid = 0;
  std::uint64_t start_ticks = 0;
};

// A growing buffer that does not initialise its memory, and only copies the part that is needed.
class CopyBuffer {
 public:
  // Returns space for `more` bytes at offset `used`. REQUIRES: only the first `used` bytes are
  // still needed.
  std::uint8_t* reserve(std::size_t used, std::size_t more);
  // Keeps the memory that reserve() returned alive, for a system call that may outlive this object.
  std::shared_ptr<const std::uint8_t[]> shared() const { return bytes_; }
  // Moves the first `used` bytes to new memory, because a system call may still write to the bytes
  // after them.
  void move_away(std::size_t used);
  std::span<const std::uint8_t> part(std::size_t at, std::size_t size) const {
    return {bytes_.get() + at, size};
  }

 private:
  std::shared_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

struct Pass {
  std::uint32_t window = 0;     // the first window has 0
  std::uint64_t at_ns = 0;      // start, on CLOCK_BOOTTIME
  std::uint64_t cpu_ns = 0;     // CPU time of the pass
  std::uint64_t unsampled = 0;  // sleepers that could not be sampled
  std::vector<Sleeper> changed_sleepers;
  std::vector<SleepingThread> unchanged;
  std::vector<SleepingThread> hidden_stacks;  // sleepers whose stacks may not be read
  std::vector<std::uint32_t> visited_tgids;   // visited processes; empty if the sampler visits all
  std::vector<std::uint64_t> addresses;
  CopyBuffer copies;
  std::size_t copied = 0;        // used bytes of `copies`
  std::size_t copied_extra = 0;  // the part of `copied` beyond the normal size of stacks

  void clear();
  std::uint64_t sleepers() const {
    return changed_sleepers.size() + unchanged.size() + hidden_stacks.size();
  }
};

// Thrown in a thread whose pass was taken over while it waited for the memory of a process. The
// thread must no longer access the pass or the sampler.
struct AbandonedPass {};

// Samples all sleeping threads.
//
// In each round a thread is written completely before it is written as still asleep. Therefore a
// caller that starts a new round can drop the results of earlier rounds. Throws std::runtime_error
// if the kernel reports an error.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual void sample(std::uint32_t round, Pass& pass) = 0;
  // Returns the process that it is reading from, and that may block it; 0: none. May be called from
  // any thread.
  virtual std::uint32_t current_process() const = 0;
  // Returns when that read started, on CLOCK_MONOTONIC.
  virtual std::uint64_t read_start_ns() const { return 0; }

  // Takes the pass from the thread that reads from this process, if it still does. When the process
  // answers, sample() or resume() throws AbandonedPass in that thread. The pass contains everything
  // that was copied before. Memory of this process is no longer read. Call it from another
  // thread than sample().
  virtual bool take_over(std::uint32_t process, Pass& pass) {
    static_cast<void>(process), static_cast<void>(pass);
    return false;
  }
  // Continues a pass after take_over().
  virtual void resume(Pass& pass) { static_cast<void>(pass); }
};

}  // namespace ctprof::sleepers
