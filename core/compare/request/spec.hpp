// The options of show and compare, parsed and checked before any file is opened.
//
// Whether a metric with a requested name exists depends on the files (figures/metric_plan.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/compare/request/path_glob.hpp"
#include "core/expression/condition.hpp"
#include "core/registry/metric_def.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof {

// Returns the name of a side: "baseline", "candidate", "candidate_2" ... Every side is compared
// with the first.
inline std::string side_name(std::size_t side) {
  if (side == 0) return "baseline";
  return side == 1 ? "candidate" : "candidate_" + std::to_string(side);
}

// The axis: the key by which threads are grouped.
enum class GroupBy : std::uint8_t {
  Pcomm,  // process name
  Cgroup,
  Comm,  // thread name
  CommExact,
  All,          // cgroup, process and thread together
  Pid,          // each process
  ProcessText,  // a text metric of processes
  Service,      // the unit, container or pod of the cgroup
  Tree,         // a process and its descendants
  Entity,       // the rows of an entity of a plugin, by their identity columns
};

// Returns the words of all axes except ProcessText and Entity, which are named by a metric and by
// an entity.
std::vector<std::string> axis_words();
// Parses an axis word. A word with a dot or an underscore is taken for a metric name; whether that
// metric exists is checked when the files are read (check_axis in grouping/key_families.hpp).
Result<GroupBy> parse_group_by(std::string_view word);

// Columns of the first screen that are not headlines.
inline constexpr std::string_view kThreadsColumn = "threads", kMovedColumn = "moved most";

// One sort key of rows: a word of the table in spec.cc, or the name of a metric or of a column of
// the first screen.
struct SortKey {
  enum class Criterion : std::uint8_t { Movers, Delta, Percent, Name, Metric };
  Criterion by = Criterion::Movers;
  std::string metric;
  bool ascending = false;
};

enum class ReportKind : std::uint8_t { Show, Compare };

// Parses "run_time_ns:asc,name,-%wait". The direction is optional: `asc` for `name`, otherwise
// `desc`; a minus before the word reverses it. "moved most" becomes Movers with that text as its
// metric. Empty entries, duplicates, unknown directions, and sorting by differences under show are
// errors.
Result<std::vector<SortKey>> parse_sort(std::string_view text, ReportKind kind);

// Returns the words that rows can be sorted by, without metric names.
std::vector<std::string> sort_words(ReportKind kind);

// Parses "a,b,c". Empty entries and duplicates are errors; the error quotes `option`.
Result<std::vector<std::string>> parse_names(std::string_view text, std::string_view option);

// Parses section names in the same way, ignoring case.
Result<std::vector<std::string>> parse_sections(std::string_view text);

// Options that determine how cgroup paths become group keys.
struct CgroupNaming {
  std::vector<PathGlob> flatten_globs{};
  bool only_globs = false;  // apply only the globs, not the patterns
};

// Conditions for calling a difference between sides with several runs significant.
struct SignificanceThreshold {
  double alpha = 0.05;   // p must be at most this
  double min_shift = 0;  // minimum distance of the interval from zero, as a fraction
};

struct Spec {
  GroupBy group_by = GroupBy::Pcomm;
  std::string group_metric{};      // only for ProcessText; for Entity, the name of the entity
  Entity entity = Entity::Thread;  // the kind of the rows that are grouped and that --where selects
  // Keeps names of processes and threads unchanged, and shows process metrics for each process.
  bool literal_names = false;
  CgroupNaming cgroups{};
  // Under Pcomm, shows processes with the same name in different cgroups as different groups. Only
  // for windows.
  bool divides_by_cgroup = false;
  std::vector<std::string> metrics{};   // empty: all
  std::vector<std::string> sections{};  // empty: all
  std::vector<std::string> plugins{};   // only metrics that these plugins filled; empty: all
  std::vector<SortKey> sort{};          // empty: movers under compare, name under show
  std::size_t limit = 0;                // lines per section; 0: all
  bool rate = false;                    // also show differences per second
  bool busiest = true;                  // also show the busiest thread of each group
  // Omits and counts rows that did not change; under show, rows that are zero.
  bool only_changed = false;
  WhereConditions where{};           // restricts threads and groups
  std::vector<DerivedDef> derive{};  // metrics that the user defines
  std::vector<Condition> fail_on{};  // selects rows for exit status 1
  // Selects the groups whose headlines are tested separately.
  std::optional<Condition> about{};
  // Called once for a comparison of sides with several runs, with a key for these runs. Records the
  // comparison, and returns whether the user has already seen a comparison of these runs that did
  // not select these groups. Empty function: unknown.
  std::function<bool(std::string_view)> record_comparison{};
  SignificanceThreshold significance{};
  bool folds_waits = true;  // text also shows wait stacks without kernel frames
  // Functions of stacks are tested and ordered by their share of their group, not by their weight.
  bool tests_shares = false;
  bool tests_rows = true;  // section rows have p values and are ordered by them
  // The number of runs of each side, in the order of the runs; empty: each run is a side.
  std::vector<std::size_t> side_sizes{};
};

// The runs of one side, as a range of all runs that are read.
struct SideRuns {
  std::size_t first = 0, count = 1;
};
// Divides the runs among the sides. REQUIRES: Spec::side_sizes is empty, or its sum is `runs`.
std::vector<SideRuns> divide_into_sides(const Spec& spec, std::size_t runs);

// Sets the axis Entity. Fails if the text is not the name of an entity of a plugin; whether the
// input has that entity is checked when the files are read (check_axis in
// grouping/key_families.hpp).
Result<void> select_entity(Spec& spec, std::string_view name);

// Returns the word of the axis as the user wrote it.
std::string_view axis_word(const Spec& spec);

// Returns the heading of the first column of the first screen: "process", or the axis word.
std::string group_column(const Spec& spec);
// Returns whether the word names that column.
bool is_group_column_name(std::string_view word, const Spec& spec);

// The section that shows functions and stacks of every metric that has stacks.
inline constexpr std::string_view kStacksSection = "stacks";

// Returns the section with this name from the table of ctprof/newtypes.hpp, or null.
const SectionInfo* find_section(std::string_view name);

// Returns a sort key for sections: the table's sections in its order, then third-party sections by
// name.
std::tuple<std::size_t, std::string_view> section_sort_key(std::string_view name);

// Returns a message for each requested section that needs another axis.
std::vector<std::string> describe_misplaced_sections(const Spec& spec);

}  // namespace ctprof
