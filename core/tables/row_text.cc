#include "core/tables/row_text.hpp"

#include <cmath>

#include "core/base/text.hpp"

namespace ctprof {
namespace {}  // namespace

void RowText::begin_table(const std::vector<std::string>& names) {
  if (is_csv()) {
    for (const std::string& name : names) text(name);
    return end_row();
  }
  keys_.clear();
  for (const std::string& name : names) {
    JsonWriter key(Escape::Unshowable);
    key.put(keys_.empty() ? '{' : ',');
    key.key(name);
    keys_.emplace_back(key.view());
  }
}

void RowText::begin_field() {
  if (!is_csv())
    out_.raw(keys_[field_]);
  else if (field_ > 0)
    out_.put(',');
  ++field_;
}

void RowText::null() {
  begin_field();
  if (!is_csv()) out_.raw("null");
}

void RowText::text(std::string_view text) {
  begin_field();
  is_csv() ? csv_text(text) : out_.text(text);
}

// Quotes also an empty text, and a text that begins or ends with blanks, which readers may trim.
void RowText::csv_text(std::string_view text) {
  std::string valid;
  if (!is_utf8(text)) text = valid = valid_utf8(text);
  std::string marked;
  if (is_csv_safe_ && looks_like_formula(text)) text = marked = "'" + std::string(text);
  const bool is_plain = !text.empty() && text.front() != ' ' && text.back() != ' ' &&
                        text.find_first_of(",\"\r\n\t'#\\") == text.npos;
  if (is_plain) return out_.raw(text);
  out_.put('"');
  for (const char c : text) {
    if (c == '"') out_.put(c);
    out_.put(c);
  }
  out_.put('"');
}

void RowText::number(std::uint64_t value) {
  begin_field();
  out_.number(value);
}

void RowText::number(std::int64_t value) {
  begin_field();
  out_.number(value);
}

void RowText::number(double value) {
  if (!std::isfinite(value)) return null();
  begin_field();
  out_.number(value);
}

void RowText::boolean(bool value) {
  begin_field();
  out_.boolean(value);
}

void RowText::json(std::string_view made) {
  begin_field();
  is_csv() ? csv_text(made) : out_.raw(made);
}

void RowText::end_row() {
  if (!is_csv()) out_.put('}');
  out_.put('\n');
  field_ = 0;
  if (out_.size() >= Sink::kPiece) hand_on();
}

void RowText::hand_on() {
  if (handed_on_) handed_on_ = sink_->write(out_.view());
  out_.clear();
}

Result<void> RowText::finish() {
  if (!out_.empty()) hand_on();
  return handed_on_;
}

}  // namespace ctprof
