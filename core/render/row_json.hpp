// Rows of a report as JSON objects, and the writer that puts them together piece by piece. Their
// members are described in report_json.hpp.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/number.hpp"
#include "core/compare/report/rows.hpp"

namespace ctprof {

// Whatever adds a member or an item puts the comma before it.
class JsonPieces {
 public:
  explicit JsonPieces(std::string& out) : out_(&out) {}

  void open(char bracket) {
    *out_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    *out_ += bracket;
    first_ = false;
  }
  // Before an item of an array, unless it is an object.
  void comma() {
    if (!first_) *out_ += ',';
    first_ = false;
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
  // A count that can be a median (count_text).
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
  bool first_ = true;
};

// Null where the row is not judged. What has no bound is null too.
void write_proof(JsonPieces& json, const std::optional<Proof>& proof, std::size_t side);

// The unit that programs are told: shares are kept in hundredths of a percent and told in percent.
std::string_view unit_told(std::string_view unit);

// Writes the member `group`: a name, or under `all` an array of three.
void write_group(JsonPieces& json, std::string_view group);

// Writes a row with a metric: the value of one side, or the values and differences of several.
void write_metric_row(JsonPieces& json, const Report& report, const ReportRow& row);

// Writes a figure of a group that only one side has.
void write_figure(JsonPieces& json, const Report& report, const ReportRow& row);

void write_rename(JsonPieces& json, const CgroupRename& rename);

}  // namespace ctprof
