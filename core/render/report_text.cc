#include "core/render/report_text.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/report/rows.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/about_rows.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/heading_text.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_lines.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

std::string format_omitted_rows(std::size_t rows) {
  return rows == 0 ? "" : describe_omitted_rows(rows) + "\n";
}

// Returns text such as "12 more rows beyond --limit 20 (--limit 0 shows all); 340 did not change".
std::string format_section_end(const Report& report, const Section& section) {
  std::vector<std::string> parts;
  std::string beyond_limit = section.over_limit ? format_count(section.over_limit, "more row") : "";
  if (section.keys_over_limit)
    beyond_limit += (beyond_limit.empty() ? "" : " and ") +
                    format_count(section.keys_over_limit, "more key") + " of a map";
  if (!beyond_limit.empty())
    parts.push_back(beyond_limit + " beyond --limit " + std::to_string(report.spec().limit) +
                    " (--limit 0 shows all)");
  const char* unchanged_text = report.is_comparison()          ? " did not change"
                               : report.sides().front().window ? " zero or unchanged"
                               : section.unchanged_rows == 1   ? " is zero"
                                                               : " are zero";
  if (section.unchanged_rows)
    parts.push_back(std::to_string(section.unchanged_rows) + unchanged_text);
  if (section.rows_without_value)
    parts.push_back(std::to_string(section.rows_without_value) + " without a value");
  std::string line;
  for (const std::string& part : parts) line += (line.empty() ? "" : "; ") + part;
  return line.empty() ? "" : line + "\n";
}

// One table of rows; rows beyond the allowance are omitted and counted.
class RowTable {
 public:
  RowTable(const Report& report, const ColumnChoice& columns, const Section& section)
      : report_(&report), section_(&section), lines_(report, columns) {}

  void add(const MetricRow& row, Allowance& allowance) {
    is_full_ = is_full_ || !lines_.charge_lines(allowance);
    if (is_full_) return void(++omitted_rows_);
    lines_.add(row);
  }

  void append_to(std::string& out, const TextLayout& layout, Allowance& allowance) {
    if (!is_full_) lines_.charge_lines(allowance);
    const std::size_t size = out.size();
    if (!section_->rows.empty()) lines_.append_to(out, layout);
    allowance.spend(out.size() - size);  // one long name makes all lines of its table long
    out += format_omitted_rows(omitted_rows_) + format_section_end(*report_, *section_);
  }

 private:
  const Report* report_;
  const Section* section_;
  ReportLines lines_;
  bool is_full_ = false;
  std::size_t omitted_rows_ = 0;
};

// Appends tables with titles. A table begins with its title and ends when the next one begins.
class TitledTables {
 public:
  TitledTables(std::string& out, const Report& report, const ColumnChoice& columns,
               const TextLayout& layout, Allowance& allowance)
      : out_(&out),
        report_(&report),
        columns_(&columns),
        layout_(&layout),
        allowance_(&allowance) {}

  void begin_table(const std::string& title, const Section& section) {
    end_table();
    *out_ += "\n" + apply_tint("## " + title, Tint::Heading, layout_->use_color) + "\n";
    table_.emplace(*report_, *columns_, section);
  }
  void add_row(const MetricRow& row) { table_->add(row, *allowance_); }
  void end_table() {
    if (table_) table_->append_to(*out_, *layout_, *allowance_);
    table_.reset();
  }

 private:
  std::string* out_;
  const Report* report_;
  const ColumnChoice* columns_;
  const TextLayout* layout_;
  Allowance* allowance_;
  std::optional<RowTable> table_;
};

void append_sections(TitledTables& tables, const Report& report) {
  const auto begin_section = [&](const Section& section) {
    tables.end_table();
    if (!section.rows.empty() || section.unchanged_rows != 0 || section.rows_without_value != 0)
      tables.begin_table(make_printable_short(section.name), section);
  };
  visit_sections(report, {begin_section, [&](const MetricRow& row) { tables.add_row(row); }});
  tables.end_table();
}

void append_fail_on_rows(TitledTables& tables, const Report& report) {
  const auto begin_section = [&](const Section& section) {
    if (section.rows.empty()) return;
    tables.begin_table("failed: " + format_count(section.rows.size() + section.over_limit, "row") +
                           " that --fail-on matches",
                       section);
  };
  visit_fail_on_section(report,
                        {begin_section, [&](const MetricRow& row) { tables.add_row(row); }});
  tables.end_table();
}

bool is_nonzero_value(const Report& report, std::size_t side, const MetricRow& figure,
                      bool is_additive) {
  const ctprof_number number = report.rollup().read(figure.sides[side].at).number;
  return figure.metric->is_cumulative == is_additive && has_value(number) && as_double(number) != 0;
}

// The metrics in which a group of one side has its largest values; other metrics if it has no
// additive ones.
class LargestMetrics {
 public:
  void add(const Report& report, std::size_t side, const MetricRow& figure) {
    for (const bool is_additive : {true, false}) {
      auto& texts = is_additive ? additive_ : others_;
      if (texts.size() < kMaxMetrics && is_nonzero_value(report, side, figure, is_additive))
        texts.push_back(
            make_printable_short(figure.metric->name) + " " +
            make_printable_short(report.rollup().text(figure.sides[side].at), kMaxValueBytes));
    }
  }

  std::string text() const {
    std::string text;
    for (const std::string& one : additive_.empty() ? others_ : additive_)
      text += (text.empty() ? "" : ", ") + one;
    return text;
  }

 private:
  static constexpr std::size_t kMaxMetrics = 4;
  std::vector<std::string> additive_, others_;
};

// The table of groups that only one side has.
class OneSidedTable {
 public:
  OneSidedTable(const Report& report, std::size_t side)
      : report_(&report), groups_(&report.one_sided_groups(side)), side_(side) {}

  void begin_group(const OneSidedGroup& group, Allowance& allowance) {
    end_group(allowance);
    in_group_ = !allowance.is_spent();
    omitted_groups_ += !in_group_;
    line_.group = format_group(report_->grouping(), group.name);
    line_.threads = format_decimal_count(group.threads);
  }

  void add_figure(const MetricRow& row) {
    if (in_group_) weights_.add(*report_, side_, row);
  }

  void append_to(std::string& out, const TextLayout& layout, Allowance& allowance) {
    end_group(allowance);
    if (groups_->groups.empty()) return;
    const std::string title = "## only in the " + side_name(side_) + ": " +
                              format_count(groups_->groups.size() + groups_->over_limit, "group");
    out += "\n" + apply_tint(title, Tint::Heading, layout.use_color) + "\n";
    table_.append_to(out, layout);
    out += format_omitted_rows(omitted_groups_);
    if (groups_->over_limit)
      out += format_count(groups_->over_limit, "more group") + " beyond --limit " +
             std::to_string(report_->spec().limit) + "\n";
  }

 private:
  void end_group(Allowance& allowance) {
    if (!in_group_) return;
    line_.candidate = weights_.text();
    allowance.spend(get_line_size(line_));
    table_.add_row({{line_.group}, {line_.threads}, {line_.candidate}});
    line_ = {};
    weights_ = {};
    in_group_ = false;
  }

  const Report* report_;
  const OneSidedGroups* groups_;
  std::size_t side_;
  TextTable table_{{{"group", Align::Left, 12, false},
                    {"threads", Align::Right, 0, false},
                    {"largest metrics", Align::Left, 20, false}}};
  TableLine line_;
  LargestMetrics weights_;
  bool in_group_ = false;
  std::size_t omitted_groups_ = 0;
};

void append_one_sided(std::string& out, const Report& report, const TextLayout& layout,
                      Allowance& allowance) {
  std::optional<OneSidedTable> table;
  const auto finish_table = [&] {
    if (table) table->append_to(out, layout, allowance);
    table.reset();
  };
  const auto begin_side = [&](std::size_t side) {
    finish_table();
    table.emplace(report, side);
  };
  visit_one_sided_groups(
      report,
      {begin_side, [&](const OneSidedGroup& group) { table->begin_group(group, allowance); },
       [&](std::size_t, const MetricRow& figure) { table->add_figure(figure); }});
  finish_table();
}

bool has_long_names(const Report& report) {
  const auto is_long = [](std::string_view name) { return name.size() > kMaxNameBytes; };
  const auto& names = report.grouping().names;
  const auto& metrics = report.metrics();
  return std::any_of(names.begin(), names.end(), is_long) ||
         std::any_of(metrics.begin(), metrics.end(),
                     [&](const PlannedMetric& metric) { return is_long(metric.name); });
}
constexpr const char* kLongNamesNote =
    "names of more than 1024 bytes are shortened in the middle; --format json has them in full\n";

}  // namespace

std::string format_report_text(const Report& report, std::span<const std::string> files,
                               const ColumnChoice& columns, const TextLayout& layout,
                               std::string_view preface) {
  std::string out = format_heading(report, files, layout);
  if (const std::string about = format_about_rows(report, layout, report.spec().limit);
      !about.empty())
    out += "\n" + about;
  out += preface;
  Allowance allowance(report.sides());
  TitledTables tables(out, report, columns, layout, allowance);
  append_sections(tables, report);
  append_one_sided(out, report, layout, allowance);
  out += format_renames(report, layout);
  if (report.spec().tests_rows) out += describe_evidence(report, false, layout.width);
  const std::string missing_and_notes_text = format_missing_metrics_and_notes(report, layout.width);
  if (!missing_and_notes_text.empty()) out += "\n" + missing_and_notes_text;
  for (const RunFacts& side : report.sides())
    for (const std::string& note : side.window ? side.meta.notes : std::vector<std::string>{})
      out += wrap_words(make_printable_short(note, kMaxNoteBytes), layout.width);
  append_fail_on_rows(tables, report);
  if (has_long_names(report)) out += kLongNamesNote;
  return out;
}

}  // namespace ctprof
