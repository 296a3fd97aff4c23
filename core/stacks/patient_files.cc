#include "core/stacks/patient_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string_view>
#include <utility>

#include "core/base/local_file.hpp"
#include "core/base/lowered_rights.hpp"
#include "core/base/text.hpp"
#include "core/stacks/debug_files.hpp"

namespace ctprof {
namespace {

// Each abandoned child is a process that waits for its file system.
constexpr std::size_t kMostLeft = 8;
constexpr std::size_t kMostSilent = 100;

// Opens the path with O_PATH first, which has no effect on devices and pipes.
sdk::Fd open_file(const std::string& path) {
  const LoweredRights lowered(has_lent_rights());
  if (!lowered) return sdk::Fd();
  const sdk::Fd named(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!is_regular(named.get(), status)) return sdk::Fd();
  sdk::Fd fd = open_named(named.get());
  if (!fd || is_local(fd.get(), status.st_dev)) return fd;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  return bytes > PatientFiles::kMostCopied ? sdk::Fd() : copy_in_memory(fd.get(), bytes);
}

// The kernel writes a space as \040.
std::string unescaped(std::string_view text) {
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

std::string mountinfo() {
  sdk::TextFile file;
  const auto text = file.read_records(AT_FDCWD, "/proc/self/mountinfo");
  return text ? std::string(text.value) : std::string();
}

}  // namespace

std::string mount_point_of(const std::string& path, std::string_view mountinfo) {
  constexpr std::size_t kMountPoint = 4;
  std::string longest = "/";
  while (!mountinfo.empty()) {
    const auto fields = split(sdk::take(mountinfo, '\n'), ' ');
    if (fields.size() <= kMountPoint) continue;
    std::string point = unescaped(fields[kMountPoint]);
    if (!point.ends_with('/')) point += '/';
    if (path.starts_with(point) && point.size() > longest.size()) longest = point;
  }
  return longest;
}

PatientFiles::PatientFiles(std::chrono::milliseconds patience, int stop)
    : patience_(patience), stop_(stop), child_([](const ChildMessage& request) {
        return ChildMessage{{}, open_file(request.bytes)};
      }) {}

bool PatientFiles::is_silent(const std::string& path) const {
  return left_ == kMostLeft || std::ranges::any_of(mounts_, [&](const std::string& point) {
           return path.starts_with(point);
         });
}

sdk::Fd PatientFiles::open(const std::string& path) {
  if (path.empty() || path.size() > PATH_MAX) return sdk::Fd();
  if (!is_silent(path)) {
    ChildMessage answer;
    const auto outcome = child_.ask({path}, patience_, answer, stop_);
    if (outcome != ChildProcess::Outcome::Late) return std::move(answer.fd);
    ++left_;
    const std::string point = mount_point_of(path, mountinfo());
    mounts_.push_back(point == "/" ? path : point);
  }
  if (silent_.size() < kMostSilent && !std::ranges::count(silent_, path)) silent_.push_back(path);
  return sdk::Fd();
}

}  // namespace ctprof
