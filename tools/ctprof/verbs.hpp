// The verbs of the command line, what they share, and where everything that ctprof prints goes.
// Only tools/ prints, and only here does the program end.
//
// Exit status: 0 success; 1 --fail-on matched; 2 usage error, or input that cannot be read; 3 not
// all that was asked for could be had, under --strict.
//
// Plugins share the process, and may print too. So standard output is moved before any plugin is
// loaded: ctprof keeps it under another descriptor, and what plugins write to descriptor 1, or
// leave in stdio's buffers, goes to standard error.

#pragma once

#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options.hpp"

namespace ctprof {
class Ahead;
}

namespace ctprof::cli {

// Moves standard output. Opens /dev/null on those of descriptors 0 to 2 that are closed, so that no
// file of ours gets their numbers. REQUIRES: called once, before anything else.
void keep_output();

// The descriptor of standard output, or -1 if it was closed.
int output_fd();

// Whether `path` is a name of standard output, such as "-" or /dev/stdout.
bool names_output(std::string_view path);

// Writes all of `text`. Returns 0, or errno.
int write_all(int fd, std::string_view text);

inline constexpr int kFine = 0;
inline constexpr int kFindings = 1;
inline constexpr int kFailed = 2;
inline constexpr int kPartial = 3;

struct Verb {
  std::string_view name;
  std::string_view also;       // what people call it who come from other tools; for hints alone
  std::string_view arguments;  // as help shows them
  std::string_view summary;
  std::string_view example;
  int (*run)(const Options&);
  std::size_t most_arguments;
  bool reads_kernel = false;  // keeps capabilities of ctprof's file; the others drop them first
};
std::span<const Verb> verbs();
// Null if there is no such verb.
const Verb* find_verb(std::string_view name);
// " (did you mean 'compare'?)" of "diff", "comapre" and "Compare", else nothing. `others` may be
// meant too.
std::string verb_hint(std::string_view given, std::vector<std::string> others = {});

int run_capture(const Options& options);
int run_record(const Options& options);
int run_live(const Options& options);
int run_show(const Options& options);
int run_compare(const Options& options);
int run_noise(const Options& options);
int run_report(const Options& options);
int run_flame(const Options& options);
int run_symbolize(const Options& options);
int run_export(const Options& options);
int run_metric_list(const Options& options);
int run_plugins(const Options& options);
int run_plugin(const Options& options);
int run_doctor(const Options& options);
int run_config(const Options& options);
int run_completion(const Options& options);
int run_version(const Options& options);

// Prints the error as one line on standard error. Returns kFailed.
int fail(const Error& error);
int fail(std::string_view sentence);
// Writes `text` to standard error, unchanged.
void say(std::string_view text);
// Prints a line on standard error, unless --quiet.
void note(const Options& options, std::string_view sentence);

// Writes to standard output. Returns kFine, also if the reader has gone away, or fails.
int print(std::string_view text);

// With -v, what was read: the plugins, a file of so many captures.
void note_loaded(const Options& options, const Registry& registry);
void note_read(const Options& options, const std::string& file, std::span<const Snapshot> captures);

// Notes sources that are loaded but take no part.
void note_unused(const Options& options, const std::vector<Refusal>& unused);

// Capture: loads also those of ctprof's plugins that take part in every capture, even if
// `--plugins` does not name them.
enum class Load { All, Capture, Layouts };
// Loads the plugins that the options name. Notes refused ones, unless only layouts are wanted.
// Opens those ahead that take long, unless `ahead` is null.
Result<Registry> load_registry(const Options& options, Load which = Load::All,
                               Ahead* ahead = nullptr);
// The same, but fails if no plugin could be loaded.
Result<Registry> load_metrics(const Options& options, Load which = Load::All,
                              Ahead* ahead = nullptr);

// Whether text on standard output may be coloured.
bool use_color(const Options& options);
// The width of the terminal; 0 if standard output is not one.
unsigned terminal_width();
// Its lines; 24 if standard output is not one.
unsigned terminal_lines();

// What main() reports and ends with: something was thrown, and it is known which files it was
// about.
class Trouble : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs `work` and returns what it returns. Turns what it throws, a fault or a lack of memory, into
// a Trouble that begins with `activity` and the files; lets PluginThrew through.
template <class Work>
auto naming(std::span<const std::string> files, const std::string& activity, Work work) {
  std::string about = activity;
  for (const std::string& file : files)
    about += (&file == files.data() ? " '" : " and '") + file + "'";
  try {
    return work();
  } catch (const PluginThrew&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Trouble(about + ": not enough memory");
  } catch (const std::exception& exception) {
    throw Trouble(about + ": a fault of ctprof itself: " + exception.what());
  }
}

}  // namespace ctprof::cli
