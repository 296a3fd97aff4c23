#include "plugins/sleepers/proc_sampler.hpp"

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
constexpr std::string_view kSleepingStates = "SDTtIP";
// Numbers of fields in stat before the flags, and before the start time.
constexpr int kFieldsToFlags = 6;                 // counted from the state
constexpr int kFieldsToStart = 13;                // counted from the flags
constexpr std::uint64_t kNoUserFlags = 0x200010;  // PF_KTHREAD, PF_IO_WORKER
// PF_USER_WORKER, for example of vhost; before Linux 6.4 the bit had other meanings, or none.
constexpr std::uint64_t kUserWorker = 0x4000;
constexpr int kUserWorkerMajor = 6, kUserWorkerMinor = 4;

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Returns the flags of threads that have no user part.
std::uint64_t find_no_user_flags() {
  utsname names{};
  int major = 0, minor = 0;
  if (::uname(&names) != 0 || std::sscanf(names.release, "%d.%d", &major, &minor) != 2)
    return kNoUserFlags;
  const bool is_known =
      std::pair(major, minor) >= std::pair(int{kUserWorkerMajor}, int{kUserWorkerMinor});
  return kNoUserFlags | (is_known ? kUserWorker : 0);
}

// Calls handle_id(id) for each entry that is a number.
template <class IdCallback>
void for_each_id(int parent, const char* path, IdCallback handle_id) {
  const int fd = ::openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, DirectoryCloser> directory(fd < 0 ? nullptr : ::fdopendir(fd));
  if (!directory) {
    if (fd >= 0) ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(directory.get()))
    if (const auto id = sdk::number<std::uint32_t>(entry->d_name)) handle_id(id.value);
}

// Returns the number after this many fields, and removes these fields from the text.
sdk::Reading<std::uint64_t> skip_to_number(std::string_view& text, int fields) {
  for (int field = 0; field < fields; ++field) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return Gap::Malformed;
    text.remove_prefix(space + 1);
  }
  return sdk::number<std::uint64_t>(text.substr(0, text.find(' ')));
}

}  // namespace

// The name may contain anything, for example ") R 1".
ThreadStat parse_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos || text.size() < name_end + 4) return {};
  text.remove_prefix(name_end + 2);
  const char state = text[0];
  const auto flags = skip_to_number(text, kFieldsToFlags);
  const auto start = skip_to_number(text, kFieldsToStart);
  static const std::uint64_t no_user = find_no_user_flags();
  return flags && start ? ThreadStat{state, start.value, (flags.value & no_user) == 0}
                        : ThreadStat{};
}

ProcSampler::ProcSampler(const sdk::Host& host, std::vector<std::uint64_t> pids)
    : host_(host), pids_(std::move(pids)), names_(host) {}

void ProcSampler::sample(std::uint32_t, Pass& pass) {
  if (pids_.empty())
    return for_each_id(host_.proc(), ".", [&](std::uint32_t tgid) { sample_process(tgid, pass); });
  for (const std::uint64_t tgid : pids_) sample_process(static_cast<std::uint32_t>(tgid), pass);
}

void ProcSampler::sample_process(std::uint32_t tgid, Pass& pass) {
  const std::string path = std::to_string(tgid) + "/task";
  const sdk::Fd tasks(::openat(host_.proc(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!tasks) return;
  for_each_id(tasks.get(), ".",
              [&](std::uint32_t tid) { sample_thread(tasks.get(), tgid, tid, pass); });
}

// The thread may wake up or exit between the two reads; it slept at the first one.
void ProcSampler::sample_thread(int tasks, std::uint32_t tgid, std::uint32_t tid, Pass& pass) {
  const std::string path = std::to_string(tid) + "/";
  const auto text = file_.read(tasks, (path + "stat").c_str());
  if (!text) return;
  const ThreadStat stat = parse_stat(text.value);
  if (kSleepingStates.find(stat.state) == std::string_view::npos) return;
  const auto stack = file_.read(tasks, (path + "stack").c_str());
  if (!stack && stack.gap == Gap::ThreadGone) return;
  if (!stack && stack.gap == Gap::Denied)
    return void(pass.hidden_stacks.push_back({tgid, tid, stat.start_ticks}));
  if (!stack) return void(++pass.unsampled);
  Sleeper& sleeper = pass.changed_sleepers.emplace_back();
  sleeper.tgid = tgid;
  sleeper.tid = tid;
  sleeper.start_ticks = stat.start_ticks;
  sleeper.user = stat.has_user ? UserPart::Unavailable : UserPart::None;
  sleeper.first_address = pass.addresses.size();
  names_.find_addresses(stack.value, pass.addresses);
  sleeper.addresses = pass.addresses.size() - sleeper.first_address;
}

}  // namespace ctprof::sleepers
