// ctprof symbolize: adds names to functions in a file's call stacks that had none when it was
// recorded.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/file/file.hpp"
#include "core/file/read/load.hpp"
#include "core/flame/stack_profile.hpp"
#include "core/render/terminal_text.hpp"
#include "core/snapshot/stack_names.hpp"
#include "core/stacks/debug_files.hpp"
#include "core/stacks/debuginfod.hpp"
#include "core/stacks/jit_maps.hpp"
#include "core/stacks/patient_files.hpp"
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kShownModules = 5;
// After this time a file system counts as unresponsive. A file of 500 MiB takes five seconds over a
// network.
constexpr std::chrono::seconds kPatience{10};

bool has_stacks(const Snapshot& window) {
  return std::ranges::any_of(window.threads().columns, [](const Column& column) {
    return column.def().storage == Storage::Stacks;
  });
}

// Refuses a file of several windows, because replacing it by one of them would lose the others.
Result<Snapshot> load(const std::string& file, const Vocabulary& vocabulary) {
  auto runs = load_runs(file, vocabulary);
  if (!runs) return runs.error();
  if (runs->size() > 1)
    return error("naming functions in", file,
                 "it contains " + std::to_string(runs->size()) +
                     " windows; select one and an output file: '" + file + "#1' -o FILE");
  if (!has_stacks(runs->front()))
    return error("reading", file, "it has no call stacks: `ctprof record --recorders` takes them");
  return std::move(runs->front());
}

std::string in_words(const std::string& file, const StackNames& names, bool inlines) {
  const std::size_t before = names.named + names.unnamed;
  std::string line = file + ": ";
  if (before == 0) line += "all of " + count(names.frames, "frame") + " already had names";
  if (before > 0)
    line += count(names.named, "frame") + " of " + with_separators(before) + " without a name " +
            (names.named == 1 ? "has" : "have") + " one now";
  if (inlines) line += "; " + count(names.inlined, "frame") + " of inlined functions added";
  return printable(line) + "\n";
}

// "  12 frames of /usr/lib/libx.so, build id 3f2a"
std::string in_words(const Nameless& nameless, const StackTable& table) {
  const Module& module = table.modules()[nameless.module];
  std::string name(name_of(module));
  if (module.process != 0) name += " of process " + std::to_string(module.process);
  std::string line = "  " + count(nameless.frames, "frame") + " of " +
                     (name.empty() ? std::string("an unknown module") : name);
  if (!module.build_id.empty()) line += ", build id " + hex(module.build_id);
  return printable(line) + "\n";
}

// Lists the frames that still have no name, by module, so that the user can find the modules'
// files.
std::string unnamed_in_words(const StackTable& table, const StackNames& names) {
  if (names.unnamed == 0) return {};
  std::string text = "still without a name:\n";
  const auto modules = nameless_modules(table);
  for (std::size_t i = 0; i < std::min(modules.size(), kShownModules); ++i)
    text += in_words(modules[i], table);
  if (modules.size() > kShownModules)
    text += "  and frames of " + count(modules.size() - kShownModules, "other module") + "\n";
  return text;
}

std::string silent_in_words(const std::vector<std::string>& paths) {
  std::vector<Module> files;
  for (const std::string& path : paths) files.push_back({Module::Kind::File, path, {}, 0});
  return "cannot open files: " + ctprof::in_words(files) +
         ": the file system does not answer; their functions have no names";
}

void note_missing(const Options& options, const StackNames& names, const PatientFiles& files) {
  if (!files.silent().empty()) note(options, silent_in_words(files.silent()));
  if (is_interrupted()) {
    note(options, "interrupted while functions were named: the others have no names yet");
    return;
  }
  for (const std::string& message : inlines_missing_in_words(names)) note(options, message);
  if (!names.beyond_limits.empty()) note(options, unnamed_for_limits(names.beyond_limits));
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
NameSources sources_of(const Snapshot& window, DebugFiles& files) {
  NameSources sources = sources_here(files, window.pools->stacks.table);
  const bool is_own_boot = is_of_this_boot(window) && !runs_privileged();
  const std::uint64_t closed = window.meta.end.wall_unix_ns;
  sources.perf_map = [&files, is_own_boot, closed](std::uint64_t process) {
    std::string text = files.jit_map(process).text;
    const sdk::Fd fd =
        text.empty() && is_own_boot ? open_perf_map_of_exited(process, closed) : sdk::Fd();
    return fd ? read_perf_map(fd.get()).text : text;
  };
  return sources;
}

// Opens the servers in $DEBUGINFOD_URLS if the user requested them.
Result<std::unique_ptr<Debuginfod>> open_servers(const Options& options) {
  if (!options.record.names.debuginfod) return std::unique_ptr<Debuginfod>();
  return Debuginfod::open({.stop = interrupted_flag()});
}

Result<std::uint64_t> write(const Snapshot& window, const Vocabulary& vocabulary,
                            const Target& target, const Options& options) {
  set_interrupt_loss(half_written(target));
  const auto written = write_file(window, vocabulary, target.destination,
                                  {.layout = FileLayout::Columns,
                                   .workers = options.jobs,
                                   .sync = options.sync,
                                   .standard_output = output_fd()});
  set_interrupt_loss({});
  if (!written) return written.error();
  return written->file_bytes;
}

int symbolize(const std::string& file, const Target& target, const Options& options) {
  const auto layouts = load_registry(options, Load::Layouts);
  if (!layouts) return fail(layouts.error());
  auto window = load(file, layouts->vocabulary());
  if (!window) return fail(window.error());
  note_read(options, file, {&*window, 1});
  for (const std::string& sentence : window->told) note(options, sentence);
  const NameOptions& wanted = options.record.names;
  const StackTable& table = window->pools->stacks.table;
  const auto servers = open_servers(options);
  if (!servers) return fail(servers.error());
  PatientFiles patient(kPatience, interrupted_fd());
  std::vector<std::string> directories = wanted.debug_directories;
  for (std::string& cache : debuginfod_caches()) directories.push_back(std::move(cache));
  DebugFiles files(directories, has_lent_rights(), DebugFiles::Beside::Too,
                   [&](const std::string& path) { return patient.open(path); });
  if (*servers)
    files.fetch_from([&](const std::string& build_id, bool is_stripped) {
      using Wanted = Debuginfod::Wanted;
      return (*servers)->find(build_id, is_stripped ? Wanted::DebugInformation : Wanted::Program);
    });
  NamingLimits limits;
  limits.names.stop = interrupted_flag();
  const StackNames names = name_stacks(*window, sources_of(*window, files), wanted.inlines, limits);
  note_missing(options, names, patient);
  if (*servers && (*servers)->given_up() > 0)
    note(options, "debuginfod servers: " + count((*servers)->given_up(), "file") +
                      " took too long or too much memory");
  const auto written = write(*window, layouts->vocabulary(), target, options);
  if (!written) return fail(written.error());
  const std::string text = in_words(file, names, wanted.inlines) + unnamed_in_words(table, names);
  if (!options.quiet) target.is_stdout ? say(text) : void(print(text));
  return tell_written(options, target, *written);
}

}  // namespace

Result<void> check_debug_directories(const Options& options) {
  for (const std::string& directory : options.record.names.debug_directories) {
    struct stat status {};
    const bool is_there = ::stat(directory.c_str(), &status) == 0;
    if (!is_there || !S_ISDIR(status.st_mode))
      return errno_error("looking for names in", directory, is_there ? ENOTDIR : errno);
  }
  return {};
}

Result<void> check_names(const Options& options) {
  if (runs_privileged() && !options.record.names.debug_directories.empty())
    note(options,
         "--debug-dir is ignored: this ctprof has file capabilities; use `ctprof symbolize` on "
         "the recorded file");
  return without_privileges([&] { return check_debug_directories(options); });
}

int run_symbolize(const Options& given) {
  if (given.arguments.empty()) return fail("missing FILE; see `ctprof symbolize --help`");
  const std::string& file = given.arguments.front();
  Options options = given;
  if (auto there = check_debug_directories(options); !there) return fail(there.error());
  if (auto taken = take_interrupts(); !taken) return fail(taken.error());
  if (options.output.empty() && (names_output(file) || name_of_capture(file).is_chosen))
    return fail("missing -o FILE: '" + file + "' is not a file that can be replaced");
  if (options.output.empty()) options.output = file;
  const auto target = target_of(options);
  if (!target) return fail(target.error());
  set_interrupt_loss(unwritten(*target));
  return naming(options.arguments, "naming functions in", [&] {
    const Busy busy(options, "naming functions");
    return symbolize(file, *target, options);
  });
}

}  // namespace ctprof::cli
