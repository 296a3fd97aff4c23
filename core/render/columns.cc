#include "core/render/columns.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

// Minimum width of an arrow column, so that no number in it is shortened.
constexpr std::size_t kMinValueWidth = 24;

struct ColumnInfo {
  ReportColumn column;
  std::string_view word;
  const char* header;
  Align align;
  std::size_t min_width;
  bool is_optional;
  bool in_show, in_compare;
};
// To add a column, add a line here and its cell in report_lines.cc.
constexpr ColumnInfo kColumns[] = {
    {ReportColumn::Group, "group", "group", Align::Left, 12, false, true, true},
    {ReportColumn::Threads, "threads", "threads", Align::Right, 0, true, true, true},
    {ReportColumn::Metric, "metric", "metric", Align::Left, 22, false, true, true},
    {ReportColumn::Tags, "tags", "tags", Align::Left, 8, true, true, true},
    {ReportColumn::Baseline, "baseline", "baseline", Align::Right, kMinValueWidth, false, false,
     true},
    {ReportColumn::Candidate, "candidate", "candidate", Align::Right, kMinValueWidth, false, false,
     true},
    {ReportColumn::Arrow, "arrow", "value", Align::Left, kMinValueWidth, false, false, true},
    {ReportColumn::Value, "value", "value", Align::Right, kMinValueWidth, false, true, false},
    {ReportColumn::Delta, "delta", "delta", Align::Right, 0, true, false, true},
    {ReportColumn::Percent, "%", "%", Align::Right, 0, false, false, true},
    {ReportColumn::Shift, "shift", "shift", Align::Left, 0, true, false, true},
    {ReportColumn::P, "p", "p", Align::Right, 0, true, false, true},
    {ReportColumn::Rate, "rate", "rate", Align::Right, 0, true, false, true},
    {ReportColumn::ChangeOrigin, "of-which", "of which", Align::Left, 0, true, false, true},
    {ReportColumn::PerLife, "life", "per s of life", Align::Left, 0, true, false, true},
    {ReportColumn::Uptime, "uptime", "%uptime", Align::Right, 0, true, true, true},
    {ReportColumn::Runs, "runs", "runs", Align::Right, 0, true, true, true},
    {ReportColumn::Readings, "readings", "readings", Align::Right, 0, true, true, true},
    {ReportColumn::SortedBy, "", "", Align::Right, 0, true, false, false},
};

struct FormatWord {
  std::string_view word;
  std::vector<ReportColumn> columns;
};

const std::vector<FormatWord>& get_display_formats() {
  using enum ReportColumn;
  static const std::vector<FormatWord> words{
      {"full", {Group, Threads, Metric, Baseline, Candidate, Delta, Percent}},
      {"delta-only", {Group, Threads, Metric, Delta, Percent}},
      {"no-pct", {Group, Threads, Metric, Baseline, Candidate, Delta}},
      {"arrow", {Group, Threads, Metric, Arrow, Delta, Percent}},
      {"pct-only", {Group, Threads, Metric, Percent}}};
  return words;
}

const ColumnInfo* find_column(std::string_view word, ReportKind kind) {
  const auto it =
      std::find_if(std::begin(kColumns), std::end(kColumns), [&](const ColumnInfo& info) {
        return info.word == word && (kind == ReportKind::Show ? info.in_show : info.in_compare);
      });
  return it == std::end(kColumns) ? nullptr : it;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

Error make_option_error(std::string_view option, std::string_view text, const std::string& cause) {
  return error("reading --" + std::string(option), text, cause);
}

std::string describe_choices(const std::vector<std::string>& words, std::string_view argument) {
  return "is none of " + join_texts(words) + suggest_nearest(argument, words);
}

Error unknown_column(std::string_view text, const std::string& word, ReportKind kind) {
  return make_option_error("columns", text,
                           "'" + word + "' " + describe_choices(get_column_words(kind), word));
}

}  // namespace

std::vector<std::string> get_column_words(ReportKind kind) {
  std::vector<std::string> words;
  for (const ColumnInfo& info : kColumns)
    if (!info.word.empty() && find_column(info.word, kind) == &info) words.emplace_back(info.word);
  return words;
}

std::vector<std::string> get_display_format_words() {
  std::vector<std::string> words;
  for (const FormatWord& format : get_display_formats()) words.emplace_back(format.word);
  return words;
}

bool ColumnChoice::contains(ReportColumn column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

ColumnChoice get_default_columns(ReportKind kind) {
  if (kind == ReportKind::Compare) return *parse_display_format("arrow");
  return {{ReportColumn::Group, ReportColumn::Threads, ReportColumn::Metric, ReportColumn::Value}};
}

Result<ColumnChoice> parse_display_format(std::string_view word) {
  std::vector<std::string> words;
  for (const FormatWord& known : get_display_formats()) {
    if (known.word == word) return ColumnChoice{known.columns};
    words.emplace_back(known.word);
  }
  return make_option_error("display-format", word, "it " + describe_choices(words, word));
}

Result<ColumnChoice> parse_columns(std::string_view text, ReportKind kind) {
  CTPROF_TRY_VALUE(const auto words, parse_names(to_lower(text), "columns"));
  ColumnChoice choice{{}, true};
  for (const std::string& word : words) {
    const ColumnInfo* info = find_column(word, kind);
    if (!info) return unknown_column(text, word, kind);
    choice.columns.push_back(info->column);
  }
  if (choice.contains(ReportColumn::Arrow) &&
      (choice.contains(ReportColumn::Baseline) || choice.contains(ReportColumn::Candidate)))
    return make_option_error(
        "columns", text,
        "'arrow' contains baseline and candidate; name either 'arrow' or these two");
  return choice;
}

TextColumn make_text_column(ReportColumn column) {
  const auto info = std::find_if(std::begin(kColumns), std::end(kColumns),
                                 [&](const ColumnInfo& known) { return known.column == column; });
  return {info->header, info->align, info->min_width, info->is_optional};
}

}  // namespace ctprof
