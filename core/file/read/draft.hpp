// A snapshot in the making: the columns that the parser fills, and what else a file holds, as it
// was found; and, once all is read, the snapshot that comes of it.
//
// Columns come out of definitions: the file's own registry, or the vocabulary for a file that has
// none. What is kept on rows of other entities (process metrics on leaders' rows) and what only
// explains gaps (marks) stays apart until the end.
//
// What is here:   making the columns, and putting the pieces together (settle).
// What is not:    filling the columns (read_pass.hpp).

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

class Draft : public SectionTarget {
 public:
  Draft() : texts_(snapshot.pools->texts) { budget.pools = snapshot.pools.get(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // Makes the columns. REQUIRES: once, with one or the other.
  void prepare(RegistryPart registry);
  void prepare(const Vocabulary& vocabulary);
  bool is_prepared() const { return prepared_; }

  RowFiller& filler(Root root) { return fillers_[static_cast<std::size_t>(root)]; }
  // Where the path of a cgroup goes, which is its key in the file.
  Slot& path_slot() { return filler(Root::Cgroup).slot(layout.leaves(Root::Cgroup)); }

  Layout layout;
  Budget budget;
  bool has_own_registry = false;  // and a `registry` that the columns come from
  std::map<std::string, RawJson, std::less<>> sections;  // as they came, for later
  std::deque<Column> process_columns;  // process metrics, but a row for each thread
  std::deque<Column> marks;            // likewise: a foreign file's marks

 private:
  struct Placed {
    Column* column;
    Root root;
    std::size_t leaf;
  };

  void make_column(const MetricDef& def, const Provenance& provenance);
  void place(const MetricDef& def, Column& column);
  void make_keys();
  void make_fillers();

  bool prepared_ = false;
  TextCache texts_;
  std::array<RowFiller, kRoots> fillers_;
  std::deque<Placed> placed_;
};

// The error is the place and the reason. The draft is spent.
Result<Snapshot> settle(Draft& draft);

}  // namespace ctprof
