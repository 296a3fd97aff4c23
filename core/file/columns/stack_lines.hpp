// The stacks of a block as lines of JSON, and back.
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
// They follow the tables, as many as the header announces, in this order; a long part goes on in
// the next line, and `first` is the number of its first item. What one item names of another part
// has come before it. String 0 is no text: a frame without a name, a module without a path.
// `raw` has the exact bytes of strings that are not UTF-8. Frame 0, where a stack did not reach its
// root, and node 0, above all, are in every file, and not written.
//
// A metric's weights are in the order of rows, then nodes. In the tables a cell of stacks is what
// its set weighs, so that a line that is missing shows; here the weights are one by one, and a row
// whose set is empty is not named.

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

// By Module::Kind.
inline constexpr std::array<std::string_view, 5> kModuleTypes{"unknown", "kernel", "file", "vdso",
                                                              "anonymous"};

// Calls take(line) with each of them. Nothing where no column holds stacks. REQUIRES: `out` is
// empty.
void write_stacks(const Snapshot& snapshot, JsonWriter& out,
                  const std::function<void(std::string_view)>& take);

// Reads them, one after the other, once the tables are read, and gives each cell its set.
class StackReader {
 public:
  // REQUIRES: both outlive it.
  StackReader(Snapshot& snapshot, PoolBudget& budget) : snapshot_(&snapshot), budget_(&budget) {}

  // The error says what is wrong with the line.
  Result<void> read(std::string_view line);
  // Fails where stacks that the tables tell of are missing.
  Result<void> finish();

 private:
  struct Items;
  using Take = Result<void> (StackReader::*)(const Items& items);
  struct Part;
  static const std::array<Part, 5> kParts;

  Result<void> take(const Items& items, Scanner& in);
  Result<void> take_strings(const Items& items);
  Result<void> take_modules(const Items& items);
  Result<void> take_frames(const Items& items);
  Result<void> take_nodes(const Items& items);
  Result<void> take_weights(const Items& items);
  Result<void> begin_metric(const std::string& name);
  Result<void> take_weight(std::uint64_t row, const ctprof_stack& weight);
  Result<void> end_row();
  Result<void> pass_rows(std::size_t until) const;
  Result<void> end_metric();
  StackTable& table() const { return snapshot_->pools->stacks.table; }

  Snapshot* snapshot_;
  PoolBudget* budget_;
  std::vector<std::string> strings_;
  std::set<const Column*> met_;  // metrics whose weights were met
  // Of the metric whose weights are being read:
  Column* column_ = nullptr;
  std::size_t weights_ = 0;        // so far
  std::size_t row_ = 0;            // whose set is being read; those before it are done
  std::vector<ctprof_stack> set_;  // of it; empty: none began
};

}  // namespace ctprof::columns
