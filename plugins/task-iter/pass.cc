#include "plugins/task-iter/pass.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "plugins/task-iter/skeleton.h"

namespace ctprof::task_iter {
namespace {

// Limits one read, to whole records, because the kernel truncates what does not fit. The kernel has
// a buffer of eight pages.
constexpr std::size_t kReadBytes = 32 * 1024;

[[noreturn]] void fail(const std::string& deed) {
  throw std::runtime_error(deed + ": " + std::strerror(errno));
}

}  // namespace

std::unique_ptr<Program> Program::load(int& error) {
  task_iter_skeleton* skeleton = task_iter_skeleton_load(&error);
  return std::unique_ptr<Program>(skeleton ? new Program(skeleton) : nullptr);
}

Program::~Program() { task_iter_skeleton_unload(skeleton_); }

Pass::Pass(Program& program, const Wanted& wanted)
    : turn_(program.turn_),
      record_size_(record_size(wanted.cpu_words)),
      asked_(std::max(kReadBytes / record_size_, std::size_t{1}) * record_size_),
      buffer_(asked_ + sizeof(record)),
      records_(task_iter_skeleton_begin(program.skeleton_, wanted.tgid, wanted.cpu_words)) {
  if (!records_) fail("starting a pass over the threads by BPF");
}

std::span<const std::byte> Pass::read() {
  return std::span(buffer_).first(read_into(buffer_.data()));
}

std::size_t Pass::read_into(std::byte* room) {
  ssize_t got = 0;
  do got = ::read(records_.get(), room, asked_);
  while (got < 0 && (errno == EINTR || errno == EAGAIN));
  if (got < 0) fail("reading the threads by BPF");
  if (static_cast<std::size_t>(got) % record_size_ != 0)
    throw std::runtime_error("reading the threads by BPF: incomplete record");
  return static_cast<std::size_t>(got);
}

}  // namespace ctprof::task_iter
