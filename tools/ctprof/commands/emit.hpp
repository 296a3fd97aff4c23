// --emit: passes the windows of `record --every` and `live` to output plugins.
//
// An output never delays a window and never ends the recording: its errors are notes. The windows
// are made after their files are written.

#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/report/report.hpp"
#include "core/compare/request/spec.hpp"
#include "core/output/output_process.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/common_options.hpp"
#include "tools/ctprof/options/emit_options.hpp"

namespace ctprof::cli {

class Emitter {
 public:
  // Starts all outputs of --emit. `bytes_fd` receives the bytes that they write; -1: none.
  // REQUIRES: no other thread exists.
  static Result<Emitter> start(const CommonOptions& options, const EmitOption& emit,
                               const MetricChoice& choice, int bytes_fd);

  bool is_enabled() const { return !outputs_.empty(); }
  // Passes a window to each output. REQUIRES: the window contains no differences yet; the registry
  // is that of its session.
  void pass(const Snapshot& window, const Registry& registry);
  // Does the same with a window that contains its differences.
  void pass_differences(const Snapshot& window, const Registry& registry);
  // Returns new messages of the outputs, as sentences. A message that repeats the previous one is
  // omitted.
  std::vector<std::string> take_messages();
  // Waits a few seconds for queued windows and ends the outputs. Returns messages, and a sentence
  // for each output that did not deliver all windows.
  std::vector<std::string> finish();

 private:
  explicit Emitter(Spec spec) : spec_(std::move(spec)) {}
  struct Output {
    std::string name;
    OutputProcess process;
    bool reports_drops = true;  // until the first window is dropped
  };

  Spec spec_;
  std::vector<Output> outputs_;
  std::vector<std::string> messages_;
};

// Prints the sentences as notes.
void print_notes(const CommonOptions& options, std::span<const std::string> sentences);

}  // namespace ctprof::cli
