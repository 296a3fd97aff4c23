#include "core/tables/exposition.hpp"

#include <cmath>

#include "core/base/number.hpp"
#include "core/base/text.hpp"

namespace ctprof {
namespace {

std::string escaped(std::string_view text, bool quotes_too) {
  const std::string valid = valid_utf8(text);
  std::string out;
  for (const char c : valid) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (c == '"' && quotes_too)) out += '\\';
    out += c;
  }
  return out;
}

class Writer {
 public:
  Writer(Exposition form, Sink& sink) : form_(form), sink_(&sink) {}

  void add(const SeriesFamily& family) {
    if (family.series.empty()) return;
    const bool counts = family.type == SeriesType::Counter;
    const std::string sample = family.name + (counts ? "_total" : "");
    const std::string& head = is_open() ? family.name : sample;
    line("# HELP " + head + " " + escaped(family.help, is_open()));
    line("# TYPE " + head + (counts ? " counter" : " gauge"));
    if (is_open() && !family.unit.empty()) line("# UNIT " + head + " " + family.unit);
    for (const Series& series : family.series) add(sample, series);
  }

  Result<void> finish() {
    if (is_open()) line("# EOF");
    hand_on();
    return handed_on_;
  }

 private:
  bool is_open() const { return form_ == Exposition::OpenMetrics; }

  void add(const std::string& name, const Series& series) {
    std::string text = name;
    for (const auto& [label, value] : series.labels)
      text +=
          (text.size() == name.size() ? "{" : ",") + label + "=\"" + escaped(value, true) + "\"";
    if (!series.labels.empty()) text += "}";
    text += ' ';
    if (std::isinf(series.value))
      text += "+Inf";
    else
      append_json(text, series.value);
    line(text);
  }

  void line(const std::string& text) {
    out_ += text;
    out_ += '\n';
    if (out_.size() >= Sink::kPiece) hand_on();
  }
  void hand_on() {
    if (handed_on_) handed_on_ = sink_->write(out_);
    out_.clear();
  }

  Exposition form_;
  Sink* sink_;
  std::string out_;
  Result<void> handed_on_;
};

}  // namespace

std::string_view content_type(Exposition form) {
  return form == Exposition::OpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

Result<void> write_exposition(std::span<const SeriesFamily> families, Exposition form, Sink& sink) {
  Writer writer(form, sink);
  for (const SeriesFamily& family : families) writer.add(family);
  return writer.finish();
}

}  // namespace ctprof
