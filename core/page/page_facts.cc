#include "core/page/page_facts.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "core/compare/figures/run_losses.hpp"
#include "core/compare/report/rows.hpp"
#include "core/compare/request/spec.hpp"
#include "core/page/html.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/heading_text.hpp"
#include "core/render/loss_text.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/screen_text.hpp"
#include "core/render/sides_table.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

// Limits on the length of texts from files, which may be hostile.
constexpr std::size_t kMaxLines = 24, kMaxHostLines = 40;
constexpr std::size_t kMaxSentenceWidth = 600, kMaxFileWidth = 300;  // columns of text

std::string shorten_sentence(std::string_view text) { return shorten(text, kMaxSentenceWidth); }

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(shorten_sentence(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

void begin_section(std::string& out, std::string_view id, std::string_view title) {
  out.append("<section aria-labelledby=\"").append(id).append("\">\n");
  append_line(out, "h2", title, "id=\"" + std::string(id) + "\"");
}

// Begins a table that scrolls by itself, by pointer or keyboard, if it is wider than the screen.
void begin_table(std::string& out, std::string_view name, std::span<const char* const> columns) {
  out += "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"";
  append_markup(out, name);
  out += "\">\n<table>\n<thead><tr>";
  for (const char* column : columns) append_element(out, "th", column, "scope=\"col\"");
  out += "</tr></thead>\n<tbody>\n";
}

constexpr std::string_view kEndTable = "</tbody>\n</table>\n</div>\n";

std::string get_side_label(const Report& report, std::size_t side) {
  return report.is_comparison() ? side_name(side) : "input";
}

// --- sides and hosts
// ------------------------------------------------------------------------------------------

void append_side(std::string& out, const Report& report, const std::string& file,
                 std::size_t side) {
  const RunFacts& run = report.sides()[side];
  out += "<tr>";
  append_element(out, "th", get_side_label(report, side), "scope=\"row\"");
  append_element(out, "td", shorten(make_printable(file), kMaxFileWidth));
  append_element(out, "td", shorten_sentence(describe_hosts(report.runs(side))));
  append_element(out, "td", format_utc(run.meta.start.wall_unix_ns));
  const std::string runs = describe_runs(report.runs(side));
  append_element(out, "td", runs.empty() ? "a snapshot" : runs);
  append_element(out, "td", std::to_string(run.threads()), "class=\"n\"");
  append_element(out, "td", std::to_string(run.processes()), "class=\"n\"");
  out += "</tr>\n";
}

void append_host_lines(std::string& out, const std::vector<HostDifferenceLine>& lines) {
  constexpr const char* kColumns[] = {"host", "baseline", "candidate"};
  begin_table(out, "How the hosts differ", kColumns);
  for (std::size_t at = 0; at < std::min(lines.size(), kMaxHostLines); ++at) {
    out += "<tr>";
    append_element(out, "th", shorten_sentence(lines[at].key), "scope=\"row\"");
    append_element(out, "td", lines[at].baseline);
    append_element(out, "td", lines[at].candidate);
    out += "</tr>\n";
  }
  out += kEndTable;
  if (lines.size() > kMaxHostLines)
    append_line(out, "p",
                format_count(lines.size() - kMaxHostLines, "more difference") + " in --format json",
                "class=\"quiet\"");
}

void append_hosts(std::string& out, const Report& report) {
  std::vector<HostDifference> differences;
  bool is_known = false;
  for (std::size_t side = 1; side < report.sides().size(); ++side) {
    auto side_differences = host_differences(report.runs(0), report.runs(side));
    is_known = side_differences.has_value();
    if (is_known) std::ranges::move(*side_differences, std::back_inserter(differences));
  }
  if (!is_known)
    append_line(out, "p", "It is unknown whether the hosts differ: a file has no host context.");
  else if (differences.empty())
    append_line(out, "p",
                "Kernel, command line, tunables, CPUs and memory of the hosts are equal.");
  else
    append_host_lines(out, make_host_lines(std::move(differences)));
}

void append_settings(std::string& out, const Report& report) {
  std::vector<std::string> found;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    for (const RunFacts& run : report.runs(side))
      if (run.window)
        if (std::string sentence = format_setting_changes(*run.window, 0); !sentence.empty()) {
          sentence.pop_back();
          found.push_back(shorten_sentence(get_side_label(report, side) + ": " + sentence));
        }
  if (report.is_comparison() && report.screen())
    for (const std::string& sentence : find_setting_differences(report))
      found.push_back(shorten_sentence(sentence));
  if (found.empty()) return;
  append_line(out, "h3", "Settings that differ or changed");
  append_list(out, found, kMaxLines);
}

}  // namespace

void append_sides(std::string& out, const Report& report, std::span<const std::string> files) {
  begin_section(out, "sides", report.is_comparison() ? "Compared files" : "Input files");
  constexpr const char* kColumns[] = {"", "file", "host", "taken", "runs", "threads", "processes"};
  begin_table(out, "Sides", kColumns);
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    append_side(out, report, files[side], side);
  out += kEndTable;
  if (report.is_comparison()) {
    for (const std::string& line : split_lines(describe_other_boots(report)))
      append_line(out, "p", line);
    for (const std::string& line :
         split_lines(describe_single_runs(report, 0) + format_order_notes(report, 0)))
      append_line(out, "p", line);
    append_hosts(out, report);
  }
  append_settings(out, report);
  out += "</section>\n";
}

void append_missing_metrics(std::string& out, const Report& report) {
  begin_section(out, "not-measured", "Metrics that were not measured, and why");
  const auto lines = split_lines(format_missing_metrics_and_notes(report, 0));
  if (lines.empty())
    append_line(out, "p", "Every metric has values.");
  else
    append_list(out, lines, kMaxLines);
  out += "</section>\n";
}

namespace {

// Adds the data that a run lacks, the accounting of its CPU time, and notes.
void add_losses(std::vector<std::string>& found, const RunFacts& run, const std::string& label) {
  const auto add = [&](const std::string& text) {
    found.push_back(shorten_sentence(label + ": " + text));
  };
  for (const Loss& loss : find_losses(run)) add(describe_loss(loss));
  if (run.window && run.window->accounting) add(describe_accounting(*run.window));
  if (run.window)
    for (const std::string& note : run.window->notes)
      add(make_printable_short(note, kMaxNoteBytes));
  for (const std::string& note : run.meta.notes) add(make_printable_short(note, kMaxNoteBytes));
}

}  // namespace

void append_lost_data(std::string& out, const Report& report) {
  begin_section(out, "lost", "Lost data, and the notes of each run");
  std::vector<std::string> found;
  for (std::size_t side = 0; side < report.sides().size(); ++side) {
    const auto runs = report.runs(side);
    for (std::size_t at = 0; at < runs.size(); ++at) {
      const std::string number = runs.size() > 1 ? " " + std::to_string(at + 1) : "";
      add_losses(found, runs[at], get_side_label(report, side) + number);
    }
  }
  if (found.empty())
    append_line(out, "p", "No loss is known.");
  else
    append_list(out, found, kMaxLines);
  out += "</section>\n";
}

}  // namespace ctprof
