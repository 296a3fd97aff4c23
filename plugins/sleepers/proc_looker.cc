#include "plugins/sleepers/proc_looker.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace ctprof::sleepers {
namespace {

// Sleeping, waiting for a disk, stopped, traced, idle, parked: all states except running and
// exited.
constexpr std::string_view kAsleep = "SDTtIP";
// Numbers of fields in stat before the flags, and before the start time.
constexpr int kFieldsToFlags = 6;            // counted from the state
constexpr int kFieldsToStart = 13;           // counted from the flags
constexpr std::uint64_t kNoUser = 0x200010;  // PF_KTHREAD, PF_IO_WORKER
// PF_USER_WORKER, for example of vhost; before Linux 6.4 the bit had other meanings, or none.
constexpr std::uint64_t kUserWorker = 0x4000;
constexpr int kUserWorkerMajor = 6, kUserWorkerMinor = 4;

struct Close {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Returns the flags of threads that have no user part.
std::uint64_t no_user_flags() {
  utsname names{};
  int major = 0, minor = 0;
  if (::uname(&names) != 0 || std::sscanf(names.release, "%d.%d", &major, &minor) != 2)
    return kNoUser;
  const bool is_known =
      std::pair(major, minor) >= std::pair(int{kUserWorkerMajor}, int{kUserWorkerMinor});
  return kNoUser | (is_known ? kUserWorker : 0);
}

// Calls take(id) for each entry that is a number.
template <class Take>
void each_id(int parent, const char* path, Take take) {
  const int fd = ::openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, Close> directory(fd < 0 ? nullptr : ::fdopendir(fd));
  if (!directory) {
    if (fd >= 0) ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(directory.get()))
    if (const auto id = sdk::number<std::uint32_t>(entry->d_name)) take(id.value);
}

// Returns the number after this many fields, and removes these fields from the text.
sdk::Reading<std::uint64_t> number_after(std::string_view& text, int fields) {
  for (int field = 0; field < fields; ++field) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return Gap::Malformed;
    text.remove_prefix(space + 1);
  }
  return sdk::number<std::uint64_t>(text.substr(0, text.find(' ')));
}

}  // namespace

// The name may contain anything, for example ") R 1".
Stat stat_in(std::string_view text) {
  const std::size_t name_ends = text.rfind(") ");
  if (name_ends == std::string_view::npos || text.size() < name_ends + 4) return {};
  text.remove_prefix(name_ends + 2);
  const char state = text[0];
  const auto flags = number_after(text, kFieldsToFlags);
  const auto start = number_after(text, kFieldsToStart);
  static const std::uint64_t no_user = no_user_flags();
  return flags && start ? Stat{state, start.value, (flags.value & no_user) == 0} : Stat{};
}

ProcLooker::ProcLooker(const sdk::Host& host, std::vector<std::uint64_t> pids)
    : host_(host), pids_(std::move(pids)), names_(host) {}

void ProcLooker::look(std::uint32_t, Pass& pass) {
  if (pids_.empty())
    return each_id(host_.proc(), ".", [&](std::uint32_t tgid) { look_at_process(tgid, pass); });
  for (const std::uint64_t tgid : pids_) look_at_process(static_cast<std::uint32_t>(tgid), pass);
}

void ProcLooker::look_at_process(std::uint32_t tgid, Pass& pass) {
  const std::string path = std::to_string(tgid) + "/task";
  const sdk::Fd tasks(::openat(host_.proc(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!tasks) return;
  each_id(tasks.get(), ".", [&](std::uint32_t tid) { look_at(tasks.get(), tgid, tid, pass); });
}

// The thread may wake up or exit between the two reads; it slept at the first one.
void ProcLooker::look_at(int tasks, std::uint32_t tgid, std::uint32_t tid, Pass& pass) {
  const std::string path = std::to_string(tid) + "/";
  const auto text = file_.read(tasks, (path + "stat").c_str());
  if (!text) return;
  const Stat stat = stat_in(text.value);
  if (kAsleep.find(stat.state) == std::string_view::npos) return;
  const auto stack = file_.read(tasks, (path + "stack").c_str());
  if (!stack && stack.gap == Gap::ThreadGone) return;
  if (!stack && stack.gap == Gap::Denied)
    return void(pass.closed.push_back({tgid, tid, stat.start_ticks}));
  if (!stack) return void(++pass.unseen);
  Sleeper& sleeper = pass.fresh.emplace_back();
  sleeper.tgid = tgid;
  sleeper.tid = tid;
  sleeper.start_ticks = stat.start_ticks;
  sleeper.user = stat.has_user ? UserPart::Lacking : UserPart::None;
  sleeper.first_address = pass.addresses.size();
  names_.find(stack.value, pass.addresses);
  sleeper.addresses = pass.addresses.size() - sleeper.first_address;
}

}  // namespace ctprof::sleepers
