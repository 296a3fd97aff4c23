// Samples sleepers with the BPF program: it delivers kernel stacks and registers, and user stacks
// are copied while its records are read.
//
// See also: look_input.hpp for loading the program, look.h for the records, copier.hpp for copying,
// probe.hpp for the probe.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "plugins/sleepers/look.h"
#include "plugins/sleepers/look_input.hpp"
#include "plugins/sleepers/pass.hpp"

namespace ctprof::sleepers {

class BpfLooker : public Looker {
 public:
  // `ns_per_tick` is that of the kernel's clock for start times.
  BpfLooker(std::unique_ptr<LookInput> input, std::uint64_t ns_per_tick);
  // Reads the running kernel. For the other arguments see Copier.
  BpfLooker(std::unique_ptr<Program> program, std::uint64_t ns_per_tick, std::size_t most_copied,
            std::set<std::uint32_t> avoided)
      : BpfLooker(
            std::make_unique<KernelLooks>(std::move(program), most_copied, std::move(avoided)),
            ns_per_tick) {}

  void look(std::uint32_t round, Pass& pass) override;
  std::uint32_t reads_from() const override { return input_->reads_from(); }
  bool take_over(std::uint32_t process, Pass& pass) override {
    return input_->take_over(process, pass);
  }
  std::uint64_t reads_since_ns() const override { return input_->reads_since_ns(); }
  void go_on(Pass& pass) override;

 private:
  void take_all(Pass& pass, std::size_t size);
  void take(Pass& pass, const ::look& record) const;
  void fill(Pass& pass, Sleeper& sleeper, const ::look& record) const;
  void read_all(Pass& pass);
  void find_users(const Pass& pass, std::size_t first);
  void copy_users(Pass& pass);
  template <class Moved>
  void find_moved(const Pass& pass, std::span<const std::uint32_t> sleepers, Moved moved);

  std::unique_ptr<LookInput> input_;
  std::uint64_t ns_per_tick_;
  std::vector<std::uint32_t> users_;  // sleepers of a pass whose stacks must be copied
  std::vector<std::uint32_t> moved_;  // elements of users_ that must be copied again
  std::vector<std::byte> buffer_;
  std::size_t kept_ = 0;  // bytes of a record whose rest was not read yet
};

}  // namespace ctprof::sleepers
