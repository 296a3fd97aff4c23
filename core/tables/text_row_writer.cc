#include "core/tables/text_row_writer.hpp"

#include <cmath>

#include "core/base/text.hpp"

namespace ctprof {
namespace {}  // namespace

void TextRowWriter::begin_table(const std::vector<std::string>& names) {
  if (is_csv()) {
    for (const std::string& name : names) text(name);
    return end_row();
  }
  keys_.clear();
  for (const std::string& name : names) {
    JsonWriter key(Escape::Unprintable);
    key.put(keys_.empty() ? '{' : ',');
    key.key(name);
    keys_.emplace_back(key.view());
  }
}

void TextRowWriter::begin_field() {
  if (!is_csv())
    out_.raw(keys_[field_]);
  else if (field_ > 0)
    out_.put(',');
  ++field_;
}

void TextRowWriter::null() {
  begin_field();
  if (!is_csv()) out_.raw("null");
}

void TextRowWriter::text(std::string_view text) {
  begin_field();
  is_csv() ? put_csv_text(text) : out_.text(text);
}

// Quotes also an empty text, and a text that begins or ends with blanks, which readers may trim.
// Some spreadsheets separate fields by ; instead.
void TextRowWriter::put_csv_text(std::string_view text) {
  std::string valid;
  if (!is_utf8(text)) text = valid = replace_invalid_utf8(text);
  std::string marked;
  if (escapes_formulas_ && looks_like_formula(text)) text = marked = "'" + std::string(text);
  const bool has_separator = escapes_formulas_ && text.find(';') != text.npos;
  const bool is_plain = !has_separator && !text.empty() && text.front() != ' ' &&
                        text.back() != ' ' && text.find_first_of(",\"\r\n\t'#\\") == text.npos;
  if (is_plain) return out_.raw(text);
  out_.put('"');
  for (const char c : text) {
    if (c == '"') out_.put(c);
    out_.put(c);
  }
  out_.put('"');
}

void TextRowWriter::number(std::uint64_t value) {
  begin_field();
  out_.number(value);
}

void TextRowWriter::number(std::int64_t value) {
  begin_field();
  out_.number(value);
}

void TextRowWriter::number(double value) {
  if (!std::isfinite(value)) return null();
  begin_field();
  out_.number(value);
}

void TextRowWriter::boolean(bool value) {
  begin_field();
  out_.boolean(value);
}

void TextRowWriter::json(std::string_view value) {
  begin_field();
  is_csv() ? put_csv_text(value) : out_.raw(value);
}

void TextRowWriter::end_row() {
  if (!is_csv()) out_.put('}');
  out_.put('\n');
  field_ = 0;
  if (out_.size() >= Sink::kFlushBytes) flush();
}

void TextRowWriter::flush() {
  if (write_result_) write_result_ = sink_->write(out_.view());
  out_.clear();
}

Result<void> TextRowWriter::finish() {
  if (!out_.empty()) flush();
  return write_result_;
}

}  // namespace ctprof
