#include "tools/ctprof/inputs/sides.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "core/archive/blocks.hpp"
#include "core/compare/figures/one_boot.hpp"
#include "core/file/file.hpp"
#include "core/window/laps.hpp"
#include "core/window/make_window.hpp"
#include "tools/ctprof/inputs/given.hpp"
#include "tools/ctprof/inputs/loaded.hpp"
#include "tools/ctprof/inputs/span_blocks.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

// Returns the only run of a file, or an error if the file holds several.
Result<Snapshot> only_run(Runs runs, const std::string& file) {
  if (runs.size() == 1) return std::move(runs.front());
  return error(
      "reading", file,
      "it holds " + std::to_string(runs.size()) + " windows; '" + file + "#1' is the first");
}

// The two snapshots of A..B.
Result<std::pair<Snapshot, Snapshot>> ends_of_pair(Loaded& pair) {
  std::vector<Snapshot> ends;
  for (std::size_t i = 0; i < 2; ++i) {
    auto run = only_run(std::move(pair.files[i]), pair.given.files[i]);
    if (!run) return run.error();
    if (run->window)
      return error("making a window of", pair.given.text,
                   "'" + pair.given.files[i] + "' is a window already; A..B takes two snapshots");
    ends.push_back(std::move(*run));
  }
  return std::pair(std::move(ends[0]), std::move(ends[1]));
}

Result<Snapshot> window_of_pair(Loaded& pair) {
  auto ends = ends_of_pair(pair);
  if (!ends) return ends.error();
  return window_between(ends->first, std::move(ends->second), pair.given.files[0],
                        pair.given.files[1]);
}

// For --lifetime, a window is represented by the state at its end.
Result<Snapshot> end_of_pair(Loaded& pair) {
  auto ends = ends_of_pair(pair);
  if (!ends) return ends.error();
  return std::move(ends->second);
}

// --- sides
// ----------------------------------------------------------------------------------------------

struct Side {
  std::string name;
  Runs runs;
  std::vector<std::string> files;  // for each run
};

bool is_snapshot(const Side& side) { return side.runs.size() == 1 && !side.runs.front().window; }

Side side_of(const std::string& name, Snapshot run) {
  Side side{name, {}, {name}};
  side.runs.push_back(std::move(run));
  return side;
}

std::vector<Side> only(Side side) {
  std::vector<Side> sides;
  sides.push_back(std::move(side));
  return sides;
}

// Adds the runs of an argument.
Result<void> add_runs(Side& side, Loaded& loaded, bool lifetime) {
  const auto add = [&](Snapshot run, const std::string& file) {
    side.runs.push_back(std::move(run));
    side.files.push_back(file);
  };
  if (loaded.given.form == Form::Pair) {
    auto run = lifetime ? end_of_pair(loaded) : window_of_pair(loaded);
    if (!run) return run.error();
    add(std::move(*run), loaded.given.text);
    return {};
  }
  for (std::size_t i = 0; i < loaded.files.size(); ++i)
    for (Snapshot& run : loaded.files[i])
      add(lifetime ? end_of(std::move(run)) : std::move(run), loaded.given.files[i]);
  return {};
}

// If a side has more arguments, its name mentions only the first.
constexpr std::size_t kMostNamedArguments = 3;

// "a, b, c", "a and 7 others"
std::string name_of(const LoadedSide& loaded) {
  std::string name = loaded.front().given.text;
  if (loaded.size() > kMostNamedArguments)
    return name + " and " + std::to_string(loaded.size() - 1) + " others";
  for (std::size_t at = 1; at < loaded.size(); ++at) name += ", " + loaded[at].given.text;
  return name;
}

Result<std::vector<Side>> sides_of(std::vector<LoadedSide> all, bool lifetime) {
  std::vector<Side> sides;
  for (LoadedSide& loaded : all) {
    Side& side = sides.emplace_back();
    side.name = name_of(loaded);
    for (Loaded& one : loaded) {
      if (auto added = add_runs(side, one, lifetime); !added) return added.error();
    }
  }
  return sides;
}

Sides handed_over(std::vector<Side> all) {
  Sides sides;
  for (Side& side : all) {
    if (side.runs.front().rows_in_file)
      std::ranges::move(side.files, std::back_inserter(sides.files));
    sides.names.push_back(std::move(side.name));
    sides.sizes.push_back(side.runs.size());
    std::ranges::move(side.runs, std::back_inserter(sides.runs));
  }
  return sides;
}

bool are_of_one_boot(std::span<const Side> sides) {
  return sides.size() == 2 && is_snapshot(sides[0]) && is_snapshot(sides[1]) &&
         of_one_boot(sides[0].runs.front().meta, sides[1].runs.front().meta);
}

// Converts two snapshots of one boot to a window.
Result<std::vector<Side>> as_window(std::vector<Side> sides) {
  const std::string before = sides[0].name, after = sides[1].name;
  auto window =
      window_between(sides[0].runs.front(), std::move(sides[1].runs.front()), before, after);
  if (!window) return window.error();
  return only(side_of(before + std::string(kPairMark) + after, std::move(*window)));
}

bool is_window(const Snapshot& run) { return run.window.has_value(); }

// "is a window", "are 3 snapshots"
std::string what_is(const Side& side) {
  const std::string kind = is_window(side.runs.front()) ? "window" : "snapshot";
  const std::size_t count = side.runs.size();
  return count == 1 ? "is a " + kind : "are " + std::to_string(count) + " " + kind + "s";
}

Error unlike(const Side& first, const Side& second) {
  return error(
      "comparing", first.name + "' and '" + second.name,
      "the first " + what_is(first) + " and the second " + what_is(second) +
          "; compare windows with windows, such as A..B of two snapshots; with --lifetime, "
          "compare a snapshot with the end of a window");
}

// Checks that all runs of a side are windows, or all are snapshots.
Result<void> check_alike(const Side& side) {
  const auto first = side.runs.begin();
  const auto other = std::ranges::find_if(
      side.runs, [&](const Snapshot& run) { return is_window(run) != is_window(*first); });
  if (other == side.runs.end()) return {};
  const auto file_of = [&](auto run) { return "'" + side.files[run - first] + "'"; };
  const auto [window, snapshot] =
      is_window(*first) ? std::pair(first, other) : std::pair(other, first);
  return error("reading", side.name,
               file_of(window) + " is a window and " + file_of(snapshot) +
                   " a snapshot; the runs of a side must be of one kind");
}

// Checks that windows are compared with windows, and snapshots with snapshots.
Result<void> check_alike(std::span<const Side> sides) {
  for (const Side& side : sides) {
    if (auto alike = check_alike(side); !alike) return alike;
    if (is_window(side.runs.front()) != is_window(sides.front().runs.front()))
      return unlike(sides.front(), side);
  }
  return {};
}

Result<std::vector<Side>> as_whole(Side side) {
  auto window = joined({0, side.runs.size()}, [&](std::size_t run) -> Result<Snapshot> {
    return std::move(side.runs[run]);
  });
  if (!window) return window.error();
  return only(side_of(std::move(side.name), std::move(*window)));
}

// Adds a snapshot of this host as another side.
Result<void> add_now(std::vector<Side>& sides, const TakeNow& take_now) {
  auto now = take_now();
  if (!now) return now.error();
  sides.push_back(side_of("now", std::move(*now)));
  return {};
}

bool compares_one(const Options& options) {
  return options.verb == "compare" && options.arguments.size() == 1 && options.vs.empty();
}

// Returns the state at the begin and at the end of one window or A..B. `read` holds the same
// argument twice.
Result<std::vector<Side>> both_ends(std::vector<LoadedSide> read) {
  Loaded &first = read[0].front(), &again = read[1].front();
  std::vector<Side> sides;
  if (first.given.form == Form::Pair) {
    auto ends = ends_of_pair(first);
    if (!ends) return ends.error();
    sides.push_back(side_of(first.given.files[0], std::move(ends->first)));
    sides.push_back(side_of(first.given.files[1], std::move(ends->second)));
    return sides;
  }
  Runs &begin = first.files.front(), &end = again.files.front();
  if (first.files.size() > 1 || begin.size() > 1)
    return error("comparing", first.given.text,
                 "it contains several windows, and --lifetime compares the two ends of one: select "
                 "it, such as FILE#1");
  const std::string& name = first.given.text;
  if (!begin.front().window) return only(side_of(name, std::move(begin.front())));
  sides.push_back(side_of(name + " (begin)", begin_of(std::move(begin.front()))));
  sides.push_back(side_of(name + " (end)", end_of(std::move(end.front()))));
  return sides;
}

Result<std::vector<Side>> read_lifetimes(const Options& options,
                                         std::vector<std::vector<Given>> asked,
                                         const Vocabulary& vocabulary, const TakeNow& take_now) {
  const bool is_one = compares_one(options);
  if (is_one) asked.push_back(asked.front());
  auto read = load_all(std::move(asked), vocabulary, options);
  if (!read) return read.error();
  auto sides = is_one ? both_ends(std::move(*read)) : sides_of(std::move(*read), true);
  if (!sides) return sides;
  if (is_one && sides->size() == 1)
    if (auto added = add_now(*sides, take_now); !added) return added.error();
  return sides;
}

Result<std::vector<Side>> alike_sides_of(std::vector<LoadedSide> read) {
  auto sides = sides_of(std::move(read), false);
  if (!sides) return sides;
  if (auto alike = check_alike(*sides); !alike) return alike.error();
  return sides;
}

Result<std::vector<Side>> read_windows(const Options& options,
                                       std::vector<std::vector<Given>> asked,
                                       const Vocabulary& vocabulary, const TakeNow& take_now,
                                       Rows rows) {
  if (rows == Rows::MayBeLater)
    if (auto outlines = load_outlines(asked, options)) return alike_sides_of(std::move(*outlines));
  const bool has_spans = compares_spans(asked);
  if (has_spans) {
    auto blocks = load_blocks(asked, vocabulary, options);
    if (!blocks) return blocks.error();
    if (*blocks) return alike_sides_of(std::move(**blocks));
  }
  auto read = load_all(std::move(asked), vocabulary, options);
  if (!read) return read.error();
  if (has_spans) mark_untested(*read);
  if (auto split = split_into_blocks(*read, options); !split) return split.error();
  const bool is_span = options.verb != "noise" && read->size() == 1 && is_one_span(read->front());
  auto sides = sides_of(std::move(*read), false);
  if (!sides) return sides;
  if (is_span) return as_whole(std::move(sides->front()));
  if (compares_one(options) && is_snapshot(sides->front()))
    if (auto added = add_now(*sides, take_now); !added) return added.error();
  if (auto alike = check_alike(*sides); !alike) return alike.error();
  return are_of_one_boot(*sides) ? as_window(std::move(*sides)) : std::move(sides);
}

}  // namespace

Result<Sides> read_sides(const Options& options, const Vocabulary& vocabulary,
                         const TakeNow& take_now, Rows rows) {
  std::vector<std::vector<Given>> asked;
  const auto found = without_privileges([&]() -> Result<void> {
    auto looked_up = look_up(options);
    if (!looked_up) return looked_up.error();
    asked = std::move(*looked_up);
    return {};
  });
  if (!found) return found.error();
  auto sides = options.lifetime
                   ? read_lifetimes(options, std::move(asked), vocabulary, take_now)
                   : read_windows(options, std::move(asked), vocabulary, take_now, rows);
  if (!sides) return sides.error();
  if (options.verb == "show" && sides->size() > 1)
    return Error{
        "show takes one recording, or two snapshots of one boot; to compare use "
        "`ctprof compare`"};
  return handed_over(std::move(*sides));
}

bool may_need_now(const Options& options) { return compares_one(options); }

}  // namespace ctprof::cli
