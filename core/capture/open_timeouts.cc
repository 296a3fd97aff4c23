#include "core/capture/open_timeouts.hpp"

#include <sys/sysmacros.h>

#include "core/base/local_file.hpp"

namespace ctprof {
namespace {

bool is_on_disk(const FileId& file) {
  return major(file.device) != 0 || file.device == read_root_device();
}

}  // namespace

bool OpenTimeouts::may_open(const Target& target, const FileId& file) const {
  return may_open(target) && !devices_.contains(file.device);
}

bool OpenTimeouts::may_open(const Target& target) const {
  const auto user = target.user ? users_.find(*target.user) : users_.end();
  return count_ < kMaxFullWaits + kMaxShortWaits && !processes_.contains(target.process) &&
         (user == users_.end() || user->second < kMaxTimeoutsPerUser);
}

void OpenTimeouts::add(const Target& target, const FileId& file) {
  add_user(target);
  if (is_on_disk(file)) return add_process(target);
  ++count_;
  devices_.insert(file.device);
}

void OpenTimeouts::add(const Target& target) {
  add_user(target);
  add_process(target);
}

void OpenTimeouts::add_user(const Target& target) {
  constexpr uid_t kRoot = 0;
  if (target.user && *target.user != kRoot) ++users_[*target.user];
}

void OpenTimeouts::add_process(const Target& target) {
  ++count_;
  if (target.process != 0) processes_.insert(target.process);
}

}  // namespace ctprof
