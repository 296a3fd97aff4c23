#include "plugins/task-iter/exit_input.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "plugins/task-iter/thread_exits_skeleton.h"

namespace ctprof::task_iter {
namespace {

// About 13,000 threads: a third of a second of the worst burst that was observed.
constexpr std::uint32_t kRingBytes = 16 << 20;

[[noreturn]] void throw_error(const char* action, int error) {
  throw std::runtime_error(std::string(action) + ": " + std::strerror(error));
}

}  // namespace

void KernelExitInput::Unloader::operator()(thread_exits_skeleton* skeleton) const {
  thread_exits_skeleton_unload(skeleton);
}

void KernelExitInput::start(std::uint32_t command) {
  int error = 0;
  programs_.reset(thread_exits_skeleton_load(kRingBytes, &error));
  if (!programs_) throw_error("loading the BPF programs that observe thread exits", error);
  ring_ = std::make_unique<Ring>(thread_exits_skeleton_buffer(programs_.get()), kRingBytes);
  for (const std::uint64_t process : followed_processes_)
    if (thread_exits_skeleton_follow(programs_.get(), static_cast<unsigned int>(process)) < 0)
      throw_error("following the children of processes", errno);
  if (thread_exits_skeleton_attach(programs_.get(), command) < 0)
    throw_error("attaching to the scheduler's tracepoints", errno);
}

void KernelExitInput::stop() {
  if (programs_) thread_exits_skeleton_detach(programs_.get());
}

std::uint64_t KernelExitInput::lost_count() const {
  return thread_exits_skeleton_lost(programs_.get());
}

}  // namespace ctprof::task_iter
