#include "core/render/sides_table.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/render/report_sentences.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

// Returns the minimum and maximum of the runs' windows, such as "18 to 2655".
std::string range_in_words(std::span<const RunFacts> runs, std::uint64_t WindowRows::*count) {
  const auto [least, most] = std::ranges::minmax_element(
      runs, {}, [&](const RunFacts& run) { return run.window->rows.*count; });
  const std::string low = std::to_string(least->window->rows.*count),
                    high = std::to_string(most->window->rows.*count);
  return low == high ? low : low + " to " + high;
}

// Returns the cells for started and exited threads of windows.
std::vector<TextCell> came_and_went(std::span<const RunFacts> runs) {
  const bool sees_ends =
      std::ranges::all_of(runs, [](const RunFacts& run) { return run.window->sees_ends; });
  return {{range_in_words(runs, &WindowRows::born)},
          {sees_ends ? range_in_words(runs, &WindowRows::ended) : "not seen"}};
}

// Returns the minimum width of file names; optional columns are omitted before names get shorter.
std::size_t least_of_file(std::size_t width) { return std::clamp<std::size_t>(width / 5, 8, 24); }

}  // namespace

std::string runs_in_words(std::span<const RunFacts> runs) {
  std::string text = runs.size() == 1 ? "" : std::to_string(runs.size());
  if (!runs.front().window) return text;
  const auto length = [](const RunFacts& run) { return run.window->length_ns; };
  const auto [shortest, longest] = std::ranges::minmax_element(runs, {}, length);
  const std::string least = window_length(*shortest), most = window_length(*longest);
  return text + (text.empty() ? "" : " of ") + least + (least == most ? "" : " to " + most);
}

std::string hosts_in_words(std::span<const RunFacts> runs) {
  std::vector<std::string> names;
  for (const RunFacts& run : runs) {
    std::string name = run.meta.hostname ? told_name(*run.meta.hostname) : "-";
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names.front() + (names.size() == 1 ? "" : " and " + counted(names.size() - 1, "other"));
}

std::string table_of_sides(const Report& report, std::span<const std::string> files,
                           const TextLayout& layout) {
  const auto sides = report.sides();
  const bool tells_runs = sides.front().window || tells_several_runs(report);
  std::vector<TextColumn> columns{{"", Align::Left, 0, false},
                                  {"file", Align::Left, least_of_file(layout.width), false},
                                  {"host", Align::Left, 8, true},
                                  {"taken", Align::Left, 0, true},
                                  {"threads", Align::Right, 0, false},
                                  {"processes", Align::Right, 0, true}};
  const bool tells_windows = sides.front().window.has_value();
  if (tells_windows)
    for (const char* name : {"started", "exited"}) columns.push_back({name, Align::Right, 0, true});
  if (tells_runs) columns.push_back({"runs", Align::Left, 0, false});
  TextTable table(std::move(columns));
  for (std::size_t side = 0; side < sides.size(); ++side) {
    const RunFacts& run = sides[side];
    const bool are_windows = sides.size() == 1 && run.window;
    std::vector<TextCell> cells{{are_windows         ? "windows"
                                 : report.compares() ? side_name(side)
                                                     : "snapshot"},
                                {printable(files[side])},
                                {hosts_in_words(report.runs(side))},
                                {utc(run.meta.start.wall_unix_ns)},
                                {std::to_string(run.threads())},
                                {std::to_string(run.processes())}};
    if (tells_windows)
      std::ranges::move(came_and_went(report.runs(side)), std::back_inserter(cells));
    if (tells_runs) cells.push_back({runs_in_words(report.runs(side))});
    table.add(std::move(cells));
  }
  std::string out;
  table.append_to(out, layout);
  return out;
}

}  // namespace ctprof
