#include "core/capture/blocking_processes.hpp"

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
constexpr std::size_t kMaxPath = 256;

std::string read_own_task_file(std::uint64_t tid, const char* name) {
  sdk::TextFile file;
  const auto text = file.read(AT_FDCWD, ("/proc/self/task/" + std::to_string(tid) + name).c_str());
  return std::string(text ? text.value : std::string_view{});
}

bool is_in_uninterruptible_sleep(std::uint64_t tid) {
  const std::string stat = read_own_task_file(tid, "/stat");
  const auto end = stat.rfind(')');
  return end != stat.npos && stat.compare(end, 3, ") D") == 0;
}

// Reads a string in the memory of ctprof that may already be unmapped.
std::string read_own_string(std::uint64_t address) {
  char text[kMaxPath] = {};
  const iovec to{text, sizeof text - 1};
  // Reads to the end of the page first, because the next page may be unmapped.
  const std::size_t bytes_in_page = 4096 - address % 4096;
  const std::array<iovec, 2> from{
      iovec{reinterpret_cast<void*>(address), std::min(bytes_in_page, to.iov_len)},
      iovec{reinterpret_cast<void*>(address + bytes_in_page),
            to.iov_len - std::min(bytes_in_page, to.iov_len)}};
  ::process_vm_readv(::getpid(), &to, 1, from.data(), from.size(), 0);
  return text;
}

// Returns the path of the file that the system call of the thread uses.
std::string path_in_system_call(std::uint64_t tid) {
  const std::string text = read_own_task_file(tid, "/syscall");
  char* rest = nullptr;
  const long number = std::strtol(text.c_str(), &rest, 10);
  if (rest == text.c_str()) return {};
  const auto fd = static_cast<int>(std::strtoull(rest, &rest, 16));
  const std::uint64_t second_argument = std::strtoull(rest, &rest, 16);
  if (number == SYS_read || number == SYS_pread64 || number == SYS_getdents64)
    return read_path_of_descriptor(fd);
  if (number != SYS_openat) return {};
  const std::string path = read_own_string(second_argument);
  return path.starts_with('/') ? path : read_path_of_descriptor(fd) + '/' + path;
}

}  // namespace

std::optional<std::uint64_t> find_blocking_process(std::uint64_t tid, int proc) {
  if (!is_in_uninterruptible_sleep(tid)) return std::nullopt;
  const std::string root = read_path_of_descriptor(proc) + '/';
  const std::string path = path_in_system_call(tid);
  if (!path.starts_with(root)) return std::nullopt;
  std::string_view rest = std::string_view(path).substr(root.size());
  const auto process = sdk::number<std::uint64_t>(sdk::take(rest, '/'));
  return process && !rest.empty() ? std::optional(process.value) : std::nullopt;
}

void BlockingProcesses::add(std::uint64_t process) {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (count == kMaxProcesses) return;
  processes_[count].store(process, std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
}

bool BlockingProcesses::contains(std::uint64_t id) const {
  const std::size_t count = count_.load(std::memory_order_acquire);
  return count == kMaxProcesses || std::find(processes_.begin(), processes_.begin() + count, id) !=
                                       processes_.begin() + count;
}

std::vector<std::string> BlockingProcesses::messages() const {
  std::vector<std::string> messages;
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string process = std::to_string(processes_[i]);
    messages.push_back("reading files of process " + process + " in /proc took longer than " +
                       std::to_string(kTimeoutSeconds) +
                       " seconds: the remaining values are missing (Busy); see what the threads of "
                       "the process wait for (/proc/" +
                       process + "/task/*/wchan)");
  }
  if (count == kMaxProcesses)
    messages.push_back("reading timed out for " + std::to_string(kMaxProcesses) +
                       " processes: all values that were not read by then are missing (Busy)");
  return messages;
}

std::vector<BlockingRun> split_by_blocking(const BlockingProcesses& blocking, std::size_t first,
                                           std::span<const std::uint64_t> tgids) {
  std::vector<BlockingRun> runs;
  for (std::size_t i = 0; i < tgids.size(); ++i) {
    const bool is_blocking = blocking.contains(tgids[i]);
    if (runs.empty() || runs.back().is_blocking != is_blocking)
      runs.push_back({first + i, 0, is_blocking});
    ++runs.back().rows;
  }
  return runs;
}

}  // namespace ctprof
