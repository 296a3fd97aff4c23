// An output plugin in a process of its own, behind a queue of windows.
//
//   CTPROF_TRY_VALUE(auto file, find_output("otlp", directories));
//   CTPROF_TRY_VALUE(auto output, OutputProcess::start(std::move(file), options));
//   output.pass(make_output_window(report, choice));           // for each window
//   for (const std::string& message : output.take_messages()) ...
//   output.finish(5s);
//
// pass() never waits and never fails: if the plugin is slower than the windows, or has exited, the
// window is dropped and counted. At most kMaxQueuedWindows windows of at most kMaxWindowBytes are
// in memory. The process has no privileges (output_child.hpp); it is killed when this object is
// destroyed, and when ctprof ends.
//
// The process runs the same program (output_child.hpp). start() copies this process first, so it is
// called before threads are created.
//
// Threads: one at a time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/output/output_answers.hpp"
#include "core/output/output_messages.hpp"
#include "core/output/output_window.hpp"
#include "core/output/printed_lines.hpp"
#include "core/registry/output_file.hpp"

namespace ctprof {

// The key of the setting of any output that names variables of the environment, separated by
// commas. The plugin receives them in addition to harmless ones (core/base/child_setup.hpp).
inline constexpr std::string_view kEnvironmentKey = "environment";

struct OutputProcessOptions {
  std::string name;                       // the expected name of the plugin
  std::vector<OutputSetting> settings{};  // of the plugin, and kEnvironmentKey
  int bytes_fd = -1;                      // receives the bytes that the plugin writes; -1: none
  bool opens = true;                      // false: only describes the plugin
};

struct OutputCounts {
  std::uint64_t passed = 0;     // including those that are still queued
  std::uint64_t delivered = 0;  // by the plugin
  std::uint64_t failed = 0;     // the plugin reported an error
  std::uint64_t dropped = 0;    // never passed, because the queue was full or the process had ended
  std::uint64_t lost = 0;       // queued when the process ended
};

class OutputProcess {
 public:
  static constexpr std::size_t kMaxQueuedWindows = 4;
  static constexpr std::size_t kMaxWindowBytes = 64 << 20;

  // Starts the process and waits until the plugin is open, at most kOpenTimeout. The error names
  // the plugin.
  static Result<OutputProcess> start(OutputFile file, OutputProcessOptions options);
  OutputProcess(OutputProcess&& other) noexcept;
  OutputProcess& operator=(OutputProcess&&) = delete;
  ~OutputProcess() { end_process(); }

  const OutputDescription& description() const { return description_; }
  const std::string& path() const { return path_; }

  // Queues a window. Returns false if it was dropped.
  bool pass(OutputWindow window);

  // Receives the data that the plugin writes to a descriptor; its error ends finish().
  struct ByteReader {
    int fd = -1;
    std::function<Result<void>(std::string_view)> take{};
  };
  // Waits until the plugin has taken all windows and is closed, but not longer than `patience`, or
  // than `patience` after the last bytes. Then ends the process.
  // Returns the first error of the plugin.
  Result<void> finish(std::chrono::milliseconds patience) { return finish(patience, {}); }
  Result<void> finish(std::chrono::milliseconds patience, const ByteReader& reader);

  const OutputCounts& counts() const { return counts_; }
  // Returns new lines that the process printed.
  std::vector<std::string> take_printed_lines();
  // Returns new messages of the plugin and about its end. A message that repeats the previous one
  // is omitted.
  std::vector<std::string> take_messages();

 private:
  OutputProcess(std::string name, std::string path)
      : name_(std::move(name)), path_(std::move(path)) {}
  Result<void> fork_child(OutputFile file, OutputProcessOptions options);
  Result<void> wait_until_ready();
  Result<void> start_error(const std::string& reason);
  bool wait_for_process(std::chrono::steady_clock::time_point deadline);
  void receive_answers();
  bool is_expected(char kind) const;
  void take_answer(std::string_view answer);
  // Ends a process that has not taken all its windows.
  void end_early(const std::string& reason);
  void note_exit();
  void add_message(const std::string& text);
  void end_process();
  std::uint64_t queued() const { return counts_.passed - counts_.delivered - counts_.failed; }
  Result<void> wait_until_closed(std::chrono::milliseconds patience, const ByteReader& reader);

  std::string name_, path_;
  OutputDescription description_;
  OutputCounts counts_;
  std::uint64_t dropped_before_ = 0;  // since the last window that was passed
  std::vector<std::string> messages_;
  std::string last_message_, first_error_;
  sdk::Fd socket_;  // invalid: the process has ended
  AnswerPipe answers_;
  PrintedLines printed_;
  int process_ = 0;
  bool is_finishing_ = false;  // it gets no more windows
};

}  // namespace ctprof
