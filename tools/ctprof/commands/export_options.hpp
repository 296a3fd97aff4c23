// The options of `ctprof export`.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/metric_def.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/options/output_options.hpp"
#include "tools/ctprof/options/report_options.hpp"
#include "tools/ctprof/runtime/redaction.hpp"

namespace ctprof::cli {

struct FileForm;
struct TableExport;

// A form of the output: a file layout, a form of call stacks, a form of tables, waits only, or an
// output plugin.
struct ExportForm {
  std::string_view name{};
  const FileForm* file = nullptr;
  const StackFormat* stacks = nullptr;
  const TableExport* table = nullptr;
  std::string output{};  // name of an output plugin; empty: none
};
Result<ExportForm> parse_export_form(const OptionUse& use);

// --rows: what the rows of a table are.
struct RowChoice {
  std::vector<Entity> entities{};  // empty: not specified
  bool is_long = false;
  bool is_specified = false;
};

// The options of --to prometheus.
struct PrometheusOptions {
  std::uint64_t max_series = 5000;  // 0: no limit
  std::string listen{};             // [ADDR:]PORT or unix:PATH; empty: a file is written
  std::string token_file{};         // of --listen; empty: none
  bool is_public = false;           // of --listen
};

struct ExportOptions : ReportOptions,
                       OutputOptions,
                       WorkerOptions,
                       RedactionOptions,
                       StackMetricOption {
  ExportForm form{};  // without a name: not specified
  RowChoice rows{};
  PrometheusOptions prometheus{};

  Result<void> check(const CommandLine& line);
};

// Returns the words that --rows accepts.
std::vector<std::string> list_row_kinds();

// Returns the exit status.
int run_export(const ExportOptions& options);

}  // namespace ctprof::cli
