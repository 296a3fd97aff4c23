// ctprof show and ctprof compare: from options and files to a printed report; `ctprof report` makes
// the same one a page (page_file.cc). And the files of a report, which help and metric-list read
// too. What their arguments mean is up to sides.hpp.
//
// A file of ours describes its own columns, so plugins are loaded only if one is needed: all of
// them for a file without a registry, or for a rule that is not built in. The layout is always
// loaded: it types the columns of files without a registry.

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/report/report.hpp"
#include "core/registry/registry.hpp"
#include "core/render/columns.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// The plugins that it takes to reduce captures: their layouts, and all of them once a capture needs
// one.
class PluginsOnDemand {
 public:
  static Result<PluginsOnDemand> open(const Options& options);

  // It types the columns of files without a registry.
  const Vocabulary& vocabulary() const { return layouts_.vocabulary(); }
  // Whether the captures need all of them; if so, those are loaded, and refused ones are noted.
  // Threads: one at a time.
  Result<bool> need_all(std::span<const Snapshot> captures);
  // Refers to this object. REQUIRES: all are loaded if they are asked for.
  Knowledge knowledge(bool of_all) const;

 private:
  PluginsOnDemand(Options options, Registry layouts);

  Options options_;
  Registry layouts_;
  std::optional<Registry> all_;
  std::vector<DerivedDef> derived_of_layouts_, derived_of_all_;
};

class ReportFiles {
 public:
  // Reads snapshots and windows; the vocabulary types the columns of files without a registry.
  using Read = std::function<Result<std::vector<Snapshot>>(const Vocabulary& vocabulary)>;
  // Makes differences of windows. The error is that of reading, or of the plugins where they are
  // needed. Refused plugins are noted only then.
  static Result<ReportFiles> load(const Read& read, const Options& options);
  // Reads one file.
  static Result<ReportFiles> load(const std::string& file, const Options& options);

  const std::vector<Snapshot>& snapshots() const { return snapshots_; }
  // A report owns what it says of them.
  void let_snapshots_go() { snapshots_.clear(); }
  // Refers to this object.
  Knowledge knowledge() const { return plugins_.knowledge(needs_all_); }
  const Vocabulary& vocabulary() const { return plugins_.vocabulary(); }

 private:
  explicit ReportFiles(PluginsOnDemand plugins) : plugins_(std::move(plugins)) {}

  PluginsOnDemand plugins_;
  bool needs_all_ = false;
  std::vector<Snapshot> snapshots_;
};

// What the options ask of a report (report_spec.cc).
Result<Spec> spec_of(const Options& options, ReportKind kind);
// Whether they ask for the tables of --details, by that name or by what only these have; and
// whether these may be printed, not the first screen alone.
bool wants_details(const Options& options);
bool tells_tables(const Options& options);

// Tells a report, and returns the exit status. `files`: a name for each side.
using Teller = std::function<int(const Report& report, std::span<const std::string> files,
                                 const ColumnChoice& columns)>;

// Reads what the options name, makes a report of it and has it told; returns the exit status.
int report_on(const Options& options, const Teller& tell);

}  // namespace ctprof::cli
