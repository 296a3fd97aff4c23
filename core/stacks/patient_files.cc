#include "core/stacks/patient_files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/base/lowered_rights.hpp"
#include "core/base/text.hpp"
#include "core/stacks/debug_files.hpp"

namespace ctprof {
namespace {

// Each is a process that waits for its file system.
constexpr std::size_t kMostLeft = 8;
constexpr std::size_t kMostSilent = 100;

// --- in the helper, where only functions are called that are safe after fork(2)

bool is_local(int fd, dev_t device) {
  struct statfs status {};
  if (major(device) != 0) return true;
  if (::fstatfs(fd, &status) != 0) return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == BTRFS_SUPER_MAGIC ||
         status.f_type == OVERLAYFS_SUPER_MAGIC;
}

int copy_of(int fd, off_t size) {
  const int copy = ::memfd_create("file", MFD_CLOEXEC);
  if (copy < 0 || static_cast<std::uint64_t>(size) > PatientFiles::kMostCopied) return -1;
  for (off_t at = 0; at < size;)
    if (::sendfile(copy, fd, &at, static_cast<std::size_t>(size - at)) <= 0) return -1;
  return copy;
}

// First by name alone, which has no effect on devices and pipes.
int open_here(const char* path) {
  const int named = ::open(path, O_PATH | O_CLOEXEC);
  struct stat status {};
  if (named < 0 || ::fstat(named, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  std::array<char, 64> self{};
  std::snprintf(self.data(), self.size(), "/proc/self/fd/%d", named);
  const int fd = ::open(self.data(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  ::close(named);
  return fd < 0 || is_local(fd, status.st_dev) ? fd : copy_of(fd, status.st_size);
}

// One byte, and the descriptor if there is one.
bool send_descriptor(int socket, int fd) {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

// It keeps no pipe of ours open, whose reader would wait for it.
[[noreturn]] void serve(int socket) {
  constexpr int kSocket = 0;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(socket, kSocket);
  ::close_range(kSocket + 1, UINT_MAX, 0);
  const LoweredRights lowered(has_lent_rights());
  if (!lowered) ::_exit(1);
  std::array<char, PATH_MAX + 1> path{};
  for (;;) {
    const ssize_t got = ::recv(kSocket, path.data(), path.size() - 1, 0);
    if (got <= 0) ::_exit(0);
    path[static_cast<std::size_t>(got)] = '\0';
    const int fd = open_here(path.data());
    if (!send_descriptor(kSocket, fd)) ::_exit(0);
    if (fd >= 0) ::close(fd);
  }
}

// --- here

sdk::Fd received_descriptor(int socket) {
  char byte = 0;
  iovec bytes{&byte, 1};
  int fd = -1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return sdk::Fd();
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return sdk::Fd(fd);
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
  const auto text = file.read(AT_FDCWD, "/proc/self/mountinfo");
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

bool PatientFiles::start() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return false;
  helper_.reset(sockets[0]);
  const sdk::Fd theirs(sockets[1]);
  process_ = ::fork();
  if (process_ == 0) serve(theirs.get());
  if (process_ < 0) helper_ = sdk::Fd();
  return process_ > 0;
}

// One that waits for its file system cannot even be killed, and is not waited for.
void PatientFiles::leave() {
  if (!helper_) return;
  helper_ = sdk::Fd();
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, WNOHANG);
}

bool PatientFiles::is_silent(const std::string& path) const {
  return left_ == kMostLeft || std::ranges::any_of(mounts_, [&](const std::string& point) {
           return path.starts_with(point);
         });
}

PatientFiles::Answer PatientFiles::wait() const {
  pollfd ends[2]{{helper_.get(), POLLIN, 0}, {stop_, POLLIN, 0}};
  int ready = 0;
  do ready = ::poll(ends, 2, static_cast<int>(patience_.count()));
  while (ready < 0 && errno == EINTR);
  if (ends[0].revents != 0) return Answer::Yes;
  return ready > 0 ? Answer::Interrupted : Answer::No;
}

sdk::Fd PatientFiles::open(const std::string& path) {
  if (path.empty() || path.size() > PATH_MAX) return sdk::Fd();
  const bool is_silent = this->is_silent(path);
  if (!is_silent) {
    if (!helper_ && !start()) return sdk::Fd();
    if (::send(helper_.get(), path.data(), path.size(), MSG_NOSIGNAL) < 0) return sdk::Fd();
    const Answer answer = wait();
    if (answer == Answer::Yes) return received_descriptor(helper_.get());
    leave();
    if (answer == Answer::Interrupted) return sdk::Fd();
    ++left_;
    const std::string point = mount_point_of(path, mountinfo());
    mounts_.push_back(point == "/" ? path : point);
  }
  if (silent_.size() < kMostSilent && !std::ranges::count(silent_, path)) silent_.push_back(path);
  return sdk::Fd();
}

}  // namespace ctprof
