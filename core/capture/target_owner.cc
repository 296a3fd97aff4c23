#include "core/capture/target_owner.hpp"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "core/base/clock.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

// The fields Uid and Gid of /proc/PID/status list four ids: real, effective, saved and file system.
constexpr int kIdsBeforeFileId = 3;
// Fields of /proc/PID/stat between the name and the start time.
constexpr int kFieldsBeforeStart = 19;
// setfsuid(2) with an invalid id changes nothing and returns the current id.
constexpr uid_t kNoId = static_cast<uid_t>(-1);

// Removes and returns the first number of a list whose items are separated by blanks or tabs.
std::optional<std::uint64_t> take_number(std::string_view& list) {
  list = sdk::trimmed(list);
  const std::string_view word = list.substr(0, list.find_first_of(" \t"));
  list.remove_prefix(word.size());
  const auto number = sdk::number<std::uint64_t>(word);
  return number ? std::optional(number.value) : std::nullopt;
}

std::optional<std::uint64_t> take_number_after(std::string_view list, int skipped) {
  for (int i = 0; i < skipped; ++i)
    if (!take_number(list)) return std::nullopt;
  return take_number(list);
}

std::optional<std::uint64_t> file_id(std::string_view status, const char* field) {
  const auto ids = sdk::value_of(status, field);
  return ids ? take_number_after(ids.value, kIdsBeforeFileId) : std::nullopt;
}

std::vector<gid_t> parse_groups(std::string_view status) {
  std::vector<gid_t> groups;
  const auto text = sdk::value_of(status, "Groups");
  std::string_view rest = text ? text.value : std::string_view();
  while (const auto group = take_number(rest)) groups.push_back(static_cast<gid_t>(*group));
  return groups;
}

std::optional<std::uint64_t> read_start_unix_ns(int process) {
  sdk::TextFile file;
  const auto stat = file.read(process, "stat");
  if (!stat) return std::nullopt;
  // The name may contain blanks and parentheses.
  std::string_view fields = stat.value.substr(stat.value.rfind(')') + 1);
  fields = sdk::trimmed(fields);
  for (int i = 0; i < kFieldsBeforeStart; ++i) sdk::take(fields, ' ');
  const auto ticks = take_number(fields);
  if (!ticks) return std::nullopt;
  return realtime_ns() - boottime_ns() + *ticks * ns_per_tick(clock_ticks_per_second());
}

// The C library's wrappers do not apply to a single thread only.
bool set_file_user(uid_t user) {
  ::setfsuid(user);
  return static_cast<uid_t>(::setfsuid(kNoId)) == user;
}

bool set_file_group(gid_t group) {
  ::setfsgid(group);
  return static_cast<gid_t>(::setfsgid(kNoId)) == group;
}

// Sets the ids of the owner, or all those of the real user. Returns false if only some ids were
// set.
bool set_file_ids(const TargetOwner* owner) {
  if (owner && set_file_user(owner->user)) {
    if (::syscall(SYS_setgroups, owner->groups.size(), owner->groups.data()) == 0)
      return set_file_group(owner->group);
  }
  return set_file_user(::getuid()) && set_file_group(::getgid());
}

std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return groups;
}

}  // namespace

std::optional<TargetOwner> read_owner(int process) {
  sdk::TextFile file;
  const auto status = file.read(process, "status");
  if (!status) return std::nullopt;
  const auto user = file_id(status.value, "Uid"), group = file_id(status.value, "Gid");
  const auto start = read_start_unix_ns(process);
  if (!user || !group || !start) return std::nullopt;
  return TargetOwner{static_cast<uid_t>(*user), static_cast<gid_t>(*group),
                     parse_groups(status.value), *start};
}

// Drops capabilities last and restores them first, because changing the ids requires them. A change
// of the file system user from or to root also changes some capabilities.
TargetRights::TargetRights(const TargetOwner* owner)
    : user_(static_cast<uid_t>(::setfsuid(kNoId))),
      group_(static_cast<gid_t>(::setfsgid(kNoId))),
      groups_(own_groups()),
      capabilities_(effective_capabilities()),
      is_applied_(capabilities_ && set_file_ids(owner) && set_effective_capabilities({})) {}

TargetRights::~TargetRights() {
  if (!capabilities_) return;
  set_effective_capabilities(*capabilities_);
  ::syscall(SYS_setgroups, groups_.size(), groups_.data());
  ::setfsgid(group_);
  ::setfsuid(user_);
  set_effective_capabilities(*capabilities_);
}

}  // namespace ctprof
