// The host as a source sees it, and the answers that a source gives about it.
//
// What is here:   Host (where things are, what may be tried), Thread (one row's address), Probe
// (what cannot be filled here). What is not:    what would change that (remedy.hpp), reading files
// (files.hpp), filling cells (batch.hpp).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "ctprof/abi.h"
#include "ctprof/gap.hpp"
#include "ctprof/metric.hpp"
#include "ctprof/remedy.hpp"

namespace ctprof::sdk {

// Where a thread is to be found. `dir` is its open /proc/<tgid>/task/<tid>, not to be closed, or
// -1.
struct Thread {
  std::uint32_t row;
  std::uint64_t tgid;
  std::uint64_t tid;
  int dir;
};

// What the core says of the host. A copy: it may be kept as long as the plugin is open, and so may
// the directories and paths in it.
class Host {
 public:
  explicit Host(const ctprof_host& host) {
    std::memcpy(&abi_, &host, std::min<std::size_t>(host.size, sizeof abi_));
  }

  // The tree belongs to the running kernel: netlink, BPF and the like speak of the same threads.
  bool live() const { return (abi_.flags & CTPROF_HOST_LIVE) != 0; }
  // Its thread ids are those of our own system calls.
  bool own_tids() const { return (abi_.flags & CTPROF_HOST_OWN_TIDS) != 0; }

  // Open directories, -1 where there is none.
  int proc() const { return abi_.proc_fd; }
  int sys() const { return abi_.sys_fd; }
  int cgroup() const { return abi_.cgroup_fd; }

  std::string_view proc_path() const { return abi_.proc; }
  std::string_view sys_path() const { return abi_.sys; }
  std::string_view cgroup_path() const { return abi_.cgroup; }

  // The kernel's clock ticks per second, as /proc counts them.
  std::uint32_t user_hz() const { return abi_.user_hz; }

  // A thread that exists, to try things on.
  Thread sample() const { return {0, abi_.sample_tgid, abi_.sample_tid, -1}; }

  // The plugin's context: what its class `Context` was made into when the plugin was opened
  // (with_context in plugin.hpp). It is shared by all sources and workers of the plugin, and
  // outlives them. Throws std::runtime_error under a ctprof that opens no plugins.
  template <class Context>
  Context& context() const {
    if (abi_.size < kSizeWithContext || !abi_.context)
      throw std::runtime_error("this ctprof is older than the plugin, and does not open it");
    return *static_cast<Context*>(abi_.context);
  }

 private:
  static constexpr std::size_t kSizeWithContext =
      offsetof(ctprof_host, context) + sizeof(ctprof_host::context);

  ctprof_host abi_{};
};

// Where a source says what it cannot fill on this host, and what would change that. What it does
// not refuse, it promises to try. A metric that the source does not offer is ignored.
class Probe {
 public:
  Probe(const ctprof_probe& probe, const ctprof_array& offers) : abi_(&probe), offers_(&offers) {}

  // Refuses one metric, for `gap`, with a sentence.
  template <class N, class R, Entity E>
  void refuse(const Metric<N, R, E>& metric, Gap gap, std::string_view reason,
              const Remedy& remedy = {}) const {
    for_each_offer_of(metric.abi.name, [&](std::uint32_t i) { refuse(i, gap, reason, remedy); });
  }

  void refuse_all(Gap gap, std::string_view reason, const Remedy& remedy = {}) const {
    for (std::uint32_t i = 0; i < offers_->count; ++i) refuse(i, gap, reason, remedy);
  }

  // By position in the source's offers.
  void refuse(std::uint32_t index, Gap gap, std::string_view reason,
              const Remedy& remedy = {}) const {
    abi_->refuse(abi_->core, index, static_cast<ctprof_gap>(gap), reason.data(), reason.size());
    if (remedy.kind != CTPROF_REMEDY_NONE) tell(index, {}, remedy);
  }

  // Says of a metric that is not refused what stays a gap all the same, in a sentence: "other
  // users' files are closed to ctprof".
  template <class N, class R, Entity E>
  void lacks(const Metric<N, R, E>& metric, std::string_view sentence,
             const Remedy& remedy = {}) const {
    for_each_offer_of(metric.abi.name, [&](std::uint32_t i) { tell(i, sentence, remedy); });
  }

  void lacks(std::uint32_t index, std::string_view sentence, const Remedy& remedy = {}) const {
    tell(index, sentence, remedy);
  }

  void all_lack(std::string_view sentence, const Remedy& remedy = {}) const {
    for (std::uint32_t i = 0; i < offers_->count; ++i) tell(i, sentence, remedy);
  }

 private:
  // A core that is older than remedies has no ear for them.
  static constexpr std::size_t kSizeWithRemedy =
      offsetof(ctprof_probe, remedy) + sizeof(ctprof_probe::remedy);

  template <class Deed>
  void for_each_offer_of(std::string_view metric, Deed deed) const {
    for (std::uint32_t i = 0; i < offers_->count; ++i)
      if (offer(i).metric->name == metric) deed(i);
  }

  void tell(std::uint32_t index, std::string_view lack, const Remedy& remedy) const {
    if (abi_->size < kSizeWithRemedy) return;
    abi_->remedy(abi_->core, index, lack.data(), lack.size(), remedy.kind, remedy.what.data(),
                 remedy.what.size());
  }

  const ctprof_offer& offer(std::uint32_t i) const {
    return static_cast<const ctprof_offer*>(offers_->items)[i];
  }

  const ctprof_probe* abi_;
  const ctprof_array* offers_;
};

}  // namespace ctprof::sdk
