#include "tools/ctprof/commands/always.hpp"

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
#include "core/archive/when.hpp"
#include "core/base/clock.hpp"
#include "core/capture/capture.hpp"
#include "core/capture/descriptors.hpp"
#include "core/file/file.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/files.hpp"
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
constexpr int kAlwaysDrainMs = 100;
// Length of a window that only serves to estimate sizes.
constexpr std::uint64_t kMeasuredNs = 5'000'000'000;
// A note of a source is printed once. This limits the stored notes of a source that varies its
// text.
constexpr std::size_t kMostRemembered = 1000;
constexpr std::size_t kMostAveraged = 60;

// --- recording

CaptureOptions capture_options(const Options& options) {
  CaptureOptions capture{options.rootfs,   options.pids, options.metrics, options.jobs,
                         options.hostname, true,         options.cgroup};
  capture.record = options.record;
  capture.record.names.stop = interrupted_flag();
  capture.level = options.level.value_or(Level::Fast);
  return capture;
}

Result<Session> begun_session(const Options& options, const Registry& registry, Ahead ahead,
                              Shortfall& shortfall) {
  auto session = Session::open(registry, capture_options(options), std::move(ahead));
  if (!session) return session;
  if (auto begun = session->begin(); !begun) return begun.error();
  note_unused(options, session->refused());
  shortfall.add(session->refused());
  return session;
}

// Waits until `due_ns` and drains meanwhile. Returns false when interrupted.
bool waits_until(std::uint64_t due_ns, Session& session) {
  for (;;) {
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t left_ms = now < due_ns ? (due_ns - now) / 1'000'000 + 1 : 0;
    pollfd ends{interrupted_fd(), POLLIN, 0};
    if (::poll(&ends, 1, static_cast<int>(std::min<std::uint64_t>(kAlwaysDrainMs, left_ms))) > 0)
      return false;
    if (left_ms == 0) return true;
    session.drain();
  }
}

class ContinuousRecording {
 public:
  ContinuousRecording(const Options& options, Session& session, WindowStore& store,
                      Shortfall& shortfall)
      : options_(options), session_(session), store_(store), shortfall_(shortfall) {}

  // Returns when it is interrupted or when --duration is over. Keeps the windows before an error.
  // REQUIRES: the session has begun.
  Result<void> run() {
    auto done = record_windows();
    if (done) return done;
    const auto kept = without_privileges([&] { return store_.rescue(); });
    if (!kept) note(options_, kept.error().text);
    return done;
  }

 private:
  Result<void> record_windows() {
    const std::uint64_t every = options_.always.every_ns, begun = monotonic_ns();
    const std::uint64_t end = options_.duration_ns > 0 ? begun + options_.duration_ns : UINT64_MAX;
    for (std::uint64_t due = begun + every;;) {
      if (!waits_until(std::min(due, end), session_) || due >= end) return finish();
      if (auto done = lap(); !done) return done;
      due += every;
      // After the host slept or was too busy, the schedule starts again from now.
      if (const std::uint64_t now = monotonic_ns(); due <= now) due = now + every;
    }
  }

  Result<void> lap() {
    const auto window = session_.lap();
    if (!window) return window.error();
    add_missing(**window);
    Result<void> kept;
    session_.drain_during([&] { kept = without_privileges([&] { return keep(**window); }); });
    return kept;
  }

  Result<void> finish() {
    const auto window = session_.end();
    if (!window) return window.error();
    add_missing(*window);
    return without_privileges([&]() -> Result<void> {
      if (auto kept = keep(*window); !kept) return kept;
      return store_.finish();
    });
  }

  void add_missing(const Snapshot& window) {
    if (!shortfall_.is_wanted()) return;
    shortfall_.add(window);
    shortfall_.add(session_.take_recorded());
  }

  Result<void> keep(const Snapshot& window) {
    if (told_.size() > kMostRemembered) told_.clear();
    for (const std::string& sentence : notes_for_user(window, options_))
      if (told_.insert(sentence).second) note(options_, sentence);
    for (const std::string& sentence : window.window->notes) note(options_, sentence);
    if (auto kept = store_.keep(window); !kept) return kept;
    if (options_.verbose)
      note(options_,
           local_time(window.window->opened.wall_unix_ns) + ": " +
               in_seconds(window.meta.start.boottime_ns - window.window->opened.boottime_ns) +
               ", " + count(window.threads().rows, "thread") + ", " +
               size_in_words(store_.last_bytes()));
    return {};
  }

  const Options& options_;
  Session& session_;
  WindowStore& store_;
  Shortfall& shortfall_;
  std::set<std::string> told_;
};

Result<void> record(const Options& options, Shortfall& shortfall) {
  auto store = open_store(options);
  if (!store) return store.error();
  if (auto enough = check_descriptors(kDescriptors); !enough) return enough;
  Ahead ahead(options.rootfs);
  const auto registry = load_metrics(options, Load::Capture, &ahead);
  if (!registry) return registry.error();
  if (auto taken = take_interrupts(); !taken) return taken;
  shortfall.add_refused(*registry);
  auto session = begun_session(options, *registry, std::move(ahead), shortfall);
  if (!session) return session.error();
  note(options, "recording into " + options.output + ", a window every " +
                    how_long(options.always.every_ns) + (*store)->limits());
  set_interrupt_loss((*store)->interrupt_loss());
  return ContinuousRecording(options, *session, **store, shortfall).run();
}

// --- forecast for --dry-run

// The size of a window of this host as it would be stored, and the length that was measured.
struct Measured {
  std::uint64_t bytes = 0, ns = 0;
};

Result<Measured> measure(const Options& options) {
  const auto registry = load_metrics(options, Load::Capture);
  if (!registry) return registry.error();
  if (auto taken = take_interrupts(); !taken) return taken.error();
  Shortfall nothing(options);
  auto session = begun_session(options, *registry, Ahead(options.rootfs), nothing);
  if (!session) return session.error();
  const std::uint64_t ns = std::min(kMeasuredNs, options.always.every_ns);
  const Busy busy(options, "measuring a window");
  if (!waits_until(monotonic_ns() + ns, *session)) return Error{"interrupted"};
  const auto window = session->end();
  if (!window) return window.error();
  const auto block = block_of(*window, options.jobs);
  if (!block) return block.error();
  // A longer window contains more exited threads.
  const double living = static_cast<double>(window->window->living),
               rows = static_cast<double>(std::max<std::size_t>(window->threads().rows, 1));
  const double longer =
      static_cast<double>(options.always.every_ns) / static_cast<double>(ns) * (rows - living);
  return Measured{
      static_cast<std::uint64_t>(static_cast<double>(block->size()) * (living + longer) / rows),
      ns};
}

// Returns the average size in bytes of the last stored windows. Returns none if their length
// differs much from `every_ns`: a longer window has more exited threads, but no more living ones.
std::optional<std::uint64_t> known_bytes(std::span<const KeptFile> files, std::uint64_t every_ns) {
  std::uint64_t bytes = 0, ns = 0;
  std::size_t count = 0;
  for (auto file = files.rbegin(); file != files.rend() && count < kMostAveraged; ++file)
    for (auto window = file->windows.rbegin();
         window != file->windows.rend() && count < kMostAveraged; ++window, ++count) {
      bytes += window->bytes;
      ns += window->ended.boottime_ns -
            std::min(window->opened.boottime_ns, window->ended.boottime_ns);
    }
  const std::uint64_t length = count > 0 ? ns / count : 0;
  const bool is_alike = length >= every_ns / 2 && length / 2 <= every_ns;
  return is_alike && count > 0 ? std::optional(bytes / count) : std::nullopt;
}

std::string told_contents(const std::string& path, std::span<const KeptFile> files) {
  std::size_t windows = 0;
  for (const KeptFile& file : files) windows += file.windows.size();
  std::string text = printable(path) + ": " + count(windows, "window") + " in " +
                     count(files.size(), "file") + ", " + size_in_words(bytes_of(files));
  if (windows == 0) return text + "\n";
  const auto has_any = [](const KeptFile& file) { return !file.windows.empty(); };
  const auto first = std::ranges::find_if(files, has_any);
  const auto last = std::find_if(files.rbegin(), files.rend(), has_any);
  return text + ", " + local_time(first->windows.front().opened.wall_unix_ns) + " to " +
         local_time(last->windows.back().ended.wall_unix_ns) + "\n";
}

// Returns the ages of the files now, on this host.
Ages ages_of(std::span<const KeptFile> files, const KeepRules& rules) {
  sdk::TextFile file;
  const auto boot = file.read(AT_FDCWD, "/proc/sys/kernel/random/boot_id");
  const Moment now{realtime_ns(), boottime_ns()};
  return Ages(files, {boot ? std::string(sdk::trimmed(boot.value)) : "", now, now}, rules.keep_ns);
}

std::string told_drops(std::span<const KeptFile> files, const Ages& ages, const KeepRules& rules) {
  const std::vector<std::size_t> order = ages.by_age(files);
  const std::size_t old = too_old(files, ages, realtime_ns(), rules).size();
  std::uint64_t bytes = 0, left = bytes_with(files, 0);
  std::size_t gone = 0;
  for (; gone < order.size() && (gone < old || left > rules.most_bytes); ++gone) {
    bytes += bytes_of(files[order[gone]]);
    left -= bytes_of(files[order[gone]]);
  }
  std::string text = "to be dropped now: ";
  if (gone == 0) return text + "nothing\n";
  if (old > 0) text += count(old, "file") + " older than --keep " + how_long(rules.keep_ns);
  if (gone > old)
    text += (old > 0 ? ", " : "") + count(gone - old, "file") + " beyond --max-size " +
            size_in_words(rules.most_bytes);
  return text + ", " + size_in_words(bytes) + "\n";
}

std::string told_forecast(std::uint64_t window_bytes, const AlwaysOptions& always) {
  const Forecast coming = forecast(window_bytes, always.every_ns, always.rules);
  const std::string most = "--max-size " + size_in_words(always.rules.most_bytes);
  std::string text = size_in_words(coming.day_bytes) + " a day; --keep " +
                     how_long(always.rules.keep_ns) + " comes to " +
                     size_in_words(coming.whole_bytes);
  return text + (coming.kept_ns < always.rules.keep_ns
                     ? ": " + most + " keeps " + how_long(coming.kept_ns) + " of it\n"
                     : ", within " + most + "\n");
}

Result<std::vector<KeptFile>> files_there(const std::string& path) {
  std::vector<KeptFile> files;
  const auto read = without_privileges([&]() -> Result<void> {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 && errno == ENOENT) return {};
    const auto directory = Directory::open(path);
    if (!directory) return directory.error();
    auto found = directory->files();
    if (!found) return found.error();
    files = std::move(*found);
    return {};
  });
  if (!read) return read.error();
  return files;
}

int run_dry(const Options& options) {
  const auto files = files_there(options.output);
  if (!files) return fail(files.error());
  std::string text =
      told_contents(options.output, *files) +
      told_drops(*files, ages_of(*files, options.always.rules), options.always.rules) +
      "a window of " + how_long(options.always.every_ns) + " has ";
  std::uint64_t bytes = 0;
  if (const auto known = known_bytes(*files, options.always.every_ns)) {
    bytes = *known;
    text += size_in_words(bytes) + ", by the last that are there: ";
  } else {
    const auto measured = measure(options);
    if (!measured) return fail(measured.error());
    bytes = measured->bytes;
    text += size_in_words(bytes) + ", by one of " + how_long(measured->ns) + ": ";
  }
  return print(text + told_forecast(bytes, options.always));
}

}  // namespace

int run_always(const Options& options) {
  if (!options.command.empty())
    return fail("--every runs until it is stopped and takes no command behind --");
  if (options.output.empty() || names_output(options.output))
    return fail("--every requires -o DIR, or with --duration -o FILE" + std::string(kFileSuffix));
  if (auto fits = check_store(options); !fits) return fail(fits.error());
  if (options.always.dry_run) return run_dry(options);
  Shortfall shortfall(options);
  if (auto done = record(options, shortfall); !done) return fail(done.error());
  return shortfall.tell(kFine);
}

}  // namespace ctprof::cli
