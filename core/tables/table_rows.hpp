// Writes captures as rows of tables: a row for each thread, process, cgroup or host, or a row for
// each of their figures.
//
//   TableRows rows({TableFormat::Ndjson, {Entity::Thread}, false}, columns, sink);
//   for (Snapshot& capture : captures) rows.add(capture);
//   rows.finish();
//
// Wide: kCommonFields, then a field for each metric, then `raw`. A map is an object, an array is an
// array, a set of CPUs is "0-3,8", and call stacks are their total weight. Long: kCommonFields,
// then `metric`, `key` (of a map or an array), `value` (any number), `exact` (the same with all
// digits if it is a whole number of at least 0, because readers may use a double for `value`),
// `text` (a value that is not a number), `raw`, and `gap`, the reason if there is neither. Then
// follow the values of the labels of a map's key.
//
// A gap is null, and so is a number that readers of the file reject. An unlimited limit is
// 18446744073709551615. `raw` has the bytes of texts that are not UTF-8, as hexadecimal digits.
//
// Figures are those of the snapshot: lifetimes, or differences over a window.
//
// See also: table_columns.hpp (the columns), text_row_writer.hpp (the format of fields).

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "core/tables/capture_fields.hpp"
#include "core/tables/table_columns.hpp"
#include "core/tables/text_row_writer.hpp"

namespace ctprof {

// The fields that identify a row: its capture and its entity. An id is unique within its capture:
// "TID@START" for a thread (start in ticks since boot), "PATH@ID" for a cgroup, "TGID" for a
// process, "host"; the part after the @ only if it is known. A second row of one identity, such as
// a leader that an exec of another of its threads replaced, has the suffix "#2", the next one "#3".
// `born` and `ended`: the thread started or exited in the window.
inline constexpr std::array<const char*, 8> kCommonFields{
    "capture", "captured_at", "host", "window_ns", "entity", "id", "born", "ended"};

struct TableRowsOptions {
  TableFormat form = TableFormat::Ndjson;
  std::vector<Entity> entities{};  // in this order, capture by capture; wide CSV has only one
  bool is_long = false;
  bool escapes_formulas = false;  // see TextRowWriter
};

// Returns the field names of a wide table. A metric with the name of another field, or with a name
// that begins with "metric.", gets the prefix "metric.".
std::vector<std::string> make_field_names(const TableColumns& columns, Entity entity);
// Returns the field names of a long table of these entities. Maps with labels add a field for each
// label, such as "label.device", after the others.
std::vector<std::string> make_long_field_names(const TableColumns& columns,
                                               std::span<const Entity> entities);

class TableRows {
 public:
  // REQUIRES: columns and sink outlive this object.
  TableRows(TableRowsOptions shape, const TableColumns& columns, Sink& sink);

  // REQUIRES: a window already contains differences (window/differences.hpp).
  void add(const Snapshot& capture);
  // Returns the error of the sink, if any.
  Result<void> get_write_result() const { return out_.get_write_result(); }
  Result<void> finish() { return out_.finish(); }

 private:
  struct CaptureTable;
  void add_table(const Snapshot& capture, Entity entity);
  void begin_row(const CaptureTable& place, std::size_t row, std::string_view id);
  void add_wide(const CaptureTable& place, std::size_t row, std::string_view id);
  void add_long(const CaptureTable& place, std::size_t row, std::string_view id);
  void put_labels(std::string_view labels, std::optional<std::string_view> key);

  TableRowsOptions shape_;
  const TableColumns* columns_;
  TextRowWriter out_;
  CaptureFields capture_fields_;
  std::vector<std::string> labels_{};  // of a long table
};

}  // namespace ctprof
