#include "plugins/on-cpu/probe.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "ctprof/files.hpp"
#include "plugins/on-cpu/event.hpp"
#include "plugins/on-cpu/own_process_filter.hpp"
#include "plugins/on-cpu/sampler.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof::on_cpu {
namespace {

constexpr const char* kParanoid = "sys/kernel/perf_event_paranoid";
// The number of frames of a stack, if the window requests none.
constexpr std::uint32_t kDefaultChainDepth = 127;

std::string describe_paranoid(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), kParanoid);
  return text ? " is " + std::string(sdk::trimmed(text.value)) : "";
}

bool has_capability(unsigned capability) { return has_capabilities({capability}, true); }

// Returns all required capabilities, so that one change of the executable is sufficient; cap_bpf is
// for the filter (own_process_filter.hpp), which an executable with capabilities needs.
sdk::Remedy find_capabilities_remedy() {
  return sdk::by_capabilities(has_capability(CAP_IPC_LOCK) ? "cap_bpf,cap_perfmon"
                                                           : "cap_bpf,cap_ipc_lock,cap_perfmon");
}

}  // namespace

Refusal explain_filter_refusal(int error) {
  return {error == EPERM || error == EACCES ? Gap::Denied : Gap::Unsupported,
          "ctprof has file capabilities, and no BPF program can hide the stacks of other users' "
          "processes from its user: " +
              std::string(std::strerror(error)),
          sdk::by_capabilities("cap_bpf,cap_perfmon")};
}

Refusal explain_refusal(const sdk::Host& host, int error) {
  if ((error == EACCES || error == EPERM) && !has_capability(CAP_PERFMON) &&
      !has_capability(CAP_SYS_ADMIN))
    return {Gap::Denied,
            "kernel.perf_event_paranoid" + describe_paranoid(host) +
                ", which restricts sampling of every CPU to CAP_PERFMON: run ctprof as root, or "
                "grant it that capability",
            find_capabilities_remedy()};
  if (error == EACCES || error == EPERM)
    return {Gap::Denied,
            "perf_event_open(2) is not permitted for this process, for example by a container's "
            "seccomp profile: start ctprof outside the container",
            {}};
  if (error == ENOSYS || error == ENOENT || error == EOPNOTSUPP)
    return {Gap::Unsupported, "the kernel has no CONFIG_PERF_EVENTS, or cannot sample stacks",
            sdk::by_kernel("CONFIG_PERF_EVENTS=y")};
  return {Gap::SourceFailed,
          "the kernel does not open a sampling event: " + std::string(std::strerror(error)),
          {}};
}

void probe_host(const sdk::Host& host, const sdk::Probe& probe) {
  if (!host.live() || !host.own_tids())
    return probe.refuse_all(
        Gap::Unsupported,
        "perf events sample only the running kernel; this tree belongs to another kernel "
        "or PID namespace");
  const auto cpus = read_online_cpus(host);
  Sampling sampling;
  sampling.depth = max_stack_depth(host);
  if (const int error = detect_features(sampling, cpus.empty() ? 0 : cpus.front()); error != 0) {
    const Refusal refusal_reason = explain_refusal(host, error);
    return probe.refuse_all(refusal_reason.gap, refusal_reason.reason, refusal_reason.remedy);
  }
  int filter_error = 0;
  if (const auto user = find_elevated_user();
      user && !OwnProcessFilter::load(*user, filter_error)) {
    const Refusal refusal_reason = explain_filter_refusal(filter_error);
    return probe.refuse_all(refusal_reason.gap, refusal_reason.reason, refusal_reason.remedy);
  }
  if (!has_capability(CAP_IPC_LOCK))
    probe.all_lack(
        "without CAP_IPC_LOCK rings are no larger than kernel.perf_event_mlock_kb allows, and may "
        "overflow at high rates",
        sdk::by_capabilities("cap_ipc_lock"));
}

std::uint32_t choose_chain_depth(const sdk::Window& window, std::uint32_t max_depth) {
  const std::uint32_t depth = window.depth();
  if (window.user_kind() == CTPROF_USER_ADDRESSES && depth > max_depth)
    throw std::runtime_error("--max-depth " + std::to_string(depth) +
                             ": the kernel follows frame pointers for at most " +
                             std::to_string(max_depth) +
                             " frames; lower --max-depth, raise kernel.perf_event_max_stack, or "
                             "use --unwind cfi");
  return std::min(depth > 0 ? depth + 1 : kDefaultChainDepth, max_depth);
}

// Large copies at low rates, and at high ones as much as a reader can process in time.
std::uint32_t choose_copied_bytes(const sdk::Window& window, std::uint64_t frequency_hz,
                                  bool is_walked) {
  constexpr std::uint32_t kKiB = 1024;
  // The kernel accepts sizes below 64 KiB, in steps of eight bytes.
  constexpr std::uint32_t kMaxBytes = 65'528 - 8, kStep = 8;
  constexpr std::uint64_t kHighRate = 250, kHighRateWithWalk = 1000;
  if (window.user_kind() == CTPROF_USER_ADDRESSES) return 0;
  if (window.stack_bytes() > 0) return std::min(window.stack_bytes(), kMaxBytes) / kStep * kStep;
  if (frequency_hz <= (is_walked ? kHighRateWithWalk : kHighRate)) return 32 * kKiB;
  return (is_walked ? 16 : 8) * kKiB;
}

}  // namespace ctprof::on_cpu
