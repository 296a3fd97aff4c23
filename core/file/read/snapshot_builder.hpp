// Builds a snapshot from a file: creates the columns that the parser fills, collects the other
// contents of the file, and produces the snapshot when all is read.
//
// Columns are created from definitions: the file's own registry, or the vocabulary for a file
// without one. Process metrics, which the file stores in leaders' rows, and marks, which only
// explain gaps, are kept separately until the end.
//
// Contents: creating the columns, and assembling the snapshot.
//
// See also: rows_reader.hpp, which fills the columns.

#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "core/file/layout/layout.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/file/layout/sections.hpp"
#include "core/file/read/row_filler.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Returns an error if a row cannot hold two of the metrics, because the key path of one equals that
// of the other, or leads through it: "threads[].a" and "threads[].a.b". In a columns file, paths
// may overlap, because it has no rows.
Result<void> check_key_paths(const RegistryPart& registry);

// A snapshot that is being read.
class SnapshotBuilder : public SectionTarget {
 public:
  SnapshotBuilder() : texts_(snapshot.pools->texts) { budget.pools = snapshot.pools.get(); }
  SnapshotBuilder(const SnapshotBuilder&) = delete;
  SnapshotBuilder& operator=(const SnapshotBuilder&) = delete;

  // Creates the columns. REQUIRES: exactly one call of one overload.
  void prepare(RegistryPart registry);
  void prepare(const Vocabulary& vocabulary);
  bool is_prepared() const { return prepared_; }

  RowFiller& filler(TreeRoot root) { return fillers_[static_cast<std::size_t>(root)]; }
  // Returns the slot of a cgroup's path, which is its key in the file.
  Slot& path_slot() { return filler(TreeRoot::Cgroup).slot(layout.leaf_count(TreeRoot::Cgroup)); }

  Layout layout;
  MemoryBudget budget;
  bool has_own_registry = false;  // the columns come from the file's own `registry`
  std::map<std::string, RawJson, std::less<>> sections;  // as text, read after the rows
  std::deque<Column> process_columns;                    // process metrics, with one row per thread
  std::deque<Column> marks;  // marks of a file without our own keys, with one row per thread

 private:
  // A column and the leaf that fills it.
  struct ColumnLeaf {
    Column* column;
    TreeRoot root;
    std::size_t leaf;
  };

  void make_column(const MetricDef& def, const Provenance& provenance);
  void add_leaf(const MetricDef& def, Column& column);
  void make_identity_columns();
  void make_fillers();

  bool prepared_ = false;
  TextCache texts_;
  std::array<RowFiller, kRoots> fillers_;
  std::deque<ColumnLeaf> column_leaves_;
};

// Produces the snapshot, and leaves the builder unusable. The error contains the place and the
// reason.
Result<Snapshot> finish_snapshot(SnapshotBuilder& builder);

}  // namespace ctprof
