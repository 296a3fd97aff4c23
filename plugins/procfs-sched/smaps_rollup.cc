#include "plugins/procfs-sched/smaps_rollup.hpp"

#include <cstdio>

#include "plugins/procfs-sched/missing.hpp"
#include "plugins/procfs-sched/numbers.hpp"
#include "plugins/procfs-sched/stat.hpp"

namespace ctprof::procfs {
namespace {

// False when it should be a size and is not; a line of another kind adds nothing.
bool parse_line(std::string_view line, std::vector<ctprof_entry>& entries) {
  const std::string_view key = sdk::take(line, ':');
  const bool header = key.find_first_of(" -") != key.npos;
  std::string_view value = bare(line);
  if (header || !value.ends_with(" kB")) return !key.empty();
  const auto kib = u64(bare(value.substr(0, value.size() - 3)));
  if (!kib || key.empty()) return false;
  entries.push_back({{key.data(), key.size()}, kib.value});
  return true;
}

}  // namespace

bool parse_smaps_rollup(std::string_view text, std::vector<ctprof_entry>& entries) {
  entries.clear();
  while (!text.empty())
    if (!parse_line(sdk::take(text, '\n'), entries)) return false;
  return !entries.empty();
}

SmapsRollup::SmapsRollup(const sdk::Host& host)
    : host_(host), helper_(host.live() ? shared_rollup_helper(host) : nullptr) {}

void SmapsRollup::read_all(std::span<const std::uint64_t> tgids) {
  tgids_.assign(tgids.begin(), tgids.end());
  texts_ = helper_ ? helper_->read(tgids_) : std::vector<RollupText>();
  for (std::size_t i = texts_.size(); i < tgids_.size(); ++i)
    texts_.push_back(read_here(tgids_[i]));
}

RollupText SmapsRollup::read_here(std::uint64_t tgid) {
  const auto text = read(tgid, "smaps_rollup");
  return text ? RollupText{0, std::string(text.value)} : RollupText{file_.last_errno()};
}

sdk::Reading<sdk::Entries> SmapsRollup::of_process(std::size_t position) {
  const RollupText& read = texts_[position];
  if (read.error == EMSGSIZE) return Gap::Malformed;
  if (read.error != 0) return why_missing(tgids_[position], gap_of_errno(read.error));
  if (!parse_smaps_rollup(read.text, entries_)) return Gap::Malformed;
  return sdk::Entries(entries_);
}

sdk::Reading<std::string_view> SmapsRollup::read(std::uint64_t tgid, const char* name) {
  char path[64];
  std::snprintf(path, sizeof path, "%llu/%s", static_cast<unsigned long long>(tgid), name);
  return file_.read(host_.proc(), path);
}

Gap SmapsRollup::why_missing(std::uint64_t tgid, Gap gap) {
  if (gap == Gap::Denied || gap == Gap::Busy) return gap;
  const auto stat = read(tgid, "stat");
  if (!stat) return stat.gap;
  return has_no_memory(parse_stat(stat.value)) ? Gap::NotApplicable : of_tree(host_, gap);
}

}  // namespace ctprof::procfs
