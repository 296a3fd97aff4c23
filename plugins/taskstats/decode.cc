#include "plugins/taskstats/decode.hpp"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace ctprof::taskstats {
namespace {

constexpr std::size_t kMessageHeader = NLMSG_HDRLEN;
constexpr std::size_t kAttributesOffset = NLMSG_HDRLEN + GENL_HDRLEN;

// Copies the first bytes into a T. REQUIRES: there are enough bytes.
template <class T>
T copy_as(Bytes bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Returns the contents of the first attribute of a type; empty if there is none, or the list is
// truncated.
Bytes find_attribute(Bytes list, std::uint16_t type) {
  while (list.size() >= NLA_HDRLEN) {
    const auto header = copy_as<nlattr>(list);
    if (header.nla_len < NLA_HDRLEN || header.nla_len > list.size()) return {};
    if ((header.nla_type & NLA_TYPE_MASK) == type)
      return list.subspan(NLA_HDRLEN, header.nla_len - NLA_HDRLEN);
    list = list.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), list.size()));
  }
  return {};
}

Answer make_failed_answer(std::uint32_t sequence, int error) {
  return {.sequence = sequence, .error = error};
}

// Returns the error in an nlmsgerr, which begins with a negative errno. Zero is an acknowledgement,
// which was not requested here.
int parse_error(Bytes body) {
  const int error = body.size() < sizeof(int) ? 0 : copy_as<int>(body);
  return error < 0 && error > INT32_MIN ? -error : EBADMSG;
}

constexpr std::uint64_t kKib = 1024;

std::uint64_t bytes_of(std::uint64_t kib) {
  return kib > UINT64_MAX / kKib ? UINT64_MAX : kib * kKib;
}

constexpr std::uint16_t kInterleavedVersion = 15;

// The part of the attributes that describes a thread (or a process): its id and its struct.
struct TaskPart {
  std::uint32_t id = 0;  // 0: the attributes have no such part
  Bytes stats{};
};

TaskPart find_task_part(Bytes attributes, std::uint16_t aggregate, std::uint16_t id_type) {
  const Bytes list = find_attribute(attributes, aggregate);
  const Bytes id = find_attribute(list, id_type);
  const Bytes stats = find_attribute(list, TASKSTATS_TYPE_STATS);
  if (id.size() < sizeof(std::uint32_t) || version_of(stats) == 0) return {};
  return {copy_as<std::uint32_t>(id), stats};
}

// Offsets of identifying fields in the struct, and how far the fields that version 15 inserted in
// the middle shift them.
constexpr std::size_t kCommOffset = 80, kCommSize = 32, kParentOffset = 132, kAgeOffset = 144,
                      kTgidOffset = 368;
constexpr std::size_t kShiftInVersion15 = 48, kTgidShiftInVersion15 = 96;
constexpr std::uint16_t kFirstVersionWithTgid = 12;

}  // namespace

Answer parse_answer(Bytes message, std::uint16_t family) {
  if (message.size() < kMessageHeader) return make_failed_answer(0, EBADMSG);
  const auto header = copy_as<nlmsghdr>(message);
  if (header.nlmsg_len < kMessageHeader) return make_failed_answer(header.nlmsg_seq, EBADMSG);
  if (header.nlmsg_len > message.size()) return make_failed_answer(header.nlmsg_seq, EMSGSIZE);
  message = message.first(header.nlmsg_len);
  if (header.nlmsg_type == NLMSG_ERROR)
    return make_failed_answer(header.nlmsg_seq, parse_error(message.subspan(kMessageHeader)));
  if (header.nlmsg_type != family || message.size() < kAttributesOffset)
    return make_failed_answer(header.nlmsg_seq, EBADMSG);
  const TaskPart thread = find_task_part(message.subspan(kAttributesOffset),
                                         TASKSTATS_TYPE_AGGR_PID, TASKSTATS_TYPE_PID);
  if (thread.stats.empty()) return make_failed_answer(header.nlmsg_seq, EBADMSG);
  return {.sequence = header.nlmsg_seq, .tid = thread.id, .stats = thread.stats};
}

std::optional<int> parse_acknowledgement(Bytes message, std::uint32_t sequence) {
  if (message.size() < kMessageHeader + sizeof(int)) return std::nullopt;
  const auto header = copy_as<nlmsghdr>(message);
  if (header.nlmsg_type != NLMSG_ERROR || header.nlmsg_seq != sequence) return std::nullopt;
  return -std::clamp(copy_as<int>(message.subspan(kMessageHeader)), -INT_MAX, 0);
}

Exit parse_exit(Bytes message, std::uint16_t family) {
  const Answer thread = parse_answer(message, family);
  if (thread.error != 0) return {};
  const TaskPart process = find_task_part(message.subspan(kAttributesOffset),
                                          TASKSTATS_TYPE_AGGR_TGID, TASKSTATS_TYPE_TGID);
  return {.tid = thread.tid, .tgid = process.id, .stats = thread.stats};
}

Layout::Layout(std::uint16_t version, std::size_t size) : version_(version), size_(size) {
  for (std::size_t i = 0; i < kFields; ++i) {
    const FieldInfo& info = kFieldInfos[i];
    const std::uint16_t offset = version == kInterleavedVersion ? info.offset_in_15 : info.offset;
    const bool is_present = version >= info.first_version && offset + sizeof(std::uint64_t) <= size;
    offsets_[i] = is_present ? offset : kAbsent;
  }
}

std::uint16_t version_of(Bytes stats) {
  return stats.size() < sizeof(std::uint16_t) ? 0 : copy_as<std::uint16_t>(stats);
}

sdk::Reading<std::uint64_t> read_field(Bytes stats, const Layout& layout, Field field) {
  const std::uint16_t offset = layout.offset(field);
  if (offset == Layout::kAbsent) return Gap::Unsupported;
  return copy_as<std::uint64_t>(stats.subspan(offset));
}

sdk::Reading<std::uint64_t> read_metric(Bytes stats, const Layout& layout, Field field) {
  const auto value = read_field(stats, layout, field);
  if (field != Field::HiwaterRss && field != Field::HiwaterVm) return value;
  if (read_field(stats, layout, Field::HiwaterVm).value == 0) return Gap::NotApplicable;
  return value ? sdk::Reading<std::uint64_t>(bytes_of(value.value)) : value;
}

std::optional<ThreadIdentity> parse_identity(Bytes stats) {
  const std::uint16_t version = version_of(stats);
  const std::size_t shift = version == kInterleavedVersion ? kShiftInVersion15 : 0;
  const std::size_t tgid_offset =
      kTgidOffset + (version == kInterleavedVersion ? kTgidShiftInVersion15 : 0);
  if (stats.size() < kAgeOffset + shift + sizeof(std::uint64_t)) return std::nullopt;
  const auto* comm = reinterpret_cast<const char*>(stats.data()) + kCommOffset + shift;
  ThreadIdentity identity{.comm = {comm, ::strnlen(comm, kCommSize)},
                          .age_us = copy_as<std::uint64_t>(stats.subspan(kAgeOffset + shift)),
                          .parent = copy_as<std::uint32_t>(stats.subspan(kParentOffset + shift))};
  if (version >= kFirstVersionWithTgid && stats.size() >= tgid_offset + sizeof(std::uint32_t))
    identity.tgid = copy_as<std::uint32_t>(stats.subspan(tgid_offset));
  return identity;
}

}  // namespace ctprof::taskstats
