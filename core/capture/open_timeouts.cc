#include "core/capture/open_timeouts.hpp"

#include <sys/sysmacros.h>

#include "core/base/local_file.hpp"

namespace ctprof {
namespace {

bool is_on_disk(const FileId& file) {
  return major(file.device) != 0 || file.device == read_root_device();
}

}  // namespace

bool OpenTimeouts::may_open(std::uint64_t process, const FileId& file) const {
  return may_open(process) && !devices_.contains(file.device);
}

bool OpenTimeouts::may_open(std::uint64_t process) const {
  return count_ < kMaxFullWaits + kMaxShortWaits && !processes_.contains(process);
}

void OpenTimeouts::add(std::uint64_t process, const FileId& file) {
  if (is_on_disk(file)) return add(process);
  ++count_;
  devices_.insert(file.device);
}

void OpenTimeouts::add(std::uint64_t process) {
  ++count_;
  if (process != 0) processes_.insert(process);
}

}  // namespace ctprof
