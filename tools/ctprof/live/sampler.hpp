// Takes the windows that `ctprof live` shows: consecutive windows of the whole host with the
// metrics of the screen. While one thread is shown, also takes windows of its process with every
// inexpensive metric.
//
// Windows are stored in memory, in the format of a columns file. Nothing is written to disk.
//
// Threads: one.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "core/capture/capture.hpp"
#include "core/registry/registry.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/live/history.hpp"
#include "tools/ctprof/live/window_reports.hpp"

namespace ctprof::live {

class Sampler {
 public:
  // Reads the host and opens the first window. `options`: further selections, such as recorders.
  // REQUIRES: the registry outlives this object.
  static Result<Sampler> begin(const Registry& registry, CaptureOptions options);

  // Drains the records of exited threads and of the recorders.
  void drain() { session_.drain(); }
  // Closes the current window and opens the next one.
  Result<Sample> close_window();
  // Returns the window of the last close_window() with computed differences, as reading its sample
  // would give it. Returns none if the sample must be read instead. REQUIRES: called at most once
  // after each successful close_window().
  std::optional<Snapshot> latest_differences() const;

  // Returns the window of the last close_window(), without differences. REQUIRES: called before the
  // next one.
  const Snapshot& latest_window() const { return *latest_; }

  const std::vector<Refusal>& refused() const { return session_.refusals(); }

 private:
  Sampler(const Registry& registry, Session session, sdk::Fd memory)
      : registry_(&registry), session_(std::move(session)), memory_file_(std::move(memory)) {}

  const Registry* registry_;
  Session session_;
  sdk::Fd memory_file_;  // an anonymous file in memory
  std::uint64_t number_ = 0;
  const Snapshot* latest_ = nullptr;  // owned by the session
  std::size_t text_bytes_ = 0;        // of the window's file
};

class ProcessSampler {
 public:
  explicit ProcessSampler(const Registry& registry) : registry_(&registry) {}

  // Selects the process to observe from now on; none: no process. Ignores errors: the process may
  // have exited.
  void watch(const std::optional<ThreadId>& thread);
  // Drains the records of exited threads.
  void drain() {
    if (session_) session_->drain();
  }
  // Closes the current window of the process, computes its differences, and opens the next one.
  // Returns none if no process is observed.
  std::optional<Snapshot> close_window();

 private:
  const Registry* registry_;
  std::uint64_t tgid_ = 0;
  std::optional<Session> session_;
};

}  // namespace ctprof::live
