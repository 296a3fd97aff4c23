#include "plugins/jemalloc-ptrace/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "plugins/jemalloc-ptrace/finder/mapping_query.hpp"

namespace ctprof::jemalloc {
namespace {

int open_maps(int proc, std::uint64_t tid) {
  char path[32];
  std::snprintf(path, sizeof path, "%llu/maps", static_cast<unsigned long long>(tid));
  return ::openat(proc, path, O_RDONLY | O_CLOEXEC);
}

}  // namespace

Program::Program(int proc, std::uint64_t tid) : maps_(open_maps(proc, tid)) {}

// Asking for a mapping is a tenth of the work of printing some.
bool Program::still_runs() const {
  if (const int error = query_any(maps_.get()); error != ENOTTY) return error == 0;
  char first;
  return ::pread(maps_.get(), &first, 1, 0) == 1;
}

}  // namespace ctprof::jemalloc
