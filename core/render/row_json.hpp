// Writes the rows of a report as JSON objects, with the writer that assembles them. report_json.hpp
// describes their members.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/number.hpp"
#include "core/compare/report/rows.hpp"

namespace ctprof {

// Assembles JSON. Each function that adds a member or an item writes the comma before it.
class JsonBuilder {
 public:
  explicit JsonBuilder(std::string& out) : out_(&out) {}

  void open(char bracket) {
    *out_ += bracket;
    is_first_ = true;
  }
  void close(char bracket) {
    *out_ += bracket;
    is_first_ = false;
  }
  // Writes the comma before an item of an array that is not an object.
  void comma() {
    if (!is_first_) *out_ += ',';
    is_first_ = false;
  }
  // Begins an object in an array.
  void open_item() {
    comma();
    open('{');
  }
  void key(std::string_view name) {
    comma();
    append_json(*out_, name);
    *out_ += ':';
  }
  void raw(std::string_view json) { *out_ += json; }
  void text(std::string_view text) { append_json(*out_, text); }
  template <class Number>
  void number(const Number& number) {
    append_json(*out_, number);
  }
  void text_member(std::string_view name, std::string_view text) {
    key(name);
    append_json(*out_, text);
  }
  void number_member(std::string_view name, std::uint64_t number) {
    key(name);
    append_json(*out_, number);
  }
  // Writes a count that may be a median (format_decimal_count).
  void count_member(std::string_view name, double count) {
    key(name);
    append_json(*out_, count);
  }
  void flag_member(std::string_view name, bool flag) {
    key(name);
    raw(flag ? "true" : "false");
  }
  void texts_member(std::string_view name, std::span<const std::string> texts) {
    key(name);
    open('[');
    for (const std::string& item : texts) {
      comma();
      text(item);
    }
    close(']');
  }
  std::string& out() { return *out_; }

 private:
  std::string* out_;
  bool is_first_ = true;
};

// Writes null if the row was not tested. A missing bound is null, too.
void write_test_result(JsonBuilder& json, const std::optional<RowTestResult>& test_result,
                       std::size_t side);

// Returns the unit in the output: shares are stored in hundredths of a percent and written in
// percent.
std::string_view get_output_unit(std::string_view unit);

// Writes the member `group`: a name, or an array of three under `all`.
void write_group(JsonBuilder& json, std::string_view group);

// Writes a row with a metric: the value of one side, or the values and differences of several
// sides.
void write_metric_row(JsonBuilder& json, const Report& report, const MetricRow& row);

// Writes a figure of a group that only this side has.
void write_figure(JsonBuilder& json, const Report& report, std::size_t side, const MetricRow& row);

void write_rename(JsonBuilder& json, const CgroupRename& rename);

}  // namespace ctprof
