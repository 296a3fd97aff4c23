// The row grouper: assigns a group to each row of a run, and a key to each group.
//
// The axis groups threads. A process is in the group of its leader; under --no-thread-normalize it
// is a group of its own, as in the reference. Cgroups are grouped by path if the axis is `cgroup`,
// and otherwise not grouped. The host is one group on every axis. The axis Entity groups only the
// rows of an entity of a plugin, by their identity, whose columns are the parts of the key.
//
// Under Spec::divides_by_cgroup, processes with the same name in different cgroups are different
// groups (process_cgroups.hpp).
//
// Runs are added one after the other, and each run numbers its own groups. The memory of the
// grouper grows with the number of groups, not of threads; the caller keeps the row groups only
// while it has the snapshot. Patterns depend on the names of all runs, so keys are known only after
// all runs were added (grouping.hpp).
//
// See also: figures/run_figures.hpp reduces the readings of a group.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/grouping/process_cgroups.hpp"
#include "core/compare/grouping/process_trees.hpp"
#include "core/compare/grouping/row_groups.hpp"
#include "core/compare/request/spec.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// For each thread row of a side, or each row of the entity of the axis Entity, whether it is kept.
// Empty: all rows are kept.
using KeptRows = std::vector<bool>;

class RowGrouper {
 public:
  explicit RowGrouper(const Spec& spec);

  // Adds a run and returns its groups. Threads that are not kept, and processes whose leader is not
  // kept, are in no group and do not affect patterns. `kept_opening_rows` refers to the threads
  // that only the opening of a window has.
  RowGroups add(const Snapshot& snapshot, const KeptRows& kept_rows = {},
                const KeptRows& kept_opening_rows = {});

  // Returns the key of each group, by number; under `all` a key has several parts (key_parts).
  std::vector<std::string> keys() const;
  // Returns the pattern of each group, which does not depend on other names. Groups of independent
  // groupers are joined by patterns. REQUIRES: names are not divided by cgroup.
  std::vector<std::string> patterns() const;
  // Returns the process and the cgroup of each key that has both; empty without divides_by_cgroup.
  CgroupParts cgroup_parts() const;

 private:
  using Rows = std::vector<std::uint32_t>;
  // The names of one column of the axis.
  using Names = std::variant<LiteralNames, NameFamilies, CgroupFamilies>;
  struct KeyPart {
    std::string_view column{};
    Names names{};
  };
  Rows number_names(KeyPart& part, const Snapshot& snapshot, const Table& table,
                    std::string_view column, const KeptRows& kept_rows);
  void combine(Rows& rows, const Rows& next, std::size_t part);

  // `trees`: the process trees of the snapshot, if the axis is the process tree.
  Rows number_processes(KeyPart& part, const Snapshot& snapshot, const KeptRows& kept_rows,
                        std::optional<ProcessTrees>& trees);
  // `window`: the snapshot, or the window of which it is the opening.
  RowGroups add_rows(const Snapshot& snapshot, const Snapshot& window, const KeptRows& kept_rows,
                     std::optional<ProcessTrees>& trees);
  void divide_by_cgroup(Rows& names, const Snapshot& snapshot, const Snapshot& window);
  RowGroups add_rows_of_entity(const Snapshot& snapshot, const KeptRows& kept_rows);
  void separate_processes(Rows& threads, Rows& cgroups, Rows& processes, const Snapshot& snapshot);
  std::uint32_t number_separate_group(std::uint64_t pair);
  using NamesOfPart = std::vector<std::string> (*)(const KeyPart& part);
  std::vector<std::string> compose_keys(NamesOfPart name) const;
  std::vector<std::string> compose_divided_keys(CgroupParts& parts) const;
  std::vector<std::string> compose_separate_keys(const std::vector<std::string>& keys) const;

  GroupBy group_by_;
  std::string group_metric_;
  Entity entity_;             // of the rows that the axis Entity groups
  bool separates_processes_;  // each process is a group
  std::vector<KeyPart> parts_;
  std::optional<ProcessCgroups> cgroups_;  // only if names are divided by cgroup
  // Combines the numbers of two key parts, or of a name and a cgroup, into one number; a third part
  // is combined with the result.
  struct PairNumbers {
    std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> number_of_pair;
    std::vector<std::uint64_t> pairs;
  };
  std::vector<PairNumbers> pair_numbers_;
  // Only if each process is a group: the process names, and the numbers of all groups. A pair below
  // 2^32 is a group of threads.
  LiteralNames process_names_;
  PairNumbers separate_groups_;
};

// Separates the parts of a key. Names of processes, threads and cgroups cannot contain it.
inline constexpr char kPartSeparator = '\0';

}  // namespace ctprof
