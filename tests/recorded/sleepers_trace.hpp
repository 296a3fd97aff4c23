// Records passes of the plugin sleepers on trace, and replays them.
//
// A pass is kPass; kChunk for each read, the last of them empty; and, between the reads, for
// sleepers with a user stack, kCopied and kRechecked in turns. kWindowEnds is between passes.
//
// User memory is not recorded: a pattern replaces its bytes.

#pragma once

#include <array>
#include <memory>
#include <vector>

#include "plugins/sleepers/sample_input.hpp"
#include "plugins/sleepers/sleeper_sample.h"
#include "tests/recorded/trace.hpp"

namespace ctprof::recorded::sleepers_trace {

enum Kind : std::uint32_t {
  kPass = kFirstOfPlugin,  // start of a pass: std::uint64_t, the round
  kWindowEnds,             // the core ends the window
  kChunk,                  // bytes of `struct sleeper_sample`, as read
  kCopied,                 // Copied, one per sleeper
  kRechecked               // `struct rechecked`, one per thread; empty: the kernel failed
};

// The result of copying the user stack of a sleeper.
struct CopyResult {
  std::uint32_t sleeper;  // index in the pass
  std::uint32_t is_copied;
  std::uint64_t bytes;
};

// Raise a version when its structure changes; tests then convert older traces. The names are those
// in existing traces: "look" is a sample.
inline constexpr std::array kLayouts{Layout{"look", 1, sizeof(::sleeper_sample)},
                                     Layout{"rechecked", 1, sizeof(::recheck_entry)}};

// Returns the byte that replaces user memory of a thread.
constexpr std::uint8_t pattern_of(std::uint64_t tid) { return static_cast<std::uint8_t>(tid | 1); }

// Forwards and records all calls. `trace` must outlive this object.
class RecordingInput final : public sleepers::SampleInput {
 public:
  RecordingInput(std::unique_ptr<sleepers::SampleInput> input, TraceWriter& trace);

  void begin(std::uint32_t round) override;
  std::size_t read(std::span<std::byte> buffer) override;
  void copy(sleepers::Pass& pass, std::span<const std::uint32_t> sleepers) override;
  ::recheck_entry* recheck_buffer() override { return input_->recheck_buffer(); }
  bool recheck(std::size_t count) override;
  std::uint32_t current_process() const override { return input_->current_process(); }

 private:
  std::unique_ptr<sleepers::SampleInput> input_;
  TraceWriter& trace_;
};

// Returns the recorded answers, and checks that the sampler makes the recorded calls.
class ReplayedInput final : public sleepers::SampleInput {
 public:
  ReplayedInput(const Trace& trace, Cursor& cursor);

  void begin(std::uint32_t round) override;
  std::size_t read(std::span<std::byte> buffer) override;
  void copy(sleepers::Pass& pass, std::span<const std::uint32_t> sleepers) override;
  ::recheck_entry* recheck_buffer() override { return buffer_.empty() ? nullptr : buffer_.data(); }
  bool recheck(std::size_t count) override;
  std::uint32_t current_process() const override { return 0; }

 private:
  Cursor& cursor_;
  std::vector<::recheck_entry> buffer_;
};

}  // namespace ctprof::recorded::sleepers_trace
