#include "plugins/procfs-sched/stat.hpp"

#include "ctprof/files.hpp"
#include "plugins/procfs-sched/numbers.hpp"
#include "plugins/shared/policy.hpp"

namespace ctprof::procfs {
namespace {

constexpr int kFirstField = 3;  // after the name
constexpr int kLastField = 41;  // the last that we want

// From the kernel's include/linux/sched.h.
constexpr std::uint64_t kKernelThread = 0x00200000;

void parse_field(int field, std::string_view text, Stat& stat) {
  switch (field) {
    case 3: stat.state = text; break;
    case 9: stat.flags = u64(text); break;
    case 10: stat.minflt = u64(text); break;
    case 12: stat.majflt = u64(text); break;
    case 14: stat.utime = u64(text); break;
    case 15: stat.stime = u64(text); break;
    case 18: stat.priority = i32(text); break;
    case 19: stat.nice = i32(text); break;
    case 39: stat.processor = i32(text); break;
    case 40: stat.rt_priority = u32(text); break;
    case 41: stat.policy = u32(text); break;
    default: break;
  }
}

}  // namespace

Stat parse_stat(std::string_view text) {
  Stat stat;
  const auto name_end = text.rfind(')');
  if (name_end == text.npos) return stat;
  text.remove_prefix(name_end + 1);
  text = sdk::trimmed(text);
  for (int field = kFirstField; field <= kLastField && !text.empty(); ++field)
    parse_field(field, sdk::take(text, ' '), stat);
  return stat;
}

bool has_no_memory(const Stat& stat) {
  const bool kernel_thread = stat.flags && (stat.flags.value & kKernelThread) != 0;
  const bool ended = stat.state && (stat.state.value == "Z" || stat.state.value == "X");
  return kernel_thread || ended;
}

void StatFile::fill(const sdk::Thread& thread, std::string_view text) {
  const Stat stat = parse_stat(text);
  PolicyRoom room;
  const auto policy = stat.policy
                          ? sdk::Reading<std::string_view>(policy_name(stat.policy.value, room))
                          : stat.policy.gap;
  put(thread.row, policy, stat.nice, stat.priority, stat.rt_priority, stat.processor, stat.minflt,
      stat.majflt, stat.utime, stat.stime);
}

}  // namespace ctprof::procfs
