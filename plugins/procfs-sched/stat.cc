#include "plugins/procfs-sched/stat.hpp"

#include "ctprof/files.hpp"
#include "plugins/shared/text_formats.hpp"

namespace ctprof::procfs {
namespace {

constexpr std::uint64_t kKernelThread = 0x00200000;  // the kernel's include/linux/sched.h

}  // namespace

Stat parse_stat(std::string_view text) {
  const auto name_end = text.rfind(')');
  text.remove_prefix(name_end == text.npos ? text.size() : name_end + 1);
  return StatWords::parse(sdk::trimmed(text));
}

bool has_no_memory(const Stat& stat) {
  const auto& state = stat.word<3>();
  const auto& flags = stat.word<9>();
  const bool has_exited = state && (state.value == "Z" || state.value == "X");
  return has_exited || (flags && (flags.value & kKernelThread) != 0);
}

void StatFile::fill(const sdk::Thread& thread, std::string_view text) {
  const Stat stat = parse_stat(text);
  PolicyNameBuffer buffer;
  const auto& number = stat.word<41>();
  const auto policy = number ? sdk::Reading<std::string_view>(policy_name(number.value, buffer))
                             : sdk::Reading<std::string_view>(number.gap);
  get<StatWords>().put(thread.row, stat);
  get<sdk::Fields<vocabulary::policy>>().put(thread.row, policy);
}

}  // namespace ctprof::procfs
