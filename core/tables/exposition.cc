#include "core/tables/exposition.hpp"

#include <cmath>

#include "core/base/number.hpp"
#include "core/base/text.hpp"

namespace ctprof {
namespace {

constexpr const char* kInfinity = "+Inf";

std::string escape(std::string_view text, bool escapes_quotes) {
  const std::string valid = replace_invalid_utf8(text);
  std::string out;
  for (const char c : valid) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (c == '"' && escapes_quotes)) out += '\\';
    out += c;
  }
  return out;
}

class Writer {
 public:
  Writer(ExpositionFormat form, Sink& sink) : form_(form), sink_(&sink) {}

  void add(const SeriesFamily& family) {
    if (family.series.empty()) return;
    const bool is_histogram =
        family.type == SeriesType::Histogram || family.type == SeriesType::GaugeHistogram;
    const bool counts = family.type == SeriesType::Counter;
    const std::string sample = family.name + (counts ? "_total" : is_histogram ? "_bucket" : "");
    const std::string& head = is_openmetrics() || is_histogram ? family.name : sample;
    line("# HELP " + head + " " + escape(family.help, is_openmetrics()));
    line("# TYPE " + head + " " + std::string(type_word(family.type)));
    if (is_openmetrics() && !family.unit.empty()) line("# UNIT " + head + " " + family.unit);
    for (const Series& series : family.series) {
      add(sample, series);
      if (is_histogram && !is_openmetrics()) add_count(family, series);
    }
  }

  Result<void> finish() {
    if (is_openmetrics()) line("# EOF");
    flush();
    return write_result_;
  }

 private:
  // In the text format, the last bucket of a histogram is also its count, which some readers
  // require. OpenMetrics forbids a count without a sum, which is unknown.
  void add_count(const SeriesFamily& family, const Series& series) {
    if (series.labels.empty() || series.labels.back().second != kInfinity) return;
    Series count = series;
    count.labels.pop_back();
    add(family.name + "_count", count);
  }

  // The text format has no gauge histograms.
  std::string_view type_word(SeriesType type) const {
    switch (type) {
      case SeriesType::Counter: return "counter";
      case SeriesType::Histogram: return "histogram";
      case SeriesType::GaugeHistogram: return is_openmetrics() ? "gaugehistogram" : "histogram";
      case SeriesType::Gauge: break;
    }
    return "gauge";
  }
  bool is_openmetrics() const { return form_ == ExpositionFormat::OpenMetrics; }

  void add(const std::string& name, const Series& series) {
    std::string text = name;
    for (const auto& [label, value] : series.labels)
      text += (text.size() == name.size() ? "{" : ",") + label + "=\"" + escape(value, true) + "\"";
    if (!series.labels.empty()) text += "}";
    text += ' ';
    if (std::isinf(series.value))
      text += kInfinity;
    else
      append_json(text, series.value);
    line(text);
  }

  void line(const std::string& text) {
    out_ += text;
    out_ += '\n';
    if (out_.size() >= Sink::kFlushBytes) flush();
  }
  void flush() {
    if (write_result_) write_result_ = sink_->write(out_);
    out_.clear();
  }

  ExpositionFormat form_;
  Sink* sink_;
  std::string out_;
  Result<void> write_result_;
};

}  // namespace

std::string_view get_content_type(ExpositionFormat form) {
  return form == ExpositionFormat::OpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

Result<void> write_exposition(std::span<const SeriesFamily> families, ExpositionFormat form,
                              Sink& sink) {
  Writer writer(form, sink);
  for (const SeriesFamily& family : families) writer.add(family);
  return writer.finish();
}

}  // namespace ctprof
