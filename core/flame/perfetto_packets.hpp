// The packets of a trace of Perfetto: their field numbers, and the buffer in which they are built.
//
// The numbers are those of
// https://github.com/google/perfetto/blob/main/protos/perfetto/trace/trace_packet.proto and of the
// files that it imports.
//
// See also: perfetto.cc (the samples), perfetto_names.hpp (processes, frames and stacks).

#pragma once

#include <cstddef>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "core/base/json_writer.hpp"

namespace ctprof::perfetto {

// Field numbers.
enum Trace { kPacket = 1 };
enum TracePacket {
  kProcessTree = 2,
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kInternedData = 12,
  kSequenceFlags = 13,
  kDefaults = 59,
  kStackSample = 135
};
enum ClockSnapshot { kClock = 1, kPrimaryClock = 2 };
enum Clock { kClockId = 1, kClockTime = 2 };
enum ClockIds : std::uint32_t { kRealtime = 1, kBoottime = 6 };
enum ProcessTree { kProcess = 1, kThread = 2 };
enum Process { kPid = 1, kCommandLine = 3, kIsName = 9 };
enum Thread { kTid = 1, kThreadName = 2, kTgid = 3 };
enum Interned {
  kFunctionNames = 5,
  kFrames = 6,
  kCallstacks = 7,
  kBuildIds = 16,
  kPaths = 17,
  kMappings = 19
};
enum EntryKind { kNumber = 1, kText = 2 };
enum MappingField { kBuildId = 2, kPath = 7 };
enum FrameField { kFunction = 2, kMapping = 3, kOffset = 4, kKind = 7 };
enum Callstack { kFrame = 2 };
enum DefaultsField { kSampleDefaults = 100 };
enum SampleDefaults { kSource = 1, kPrimary = 2, kFollower = 3 };
enum Counter { kCounterName = 2, kUnit = 3 };
enum StackSample { kTask = 1, kCallstack = 6, kPrimaryWeight = 11, kFollowerWeight = 14 };
enum Task { kTaskPid = 2, kTaskTid = 3 };

enum SequenceFlag : std::uint32_t { kCleared = 1, kNeedsState = 2 };
enum KindValue : std::int32_t { kUnknownKind = 0, kNativeKind = 1, kKernelKind = 2, kJitKind = 4 };
enum UnitValue : std::int32_t { kNanoseconds = 1, kBytes = 4, kCount = 9 };

// The ids of a thread in the trace.
struct TaskIds {
  std::uint64_t pid, tid;
};

// Builds packets of one sequence, and writes them in large pieces.
class PacketBuffer {
 public:
  // REQUIRES: the sink outlives this object.
  explicit PacketBuffer(Sink& out) : out_(&out) {}

  // Calls fill(protozero::pbf_writer&), which adds the fields of one packet.
  template <class Fill>
  void add(std::uint32_t flags, Fill fill) {
    packet_.clear();
    {
      protozero::pbf_writer packet(packet_);
      packet.add_uint32(kSequenceId, kSequence);
      packet.add_uint32(kSequenceFlags, flags);
      fill(packet);
    }
    protozero::pbf_writer(data_).add_message(kPacket, packet_);
  }

  // Writes the packets if there are at least `min_bytes`.
  Result<void> flush(std::size_t min_bytes) {
    if (data_.size() < min_bytes) return {};
    const auto written = out_->write(data_);
    data_.clear();
    return written;
  }

 private:
  static constexpr std::uint32_t kSequence = 1;

  Sink* out_;
  std::string packet_, data_;
};

}  // namespace ctprof::perfetto
