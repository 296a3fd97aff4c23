#include "plugins/taskstats/socket.hpp"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/taskstats.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "core/base/clock.hpp"

namespace ctprof::taskstats {
namespace {

constexpr std::size_t kAnswerBytes = 2048;  // version 17 needs 724
constexpr std::size_t kBufferBytes = Socket::kMaxRequests * kAnswerBytes;
// A batch of answers takes about 150 KiB of kernel memory.
constexpr int kReceiveBufferBytes = 1024 * 1024;
// Capacity for threads that exit between two drains: about 10,000, a quarter of a second of the
// worst burst.
constexpr int kListeningBufferBytes = 16 * 1024 * 1024;
// Limit for threads that exit while ctprof registers: more than the buffer holds.
constexpr std::size_t kMaxSkippedMessages = 65'536;
constexpr timeval kAnswerTimeout{.tv_sec = 1, .tv_usec = 0};

struct Request {
  nlmsghdr message;
  genlmsghdr command;
  nlattr attribute;
  std::uint32_t tid;
};
static_assert(sizeof(Request) == 28, "the kernel reads this struct without padding");

Request make_request(std::uint16_t family, std::uint32_t sequence, std::uint32_t tid) {
  return {.message = {sizeof(Request), family, NLM_F_REQUEST, sequence, 0},
          .command = {TASKSTATS_CMD_GET, TASKSTATS_GENL_VERSION, 0},
          .attribute = {NLA_HDRLEN + sizeof(std::uint32_t), TASKSTATS_CMD_ATTR_PID},
          .tid = tid};
}

// Returns the number of the family, or a negative error of libnl.
int resolve_family() {
  const std::unique_ptr<nl_sock, void (*)(nl_sock*)> socket(::nl_socket_alloc(), &::nl_socket_free);
  if (!socket) return -NLE_NOMEM;
  if (const int error = ::genl_connect(socket.get()); error < 0) return error;
  return ::genl_ctrl_resolve(socket.get(), TASKSTATS_GENL_NAME);
}

int errno_from_libnl(int error) {
  return error == -NLE_OBJ_NOTFOUND ? ENOENT : error == -NLE_PERM ? EPERM : EIO;
}

SocketError make_error(const char* action, int error) {
  return {error, std::string(action) + ": " + std::strerror(error)};
}

// Connects the socket, so that it receives messages only from the kernel.
bool connect_to_kernel(int socket) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) == 0;
}

}  // namespace

Socket::Socket() : buffer_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)) {
  for (std::size_t i = 0; i < kMaxRequests; ++i) {
    iovecs_[i] = {buffer_.get() + i * kAnswerBytes, kAnswerBytes};
    headers_[i].msg_hdr.msg_iov = &iovecs_[i];
    headers_[i].msg_hdr.msg_iovlen = 1;
  }
}

SocketError Socket::open() {
  const int family = resolve_family();
  if (family < 0)
    return {errno_from_libnl(family),
            std::string("looking for the family TASKSTATS: ") + ::nl_geterror(family)};
  family_ = static_cast<std::uint16_t>(family);
  socket_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
  if (!socket_) return make_error("opening a generic netlink socket", errno);
  if (!connect_to_kernel(socket_.get()))
    return make_error("connecting a generic netlink socket", errno);
  if (::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerTimeout,
                   sizeof kAnswerTimeout) != 0)
    return make_error("setting the timeout of a netlink socket", errno);
  // A larger buffer helps on busy kernels; the default size is sufficient for the batches of
  // ctprof.
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBufferBytes,
               sizeof kReceiveBufferBytes);
  return {};
}

std::span<const Answer> Socket::request_threads(std::span<const std::uint64_t> tids) {
  if (!all_answers_arrived_) drop_stale_answers();
  for (std::size_t i = 0; i < tids.size(); ++i) answers_[i] = {.error = ETIMEDOUT};
  // A single thread may use the whole buffer.
  iovecs_[0].iov_len = tids.size() == 1 ? kBufferBytes : kAnswerBytes;
  send(tids);
  receive(tids.size());
  for (std::size_t i = 0; i < tids.size(); ++i)
    if (answers_[i].error == 0 && answers_[i].tid != tids[i]) answers_[i] = {.error = EBADMSG};
  return std::span(answers_).first(tids.size());
}

void Socket::send(std::span<const std::uint64_t> tids) {
  std::array<Request, kMaxRequests> requests;
  first_sequence_ = next_sequence_;
  for (std::size_t i = 0; i < tids.size(); ++i)
    requests[i] = make_request(family_, next_sequence_++, static_cast<std::uint32_t>(tids[i]));
  ssize_t sent;
  do sent = ::send(socket_.get(), requests.data(), tids.size() * sizeof(Request), 0);
  while (sent < 0 && errno == EINTR);
  if (sent < 0)
    throw std::system_error(errno, std::generic_category(), "sending taskstats requests");
  last_answer_ns_ = clock_ns(CLOCK_BOOTTIME);  // the kernel has answered when the call returns
}

// Receives until all answers have arrived, or no more arrive. After an overflow, in which the
// kernel drops some answers, it only takes those that are already queued.
void Socket::receive(std::size_t count) {
  std::size_t answered = 0, used = 0;
  for (int flags = 0; answered < count && used < count;) {
    const int message_count = ::recvmmsg(socket_.get(), &headers_[used],
                                         static_cast<unsigned>(count - used), flags, nullptr);
    if (message_count < 0 && errno == EINTR) continue;
    const bool overflowed = message_count < 0 && errno == ENOBUFS && flags == 0;
    if (message_count <= 0 && !overflowed) break;
    if (overflowed) {
      flags = MSG_DONTWAIT;
      continue;
    }
    answered += match_answers(used, static_cast<std::size_t>(message_count), count);
    used += static_cast<std::size_t>(message_count);
  }
  all_answers_arrived_ = answered == count;
  if (answered == 0) throw std::runtime_error("the kernel did not answer taskstats requests");
}

// Matches messages with their requests; returns the number of matches.
std::size_t Socket::match_answers(std::size_t first, std::size_t message_count, std::size_t count) {
  std::size_t answered = 0;
  for (std::size_t i = first; i < first + message_count; ++i) {
    const Bytes message(static_cast<const std::byte*>(iovecs_[i].iov_base), headers_[i].msg_len);
    const Answer answer = parse_answer(message, family_);
    const std::uint32_t index = answer.sequence - first_sequence_;
    if (index >= count || answers_[index].error != ETIMEDOUT) continue;
    answers_[index] = answer;
    ++answered;
  }
  return answered;
}

// Drops answers to earlier requests, which arrived after the timeout or did not fit.
void Socket::drop_stale_answers() {
  for (;;) {
    const ssize_t size = ::recv(socket_.get(), buffer_.get(), kBufferBytes, MSG_DONTWAIT);
    if (size < 0 && errno != EINTR && errno != ENOBUFS) return;
  }
}

SocketError Socket::listen(const std::string& cpus) {
  // With this option, a full buffer causes no error, and only drops messages that do not fit.
  constexpr int kEnabled = 1;
  ::setsockopt(socket_.get(), SOL_NETLINK, NETLINK_NO_ENOBUFS, &kEnabled, sizeof kEnabled);
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kListeningBufferBytes,
               sizeof kListeningBufferBytes);
  int error = send_cpu_request(TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus, NLM_F_ACK);
  if (error == 0) error = receive_acknowledgement(next_sequence_ - 1);
  if (error != 0) return make_error("requesting the taskstats of exiting threads", error);
  listened_cpus_ = cpus;
  return {};
}

void Socket::stop_listening() {
  if (!listened_cpus_.empty())
    send_cpu_request(TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK, listened_cpus_, 0);
  listened_cpus_.clear();
}

// Sends a request about a set of CPUs, and returns an errno. The kernel has processed it when the
// call returns.
int Socket::send_cpu_request(std::uint16_t attribute, const std::string& cpus,
                             std::uint16_t flags) {
  const std::size_t size = NLA_HDRLEN + cpus.size() + 1;
  Request header = make_request(family_, next_sequence_++, 0);
  std::vector<std::byte> message(offsetof(Request, attribute) + NLA_ALIGN(size));
  header.message.nlmsg_len = static_cast<std::uint32_t>(message.size());
  header.message.nlmsg_flags |= flags;
  header.attribute = {static_cast<std::uint16_t>(size), attribute};
  std::memcpy(message.data(), &header, offsetof(Request, tid));
  std::memcpy(message.data() + offsetof(Request, tid), cpus.data(), cpus.size());
  return ::send(socket_.get(), message.data(), message.size(), 0) < 0 ? errno : 0;
}

// Receives the answer to a request that was just sent. The answer is already queued, but messages
// about exited threads may precede or follow it; they are skipped.
int Socket::receive_acknowledgement(std::uint32_t sequence) {
  for (std::size_t skipped = 0; skipped < kMaxSkippedMessages; ++skipped) {
    const ssize_t size = ::recv(socket_.get(), buffer_.get(), kBufferBytes, MSG_DONTWAIT);
    if (size < 0) return errno == EAGAIN ? ENOBUFS : errno;
    const Bytes message = Bytes(buffer_.get(), static_cast<std::size_t>(size));
    if (const auto error = parse_acknowledgement(message, sequence)) return *error;
  }
  return ENOBUFS;
}

std::span<const Bytes> Socket::receive_exit_messages() {
  int message_count;
  do
    message_count = ::recvmmsg(socket_.get(), headers_.data(), kMaxRequests, MSG_DONTWAIT, nullptr);
  while (message_count < 0 && errno == EINTR);
  if (message_count < 0 && errno == EAGAIN) return {};
  if (message_count < 0)
    throw std::system_error(errno, std::generic_category(),
                            "receiving taskstats of exited threads");
  for (int i = 0; i < message_count; ++i)
    exit_messages_[i] = {static_cast<const std::byte*>(iovecs_[i].iov_base), headers_[i].msg_len};
  return std::span(exit_messages_).first(static_cast<std::size_t>(message_count));
}

std::uint64_t Socket::lost_count() const {
  std::uint32_t memory[SK_MEMINFO_VARS]{};
  socklen_t size = sizeof memory;
  const int status = ::getsockopt(socket_.get(), SOL_SOCKET, SO_MEMINFO, memory, &size);
  return status == 0 ? memory[SK_MEMINFO_DROPS] : 0;
}

}  // namespace ctprof::taskstats
