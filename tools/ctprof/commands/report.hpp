// Reads files and builds a report of them: for show and compare (report_output.hpp), noise, pages
// (page_file.cc) and Prometheus. ReportFiles is also used by help and metric-list. sides.hpp
// interprets the arguments.
//
// A file written by ctprof describes its own columns, so plugins are loaded only if necessary: all
// of them for a file without a registry, or for a rule that is not built in. The layout plugin is
// always loaded: it types the columns of files without a registry.

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/report/report.hpp"
#include "core/compare/request/spec.hpp"
#include "core/registry/registry.hpp"
#include "core/render/columns.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/report_options.hpp"

namespace ctprof::cli {

// The plugins that are necessary to aggregate captures: layouts first, and all of them as soon as a
// capture needs one.
class PluginsOnDemand {
 public:
  static Result<PluginsOnDemand> open(const CommonOptions& options);

  // Types the columns of files without a registry.
  const Vocabulary& vocabulary() const { return layouts_.vocabulary(); }
  // Returns whether the captures need all plugins. If so, loads them and prints notes about refused
  // ones. Threads: one at a time.
  Result<bool> load_all_if_needed(std::span<const Snapshot> captures);
  // The result refers to this object. REQUIRES: all plugins are loaded if `of_all_plugins` is true.
  PluginDefinitions definitions(bool of_all_plugins) const;

 private:
  PluginsOnDemand(CommonOptions options, Registry layouts);

  CommonOptions options_;
  Registry layouts_;
  std::optional<Registry> all_;
  std::vector<DerivedDef> derived_of_layouts_, derived_of_all_;
};

class ReportFiles {
 public:
  // Reads snapshots and windows. `vocabulary` types the columns of files without a registry.
  using Read = std::function<Result<std::vector<Snapshot>>(const Vocabulary& vocabulary)>;
  // Reads captures and computes the differences of windows. Returns the error of reading, or of
  // loading plugins if they are needed. Notes refused plugins only in that case.
  static Result<ReportFiles> load(const Read& read, const CommonOptions& options);
  // Reads one file.
  static Result<ReportFiles> load(const std::string& file, const CommonOptions& options);

  const std::vector<Snapshot>& snapshots() const { return snapshots_; }
  // Frees the snapshots. A report owns everything that it shows.
  void release_snapshots() { snapshots_.clear(); }
  // The result refers to this object.
  PluginDefinitions definitions() const { return plugins_.definitions(needs_all_); }
  const Vocabulary& vocabulary() const { return plugins_.vocabulary(); }

 private:
  explicit ReportFiles(PluginsOnDemand plugins) : plugins_(std::move(plugins)) {}

  PluginsOnDemand plugins_;
  bool needs_all_ = false;
  std::vector<Snapshot> snapshots_;
};

// Returns the report that the options request (report_spec.cc).
Result<Spec> make_spec(const ReportOptions& options, ReportKind kind);
// wants_details(): whether the options request the tables of --details, by that option or by one
// that only affects them. prints_tables(): whether these tables may be printed, not only the first
// screen.
bool wants_details(const ReportOptions& options);
bool prints_tables(const ReportOptions& options);

// Prints a report and returns the exit status. `files` has one name per side.
using ReportPrinter = std::function<int(const Report& report, std::span<const std::string> files,
                                        const ColumnChoice& columns)>;

// Reads the files that the options name, builds a report and passes it to `printer`. Returns the
// exit status.
int make_and_print_report(const ReportOptions& options, const ReportPrinter& printer);

}  // namespace ctprof::cli
