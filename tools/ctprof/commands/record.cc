// ctprof record: records a window of this host to a file.

#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/capture.hpp"
#include "core/capture/descriptors.hpp"
#include "core/compare/figures/left_out.hpp"
#include "core/file/file.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/commands/always.hpp"
#include "tools/ctprof/commands/command.hpp"
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/commands/interleave.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/missing_rights.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/strict.hpp"
#include "tools/ctprof/runtime/text.hpp"
#include "tools/ctprof/runtime/unread.hpp"

namespace ctprof::cli {
namespace {

// The kernel's buffer of exited threads holds a third of a second at the highest measured rate.
constexpr int kRecordDrainMs = 20;
constexpr std::uint64_t kProgressEveryNs = 500'000'000;
// A command that was interrupted together with ctprof gets this time to exit, so that its status is
// available.
constexpr int kCommandEndsMs = 300;

// Shows the progress of the recording on a terminal.
class Progress {
 public:
  // `activity` describes the operation: "recording".
  Progress(const Options& options, std::string what)
      : shows_(shows_progress(options)), what_(std::move(what)) {}
  ~Progress() { clear_progress(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t elapsed_ns, const Session& session) {
    if (!shows_ || elapsed_ns < next_ns_) return;
    next_ns_ = elapsed_ns + kProgressEveryNs;
    show_progress(what_ + " " + in_seconds(elapsed_ns) + ", " + count(session.threads(), "thread") +
                  ", " + count(session.ends_seen(), "exited", "exited") + ", " +
                  count(session.ends_lost(), "lost", "lost"));
  }

 private:
  bool shows_;
  std::string what_;
  std::uint64_t next_ns_ = 0;
};

// "web1-20261122-101500"
std::string own_name() {
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

std::string line(const Snapshot& window, const std::string& file, const Written& written) {
  const Window& what = *window.window;
  const std::size_t ended = window.threads().rows - what.living + what.ended_merged;
  return in_seconds(window.meta.end.boottime_ns - what.opened.boottime_ns) + ", " +
         count(what.living, "thread") + " at the end, " +
         (what.sees_ends ? count(ended, "exited", "exited") : "exited threads not recorded") +
         (what.ended_merged > 0 ? " (" + count(what.ended_merged, "merged", "merged") + ")" : "") +
         (what.ended_lost > 0 ? ", " + count(what.ended_lost, "lost", "lost") : "") +
         without_costly(window.meta) + "; " + printable(file) + ", " +
         size_in_words(written.file_bytes) + "\n";
}

// Creates the directory of --repeat with the user's own privileges. Accepts an existing empty one.
Result<void> make_empty_directory(const std::string& path) {
  if (names_output(path)) return Error{"--repeat requires -o DIR: it writes several files"};
  return without_privileges([&]() -> Result<void> {
    if (::mkdir(path.c_str(), 0777) == 0) return {};
    if (errno != EEXIST) return errno_error("making the directory", path, errno);
    std::error_code failed;
    const std::filesystem::directory_iterator first(path, failed);
    if (failed) return errno_error("looking into the directory", path, failed.value());
    if (first != std::filesystem::directory_iterator())
      return error("recording into the directory", path, "it is not empty; name a new one");
    return {};
  });
}

// Opens the target of window `number`: the first of 8 windows is DIR/01.ctprof.zst.
Result<Target> target_of_window(const Options& options, std::uint64_t number) {
  if (options.repeat == 0) return target_of(options);
  const std::size_t width = std::max<std::size_t>(2, std::to_string(options.repeat).size());
  const std::string digits = std::to_string(number);
  Options one = options;
  while (one.output.ends_with('/')) one.output.pop_back();
  one.output += "/" + std::string(width - digits.size(), '0') + digits + std::string(kFileSuffix);
  return target_of(one);
}

// Records consecutive windows, each into its own file.
class WindowRecording {
 public:
  WindowRecording(const Options& options, const Registry& registry, Session& session,
                  std::optional<Command>& command, Shortfall& shortfall)
      : options_(options),
        registry_(registry),
        session_(session),
        command_(command),
        shortfall_(shortfall) {}

  // Returns when all files are written: those of all windows, or of the windows until the command
  // exited or an interrupt. REQUIRES: the session has begun.
  Result<void> run(Target target) {
    opened_ = monotonic_ns();
    for (std::uint64_t number = 1;; ++number) {
      set_interrupt_loss(unwritten(target));
      const bool goes_on = lasts_its_time(number) && number < options_.repeat;
      if (!goes_on) return end(target);
      if (auto written = lap(target); !written) return written;
      auto next = target_of_window(options_, number + 1);
      if (!next) return next.error();
      target = std::move(*next);
    }
  }

 private:
  // Waits until the window's time is over. Returns false if something else ends the recording
  // first.
  bool lasts_its_time(std::uint64_t number) {
    Progress progress(options_, what(number));
    for (;;) {
      const std::uint64_t elapsed = monotonic_ns() - opened_;
      const bool is_over = options_.duration_ns > 0 && elapsed >= options_.duration_ns;
      progress.show(elapsed, session_);
      if (is_ended_within(is_over ? 0 : next_ms(elapsed))) return false;
      if (is_over) return true;
      session_.drain();
    }
  }

  std::string what(std::uint64_t number) const {
    if (options_.pair) return "recording pair " + std::to_string(options_.pair->number) + ":";
    if (options_.repeat == 0) return "recording";
    return "recording " + std::to_string(number) + " of " + std::to_string(options_.repeat) + ":";
  }

  int next_ms(std::uint64_t elapsed) const {
    if (options_.duration_ns == 0) return kRecordDrainMs;
    const std::uint64_t left_ms = (options_.duration_ns - elapsed) / 1'000'000 + 1;
    return static_cast<int>(std::min<std::uint64_t>(kRecordDrainMs, left_ms));
  }

  bool is_ended_within(int timeout_ms) {
    pollfd ends[2]{{interrupted_fd(), POLLIN, 0}, {-1, POLLIN, 0}};
    if (command_) ends[1].fd = command_->ended_fd();
    if (::poll(ends, 2, timeout_ms) <= 0) return false;
    if (ends[0].revents != 0 && command_) ::poll(&ends[1], 1, kCommandEndsMs);
    return true;
  }

  Result<void> lap(const Target& target) {
    const auto window = session_.lap();
    if (!window) return window.error();
    add_missing(**window);
    // The next window opened when this one closed, possibly some time after its scheduled end.
    opened_ = monotonic_ns() - (boottime_ns() - (*window)->meta.start.boottime_ns);
    Result<void> written;
    session_.drain_during(
        [&] { written = without_privileges([&] { return write(**window, target); }); });
    return written;
  }

  // Ends the session, which unwinds and symbolizes the stacks.
  Result<Snapshot> ended() {
    if (options_.record.recorders.empty()) return session_.end();
    const Busy busy(options_, "naming functions");
    return session_.end();
  }

  Result<void> end(const Target& target) {
    auto window = ended();
    if (!window) return window.error();
    add_missing(*window);
    window->meta.pair = options_.pair;
    // The next run needs the capabilities again.
    if (options_.pair) return without_privileges([&] { return write(*window, target); });
    if (auto dropped = drop_privileges(); !dropped) return dropped;
    return write(*window, target);
  }

  void add_missing(const Snapshot& window) {
    if (!shortfall_.is_wanted()) return;
    shortfall_.add(window);
    shortfall_.add(session_.take_recorded());
  }

  Result<void> write(const Snapshot& window, const Target& target) {
    tell(window);
    set_interrupt_loss(half_written(target));
    const auto written = write_file(window, registry_.vocabulary(), target.destination,
                                    {.layout = FileLayout::Columns,
                                     .workers = options_.jobs,
                                     .sync = options_.sync,
                                     .standard_output = output_fd()});
    set_interrupt_loss({});
    if (!written) return written.error();
    if (!options_.quiet) say(line(window, target.name, *written));
    return {};
  }

  // Prints the notes of sources, each text once, and notes about events of the host.
  void tell(const Snapshot& window) {
    for (const std::string& sentence : notes_for_user(window, options_))
      if (told_.insert(sentence).second) note(options_, sentence);
    for (const std::string& sentence : window.window->notes) note(options_, sentence);
    if (!options_.verbose) return;
    for (const std::string& sentence : unread_processes(window)) note(options_, sentence);
    const std::string left_out = left_out_in_words(window.meta.left_out);
    if (!left_out.empty() && told_.insert(left_out).second) note(options_, left_out);
  }

  const Options& options_;
  const Registry& registry_;
  Session& session_;
  std::optional<Command>& command_;
  Shortfall& shortfall_;
  std::uint64_t opened_ = 0;  // start of the current window, by the monotonic clock
  std::set<std::string> told_;
};

Result<void> record(const Options& options, const Registry& registry, Ahead ahead, Target target,
                    std::optional<Command>& command, Shortfall& shortfall) {
  CaptureOptions capture{options.rootfs,   options.pids, options.metrics, options.jobs,
                         options.hostname, true,         options.cgroup};
  capture.record = options.record;
  capture.record.names.stop = interrupted_flag();
  capture.level = options.level.value_or(Level::Fast);
  if (command) capture.command = static_cast<std::uint64_t>(command->pid());
  set_interrupt_loss(unwritten(target));
  auto session = Session::open(registry, std::move(capture), std::move(ahead));
  if (!session) return session.error();
  if (auto begun = session->begin(); !begun) return begun;
  note_unused(options, session->refused());
  shortfall.add(session->refused());
  if (command) {
    if (is_interrupted()) return Error{"interrupted before the command was started"};
    if (!session->sees_births()) ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (auto runs = command->run(); !runs) return runs;
  }
  return WindowRecording(options, registry, *session, command, shortfall).run(std::move(target));
}

// Creates the directory of the runs and a subdirectory for each side.
Result<void> make_directories(const Options& options) {
  if (auto made = make_empty_directory(options.output); !made) return made;
  for (const char* side : {"/a", "/b"})
    if (auto made = make_empty_directory(options.output + side); !made) return made;
  return {};
}

int run_in_turns(const Options& options) {
  if (auto made = make_directories(options); !made) return fail(made.error());
  if (auto enough = check_descriptors(kDescriptors); !enough) return fail(enough.error());
  const auto registry = load_metrics(options, Load::Capture);
  if (!registry) return fail(registry.error());
  if (auto taken = take_interrupts(); !taken) return fail(taken.error());
  Shortfall shortfall(options);
  shortfall.add_refused(*registry);
  const auto record_one = [&](const Options& turn) -> Result<void> {
    auto target = target_of_window(turn, turn.pair->number);
    if (!target) return target.error();
    Options one = turn;
    one.repeat = 0;
    std::optional<Command> none;
    return record(one, *registry, Ahead(options.rootfs), std::move(*target), none, shortfall);
  };
  if (auto done = interleave(options, record_one); !done) return fail(done.error());
  return shortfall.tell(kFine);
}

int run_windows(const Options& options) {
  if (!options.interleave.empty()) return run_in_turns(options);
  if (options.repeat > 0)
    if (auto made = make_empty_directory(options.output); !made) return fail(made.error());
  auto target = target_of_window(options, 1);
  if (!target) return fail(target.error());
  if (auto there = check_names(options); !there) return fail(there.error());
  if (auto enough = check_descriptors(kDescriptors); !enough) return fail(enough.error());
  std::optional<Command> command;
  if (!options.command.empty()) {
    auto held = Command::hold(options.command);
    if (!held) return fail(held.error());
    command.emplace(std::move(*held));
  }
  Ahead ahead(options.rootfs);
  auto registry = load_metrics(options, Load::Capture, &ahead);
  if (!registry) return fail(registry.error());
  set_interrupt_loss(unwritten(*target));
  if (auto taken = take_interrupts(); !taken) return fail(taken.error());
  Shortfall shortfall(options);
  shortfall.add_refused(*registry);
  if (auto done =
          record(options, *registry, std::move(ahead), std::move(*target), command, shortfall);
      !done)
    return fail(done.error());
  if (!command) return shortfall.tell(kFine);
  if (const auto status = command->status()) return shortfall.tell(*status);
  note(options, "the command continues as process " + std::to_string(command->pid()));
  return shortfall.tell(kFine);
}

}  // namespace

int run_record(const Options& given) {
  Options options = given;
  if (options.always.every_ns > 0) {
    if (auto there = check_names(options); !there) return fail(there.error());
    return run_always(options);
  }
  if (options.output.empty())
    options.output = own_name() + std::string(options.repeat > 0 ? "" : kFileSuffix);
  return run_windows(options);
}

}  // namespace ctprof::cli
