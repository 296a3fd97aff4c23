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
struct FixedPart {
  OpenRequest::Kind kind;
  bool has_owner, has_stamp, may_be_of_layer;
  std::uint32_t groups;
  uid_t user;
  gid_t group;
  std::uint64_t process, started_unix_ns, mapped_unix_ns;
  CodeRange range;
  FileId file;
  FileStamp stamp;
};
static_assert(std::is_trivially_copyable_v<FixedPart>);

// The fixed-size part of an answer, without the descriptor.
struct AnswerPart {
  bool is_too_large, is_changed, has_stamp;
  std::uint64_t copied;
  FileStamp stamp;
  FileId on_overlay;
};
static_assert(std::is_trivially_copyable_v<AnswerPart>);

// The kernel permits 65536 groups per process. If some are omitted, some files cannot be opened.
constexpr std::size_t kMostGroups = 4096;

template <typename T>
void append(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

}  // namespace

ChildMessage message_of(const OpenRequest& request) {
  const MappedContent& content = request.content;
  const TargetOwner owner = request.owner.value_or(TargetOwner());
  const std::size_t groups = std::min(owner.groups.size(), kMostGroups);
  const FixedPart fixed{request.kind,
                        request.owner.has_value(),
                        content.stamp.has_value(),
                        request.may_be_of_layer,
                        static_cast<std::uint32_t>(groups),
                        owner.user,
                        owner.group,
                        request.process,
                        owner.started_unix_ns,
                        content.mapped_unix_ns,
                        request.range,
                        request.file,
                        content.stamp.value_or(FileStamp())};
  ChildMessage message;
  append(message.bytes, &fixed, 1);
  append(message.bytes, owner.groups.data(), groups);
  message.bytes += request.path;
  if (content.named) message.fd.reset(::fcntl(content.named->get(), F_DUPFD_CLOEXEC, 0));
  return message;
}

OpenRequest request_in(ChildMessage message) {
  FixedPart fixed{};
  std::memcpy(&fixed, message.bytes.data(), sizeof fixed);
  OpenRequest request;
  request.kind = fixed.kind;
  request.process = fixed.process;
  request.range = fixed.range;
  request.file = fixed.file;
  request.may_be_of_layer = fixed.may_be_of_layer;
  request.content.mapped_unix_ns = fixed.mapped_unix_ns;
  if (fixed.has_stamp) request.content.stamp = fixed.stamp;
  if (message.fd) request.content.named = std::make_shared<sdk::Fd>(std::move(message.fd));
  std::vector<gid_t> groups(fixed.groups);
  const std::size_t size = groups.size() * sizeof(gid_t);
  if (size > 0) std::memcpy(groups.data(), message.bytes.data() + sizeof fixed, size);
  request.path = message.bytes.substr(sizeof fixed + size);
  if (fixed.has_owner)
    request.owner = {fixed.user, fixed.group, std::move(groups), fixed.started_unix_ns};
  return request;
}

ChildMessage message_of(OpenedFile opened) {
  const AnswerPart part{opened.is_too_large,
                        opened.is_changed,
                        opened.stamp.has_value(),
                        opened.copied,
                        opened.stamp.value_or(FileStamp()),
                        opened.on_overlay};
  ChildMessage message;
  append(message.bytes, &part, 1);
  message.bytes += opened.path;
  message.fd = std::move(opened.fd);
  return message;
}

OpenedFile opened_in(ChildMessage message) {
  AnswerPart part{};
  if (message.bytes.size() < sizeof part) return {};
  std::memcpy(&part, message.bytes.data(), sizeof part);
  OpenedFile opened{std::move(message.fd), part.is_too_large, part.is_changed, part.copied};
  if (part.has_stamp) opened.stamp = part.stamp;
  opened.on_overlay = part.on_overlay;
  opened.path = message.bytes.substr(sizeof part);
  return opened;
}

}  // namespace ctprof
