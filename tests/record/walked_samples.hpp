// Samples of this host whose stacks were walked in the kernel. Each has a copy of the same stack,
// and both are converted to frames.

#pragma once

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/capture/target_files.hpp"
#include "core/capture/unwind_tables.hpp"
#include "core/stacks/unwinder.hpp"
#include "plugins/on-cpu/event.hpp"
#include "plugins/on-cpu/kernel_walk.hpp"
#include "plugins/on-cpu/records.hpp"
#include "plugins/on-cpu/sampler.hpp"
#include "tests/recorded/received.hpp"

namespace ctprof::walked {

// A frame, identified by the file of its code, so that frames of both walks can be compared.
struct FrameLocation {
  FileId file;  // none: an address
  std::uint64_t offset = 0;
  bool is_guessed = false;
  bool operator==(const FrameLocation&) const = default;
};

struct WalkedStack {
  std::uint32_t tgid = 0;
  bool is_deep = false;
  std::uint64_t bp = 0;  // at the leaf
  std::vector<FrameLocation> by_kernel, by_copy;
  WalkEnd ending = WalkEnd::Failed;  // of the walk of the copy
  bool is_mapped = false;            // the mapping of the leaf's address was found
};

// Samples all CPUs, and calls take(walked) for each walked stack.
class Samples {
 public:
  // `with_copies`: whether each walked stack is also copied and walked in user space. `depth`: the
  // maximum depth of walks in the kernel; 0: that of the samples.
  Samples(const on_cpu::Sampling& sampling, bool with_copies, std::uint32_t depth = 0)
      : sampling_(sampling),
        with_copies_(with_copies),
        proc_(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)),
        files_(proc_.get()),
        tables_(proc_.get(), {}),
        host_("/proc", "/sys"),
        modules_([this](std::uint64_t process, const CodeRange& range, const std::string& path) {
          return files_.open(process, range, path, ids_[range.module]);
        }),
        unwinder_(modules_) {
    sampling_.walk = on_cpu::KernelWalk::load(
        {.depth = depth > 0 ? depth : sampling.depth, .also_copies = with_copies}, error_);
    fill_sink();
  }

  // Returns the errno with which the kernel refused to walk, or 0.
  int error() const { return sampling_.walk ? 0 : error_; }

  // Opens an event for each CPU, or only for these.
  void start(std::vector<int> cpus = {}) {
    if (cpus.empty()) cpus = on_cpu::read_online_cpus(host_.host());
    for (const int cpu : cpus) {
      std::unique_ptr<on_cpu::CpuEvent> event;
      BOOST_REQUIRE_EQUAL(on_cpu::Event::open(sampling_, cpu, kRing, event), 0);
      BOOST_REQUIRE_EQUAL(event->start(), 0);
      events_.push_back(std::move(event));
    }
  }
  template <class Take>
  void drain(Take callback) {
    for (const auto& event : events_) drain_one(*event, callback);
    sampling_.walk->exchange(sdk::Records(sink_));
  }
  void stop() {
    for (const auto& event : events_) event->stop();
  }

  on_cpu::KernelWalk::Counts counts() const { return sampling_.walk->counts(); }
  void end_window() { sampling_.walk->end_window(); }
  std::string describe_window() const { return sampling_.walk->describe_window(); }
  std::uint64_t samples() const { return samples_; }
  std::uint64_t lost() const { return lost_; }
  // Makes the next sample of the process read its mappings again.
  void forget_address_space(std::uint32_t tgid) { spaces_.erase(tgid); }
  std::string path_of(const FrameLocation& place) const {
    for (const TableFile& file : tables_.files())
      if (file.mapping.file == place.file) return file.mapping.path;
    return {};
  }

 private:
  static constexpr std::size_t kRing = 32 << 20;

  void fill_sink() {
    sink_.size = sizeof sink_;
    sink_.core = this;
    sink_.want_table = [](void* core, const ctprof_table_request* request) {
      static_cast<Samples*>(core)->tables_.request(request);
    };
    sink_.next_table = [](void* core, ctprof_unwind_table* table) {
      return static_cast<Samples*>(core)->tables_.next(table);
    };
  }

  template <class Take>
  void drain_one(on_cpu::CpuEvent& event, Take& callback) {
    on_cpu::Ring& ring = event.ring();
    std::optional<WalkedStack> waiting;  // until its copy follows
    for (event.look_for_records(); !ring.record().empty(); ring.skip(), ring.release()) {
      const on_cpu::Bytes record = ring.record();
      const auto type = on_cpu::read_header(record).type;
      if (type == PERF_RECORD_LOST) lost_ += on_cpu::parse_lost_count(record);
      if (type == PERF_RECORD_MMAP2)
        if (const auto mapped = on_cpu::parse_mapped(record)) note(*mapped);
      if (type == PERF_RECORD_COMM) spaces_.erase(on_cpu::parse_exec(record));
      if (type != PERF_RECORD_SAMPLE) continue;
      if (const auto missed = on_cpu::parse_missed(record)) {
        sampling_.walk->add_miss(*missed);
        continue;
      }
      const auto sample = on_cpu::parse_sample(record, true);
      BOOST_REQUIRE(sample);
      if (sample->tgid == 0) continue;
      if (sample->walked_frames) {
        waiting = walked_of(*sample);
        if (!with_copies_) callback(*std::exchange(waiting, std::nullopt));
      } else if (waiting) {
        BOOST_REQUIRE_EQUAL(waiting->tgid, sample->tgid);
        add_copy(*waiting, *sample);
        callback(*std::exchange(waiting, std::nullopt));
      }
      samples_ += !waiting;
    }
  }

  void note(const on_cpu::FileMapping& mapped) {
    sampling_.walk->add_path(mapped);
    const auto space = spaces_.find(mapped.tgid);
    if (space == spaces_.end()) return;
    const FileId file{makedev(mapped.device_major, mapped.device_minor), mapped.inode};
    map(space->second, {mapped.start, mapped.start + mapped.length, mapped.offset, file,
                        std::string(mapped.path)});
  }
  void map(AddressSpace& space, const Mapping& mapping) {
    const CodeRange range = modules_.make_code_range(space.process(), mapping);
    if (ids_.size() <= range.module) ids_.resize(range.module + 1);
    ids_[range.module] = mapping.file;
    space.add_mapping(range);
  }
  const AddressSpace& address_space_of(std::uint32_t tgid) {
    const auto known = spaces_.find(tgid);
    if (known != spaces_.end()) return known->second;
    AddressSpace& space = spaces_.emplace(tgid, AddressSpace(tgid)).first->second;
    sdk::TextFile maps;  // empty once the process has exited
    const auto text = maps.read_records(proc_.get(), (std::to_string(tgid) + "/maps").c_str());
    for (const Mapping& mapping : parse_code_mappings(text ? text.value : std::string_view()))
      map(space, mapping);
    return space;
  }

  WalkedStack walked_of(const on_cpu::Sample& sample) const {
    constexpr std::uint64_t kFlags = CTPROF_FRAME_ADDRESS | CTPROF_FRAME_GUESSED;
    constexpr std::uint64_t kOffsets = (std::uint64_t{1} << CTPROF_FRAME_TABLE_SHIFT) - 1;
    WalkedStack walked;
    walked.tgid = sample.tgid;
    walked.is_deep = sample.is_deep;
    for (const std::uint64_t word : *sample.walked_frames) {
      const bool is_guessed = (word & CTPROF_FRAME_GUESSED) != 0;
      if ((word & CTPROF_FRAME_ADDRESS) != 0) {
        walked.by_kernel.push_back({{}, word & ~kFlags, is_guessed});
        continue;
      }
      const std::uint64_t table = (word & ~kFlags) >> CTPROF_FRAME_TABLE_SHIFT;
      BOOST_REQUIRE(table >= 1 && table <= tables_.files().size());
      walked.by_kernel.push_back(
          {tables_.files()[table - 1].mapping.file, word & kOffsets, is_guessed});
    }
    return walked;
  }
  void add_copy(WalkedStack& walked, const on_cpu::Sample& sample) {
    BOOST_REQUIRE(sample.registers);
    const std::string_view copy(reinterpret_cast<const char*>(sample.stack.data()),
                                sample.stack.size());
    const on_cpu::Registers& at = *sample.registers;
    walked.bp = at.bp;
    std::vector<Frame> frames;
    const auto walk = [&] {
      walked.ending = unwinder_.walk(address_space_of(sample.tgid), {at.ip, at.sp, at.bp, at.lr},
                                     {at.sp, copy}, frames, sampling_.depth);
    };
    walk();
    // The mappings may have been read while the process ran another program.
    if (walked.ending == WalkEnd::Failed) forget_address_space(sample.tgid), walk();
    walked.is_mapped = address_space_of(sample.tgid).find(at.ip) != nullptr;
    for (const Frame& frame : frames) {
      const bool is_of_file = frame.module < ids_.size();
      walked.by_copy.push_back(
          {is_of_file ? ids_[frame.module] : FileId{}, frame.offset, frame.is_guessed});
    }
  }

  on_cpu::Sampling sampling_;
  bool with_copies_;
  int error_ = 0;
  sdk::Fd proc_;
  TargetFiles files_;
  UnwindTables tables_;
  recorded::TestHost host_;
  ctprof_records sink_{};
  std::vector<FileId> ids_;  // by module
  Modules modules_;
  Unwinder unwinder_;
  std::unordered_map<std::uint32_t, AddressSpace> spaces_;
  std::vector<std::unique_ptr<on_cpu::CpuEvent>> events_;
  std::uint64_t samples_ = 0, lost_ = 0;
};

}  // namespace ctprof::walked
