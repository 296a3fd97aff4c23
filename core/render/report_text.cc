#include "core/render/report_text.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/about_rows.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_lines.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

std::string said_left_out(std::size_t rows) {
  return rows == 0 ? "" : left_out_in_words(rows) + "\n";
}

// Returns for example "12 more rows beyond --limit 20 (--limit 0 shows all); 340 did not change".
std::string closing(const Report& report, const Section& section) {
  std::vector<std::string> said;
  std::string beyond = section.cut ? counted(section.cut, "more row") : "";
  if (section.cut_keys)
    beyond += (beyond.empty() ? "" : " and ") + counted(section.cut_keys, "more key") + " of a map";
  if (!beyond.empty())
    said.push_back(beyond + " beyond --limit " + std::to_string(report.spec().limit) +
                   " (--limit 0 shows all)");
  const char* still = report.compares()               ? " did not change"
                      : report.sides().front().window ? " zero or unchanged"
                      : section.still == 1            ? " is zero"
                                                      : " are zero";
  if (section.still) said.push_back(std::to_string(section.still) + still);
  if (section.missing) said.push_back(std::to_string(section.missing) + " without a value");
  std::string line;
  for (const std::string& part : said) line += (line.empty() ? "" : "; ") + part;
  return line.empty() ? "" : line + "\n";
}

// One table of rows; rows beyond the allowance are omitted and counted.
class RowTable {
 public:
  RowTable(const Report& report, const ColumnChoice& columns, const Section& section)
      : report_(&report), section_(&section), lines_(report, columns) {}

  void add(const ReportRow& row, Allowance& allowance) {
    is_full_ = is_full_ || !lines_.has_room(allowance);
    if (is_full_) return void(++left_out_);
    lines_.add(row);
  }

  void append_to(std::string& out, const TextLayout& layout, Allowance& allowance) {
    if (!is_full_) lines_.has_room(allowance);
    const std::size_t size = out.size();
    if (!section_->rows.empty()) lines_.append_to(out, layout);
    allowance.spend(out.size() - size);  // one long name makes all lines of its table long
    out += said_left_out(left_out_) + closing(*report_, *section_);
  }

 private:
  const Report* report_;
  const Section* section_;
  ReportLines lines_;
  bool is_full_ = false;
  std::size_t left_out_ = 0;
};

std::string title_of(const ReportRow& row) {
  const Section& section = *row.section;
  if (!row.is_failed) return "## " + told_name(section.name);
  return "## failed: " + counted(section.rows.size() + section.cut, "row") +
         " that --fail-on names";
}

bool is_empty(const ReportRow& opens) {
  const Section& section = *opens.section;
  return section.rows.empty() && (opens.is_failed || (section.still == 0 && section.missing == 0));
}

// Appends the tables of all sections, or the table of rows that --fail-on selects.
void append_tables(std::string& out, const Report& report, RowKind kind,
                   const ColumnChoice& columns, const TextLayout& layout, Allowance& allowance) {
  std::optional<RowTable> table;
  const auto end = [&] {
    if (table) table->append_to(out, layout, allowance);
    table.reset();
  };
  tell(report, kind, [&](const ReportRow& row) {
    if (row.kind != RowKind::Section) return table->add(row, allowance);
    end();
    if (is_empty(row)) return;
    out += "\n" + tinted(title_of(row), Tint::Heading, layout.color) + "\n";
    table.emplace(report, columns, *row.section);
  });
  end();
}

bool is_told(const Report& report, const ReportRow& figure, bool adds_up) {
  const ctprof_number number = report.rollup().read(figure.sides[figure.side].at).number;
  return figure.metric->adds_up == adds_up && has_value(number) && as_double(number) != 0;
}

// The metrics in which a group of one side has its largest values; other metrics if it has no
// additive ones.
class Weights {
 public:
  void add(const Report& report, const ReportRow& figure) {
    for (const bool adds_up : {true, false}) {
      auto& texts = adds_up ? adding_up_ : others_;
      if (texts.size() < kMost && is_told(report, figure, adds_up))
        texts.push_back(told_name(figure.metric->name) + " " +
                        told_name(report.rollup().text(figure.sides[figure.side].at), kMostValue));
    }
  }

  std::string text() const {
    std::string text;
    for (const std::string& one : adding_up_.empty() ? others_ : adding_up_)
      text += (text.empty() ? "" : ", ") + one;
    return text;
  }

 private:
  static constexpr std::size_t kMost = 4;
  std::vector<std::string> adding_up_, others_;
};

// The table of groups that only one side has.
class OnlyTable {
 public:
  OnlyTable(const Report& report, const ReportRow& opens)
      : report_(&report), only_(opens.only), side_(opens.side) {}

  void add(const ReportRow& row, Allowance& allowance) {
    if (row.kind == RowKind::Figure) {
      if (in_group_) weights_.add(*report_, row);
      return;
    }
    end_group(allowance);
    in_group_ = !allowance.is_spent();
    left_out_ += !in_group_;
    line_.group = group_text(report_->grouping(), row.group);
    line_.threads = count_text(row.sides.front().threads);
  }

  void append_to(std::string& out, const TextLayout& layout, Allowance& allowance) {
    end_group(allowance);
    if (only_->groups.empty()) return;
    const std::string title = "## only in the " + side_name(side_) + ": " +
                              counted(only_->groups.size() + only_->cut, "group");
    out += "\n" + tinted(title, Tint::Heading, layout.color) + "\n";
    table_.append_to(out, layout);
    out += said_left_out(left_out_);
    if (only_->cut)
      out += counted(only_->cut, "more group") + " beyond --limit " +
             std::to_string(report_->spec().limit) + "\n";
  }

 private:
  void end_group(Allowance& allowance) {
    if (!in_group_) return;
    line_.candidate = weights_.text();
    allowance.spend(size_of(line_));
    table_.add({{line_.group}, {line_.threads}, {line_.candidate}});
    line_ = {};
    weights_ = {};
    in_group_ = false;
  }

  const Report* report_;
  const OneSided* only_;
  std::size_t side_;
  TextTable table_{{{"group", Align::Left, 12, false},
                    {"threads", Align::Right, 0, false},
                    {"largest metrics", Align::Left, 20, false}}};
  ReportLine line_;
  Weights weights_;
  bool in_group_ = false;
  std::size_t left_out_ = 0;
};

void append_one_sided(std::string& out, const Report& report, const TextLayout& layout,
                      Allowance& allowance) {
  std::optional<OnlyTable> table;
  const auto end = [&] {
    if (table) table->append_to(out, layout, allowance);
    table.reset();
  };
  tell(report, RowKind::OnlyIn, [&](const ReportRow& row) {
    if (row.kind != RowKind::OnlyIn) return table->add(row, allowance);
    end();
    table.emplace(report, row);
  });
  end();
}

bool has_long_names(const Report& report) {
  const auto is_long = [](std::string_view name) { return name.size() > kMostName; };
  const auto& names = report.grouping().names;
  const auto& metrics = report.metrics();
  return std::any_of(names.begin(), names.end(), is_long) ||
         std::any_of(metrics.begin(), metrics.end(),
                     [&](const PlannedMetric& metric) { return is_long(metric.name); });
}
constexpr const char* kLongNames =
    "names of more than 1024 bytes are shortened in the middle; --format json has them in full\n";

}  // namespace

std::string report_text(const Report& report, std::span<const std::string> files,
                        const ColumnChoice& columns, const TextLayout& layout,
                        std::string_view first) {
  std::string out = heading(report, files, layout);
  if (const std::string about = about_rows(report, layout, report.spec().limit); !about.empty())
    out += "\n" + about;
  out += first;
  Allowance allowance(report.sides());
  append_tables(out, report, RowKind::Section, columns, layout, allowance);
  append_one_sided(out, report, layout, allowance);
  out += renames_text(report, layout);
  if (report.spec().judge_rows) out += evidence_text(report, false, layout.width);
  const std::string left = leftovers(report, layout.width);
  if (!left.empty()) out += "\n" + left;
  for (const RunFacts& side : report.sides())
    for (const std::string& note : side.window ? side.meta.notes : std::vector<std::string>{})
      out += wrapped(told_name(note, kMostNote), layout.width);
  append_tables(out, report, RowKind::Failed, columns, layout, allowance);
  if (has_long_names(report)) out += kLongNames;
  return out;
}

}  // namespace ctprof
