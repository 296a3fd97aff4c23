#include "tools/ctprof/commands/export_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/options/command.hpp"

namespace ctprof::cli {
namespace {

constexpr std::string_view kLongRows = "long";
constexpr std::array kRowKinds{std::pair<std::string_view, Entity>{"threads", Entity::Thread},
                               std::pair<std::string_view, Entity>{"cgroups", Entity::Cgroup},
                               std::pair<std::string_view, Entity>{"processes", Entity::Process},
                               std::pair<std::string_view, Entity>{"host", Entity::Host}};

Result<RowChoice> parse_rows(const OptionUse& use) {
  RowChoice rows;
  rows.is_specified = true;
  for (const std::string_view entry : split(use.last())) {
    const std::string_view word = sdk::trimmed(entry);
    const auto it = std::ranges::find(kRowKinds, word, [](const auto& row) { return row.first; });
    if (word == kLongRows)
      rows.is_long = true;
    else if (it == kRowKinds.end())
      return invalid_choice_error("rows", word, list_row_kinds());
    else if (std::ranges::count(rows.entities, it->second) == 0)
      rows.entities.push_back(it->second);
  }
  return rows;
}

Result<std::uint64_t> parse_max_series(const OptionUse& use) {
  const auto max_series = sdk::number<std::uint64_t>(use.last());
  if (max_series) return max_series.value;
  return Error{"--max-series: '" + use.last() + "' is not a whole number"};
}

template <auto part>
constexpr auto prometheus = member<&ExportOptions::prometheus, part>;

constexpr auto kExportOptions = option_list<ExportOptions>(
    kOutput,
    option("to", "FORM", member<&ExportOptions::form>, Parsed<&parse_export_form>(),
           "Select the output format. ktstr: rows for the reference tools; columns: the native "
           "layout; ndjson, csv, parquet: tables; prometheus: metrics of groups; folded, pprof, "
           "speedscope, perfetto: call stacks; denet: off-CPU time. The name of an output plugin: "
           "metrics of groups, which it writes to -o or sends.")
        .only_typed(),
    option("rows", "KIND,...", member<&ExportOptions::rows>, Parsed<&parse_rows>(),
           "Select the rows of tables: threads, cgroups, processes, host; long writes one row per "
           "value. Default: threads,cgroups for ndjson, threads for csv and parquet, which take "
           "one kind."),
    option("max-series", "N", prometheus<&PrometheusOptions::max_series>,
           Parsed<&parse_max_series>(),
           "With prometheus and output plugins: export at most N series, those of the heaviest "
           "groups. 0: no limit. Default: 5000."),
    option("listen", "PORT", prometheus<&PrometheusOptions::listen>, LastText(),
           "With --to prometheus: answer requests for /metrics about this host at PORT or "
           "ADDR:PORT, a loopback address (default 127.0.0.1), or at the Unix socket unix:PATH, "
           "until Ctrl-C. Only the owner can open the socket."),
    option("token-file", "FILE", prometheus<&PrometheusOptions::token_file>, LastText(),
           "With --listen: answer only requests with the token in FILE, sent as 'Authorization: "
           "Bearer TOKEN'. The token has 16 characters or more; only its owner can read FILE."),
    switch_on("public", prometheus<&PrometheusOptions::is_public>,
              "With --listen: let every user of this host send requests, although ctprof runs as "
              "root or has capabilities."),
    kCsvSafe, kRedaction, kStackMetric, kJobs, kWriting, kVerbose, kMetrics, kGroupBy, kEntity,
    kNoNormalize, kCgroupFlatten, kSpan, kScreen, kPluginPath, kSet, kQuietAndHelp);

}  // namespace

std::vector<std::string> list_row_kinds() {
  std::vector<std::string> words;
  for (const auto& [lower_case_word, entity] : kRowKinds) words.emplace_back(lower_case_word);
  words.emplace_back(kLongRows);
  return words;
}

Result<void> ExportOptions::check(const CommandLine& line) {
  if (prometheus.listen.empty() && (prometheus.is_public || !prometheus.token_file.empty()))
    return Error{"--token-file and --public require --listen"};
  return ReportOptions::check(line);
}

extern constinit const CommandInfo kExportCommand = make_command<ExportOptions, run_export>(
    {.name = "export",
     .similar_names = "convert,data,pprof,parquet,prometheus",
     .arguments = "FILE --to FORM|--redact -o FILE",
     .summary = "convert a file to tables, profiles or other formats, or remove names from it; "
                "with --listen serve Prometheus",
     .example = "ctprof export run.ctprof.zst --to ktstr -o run.ktstr.zst",
     .max_arguments = 1},
    kExportOptions);

}  // namespace ctprof::cli
