// ctprof record: records a window of this host to a file.

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/capture/capture.hpp"
#include "core/capture/descriptors.hpp"
#include "core/compare/figures/uncaptured_metrics.hpp"
#include "core/file/file.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/commands/child_command.hpp"
#include "tools/ctprof/commands/continuous_recording.hpp"
#include "tools/ctprof/commands/interleave.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/commands/window_directory.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/missing_rights.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/strict.hpp"
#include "tools/ctprof/runtime/text.hpp"
#include "tools/ctprof/runtime/unreadable_processes.hpp"

namespace ctprof::cli {
namespace {

// The kernel's buffer of exited threads holds a third of a second at the highest measured rate.
constexpr int kRecordDrainMs = 20;
constexpr std::uint64_t kProgressEveryNs = 500'000'000;
// A command that was interrupted together with ctprof gets this time to exit, so that its status is
// available.
constexpr int kCommandExitMs = 300;

// Shows the progress of the recording on a terminal.
class RecordingProgress {
 public:
  // `activity` describes the operation: "recording".
  RecordingProgress(const RecordCommandOptions& options, std::string activity)
      : is_visible_(is_progress_visible(options)), activity_(std::move(activity)) {}
  ~RecordingProgress() { clear_progress(); }
  RecordingProgress(const RecordingProgress&) = delete;
  RecordingProgress& operator=(const RecordingProgress&) = delete;

  void show(std::uint64_t elapsed_ns, const Session& session) {
    if (!is_visible_ || elapsed_ns < next_ns_) return;
    next_ns_ = elapsed_ns + kProgressEveryNs;
    show_progress(activity_ + " " + format_seconds(elapsed_ns) + ", " +
                  format_count(session.threads(), "thread") + ", " +
                  format_count(session.count_exited_threads(), "exited", "exited") + ", " +
                  format_count(session.count_lost_exits(), "lost", "lost"));
  }

 private:
  bool is_visible_;
  std::string activity_;
  std::uint64_t next_ns_ = 0;
};

// "web1-20261122-101500"
std::string default_recording_name() {
  char host[256] = "host", time[32];
  ::gethostname(host, sizeof host - 1);
  for (char& c : host)
    if (c == '/') c = '_';
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &local);
  return std::string(host) + "-" + time;
}

std::string summary_line(const Snapshot& window, const std::string& file,
                         const WriteResult& written) {
  const Window& window_data = *window.window;
  const std::size_t exited =
      window.threads().rows - window_data.living_threads + window_data.exited_merged;
  return format_seconds(window.meta.end.boottime_ns - window_data.opened_at.boottime_ns) + ", " +
         format_count(window_data.living_threads, "thread") + " at the end, " +
         (window_data.reports_exits ? format_count(exited, "exited", "exited")
                                    : "exited threads not recorded") +
         (window_data.exited_merged > 0
              ? " (" + format_count(window_data.exited_merged, "merged", "merged") + ")"
              : "") +
         (window_data.exited_lost > 0 ? ", " + format_count(window_data.exited_lost, "lost", "lost")
                                      : "") +
         describe_omitted_metrics(window.meta) + "; " + make_printable(file) + ", " +
         format_size(written.file_bytes) + "\n";
}

// Opens the target of window `number`. `directory`: where the windows of --repeat are written; null
// without it.
Result<Target> open_window_target(const RecordCommandOptions& options,
                                  const WindowDirectory* directory, std::uint64_t number) {
  return directory ? directory->open_target(options, number) : open_checked_target(options);
}

// Records consecutive windows, each into its own file.
class WindowRecorder {
 public:
  WindowRecorder(const RecordCommandOptions& options, const Registry& registry,
                 const WindowDirectory* directory, Session& session,
                 std::optional<ChildCommand>& command, Shortfall& shortfall)
      : options_(options),
        registry_(registry),
        directory_(directory),
        session_(session),
        command_(command),
        shortfall_(shortfall) {}

  // Returns when all files are written: those of all windows, or of the windows until the command
  // exited or an interrupt. REQUIRES: the session has begun.
  Result<void> run(Target target) {
    opened_ = monotonic_ns();
    for (std::uint64_t number = 1;; ++number) {
      set_interrupt_loss(describe_unwritten(target));
      const bool continues = wait_for_window_end(number) && number < options_.repeat;
      if (!continues) return finish(target);
      CTPROF_TRY(close_window(target));
      CTPROF_TRY_VALUE(auto next, open_window_target(options_, directory_, number + 1));
      target = std::move(next);
    }
  }

 private:
  // Waits until the window's time is over. Returns false if something else ends the recording
  // first.
  bool wait_for_window_end(std::uint64_t number) {
    RecordingProgress progress(options_, describe_activity(number));
    for (;;) {
      const std::uint64_t elapsed = monotonic_ns() - opened_;
      const bool is_over = options_.duration_ns > 0 && elapsed >= options_.duration_ns;
      progress.show(elapsed, session_);
      if (ends_within(is_over ? 0 : poll_timeout_ms(elapsed))) return false;
      if (is_over) return true;
      session_.drain();
    }
  }

  std::string describe_activity(std::uint64_t number) const {
    if (options_.pair) return "recording pair " + std::to_string(options_.pair->number) + ":";
    if (options_.repeat == 0) return "recording";
    return "recording " + std::to_string(number) + " of " + std::to_string(options_.repeat) + ":";
  }

  int poll_timeout_ms(std::uint64_t elapsed) const {
    if (options_.duration_ns == 0) return kRecordDrainMs;
    const std::uint64_t left_ms = (options_.duration_ns - elapsed) / 1'000'000 + 1;
    return static_cast<int>(std::min<std::uint64_t>(kRecordDrainMs, left_ms));
  }

  bool ends_within(int timeout_ms) {
    pollfd poll_fds[2]{{interrupted_fd(), POLLIN, 0}, {-1, POLLIN, 0}};
    if (command_) poll_fds[1].fd = command_->exit_fd();
    if (::poll(poll_fds, 2, timeout_ms) <= 0) return false;
    if (poll_fds[0].revents != 0 && command_) ::poll(&poll_fds[1], 1, kCommandExitMs);
    return true;
  }

  Result<void> close_window(const Target& target) {
    CTPROF_TRY_VALUE(const auto window, session_.next_window());
    add_missing(*window);
    // The next window opened when this one closed, possibly some time after its scheduled end.
    opened_ = monotonic_ns() - (boottime_ns() - window->meta.start.boottime_ns);
    Result<void> written;
    session_.drain_during(
        [&] { written = without_privileges([&] { return write(*window, target); }); });
    return written;
  }

  // Ends the session, which unwinds and symbolizes the stacks.
  Result<Snapshot> end_session() {
    if (options_.record.recorders.empty()) return session_.end();
    const ActivityProgress busy(options_, "naming functions");
    return session_.end();
  }

  Result<void> finish(const Target& target) {
    CTPROF_TRY_VALUE(auto window, end_session());
    add_missing(window);
    window.meta.pair = options_.pair;
    // The next run needs the capabilities again.
    if (options_.pair) return without_privileges([&] { return write(window, target); });
    CTPROF_TRY(drop_privileges());
    return write(window, target);
  }

  void add_missing(const Snapshot& window) {
    if (!shortfall_.is_enabled()) return;
    shortfall_.add(window);
    shortfall_.add(session_.take_recorded());
  }

  Result<void> write(const Snapshot& window, const Target& target) {
    print_notes(window);
    set_interrupt_loss(describe_partial_write(target));
    const auto written = write_file(window, registry_.vocabulary(), target.destination,
                                    {.layout = FileLayout::Columns,
                                     .workers = options_.jobs,
                                     .sync = options_.sync,
                                     .standard_output = output_fd()});
    set_interrupt_loss({});
    if (!written) return written.error();
    if (!options_.quiet) print_to_stderr(summary_line(window, target.name, *written));
    return {};
  }

  // Prints the notes of sources, each text once, and notes about events of the host.
  void print_notes(const Snapshot& window) {
    for (const std::string& sentence :
         notes_for_user(window, options_, !options_.child_command.empty()))
      if (printed_notes_.insert(sentence).second) print_note(options_, sentence);
    for (const std::string& sentence : window.window->notes) print_note(options_, sentence);
    if (!options_.verbose) return;
    for (const std::string& sentence : describe_unreadable_processes(window))
      print_note(options_, sentence);
    const std::string left_out = describe_uncaptured_metrics(window.meta.uncaptured_metrics);
    if (!left_out.empty() && printed_notes_.insert(left_out).second) print_note(options_, left_out);
  }

  const RecordCommandOptions& options_;
  const Registry& registry_;
  const WindowDirectory* directory_;
  Session& session_;
  std::optional<ChildCommand>& command_;
  Shortfall& shortfall_;
  std::uint64_t opened_ = 0;  // start of the current window, by the monotonic clock
  std::set<std::string> printed_notes_;
};

Result<void> record_windows(const RecordCommandOptions& options, const Registry& registry,
                            EarlyOpener ahead, const WindowDirectory* directory, Target target,
                            std::optional<ChildCommand>& command, Shortfall& shortfall) {
  CaptureOptions capture = options.make_capture_options();
  capture.record.names.stop = interrupted_flag();
  if (command) capture.command = static_cast<std::uint64_t>(command->pid());
  set_interrupt_loss(describe_unwritten(target));
  CTPROF_TRY_VALUE(auto session, Session::open(registry, std::move(capture), std::move(ahead)));
  CTPROF_TRY(session.begin());
  note_unused(options, session.refusals());
  shortfall.add(session.refusals());
  if (command) {
    if (is_interrupted()) return Error{"interrupted before the command was started"};
    if (!session.sees_forks()) ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    CTPROF_TRY(command->run());
  }
  return WindowRecorder(options, registry, directory, session, command, shortfall)
      .run(std::move(target));
}

// Creates the directory of the runs and a subdirectory for each side. Returns the subdirectories by
// path.
Result<std::map<std::string, WindowDirectory>> make_side_directories(
    const RecordCommandOptions& options) {
  CTPROF_TRY(WindowDirectory::make(options.output));
  std::map<std::string, WindowDirectory> sides;
  for (const char* side : {"/a", "/b"}) {
    CTPROF_TRY_VALUE(auto made, WindowDirectory::make(options.output + side));
    sides.emplace(options.output + side, std::move(made));
  }
  return sides;
}

int run_interleaved(const RecordCommandOptions& options) {
  const auto sides = make_side_directories(options);
  if (!sides) return fail(sides.error());
  if (auto checked_descriptors = check_descriptors(kDescriptors); !checked_descriptors)
    return fail(checked_descriptors.error());
  const auto registry = load_metrics(options, plugin_scope(options));
  if (!registry) return fail(registry.error());
  if (auto installed = install_interrupt_handlers(); !installed) return fail(installed.error());
  Shortfall shortfall(options.strict, options.metrics.has_value());
  shortfall.add_refused(*registry);
  const auto record_one = [&](const RecordCommandOptions& side_options) -> Result<void> {
    CTPROF_TRY_VALUE(
        auto target,
        sides->at(side_options.output).open_target(side_options, side_options.pair->number));
    RecordCommandOptions run_options = side_options;
    run_options.repeat = 0;
    std::optional<ChildCommand> none;
    return record_windows(run_options, *registry, EarlyOpener(""), nullptr, std::move(target), none,
                          shortfall);
  };
  if (auto done = record_interleaved(options, record_one); !done) return fail(done.error());
  return shortfall.report(kSuccess);
}

int run_windows(const RecordCommandOptions& options) {
  if (!options.interleave.empty()) return run_interleaved(options);
  std::optional<WindowDirectory> directory;
  if (options.repeat > 0) {
    auto made = WindowDirectory::make(options.output);
    if (!made) return fail(made.error());
    directory.emplace(std::move(*made));
  }
  const WindowDirectory* const windows = directory ? &*directory : nullptr;
  auto target = open_window_target(options, windows, 1);
  if (!target) return fail(target.error());
  if (auto checked = check_names(options, options.names); !checked) return fail(checked.error());
  if (auto checked_descriptors = check_descriptors(kDescriptors); !checked_descriptors)
    return fail(checked_descriptors.error());
  std::optional<ChildCommand> command;
  if (!options.child_command.empty()) {
    auto forked = ChildCommand::fork_waiting(options.child_command);
    if (!forked) return fail(forked.error());
    command.emplace(std::move(*forked));
  }
  EarlyOpener ahead("");
  auto registry = load_metrics(options, plugin_scope(options), &ahead);
  if (!registry) return fail(registry.error());
  set_interrupt_loss(describe_unwritten(*target));
  if (auto installed = install_interrupt_handlers(); !installed) return fail(installed.error());
  Shortfall shortfall(options.strict, options.metrics.has_value());
  shortfall.add_refused(*registry);
  if (auto done = record_windows(options, *registry, std::move(ahead), windows, std::move(*target),
                                 command, shortfall);
      !done)
    return fail(done.error());
  if (!command) return shortfall.report(kSuccess);
  if (const auto status = command->status()) return shortfall.report(*status);
  print_note(options, "the command continues as process " + std::to_string(command->pid()));
  return shortfall.report(kSuccess);
}

}  // namespace

int run_record(const RecordCommandOptions& parsed_options) {
  RecordCommandOptions options = parsed_options;
  if (options.continuous.every_ns > 0) {
    if (auto checked = check_names(options, options.names); !checked) return fail(checked.error());
    return run_continuous_recording(options);
  }
  if (options.output.empty())
    options.output = default_recording_name() + std::string(options.repeat > 0 ? "" : kFileSuffix);
  return run_windows(options);
}

}  // namespace ctprof::cli
