// Takes the windows that `ctprof live` shows: back to back, of the whole host, with the metrics
// that the screen needs; and, while somebody looks at one thread, windows of its process alone with
// every metric that is cheap to read.
//
// A window is kept as a file in columns holds it, in memory; nothing is ever written to a disk.
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
#include "tools/ctprof/live/told.hpp"

namespace ctprof::live {

class Sampler {
 public:
  // Reads the host: the first window begins. `options`: what else is asked, such as recorders.
  // REQUIRES: the registry outlives this.
  static Result<Sampler> begin(const Registry& registry, CaptureOptions options);

  // Takes in what ended meanwhile, and what recorders have gathered.
  void drain() { session_.drain(); }
  // The window until now; the next one begins.
  Result<Sample> next();
  // That window, made of differences, as it would be read of the sample; none where reading is what
  // has to be done. REQUIRES: next() returned one, and nobody has taken it yet.
  std::optional<Snapshot> latest() const;

  const std::vector<Refusal>& refused() const { return session_.refused(); }

 private:
  Sampler(const Registry& registry, Session session, sdk::Fd memory)
      : registry_(&registry), session_(std::move(session)), memory_(std::move(memory)) {}

  const Registry* registry_;
  Session session_;
  sdk::Fd memory_;  // a file without a disk
  std::uint64_t number_ = 0;
  const Snapshot* latest_ = nullptr;  // the session's
  std::size_t text_bytes_ = 0;        // of its file
};

class ProcessSampler {
 public:
  explicit ProcessSampler(const Registry& registry) : registry_(&registry) {}

  // Whose windows are wanted from now on; none: nobody's. What cannot be read is left out: a
  // process may have ended.
  void watch(const std::optional<ThreadId>& thread);
  // Takes in the threads that exited meanwhile.
  void drain() {
    if (session_) session_->drain();
  }
  // The window of that process until now, made of differences; the next one begins. None if there
  // is none.
  std::optional<Snapshot> next();

 private:
  const Registry* registry_;
  std::uint64_t tgid_ = 0;
  std::optional<Session> session_;
};

}  // namespace ctprof::live
