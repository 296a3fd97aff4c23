#include "core/file/write/doomed_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <vector>

namespace ctprof {
namespace {

// A handler may look at nothing but this. `directory` is written last and cleared first.
struct Slot {
  std::atomic<int> directory{-1};
  char name[DoomedFile::kLongestName + 1]{};
};
std::array<Slot, 8> slots;
static_assert(std::atomic<int>::is_always_lock_free);

std::mutex mutex;       // guards what follows, and who has which slot
std::size_t taken = 0;  // slots
std::vector<std::pair<int, struct sigaction>> before;

// SA_RESETHAND has put the default back: raised again, the signal ends the program when this
// returns.
void remove_and_end(int signal) {
  const int error = errno;
  remove_doomed_files();
  errno = error;
  ::raise(signal);
}

// Those that end a program by default, but crashes and what cannot be caught.
std::vector<int> ending_signals() {
  std::vector<int> signals{SIGHUP,    SIGINT,  SIGQUIT, SIGPIPE,   SIGALRM, SIGTERM,
                           SIGUSR1,   SIGUSR2, SIGXCPU, SIGXFSZ,   SIGPROF, SIGPOLL,
                           SIGVTALRM, SIGPWR,  SIGSYS,  SIGSTKFLT, SIGTRAP};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) signals.push_back(signal);
  return signals;
}

void install() {
  struct sigaction action {};
  action.sa_handler = &remove_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : ending_signals()) {
    struct sigaction old {};
    if (::sigaction(signal, nullptr, &old) != 0 || (old.sa_flags & SA_SIGINFO) ||
        old.sa_handler != SIG_DFL)
      continue;
    if (::sigaction(signal, &action, nullptr) == 0) before.emplace_back(signal, old);
  }
}

void restore() {
  for (const auto& [signal, old] : before) ::sigaction(signal, &old, nullptr);
  before.clear();
}

}  // namespace

void remove_doomed_files() {
  for (const Slot& slot : slots)
    if (const int directory = slot.directory.load(std::memory_order_acquire); directory >= 0)
      ::unlinkat(directory, slot.name, 0);
}

DoomedFile::DoomedFile(int directory, const std::string& name)
    : directory_(directory), name_(name), slot_(-1) {
  const std::lock_guard lock(mutex);
  const auto free =
      std::ranges::find(slots, -1, [](const Slot& slot) { return slot.directory.load(); });
  if (free == slots.end() || name.size() > kLongestName) return;
  slot_ = static_cast<int>(free - slots.begin());
  std::memcpy(free->name, name.c_str(), name.size() + 1);
  free->directory.store(directory, std::memory_order_release);
  if (taken++ == 0) install();
}

// Removed first, and then no longer guarded: in between, a signal finds nothing to remove.
DoomedFile::~DoomedFile() {
  if (!name_.empty()) ::unlinkat(directory_, name_.c_str(), 0);
  release();
}

void DoomedFile::release() {
  name_.clear();
  if (slot_ < 0) return;
  const std::lock_guard lock(mutex);
  slots[static_cast<std::size_t>(slot_)].directory.store(-1);
  slot_ = -1;
  if (--taken == 0) restore();
}

}  // namespace ctprof
