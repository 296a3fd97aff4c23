// Samples sleepers with the BPF program: it delivers kernel stacks and registers, and user stacks
// are copied while its records are read.
//
// See also: sample_input.hpp for loading the program, sleeper_sample.h for the records,
// stack_copier.hpp for copying, probe.hpp for the probe.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "plugins/sleepers/pass.hpp"
#include "plugins/sleepers/sample_input.hpp"
#include "plugins/sleepers/sleeper_sample.h"

namespace ctprof::sleepers {

class BpfSampler : public Sampler {
 public:
  // `ns_per_tick` is that of the kernel's clock for start times.
  BpfSampler(std::unique_ptr<SampleInput> input, std::uint64_t ns_per_tick);
  // Reads the running kernel. For the other arguments see StackCopier.
  BpfSampler(std::unique_ptr<Program> program, std::uint64_t ns_per_tick,
             std::size_t max_copied_bytes, std::set<std::uint32_t> avoided_processes)
      : BpfSampler(std::make_unique<KernelSampleInput>(std::move(program), max_copied_bytes,
                                                       std::move(avoided_processes)),
                   ns_per_tick) {}

  void sample(std::uint32_t round, Pass& pass) override;
  std::uint32_t current_process() const override { return input_->current_process(); }
  bool take_over(std::uint32_t process, Pass& pass) override {
    return input_->take_over(process, pass);
  }
  std::uint64_t read_start_ns() const override { return input_->read_start_ns(); }
  void resume(Pass& pass) override;

 private:
  void handle_records(Pass& pass, std::size_t size);
  void handle_record(Pass& pass, const ::sleeper_sample& record) const;
  void fill_sleeper(Pass& pass, Sleeper& sleeper, const ::sleeper_sample& record) const;
  void read_all(Pass& pass);
  void find_user_sleepers(const Pass& pass, std::size_t first);
  void copy_user_stacks(Pass& pass);
  template <class Moved>
  void find_awoken(const Pass& pass, std::span<const std::uint32_t> sleepers, Moved on_awoken);

  std::unique_ptr<SampleInput> input_;
  std::uint64_t ns_per_tick_;
  std::vector<std::uint32_t> user_sleepers_;  // sleepers of a pass whose stacks must be copied
  std::vector<std::uint32_t> awoken_;         // elements of users_ that must be copied again
  std::vector<std::byte> buffer_;
  std::size_t partial_bytes_ = 0;  // bytes of a record whose rest was not read yet
};

}  // namespace ctprof::sleepers
