#include "core/capture/living_thread.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "ctprof/other_threads.hpp"

namespace ctprof {
namespace {

// Only a thread with user memory has an exe link: exited threads and kernel threads have none.
bool has_no_program(int proc, std::uint64_t tid) {
  char program;
  return ::readlinkat(proc, (std::to_string(tid) + "/exe").c_str(), &program, 1) < 0 &&
         errno == ENOENT;
}

}  // namespace

std::uint64_t find_living_thread(int proc, std::uint64_t tgid) {
  if (!has_no_program(proc, tgid)) return tgid;
  for (const std::uint64_t tid : sdk::other_threads(proc, tgid))
    if (!has_no_program(proc, tid)) return tid;
  return tgid;
}

}  // namespace ctprof
