#include "tests/recorded/sleepers_expected.hpp"

#include <cstring>
#include <utility>

#include "tests/recorded/sleepers_trace.hpp"

namespace ctprof::recorded {
namespace {

using namespace sleepers_trace;

constexpr int kMaxCopies = 6;  // of one sleeper in one pass

ExpectedSleeper sleeper_of(const ::sleeper_sample& sample) {
  ExpectedSleeper sleeper;
  sleeper.id = {sample.head.tgid, sample.head.tid, sample.head.start_boottime};
  sleeper.kernel.assign(sample.kernel, sample.kernel + sample.frames);
  sleeper.has_user = (sample.head.flags & SAMPLE_KERNEL_THREAD) == 0;
  if (!sleeper.has_user) return sleeper;
  if ((sample.head.flags & SAMPLE_32_BIT) == 0) sleeper.copied = 0;
  sleeper.ip = sample.ip;
  sleeper.sp = sample.sp;
  sleeper.code = {sample.memory, sample.code_pages, sample.execs};
  return sleeper;
}

class Builder {
 public:
  void begin_pass(std::uint64_t at_ns) {
    windows_.windows.back().emplace_back();
    pass().at_ns = at_ns;
    bytes_.clear();
  }
  void end_window() { windows_.windows.emplace_back(); }
  void add_chunk(Bytes chunk) {
    windows_.split_records += !bytes_.empty() && !chunk.empty();
    bytes_.insert(bytes_.end(), chunk.begin(), chunk.end());
    ::sleeper_sample sample{};
    while (bytes_.size() >= sizeof sample.head) {
      std::memcpy(&sample.head, bytes_.data(), sizeof sample.head);
      if (bytes_.size() < sample.head.size) break;
      std::memcpy(&sample, bytes_.data(), sample.head.size);
      bytes_.erase(bytes_.begin(), bytes_.begin() + sample.head.size);
      add_sample(sample);
    }
    copies_ = 0;
  }
  void add_copies(Bytes bytes) {
    ++copies_;
    users_.clear();
    checked_ = 0;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(CopyResult)) {
      CopyResult copied;
      std::memcpy(&copied, bytes.data() + at, sizeof copied);
      users_.push_back(copied.sleeper);
      auto& of_sleeper = pass().fresh.at(copied.sleeper).copied;
      copied.is_copied != 0 ? void(of_sleeper = copied.bytes) : of_sleeper.reset();
    }
  }
  // A thread that ran during every copy has no user stack in the end.
  void add_rechecks(Bytes bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(::recheck_entry)) {
      ::recheck_entry checked;
      std::memcpy(&checked, bytes.data() + at, sizeof checked);
      ExpectedSleeper& sleeper = pass().fresh.at(users_.at(checked_++));
      if (checked.result == RECHECK_UNCHANGED) continue;
      ++windows_.moved_threads;
      if (checked.result == RECHECK_ASLEEP_AGAIN) sleeper = sleeper_of(checked.sample);
      if (copies_ == kMaxCopies) sleeper.copied.reset();
    }
  }
  ExpectedSleepers finish() {
    windows_.windows.pop_back();  // passes after the last window
    return std::move(windows_);
  }

 private:
  ExpectedPass& pass() { return windows_.windows.back().back(); }
  void add_sample(const ::sleeper_sample& sample) {
    const SleeperId id{sample.head.tgid, sample.head.tid, sample.head.start_boottime};
    if (sample.head.tgid == sample.head.tid) pass().processes.push_back(sample.head.tgid);
    if ((sample.head.flags & SAMPLE_AWAKE) != 0) return;
    (sample.head.flags & SAMPLE_UNCHANGED) != 0 ? pass().unchanged.push_back(id)
                                                : pass().fresh.push_back(sleeper_of(sample));
  }

  ExpectedSleepers windows_{.windows = {{}}};
  std::vector<std::byte> bytes_;      // of the pass, not parsed yet
  std::vector<std::uint32_t> users_;  // copied last
  std::size_t checked_ = 0;           // number of checked bytes
  int copies_ = 0;                    // since the last read
};

}  // namespace

ExpectedSleepers expected_sleepers(const Trace& trace) {
  Builder builder;
  for (const Frame& frame : trace.frames()) {
    switch (frame.kind) {
      case kPass: builder.begin_pass(frame.clock_ns); break;
      case kWindowEnds: builder.end_window(); break;
      case kChunk: builder.add_chunk(frame.bytes); break;
      case kCopied: builder.add_copies(frame.bytes); break;
      case kRechecked: builder.add_rechecks(frame.bytes); break;
      default: break;
    }
  }
  return builder.finish();
}

}  // namespace ctprof::recorded
