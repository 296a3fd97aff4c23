// Parses the command line and checks its form. The commands define what an option does.
//
// One table lists every option with the commands that take it. An option means the same for every
// command, and may precede or follow the command.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/archive/span.hpp"
#include "core/base/result.hpp"
#include "core/capture/options.hpp"
#include "core/compare/request/spec.hpp"
#include "core/file/file.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/continuous_options.hpp"
#include "tools/ctprof/options/plugin_options.hpp"
#include "tools/ctprof/options/table_options.hpp"

namespace ctprof::cli {

struct SettingsSource;

enum class Format { Text, Json, Csv };
enum class Color { Auto, Always, Never };

struct Options {
  std::string command_name;            // empty: none
  std::vector<std::string> arguments;  // files, mostly
  // The arguments after each --vs, up to the next; `arguments` are those before the first.
  std::vector<std::vector<std::string>> vs;
  std::string command_line;  // quoted for a shell
  bool lifetime = false;
  bool help = false;
  bool version = false;
  bool json_schema = false;

  std::optional<std::vector<std::string>> plugins;  // --plugins: exactly these
  std::vector<std::string> plugin_path;
  std::vector<std::string> plugin_path_of_environment;  // CTPROF_PLUGIN_PATH
  std::vector<std::string> plugin_settings;             // PLUGIN.KEY=VALUE, for plugins
  std::string rootfs;
  Format format = Format::Text;
  Color color = Color::Auto;
  bool quiet = false;
  bool pager = true;

  std::string output;
  FileLayout layout = FileLayout::Rows;
  std::optional<Level> level;  // none: fast for record, full for capture
  std::string export_form;     // for export
  TableOptions tables;
  bool redact = false;
  std::string redact_key;  // path of the key file
  std::string metric;      // a metric of call stacks
  bool shows_idle = false;
  bool root_below = false;
  std::vector<std::uint64_t> pids;
  std::optional<std::vector<std::string>> metrics;
  unsigned jobs = 0;              // 0: as many as there are idle CPUs
  std::string cgroup;             // only processes in it or below it; empty: all
  std::uint64_t duration_ns = 0;  // of record; 0: until an interrupt or the command's exit
  std::uint64_t repeat = 0;       // consecutive windows into a directory; 0: one into a file
  std::size_t history_bytes = 128u << 20;  // of live
  std::vector<std::string> child_command;  // the words after --
  // One command for each side, which runs before each run of its side; empty: one side.
  std::vector<std::string> interleave;
  std::optional<PairMark> pair;  // of one interleaved run
  RecordOptions record;          // call stacks, for record
  PluginOptions plugin;          // of the plugin command
  ContinuousOptions continuous;  // of record --every
  std::vector<Span> spans;       // one for each side; the last one also applies to later sides
  bool sync = true;
  bool hostname = true;
  bool verbose = false;
  bool strict = false;
  bool force = false;
  bool build = false;  // of version

  std::string sections;
  std::string group_by = "pcomm";
  bool has_group_by = false;  // --group-by is specified
  std::string entity;  // of a plugin, whose rows are shown; empty: threads and built-in entities
  bool literal_names = false;
  bool literal_cgroups = false;
  std::vector<std::string> cgroup_flatten;
  std::vector<std::string> where;
  std::vector<std::string> derive;
  std::vector<std::string> fail_on;
  std::string about;  // empty: none
  SignificanceThreshold significance;
  bool shares = false;  // tests functions by their share
  double shift = 0;     // of noise, a fraction; 0: none
  std::string sort_by;
  bool rate = false;
  std::string display_format;          // empty: the default
  std::optional<std::string> columns;  // instead of display_format
  bool wrap = false;
  bool details = false;
  bool csv_safe = false;
  std::optional<std::uint64_t> limit;  // 0: no limit
};

// The error for a --vs without arguments before or after it.
Error missing_side_error();

// Options on the command line override settings. The error is one sentence that names the valid
// form.
Result<Options> parse_options(int argc, const char* const* argv,
                              const std::vector<SettingsSource>& settings);

// Quotes the words for a shell: "ctprof show 'my file'".
std::string quote_command_line(int argc, const char* const* argv);

}  // namespace ctprof::cli
