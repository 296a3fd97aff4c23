#include "tools/ctprof/commands/continuous_recording.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/archive/archive.hpp"
#include "core/archive/time_text.hpp"
#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/capture/capture.hpp"
#include "core/capture/descriptors.hpp"
#include "core/file/file.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/commands/emit.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/commands/window_store.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/missing_rights.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/strict.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// Three times as often as necessary to keep the kernel's buffer of exited threads from overflowing
// at the highest measured rate.
constexpr int kContinuousDrainMs = 100;
// Length of a window that only serves to estimate sizes.
constexpr std::uint64_t kMeasurementNs = 5'000'000'000;
// A note of a source is printed once. This limits the stored notes of a source that varies its
// text.
constexpr std::size_t kMaxStoredNotes = 1000;
constexpr std::size_t kMaxAveragedWindows = 60;

// --- recording

CaptureOptions capture_options(const RecordCommandOptions& options) {
  CaptureOptions capture = options.make_capture_options();
  capture.record.names.stop = interrupted_flag();
  return capture;
}

Result<Session> begin_session(const RecordCommandOptions& options, const Registry& registry,
                              EarlyOpener ahead, Shortfall& shortfall) {
  CTPROF_TRY_VALUE(auto session,
                   Session::open(registry, capture_options(options), std::move(ahead)));
  CTPROF_TRY(session.begin());
  note_unused(options, session.refusals());
  shortfall.add(session.refusals());
  return session;
}

// Waits until `due_ns` and drains meanwhile. Returns false when interrupted.
bool wait_until(std::uint64_t due_ns, Session& session) {
  for (;;) {
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t left_ms = now < due_ns ? (due_ns - now) / 1'000'000 + 1 : 0;
    pollfd ends{interrupted_fd(), POLLIN, 0};
    if (::poll(&ends, 1, static_cast<int>(std::min<std::uint64_t>(kContinuousDrainMs, left_ms))) >
        0)
      return false;
    if (left_ms == 0) return true;
    session.drain();
  }
}

class ContinuousRecording {
 public:
  ContinuousRecording(const RecordCommandOptions& options, const Registry& registry,
                      Session& session, WindowStore& store, Emitter& emitter, Shortfall& shortfall)
      : options_(options),
        registry_(registry),
        session_(session),
        store_(store),
        emitter_(emitter),
        shortfall_(shortfall) {}

  // Returns when it is interrupted or when --duration is over. Keeps the windows before an error.
  // REQUIRES: the session has begun.
  Result<void> run() {
    auto done = record_windows();
    print_notes(options_, emitter_.finish());
    if (done) return done;
    const auto stored = without_privileges([&] { return store_.commit_after_error(); });
    if (!stored) print_note(options_, stored.error().text);
    return done;
  }

 private:
  Result<void> record_windows() {
    const std::uint64_t every = options_.continuous.every_ns, begin_ns = monotonic_ns();
    const std::uint64_t end =
        options_.duration_ns > 0 ? begin_ns + options_.duration_ns : UINT64_MAX;
    for (std::uint64_t due = begin_ns + every;;) {
      if (!wait_until(std::min(due, end), session_) || due >= end) return finish();
      CTPROF_TRY(close_window());
      due += every;
      // After the host slept or was too busy, the schedule starts again from now.
      if (const std::uint64_t now = monotonic_ns(); due <= now) due = now + every;
    }
  }

  Result<void> close_window() {
    CTPROF_TRY_VALUE(const auto window, session_.next_window());
    add_missing(*window);
    Result<void> stored;
    session_.drain_during(
        [&] { stored = without_privileges([&] { return store_window(*window); }); });
    return stored;
  }

  Result<void> finish() {
    CTPROF_TRY_VALUE(const auto window, session_.end());
    add_missing(window);
    return without_privileges([&]() -> Result<void> {
      CTPROF_TRY(store_window(window));
      return store_.finish();
    });
  }

  void add_missing(const Snapshot& window) {
    if (!shortfall_.is_enabled()) return;
    shortfall_.add(window);
    shortfall_.add(session_.take_recorded());
  }

  Result<void> store_window(const Snapshot& window) {
    if (printed_notes_.size() > kMaxStoredNotes) printed_notes_.clear();
    for (const std::string& sentence : notes_for_user(window, options_))
      if (printed_notes_.insert(sentence).second) print_note(options_, sentence);
    for (const std::string& sentence : window.window->notes) print_note(options_, sentence);
    CTPROF_TRY(store_.add(window));
    emitter_.pass(window, registry_);
    print_notes(options_, emitter_.take_messages());
    if (options_.verbose)
      print_note(options_, format_local_time(window.window->opened_at.wall_unix_ns) + ": " +
                               format_seconds(window.meta.start.boottime_ns -
                                              window.window->opened_at.boottime_ns) +
                               ", " + format_count(window.threads().rows, "thread") + ", " +
                               format_size(store_.last_bytes()));
    return {};
  }

  const RecordCommandOptions& options_;
  const Registry& registry_;
  Session& session_;
  WindowStore& store_;
  Emitter& emitter_;
  Shortfall& shortfall_;
  std::set<std::string> printed_notes_;
};

Result<void> record_continuously(const RecordCommandOptions& options, Shortfall& shortfall) {
  CTPROF_TRY_VALUE(auto store, open_store(options));
  CTPROF_TRY_VALUE(auto emitter, Emitter::start(options, options, options, output_fd()));
  CTPROF_TRY(check_descriptors(kDescriptors));
  EarlyOpener ahead("");
  CTPROF_TRY_VALUE(const auto registry, load_metrics(options, plugin_scope(options), &ahead));
  CTPROF_TRY(install_interrupt_handlers());
  shortfall.add_refused(registry);
  CTPROF_TRY_VALUE(auto session, begin_session(options, registry, std::move(ahead), shortfall));
  print_note(options, "recording into " + options.output + ", a window every " +
                          format_duration(options.continuous.every_ns) + store->limits());
  set_interrupt_loss(store->interrupt_loss());
  return ContinuousRecording(options, registry, session, *store, emitter, shortfall).run();
}

// --- forecast for --dry-run

// The size of a window of this host as it would be stored, and the length that was measured.
struct Measurement {
  std::uint64_t bytes = 0, ns = 0;
};

Result<Measurement> measure_window(const RecordCommandOptions& options) {
  CTPROF_TRY_VALUE(const auto registry, load_metrics(options, plugin_scope(options)));
  CTPROF_TRY(install_interrupt_handlers());
  Shortfall unused_shortfall(false, false);
  CTPROF_TRY_VALUE(auto session,
                   begin_session(options, registry, EarlyOpener(""), unused_shortfall));
  const std::uint64_t ns = std::min(kMeasurementNs, options.continuous.every_ns);
  const ActivityProgress busy(options, "measuring a window");
  if (!wait_until(monotonic_ns() + ns, session)) return Error{"interrupted"};
  CTPROF_TRY_VALUE(const auto window, session.end());
  CTPROF_TRY_VALUE(const auto block, serialize_block(window, options.jobs));
  // A longer window contains more exited threads.
  const double living = static_cast<double>(window.window->living_threads),
               rows = static_cast<double>(std::max<std::size_t>(window.threads().rows, 1));
  const double additional_rows =
      static_cast<double>(options.continuous.every_ns) / static_cast<double>(ns) * (rows - living);
  return Measurement{static_cast<std::uint64_t>(static_cast<double>(block.size()) *
                                                (living + additional_rows) / rows),
                     ns};
}

// Returns the average size in bytes of the last stored windows. Returns none if their length
// differs much from `every_ns`: a longer window has more exited threads, but no more living ones.
std::optional<std::uint64_t> average_window_bytes(std::span<const ArchiveFile> files,
                                                  std::uint64_t every_ns) {
  std::uint64_t bytes = 0, ns = 0;
  std::size_t count = 0;
  for (auto file = files.rbegin(); file != files.rend() && count < kMaxAveragedWindows; ++file)
    for (auto window = file->windows.rbegin();
         window != file->windows.rend() && count < kMaxAveragedWindows; ++window, ++count) {
      bytes += window->bytes;
      ns += window->ended_at.boottime_ns -
            std::min(window->opened_at.boottime_ns, window->ended_at.boottime_ns);
    }
  const std::uint64_t length = count > 0 ? ns / count : 0;
  const bool is_similar = length >= every_ns / 2 && length / 2 <= every_ns;
  return is_similar && count > 0 ? std::optional(bytes / count) : std::nullopt;
}

std::string describe_archive(const std::string& path, std::span<const ArchiveFile> files) {
  std::size_t windows = 0;
  for (const ArchiveFile& file : files) windows += file.windows.size();
  std::string text = make_printable(path) + ": " + format_count(windows, "window") + " in " +
                     format_count(files.size(), "file") + ", " + format_size(bytes_of(files));
  if (windows == 0) return text + "\n";
  const auto has_any = [](const ArchiveFile& file) { return !file.windows.empty(); };
  const auto first = std::ranges::find_if(files, has_any);
  const auto last = std::find_if(files.rbegin(), files.rend(), has_any);
  return text + ", " + format_local_time(first->windows.front().opened_at.wall_unix_ns) + " to " +
         format_local_time(last->windows.back().ended_at.wall_unix_ns) + "\n";
}

// Returns the ages of the files now, on this host.
FileAges compute_ages(std::span<const ArchiveFile> files, const RetentionRules& rules) {
  sdk::TextFile file;
  const auto boot = file.read(AT_FDCWD, "/proc/sys/kernel/random/boot_id");
  const Timestamp now{realtime_ns(), boottime_ns()};
  return FileAges(files, {boot ? std::string(sdk::trimmed(boot.value)) : "", now, now},
                  rules.max_age_ns);
}

std::string describe_deletions(std::span<const ArchiveFile> files, const FileAges& ages,
                               const RetentionRules& rules) {
  const std::vector<std::size_t> order = ages.sort_by_age(files);
  const std::size_t old = find_too_old(files, ages, realtime_ns(), rules).size();
  std::uint64_t bytes = 0, left = bytes_with_window(files, 0);
  std::size_t deleted = 0;
  for (; deleted < order.size() && (deleted < old || left > rules.max_bytes); ++deleted) {
    bytes += bytes_of(files[order[deleted]]);
    left -= bytes_of(files[order[deleted]]);
  }
  std::string text = "to be deleted now: ";
  if (deleted == 0) return text + "nothing\n";
  if (old > 0)
    text += format_count(old, "file") + " older than --keep " + format_duration(rules.max_age_ns);
  if (deleted > old)
    text += (old > 0 ? ", " : "") + format_count(deleted - old, "file") + " beyond --max-size " +
            format_size(rules.max_bytes);
  return text + ", " + format_size(bytes) + "\n";
}

std::string describe_forecast(std::uint64_t window_bytes, const ContinuousOptions& continuous) {
  const Forecast expected = predict_size(window_bytes, continuous.every_ns, continuous.rules);
  const std::string max_size_text = "--max-size " + format_size(continuous.rules.max_bytes);
  std::string text = format_size(expected.day_bytes) + " a day; --keep " +
                     format_duration(continuous.rules.max_age_ns) + " needs " +
                     format_size(expected.total_bytes);
  return text + (expected.available_ns < continuous.rules.max_age_ns
                     ? ": " + max_size_text + " keeps " + format_duration(expected.available_ns) +
                           " of it\n"
                     : ", within " + max_size_text + "\n");
}

Result<std::vector<ArchiveFile>> list_archive_files(const std::string& path) {
  std::vector<ArchiveFile> files;
  CTPROF_TRY(without_privileges([&]() -> Result<void> {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 && errno == ENOENT) return {};
    const auto directory = Directory::open(path);
    if (!directory) return directory.error();
    auto found = directory->files();
    if (!found) return found.error();
    files = std::move(*found);
    return {};
  }));
  return files;
}

int run_dry_run(const RecordCommandOptions& options) {
  const auto files = list_archive_files(options.output);
  if (!files) return fail(files.error());
  std::string text = describe_archive(options.output, *files) +
                     describe_deletions(*files, compute_ages(*files, options.continuous.rules),
                                        options.continuous.rules) +
                     "a window of " + format_duration(options.continuous.every_ns) + " takes ";
  std::uint64_t bytes = 0;
  if (const auto average_bytes = average_window_bytes(*files, options.continuous.every_ns)) {
    bytes = *average_bytes;
    text += format_size(bytes) + ", estimated from the last stored windows: ";
  } else {
    const auto measured = measure_window(options);
    if (!measured) return fail(measured.error());
    bytes = measured->bytes;
    text += format_size(bytes) + ", estimated from one of " + format_duration(measured->ns) + ": ";
  }
  return print(text + describe_forecast(bytes, options.continuous));
}

}  // namespace

int run_continuous_recording(const RecordCommandOptions& options) {
  if (!options.child_command.empty())
    return fail("--every runs until it is stopped and takes no command behind --");
  if (options.output.empty() || is_standard_output(options.output))
    return fail("--every requires -o DIR, or with --duration -o FILE" + std::string(kFileSuffix));
  if (auto checked_store = check_store(options); !checked_store) return fail(checked_store.error());
  if (options.continuous.dry_run) return run_dry_run(options);
  Shortfall shortfall(options.strict, options.metrics.has_value());
  if (auto done = record_continuously(options, shortfall); !done) return fail(done.error());
  return shortfall.report(kSuccess);
}

}  // namespace ctprof::cli
