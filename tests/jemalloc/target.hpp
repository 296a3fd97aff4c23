// A process to be probed. Its threads increment counters in a page that it shares with the test.
//
// Contents:  the target, and helpers that read its state from /proc.
// See also:  the tests, for the operations on it.

#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "plugins/jemalloc-ptrace/thread_pointer_reader.hpp"

using ctprof::jemalloc::ProbeStep;
using ctprof::jemalloc::Tracee;

inline constexpr std::size_t kThreads = 16;
inline constexpr int kRounds = ROUNDS;  // of each race; set in meson.build

struct SharedPage {
  std::array<std::atomic<std::uint64_t>, kThreads> ticks;
  std::array<std::atomic<pid_t>, kThreads> tids;
  std::array<std::atomic<std::uint64_t>, kThreads> pointers;
  std::atomic<std::uint64_t> signals;
  std::atomic<std::uint64_t>
      calls;  // system calls of the prober: incremented when one starts and when it ends
};

inline SharedPage* make_shared_page() {
  void* page = ::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) SharedPage{};
}

inline void sleep_us(long microseconds) {
  const timespec time{.tv_sec = microseconds / 1'000'000,
                      .tv_nsec = microseconds % 1'000'000 * 1000};
  ::nanosleep(&time, nullptr);
}

// Waits up to several seconds until `condition` returns true; returns whether it did.
inline bool wait_until(const std::function<bool()>& condition) {
  for (int i = 0; i < 50'000; ++i) {
    if (condition()) return true;
    sleep_us(100);
  }
  return false;
}

inline int open_proc() {
  static const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return proc;
}

inline std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/" + std::to_string(pid) + "/task", error), end;
       !error && it != end; it.increment(error))
    found.push_back(std::stoi(it->path().filename().string()));
  return found;
}

inline std::vector<Tracee> tracees_of(pid_t pid) {
  std::vector<Tracee> tracees;
  for (const pid_t tid : threads_of(pid))
    tracees.push_back({.tgid = pid, .tid = tid, .outcome = {}});
  return tracees;
}

// Returns the text after `key` in the thread's status file, such as "S (sleeping)".
inline std::string status_of(pid_t tid, const std::string& key) {
  std::ifstream status("/proc/" + std::to_string(tid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return line.substr(key.size() + 2);
  return {};
}

inline bool all_in_state(pid_t pid, char state) {
  for (const pid_t tid : threads_of(pid))
    if (!status_of(tid, "State").starts_with(state)) return false;
  return true;
}

inline bool is_untraced(pid_t pid) {
  for (const pid_t tid : threads_of(pid))
    if (status_of(tid, "TracerPid") != "0") return false;
  return true;
}

// Starts a child that runs `operation`, and that is killed when the test exits.
inline pid_t start_child(const std::function<void()>& operation) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  operation();
  ::_exit(0);
}

inline int end_child(pid_t child, int signal) {
  if (signal != 0) ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

// A child that is killed when this object is destroyed.
class Child {
 public:
  explicit Child(const std::function<void()>& operation) : pid_(start_child(operation)) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end_child(pid_, SIGKILL); }

 private:
  pid_t pid_;
};

class Target {
 public:
  Target() : page_(make_shared_page()), pid_(start_child([this] { run(); })) {
    wait_until([this] { return is_ready(); });
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() {
    end_child(pid_, SIGKILL);
    ::munmap(page_, sizeof(SharedPage));
  }

  pid_t pid() const { return pid_; }
  SharedPage& page() { return *page_; }

  // Returns whether every thread makes progress.
  bool all_make_progress() {
    std::array<std::uint64_t, kThreads> before;
    for (std::size_t i = 0; i < kThreads; ++i) before[i] = page_->ticks[i];
    return wait_until([&] {
      for (std::size_t i = 0; i < kThreads; ++i)
        if (page_->ticks[i] == before[i]) return false;
      return true;
    });
  }

 private:
  struct Start {
    SharedPage* page;
    std::size_t number;
  };

  bool is_ready() const {
    for (const auto& ticks : page_->ticks)
      if (ticks == 0) return false;
    return true;
  }

  static std::uint64_t own_pointer() {
    std::uint64_t pointer;
#if defined(__x86_64__)
    asm("mov %%fs:0, %0" : "=r"(pointer));
#else
    asm("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
  }

  static void* tick(void* argument) {
    const Start& start = *static_cast<Start*>(argument);
    start.page->tids[start.number] = ::gettid();
    start.page->pointers[start.number] = own_pointer();
    for (;;) {
      ++start.page->ticks[start.number];
      sleep_us(500);
    }
    return nullptr;
  }

  void run() {
    static SharedPage* counting = page_;
    struct sigaction action {};
    action.sa_handler = [](int) { ++counting->signals; };
    ::sigaction(SIGRTMIN, &action, nullptr);
    static std::array<Start, kThreads> starts;
    for (std::size_t i = 0; i < kThreads; ++i) {
      starts[i] = {page_, i};
      pthread_t thread;
      if (::pthread_create(&thread, nullptr, &tick, &starts[i]) != 0) ::_exit(1);
    }
    for (;;) ::pause();
  }

  SharedPage* page_;
  pid_t pid_;
};
