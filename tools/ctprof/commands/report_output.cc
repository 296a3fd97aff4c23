#include "tools/ctprof/commands/report_output.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/compare/report/report.hpp"
#include "core/compare/report/screen_order.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/entity_table.hpp"
#include "core/render/heading_text.hpp"
#include "core/render/report_csv.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/report_text.hpp"
#include "core/render/screen_text.hpp"
#include "core/render/sleeping_stacks_text.hpp"
#include "core/render/stacks_text.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/inputs/capture_arguments.hpp"
#include "tools/ctprof/inputs/screen_metrics.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// Prints notes about data that CSV cannot represent.
void note_csv_omissions(const Report& report, std::size_t left_out, const ReportOptions& options) {
  if (left_out > 0) print_note(options, describe_omitted_rows(left_out));
  for (const std::string& sentence : report.notes()) print_note(options, make_printable(sentence));
  if (report.screen() && !report.screen()->about_rows.empty())
    print_note(options, "CSV does not contain the rows of --about; use --format json");
  for (const RunFacts& side : report.sides())
    for (const Takeover& takeover : side.meta.takeovers)
      print_note(options, describe_takeover(takeover));
  for (const CgroupRename& rename : report.grouping().renames)
    print_note(options, describe_rename(rename));
  for (const Section& section : report.sections())
    if (section.over_limit)
      print_note(options, "section '" + make_printable(section.name) +
                              "': " + ctprof::format_count(section.over_limit, "more row") +
                              " beyond --limit");
  for (const Section& section : report.sections())
    if (section.keys_over_limit)
      print_note(options, "section '" + make_printable(section.name) +
                              "': " + ctprof::format_count(section.keys_over_limit, "more key") +
                              " of a map beyond --limit");
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    if (const std::size_t cut = report.one_sided_groups(side).over_limit)
      print_note(options, "only in the " + side_name(side) + ": " +
                              ctprof::format_count(cut, "more group") + " beyond --limit");
}

// Writes to standard output. When write() fails, the error has been printed.
class StdoutSink final : public Sink {
 public:
  Result<void> write(std::string_view text) override {
    status = print(text);
    if (status != kSuccess) return error("writing", "standard output", "the write failed");
    return {};
  }
  int status = kSuccess;
};

// Sorting by metrics applies only to tables; sorting by columns of the screen does not.
bool shows_screen(const Report& report, const ReportOptions& options) {
  const bool is_entity = report.spec().group_by == GroupBy::Entity;
  if (!report.screen() || is_entity || wants_details(options)) return false;
  return options.sort_by.empty() || sort_keys_are_columns(report.spec(), *report.screen());
}

// Returns whether the report is one table with a row for each object of an entity. Only the tables
// of single metrics show the significance of changes between sides with several runs.
bool shows_entity_table(const Report& report, const ReportOptions& options) {
  return report.spec().group_by == GroupBy::Entity && !prints_tables(options) &&
         !(report.is_comparison() && has_several_runs(report));
}

std::string text_of(const Report& report, std::span<const std::string> files,
                    const ColumnChoice& columns, const ReportOptions& options) {
  const TextLayout layout{terminal_width(), use_color(options), options.wrap};
  if (shows_entity_table(report, options))
    return (report.sides().front().window ? format_screen_opening(report, files, layout)
                                          : format_heading(report, files, layout)) +
           format_entity_table(report, layout);
  if (shows_screen(report, options))
    return format_screen(report, files,
                         {layout, terminal_lines(), options.limit, std::string(kRecordWaitsCommand),
                          make_span_command(options)}) +
           format_stacks(report, layout, options.limit, options.shows_idle);
  const bool has_selection = !report.spec().sections.empty() || !report.spec().metrics.empty();
  return format_report_text(report, files, columns, layout,
                            format_sleeping_stacks(report, layout, options.limit)) +
         (has_selection && !options.details
              ? format_stacks(report, layout, options.limit, options.shows_idle)
              : "");
}

int print_report(const Report& report, std::span<const std::string> files,
                 const ColumnChoice& columns, const ReportOptions& options) {
  if (options.format == Format::Text)
    return print_paged(options, text_of(report, files, columns, options));
  StdoutSink sink;
  if (options.format == Format::Json) {
    if (!write_report_json(report, files, sink)) return sink.status;
  } else if (const auto left_out = write_report_csv(report, sink, options.csv_safe)) {
    note_csv_omissions(report, *left_out, options);
  }
  return sink.status;
}

}  // namespace

Result<void> PrintedReportOptions::check(const CommandLine& line) {
  if (csv_safe && format != Format::Csv) return Error{"--csv-safe requires --format csv"};
  return ReportOptions::check(line);
}

int print_requested_report(const PrintedReportOptions& options) {
  return make_and_print_report(options, [&](const Report& report,
                                            std::span<const std::string> files,
                                            const ColumnChoice& columns) {
    const int status = print_report(report, files, columns, options);
    return status == kSuccess && !report.fail_on_section().rows.empty() ? kFindingsFound : status;
  });
}

}  // namespace ctprof::cli
