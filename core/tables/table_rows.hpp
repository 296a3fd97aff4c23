// Writes captures as rows of tables: a row for each thread, process, cgroup or host, or a row for
// each of their figures.
//
//   TableRows rows({TableForm::Ndjson, {Entity::Thread}, false}, columns, sink);
//   for (Snapshot& capture : captures) rows.add(capture);
//   rows.finish();
//
// Wide: kMarks, then a field for each metric, then `raw`. A map is an object, an array is an array,
// a set of CPUs is "0-3,8", and call stacks are their total weight.
// Long: kMarks, then `metric`, `key` (of a map or an array), `value` (any number), `exact` (the
// same with all digits if it is a whole number of at least 0, because readers may use a double for
// `value`), `text` (a value that is not a number), `raw`, and `gap`, the reason if there is
// neither.
//
// A gap is null, and so is a number that readers of the file reject. An unlimited limit is
// 18446744073709551615. `raw` has the bytes of texts that are not UTF-8, as hexadecimal digits.
//
// Figures are those of the snapshot: lifetimes, or differences over a window.
//
// See also: table_columns.hpp (the columns), row_text.hpp (the format of fields).

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "core/tables/capture_mark.hpp"
#include "core/tables/row_text.hpp"
#include "core/tables/table_columns.hpp"

namespace ctprof {

// The fields that identify a row: its capture and its entity. An id is unique within its capture:
// "TID@START" for a thread (start in ticks since boot), "PATH@ID" for a cgroup, "TGID" for a
// process, "host"; the part after the @ only if it is known. A second row of one identity, such as
// a leader that an exec of another of its threads replaced, has the suffix "#2", the next one "#3".
// `born` and `ended`: the thread started or exited in the window.
inline constexpr std::array<const char*, 8> kMarks{"capture", "captured_at", "host", "window_ns",
                                                   "entity",  "id",          "born", "ended"};

struct TableShape {
  TableForm form = TableForm::Ndjson;
  std::vector<Entity> entities{};  // in this order, capture by capture; wide CSV has only one
  bool is_long = false;
  bool is_csv_safe = false;  // see RowText
};

// Returns the field names of a wide table. A metric with the name of another field, or with a name
// that begins with "metric.", gets the prefix "metric.".
std::vector<std::string> field_names(const TableColumns& columns, Entity entity);
// Returns the field names of a long table.
std::vector<std::string> long_field_names();

class TableRows {
 public:
  // REQUIRES: columns and sink outlive this object.
  TableRows(TableShape shape, const TableColumns& columns, Sink& sink);

  // REQUIRES: a window already contains differences (window/happened.hpp).
  void add(const Snapshot& capture);
  // Returns the error of the sink, if any.
  Result<void> state() const { return out_.state(); }
  Result<void> finish() { return out_.finish(); }

 private:
  struct Place;
  void add_table(const Snapshot& capture, Entity entity);
  void begin_row(const Place& place, std::size_t row, std::string_view id);
  void add_wide(const Place& place, std::size_t row, std::string_view id);
  void add_long(const Place& place, std::size_t row, std::string_view id);

  TableShape shape_;
  const TableColumns* columns_;
  RowText out_;
  CaptureMark mark_;
};

}  // namespace ctprof
