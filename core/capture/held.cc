#include "core/capture/held.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/local_file.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

// Longer than any path of a thread's file in /proc.
constexpr std::size_t kMostPath = 256;

std::string text_of_own(std::uint64_t tid, const char* name) {
  sdk::TextFile file;
  const auto text = file.read(AT_FDCWD, ("/proc/self/task/" + std::to_string(tid) + name).c_str());
  return std::string(text ? text.value : std::string_view{});
}

bool sleeps_uninterrupted(std::uint64_t tid) {
  const std::string stat = text_of_own(tid, "/stat");
  const auto end = stat.rfind(')');
  return end != stat.npos && stat.compare(end, 3, ") D") == 0;
}

// Reads a string in the memory of ctprof that may already be unmapped.
std::string text_at(std::uint64_t address) {
  char text[kMostPath] = {};
  const iovec to{text, sizeof text - 1};
  // Reads to the end of the page first, because the next page may be unmapped.
  const std::size_t in_page = 4096 - address % 4096;
  const std::array<iovec, 2> from{
      iovec{reinterpret_cast<void*>(address), std::min(in_page, to.iov_len)},
      iovec{reinterpret_cast<void*>(address + in_page),
            to.iov_len - std::min(in_page, to.iov_len)}};
  ::process_vm_readv(::getpid(), &to, 1, from.data(), from.size(), 0);
  return text;
}

// Returns the path of the file that the system call of the thread uses.
std::string path_in_call(std::uint64_t tid) {
  const std::string text = text_of_own(tid, "/syscall");
  char* rest = nullptr;
  const long number = std::strtol(text.c_str(), &rest, 10);
  if (rest == text.c_str()) return {};
  const auto fd = static_cast<int>(std::strtoull(rest, &rest, 16));
  const std::uint64_t second = std::strtoull(rest, &rest, 16);
  if (number == SYS_read || number == SYS_pread64 || number == SYS_getdents64)
    return path_of_open_file(fd);
  if (number != SYS_openat) return {};
  const std::string path = text_at(second);
  return path.starts_with('/') ? path : path_of_open_file(fd) + '/' + path;
}

}  // namespace

std::optional<std::uint64_t> held_up_by(std::uint64_t tid, int proc) {
  if (!sleeps_uninterrupted(tid)) return std::nullopt;
  const std::string root = path_of_open_file(proc) + '/';
  const std::string path = path_in_call(tid);
  if (!path.starts_with(root)) return std::nullopt;
  std::string_view rest = std::string_view(path).substr(root.size());
  const auto process = sdk::number<std::uint64_t>(sdk::take(rest, '/'));
  return process && !rest.empty() ? std::optional(process.value) : std::nullopt;
}

void HeldProcesses::add(std::uint64_t process) {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (count == kMost) return;
  processes_[count].store(process, std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
}

bool HeldProcesses::has(std::uint64_t id) const {
  const std::size_t count = count_.load(std::memory_order_acquire);
  return count == kMost || std::find(processes_.begin(), processes_.begin() + count, id) !=
                               processes_.begin() + count;
}

std::vector<std::string> HeldProcesses::sentences() const {
  std::vector<std::string> sentences;
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string process = std::to_string(processes_[i]);
    sentences.push_back(
        "reading files of process " + process + " in /proc took longer than " +
        std::to_string(kPatienceSeconds) +
        " seconds: values that were not read are Busy; see what its threads wait for (/proc/" +
        process + "/task/*/wchan)");
  }
  if (count == kMost)
    sentences.push_back("reading timed out for " + std::to_string(kMost) +
                        " processes: values that were not read are Busy for all processes");
  return sentences;
}

std::vector<HeldRun> cut_at_held(const HeldProcesses& held, std::size_t first,
                                 std::span<const std::uint64_t> tgids) {
  std::vector<HeldRun> runs;
  for (std::size_t i = 0; i < tgids.size(); ++i) {
    const bool is_held = held.has(tgids[i]);
    if (runs.empty() || runs.back().held != is_held) runs.push_back({first + i, 0, is_held});
    ++runs.back().rows;
  }
  return runs;
}

}  // namespace ctprof
