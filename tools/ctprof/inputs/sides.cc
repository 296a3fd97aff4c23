#include "tools/ctprof/inputs/sides.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "core/archive/blocks.hpp"
#include "core/base/text.hpp"
#include "core/compare/figures/one_boot.hpp"
#include "core/file/file.hpp"
#include "core/window/join_windows.hpp"
#include "core/window/make_window.hpp"
#include "tools/ctprof/inputs/capture_arguments.hpp"
#include "tools/ctprof/inputs/loaded_arguments.hpp"
#include "tools/ctprof/inputs/span_blocks.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

// Returns the only run of a file, or an error if the file holds several.
Result<Snapshot> take_only_run(Runs runs, const std::string& file) {
  if (runs.size() == 1) return std::move(runs.front());
  return error(
      "reading", file,
      "it holds " + std::to_string(runs.size()) + " windows; select one, such as '" + file + "#1'");
}

// The two snapshots of A..B.
Result<std::pair<Snapshot, Snapshot>> take_pair_snapshots(LoadedArgument& pair) {
  std::vector<Snapshot> ends;
  for (std::size_t i = 0; i < 2; ++i) {
    CTPROF_TRY_VALUE(auto run, take_only_run(std::move(pair.files[i]), pair.argument.files[i]));
    if (run.window)
      return error(
          "making a window of", pair.argument.text,
          "'" + pair.argument.files[i] + "' is already a window; A..B takes two snapshots");
    ends.push_back(std::move(run));
  }
  return std::pair(std::move(ends[0]), std::move(ends[1]));
}

Result<Snapshot> make_pair_window(LoadedArgument& pair) {
  CTPROF_TRY_VALUE(auto ends, take_pair_snapshots(pair));
  return window_between(ends.first, std::move(ends.second), pair.argument.files[0],
                        pair.argument.files[1]);
}

// For --lifetime, a window is represented by the state at its end.
Result<Snapshot> take_pair_end(LoadedArgument& pair) {
  CTPROF_TRY_VALUE(auto ends, take_pair_snapshots(pair));
  return std::move(ends.second);
}

// --- sides
// ----------------------------------------------------------------------------------------------

struct Side {
  std::string name;
  Runs runs;
  std::vector<std::string> files;  // for each run
};

bool is_snapshot(const Side& side) { return side.runs.size() == 1 && !side.runs.front().window; }

Side make_side(const std::string& name, Snapshot run) {
  Side side{name, {}, {name}};
  side.runs.push_back(std::move(run));
  return side;
}

std::vector<Side> make_single_side(Side side) {
  std::vector<Side> sides;
  sides.push_back(std::move(side));
  return sides;
}

// Adds the runs of an argument.
Result<void> add_runs(Side& side, LoadedArgument& loaded, bool lifetime) {
  const auto add = [&](Snapshot run, const std::string& file) {
    side.runs.push_back(std::move(run));
    side.files.push_back(file);
  };
  if (loaded.argument.form == ArgumentForm::Pair) {
    CTPROF_TRY_VALUE(auto run, lifetime ? take_pair_end(loaded) : make_pair_window(loaded));
    add(std::move(run), loaded.argument.text);
    return {};
  }
  for (std::size_t i = 0; i < loaded.files.size(); ++i)
    for (Snapshot& run : loaded.files[i])
      add(lifetime ? closing_snapshot(std::move(run)) : std::move(run), loaded.argument.files[i]);
  return {};
}

// If a side has more arguments, its name mentions only the first.
constexpr std::size_t kMaxNamedArguments = 3;

// "a, b, c", "a and 7 others"
std::string make_side_name(const LoadedSide& loaded) {
  std::string name = loaded.front().argument.text;
  if (loaded.size() > kMaxNamedArguments)
    return name + " and " + std::to_string(loaded.size() - 1) + " others";
  for (std::size_t at = 1; at < loaded.size(); ++at) name += ", " + loaded[at].argument.text;
  return name;
}

Result<std::vector<Side>> make_sides(std::vector<LoadedSide> all, bool lifetime) {
  std::vector<Side> sides;
  for (LoadedSide& loaded : all) {
    Side& side = sides.emplace_back();
    side.name = make_side_name(loaded);
    for (LoadedArgument& argument : loaded) {
      CTPROF_TRY(add_runs(side, argument, lifetime));
    }
  }
  return sides;
}

Sides merge_sides(std::vector<Side> all) {
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
         have_same_boot(sides[0].runs.front().meta, sides[1].runs.front().meta);
}

// Converts two snapshots of the same boot to a window.
Result<std::vector<Side>> join_snapshots(std::vector<Side> sides) {
  const std::string before = sides[0].name, after = sides[1].name;
  CTPROF_TRY_VALUE(auto window, window_between(sides[0].runs.front(),
                                               std::move(sides[1].runs.front()), before, after));
  return make_single_side(
      make_side(before + std::string(kPairSeparator) + after, std::move(window)));
}

bool is_window(const Snapshot& run) { return run.window.has_value(); }

// "is a window", "are 3 snapshots"
std::string describe_contents(const Side& side) {
  const std::string kind = is_window(side.runs.front()) ? "window" : "snapshot";
  const std::size_t count = side.runs.size();
  return count == 1 ? "is a " + kind : "are " + ctprof::format_count(count, kind);
}

Error mismatch_error(const Side& first, const Side& second) {
  return error(
      "comparing", first.name + "' and '" + second.name,
      "the first " + describe_contents(first) + " and the second " + describe_contents(second) +
          "; compare windows with windows, such as A..B of two snapshots; with --lifetime, "
          "compare a snapshot with the end of a window");
}

// Checks that all runs of a side are windows, or all are snapshots.
Result<void> check_same_kind(const Side& side) {
  const auto first = side.runs.begin();
  const auto other = std::ranges::find_if(
      side.runs, [&](const Snapshot& run) { return is_window(run) != is_window(*first); });
  if (other == side.runs.end()) return {};
  const auto file_of = [&](auto run) { return "'" + side.files[run - first] + "'"; };
  const auto [window, snapshot] =
      is_window(*first) ? std::pair(first, other) : std::pair(other, first);
  return error("reading", side.name,
               file_of(window) + " is a window and " + file_of(snapshot) +
                   " a snapshot; the runs of a side must be of the same kind");
}

// Checks that windows are compared with windows, and snapshots with snapshots.
Result<void> check_same_kind(std::span<const Side> sides) {
  for (const Side& side : sides) {
    CTPROF_TRY(check_same_kind(side));
    if (is_window(side.runs.front()) != is_window(sides.front().runs.front()))
      return mismatch_error(sides.front(), side);
  }
  return {};
}

Result<std::vector<Side>> join_windows(Side side) {
  CTPROF_TRY_VALUE(auto window,
                   join_block({0, side.runs.size()}, [&](std::size_t run) -> Result<Snapshot> {
                     return std::move(side.runs[run]);
                   }));
  return make_single_side(make_side(std::move(side.name), std::move(window)));
}

// Adds a snapshot of this host as another side.
Result<void> add_host_snapshot(std::vector<Side>& sides, const TakeSnapshot& take_snapshot) {
  CTPROF_TRY_VALUE(auto snapshot, take_snapshot());
  sides.push_back(make_side("now", std::move(snapshot)));
  return {};
}

bool compares_single_argument(const InputOptions& options) {
  return options.command_name == "compare" && options.arguments.size() == 1 && options.vs.empty();
}

// Returns the state at the start and at the end of one window or A..B. `read` holds the same
// argument twice.
Result<std::vector<Side>> split_window_ends(std::vector<LoadedSide> read) {
  LoadedArgument &first = read[0].front(), &second = read[1].front();
  std::vector<Side> sides;
  if (first.argument.form == ArgumentForm::Pair) {
    CTPROF_TRY_VALUE(auto ends, take_pair_snapshots(first));
    sides.push_back(make_side(first.argument.files[0], std::move(ends.first)));
    sides.push_back(make_side(first.argument.files[1], std::move(ends.second)));
    return sides;
  }
  Runs &begin = first.files.front(), &end = second.files.front();
  if (first.files.size() > 1 || begin.size() > 1)
    return error(
        "comparing", first.argument.text,
        "it contains several windows, but --lifetime compares the start and the end of one "
        "window; select one, for example FILE#1");
  const std::string& name = first.argument.text;
  if (!begin.front().window) return make_single_side(make_side(name, std::move(begin.front())));
  sides.push_back(make_side(name + " (begin)", opening_snapshot(std::move(begin.front()))));
  sides.push_back(make_side(name + " (end)", closing_snapshot(std::move(end.front()))));
  return sides;
}

Result<std::vector<Side>> read_lifetimes(const InputOptions& options,
                                         std::vector<std::vector<CaptureArgument>> arguments,
                                         const Vocabulary& vocabulary,
                                         const TakeSnapshot& take_snapshot) {
  const bool is_one = compares_single_argument(options);
  if (is_one) arguments.push_back(arguments.front());
  CTPROF_TRY_VALUE(auto read, load_arguments(std::move(arguments), vocabulary, options));
  CTPROF_TRY_VALUE(auto sides,
                   is_one ? split_window_ends(std::move(read)) : make_sides(std::move(read), true));
  if (is_one && sides.size() == 1) CTPROF_TRY(add_host_snapshot(sides, take_snapshot));
  return sides;
}

Result<std::vector<Side>> make_matching_sides(std::vector<LoadedSide> read) {
  CTPROF_TRY_VALUE(auto sides, make_sides(std::move(read), false));
  CTPROF_TRY(check_same_kind(sides));
  return sides;
}

Result<std::vector<Side>> read_windows(const InputOptions& options,
                                       std::vector<std::vector<CaptureArgument>> arguments,
                                       const Vocabulary& vocabulary,
                                       const TakeSnapshot& take_snapshot, RowLoading row_loading) {
  if (row_loading == RowLoading::MayBeDeferred)
    if (auto outlines = load_outlines(arguments, options))
      return make_matching_sides(std::move(*outlines));
  const bool has_spans = compares_spans(arguments);
  if (has_spans) {
    CTPROF_TRY_VALUE(auto blocks, load_blocks(arguments, vocabulary, options));
    if (blocks) return make_matching_sides(std::move(*blocks));
  }
  CTPROF_TRY_VALUE(auto read, load_arguments(std::move(arguments), vocabulary, options));
  if (has_spans) mark_untested(read);
  CTPROF_TRY(split_into_blocks(read, options));
  const bool is_span =
      options.command_name != "noise" && read.size() == 1 && is_one_span(read.front());
  CTPROF_TRY_VALUE(auto sides, make_sides(std::move(read), false));
  if (is_span) return join_windows(std::move(sides.front()));
  if (compares_single_argument(options) && is_snapshot(sides.front()))
    CTPROF_TRY(add_host_snapshot(sides, take_snapshot));
  CTPROF_TRY(check_same_kind(sides));
  return are_of_one_boot(sides) ? join_snapshots(std::move(sides)) : std::move(sides);
}

}  // namespace

Result<Sides> read_sides(const InputOptions& options, const Vocabulary& vocabulary,
                         const TakeSnapshot& take_snapshot, RowLoading row_loading) {
  std::vector<std::vector<CaptureArgument>> arguments;
  CTPROF_TRY(without_privileges([&]() -> Result<void> {
    auto resolved = resolve_arguments(options);
    if (!resolved) return resolved.error();
    arguments = std::move(*resolved);
    return {};
  }));
  CTPROF_TRY_VALUE(
      auto sides,
      options.lifetime
          ? read_lifetimes(options, std::move(arguments), vocabulary, take_snapshot)
          : read_windows(options, std::move(arguments), vocabulary, take_snapshot, row_loading));
  if (options.command_name == "show" && sides.size() > 1)
    return Error{
        "show takes one recording, or two snapshots of the same boot; to compare use "
        "`ctprof compare`"};
  return merge_sides(std::move(sides));
}

bool may_need_host_snapshot(const InputOptions& options) {
  return compares_single_argument(options);
}

}  // namespace ctprof::cli
