#include "core/capture/walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

#include "ctprof/files.hpp"

namespace ctprof {
namespace {

bool parse_number(const char* name, std::uint64_t& out) {
  const char* end = name + std::strlen(name);
  const auto [stop, error] = std::from_chars(name, end, out);
  return error == std::errc{} && stop == end && out > 0;
}

}  // namespace

bool Walker::numbers(int directory, std::vector<std::uint64_t>& out) {
  for (;;) {
    const ssize_t got = ::getdents64(directory, buffer_.data(), buffer_.size());
    if (got <= 0) return got == 0;
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer_.data() + at);
      if (std::uint64_t number = 0; parse_number(entry->d_name, number)) out.push_back(number);
      at += entry->d_reclen;
    }
  }
}

Result<std::vector<std::uint64_t>> Walker::processes(int proc) {
  const sdk::Fd directory(::openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::uint64_t> tgids;
  if (!directory || !numbers(directory.get(), tgids))
    return errno_error("listing the processes in", "/proc", errno);
  std::sort(tgids.begin(), tgids.end());
  return tgids;
}

int Walker::threads(int proc, std::uint64_t tgid, std::vector<ThreadId>& out) {
  char path[48];
  std::snprintf(path, sizeof path, "%llu/task", static_cast<unsigned long long>(tgid));
  const sdk::Fd directory(::openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno;
  std::vector<std::uint64_t> tids;
  numbers(directory.get(), tids);
  std::sort(tids.begin(), tids.end());
  for (const std::uint64_t tid : tids) out.push_back({tgid, tid});
  return 0;
}

ThreadId first_thread(int proc) {
  Walker walker;
  sdk::TextFile file;
  ThreadId any;
  const auto tgids = walker.processes(proc);
  if (!tgids) return any;
  for (const std::uint64_t tgid : *tgids) {
    std::vector<ThreadId> threads;
    walker.threads(proc, tgid, threads);
    if (threads.empty()) continue;
    if (any.tid == 0) any = threads.front();
    // A process with memory of its own has more files to try than a kernel thread.
    const std::string smaps = std::to_string(tgid) + "/smaps_rollup";
    if (file.read(proc, smaps.c_str())) return threads.front();
  }
  return any;
}

}  // namespace ctprof
