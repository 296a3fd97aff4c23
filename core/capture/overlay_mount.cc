#include "core/capture/overlay_mount.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <optional>
#include <string>

#include "ctprof/files.hpp"

namespace ctprof {
namespace {

// The higher bits may contain the number of the layer (mount option `xino`).
constexpr std::uint64_t kInodeBits = (std::uint64_t{1} << 48) - 1;

std::optional<std::uint64_t> mount_id_of(int file) {
  struct statx status {};
  if (::statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status) != 0 ||
      (status.stx_mask & STATX_MNT_ID) == 0)
    return std::nullopt;
  return status.stx_mnt_id;
}

bool is_in_our_user_namespace(int process) {
  struct stat ours {
  }, theirs{};
  return ::stat("/proc/self/ns/user", &ours) == 0 &&
         ::fstatat(process, "ns/user", &theirs, 0) == 0 && ours.st_dev == theirs.st_dev &&
         ours.st_ino == theirs.st_ino;
}

}  // namespace

bool is_overlay(std::string_view mountinfo, std::uint64_t mount) {
  const std::string number = std::to_string(mount);
  while (!mountinfo.empty()) {
    std::string_view line = sdk::take(mountinfo, '\n');
    if (sdk::take(line, ' ') != number) continue;
    constexpr std::string_view kEndOfFields = " - ";
    const std::size_t end = line.find(kEndOfFields);
    if (end == line.npos) return false;
    line.remove_prefix(end + kEndOfFields.size());
    return sdk::take(line, ' ') == "overlay";
  }
  return false;
}

bool can_be_layer_file(std::uint64_t overlay_inode, const FileId& layer) {
  return ((overlay_inode ^ layer.inode) & kInodeBits) == 0;
}

// Reads the namespace last: a process cannot return after it enters a namespace of its own.
bool is_on_overlay_of(int process, int file) {
  struct statfs status {};
  if (::fstatfs(file, &status) != 0 || status.f_type != OVERLAYFS_SUPER_MAGIC) return false;
  const auto mount = mount_id_of(file);
  sdk::TextFile text;
  const auto mountinfo = text.read_records(process, "mountinfo");
  return mount && mountinfo && is_overlay(mountinfo.value, *mount) &&
         is_in_our_user_namespace(process);
}

}  // namespace ctprof
