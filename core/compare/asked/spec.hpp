// What the user asks of show and compare, read and checked before any file is opened.
//
// Whether a metric of that name exists depends on the files (figures/metric_plan.hpp).

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
#include "core/compare/asked/expressions.hpp"
#include "core/compare/asked/path_glob.hpp"
#include "core/expression/condition.hpp"
#include "core/registry/metric_def.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof {

// What the sides of a comparison are called: "baseline", "candidate", "candidate_2" ... All are
// compared with the first.
inline std::string side_name(std::size_t side) {
  if (side == 0) return "baseline";
  return side == 1 ? "candidate" : "candidate_" + std::to_string(side);
}

// The axis: what threads are grouped by.
enum class GroupBy : std::uint8_t {
  Pcomm,  // the process's name
  Cgroup,
  Comm,  // the thread's name
  CommExact,
  All,          // cgroup, process and thread at once
  Pid,          // each process
  ProcessText,  // a text metric of processes
  Service,      // the unit, container or pod of the cgroup
  Tree,         // a process and all that it started
};

// All but ProcessText, which is named by its metric.
std::vector<std::string> axis_words();
// A word with a dot or an underscore is taken for a metric's name. Whether there is such a metric
// turns out when the files are read (grouping/process_keys.hpp).
Result<GroupBy> parse_group_by(std::string_view word);

// Columns of the first screen beside headlines.
inline constexpr std::string_view kThreadsColumn = "threads", kMovedColumn = "moved most";

// What rows are sorted by: a word of the table in spec.cc, or else a metric's name or a column of
// the first screen.
struct SortKey {
  enum class By : std::uint8_t { Movers, Delta, Percent, Name, Metric };
  By by = By::Movers;
  std::string metric;
  bool ascending = false;
};

enum class ReportKind : std::uint8_t { Show, Compare };

// Parses "run_time_ns:asc,name,-%wait". The direction is optional: `asc` for `name`, otherwise
// `desc`; a minus before the word reverses it. "moved most" is Movers with that as its metric.
// Empty entries, duplicates and unknown directions are errors, and so is sorting by differences
// under show.
Result<std::vector<SortKey>> parse_sort(std::string_view text, ReportKind kind);

// What rows can be sorted by besides metrics.
std::vector<std::string> sort_words(ReportKind kind);

// Parses "a,b,c". Empty entries and duplicates are errors, which quote `option`.
Result<std::vector<std::string>> parse_names(std::string_view text, std::string_view option);

// The same for sections. Upper and lower case are the same.
Result<std::vector<std::string>> parse_sections(std::string_view text);

// How cgroup paths become keys.
struct CgroupNaming {
  std::vector<PathGlob> flatten{};
  bool literal = false;  // no patterns, only the globs
};

// What a difference between sides of several runs has to reach to be called proven.
struct Bar {
  double alpha = 0.05;   // p is at most that
  double min_shift = 0;  // and its interval lies at least so far from none, as a fraction
};

struct Spec {
  GroupBy group_by = GroupBy::Pcomm;
  std::string group_metric{};  // of ProcessText
  // Keeps names of processes and threads as they are, and shows metrics of processes for each one.
  bool literal_names = false;
  CgroupNaming cgroups{};
  std::vector<std::string> metrics{};   // none: all
  std::vector<std::string> sections{};  // none: all
  std::vector<std::string> plugins{};   // only metrics that these filled; none: all
  std::vector<SortKey> sort{};          // none: movers under compare, name under show
  std::size_t limit = 0;                // lines per section; 0: all
  bool rate = false;                    // also differences per second
  bool busiest = true;                  // also the busiest thread of each group
  // Leaves out, and counts, rows that did not change; under show those that are zero.
  bool moved_only = false;
  Where where{};                     // only these threads and groups
  std::vector<DerivedDef> derive{};  // metrics besides those of the files
  std::vector<Condition> fail_on{};  // which rows to pick out
  // Names the groups whose headlines are tested by themselves.
  std::optional<Condition> about{};
  // Called once for a comparison of sides of several runs, with a key of these runs: records it,
  // and returns whether the user has seen one of them that was not about these groups. None:
  // unknown.
  std::function<bool(std::string_view)> record_comparison{};
  Bar bar{};
  bool folds_waits = true;  // stacks of waits also without the kernel's frames, as text has them
  bool judge_rows = true;   // rows of sections have their evidence, and are ordered by it
  // How many of the runs that are read belong to each side, in their order; none: each is a side.
  std::vector<std::size_t> side_sizes{};
};

// One side's share of the runs that are read.
struct SideRuns {
  std::size_t first = 0, count = 1;
};
// The sides of so many runs. REQUIRES: Spec::side_sizes is empty, or adds up to `runs`.
std::vector<SideRuns> sides_of(const Spec& spec, std::size_t runs);

// The word for the axis, as the user wrote it.
std::string_view axis_word(const Spec& spec);

// The heading of the first column of the first screen: "process", or the axis.
std::string group_column(const Spec& spec);
// Whether the word names that column.
bool names_groups(std::string_view word, const Spec& spec);

// Where functions and stacks are told, of every metric that has stacks.
inline constexpr std::string_view kStacksSection = "stacks";

// The section of that name in the table of ctprof/newtypes.hpp, or null.
const SectionInfo* find_section(std::string_view name);

// For sorting sections: those of the table in its order, then a third party's by name.
std::tuple<std::size_t, std::string_view> section_place(std::string_view name);

// A sentence for each section that the user asked for but that needs another axis.
std::vector<std::string> misplaced_sections(const Spec& spec);

}  // namespace ctprof
