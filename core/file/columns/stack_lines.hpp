// Writes and reads the stacks of a block as lines of JSON.
//
//   {"kind":"stacks","part":"strings","first":0,"text":["","main","/usr/bin/cat"],"raw":[[7,"62ff"]]}
//   {"kind":"stacks","part":"modules","first":0,"type":["kernel","file"],"path":[0,2],
//    "build_id":["","5cafe0"],"process":[0,0],"shift":[0,0]}
//   {"kind":"stacks","part":"frames","first":1,"module":[1,1],"offset":[4660,4711],"guessed":[0,1],
//    "inlined":[0,0],"name":[1,0]}
//   {"kind":"stacks","part":"nodes","first":1,"parent":[0,1],"frame":[1,2]}
//   {"kind":"stacks","part":"weights","first":0,"metric":"oncpu_stacks","row":[7,7],"node":[1,2],
//    "weight":[1000000,2000000]}
//
// The lines follow the tables in this order; the header announces their number. A long part
// continues in the next line, and `first` is the number of its first item. An item refers only to
// earlier items of other parts. String 0 is empty: a frame without a name, a module without a path.
// `raw` has the exact bytes of strings that are not UTF-8. Every file implicitly has frame 0, which
// marks a truncated stack, and node 0, the root; they are not written.
//
// The weights of a metric are sorted by row, then by node. In the tables, a cell of stacks contains
// the total weight of its set, so that a missing line is detected. The part `weights` contains each
// weight; it has no entry for a row with an empty set.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/columns/cell_reader.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Indexed by Module::Kind.
inline constexpr std::array<std::string_view, 5> kModuleTypes{"unknown", "kernel", "file", "vdso",
                                                              "anonymous"};

// Calls take(line) for each line; for none if no column has stacks. REQUIRES: `out` is empty.
void write_stacks(const Snapshot& snapshot, JsonWriter& out,
                  const std::function<void(std::string_view)>& on_line);

// Reads the lines in order, after the tables, and gives each cell its set.
class StackReader {
 public:
  // REQUIRES: both outlive it.
  StackReader(Snapshot& snapshot, PoolBudget& budget) : snapshot_(&snapshot), budget_(&budget) {}

  // The error describes what is wrong with the line.
  Result<void> read(std::string_view line);
  // Fails if stacks are missing for a row that has weight in its table.
  Result<void> finish();

 private:
  struct Items;
  using AddItems = Result<void> (StackReader::*)(const Items& items);
  struct Part;
  static const std::array<Part, 5> kParts;

  Result<void> add_items(const Items& items, Scanner& in);
  Result<void> add_strings(const Items& items);
  Result<void> add_modules(const Items& items);
  Result<void> add_frames(const Items& items);
  Result<void> add_nodes(const Items& items);
  Result<void> add_weights(const Items& items);
  Result<void> begin_metric(const std::string& name);
  Result<void> add_weight(std::uint64_t row, const ctprof_stack& weight);
  Result<void> end_row();
  Result<void> check_rows_without_stacks(std::size_t until) const;
  Result<void> end_metric();
  StackTable& table() const { return snapshot_->pools->stacks.table; }

  Snapshot* snapshot_;
  PoolBudget* budget_;
  std::vector<std::string> strings_;
  std::set<const Column*> read_metrics_;  // metrics whose weights have been read
  // State of the metric whose weights are being read:
  Column* column_ = nullptr;
  std::size_t weight_count_ = 0;       // number of weights so far
  std::size_t row_ = 0;                // row whose set is being read; earlier rows are complete
  std::vector<ctprof_stack> row_set_;  // the row's set so far; empty: not started
};

}  // namespace ctprof::columns
