// Collects the columns of a table, which all its captures share.
//
//   TableColumns columns({});
//   for (const Snapshot& capture : captures) columns.add(capture);     // rows are not needed
//
// A column is a metric, identified by its name, with the storage and unit of the first capture. A
// capture that defines the metric differently has no value there, and `notes` reports it. Metrics
// that never have a value, or that only serve readers of a file, have no column. A histogram has a
// column of its buckets, and one for each of its parts, such as "request_ns[p99]".
//
// See also: table_rows.hpp (the rows).

#pragma once

#include <array>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct TableColumn {
  std::string name;
  Storage storage = Storage::U64;
  std::string unit;
  std::string metric = name;
  std::string labels{};        // of a map (MetricDef::labels)
  std::string_view part = {};  // of a histogram; empty: the column has the cells of the metric
};

class TableColumns {
 public:
  // `selected`: only these metrics, in addition to identity columns; empty: all.
  explicit TableColumns(std::vector<std::string> selected) : selected_(std::move(selected)) {}

  void add(const Snapshot& capture);

  const std::vector<TableColumn>& get_columns(Entity entity) const {
    return columns_[static_cast<std::size_t>(entity)];
  }
  // Returns the names of all labels of maps of these entities, sorted.
  std::vector<std::string> get_labels(std::span<const Entity> entities) const;
  // Returns the capture's columns in this order; null if it lacks one.
  std::vector<const Column*> find_columns(const Snapshot& capture, Entity entity) const;

  // Checks that every selected metric exists; the error names a missing one.
  Result<void> check_selected() const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  bool is_selected(const MetricDef& def) const;
  void add(const MetricDef& def);

  std::vector<std::string> selected_;
  std::set<std::string> names_;  // all metrics that were found
  std::array<std::vector<TableColumn>, kEntities> columns_;
  std::vector<std::string> notes_;
};

}  // namespace ctprof
