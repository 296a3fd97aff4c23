#include "core/compare/grouping/process_trees.hpp"

#include <string_view>

#include "core/compare/grouping/key_families.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kInit = 1;
constexpr std::size_t kMostDepth = 256;  // a hostile file has circles

const Column* text_column(const Snapshot& snapshot, std::string_view name) {
  const Column* column = snapshot.threads().find(name);
  return column && column->def().storage == Storage::String ? column : nullptr;
}

}  // namespace

ProcessTrees::ProcessTrees(const Snapshot& snapshot)
    : snapshot_(&snapshot),
      tgids_(numbers(snapshot.threads(), kTgid)),
      parents_(numbers(snapshot.threads(), kParent)),
      parent_(snapshot.threads().find(kParent)),
      names_(text_column(snapshot, kPcomm)),
      cgroups_(text_column(snapshot, kCgroup)) {
  const auto tids = numbers(snapshot.threads(), kTid);
  for (std::size_t row = 0; row < tgids_.size(); ++row) {
    const auto [known, is_new] = row_of_.try_emplace(tgids_[row], row);
    if (!is_new && row < tids.size() && tids[row] == tgids_[row]) known->second = row;
  }
}

// Texts of one pool are equal where their numbers are.
bool ProcessTrees::in_one_cgroup(std::size_t a, std::size_t b) const {
  if (!cgroups_ || !cgroups_->has_value(a) || !cgroups_->has_value(b)) return true;
  return cgroups_->ids()[a] == cgroups_->ids()[b];
}

std::size_t ProcessTrees::root_of(std::size_t row) const {
  row = row_of_.at(tgids_[row]);
  for (std::size_t depth = 0; depth < kMostDepth; ++depth) {
    const bool has_parent = row < parents_.size() && parent_->has_value(row);
    if (!has_parent || parents_[row] <= kInit) break;
    const auto above = row_of_.find(parents_[row]);
    if (above == row_of_.end()) break;
    if (!in_one_cgroup(above->second, row)) break;
    row = above->second;
  }
  return row;
}

std::string ProcessTrees::of_thread(std::size_t row) const {
  if (row >= tgids_.size()) return {};
  const std::size_t root = root_of(row);
  const bool has_name = names_ && names_->has_value(root);
  const std::string name(has_name ? snapshot_->pools->texts[names_->ids()[root]]
                                  : std::string_view{});
  return name + "[" + std::to_string(tgids_[root]) + "]";
}

}  // namespace ctprof
