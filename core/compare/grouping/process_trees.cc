#include "core/compare/grouping/process_trees.hpp"

#include <string_view>

#include "core/compare/grouping/key_families.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kInit = 1;
constexpr std::size_t kMaxDepth = 256;  // a malicious file can contain cycles

}  // namespace

ProcessTrees::ProcessTrees(const Snapshot& snapshot, const ProcessTrees* fallback)
    : snapshot_(&snapshot),
      fallback_(fallback),
      tgids_(u64_values(snapshot.threads(), kTgid)),
      parents_(u64_values(snapshot.threads(), kParent)),
      parent_(snapshot.threads().find(kParent)),
      names_(thread_column(snapshot, kPcomm, Storage::String)),
      cgroups_(thread_column(snapshot, kCgroup, Storage::String)) {
  const auto tids = u64_values(snapshot.threads(), kTid);
  for (std::size_t row = 0; row < tgids_.size(); ++row) {
    const auto [row_entry, is_new] = row_of_.try_emplace(tgids_[row], row);
    if (!is_new && row < tids.size() && tids[row] == tgids_[row]) row_entry->second = row;
  }
}

std::string_view ProcessTrees::text(const Column* column, std::size_t row) const {
  return column && column->has_value(row) ? snapshot_->pools->texts[column->ids()[row]]
                                          : std::string_view{};
}

// A missing cgroup counts as equal to any other.
bool ProcessTrees::share_cgroup(const ThreadRow& a, const ThreadRow& b) {
  const std::string_view one = a.trees->text(a.trees->cgroups_, a.row),
                         other = b.trees->text(b.trees->cgroups_, b.row);
  return one.empty() || other.empty() || one == other;
}

std::optional<ProcessTrees::ThreadRow> ProcessTrees::find(std::uint64_t tgid) const {
  if (const auto row_entry = row_of_.find(tgid); row_entry != row_of_.end())
    return ThreadRow{this, row_entry->second};
  return fallback_ ? fallback_->find(tgid) : std::nullopt;
}

std::optional<ProcessTrees::ThreadRow> ProcessTrees::parent_of(std::size_t row) const {
  const bool has_parent = row < parents_.size() && parent_->has_value(row);
  return has_parent && parents_[row] > kInit ? find(parents_[row]) : std::nullopt;
}

std::string ProcessTrees::find_tree_name(std::size_t row) const {
  ThreadRow at{this, row};
  for (std::size_t depth = 0; depth < kMaxDepth; ++depth) {
    const auto above = at.trees->parent_of(at.row);
    if (!above || !share_cgroup(*above, at)) break;
    at = *above;
  }
  const ProcessTrees& trees = *at.trees;
  return std::string(trees.text(trees.names_, at.row)) + "[" +
         std::to_string(trees.tgids_[at.row]) + "]";
}

std::string_view ProcessTrees::tree_name_of_thread(std::size_t row) {
  if (row >= tgids_.size()) return {};
  const std::size_t first = row_of_.at(tgids_[row]);
  std::string& tree = tree_name_of_[first];
  if (tree.empty()) tree = find_tree_name(first);
  return tree;
}

}  // namespace ctprof
