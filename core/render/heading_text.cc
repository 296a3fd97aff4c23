#include "core/render/heading_text.hpp"

#include <algorithm>
#include <map>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/phrases.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/sides_table.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

// At most this many runs of a side are described; --format json describes all.
constexpr std::size_t kMaxDescribedRuns = 8;
// At most this many kinds of events are summarized for a side.
constexpr std::size_t kMaxSummarizedEvents = 3;

std::string get_side_label(std::size_t side, std::size_t sides) {
  return sides == 1 ? "snapshot" : side_name(side);
}

// Returns how far apart two captures of the same boot began, by a clock that cannot be set.
std::string describe_distance(const Meta& a, const Meta& b) {
  const std::uint64_t x = a.start.boottime_ns, y = b.start.boottime_ns;
  return format_scaled(make_number(std::max(x, y) - std::min(x, y)), "ns") + " apart" +
         (y < x ? "; the candidate is older" : "");
}

std::string describe_relation(const Meta& a, const Meta& b) {
  std::string text;
  if (a.boot_id.empty() || b.boot_id.empty())
    text = "unknown whether both are from the same boot";
  else if (have_same_boot(a, b))
    text = "same boot, " + describe_distance(a, b);
  else
    text = a.hostname && b.hostname && a.hostname == b.hostname ? "same host, different boots"
                                                                : "different boots";
  if (a.hostname && b.hostname && a.hostname != b.hostname) text += ", different hosts";
  if (a.user_hz != b.user_hz)
    text += ", different clock ticks (" + std::to_string(a.user_hz) + " and " +
            std::to_string(b.user_hz) + " a second)";
  return text;
}

// Returns text such as "baseline 2", or "run 2" for the only side.
std::string get_run_name(const Report& report, std::size_t side, std::size_t run) {
  const std::string name = report.is_comparison() ? side_name(side) : "run";
  return report.runs(side).size() > 1 ? name + " " + std::to_string(run + 1) : name;
}

std::string describe_takeovers(const Report& report, std::size_t side) {
  std::string out;
  for (const Takeover& takeover : report.runs(side).front().meta.takeovers)
    out += get_side_label(side, report.sides().size()) + ": " +
           make_printable(describe_takeover(takeover)) + "\n";
  return out;
}

// Returns the lines about the runs of one side.
std::string describe_side(const Report& report, std::size_t side, const TextLayout& layout) {
  const auto runs = report.runs(side);
  std::string out = describe_takeovers(report, side);
  if (!runs.front().window) return out;
  const bool has_several_runs = runs.size() > 1;
  if (has_several_runs)
    out += format_accounted_runs(runs, get_side_label(side, report.sides().size()), layout.width);
  std::size_t shown = 0, omitted = 0;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const bool with_cpu = !has_several_runs || !is_accounted(runs[run]);
    const std::string text =
        format_window_summary(runs[run], get_run_name(report, side, run), layout.width, with_cpu);
    if (text.empty()) continue;
    if (shown == kMaxDescribedRuns) {
      ++omitted;
      continue;
    }
    ++shown;
    out += text;
  }
  if (omitted > 0) out += format_count(omitted, "more run") + "; see --format json\n";
  return out;
}

std::string make_relation_line(const Report& report, std::size_t side) {
  return (side > 1 ? side_name(side) + ": " : "") +
         describe_relation(report.sides()[0].meta, report.sides()[side].meta) + "\n";
}

}  // namespace

std::string format_heading(const Report& report, std::span<const std::string> files,
                           const TextLayout& layout) {
  const auto sides = report.sides();
  const bool is_one_run = sides.size() == 1 && report.runs(0).size() == 1;
  if (is_one_run && sides[0].window) return format_window_heading(sides[0], files[0], layout);
  std::string out = format_sides_table(report, files, layout);
  for (std::size_t side = 0; side < sides.size(); ++side)
    out += describe_side(report, side, layout);
  for (std::size_t side = 1; side < sides.size(); ++side) out += make_relation_line(report, side);
  return out + format_host_differences(report, layout) +
         describe_single_runs(report, layout.width) + format_order_notes(report, layout.width);
}

std::string format_runs_heading(const Report& report, std::span<const std::string> files,
                                const TextLayout& layout) {
  return format_sides_table(report, files, layout) + describe_other_boots(report) +
         format_host_differences(report, layout) + format_order_notes(report, layout.width);
}

namespace {

std::string count_of_runs(std::size_t count, std::size_t all) {
  return std::to_string(count) + " of " + format_count(all, "run");
}

// Returns a line for each event on the hosts, with the number of runs in which it occurred.
std::string summarize_events(std::span<const RunFacts> runs, const std::string& label,
                             std::size_t width) {
  std::map<std::string, std::size_t> runs_of_event;
  for (const RunFacts& run : runs)
    for (const std::string& note : run.window->notes) ++runs_of_event[note];
  std::string out;
  std::size_t shown = 0;
  for (const auto& [note, count] : runs_of_event)
    if (++shown <= kMaxSummarizedEvents)
      out += wrap_words(label + ", " + count_of_runs(count, runs.size()) + ": " +
                            make_printable_short(note, kMaxNoteBytes),
                        width);
  if (shown > kMaxSummarizedEvents)
    out += wrap_words(
        label + ": " + format_count(shown - kMaxSummarizedEvents, "more event") + " (--details)",
        width);
  return out;
}

// Returns a summary of what describe_side() describes run by run.
std::string summarize_side(const Report& report, std::size_t side, const TextLayout& layout) {
  const auto runs = report.runs(side);
  if (runs.size() == 1) return describe_side(report, side, layout);
  const std::string label = get_side_label(side, report.sides().size());
  std::string out = describe_takeovers(report, side);
  if (!runs.front().window) return out;
  const auto is_incomplete = [](const RunFacts& run) {
    return (run.window->accounting && !is_accounted(run)) ||
           list_window_remarks(run).size() > run.window->notes.size();
  };
  const auto incomplete = static_cast<std::size_t>(std::ranges::count_if(runs, is_incomplete));
  out += format_accounted_runs(runs, label, layout.width);
  if (incomplete > 0)
    out += wrap_words(label + ": CPU time of " + count_of_runs(incomplete, runs.size()) +
                          " is not fully accounted for (--details)",
                      layout.width);
  return out + summarize_events(runs, label, layout.width);
}

}  // namespace

std::string summarize_runs(const Report& report, const TextLayout& layout) {
  std::string out;
  if (!has_several_runs(report)) return out;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    out += summarize_side(report, side, layout);
  return out;
}

std::string describe_other_boots(const Report& report) {
  std::string out;
  for (std::size_t side = 1; side < report.sides().size(); ++side)
    if (!have_same_boot(report.sides()[0].meta, report.sides()[side].meta))
      out += make_relation_line(report, side);
  return out;
}

}  // namespace ctprof
