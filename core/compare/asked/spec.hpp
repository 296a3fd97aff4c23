// What the user asks of show and compare, as words: read and checked before any file is opened.
//
// Whether a metric's name is known depends on the files; compare/figures/metric_plan.hpp says so
// once they are loaded.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/asked/path_glob.hpp"
#include "core/compare/asked/where.hpp"
#include "core/expression/condition.hpp"
#include "core/registry/metric_def.hpp"

namespace ctprof {

// By what threads are grouped: the process's name, the cgroup, the thread's name, that as it is,
// cgroup, process and thread at once, the process itself, or what a text metric says of it.
enum class GroupBy : std::uint8_t { Pcomm, Cgroup, Comm, CommExact, All, Pid, ProcessText };

// Of all but ProcessText, which goes by its metric's name.
std::vector<std::string> axis_words();
// A word with a dot or an underscore is taken for a metric's name; whether there is such a metric
// is known once the files are read (grouping/process_keys.hpp).
Result<GroupBy> parse_group_by(std::string_view word);

// One key of the order. Words of the table in spec.cc, or else a metric's name.
struct SortKey {
  enum class By : std::uint8_t { Movers, Delta, Percent, Name, Metric };
  By by = By::Movers;
  std::string metric;
  bool ascending = false;
};

enum class ReportKind : std::uint8_t { Show, Compare };

// "run_time_ns:asc,name": names in order, each with a direction, `desc` when none is given (`asc`
// for `name`). Empty and double entries and unknown directions are errors, and so is an order by
// differences where nothing is compared.
Result<std::vector<SortKey>> parse_sort(std::string_view text, ReportKind kind);

// What there is to sort by beside metrics.
std::vector<std::string> sort_words(ReportKind kind);

// "a,b,c" as names. Empty and double entries are errors; `option` is what the error quotes.
Result<std::vector<std::string>> parse_names(std::string_view text, std::string_view option);

// The same for sections, whose names are lower case however they are written.
Result<std::vector<std::string>> parse_sections(std::string_view text);

// How cgroups are named.
struct CgroupNaming {
  std::vector<PathGlob> flatten{};
  bool literal = false;  // nothing beyond the globs
};

struct Spec {
  GroupBy group_by = GroupBy::Pcomm;
  std::string group_metric{};  // of ProcessText
  // Names of processes and threads as they are, and metrics of processes for each by itself.
  bool literal_names = false;
  CgroupNaming cgroups{};
  std::vector<std::string> metrics{};   // none: all
  std::vector<std::string> sections{};  // none: all
  std::vector<std::string> plugins{};   // what these filled; none: all
  std::vector<SortKey> sort{};          // none: movers under compare, name under show
  std::size_t limit = 0;                // rows per section; 0: all
  bool rate = false;                    // also differences per second
  bool busiest = true;                  // also the busiest thread of each group
  bool moved_only =
      false;      // leaves out (and counts) rows that did not change, or under show are zero
  Where where{};  // which threads and groups alone
  std::vector<DerivedDef> derive{};  // metrics beside those of the files
  std::vector<Condition> fail_on{};  // of compare: what rows are to be picked out
};

// As the user wrote it.
std::string_view axis_word(const Spec& spec);

}  // namespace ctprof
