#include "tools/ctprof/verbs.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/base/text.hpp"
#include "core/capture/capture.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_directory.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/progress.hpp"
#include "tools/ctprof/text.hpp"

namespace ctprof::cli {
namespace {

// High enough not to collide with descriptors that scripts use.
constexpr int kOutput = 100;

constexpr std::array<std::string_view, 4> kNamesOfOutput{"-", "/dev/stdout", "/dev/fd/1",
                                                         "/proc/self/fd/1"};

int g_output = -1;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

// Opens /dev/null on each free descriptor up to standard error.
void fill_gaps() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

}  // namespace

void keep_output() {
  g_output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kOutput);
  if (g_output < 0 && is_open(STDOUT_FILENO))
    g_output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  fill_gaps();
  if (is_open(STDERR_FILENO)) ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

int output_fd() { return g_output; }

bool names_output(std::string_view path) {
  return std::find(kNamesOfOutput.begin(), kNamesOfOutput.end(), path) != kNamesOfOutput.end();
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

namespace {

constexpr std::size_t kAnyNumber = SIZE_MAX;

constexpr std::array kVerbs{
    Verb{"capture", "snapshot,snap,save,dump,ps", "-o FILE",
         "write a snapshot of every thread of this host", "ctprof capture -o before.ctprof.zst",
         &run_capture, 0, true},
    Verb{"record", "stat,run,trace,profile,sample,start", "[-d TIME] [-o FILE] [-- COMMAND...]",
         "record a window: what every thread does for some time, including threads that exit",
         "ctprof record -d 10s", &run_record, 0, true},
    Verb{"live", "top,htop,atop,watch,monitor", "",
         "show the last second of this host in a terminal, every second", "ctprof live", &run_live,
         0, true},
    Verb{"show", "view,print,cat,display,open,script,annotate,info", "[FILE | A..B | DIR]",
         "show a window or a snapshot by groups of threads",
         "ctprof show before.ctprof.zst..after.ctprof.zst", &run_show, 2},
    Verb{"compare", "diff,delta,cmp,benchstat,vs", "BEFORE AFTER... | A... --vs B...",
         "compare windows, snapshots, directories of runs or hosts",
         "ctprof compare before.ctprof.zst after.ctprof.zst --limit 20", &run_compare, kAnyNumber,
         true},
    Verb{"noise", "variance,stats", "DIR",
         "report the noise of repeated runs, and which shift they could detect",
         "ctprof noise runs/", &run_noise, 1},
    Verb{"report", "html,page", "FILE | BEFORE... --vs AFTER... [-o FILE.html]",
         "write an HTML page of one recording or of a comparison",
         "ctprof report before/ --vs after/ -o report.html", &run_report, kAnyNumber},
    Verb{"flame", "flamegraph,graph,svg",
         "FILE | BEFORE AFTER | A... --vs B... [-o FILE.svg|.html]",
         "draw a flame graph of call stacks, or of their difference",
         "ctprof flame run.ctprof.zst -o run.svg", &run_flame, kAnyNumber},
    Verb{"symbolize", "symbols,resolve,addr2line,buildid-cache", "FILE",
         "add missing function names to the call stacks of a file",
         "ctprof symbolize run.ctprof.zst --debug-dir /srv/debug", &run_symbolize, 1},
    Verb{"export", "convert,data,pprof,parquet,prometheus", "FILE --to FORM|--redact -o FILE",
         "convert a file to tables, profiles or other formats, or remove names from it; with "
         "--listen serve Prometheus",
         "ctprof export run.ctprof.zst --to ktstr -o run.ktstr.zst", &run_export, 1},
    Verb{"fleet", "hosts,cluster,index,rank,sql", "QUESTION [OPTION...]",
         "query recordings of thousands of hosts", "ctprof fleet compare --by kernel", &run_fleet,
         kAnyNumber},
    Verb{"metric-list", "list,ls,metrics,events,fields", "[FILE]",
         "list the metrics of all plugins or of one file", "ctprof metric-list", &run_metric_list,
         1},
    Verb{"plugins", "sources,modules,lsmod", "",
         "list plugins, their metrics, and what each cannot read here", "ctprof plugins",
         &run_plugins, 0, true},
    Verb{"plugin", "scaffold,new,create,init,sdk", "new NAME | check FILE.so",
         "create a directory with a new plugin, or check a plugin for faults",
         "ctprof plugin new hello", &run_plugin, 3},
    Verb{"doctor", "check,diagnose,probe,setup", "",
         "report which metrics this host cannot provide, and how to enable them", "ctprof doctor",
         &run_doctor, 0, true},
    Verb{"config", "settings,options,conf", "",
         "print the configuration and where each setting comes from", "ctprof config", &run_config,
         0},
    Verb{"completion", "", "SHELL", "print the completion script for bash, zsh or fish",
         "source <(ctprof completion bash)", &run_completion, 1},
    Verb{"version", "about", "", "print the version", "ctprof version", &run_version, 0},
};

bool environment_has(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

// An option that leads nowhere is a mistake; the environment may name what another host has.
std::vector<std::string> plugin_directories(const Options& options) {
  std::vector<std::string> directories = options.plugin_path;
  for (const std::string& directory : options.plugin_path_of_environment)
    if (PluginDirectory::open(directory, Trust::Anybody)) directories.push_back(directory);
  return directories;
}

// Notes what was asked for and is ignored.
void note_ignored(const Options& options) {
  if (runs_privileged() && !options.plugin_path.empty())
    note(options,
         "--plugin-path is ignored: this ctprof has capabilities from its file, and loads its "
         "own plugins alone");
  for (const std::string& directory : options.plugin_path_of_environment)
    if (const auto open = PluginDirectory::open(directory, Trust::Anybody); !open)
      note(options, "CTPROF_PLUGIN_PATH: looking for plugins in " + open.error().text);
}

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

const Verb* find_verb(std::string_view name) {
  const auto it = std::ranges::find(kVerbs, name, &Verb::name);
  return it == kVerbs.end() ? nullptr : &*it;
}

std::string verb_hint(std::string_view given, std::vector<std::string> others) {
  std::string word(given);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Verb& verb : kVerbs)
    if (is_listed(verb.also, word)) return " (did you mean '" + std::string(verb.name) + "'?)";
  for (const Verb& verb : kVerbs) others.emplace_back(verb.name);
  return nearest_hint(given, others);
}

int fail(const Error& error) { return fail(error.text); }

int fail(std::string_view sentence) {
  say("ctprof: " + printable(sentence) + printable(origins_in(sentence)) + "\n");
  return kFailed;
}

void say(std::string_view text) {
  clear_progress();
  write_all(STDERR_FILENO, text);
}

void note(const Options& options, std::string_view sentence) {
  if (!options.quiet) fail(sentence);
}

int print(std::string_view text) {
  clear_progress();
  const int failed = write_all(output_fd(), text);
  return failed == 0 || failed == EPIPE
             ? kFine
             : fail(errno_error("writing to", "standard output", failed));
}

void note_loaded(const Options& options, const Registry& registry) {
  if (!options.verbose) return;
  for (const Plugin& plugin : registry.plugins())
    if (!plugin.layout)
      note(options, "plugin " + plugin.name + " " + plugin.version + ": " + plugin.path);
}

void note_read(const Options& options, const std::string& file,
               std::span<const Snapshot> captures) {
  if (!options.verbose) return;
  for (const Snapshot& capture : captures)
    note(options, file + ": a " + (capture.window ? "window" : "snapshot") + " of " +
                      count(capture.rows_of(Entity::Thread), "thread") + ", by " +
                      (capture.foreign ? "another tool" : "ctprof " + capture.meta.tool));
}

namespace {

// Whether a capture or window may need a plugin that has nothing but recorders: to record, to say
// that a metric is a recorder's, or to take an option.
bool may_record(const Options& options) {
  return !options.record.recorders.empty() || options.metrics || !options.set.empty();
}

}  // namespace

Result<Registry> load_registry(const Options& options, Load which, Ahead* ahead) {
  LoadOptions load{own_plugin_directory(), plugin_directories(options), options.plugins,
                   which == Load::Layouts, which == Load::Capture};
  load.recorders = which != Load::Capture || may_record(options);
  if (ahead) load.ahead = [&](const Plugin& plugin) { ahead->open(plugin); };
  auto loaded = load_plugins(load);
  if (!loaded) return loaded.error();
  if (auto set = apply_settings(loaded->plugins, options.set); !set) return set.error();
  Registry registry(std::move(*loaded));
  if (which == Load::Layouts) return registry;
  note_loaded(options, registry);
  note_ignored(options);
  for (const Refusal& refusal : registry.refused())
    note(options, "refused: " + refusal.what + ": " + refusal.reason);
  return registry;
}

Result<Registry> load_metrics(const Options& options, Load which, Ahead* ahead) {
  auto registry = load_registry(options, which, ahead);
  if (!registry || std::any_of(registry->plugins().begin(), registry->plugins().end(),
                               [](const Plugin& p) { return !p.layout; }))
    return registry;
  const auto& refused = registry->refused();
  const std::string why =
      refused.empty() ? "" : "; " + refused.front().what + ": " + refused.front().reason;
  return Error{"no plugin could be loaded, and metrics come from plugins" + why};
}

void note_unused(const Options& options, const std::vector<Refusal>& unused) {
  for (const Refusal& refusal : unused)
    note(options, "not used: " + refusal.what + ": " + refusal.reason);
}

bool use_color(const Options& options) {
  if (options.color != Color::Auto) return options.color == Color::Always;
  if (environment_has("NO_COLOR")) return false;
  return environment_has("CLICOLOR_FORCE") || ::isatty(output_fd()) == 1;
}

namespace {

winsize terminal_size() {
  winsize size{};
  if (::ioctl(output_fd(), TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

// COLUMNS, where it is a number of a sensible size; else 0.
unsigned width_of_environment() {
  constexpr unsigned kNarrowest = 20, kWidest = 10'000;
  const char* const text = std::getenv("COLUMNS");
  if (!text) return 0;
  unsigned width = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, width);
  return read.ec == std::errc{} && read.ptr == end && width >= kNarrowest && width <= kWidest
             ? width
             : 0;
}

}  // namespace

unsigned terminal_width() {
  if (::isatty(output_fd()) != 1) return width_of_environment();
  const unsigned width = terminal_size().ws_col;
  return width > 0 ? width : 80;
}

unsigned terminal_lines() {
  const unsigned lines = terminal_size().ws_row;
  return lines > 0 ? lines : 24;
}

}  // namespace ctprof::cli
