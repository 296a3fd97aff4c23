// The host as a source sees it, and the source's answers about it.
//
//   class Connections : public sdk::HostSource {
//    public:
//     static void probe(const sdk::Host& host, const sdk::Probe& probe) {
//       if (!host.live()) probe.refuse_all(Gap::Unsupported, "it needs netlink");
//     }
//     explicit Connections(const sdk::Host& host) : host_(host) {}  // keeps a copy of the host
//    ...
//    private:
//     sdk::Host host_;
//   };
//
// The host need not be the machine that ctprof runs on. With --rootfs it is a directory tree with
// files of another kernel, and tests use recordings. Check `live` before you use anything except
// files.
//
// Contents:   Host (directories and flags), Thread (address of one row), Probe (receives refusals),
//             Remedy (a change that would remove a refusal).
// See also:   files.hpp for reading files, batch.hpp for filling cells.

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

// The address of a thread, as TextFile::read takes it.
struct Thread {
  // Its row in the batch, counted from 0.
  std::uint32_t row;
  // The ids of its process and of the thread. They belong to the tree of the host: pass them to a
  // system call only if Host::own_tids() is true.
  std::uint64_t tgid;
  std::uint64_t tid;
  // Its open directory /proc/<tgid>/task/<tid>, which must not be closed, or -1. A file that is
  // opened relative to it belongs to this thread, even if the id is reused meanwhile.
  int dir;
};

// The host, as the core describes it to a plugin. It is cheap to copy: keep a copy in your source.
// The copy, and the directories and paths in it, are valid as long as the plugin is open. Use the
// directories with openat(2) and names relative to them. A path that begins with "/proc" reads the
// wrong tree with --rootfs and in every test.
class Host {
 public:
  explicit Host(const ctprof_host& host) {
    std::memcpy(&abi_, &host, std::min<std::size_t>(host.size, sizeof abi_));
  }

  // Whether the tree belongs to the running kernel, so that netlink, BPF and similar interfaces
  // describe the same threads. A source that needs them refuses all offers if this is false.
  bool live() const { return (abi_.flags & CTPROF_HOST_LIVE) != 0; }
  // Whether its thread ids are valid in system calls of this process, such as sched_getaffinity(2)
  // and kill(2). They are not if ctprof runs in a container and reads the host's /proc.
  bool own_tids() const { return (abi_.flags & CTPROF_HOST_OWN_TIDS) != 0; }

  // Open directories, or -1. `proc` always exists; `sys` and `cgroup` may be missing. ctprof owns
  // them and keeps them open as long as the plugin is open.
  int proc() const { return abi_.proc_fd; }
  int sys() const { return abi_.sys_fd; }
  int cgroup() const { return abi_.cgroup_fd; }

  // The same directories as paths, for messages to the user. Do not open them.
  std::string_view proc_path() const { return abi_.proc; }
  std::string_view sys_path() const { return abi_.sys; }
  std::string_view cgroup_path() const { return abi_.cgroup; }

  // Clock ticks per second in the units of /proc (USER_HZ). Divide ticks by it once, where they are
  // read, or keep them as ClockTicks.
  std::uint32_t user_hz() const { return abi_.user_hz; }

  // An existing thread for probing: read its file as `collect` will read the files of others. On a
  // live host it is a thread of ctprof, which may read all its own files. Files of other threads
  // that ctprof must not read become gaps in `collect`.
  Thread sample() const { return {0, abi_.sample_tgid, abi_.sample_tid, -1}; }

  // Returns the value that the user set with `--set PLUGIN.KEY=VALUE`, or the option's default;
  // also the default if ctprof is older than options. The text is valid until the plugin is closed.
  std::string_view option(const ctprof_option& wanted) const {
    const auto* settings = static_cast<const ctprof_setting*>(abi_.options.items);
    for (std::uint32_t i = 0; i < abi_.options.count; ++i)
      if (std::string_view(settings[i].key) == wanted.key) return settings[i].value;
    return wanted.fallback ? wanted.fallback : "";
  }

  // Returns the plugin's context, an object of the class `Context` that was created when the plugin
  // was opened (with_context in plugin.hpp). All sources and workers of the plugin share it, and it
  // outlives them. Throws std::runtime_error if ctprof is too old to support contexts.
  template <class Context>
  Context& context() const {
    if (abi_.size < kSizeWithContext || !abi_.context)
      throw std::runtime_error(
          "this ctprof is older than the plugin and does not support contexts of plugins");
    return *static_cast<Context*>(abi_.context);
  }

 private:
  static constexpr std::size_t kSizeWithContext =
      offsetof(ctprof_host, context) + sizeof(ctprof_host::context);

  ctprof_host abi_{};
};

// Declares an option of the plugin, for the table in Extra::options (plugin.hpp), and for reading
// its value:
//
//   constexpr auto kDepth = sdk::option("depth", "16", "How many levels are read.");
//   const auto depth = sdk::number<std::uint64_t>(host.option(kDepth));
//   if (!depth) throw std::runtime_error("example.depth is not a number");
//
// Read the value in the constructor of the plugin's context, or in `probe`, and fail there with a
// message if it is invalid. Do not silently replace it by another value.
constexpr ctprof_option option(const char* key, const char* fallback, const char* description) {
  return {sizeof(ctprof_option), 0, key, fallback, description};
}

// A change that would make a metric available on a host, for `ctprof doctor`. There are four kinds,
// so that programs can act on them. The functions below create them; pass them as the last argument
// of Probe::refuse and Probe::lacks. A remedy is a view, and the core copies it.
//
//   probe.refuse(kOne, Gap::SwitchedOff, "kernel.x is 0", sdk::by_command("sysctl -w kernel.x=1"));
//   probe.refuse(kTwo, Gap::Denied, "CAP_NET_ADMIN is required",
//                sdk::by_capabilities("cap_net_admin"));
//   probe.refuse_all(Gap::SwitchedOff, "x=0 is on the kernel's command line", sdk::by_boot("x=1"));
//   probe.lacks(kThree, "files of other users' threads are closed to ctprof",
//               sdk::by_capabilities("cap_sys_ptrace"));
//
// A remedy must work on the host in question. If no command can enable an option, name the kernel
// option; if no remedy is known, name none.
struct Remedy {
  ctprof_remedy kind = CTPROF_REMEDY_NONE;
  std::string_view what;
};

// A command for a root shell, ready to paste: "sysctl -w kernel.sched_schedstats=1".
constexpr Remedy by_command(std::string_view command) { return {CTPROF_REMEDY_COMMAND, command}; }

// Capabilities that ctprof lacks, separated by commas: "cap_bpf,cap_perfmon". ctprof knows which
// file needs them, and prints the command.
constexpr Remedy by_capabilities(std::string_view names) {
  return {CTPROF_REMEDY_CAPABILITIES, names};
}

// Parameters of the kernel's command line: "psi=1", "without nodelayacct".
constexpr Remedy by_boot(std::string_view words) { return {CTPROF_REMEDY_BOOT, words}; }

// Another kernel: "CONFIG_SCHEDSTATS=y", "Linux 6.12 or newer".
constexpr Remedy by_kernel(std::string_view which) { return {CTPROF_REMEDY_KERNEL, which}; }

// Receives a source's refusals for this host, with remedies. An offer that is not refused may be
// selected, and `collect` must then try to fill it. A metric that the source does not offer is
// ignored.
//
// Test for a feature itself, not for a kernel version: distributions backport features, and options
// can be disabled. Read the file, request one record, load the program. If no test is possible,
// state in the reason that support is unknown.
//
//   static void probe(const sdk::Host& host, const sdk::Probe& probe) {
//     if (!sdk::TextFile().read(host, host.sample(), "schedstat"))
//       probe.refuse_all(Gap::Unsupported, "the kernel has no CONFIG_SCHED_INFO",
//                        sdk::by_kernel("CONFIG_SCHED_INFO=y"));
//   }
//
// A reason is part of a sentence, without a capital or a full stop; it names the cause, not the
// symptom. The last of several calls for one metric counts.
class Probe {
 public:
  Probe(const ctprof_probe& probe, const ctprof_array& offers) : abi_(&probe), offers_(&offers) {}

  // Refuses one metric with a gap and a reason. The next source that offers it then fills it, if
  // there is one; `ctprof plugins` and `doctor` show the reason.
  template <class N, class R, Entity E>
  void refuse(const Metric<N, R, E>& metric, Gap gap, std::string_view reason,
              const Remedy& remedy = {}) const {
    for_each_offer_of(metric.abi.name, [&](std::uint32_t i) { refuse(i, gap, reason, remedy); });
  }

  // Refuses all offers of the source.
  void refuse_all(Gap gap, std::string_view reason, const Remedy& remedy = {}) const {
    for (std::uint32_t i = 0; i < offers_->count; ++i) refuse(i, gap, reason, remedy);
  }

  // Refuses an offer by its index, for sources that keep a table of their own.
  void refuse(std::uint32_t index, Gap gap, std::string_view reason,
              const Remedy& remedy = {}) const {
    abi_->refuse(abi_->core, index, static_cast<ctprof_gap>(gap), reason.data(), reason.size());
    if (remedy.kind != CTPROF_REMEDY_NONE) tell(index, {}, remedy);
  }

  // Reports, for a metric that is not refused, which values remain gaps: "other users' files are
  // closed to ctprof". A metric may lack several things; each is reported.
  template <class N, class R, Entity E>
  void lacks(const Metric<N, R, E>& metric, std::string_view sentence,
             const Remedy& remedy = {}) const {
    for_each_offer_of(metric.abi.name, [&](std::uint32_t i) { tell(i, sentence, remedy); });
  }

  void lacks(std::uint32_t index, std::string_view sentence, const Remedy& remedy = {}) const {
    tell(index, sentence, remedy);
  }

  // Calls `lacks` for all offers of the source.
  void all_lack(std::string_view sentence, const Remedy& remedy = {}) const {
    for (std::uint32_t i = 0; i < offers_->count; ++i) tell(i, sentence, remedy);
  }

 private:
  // A core that is older than remedies does not have the function.
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
