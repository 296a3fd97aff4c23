// Writes rows as text, field by field: NDJSON (one object per line) or CSV (RFC 4180, with a
// header).
//
//   TextRowWriter out(TableFormat::Csv, sink);
//   out.begin_table({"tid", "comm"});
//   out.number(std::uint64_t{7});
//   out.text("init");
//   out.end_row();                        // 7,init
//   out.finish();
//
// Fields are in the order of the names, and each row has all of them. A missing value is null in
// JSON and empty in CSV, where an empty text is "". Text is always valid UTF-8: U+FFFD replaces
// invalid bytes. Integers have all their digits; a number that is not finite is missing.
//
// Text is written to the sink in pieces; after the sink has failed, nothing more is written.
//
// See also: table_rows.hpp (the fields).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"

namespace ctprof {

enum class TableFormat : std::uint8_t { Ndjson, Csv };

class TextRowWriter {
 public:
  // `escapes_formulas`: in CSV, a text that a spreadsheet would interpret as a formula gets a '
  // before it. REQUIRES: the sink outlives this object.
  TextRowWriter(TableFormat form, Sink& sink, bool escapes_formulas = false)
      : form_(form), escapes_formulas_(escapes_formulas), sink_(&sink) {}

  // Starts a table: the following rows have these fields. CSV writes a header, so it has only one
  // table.
  void begin_table(const std::vector<std::string>& names);

  void null();
  void text(std::string_view text);
  void number(std::uint64_t value);
  void number(std::int64_t value);
  void number(double value);
  void boolean(bool value);
  // Writes an object or an array; in CSV, its text is a field.
  void json(std::string_view value);
  void end_row();

  // Writes the buffered text. Fails only if the sink fails.
  Result<void> finish();
  // Returns the error of the sink, if any; then further rows need not be made.
  const Result<void>& get_write_result() const { return write_result_; }

 private:
  bool is_csv() const { return form_ == TableFormat::Csv; }
  void begin_field();
  void put_csv_text(std::string_view text);
  void flush();

  TableFormat form_;
  bool escapes_formulas_;
  Sink* sink_;
  JsonWriter out_{Escape::Unprintable};
  std::vector<std::string> keys_;  // for JSON: the keys, with the characters before them
  std::size_t field_ = 0;
  Result<void> write_result_;
};

}  // namespace ctprof
