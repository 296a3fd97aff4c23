// ctprof live: shows the activity of this host in a terminal, updated every second.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/clock.hpp"
#include "core/capture/descriptors.hpp"
#include "core/file/file.hpp"
#include "core/file/write/destination.hpp"
#include "core/window/join_windows.hpp"
#include "tools/ctprof/commands/emit.hpp"
#include "tools/ctprof/commands/live_command.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/commands/terminal.hpp"
#include "tools/ctprof/live/history.hpp"
#include "tools/ctprof/live/sampler.hpp"
#include "tools/ctprof/live/view.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// The kernel's buffer of exited threads holds a third of a second at the highest measured rate.
constexpr std::uint64_t kDrainEveryNs = 200'000'000;
// Longest time to process keys before the next drawing, so that fast typing remains visible and
// windows end on time.
constexpr std::uint64_t kMaxKeyTimeNs = 50'000'000;
constexpr int kMaxFileNames = 100;

// "ctprof-20261122-101500.ctprof.zst". Later attempts insert "-2" and so on before the first dot.
std::string make_file_name(const live::Sample& sample, int attempt) {
  const auto seconds = static_cast<std::time_t>(sample.closed_ns / kNsPerSecond);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &local);
  return "ctprof-" + std::string(time) + (attempt > 1 ? "-" + std::to_string(attempt) : "") +
         std::string(kFileSuffix);
}

Result<Snapshot> join_samples(const live::WindowReporter& reporter,
                              std::span<const live::Sample> samples) {
  auto first = reporter.load(samples.front());
  if (!first || samples.size() == 1) return first;
  WindowJoiner joiner(std::move(*first));
  for (const live::Sample& sample : samples.subspan(1)) {
    CTPROF_TRY_VALUE(auto next, reporter.load(sample));
    joiner.add(std::move(next));
  }
  return std::move(joiner).join();
}

// Joins the windows and writes them to a new file, with the user's own privileges. Returns the
// message to show.
std::string write_windows(const live::WindowReporter& reporter, const Registry& registry,
                          std::span<const live::Sample> samples) {
  const auto window = join_samples(reporter, samples);
  if (!window) return window.error().text;
  std::string name;
  std::optional<WriteResult> written;
  auto done = without_privileges([&]() -> Result<void> {
    for (int attempt = 1; name.empty() && attempt <= kMaxFileNames; ++attempt)
      if (const std::string one = make_file_name(samples.back(), attempt);
          ::access(one.c_str(), F_OK) != 0)
        name = one;
    if (name.empty()) return Error{"all file names for this second are in use; press w again"};
    CTPROF_TRY_VALUE(auto file, write_file(*window, registry.vocabulary(), name,
                                           {.layout = FileLayout::Columns}));
    written = file;
    return {};
  });
  if (!done) return done.error().text;
  return "written: " + name + ", " + format_count(samples.size(), "window") + ", " +
         format_size(written->file_bytes);
}

class LiveCommand {
 public:
  LiveCommand(const Registry& registry, const LiveOptions& options, live::Sampler& sampler,
              Emitter& emitter)
      : registry_(registry),
        sampler_(sampler),
        emitter_(emitter),
        process_(registry),
        history_(options.history_bytes),
        reporter_(registry, options.record.recorders, spec_of(options)),
        view_(reporter_, history_) {}

  // Runs until the user quits or the terminal is closed.
  Result<void> run(live::Terminal& terminal) {
    opened_ns_ = monotonic_ns();
    next_ns_ = opened_ns_ + interval_ns_;
    drain_ns_ = opened_ns_ + kDrainEveryNs;
    terminal.use_mouse(view_.uses_mouse());
    draw(terminal);
    while (!view_.should_quit() && !is_interrupted() && !terminal.is_closed()) {
      wait();
      bool needs_redraw = process_input(terminal);
      CTPROF_TRY(process_timers(needs_redraw));
      if (needs_redraw) draw(terminal);
    }
    return {};
  }

 private:
  static Spec spec_of(const LiveOptions& options) {
    Spec spec;
    spec.divides_by_cgroup = true;
    spec.literal_names = options.literal_names;
    spec.cgroups.only_globs = options.literal_cgroups;
    return spec;
  }

  // Waits for a key, a change of the terminal's size, or the next window or drain.
  void wait() const {
    if (has_more_) return;
    const std::uint64_t now = monotonic_ns(), due = std::min(next_ns_, drain_ns_);
    const int timeout = due > now ? static_cast<int>((due - now) / 1'000'000 + 1) : 0;
    pollfd ends[2]{{STDIN_FILENO, POLLIN, 0}, {interrupted_fd(), POLLIN, 0}};
    ::poll(ends, 2, timeout);
  }

  // Returns whether there was input. Reads input regardless of the result of wait(), because resize
  // and continue signals can also arrive while other work is done.
  bool process_input(live::Terminal& terminal) {
    bool needs_redraw = false;
    const std::uint64_t until = monotonic_ns() + kMaxKeyTimeNs;
    has_more_ = false;
    while (!has_more_) {
      const auto input = terminal.input();
      if (!input) break;
      const auto* const key = std::get_if<live::Key>(&*input);
      if (key && live::find_action(*key) == live::Action::Redraw) terminal.invalidate();
      std::visit([&](const auto& one) { view_.take(one); }, *input);
      write_selected();
      needs_redraw = true;
      if (view_.should_quit()) break;
      has_more_ = monotonic_ns() >= until;
    }
    if (needs_redraw) process_.watch(view_.watched_thread());
    terminal.use_mouse(view_.uses_mouse());
    apply_interval();
    return needs_redraw;
  }

  // A changed interval also applies to the current window.
  void apply_interval() {
    if (view_.interval_ns() == interval_ns_) return;
    interval_ns_ = view_.interval_ns();
    next_ns_ = opened_ns_ + interval_ns_;
  }

  void write_selected() {
    const auto samples = view_.take_windows_to_write();
    if (!samples) return;
    view_.show_message(write_windows(reporter_, registry_, *samples));
  }

  Result<void> process_timers(bool& needs_redraw) {
    const std::uint64_t now = monotonic_ns();
    if (now >= next_ns_) {
      CTPROF_TRY_VALUE(auto sample, sampler_.close_window());
      history_.add(std::move(sample));
      view_.on_new_window(view_.shows_newest() ? sampler_.latest_differences() : std::nullopt);
      if (const auto window = process_.close_window()) view_.on_process_window(*window);
      emit();
      opened_ns_ = now;
      next_ns_ = std::max(next_ns_ + interval_ns_, now + interval_ns_ / 2);
      needs_redraw = true;
    } else if (now >= drain_ns_) {
      sampler_.drain();
      process_.drain();
    }
    if (now >= drain_ns_) drain_ns_ = now + kDrainEveryNs;
    return {};
  }

  void emit() {
    if (!emitter_.is_enabled()) return;
    emitter_.pass(sampler_.latest_window(), registry_);
    for (const std::string& message : emitter_.take_messages()) view_.show_message(message);
  }

  void draw(live::Terminal& terminal) { terminal.draw(view_.render(terminal.size())); }

  const Registry& registry_;
  live::Sampler& sampler_;
  Emitter& emitter_;
  live::ProcessSampler process_;
  live::History history_;
  live::WindowReporter reporter_;
  live::View view_;
  std::uint64_t interval_ns_ = live::kIntervalsMs[live::kDefaultInterval] * 1'000'000;
  std::uint64_t opened_ns_ = 0;  // start of the current window
  std::uint64_t next_ns_ = 0, drain_ns_ = 0;
  bool has_more_ = false;  // unprocessed keys that wait for the next drawing
};

}  // namespace

int run_live(const LiveOptions& options) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(output_fd()) != 1)
    return fail("live requires a terminal; use `ctprof record -d 10s` to write a file");
  if (auto checked = check_names(options, options.names); !checked) return fail(checked.error());
  if (auto checked_descriptors = check_descriptors(kDescriptors); !checked_descriptors)
    return fail(checked_descriptors.error());
  auto emitter = Emitter::start(options, options, options, -1);
  if (!emitter) return fail(emitter.error());
  const auto registry =
      load_metrics(options, capture_scope(!options.record.recorders.empty(), false));
  if (!registry) return fail(registry.error());
  if (auto installed = install_interrupt_handlers(); !installed) return fail(installed.error());
  CaptureOptions capture;
  capture.pids = options.pids;
  capture.cgroup = options.cgroup;
  capture.jobs = options.jobs;
  capture.records_hostname = options.hostname;
  capture.record = options.make_record_options();
  auto sampler = live::Sampler::begin(*registry, std::move(capture));
  if (!sampler) return fail(sampler.error());
  note_unused(options, sampler->refused());
  const auto done = [&]() -> Result<void> {
    CTPROF_TRY_VALUE(auto terminal, live::Terminal::open(STDIN_FILENO, output_fd()));
    return LiveCommand(*registry, options, *sampler, *emitter).run(terminal);
  }();
  print_notes(options, emitter->finish());
  return done ? kSuccess : fail(done.error());
}

}  // namespace ctprof::cli
