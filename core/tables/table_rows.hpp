// Captures as rows of tables: a row for each thread, process, cgroup or host, or a row for each of
// their figures.
//
//   TableRows rows({TableForm::Ndjson, {Entity::Thread}, false}, columns, sink);
//   for (Snapshot& capture : captures) rows.add(capture);
//   rows.finish();
//
// Wide: kMarks, then a field for each metric, then `raw`. A map is an object, an array is one, a
// set of CPUs is "0-3,8", of call stacks there is what they weigh in all.
// Long: kMarks, then `metric`, `key` (of a map or an array), `value` (any number), `exact` (the
// same where it is a whole number from 0 on, to its last digit, for readers to whom `value` is a
// double), `text` (what is no number), `raw`, and `gap`, which names why there is neither.
//
// A gap is null, and so is a number that no reader of the file would take. A limit without bound is
// 18446744073709551615. `raw` has the bytes of texts that are not UTF-8, as hexadecimal digits.
//
// Figures are those of the snapshot as it is: lifetimes, or what happened in a window.
//
// Not here: which columns there are (table_columns.hpp), how fields are spelled (row_text.hpp).

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

// Which capture, and who or what in it. An id names one row of its capture: "TID@START" of a thread
// (its start in ticks since boot), "PATH@ID" of a cgroup, "TGID" of a process, "host"; what is
// behind the @ only where it is known. A further row of one identity, such as the leader that an
// exec by another of its threads replaced, has "#2" behind it, the next one "#3". `born` and
// `ended`: in the window.
inline constexpr std::array<const char*, 8> kMarks{"capture", "captured_at", "host", "window_ns",
                                                   "entity",  "id",          "born", "ended"};

struct TableShape {
  TableForm form = TableForm::Ndjson;
  std::vector<Entity> entities{};  // in this order, capture by capture; of CSV that is wide, one
  bool is_long = false;
  bool is_csv_safe = false;  // see RowText
};

// Of a wide table: the names of its fields. A metric that is called like one that is no metric, or
// begins with "metric.", has "metric." before its name.
std::vector<std::string> field_names(const TableColumns& columns, Entity entity);
// Of a long one.
std::vector<std::string> long_field_names();

class TableRows {
 public:
  // REQUIRES: columns and sink outlive this.
  TableRows(TableShape shape, const TableColumns& columns, Sink& sink);

  // REQUIRES: a window is made of differences already (window/happened.hpp).
  void add(const Snapshot& capture);
  // The error is the sink's.
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
