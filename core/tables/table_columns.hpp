// The columns of a table, which all captures that stand in it share.
//
//   TableColumns columns({});
//   for (const Snapshot& capture : captures) columns.add(capture);     // rows are not needed
//
// A column is a metric, by its name, with the storage and the unit that the first capture gives it.
// A capture that defines the metric otherwise has no value there, and `notes` says so. What can
// never have a value, or serves readers of a file alone, is no column.
//
// Not here: rows (table_rows.hpp).

#pragma once

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct TableColumn {
  std::string name;
  Storage storage = Storage::U64;
  std::string unit;
};

class TableColumns {
 public:
  // `wanted`: only these metrics, beside who or what a row is; empty: all.
  explicit TableColumns(std::vector<std::string> wanted) : wanted_(std::move(wanted)) {}

  void add(const Snapshot& capture);

  const std::vector<TableColumn>& of(Entity entity) const {
    return columns_[static_cast<std::size_t>(entity)];
  }
  // The capture's own columns in that order; null where it has none.
  std::vector<const Column*> in(const Snapshot& capture, Entity entity) const;

  // Whether every metric that was wanted is there; the error names one that is not.
  Result<void> check_wanted() const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  bool is_wanted(const MetricDef& def) const;
  void add(const MetricDef& def);

  std::vector<std::string> wanted_;
  std::set<std::string> names_;  // of all metrics that were met
  std::array<std::vector<TableColumn>, kEntities> columns_;
  std::vector<std::string> notes_;
};

}  // namespace ctprof
