#include "core/stacks/time_limited_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string_view>
#include <utility>

#include "core/base/dropped_capabilities.hpp"
#include "core/base/local_file.hpp"
#include "core/base/text.hpp"
#include "core/stacks/debug_files.hpp"

namespace ctprof {
namespace {

// Each abandoned child is a process that waits for its file system.
constexpr std::size_t kMaxAbandonedChildren = 8;
constexpr std::size_t kMaxUnresponsivePaths = 100;

// Opens the path with O_PATH first, which has no effect on devices and pipes.
sdk::Fd open_file(const std::string& path) {
  const DroppedCapabilities lowered(has_elevated_rights());
  if (!lowered) return sdk::Fd();
  const sdk::Fd named(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!is_regular(named.get(), status)) return sdk::Fd();
  sdk::Fd fd = reopen_for_reading(named.get());
  if (!fd || is_local(fd.get(), status.st_dev)) return fd;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  return bytes > TimeLimitedFiles::kMaxCopiedBytes ? sdk::Fd() : copy_in_memory(fd.get(), bytes);
}

// The kernel writes a space as \040.
std::string unescape_octal(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size();
    plain += is_escape ? static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                           (text[i + 3] - '0'))
                       : text[i];
    if (is_escape) i += 3;
  }
  return plain;
}

std::string read_mountinfo() {
  sdk::TextFile file;
  const auto text = file.read_records(AT_FDCWD, "/proc/self/mountinfo");
  return text ? std::string(text.value) : std::string();
}

}  // namespace

std::string find_mount_point(const std::string& path, std::string_view mountinfo) {
  constexpr std::size_t kMountPoint = 4;
  std::string longest = "/";
  while (!mountinfo.empty()) {
    const auto fields = split(sdk::take(mountinfo, '\n'), ' ');
    if (fields.size() <= kMountPoint) continue;
    std::string point = unescape_octal(fields[kMountPoint]);
    if (!point.ends_with('/')) point += '/';
    if (path.starts_with(point) && point.size() > longest.size()) longest = point;
  }
  return longest;
}

TimeLimitedFiles::TimeLimitedFiles(std::chrono::milliseconds timeout, int stop)
    : timeout_(timeout), stop_(stop), child_([](const ChildMessage& request) {
        return ChildMessage{{}, open_file(request.bytes)};
      }) {}

bool TimeLimitedFiles::is_unresponsive(const std::string& path) const {
  return abandoned_children_ == kMaxAbandonedChildren ||
         std::ranges::any_of(unresponsive_mounts_,
                             [&](const std::string& point) { return path.starts_with(point); });
}

sdk::Fd TimeLimitedFiles::open(const std::string& path) {
  if (path.empty() || path.size() > PATH_MAX) return sdk::Fd();
  if (!is_unresponsive(path)) {
    ChildMessage answer;
    const auto outcome = child_.send_request({path}, timeout_, answer, stop_);
    if (outcome != ChildProcess::Outcome::TimedOut) return std::move(answer.fd);
    ++abandoned_children_;
    const std::string point = find_mount_point(path, read_mountinfo());
    unresponsive_mounts_.push_back(point == "/" ? path : point);
  }
  if (unresponsive_paths_.size() < kMaxUnresponsivePaths &&
      !std::ranges::count(unresponsive_paths_, path))
    unresponsive_paths_.push_back(path);
  return sdk::Fd();
}

}  // namespace ctprof
