// Writes a trace of Perfetto: packets of StackSample, as defined in
// https://github.com/google/perfetto/blob/main/protos/perfetto/trace/trace_packet.proto.
//
// Names, mappings, frames and stacks come first, each with a number, then the samples. All packets
// belong to one sequence, because the numbers are valid within a sequence.

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/flame/perfetto_names.hpp"
#include "core/flame/perfetto_packets.hpp"
#include "core/flame/stack_formats.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace perfetto {
namespace {

constexpr std::size_t kBufferSize = 1 << 20;                // the buffer is written at this size
constexpr std::uint64_t kFirstSyntheticId = (1 << 22) + 1;  // above the kernel's PID_MAX_LIMIT

std::int32_t get_unit_value(const StackValue& value) {
  if (value.unit == "ns") return kNanoseconds;
  return value.unit == "bytes" ? kBytes : kCount;
}

class Writer {
 public:
  Writer(const StackProfile& profile, Sink& out) : profile_(&profile), packets_(out) {}

  Result<void> write() {
    assign_ids();
    for (const OwnedStacks& owned : profile_->owners) samples_ += collect_rows(owned).size();
    write_defaults();
    write_clocks();
    write_processes(packets_, *profile_, tasks_);
    write_frames(packets_, *profile_->table);
    std::vector<bool> known(profile_->table->nodes().size());
    for (std::size_t owner = 0; owner < profile_->owners.size(); ++owner) {
      for (const StackWeights& row : collect_rows(profile_->owners[owner])) {
        if (!known[row.stack]) write_stack(packets_, *profile_->table, row.stack);
        known[row.stack] = true;
        write_sample(tasks_[owner], row);
        CTPROF_TRY(packets_.flush(kBufferSize));
      }
    }
    return packets_.flush(0);
  }

 private:
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

  // Writes both clocks at the opening of the window, from which a reader computes the time of day.
  void write_clocks() {
    const ProfileSpan& span = profile_->span;
    packets_.add(kNeedsState, [&](protozero::pbf_writer& packet) {
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
    packets_.add(kCleared, [&](protozero::pbf_writer& packet) {
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

  void write_sample(const TaskIds& task, const StackWeights& row) {
    packets_.add(kNeedsState, [&](protozero::pbf_writer& packet) {
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

  const StackProfile* profile_;
  PacketBuffer packets_;
  std::vector<TaskIds> tasks_;  // by owner
  std::size_t samples_ = 0, written_samples_ = 0;
};

}  // namespace
}  // namespace perfetto

Result<void> write_perfetto(const StackProfile& profile, Sink& out) {
  return perfetto::Writer(profile, out).write();
}

}  // namespace ctprof
