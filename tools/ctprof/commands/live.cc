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
#include "core/window/laps.hpp"
#include "tools/ctprof/commands/commands.hpp"
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
constexpr std::uint64_t kKeysNs = 50'000'000;
constexpr int kMostNames = 100;

// "ctprof-20261122-101500.ctprof.zst". Later attempts insert "-2" and so on before the first dot.
std::string name_of(const live::Sample& sample, int attempt) {
  const auto seconds = static_cast<std::time_t>(sample.closed_ns / 1'000'000'000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &local);
  return "ctprof-" + std::string(time) + (attempt > 1 ? "-" + std::to_string(attempt) : "") +
         std::string(kFileSuffix);
}

Result<Snapshot> joined_windows(const live::Teller& teller, std::span<const live::Sample> samples) {
  auto first = teller.load(samples.front());
  if (!first || samples.size() == 1) return first;
  Laps laps(std::move(*first));
  for (const live::Sample& sample : samples.subspan(1)) {
    auto next = teller.load(sample);
    if (!next) return next.error();
    laps.add(std::move(*next));
  }
  return std::move(laps).join();
}

// Joins the windows and writes them to a new file, with the user's own privileges. Returns the
// message to show.
std::string write_windows(const live::Teller& teller, const Registry& registry,
                          std::span<const live::Sample> samples) {
  const auto window = joined_windows(teller, samples);
  if (!window) return window.error().text;
  std::string name;
  std::optional<Written> written;
  auto done = without_privileges([&]() -> Result<void> {
    for (int attempt = 1; name.empty() && attempt <= kMostNames; ++attempt)
      if (const std::string one = name_of(samples.back(), attempt);
          ::access(one.c_str(), F_OK) != 0)
        name = one;
    if (name.empty()) return Error{"all names for a window of this second are taken"};
    auto file = write_file(*window, registry.vocabulary(), name, {.layout = FileLayout::Columns});
    if (!file) return file.error();
    written = *file;
    return {};
  });
  if (!done) return done.error().text;
  return "written: " + name + ", " + count(samples.size(), "window") + ", " +
         size_in_words(written->file_bytes);
}

class Live {
 public:
  Live(const Registry& registry, const Options& options, live::Sampler& sampler)
      : registry_(registry),
        sampler_(sampler),
        process_(registry),
        history_(options.history_bytes),
        teller_(registry, options.record.recorders, spec_of(options)),
        view_(teller_, history_) {}

  // Runs until the user quits or the terminal is closed.
  Result<void> run(live::Terminal& terminal) {
    opened_ns_ = monotonic_ns();
    next_ns_ = opened_ns_ + interval_ns_;
    drain_ns_ = opened_ns_ + kDrainEveryNs;
    terminal.use_mouse(view_.uses_mouse());
    draw(terminal);
    while (!view_.quits() && !is_interrupted() && !terminal.is_gone()) {
      wait();
      bool is_new = take_keys(terminal);
      if (auto taken = take_time(is_new); !taken) return taken;
      if (is_new) draw(terminal);
    }
    return {};
  }

 private:
  static Spec spec_of(const Options& options) {
    Spec spec;
    spec.literal_names = options.literal_names;
    spec.cgroups.literal = options.literal_cgroups;
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
  bool take_keys(live::Terminal& terminal) {
    bool is_new = false;
    const std::uint64_t until = monotonic_ns() + kKeysNs;
    has_more_ = false;
    while (!has_more_) {
      const auto input = terminal.input();
      if (!input) break;
      const auto* const key = std::get_if<live::Key>(&*input);
      if (key && live::deed_of(*key) == live::Deed::Redraw) terminal.forget();
      std::visit([&](const auto& one) { view_.take(one); }, *input);
      write_wanted();
      is_new = true;
      if (view_.quits()) break;
      has_more_ = monotonic_ns() >= until;
    }
    if (is_new) process_.watch(view_.watched());
    terminal.use_mouse(view_.uses_mouse());
    take_interval();
    return is_new;
  }

  // A changed interval also applies to the current window.
  void take_interval() {
    if (view_.interval_ns() == interval_ns_) return;
    interval_ns_ = view_.interval_ns();
    next_ns_ = opened_ns_ + interval_ns_;
  }

  void write_wanted() {
    const auto samples = view_.take_wanted();
    if (!samples) return;
    view_.say(write_windows(teller_, registry_, *samples));
  }

  Result<void> take_time(bool& is_new) {
    const std::uint64_t now = monotonic_ns();
    if (now >= next_ns_) {
      auto sample = sampler_.next();
      if (!sample) return sample.error();
      history_.add(std::move(*sample));
      view_.take_window(view_.follows() ? sampler_.latest() : std::nullopt);
      if (const auto window = process_.next()) view_.take_process(*window);
      opened_ns_ = now;
      next_ns_ = std::max(next_ns_ + interval_ns_, now + interval_ns_ / 2);
      is_new = true;
    } else if (now >= drain_ns_) {
      sampler_.drain();
      process_.drain();
    }
    if (now >= drain_ns_) drain_ns_ = now + kDrainEveryNs;
    return {};
  }

  void draw(live::Terminal& terminal) { terminal.draw(view_.picture(terminal.size())); }

  const Registry& registry_;
  live::Sampler& sampler_;
  live::ProcessSampler process_;
  live::History history_;
  live::Teller teller_;
  live::View view_;
  std::uint64_t interval_ns_ = live::kIntervalsMs[live::kDefaultInterval] * 1'000'000;
  std::uint64_t opened_ns_ = 0;  // start of the current window
  std::uint64_t next_ns_ = 0, drain_ns_ = 0;
  bool has_more_ = false;  // unprocessed keys that wait for the next drawing
};

}  // namespace

int run_live(const Options& options) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(output_fd()) != 1)
    return fail("live requires a terminal; use `ctprof record -d 10s` to write a file");
  if (auto there = check_names(options); !there) return fail(there.error());
  if (auto enough = check_descriptors(kDescriptors); !enough) return fail(enough.error());
  const auto registry = load_metrics(options, Load::Capture);
  if (!registry) return fail(registry.error());
  if (auto taken = take_interrupts(); !taken) return fail(taken.error());
  CaptureOptions capture;
  capture.pids = options.pids;
  capture.cgroup = options.cgroup;
  capture.jobs = options.jobs;
  capture.hostname = options.hostname;
  capture.record = options.record;
  auto sampler = live::Sampler::begin(*registry, std::move(capture));
  if (!sampler) return fail(sampler.error());
  note_unused(options, sampler->refused());
  const auto done = [&]() -> Result<void> {
    auto terminal = live::Terminal::open(STDIN_FILENO, output_fd());
    if (!terminal) return terminal.error();
    return Live(*registry, options, *sampler).run(*terminal);
  }();
  return done ? kFine : fail(done.error());
}

}  // namespace ctprof::cli
