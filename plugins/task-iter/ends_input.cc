#include "plugins/task-iter/ends_input.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "plugins/task-iter/ends_skeleton.h"

namespace ctprof::task_iter {
namespace {

// About 13,000 threads: a third of a second of the worst burst that was observed.
constexpr std::uint32_t kRingBytes = 16 << 20;

[[noreturn]] void fail(const char* deed, int error) {
  throw std::runtime_error(std::string(deed) + ": " + std::strerror(error));
}

}  // namespace

void KernelEnds::Unload::operator()(task_ends_skeleton* skeleton) const {
  task_ends_skeleton_unload(skeleton);
}

void KernelEnds::start(std::uint32_t command) {
  int error = 0;
  programs_.reset(task_ends_skeleton_load(kRingBytes, &error));
  if (!programs_) fail("loading the BPF programs that see threads end", error);
  ring_ = std::make_unique<Ring>(task_ends_skeleton_buffer(programs_.get()), kRingBytes);
  for (const std::uint64_t process : followed_)
    if (task_ends_skeleton_follow(programs_.get(), static_cast<unsigned int>(process)) < 0)
      fail("following the children of processes", errno);
  if (task_ends_skeleton_attach(programs_.get(), command) < 0)
    fail("attaching to the scheduler's tracepoints", errno);
}

void KernelEnds::stop() {
  if (programs_) task_ends_skeleton_detach(programs_.get());
}

std::uint64_t KernelEnds::lost() const { return task_ends_skeleton_lost(programs_.get()); }

}  // namespace ctprof::task_iter
