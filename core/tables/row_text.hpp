// Rows as text, field by field: NDJSON (an object a line) or CSV (RFC 4180, a header first).
//
//   RowText out(TableForm::Csv, sink);
//   out.begin_table({"tid", "comm"});
//   out.number(std::uint64_t{7});
//   out.text("init");
//   out.end_row();                        // 7,init
//   out.finish();
//
// Fields come in the order of the names, each row has all of them. What is missing is null in JSON,
// and nothing at all in CSV, where an empty text is "". Text is valid UTF-8 whatever bytes there
// are: U+FFFD stands for what is none. Integers have all their digits; a number that is not finite
// is missing.
//
// Text goes to the sink in pieces; after the sink has failed, nothing is written any more.
//
// Not here: what the fields are (table_rows.hpp).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"

namespace ctprof {

enum class TableForm : std::uint8_t { Ndjson, Csv };

class RowText {
 public:
  // `is_csv_safe`: of CSV, a text that a spreadsheet would take for a formula has a ' before it.
  // REQUIRES: the sink outlives this.
  RowText(TableForm form, Sink& sink, bool is_csv_safe = false)
      : form_(form), is_csv_safe_(is_csv_safe), sink_(&sink) {}

  // The rows from here on have these fields. Of CSV it is the header, so there is one such table.
  void begin_table(const std::vector<std::string>& names);

  void null();
  void text(std::string_view text);
  void number(std::uint64_t value);
  void number(std::int64_t value);
  void number(double value);
  void boolean(bool value);
  // An object or an array; in CSV it is the text of a field.
  void json(std::string_view made);
  void end_row();

  // Hands on what is left. The error is the sink's.
  Result<void> finish();
  // The error is the sink's, which takes no more, so that the rest need not be made.
  const Result<void>& state() const { return handed_on_; }

 private:
  bool is_csv() const { return form_ == TableForm::Csv; }
  void begin_field();
  void csv_text(std::string_view text);
  void hand_on();

  TableForm form_;
  bool is_csv_safe_;
  Sink* sink_;
  JsonWriter out_{Escape::Unshowable};
  std::vector<std::string> keys_;  // of JSON, with what stands before them
  std::size_t field_ = 0;
  Result<void> handed_on_;
};

}  // namespace ctprof
