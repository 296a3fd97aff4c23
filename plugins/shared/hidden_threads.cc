#include "plugins/shared/hidden_threads.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "core/base/clock.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD
// The stat file has these fields after the name: a blank and the state, the parent, ... the flags,
// ... the start.
constexpr int kFieldsBeforeParent = 2;
constexpr int kFieldsBetweenParentAndFlags = 4;
constexpr int kFieldsBetweenFlagsAndStart = 12;

std::uint64_t take_number_after(std::string_view& fields, int skipped) {
  for (int field = 0; field < skipped; ++field) sdk::take(fields, ' ');
  return sdk::number<std::uint64_t>(sdk::take(fields, ' ')).value;
}

// Returns the names that are numbers in a directory under `proc`.
std::vector<std::uint64_t> list_numeric_names(int proc, const char* path) {
  std::vector<std::uint64_t> numbers;
  sdk::Fd fd(::openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fd ? ::fdopendir(fd.get()) : nullptr,
                                                      &::closedir);
  if (directory) fd.release();
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr)
    if (const auto number = sdk::number<std::uint64_t>(entry->d_name))
      numbers.push_back(number.value);
  return numbers;
}

}  // namespace

bool parse_hidden_thread(std::string_view stat, HiddenThread& thread) {
  const auto open = stat.find('('), close = stat.rfind(')');
  if (open == stat.npos || close == stat.npos || close < open) return false;
  thread.name = stat.substr(open + 1, close - open - 1);
  std::string_view rest = stat.substr(close + 1);
  thread.parent = take_number_after(rest, kFieldsBeforeParent);
  thread.is_kernel_thread =
      (take_number_after(rest, kFieldsBetweenParentAndFlags) & kKernelThread) != 0;
  for (int field = 0; field < kFieldsBetweenFlagsAndStart; ++field) sdk::take(rest, ' ');
  const auto start = sdk::number<std::uint64_t>(sdk::take(rest, ' '));
  thread.start_ticks = start.value;
  return static_cast<bool>(start);
}

HiddenThreads::HiddenThreads(const sdk::Host& host, std::uint64_t now_ns)
    : host_(host), first_tick_(now_ns / ns_per_tick(host.user_hz())) {}

std::vector<HiddenThread> HiddenThreads::find_in_first_process() {
  hides_threads_ = true;
  std::vector<HiddenThread> found;
  add_threads(kFirstProcess, found);
  return found;
}

std::vector<HiddenThread> HiddenThreads::find(std::span<const std::uint32_t> visited_tgids,
                                              std::span<const std::uint64_t> pids) {
  const auto was_visited = [&](std::uint64_t tgid) {
    return std::binary_search(visited_tgids.begin(), visited_tgids.end(), tgid);
  };
  std::vector<HiddenThread> found;
  if (pids.empty() && !hides_threads_ && was_visited(kFirstProcess)) return found;
  for (const std::uint64_t tgid :
       pids.empty() ? list_numeric_names(host_.proc(), ".") : std::vector(pids.begin(), pids.end()))
    if (!was_visited(tgid)) add_threads(tgid, found);
  return found;
}

void HiddenThreads::add_threads(std::uint64_t tgid, std::vector<HiddenThread>& found) {
  for (const std::uint64_t tid :
       list_numeric_names(host_.proc(), (std::to_string(tgid) + "/task").c_str())) {
    HiddenThread thread{.tgid = tgid, .tid = tid};
    const auto stat = file_.read(host_, {0, tgid, tid, -1}, "stat");
    if (stat && parse_hidden_thread(stat.value, thread) && thread.start_ticks < first_tick_)
      found.push_back(std::move(thread));
  }
}

}  // namespace ctprof
