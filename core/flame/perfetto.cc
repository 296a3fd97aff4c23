// Writes a trace of Perfetto: packets of StackSample, as defined in
// https://github.com/google/perfetto/blob/main/protos/perfetto/trace/trace_packet.proto.
//
// Names, mappings, frames and stacks come first, each with a number, then the samples. All packets
// belong to one sequence, because the numbers are valid within a sequence.

#include <algorithm>
#include <array>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/flame/stack_formats.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace perfetto {
namespace {

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

constexpr std::uint32_t kSequence = 1;
constexpr std::size_t kBufferSize = 1 << 20;                // the buffer is written at this size
constexpr std::uint64_t kFirstSyntheticId = (1 << 22) + 1;  // above the kernel's PID_MAX_LIMIT

std::int32_t get_kind_value(FrameKind kind) {
  switch (kind) {
    case FrameKind::Native:
    case FrameKind::Guessed: return kNativeKind;
    case FrameKind::Kernel: return kKernelKind;
    case FrameKind::Jit: return kJitKind;
    default: return kUnknownKind;
  }
}

std::int32_t get_unit_value(const StackValue& value) {
  if (value.unit == "ns") return kNanoseconds;
  return value.unit == "bytes" ? kBytes : kCount;
}

class Writer {
 public:
  Writer(const StackProfile& profile, Sink& out)
      : profile_(&profile), table_(profile.table), out_(&out) {}

  Result<void> write() {
    assign_ids();
    for (const OwnedStacks& owned : profile_->owners) samples_ += collect_rows(owned).size();
    write_defaults();
    write_clocks();
    write_processes();
    write_names();
    std::vector<bool> known(table_->nodes().size());
    for (std::size_t owner = 0; owner < profile_->owners.size(); ++owner) {
      for (const StackWeights& row : collect_rows(profile_->owners[owner])) {
        if (!known[row.stack]) write_stack(row.stack);
        known[row.stack] = true;
        write_sample(tasks_[owner], row);
        CTPROF_TRY(flush(kBufferSize));
      }
    }
    return flush(0);
  }

 private:
  struct TaskIds {
    std::uint64_t pid, tid;
  };

  // Assigns ids to owners without one; equal names get equal ids.
  void assign_ids() {
    std::map<std::vector<std::string_view>, std::uint64_t> synthetic_ids;
    const auto assign_id = [&](std::vector<std::string_view> names) {
      return synthetic_ids.emplace(std::move(names), kFirstSyntheticId + synthetic_ids.size())
          .first->second;
    };
    for (const OwnedStacks& owned : profile_->owners) {
      const StackOwner& owner = owned.owner;
      const std::string_view process = owner.process.empty() ? owner.cgroup : owner.process;
      const std::uint64_t pid = owner.pid ? owner.pid : assign_id({process});
      const bool is_whole_process = owner.tid == 0 && owner.thread.empty();
      tasks_.push_back({pid, owner.tid          ? owner.tid
                             : is_whole_process ? pid
                                                : assign_id({process, owner.thread})});
    }
  }

  // Builds a packet in `packet_` and appends it when it is complete.
  template <class Fill>
  void add_packet(std::uint32_t flags, Fill fill) {
    packet_.clear();
    {
      protozero::pbf_writer packet(packet_);
      packet.add_uint32(kSequenceId, kSequence);
      packet.add_uint32(kSequenceFlags, flags);
      fill(packet);
    }
    protozero::pbf_writer(data_).add_message(kPacket, packet_);
  }

  // Writes both clocks at the opening of the window, from which a reader computes the time of day.
  void write_clocks() {
    const ProfileSpan& span = profile_->span;
    add_packet(kNeedsState, [&](protozero::pbf_writer& packet) {
      packet.add_uint64(kTimestamp, span.opened_boottime_ns);
      protozero::pbf_writer clocks(packet, kClockSnapshot);
      write_clock(clocks, kBoottime, span.opened_boottime_ns);
      if (span.opened_unix_ns > 0) write_clock(clocks, kRealtime, span.opened_unix_ns);
      clocks.add_enum(kPrimaryClock, kBoottime);
    });
  }

  static void write_clock(protozero::pbf_writer& clocks, std::uint32_t id, std::uint64_t ns) {
    protozero::pbf_writer clock(clocks, kClock);
    clock.add_uint32(kClockId, id);
    clock.add_uint64(kClockTime, ns);
  }

  // Returns the time of the next sample; if the length of the window is unknown, samples are 1 ns
  // apart.
  std::uint64_t next_time() {
    const ProfileSpan& span = profile_->span;
    const double fraction = static_cast<double>(written_samples_++) / static_cast<double>(samples_);
    const std::uint64_t offset =
        span.length_ns > 0
            ? static_cast<std::uint64_t>(fraction * static_cast<double>(span.length_ns))
            : written_samples_;
    return span.opened_boottime_ns + offset;
  }

  void write_defaults() {
    add_packet(kCleared, [&](protozero::pbf_writer& packet) {
      protozero::pbf_writer defaults(packet, kDefaults);
      protozero::pbf_writer samples(defaults, kSampleDefaults);
      samples.add_string(kSource, "ctprof");
      for (std::size_t value = 0; value < profile_->values.size(); ++value) {
        protozero::pbf_writer counter(samples, value == 0 ? kPrimary : kFollower);
        counter.add_string(kCounterName, make_printable_short(profile_->values[value].name));
        counter.add_enum(kUnit, get_unit_value(profile_->values[value]));
      }
    });
  }

  void write_processes() {
    add_packet(kNeedsState, [&](protozero::pbf_writer& packet) {
      protozero::pbf_writer tree(packet, kProcessTree);
      std::map<std::uint64_t, const StackOwner*> processes;
      for (std::size_t at = 0; at < tasks_.size(); ++at)
        processes.emplace(tasks_[at].pid, &profile_->owners[at].owner);
      for (const auto& [pid, owner] : processes) {
        protozero::pbf_writer process(tree, kProcess);
        process.add_int32(kPid, static_cast<std::int32_t>(pid));
        process.add_string(kCommandLine, make_printable_short(get_root_names(*owner).front()));
        process.add_bool(kIsName, true);
      }
      for (std::size_t at = 0; at < tasks_.size(); ++at) {
        protozero::pbf_writer thread(tree, kThread);
        thread.add_int32(kTid, static_cast<std::int32_t>(tasks_[at].tid));
        thread.add_string(kThreadName,
                          make_printable_short(get_root_names(profile_->owners[at].owner).back()));
        thread.add_int32(kTgid, static_cast<std::int32_t>(tasks_[at].pid));
      }
    });
  }

  // Numbers are those of the table plus one, because 0 means none.
  void write_names() {
    add_packet(kNeedsState, [&](protozero::pbf_writer& packet) {
      protozero::pbf_writer names(packet, kInternedData);
      const auto& modules = table_->modules();
      for (std::uint32_t module = 0; module < modules.size(); ++module) {
        write_text(names, kBuildIds, module, to_hex(modules[module].build_id));
        write_text(names, kPaths, module, make_printable_short(get_module_name(modules[module])));
        protozero::pbf_writer mapping(names, kMappings);
        mapping.add_uint64(kNumber, module + 1);
        mapping.add_uint64(kBuildId, module + 1);
        mapping.add_uint64(kPath, module + 1);
      }
      for (std::uint32_t frame = 0; frame < table_->frames().size(); ++frame)
        write_frame(names, frame);
    });
  }

  void write_text(protozero::pbf_writer& names, std::uint32_t kind, std::uint64_t number,
                  const std::string& text) {
    protozero::pbf_writer entry(names, kind);
    entry.add_uint64(kNumber, number + 1);
    entry.add_bytes(kText, text);
  }

  void write_frame(protozero::pbf_writer& names, std::uint32_t number) {
    write_text(names, kFunctionNames, number,
               make_printable_short(get_marked_function_name(*table_, number)));
    protozero::pbf_writer frame(names, kFrames);
    frame.add_uint64(kNumber, number + 1);
    frame.add_uint64(kFunction, number + 1);
    if (number != StackTable::kTruncated) {
      frame.add_uint64(kMapping, table_->frames()[number].module + 1);
      frame.add_uint64(kOffset, table_->frames()[number].offset);
    }
    frame.add_enum(kKind, get_kind_value(get_frame_kind(*table_, number)));
  }

  void write_stack(std::uint64_t stack) {
    add_packet(kNeedsState, [&](protozero::pbf_writer& packet) {
      protozero::pbf_writer names(packet, kInternedData);
      protozero::pbf_writer callstack(names, kCallstacks);
      callstack.add_uint64(kNumber, stack + 1);
      const auto frames = get_frames(*table_, stack);
      std::for_each(frames.rbegin(), frames.rend(),
                    [&](std::uint32_t frame) { callstack.add_uint64(kFrame, frame + 1); });
    });
  }

  void write_sample(const TaskIds& task, const StackWeights& row) {
    add_packet(kNeedsState, [&](protozero::pbf_writer& packet) {
      packet.add_uint64(kTimestamp, next_time());
      protozero::pbf_writer sample(packet, kStackSample);
      {
        protozero::pbf_writer task_writer(sample, kTask);
        task_writer.add_uint32(kTaskPid, static_cast<std::uint32_t>(task.pid));
        task_writer.add_uint32(kTaskTid, static_cast<std::uint32_t>(task.tid));
      }
      sample.add_uint64(kCallstack, row.stack + 1);
      sample.add_uint64(kPrimaryWeight, row.weights.front());
      for (std::size_t value = 1; value < row.weights.size(); ++value)
        sample.add_uint64(kFollowerWeight, row.weights[value]);
    });
  }

  Result<void> flush(std::size_t min_size) {
    if (data_.size() < min_size) return {};
    const auto written = out_->write(data_);
    data_.clear();
    return written;
  }

  const StackProfile* profile_;
  const StackTable* table_;
  Sink* out_;
  std::vector<TaskIds> tasks_;  // by owner
  std::string packet_, data_;
  std::size_t samples_ = 0, written_samples_ = 0;
};

}  // namespace
}  // namespace perfetto

Result<void> write_perfetto(const StackProfile& profile, Sink& out) {
  return perfetto::Writer(profile, out).write();
}

}  // namespace ctprof
