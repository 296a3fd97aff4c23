#include "core/base/child_message.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace ctprof {
namespace {

// A message with space for one descriptor. It points into itself, so it is neither copied nor
// moved.
class SocketMessage {
 public:
  SocketMessage(char* bytes, std::size_t size) : bytes_{bytes, size} {
    message_.msg_iov = &bytes_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_.data();
    message_.msg_controllen = control_.size();
  }
  SocketMessage(const SocketMessage&) = delete;
  SocketMessage& operator=(const SocketMessage&) = delete;

  void attach(int fd) {
    if (fd < 0) {
      message_.msg_controllen = 0;
      return;
    }
    cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  sdk::Fd take_descriptor() {
    int fd = -1;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    if (header && header->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return sdk::Fd(fd);
  }
  msghdr* get() { return &message_; }

 private:
  iovec bytes_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control_{};
  msghdr message_{};
};

}  // namespace

// Prepends a byte, because an empty message would look like the end of the connection.
bool send_message(int socket, const ChildMessage& message, bool waits) {
  if (message.bytes.size() >= kMaxMessageBytes) return false;
  std::string bytes = "+" + message.bytes;
  SocketMessage socket_message(bytes.data(), bytes.size());
  socket_message.attach(message.fd ? message.fd.get() : -1);
  ssize_t size = 0;
  do size = ::sendmsg(socket, socket_message.get(), MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
  while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(bytes.size());
}

std::optional<ChildMessage> receive_message(int socket) {
  std::string bytes(kMaxMessageBytes, '\0');
  SocketMessage socket_message(bytes.data(), bytes.size());
  ssize_t size = 0;
  do size = ::recvmsg(socket, socket_message.get(), MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  return ChildMessage{bytes.substr(1, static_cast<std::size_t>(size) - 1),
                      socket_message.take_descriptor()};
}

}  // namespace ctprof
