#include "core/capture/open_request.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace ctprof {
namespace {

// The fixed-size part of a request.
struct RequestHeader {
  OpenRequest::Kind kind;
  bool has_owner, has_stamp, has_kernel_status;
  std::uint32_t groups;
  uid_t user;
  gid_t group;
  std::uint64_t process, started_unix_ns, mapped_unix_ns;
  CodeRange range;
  FileId file;
  FileStamp stamp;
  KernelStatus kernel_status;
};
static_assert(std::is_trivially_copyable_v<RequestHeader>);

// The fixed-size part of an answer, without the descriptor.
struct AnswerHeader {
  bool is_too_large, is_changed, has_stamp;
  std::uint64_t copied_bytes;
  FileStamp stamp;
  FileId overlay_file;
};
static_assert(std::is_trivially_copyable_v<AnswerHeader>);

// The kernel permits 65536 groups per process. If some are omitted, some files cannot be opened.
constexpr std::size_t kMaxGroups = 4096;

template <typename T>
void append(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

}  // namespace

ChildMessage to_message(const OpenRequest& request) {
  const MappedContent& content = request.content;
  const TargetOwner owner = request.owner.value_or(TargetOwner());
  const std::size_t groups = std::min(owner.groups.size(), kMaxGroups);
  const RequestHeader header{request.kind,
                             request.owner.has_value(),
                             content.stamp.has_value(),
                             request.kernel_status.has_value(),
                             static_cast<std::uint32_t>(groups),
                             owner.user,
                             owner.group,
                             request.process,
                             owner.start_unix_ns,
                             content.mapped_unix_ns,
                             request.range,
                             request.file,
                             content.stamp.value_or(FileStamp()),
                             request.kernel_status.value_or(KernelStatus())};
  ChildMessage message;
  append(message.bytes, &header, 1);
  append(message.bytes, owner.groups.data(), groups);
  message.bytes += request.path;
  if (content.descriptor) message.fd.reset(::fcntl(content.descriptor->get(), F_DUPFD_CLOEXEC, 0));
  return message;
}

OpenRequest parse_request(ChildMessage message) {
  RequestHeader header{};
  std::memcpy(&header, message.bytes.data(), sizeof header);
  OpenRequest request;
  request.kind = header.kind;
  request.process = header.process;
  request.range = header.range;
  request.file = header.file;
  if (header.has_kernel_status) request.kernel_status = header.kernel_status;
  request.content.mapped_unix_ns = header.mapped_unix_ns;
  if (header.has_stamp) request.content.stamp = header.stamp;
  if (message.fd) request.content.descriptor = std::make_shared<sdk::Fd>(std::move(message.fd));
  std::vector<gid_t> groups(header.groups);
  const std::size_t size = groups.size() * sizeof(gid_t);
  if (size > 0) std::memcpy(groups.data(), message.bytes.data() + sizeof header, size);
  request.path = message.bytes.substr(sizeof header + size);
  if (header.has_owner)
    request.owner = {header.user, header.group, std::move(groups), header.started_unix_ns};
  return request;
}

ChildMessage to_message(OpenedFile file) {
  const AnswerHeader header{file.is_too_large,
                            file.is_changed,
                            file.stamp.has_value(),
                            file.copied_bytes,
                            file.stamp.value_or(FileStamp()),
                            file.overlay_file};
  ChildMessage message;
  append(message.bytes, &header, 1);
  message.bytes += file.path;
  message.fd = std::move(file.fd);
  return message;
}

OpenedFile parse_opened_file(ChildMessage message) {
  AnswerHeader header{};
  if (message.bytes.size() < sizeof header) return {};
  std::memcpy(&header, message.bytes.data(), sizeof header);
  OpenedFile file{std::move(message.fd), header.is_too_large, header.is_changed,
                  header.copied_bytes};
  if (header.has_stamp) file.stamp = header.stamp;
  file.overlay_file = header.overlay_file;
  file.path = message.bytes.substr(sizeof header);
  return file;
}

}  // namespace ctprof
