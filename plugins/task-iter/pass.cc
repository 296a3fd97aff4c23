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

[[noreturn]] void throw_errno(const std::string& action) {
  throw std::runtime_error(action + ": " + std::strerror(errno));
}

}  // namespace

std::unique_ptr<Program> Program::load(int& error) {
  task_iter_skeleton* skeleton = task_iter_skeleton_load(&error);
  return std::unique_ptr<Program>(skeleton ? new Program(skeleton) : nullptr);
}

Program::~Program() { task_iter_skeleton_unload(skeleton_); }

Pass::Pass(Program& program, const PassSelection& selection)
    : lock_(program.pass_mutex_),
      record_size_(record_size(selection.cpu_words)),
      bytes_per_read_(std::max(kReadBytes / record_size_, std::size_t{1}) * record_size_),
      buffer_(bytes_per_read_ + sizeof(record)),
      records_(task_iter_skeleton_begin(program.skeleton_, selection.tgid, selection.cpu_words)) {
  if (!records_) throw_errno("starting a pass over the threads by BPF");
}

std::span<const std::byte> Pass::read() {
  return std::span(buffer_).first(read_into(buffer_.data()));
}

std::size_t Pass::read_into(std::byte* buffer) {
  ssize_t size_read = 0;
  do size_read = ::read(records_.get(), buffer, bytes_per_read_);
  while (size_read < 0 && (errno == EINTR || errno == EAGAIN));
  if (size_read < 0) throw_errno("reading the threads by BPF");
  if (static_cast<std::size_t>(size_read) % record_size_ != 0)
    throw std::runtime_error("reading the threads by BPF: incomplete record");
  return static_cast<std::size_t>(size_read);
}

}  // namespace ctprof::task_iter
