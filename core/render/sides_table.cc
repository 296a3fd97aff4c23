#include "core/render/sides_table.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/base/text.hpp"
#include "core/render/phrases.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

// Returns the minimum and maximum of the runs' windows, such as "18 to 2655".
std::string describe_range(std::span<const RunFacts> runs, std::uint64_t WindowRows::*count) {
  const auto [least, most] = std::ranges::minmax_element(
      runs, {}, [&](const RunFacts& run) { return run.window->rows.*count; });
  const std::string low = std::to_string(least->window->rows.*count),
                    high = std::to_string(most->window->rows.*count);
  return low == high ? low : low + " to " + high;
}

// Returns the cells for started and exited threads of windows.
std::vector<TextCell> make_turnover_cells(std::span<const RunFacts> runs) {
  const bool sees_ends =
      std::ranges::all_of(runs, [](const RunFacts& run) { return run.window->records_exits; });
  return {{describe_range(runs, &WindowRows::started)},
          {sees_ends ? describe_range(runs, &WindowRows::exited) : "not recorded"}};
}

// Returns the minimum width of file names; optional columns are omitted before names get shorter.
std::size_t get_min_file_width(std::size_t width) {
  return std::clamp<std::size_t>(width / 5, 8, 24);
}

}  // namespace

std::string describe_runs(std::span<const RunFacts> runs) {
  std::string text = runs.size() == 1 ? "" : std::to_string(runs.size());
  if (!runs.front().window) return text;
  const auto length = [](const RunFacts& run) { return run.window->length_ns; };
  const auto [shortest, longest] = std::ranges::minmax_element(runs, {}, length);
  const std::string least = format_window_length(*shortest), most = format_window_length(*longest);
  return text + (text.empty() ? "" : " of ") + least + (least == most ? "" : " to " + most);
}

std::string describe_hosts(std::span<const RunFacts> runs) {
  std::vector<std::string> names;
  for (const RunFacts& run : runs) {
    std::string name = run.meta.hostname ? make_printable_short(*run.meta.hostname) : "-";
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names.front() +
         (names.size() == 1 ? "" : " and " + format_count(names.size() - 1, "other"));
}

std::string format_sides_table(const Report& report, std::span<const std::string> files,
                               const TextLayout& layout) {
  const auto sides = report.sides();
  const bool has_runs_column = sides.front().window || has_several_runs(report);
  std::vector<TextColumn> columns{{"", Align::Left, 0, false},
                                  {"file", Align::Left, get_min_file_width(layout.width), false},
                                  {"host", Align::Left, 8, true},
                                  {"taken", Align::Left, 0, true},
                                  {"threads", Align::Right, 0, false},
                                  {"processes", Align::Right, 0, true}};
  const bool has_windows = sides.front().window.has_value();
  if (has_windows)
    for (const char* name : {"started", "exited"}) columns.push_back({name, Align::Right, 0, true});
  if (has_runs_column) columns.push_back({"runs", Align::Left, 0, false});
  TextTable table(std::move(columns));
  for (std::size_t side = 0; side < sides.size(); ++side) {
    const RunFacts& run = sides[side];
    const bool are_windows = sides.size() == 1 && run.window;
    std::vector<TextCell> cells{{are_windows              ? "windows"
                                 : report.is_comparison() ? side_name(side)
                                                          : "snapshot"},
                                {make_printable(files[side])},
                                {describe_hosts(report.runs(side))},
                                {format_utc(run.meta.start.wall_unix_ns)},
                                {std::to_string(run.threads())},
                                {std::to_string(run.processes())}};
    if (has_windows)
      std::ranges::move(make_turnover_cells(report.runs(side)), std::back_inserter(cells));
    if (has_runs_column) cells.push_back({describe_runs(report.runs(side))});
    table.add_row(std::move(cells));
  }
  std::string out;
  table.append_to(out, layout);
  return out;
}

}  // namespace ctprof
