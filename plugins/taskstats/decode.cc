#include "plugins/taskstats/decode.hpp"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ctprof::taskstats {
namespace {

constexpr std::size_t kMessageHeader = NLMSG_HDRLEN;
constexpr std::size_t kAttributes = NLMSG_HDRLEN + GENL_HDRLEN;

// The beginning of `bytes` as a T. REQUIRES: there are as many.
template <class T>
T copy_of(Bytes bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// What the first attribute of a type holds; empty when there is none, or the list is cut short.
Bytes attribute(Bytes list, std::uint16_t type) {
  while (list.size() >= NLA_HDRLEN) {
    const auto header = copy_of<nlattr>(list);
    if (header.nla_len < NLA_HDRLEN || header.nla_len > list.size()) return {};
    if ((header.nla_type & NLA_TYPE_MASK) == type)
      return list.subspan(NLA_HDRLEN, header.nla_len - NLA_HDRLEN);
    list = list.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), list.size()));
  }
  return {};
}

Answer failed(std::uint32_t sequence, int error) { return {.sequence = sequence, .error = error}; }

// nlmsgerr begins with a negative errno. Zero is an acknowledgement, which was not asked for.
int error_in(Bytes body) {
  const int error = body.size() < sizeof(int) ? 0 : copy_of<int>(body);
  return error < 0 && error > INT32_MIN ? -error : EBADMSG;
}

constexpr std::uint16_t kInterleaved = 15;

}  // namespace

Answer parse_answer(Bytes message, std::uint16_t family) {
  if (message.size() < kMessageHeader) return failed(0, EBADMSG);
  const auto header = copy_of<nlmsghdr>(message);
  if (header.nlmsg_len < kMessageHeader) return failed(header.nlmsg_seq, EBADMSG);
  if (header.nlmsg_len > message.size()) return failed(header.nlmsg_seq, EMSGSIZE);
  message = message.first(header.nlmsg_len);
  if (header.nlmsg_type == NLMSG_ERROR)
    return failed(header.nlmsg_seq, error_in(message.subspan(kMessageHeader)));
  if (header.nlmsg_type != family || message.size() < kAttributes)
    return failed(header.nlmsg_seq, EBADMSG);
  const Bytes about = attribute(message.subspan(kAttributes), TASKSTATS_TYPE_AGGR_PID);
  const Bytes tid = attribute(about, TASKSTATS_TYPE_PID);
  const Bytes stats = attribute(about, TASKSTATS_TYPE_STATS);
  if (tid.size() < sizeof(std::uint32_t) || version_of(stats) == 0)
    return failed(header.nlmsg_seq, EBADMSG);
  return {.sequence = header.nlmsg_seq, .tid = copy_of<std::uint32_t>(tid), .stats = stats};
}

Layout::Layout(std::uint16_t version, std::size_t size) : version_(version), size_(size) {
  for (std::size_t i = 0; i < kFields; ++i) {
    const FieldInfo& info = kFieldInfos[i];
    const std::uint16_t offset = version == kInterleaved ? info.offset_in_15 : info.offset;
    const bool there = version >= info.since && offset + sizeof(std::uint64_t) <= size;
    offsets_[i] = there ? offset : kAbsent;
  }
}

std::uint16_t version_of(Bytes stats) {
  return stats.size() < sizeof(std::uint16_t) ? 0 : copy_of<std::uint16_t>(stats);
}

sdk::Reading<std::uint64_t> read_field(Bytes stats, const Layout& layout, Field field) {
  const std::uint16_t offset = layout.offset(field);
  if (offset == Layout::kAbsent) return Gap::Unsupported;
  return copy_of<std::uint64_t>(stats.subspan(offset));
}

}  // namespace ctprof::taskstats
