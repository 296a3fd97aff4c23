// The host as a source sees it, and the answers that a source gives about it.
//
//   class Mine : public sdk::HostSource {
//    public:
//     static void probe(const sdk::Host& host, const sdk::Probe& probe) {
//       if (!host.live()) probe.refuse_all(Gap::Unsupported, "it is asked over netlink");
//     }
//     explicit Mine(const sdk::Host& host) : host_(host) {}       // keeps a copy
//    ...
//    private:
//     sdk::Host host_;
//   };
//
// A host is not always the machine that ctprof runs on. With --rootfs it is a tree of files from
// another kernel, and tests use recordings. Ask `live` before you use anything but files.
//
// What is here:   Host (where things are, what may be tried), Thread (one row's address), Probe
//                 (what cannot be filled here), Remedy (what would change that).
// What is not:    reading files (files.hpp), filling cells (batch.hpp).

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

namespace ctprof::sdk {

// Where a thread is to be found. TextFile::read takes it as it is.
struct Thread {
  // Its row in the batch, from 0 on.
  std::uint32_t row;
  // Its process, and itself. Ids are those of the tree in question: hand them to a system call only
  // if Host::own_tids() says so.
  std::uint64_t tgid;
  std::uint64_t tid;
  // Its open directory /proc/<tgid>/task/<tid>, not to be closed, or -1. A file that is opened
  // through it is this thread's, even if the id is used again meanwhile.
  int dir;
};

// What the core says of the host, cheap to copy. Keep one in your source. A copy: it may be kept as
// long as the plugin is open, and so may the directories and paths in it. Use the directories with
// openat(2) and names relative to them. A path that begins with "/proc" reads the wrong tree when
// the user said --rootfs, and in every test.
class Host {
 public:
  explicit Host(const ctprof_host& host) {
    std::memcpy(&abi_, &host, std::min<std::size_t>(host.size, sizeof abi_));
  }

  // The tree belongs to the running kernel: netlink, BPF and the like speak of the same threads. A
  // source that needs them refuses all where this is false.
  bool live() const { return (abi_.flags & CTPROF_HOST_LIVE) != 0; }
  // Its thread ids are those of our own system calls, such as sched_getaffinity(2) and kill(2). Not
  // so when ctprof runs in a container and looks at the host's /proc.
  bool own_tids() const { return (abi_.flags & CTPROF_HOST_OWN_TIDS) != 0; }

  // Open directories, -1 where there is none. `proc` is always there; `sys` and `cgroup` may be
  // missing. They belong to ctprof, and stay open for as long as the plugin is.
  int proc() const { return abi_.proc_fd; }
  int sys() const { return abi_.sys_fd; }
  int cgroup() const { return abi_.cgroup_fd; }

  // The same as paths, for messages to the user. Do not open them.
  std::string_view proc_path() const { return abi_.proc; }
  std::string_view sys_path() const { return abi_.sys; }
  std::string_view cgroup_path() const { return abi_.cgroup; }

  // The kernel's clock ticks per second, as /proc counts them. Divide ticks by it once, where they
  // are read; or keep them as ClockTicks.
  std::uint32_t user_hz() const { return abi_.user_hz; }

  // A thread that exists, for probing: read its file as `collect` will read those of others. On a
  // live host it is a thread of ctprof itself, so no right is missing; what is closed to us of
  // other threads shows only in `collect`, as a gap.
  Thread sample() const { return {0, abi_.sample_tgid, abi_.sample_tid, -1}; }

  // What the user set by `--set PLUGIN.KEY=VALUE`, or the option's fallback; the fallback too under
  // a ctprof that is older than options. The text lives until the plugin is closed.
  std::string_view option(const ctprof_option& wanted) const {
    const auto* settings = static_cast<const ctprof_setting*>(abi_.options.items);
    for (std::uint32_t i = 0; i < abi_.options.count; ++i)
      if (std::string_view(settings[i].key) == wanted.key) return settings[i].value;
    return wanted.fallback ? wanted.fallback : "";
  }

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

// An option of the plugin, for the table in Extra::options (plugin.hpp), and to ask for:
//
//   constexpr auto kDepth = sdk::option("depth", "16", "How many levels are read.");
//   const auto depth = sdk::number<std::uint64_t>(host.option(kDepth));
//   if (!depth) throw std::runtime_error("example.depth is not a number");
//
// Ask in the constructor of the plugin's context, or in `probe`, and fail there with a sentence: a
// value that is silently replaced by another misleads.
constexpr ctprof_option option(const char* key, const char* fallback, const char* description) {
  return {sizeof(ctprof_option), 0, key, fallback, description};
}

// What would change what a host lacks, for `ctprof doctor`. There are four kinds, so that programs
// can act on them; each is made by one of the functions below, and passed as the last argument of
// Probe::refuse and Probe::lacks. It is a view, and is copied when it is handed over.
//
//   probe.refuse(kOne, Gap::SwitchedOff, "kernel.x is 0", sdk::by_command("sysctl -w kernel.x=1"));
//   probe.refuse(kTwo, Gap::Denied, "only CAP_NET_ADMIN may ask",
//                sdk::by_capabilities("cap_net_admin"));
//   probe.refuse_all(Gap::SwitchedOff, "x=0 is on the kernel's command line", sdk::by_boot("x=1"));
//   probe.lacks(kThree, "files of other users' threads are closed to ctprof",
//               sdk::by_capabilities("cap_sys_ptrace"));
//
// A remedy must be true on the host in question: where no command can switch an option on, name the
// kernel option; where it is not known what would help, name nothing.
struct Remedy {
  ctprof_remedy kind = CTPROF_REMEDY_NONE;
  std::string_view what;
};

// A command for root's shell, ready to paste: "sysctl -w kernel.sched_schedstats=1".
constexpr Remedy by_command(std::string_view command) { return {CTPROF_REMEDY_COMMAND, command}; }

// Capabilities that ctprof lacks, with commas between: "cap_bpf,cap_perfmon". ctprof knows which
// file needs them, and prints the command.
constexpr Remedy by_capabilities(std::string_view names) {
  return {CTPROF_REMEDY_CAPABILITIES, names};
}

// Words on the kernel's command line: "psi=1", "without nodelayacct".
constexpr Remedy by_boot(std::string_view words) { return {CTPROF_REMEDY_BOOT, words}; }

// Another kernel: "CONFIG_SCHEDSTATS=y", "Linux 6.12 or newer".
constexpr Remedy by_kernel(std::string_view which) { return {CTPROF_REMEDY_KERNEL, which}; }

// Where a source says what it cannot fill on this host, and what would change that. What it does
// not refuse, it promises to try. A metric that the source does not offer is ignored.
//
// Find out by looking, not by version: distributions carry features back, and options can be off.
// Read the file, ask for one record, load the program; where nothing can be looked at, say in the
// reason that it is not known.
//
//   static void probe(const sdk::Host& host, const sdk::Probe& probe) {
//     if (!sdk::TextFile().read(host, host.sample(), "schedstat"))
//       probe.refuse_all(Gap::Unsupported, "the kernel has no CONFIG_SCHED_INFO",
//                        sdk::by_kernel("CONFIG_SCHED_INFO=y"));
//   }
//
// A reason is a piece of a sentence, without a capital or a full stop; it names the cause and not
// the symptom. Of two words on one metric the last counts.
class Probe {
 public:
  Probe(const ctprof_probe& probe, const ctprof_array& offers) : abi_(&probe), offers_(&offers) {}

  // Refuses one metric, for `gap`, with a sentence. It is then filled by the next source that
  // offers it, or by nobody; `ctprof plugins` and `doctor` show the sentence.
  template <class N, class R, Entity E>
  void refuse(const Metric<N, R, E>& metric, Gap gap, std::string_view reason,
              const Remedy& remedy = {}) const {
    for_each_offer_of(metric.abi.name, [&](std::uint32_t i) { refuse(i, gap, reason, remedy); });
  }

  // Refuses all that the source offers.
  void refuse_all(Gap gap, std::string_view reason, const Remedy& remedy = {}) const {
    for (std::uint32_t i = 0; i < offers_->count; ++i) refuse(i, gap, reason, remedy);
  }

  // By position in the source's offers, for sources that keep a table of their own.
  void refuse(std::uint32_t index, Gap gap, std::string_view reason,
              const Remedy& remedy = {}) const {
    abi_->refuse(abi_->core, index, static_cast<ctprof_gap>(gap), reason.data(), reason.size());
    if (remedy.kind != CTPROF_REMEDY_NONE) tell(index, {}, remedy);
  }

  // Says of a metric that is not refused what stays a gap all the same, in a sentence: "other
  // users' files are closed to ctprof". A metric may lack several things; each is told.
  template <class N, class R, Entity E>
  void lacks(const Metric<N, R, E>& metric, std::string_view sentence,
             const Remedy& remedy = {}) const {
    for_each_offer_of(metric.abi.name, [&](std::uint32_t i) { tell(i, sentence, remedy); });
  }

  void lacks(std::uint32_t index, std::string_view sentence, const Remedy& remedy = {}) const {
    tell(index, sentence, remedy);
  }

  // Says it of all that the source offers.
  void all_lack(std::string_view sentence, const Remedy& remedy = {}) const {
    for (std::uint32_t i = 0; i < offers_->count; ++i) tell(i, sentence, remedy);
  }

 private:
  // A core that is older than remedies has no function for them.
  static constexpr std::size_t kSizeWithRemedy =
      offsetof(ctprof_probe, remedy) + sizeof(ctprof_probe::remedy);

  template <class Function>
  void for_each_offer_of(std::string_view metric, Function function) const {
    for (std::uint32_t i = 0; i < offers_->count; ++i)
      if (offer(i).metric->name == metric) function(i);
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
