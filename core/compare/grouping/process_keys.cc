#include "core/compare/grouping/process_keys.hpp"

#include <algorithm>
#include <vector>

#include "core/base/text.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

bool is_text(const Column& column) {
  return column.def().storage == Storage::String && !column.def().is_mark;
}

}  // namespace

std::span<const std::uint64_t> numbers(const Table& table, std::string_view name) {
  const Column* column = table.find(name);
  return column && column->def().storage == Storage::U64 ? column->u64()
                                                         : std::span<const std::uint64_t>{};
}

std::size_t leader_row(std::uint64_t process, std::span<const std::uint64_t> tgids,
                       std::span<const std::uint64_t> tids) {
  const auto [first, last] = std::equal_range(tgids.begin(), tgids.end(), process);
  if (first == last) return tgids.size();
  const auto begin = tids.begin() + (first - tgids.begin()),
             end = tids.begin() + (last - tgids.begin());
  const auto leader = std::lower_bound(begin, end, process);
  const bool listed = leader != end && *leader == process;
  return static_cast<std::size_t>((listed ? leader : begin) - tids.begin());
}

ProcessKeys::ProcessKeys(const Snapshot& snapshot)
    : snapshot_(&snapshot),
      pcomms_(snapshot.threads().find(kPcomm)),
      tgids_(numbers(snapshot.threads(), kTgid)),
      process_tgids_(numbers(snapshot.table(Entity::Process), kProcessTgid)) {
  if (pcomms_ && pcomms_->def().storage != Storage::String) pcomms_ = nullptr;
  for (std::size_t row = 0; row < process_tgids_.size(); ++row)
    row_of_.emplace(process_tgids_[row], row);
}

std::string ProcessKeys::key(std::size_t thread, std::uint64_t tgid) const {
  const bool has_name = pcomms_ && pcomms_->has_value(thread);
  const std::string name(has_name ? snapshot_->pools->texts[pcomms_->ids()[thread]]
                                  : std::string_view{});
  return name + "[" + std::to_string(tgid) + "]";
}

std::string ProcessKeys::of_thread(std::size_t row) const {
  return row < tgids_.size() ? key(row, tgids_[row]) : std::string();
}

std::string ProcessKeys::of_process(std::size_t row, std::size_t leader) const {
  return key(leader, process_tgids_[row]);
}

std::string_view ProcessKeys::text_of_thread(const Column& metric, std::size_t row) const {
  const auto process = row < tgids_.size() ? row_of_.find(tgids_[row]) : row_of_.end();
  if (process == row_of_.end() || !metric.has_value(process->second)) return {};
  return snapshot_->pools->texts[metric.ids()[process->second]];
}

const Column* find_process_text(const Snapshot& side, std::string_view metric) {
  const Column* column = side.table(Entity::Process).find(metric);
  return column && is_text(*column) ? column : nullptr;
}

Result<void> check_axis(std::span<const Snapshot* const> sides, const Spec& spec) {
  if (spec.group_by != GroupBy::ProcessText) return {};
  std::vector<std::string> known = axis_words();
  for (const Snapshot* side : sides) {
    if (find_process_text(*side, spec.group_metric)) return {};
    for (const Column& column : side->table(Entity::Process).columns)
      if (is_text(column)) known.push_back(column.def().name);
  }
  return error(
      "reading --group-by", spec.group_metric,
      "no process has such a text in what was read" + nearest_hint(spec.group_metric, known));
}

}  // namespace ctprof
