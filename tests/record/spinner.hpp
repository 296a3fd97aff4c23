// A process that does nothing but run known code.

#pragma once

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

namespace ctprof {

// Spins forever. Its code has fewer than kMaxSpinCodeSize bytes.
[[gnu::noinline, noreturn]] inline void spin() {
  for (std::uint64_t i = 0;; ++i) asm volatile("" : : "r"(i));
}
inline constexpr std::uint64_t kMaxSpinCodeSize = 128;

// A child process that spins until this object is destroyed. Its priority is high, because the host
// may be busy.
class Spinner {
 public:
  explicit Spinner(int nice = -15) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpriority(PRIO_PROCESS, 0, nice);
    spin();
  }
  ~Spinner() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::uint64_t pid() const { return static_cast<std::uint64_t>(pid_); }

 private:
  pid_t pid_;
};

}  // namespace ctprof
