// Groups the columns of a table whose cells have the same codes in the same rows.
//
// The codes of a column are run lengths: code, count, code, count ... A file lists equal runs once
// (row_notes.hpp, columns/table_line.hpp). A column is added in the time that reading its runs
// takes, however many groups exist and however many runs they have in common.
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/snapshot/column.hpp"

namespace ctprof {

using Runs = std::vector<std::uint64_t>;

class CodeRuns {
 public:
  struct Group {
    Runs runs;
    std::vector<const Column*> columns;
  };

  // REQUIRES: the column outlives this object.
  void add(Runs runs, const Column& column);
  // In the order in which the runs were added first.
  const std::vector<Group>& groups() const { return groups_; }
  // Returns how many times the runs of a column were compared with those of a group.
  std::size_t comparisons() const { return comparisons_; }

 private:
  static std::string_view bytes_of(const Runs& runs);

  std::vector<Group> groups_;
  std::unordered_multimap<std::size_t, std::size_t> numbers_;  // of groups, by hash of their runs
  std::size_t comparisons_ = 0;
};

}  // namespace ctprof
