// The command line, parsed and checked for form. What an option means is up to the verb.
//
// One table lists every option with the verbs that take it. An option means the same under every
// verb, and may come before or after it.

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
#include "core/file/file.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/always_options.hpp"
#include "tools/ctprof/options/plugin_options.hpp"
#include "tools/ctprof/options/table_options.hpp"

namespace ctprof::cli {

struct SettingsSource;

enum class Format { Text, Json, Csv };
enum class Color { Auto, Always, Never };

struct Options {
  std::string verb;                    // empty: none was given
  std::vector<std::string> arguments;  // files, mostly
  // Of each --vs, and of what stands behind it until the next; `arguments` are those before.
  std::vector<std::vector<std::string>> vs;
  std::string command_line;  // as a shell would read it
  bool lifetime = false;
  bool help = false;
  bool version = false;
  bool json_schema = false;

  std::optional<std::vector<std::string>> plugins;  // --plugins: exactly these
  std::vector<std::string> plugin_path;
  std::vector<std::string> plugin_path_of_environment;  // CTPROF_PLUGIN_PATH
  std::vector<std::string> set;                         // PLUGIN.KEY=VALUE, for plugins
  std::string rootfs;
  Format format = Format::Text;
  Color color = Color::Auto;
  bool quiet = false;
  bool pager = true;

  std::string output;
  FileLayout layout = FileLayout::Rows;
  std::optional<Level> level;  // none: fast for record, full for capture
  std::string to;              // of export
  TableOptions tables;
  bool redact = false;
  std::string redact_key;  // a file
  std::string metric;      // of stacks
  bool idle = false;
  bool root_below = false;
  std::vector<std::uint64_t> pids;
  std::optional<std::vector<std::string>> metrics;
  unsigned jobs = 0;              // 0: what the host can spare
  std::string cgroup;             // only processes in it or below it; empty: all
  std::uint64_t duration_ns = 0;  // of record; 0: until something else ends it
  std::uint64_t repeat = 0;       // windows back to back, into a directory; 0: one, into a file
  std::size_t history_bytes = 128u << 20;  // of live
  std::vector<std::string> command;        // behind --
  // Commands of both sides, each run before a run of its side; empty: all runs are of one side.
  std::vector<std::string> interleave;
  std::optional<PairMark> pair;  // of one of these runs
  RecordOptions record;          // of record: call stacks
  PluginOptions plugin;          // of plugin
  AlwaysOptions always;          // of record --every
  std::vector<Span> spans;       // of each side; the last one is for those behind it, too
  bool sync = true;
  bool hostname = true;
  bool verbose = false;
  bool strict = false;
  bool force = false;
  bool build = false;  // of version

  std::string sections;
  std::string group_by = "pcomm";
  bool literal_names = false;
  bool literal_cgroups = false;
  std::vector<std::string> cgroup_flatten;
  std::vector<std::string> where;
  std::vector<std::string> derive;
  std::vector<std::string> fail_on;
  std::string about;                   // empty: none
  double alpha = 0.05, min_shift = 0;  // fractions, as Bar has them
  double shift = 0;                    // of noise; 0: none
  std::string sort_by;
  bool rate = false;
  std::string display_format;          // empty: the default
  std::optional<std::string> columns;  // instead of a format
  bool wrap = false;
  bool details = false;
  bool csv_safe = false;
  std::optional<std::uint64_t> limit;  // 0: none
};

// Where nothing stands before --vs, or nothing behind it.
Error needs_both_sides();

// Options on the command line win over settings. The error is one sentence that names the valid
// form.
Result<Options> parse_options(int argc, const char* const* argv,
                              const std::vector<SettingsSource>& settings);

// The words as a shell would read them: "ctprof show 'my file'".
std::string in_shell(int argc, const char* const* argv);

}  // namespace ctprof::cli
