// The group book: gives each row of a run its group, and each group its key.
//
// Threads are grouped by an axis. A process follows its leader, or under --no-thread-normalize is a
// group of its own, as in the reference. A cgroup is grouped by its path if that is the axis, and
// otherwise not at all. The host is one group, whatever the axis.
//
// Runs are added one by one, and each numbers its groups by itself. The book grows with groups, not
// with threads; the caller keeps the groups of the rows as long as it has the snapshot. Names get
// one pattern over all runs, so keys are known only when all runs are added (grouping.hpp).
//
// Not here: what readings are reduced to (figures/run_figures.hpp).

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
#include "core/compare/asked/spec.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/grouping/process_trees.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The group of a row that counts nowhere; rules know it too (abi.h, ctprof_rows).
inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

// The groups of one run, numbered from 0.
struct RunGroups {
  std::vector<std::uint32_t> keys;                            // of each group in the book
  std::array<std::vector<std::uint32_t>, kEntities> rows_of;  // how many rows each group has

  // How many threads each group has; a group of one process has the process's.
  std::vector<std::uint64_t> threads;

  // The number of groups for metrics of this entity.
  std::size_t count(Entity entity) const { return entity == Entity::Host ? 1 : keys.size(); }
  std::uint32_t rows(Entity entity, std::uint32_t group) const {
    return rows_of[static_cast<std::size_t>(entity)][group];
  }
};

// These, and the group of each row of the snapshot.
struct RowGroups {
  RunGroups groups;
  std::array<std::vector<std::uint32_t>, kEntities> of_row;
  // The same of rows that only the opening of a window has; kNoGroup also where no other row of the
  // run is in that group.
  std::array<std::vector<std::uint32_t>, kEntities> of_opening_only;
  bool knows_opening_only = true;  // false: whether --where keeps those rows is unknown
};

// For each row of a side's threads, whether it is kept. Empty: all are.
using Kept = std::vector<bool>;

class GroupBook {
 public:
  explicit GroupBook(const Spec& spec);

  // Threads that are not kept, and processes whose leader is not, are in no group and do not affect
  // patterns. `kept_of_opening` is of the threads that only the opening of a window has.
  RowGroups add(const Snapshot& snapshot, const Kept& kept = {}, const Kept& kept_of_opening = {});

  // The key of each group, by number; under `all` of several parts (key_parts).
  std::vector<std::string> keys() const;
  // The same by what no other names change: groups of books that do not know of one another are
  // joined by these.
  std::vector<std::string> patterns() const;

 private:
  using Rows = std::vector<std::uint32_t>;
  // The names of one column of the axis.
  using Names = std::variant<LiteralNames, NameFamilies, CgroupFamilies>;
  struct Part {
    std::string_view column{};
    Names names{};
  };
  Rows take(Part& part, const Snapshot& snapshot, const Table& table, std::string_view column,
            const Kept& kept);
  void combine(Rows& rows, const Rows& next, std::size_t part);

  // `trees`: of the snapshot, if the axis is the process tree.
  Rows take_processes(Part& part, const Snapshot& snapshot, const Kept& kept,
                      std::optional<ProcessTrees>& trees);
  RowGroups add_rows(const Snapshot& snapshot, const Kept& kept,
                     std::optional<ProcessTrees>& trees);
  void put_apart(Rows& threads, Rows& cgroups, Rows& processes, const Snapshot& snapshot);
  std::uint32_t number_apart(std::uint64_t pair);
  using Namer = std::vector<std::string> (*)(const Part& part);
  std::vector<std::string> named(Namer name) const;
  std::vector<std::string> keys_apart(const std::vector<std::string>& keys) const;

  GroupBy by_;
  std::string group_metric_;
  bool each_process_;  // whether processes have groups of their own
  std::vector<Part> parts_;
  // Combines the numbers of two parts of a key into one; a third part is joined to that.
  struct Joint {
    std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> known;
    std::vector<std::uint64_t> pairs;
  };
  std::vector<Joint> joints_;
  // If processes have groups of their own: their names, and the numbers of all groups. A pair below
  // 2^32 is a group of threads.
  LiteralNames process_names_;
  Joint apart_;
};

// Between the parts of a key. Names of processes, threads and cgroups cannot contain it.
inline constexpr char kBetweenParts = '\0';

}  // namespace ctprof
