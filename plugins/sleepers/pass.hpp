// What one look at all threads found: who sleeps, and where.
//
// A pass is filled by a Looker, in a thread of its own, and handed over to the core by a Tally. It
// is used again for a later pass, so that its memory need not be got anew.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ctprof::sleepers {

// What tells one process's code from that of another, or from its own a while ago.
struct CodeMark {
  std::uint64_t memory = 0, pages = 0, execs = 0;
  bool operator==(const CodeMark&) const = default;
};

enum class UserPart {
  None,     // a thread of the kernel
  Lacking,  // it could not be had
  Copied
};

// A thread that sleeps and that has run since the pass before, or is new.
struct Sleeper {
  std::uint32_t tgid = 0, tid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t start_ns = 0, switches = 0;      // by which to tell that it has not run since
  std::size_t first_address = 0, addresses = 0;  // of its kernel part, in Pass::addresses
  UserPart user = UserPart::None;
  std::uint64_t ip = 0, sp = 0, bp = 0, lr = 0;
  // How much there is from `sp` to where the stack begins, at most; 0: not known.
  std::uint64_t depth = 0;
  std::size_t copy_at = 0, copied = 0;  // in Pass::copies
  CodeMark code;
};

// A thread that sleeps as it did in the pass before; or of which no more is known.
struct Asleep {
  std::uint32_t tgid = 0, tid = 0;
  std::uint64_t start_ticks = 0;
};

// Memory that is not zeroed when it grows, nor kept as it was.
class Bytes {
 public:
  // REQUIRES: what stood there before `used` is all that is still needed.
  std::uint8_t* room(std::size_t used, std::size_t more);
  // Keeps what room() returned alive, for a system call that may outlive this object.
  std::shared_ptr<const std::uint8_t[]> shared() const { return bytes_; }
  // Moves the first `used` bytes elsewhere: a system call may yet write to those behind them.
  void move_away(std::size_t used);
  std::span<const std::uint8_t> part(std::size_t at, std::size_t size) const {
    return {bytes_.get() + at, size};
  }

 private:
  std::shared_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

struct Pass {
  std::uint32_t window = 0;  // the first has 0
  std::uint64_t at_ns = 0;   // CLOCK_BOOTTIME, when it began
  std::uint64_t cpu_ns = 0;  // what it cost
  std::uint64_t unseen = 0;  // sleepers that could not be looked at
  std::vector<Sleeper> fresh;
  std::vector<Asleep> again;
  std::vector<Asleep> closed;      // whose stacks we may not see
  std::vector<std::uint32_t> met;  // processes, asleep or not; none where whoever looks meets all
  std::vector<std::uint64_t> addresses;
  Bytes copies;
  std::size_t copied = 0;         // of `copies`
  std::size_t copied_beyond = 0;  // of those, of stacks that go unusually far

  void clear();
  std::uint64_t sleepers() const { return fresh.size() + again.size() + closed.size(); }
};

// Thrown in a thread whose pass was taken over, while it waited for the memory of a process. It
// must touch neither the pass nor the looker any more.
struct LeftBehind {};

// Looks at all threads that sleep.
//
// In each round a thread is told whole before it is told as one that is still asleep; so whoever
// begins a new round can forget what was told until then. Throws std::runtime_error when the kernel
// does not play along.
class Looker {
 public:
  virtual ~Looker() = default;
  virtual void look(std::uint32_t round, Pass& pass) = 0;
  // The process that it is reading from, and that may hold it up; 0: none. From any thread.
  virtual std::uint32_t reads_from() const = 0;
  // Since when, on the monotonic clock.
  virtual std::uint64_t reads_since_ns() const { return 0; }

  // Takes the pass from the thread that reads from this process, if it still does: when the process
  // answers, look() or go_on() throws LeftBehind there. The pass has all that was copied before. No
  // memory of this process is read any more. From another thread than look().
  virtual bool take_over(std::uint32_t process, Pass& pass) {
    static_cast<void>(process), static_cast<void>(pass);
    return false;
  }
  // Goes on with a pass that was taken over.
  virtual void go_on(Pass& pass) { static_cast<void>(pass); }
};

}  // namespace ctprof::sleepers
