#include "core/page/page_facts.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/report/rows.hpp"
#include "core/page/html.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/screen_text.hpp"
#include "core/render/sides_table.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

// Limits on texts from files, which may have any length.
constexpr std::size_t kMostLines = 24, kMostHostLines = 40;
constexpr std::size_t kMostSentence = 600, kMostFile = 300;  // columns of text

std::string cut(std::string_view text) { return shortened(text, kMostSentence); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(cut(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

void begin_section(std::string& out, std::string_view id, std::string_view title) {
  out.append("<section aria-labelledby=\"").append(id).append("\">\n");
  append_line(out, "h2", title, "id=\"" + std::string(id) + "\"");
}

// Begins a table that scrolls by itself, also by keyboard, if it is wider than the screen.
void begin_table(std::string& out, std::string_view name, std::span<const char* const> columns) {
  out += "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"";
  append_markup(out, name);
  out += "\">\n<table>\n<thead><tr>";
  for (const char* column : columns) append_element(out, "th", column, "scope=\"col\"");
  out += "</tr></thead>\n<tbody>\n";
}

constexpr std::string_view kEndTable = "</tbody>\n</table>\n</div>\n";

std::string name_of(const Report& report, std::size_t side) {
  return report.compares() ? side_name(side) : "input";
}

// --- sides and hosts
// ------------------------------------------------------------------------------------------

void append_side(std::string& out, const Report& report, const std::string& file,
                 std::size_t side) {
  const RunFacts& run = report.sides()[side];
  out += "<tr>";
  append_element(out, "th", name_of(report, side), "scope=\"row\"");
  append_element(out, "td", shortened(printable(file), kMostFile));
  append_element(out, "td", cut(hosts_in_words(report.runs(side))));
  append_element(out, "td", utc(run.meta.start.wall_unix_ns));
  const std::string runs = runs_in_words(report.runs(side));
  append_element(out, "td", runs.empty() ? "a snapshot" : runs);
  append_element(out, "td", std::to_string(run.threads()), "class=\"n\"");
  append_element(out, "td", std::to_string(run.processes()), "class=\"n\"");
  out += "</tr>\n";
}

void append_host_lines(std::string& out, const std::vector<HostLine>& lines) {
  constexpr const char* kColumns[] = {"host", "baseline", "candidate"};
  begin_table(out, "How the hosts differ", kColumns);
  for (std::size_t at = 0; at < std::min(lines.size(), kMostHostLines); ++at) {
    out += "<tr>";
    append_element(out, "th", cut(lines[at].key), "scope=\"row\"");
    append_element(out, "td", lines[at].baseline);
    append_element(out, "td", lines[at].candidate);
    out += "</tr>\n";
  }
  out += kEndTable;
  if (lines.size() > kMostHostLines)
    append_line(out, "p",
                counted(lines.size() - kMostHostLines, "more difference") + " in --format json",
                "class=\"quiet\"");
}

void append_hosts(std::string& out, const Report& report) {
  std::vector<HostDifference> differences;
  bool is_known = false;
  tell(report, RowKind::Hosts, [&](const ReportRow& row) {
    if (row.kind == RowKind::Hosts) is_known = row.is_known;
    if (row.kind == RowKind::HostFact) differences.push_back(*row.difference);
  });
  if (!is_known)
    append_line(out, "p", "It is unknown whether the hosts differ: a file has no host context.");
  else if (differences.empty())
    append_line(out, "p",
                "Kernel, command line, tunables, CPUs and memory of the hosts are equal.");
  else
    append_host_lines(out, host_lines(std::move(differences)));
}

void append_settings(std::string& out, const Report& report) {
  std::vector<std::string> found;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    for (const RunFacts& run : report.runs(side))
      if (run.window)
        if (std::string said = settings_sentence(*run.window, 0); !said.empty()) {
          said.pop_back();
          found.push_back(cut(name_of(report, side) + ": " + said));
        }
  if (report.compares() && report.screen())
    for (const std::string& said : settings_between(report)) found.push_back(cut(said));
  if (found.empty()) return;
  append_line(out, "h3", "Settings that differ or changed");
  append_list(out, found, kMostLines);
}

}  // namespace

void append_sides(std::string& out, const Report& report, std::span<const std::string> files) {
  begin_section(out, "sides", report.compares() ? "Compared files" : "Input files");
  constexpr const char* kColumns[] = {"", "file", "host", "taken", "runs", "threads", "processes"};
  begin_table(out, "Sides", kColumns);
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    append_side(out, report, files[side], side);
  out += kEndTable;
  if (report.compares()) {
    for (const std::string& line : lines_of(other_boots(report))) append_line(out, "p", line);
    for (const std::string& line : lines_of(order_text(report, 0))) append_line(out, "p", line);
    append_hosts(out, report);
  }
  append_settings(out, report);
  out += "</section>\n";
}

void append_not_measured(std::string& out, const Report& report) {
  begin_section(out, "not-measured", "Metrics that were not measured, and why");
  const auto lines = lines_of(leftovers(report, 0));
  if (lines.empty())
    append_line(out, "p", "Every metric has values.");
  else
    append_list(out, lines, kMostLines);
  out += "</section>\n";
}

namespace {

// Adds the data that a run lacks: exited threads without a row, lost records, and notes.
void add_losses(std::vector<std::string>& found, const RunFacts& run, const std::string& who) {
  if (run.window) {
    const WindowFacts& window = *run.window;
    for (const auto& [count, what] :
         {std::pair(window.lost, "whose last values a full buffer dropped"),
          std::pair(window.unseen, "without any data"),
          std::pair(window.merged, "merged into the row of another thread")})
      if (count) found.push_back(who + ": " + counted(count, "exited thread") + " " + what);
    for (const std::string& line : lines_of(window_in_short(run, who, 0))) found.push_back(line);
  }
  for (const std::string& note : run.meta.notes)
    found.push_back(cut(who + ": " + told_name(note, kMostNote)));
  if (run.meta.rows_absent)
    found.push_back(who + ": " + counted(run.meta.rows_absent, "row") +
                    " exited before they could be read");
}

}  // namespace

void append_lost(std::string& out, const Report& report) {
  begin_section(out, "lost", "Lost data, and the notes of each run");
  std::vector<std::string> found;
  for (std::size_t side = 0; side < report.sides().size(); ++side) {
    const auto runs = report.runs(side);
    for (std::size_t at = 0; at < runs.size(); ++at) {
      const std::string number = runs.size() > 1 ? " " + std::to_string(at + 1) : "";
      add_losses(found, runs[at], name_of(report, side) + number);
    }
  }
  if (found.empty())
    append_line(out, "p", "No loss is known.");
  else
    append_list(out, found, kMostLines);
  out += "</section>\n";
}

}  // namespace ctprof
