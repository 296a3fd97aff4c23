// The group book: which rows of a run share a key, and which groups of several runs are one.
//
// Threads are grouped by an axis; a process follows its leader, or under --no-thread-normalize is a
// group of its own, as in the reference; a cgroup falls under its path where
// that is the axis, and nowhere else; the host is one group of its own, whatever the axis.
//
// Runs are added one after the other, and a run's groups are numbered for itself. What is kept of a
// run is as large as it has groups, not threads; its rows' groups are the caller's, for as long as
// the snapshot is there. Names have one pattern over all runs, so what groups are called is known
// when all are joined (grouping.hpp).
//
// What is here:   keys, and the group of each row.
// What is not:    what becomes of the readings (figures/run_figures.hpp).

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/grouping/cgroup_key.hpp"
#include "core/compare/grouping/kept_threads.hpp"
#include "core/compare/grouping/name_pattern.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A row that counts nowhere, as the rules know it (abi.h, ctprof_rows).
inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

// The groups of one run, numbered from 0.
struct RunGroups {
  std::vector<std::uint32_t> keys;                            // of each group in the book
  std::array<std::vector<std::uint32_t>, kEntities> rows_of;  // how many rows each group has

  std::vector<std::uint32_t> threads;  // the same for threads, or those of its process

  // Groups that metrics of this entity fall into.
  std::size_t count(Entity entity) const { return entity == Entity::Host ? 1 : keys.size(); }
  std::uint32_t rows(Entity entity, std::uint32_t group) const {
    return rows_of[static_cast<std::size_t>(entity)][group];
  }
};

// These, and the group of each row of the snapshot.
struct RowGroups {
  RunGroups groups;
  std::array<std::vector<std::uint32_t>, kEntities> of_row;
};

// Names that stay as they are, each a key of its own.
class LiteralNames {
 public:
  std::uint32_t add(std::string_view name);
  std::vector<std::string> keys() const;

 private:
  std::unordered_map<std::string, std::uint32_t, SeededHash> known_;
};

class GroupBook {
 public:
  explicit GroupBook(const Spec& spec);

  // Threads that are not kept are in no group and have no say in what names have in common, and
  // neither are processes whose leader is not. Empty: all are kept.
  RowGroups add(const Snapshot& snapshot, const Kept& kept = {});

  // What the groups are called, by number: of several parts under `all`, see key_parts.
  std::vector<std::string> keys() const;

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

  Rows take_processes(Part& part, const Snapshot& snapshot, const Kept& kept);
  void put_apart(Rows& threads, Rows& cgroups, Rows& processes, const Snapshot& snapshot);
  std::uint32_t number_apart(std::uint64_t pair);
  std::vector<std::string> keys_apart(const std::vector<std::string>& keys) const;

  GroupBy by_;
  std::string group_metric_;
  bool each_process_;  // whether processes have groups of their own
  std::vector<Part> parts_;
  // How the numbers of parts make a group's: of the first two, of these and the third.
  struct Joint {
    std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> known;
    std::vector<std::uint64_t> pairs;
  };
  std::vector<Joint> joints_;
  // Where processes have groups of their own, what they are called, and which numbers are theirs:
  // below 2^32 a pair is a group of threads.
  LiteralNames process_names_;
  Joint apart_;
};

// Between the parts of a group's name; it can be in no name of a process, thread or cgroup.
inline constexpr char kBetweenParts = '\0';

}  // namespace ctprof
