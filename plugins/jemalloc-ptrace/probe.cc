#include "plugins/jemalloc-ptrace/probe.hpp"

#include <sys/auxv.h>
#include <sys/ptrace.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof::jemalloc {
namespace {

// Tries to trace a process that does not exist. A kernel that permits tracing reports ESRCH; a
// seccomp filter or a sandbox fails earlier. No process is affected.
int tracing_error() {
  constexpr pid_t kNoProcess = 0;
  if (::ptrace(PTRACE_SEIZE, kNoProcess, nullptr, nullptr) == 0 || errno == ESRCH) return 0;
  return errno;
}

// Returns the scope in the terms of the kernel's documentation of yama: 0 no restriction, 1
// descendants, 2 only by capability, 3 no tracing. Returns "" without yama.
std::string yama_scope(const sdk::Host& host) {
  sdk::TextFile file;
  const auto scope = file.read(host.proc(), "sys/kernel/yama/ptrace_scope");
  return std::string(scope ? sdk::trimmed(scope.value) : std::string_view{});
}

// Refuses all metrics with file capabilities. The user can still stop a process with file
// capabilities, or freeze its cgroup. A thread that it traces at that time would remain stopped for
// as long as the user wants, even if the user may not control that thread.
bool refuse_file_capabilities(const sdk::Host& host, const sdk::Probe& probe) {
  if (::getauxval(AT_SECURE) == 0) return false;
  constexpr std::string_view kReason =
      "a ctprof with file capabilities (AT_SECURE) does not use ptrace(2), because its user could "
      "stop it while it has stopped a thread; task-iter reads heaps without ptrace, or run ctprof "
      "as root";
  const bool has_no_remedy = has_capabilities({CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE}) ||
                             !is_in_initial_namespace(host, InitialNamespace::Pid);
  probe.refuse_all(
      Gap::Denied, kReason,
      has_no_remedy ? sdk::Remedy{} : sdk::by_capabilities("cap_bpf,cap_perfmon,cap_sys_ptrace"));
  return true;
}

const char* describe_restriction(const std::string& scope) {
  if (scope == "1") return "kernel.yama.ptrace_scope is 1: ctprof may read only its own children";
  if (scope == "2") return "kernel.yama.ptrace_scope is 2: ctprof may read no other process";
  return "ctprof may not read other users' processes";
}

}  // namespace

void probe_host(const sdk::Host& host, const sdk::Probe& probe) {
  if (!host.live())
    return probe.refuse_all(Gap::Unsupported, "a recorded tree has no running threads to read");
  if (!host.own_tids())
    return probe.refuse_all(
        Gap::Unsupported,
        "the tree belongs to another PID namespace, whose thread ids ptrace(2) cannot use here");
  if (refuse_file_capabilities(host, probe)) return;
  probe_permissions(host, probe);
  if (const int error = tracing_error(); error != 0)
    probe.refuse_all(
        Gap::Denied,
        std::string("ptrace(2) is not permitted for this process (") + std::strerror(error) +
            "), for example by a container's seccomp profile: start ctprof outside, or permit "
            "ptrace there");
}

void probe_permissions(const sdk::Host& host, const sdk::Probe& probe) {
  const std::string scope = yama_scope(host);
  if (scope == "3")
    return probe.refuse_all(
        Gap::Denied, "kernel.yama.ptrace_scope is 3, which forbids ptrace(2) until the next boot");
  if (!has_capabilities({CAP_SYS_PTRACE}))
    probe.all_lack(describe_restriction(scope), sdk::by_capabilities("cap_sys_ptrace"));
}

}  // namespace ctprof::jemalloc
