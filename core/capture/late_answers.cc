#include "core/capture/late_answers.hpp"

#include <sys/sysmacros.h>

#include "core/base/local_file.hpp"

namespace ctprof {
namespace {

bool is_on_disk(const FileId& file) {
  return major(file.device) != 0 || file.device == root_device();
}

}  // namespace

bool LateAnswers::may_ask(std::uint64_t process, const FileId& file) const {
  return may_ask(process) && !devices_.contains(file.device);
}

bool LateAnswers::may_ask(std::uint64_t process) const {
  return count_ < kMostFull + kMostShort && !processes_.contains(process);
}

void LateAnswers::add(std::uint64_t process, const FileId& file) {
  if (is_on_disk(file)) return add(process);
  ++count_;
  devices_.insert(file.device);
}

void LateAnswers::add(std::uint64_t process) {
  ++count_;
  if (process != 0) processes_.insert(process);
}

}  // namespace ctprof
