// ctprof symbolize: adds names to functions in a file's call stacks that had none when it was
// recorded.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/child_process.hpp"
#include "core/base/text.hpp"
#include "core/file/capture_file.hpp"
#include "core/file/file.hpp"
#include "core/flame/stack_profile.hpp"
#include "core/render/terminal_text.hpp"
#include "core/snapshot/stack_names.hpp"
#include "core/stacks/debug_files.hpp"
#include "core/stacks/debuginfod.hpp"
#include "core/stacks/jit_maps.hpp"
#include "core/stacks/time_limited_files.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/options/output_options.hpp"
#include "tools/ctprof/options/recorder_options.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

struct SymbolizeOptions : CommonOptions, OutputOptions, WorkerOptions, SymbolOptions {};

constexpr auto kSymbolizeOptions = option_list<SymbolizeOptions>(
    kOutput, kDebugDir,
    switch_on("debuginfod", member<&SymbolOptions::names, &NameOptions::debuginfod>,
              "Get missing files from the servers in $DEBUGINFOD_URLS."),
    kInlines, kJobs, kWriting, kVerbose, kScreen, kQuietAndHelp);

constexpr std::size_t kShownModules = 5;
// After this time a file system counts as unresponsive. A file of 500 MiB takes five seconds over a
// network.
constexpr std::chrono::seconds kFileTimeout{10};

bool has_stacks(const Snapshot& window) {
  return std::ranges::any_of(window.threads().columns, [](const Column& column) {
    return column.def().storage == Storage::Stacks;
  });
}

// Refuses a file of several windows, because replacing it by one of them would lose the others.
Result<Snapshot> load_single_window(const std::string& file, const Vocabulary& vocabulary) {
  CTPROF_TRY_VALUE(const auto opened, CaptureFile::open(file));
  CTPROF_TRY_VALUE(auto runs, opened.load_runs(vocabulary));
  if (runs.size() > 1)
    return error("naming functions in", file,
                 "it contains " + std::to_string(runs.size()) +
                     " windows; select one and an output file: '" + file + "#1' -o FILE");
  if (!has_stacks(runs.front()))
    return error("reading", file,
                 "it has no call stacks; record them with --recorders (`ctprof record --help`)");
  return std::move(runs.front());
}

std::string summarize_names(const std::string& file, const NamingResult& names, bool inlines) {
  const std::size_t before = names.newly_named + names.still_unnamed;
  std::string line = file + ": ";
  if (before == 0) line += "all " + format_count(names.frames, "frame") + " already had names";
  if (before > 0)
    line += format_count(names.newly_named, "frame") + " of " + group_digits(before) +
            " without a name " + (names.newly_named == 1 ? "has" : "have") + " one now";
  if (inlines)
    line += "; " + format_count(names.added_inlined, "frame") + " of inlined functions added";
  return make_printable(line) + "\n";
}

// "  12 frames of /usr/lib/libx.so, build id 3f2a"
std::string describe_nameless(const UnnamedModule& nameless, const StackTable& table) {
  const Module& module = table.modules()[nameless.module];
  std::string name(get_module_name(module));
  if (module.process != 0) name += " of process " + std::to_string(module.process);
  std::string line = "  " + format_count(nameless.frames, "frame") + " of " +
                     (name.empty() ? std::string("an unknown module") : name);
  if (!module.build_id.empty()) line += ", build id " + to_hex(module.build_id);
  return make_printable(line) + "\n";
}

// Lists the frames that still have no name, by module, so that the user can find the modules'
// files.
std::string list_unnamed_frames(const StackTable& table, const NamingResult& names) {
  if (names.still_unnamed == 0) return {};
  std::string text = "still without a name:\n";
  const auto modules = find_unnamed_modules(table);
  for (std::size_t i = 0; i < std::min(modules.size(), kShownModules); ++i)
    text += describe_nameless(modules[i], table);
  if (modules.size() > kShownModules)
    text +=
        "  and frames of " + format_count(modules.size() - kShownModules, "other module") + "\n";
  return text;
}

std::string describe_unresponsive_files(const std::vector<std::string>& paths) {
  std::vector<Module> files;
  for (const std::string& path : paths) files.push_back({Module::Kind::File, path, {}, 0});
  return "cannot open files: " + ctprof::describe_modules(files) +
         ": the file system does not answer; their functions have no names";
}

void note_unresolved(const SymbolizeOptions& options, const NamingResult& names,
                     const TimeLimitedFiles& files) {
  if (!files.unresponsive_paths().empty())
    print_note(options, describe_unresponsive_files(files.unresponsive_paths()));
  if (is_interrupted()) {
    print_note(options,
               "interrupted while naming functions: the remaining functions have no names yet");
    return;
  }
  for (const std::string& message : missing_inlines_messages(names)) print_note(options, message);
  if (!names.beyond_limits.empty()) print_note(options, naming_limit_message(names.beyond_limits));
}

// Whether the window was recorded during this boot. After another boot, process ids belong to other
// processes.
bool is_of_this_boot(const Snapshot& window) {
  sdk::TextFile file;
  const auto boot = file.read(AT_FDCWD, "/proc/sys/kernel/random/boot_id");
  return boot && !window.meta.boot_id.empty() &&
         sdk::trimmed(boot.value) == sdk::trimmed(window.meta.boot_id);
}

// Returns sources of names: the directories that the user named, then the maps that exited
// processes left in /tmp.
NameSources make_name_sources(const Snapshot& window, DebugFiles& files) {
  NameSources sources = make_local_sources(files, window.pools->stacks.table);
  const bool is_own_boot = is_of_this_boot(window) && !runs_privileged();
  const std::uint64_t closed = window.meta.end.wall_unix_ns;
  sources.perf_map = [&files, is_own_boot, closed](std::uint64_t process) {
    std::string text = files.read_jit_map(process).text;
    const sdk::Fd fd =
        text.empty() && is_own_boot ? open_perf_map_of_exited(process, closed) : sdk::Fd();
    return fd ? read_perf_map(fd.get()).text : text;
  };
  return sources;
}

// Opens the servers in $DEBUGINFOD_URLS if the user requested them.
Result<std::unique_ptr<DebuginfodClient>> open_servers(const SymbolizeOptions& options) {
  if (!options.names.debuginfod) return std::unique_ptr<DebuginfodClient>();
  return DebuginfodClient::open({.stop = interrupted_flag()});
}

Result<std::uint64_t> write_window_file(const Snapshot& window, const Vocabulary& vocabulary,
                                        const Target& target, const SymbolizeOptions& options) {
  set_interrupt_loss(describe_partial_write(target));
  const auto written = write_file(window, vocabulary, target.destination,
                                  {.layout = FileLayout::Columns,
                                   .workers = options.jobs,
                                   .sync = options.sync,
                                   .standard_output = output_fd()});
  set_interrupt_loss({});
  if (!written) return written.error();
  return written->file_bytes;
}

int symbolize(const std::string& file, const Target& target, const SymbolizeOptions& options) {
  const auto layouts = load_registry(options, LoadScope::Layouts);
  if (!layouts) return fail(layouts.error());
  auto window = load_single_window(file, layouts->vocabulary());
  if (!window) return fail(window.error());
  note_read(options, file, {&*window, 1});
  for (const std::string& sentence : window->load_messages) print_note(options, sentence);
  const NameOptions& name_options = options.names;
  const StackTable& table = window->pools->stacks.table;
  const auto servers = open_servers(options);
  if (!servers) return fail(servers.error());
  TimeLimitedFiles time_limited_files(kFileTimeout, interrupted_fd());
  std::vector<std::string> directories = name_options.debug_directories;
  for (std::string& cache : find_debuginfod_caches()) directories.push_back(std::move(cache));
  DebugFiles files(directories, has_elevated_rights(), DebugFiles::SearchModuleDirectory::Allowed,
                   [&](const std::string& path) { return time_limited_files.open(path); });
  if (*servers)
    files.set_fetch([&](const std::string& build_id, bool is_stripped) {
      using Kind = DebuginfodClient::FileKind;
      return (*servers)->fetch(build_id, is_stripped ? Kind::DebugInformation : Kind::Executable);
    });
  NamingLimits limits;
  limits.names.stop = interrupted_flag();
  const NamingResult names =
      name_stacks(*window, make_name_sources(*window, files), name_options.find_inlined, limits);
  note_unresolved(options, names, time_limited_files);
  if (*servers && (*servers)->count_abandoned_files() > 0)
    print_note(options,
               "debuginfod servers: " + format_count((*servers)->count_abandoned_files(), "file") +
                   " took too long or too much memory");
  const auto written = write_window_file(*window, layouts->vocabulary(), target, options);
  if (!written) return fail(written.error());
  const std::string text =
      summarize_names(file, names, name_options.find_inlined) + list_unnamed_frames(table, names);
  if (!options.quiet) target.is_stdout ? print_to_stderr(text) : void(print(text));
  return report_written_file(options, target, *written);
}

// Checks in a child process whether a path leads to a directory, because a file system that does
// not answer blocks a process permanently. Answers with an errno, or 0.
ChildMessage answer_directory_check(const ChildMessage& request) {
  struct stat status {};
  int error_number = ::stat(request.bytes.c_str(), &status) == 0 ? 0 : errno;
  if (error_number == 0 && !S_ISDIR(status.st_mode)) error_number = ENOTDIR;
  return {{reinterpret_cast<const char*>(&error_number), sizeof error_number}};
}

}  // namespace

Result<void> check_debug_directories(const NameOptions& names) {
  ChildProcess child(answer_directory_check);
  for (const std::string& directory : names.debug_directories) {
    ChildMessage answer;
    const auto outcome = child.send_request({directory}, kFileTimeout, answer);
    if (outcome != ChildProcess::Outcome::Answered || answer.bytes.size() != sizeof(int))
      return error("looking for names in", directory,
                   outcome == ChildProcess::Outcome::TimedOut ? "the file system does not answer"
                                                              : "cannot start a process");
    int error_number = 0;
    std::memcpy(&error_number, answer.bytes.data(), sizeof error_number);
    if (error_number != 0) return errno_error("looking for names in", directory, error_number);
  }
  return {};
}

Result<void> check_names(const CommonOptions& options, const NameOptions& names) {
  if (runs_privileged() && !names.debug_directories.empty())
    print_note(
        options,
        "--debug-dir is ignored: this ctprof has file capabilities; use `ctprof symbolize` on "
        "the recorded file");
  return without_privileges([&] { return check_debug_directories(names); });
}

namespace {

int run_symbolize(const SymbolizeOptions& parsed_options) {
  if (parsed_options.arguments.empty()) return fail("missing FILE; see `ctprof symbolize --help`");
  const std::string& file = parsed_options.arguments.front();
  SymbolizeOptions options = parsed_options;
  if (auto checked = check_debug_directories(options.names); !checked) return fail(checked.error());
  if (auto installed = install_interrupt_handlers(); !installed) return fail(installed.error());
  if (options.output.empty() && (is_standard_output(file) || parse_capture_name(file).has_number))
    return fail("missing -o FILE: '" + file + "' is not a file that can be replaced");
  if (options.output.empty()) options.output = file;
  const auto target = open_checked_target(options);
  if (!target) return fail(target.error());
  set_interrupt_loss(describe_unwritten(*target));
  return with_error_context(options.arguments, "naming functions in", [&] {
    const ActivityProgress busy(options, "naming functions");
    return symbolize(file, *target, options);
  });
}

}  // namespace

extern constinit const CommandInfo kSymbolizeCommand =
    make_command<SymbolizeOptions, run_symbolize>(
        {.name = "symbolize",
         .similar_names = "symbols,resolve,addr2line,buildid-cache",
         .arguments = "FILE",
         .summary = "add missing function names to the call stacks of a file",
         .example = "ctprof symbolize run.ctprof.zst --debug-dir /srv/debug",
         .max_arguments = 1},
        kSymbolizeOptions);

}  // namespace ctprof::cli
