// ctprof record: what happens on this host between two moments, in a file.

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/capture.hpp"
#include "core/capture/descriptors.hpp"
#include "core/file/file.hpp"
#include "core/registry/call_watch.hpp"
#include "tools/ctprof/command.hpp"
#include "tools/ctprof/privileges.hpp"
#include "tools/ctprof/text.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

// The kernel's buffer of ended threads holds a third of a second of the worst storm.
constexpr int kDrainEveryMs = 20;
constexpr std::uint64_t kProgressEveryNs = 500'000'000;
// A command that was interrupted together with us gets so long to end, for its status.
constexpr std::uint64_t kCommandEndsNs = 300'000'000;

// SIGINT and SIGTERM as something that can be waited for. Released, they do what they did before.
class Interrupts {
 public:
  Interrupts() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGINT);
    ::sigaddset(&set_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    fd_ = sdk::Fd(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Interrupts() { release(); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int fd() const { return fd_.get(); }
  // Takes the first one, and lets a second one end the program.
  void take() {
    signalfd_siginfo taken;
    [[maybe_unused]] const ssize_t size = ::read(fd_.get(), &taken, sizeof taken);
    release();
  }

 private:
  void release() { ::pthread_sigmask(SIG_UNBLOCK, &set_, nullptr); }

  sigset_t set_;
  sdk::Fd fd_;
};

// Shows on a terminal how far the recording is.
class Progress {
 public:
  explicit Progress(bool quiet) : shows_(!quiet && ::isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown_) say("\r\33[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t elapsed_ns, const Session& session) {
    if (!shows_ || elapsed_ns < next_ns_) return;
    next_ns_ = elapsed_ns + kProgressEveryNs;
    shown_ = true;
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.1f s", static_cast<double>(elapsed_ns) / 1e9);
    say("\r\33[Krecording " + std::string(seconds) + ", " +
        count(session.ends_seen(), "thread has ended", "threads have ended") +
        (session.ends_lost() > 0 ? ", " + count(session.ends_lost(), "lost", "lost") : ""));
  }

 private:
  bool shows_;
  bool shown_ = false;
  std::uint64_t next_ns_ = 0;
};

// An open window, until it is time to close it.
class Recording {
 public:
  Recording(Session& session, const Options& options, Interrupts& interrupts,
            std::optional<Command>& command)
      : session_(session), options_(options), interrupts_(interrupts), command_(command) {}

  // Returns when the time is over, the command has ended, or somebody interrupts.
  void wait() {
    Progress progress(options_.quiet);
    const std::uint64_t start = monotonic_ns();
    for (;;) {
      const std::uint64_t elapsed = monotonic_ns() - start;
      progress.show(elapsed, session_);
      if (options_.duration_ns > 0 && elapsed >= options_.duration_ns) return;
      if (waited_for_end(next_ms(elapsed))) return;
      session_.drain();
    }
  }

 private:
  int next_ms(std::uint64_t elapsed) const {
    if (options_.duration_ns == 0) return kDrainEveryMs;
    const std::uint64_t left_ms = (options_.duration_ns - elapsed) / 1'000'000 + 1;
    return static_cast<int>(std::min<std::uint64_t>(kDrainEveryMs, left_ms));
  }

  bool waited_for_end(int timeout_ms) {
    pollfd ends[2]{{interrupts_.fd(), POLLIN, 0}, {-1, POLLIN, 0}};
    if (command_) ends[1].fd = command_->ended_fd();
    if (::poll(ends, 2, timeout_ms) <= 0) return false;
    if (ends[0].revents == 0) return true;
    interrupts_.take();
    if (command_) ::poll(&ends[1], 1, static_cast<int>(kCommandEndsNs / 1'000'000));
    return true;
  }

  Session& session_;
  const Options& options_;
  Interrupts& interrupts_;
  std::optional<Command>& command_;
};

// "web1-20261122-101500.ctprof.zst", in the working directory.
std::string own_name() {
  char host[256] = "host", time[32];
  ::gethostname(host, sizeof host - 1);
  for (char& c : host)
    if (c == '/') c = '_';
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &local);
  return std::string(host) + "-" + time + ".ctprof.zst";
}

std::string line(const Snapshot& window, const std::string& file, const Written& written) {
  const Window& what = *window.window;
  const std::size_t ended = window.threads().rows - what.living + what.ended_merged;
  const double seconds =
      static_cast<double>(window.meta.end.boottime_ns - what.opened.boottime_ns) / 1e9;
  char length[32];
  std::snprintf(length, sizeof length, "%.1f s", seconds);
  return std::string(length) + ", " + count(what.living, "thread") + " at the end, " +
         (what.sees_ends ? count(ended, "ended", "ended") : "ended ones not seen") +
         (what.ended_merged > 0 ? " (" + count(what.ended_merged, "merged", "merged") + ")" : "") +
         (what.ended_lost > 0 ? ", " + count(what.ended_lost, "lost", "lost") : "") + "; " + file +
         ", " + size_in_words(written.file_bytes) + "\n";
}

Result<Snapshot> recorded(Session& session, const Options& options,
                          std::optional<Command>& command) {
  Interrupts interrupts;
  if (auto begun = session.begin(); !begun) return begun.error();
  if (!options.command.empty()) {
    auto started = Command::start(options.command);
    if (!started) return started.error();
    command.emplace(std::move(*started));
  }
  Recording(session, options, interrupts, command).wait();
  return session.end();
}

int run(const Options& options) {
  const auto target = target_of(options);
  if (!target) return fail(target.error());
  if (auto enough = check_descriptors(kDescriptors); !enough) return fail(enough.error());
  auto registry = load_metrics(options, Load::Capture);
  if (!registry) return fail(registry.error());
  CaptureOptions capture{options.rootfs, options.pids, options.metrics, options.jobs,
                         options.hostname};
  capture.window = true;
  auto session = Session::open(*registry, std::move(capture));
  if (!session) return fail(session.error());
  std::optional<Command> command;
  const auto window = recorded(*session, options, command);
  if (!window) return fail(window.error());
  note_unused(options, session->refused());
  for (const std::string& sentence : window->meta.notes) note(options, sentence);
  if (auto dropped = drop_privileges(); !dropped) return fail(dropped.error());
  const auto written = write_file(*window, registry->vocabulary(), target->destination,
                                  {.layout = FileLayout::Columns,
                                   .workers = options.jobs,
                                   .sync = options.sync,
                                   .standard_output = output_fd()});
  if (!written) return fail(written.error());
  if (!options.quiet) say(line(*window, target->name, *written));
  if (!command) return kFine;
  if (const auto status = command->status()) return *status;
  note(options, "the command goes on as process " + std::to_string(command->pid()));
  return kFine;
}

}  // namespace

int run_record(const Options& given) {
  Options options = given;
  if (options.output.empty()) options.output = own_name();
  return run(options);
}

}  // namespace ctprof::cli
