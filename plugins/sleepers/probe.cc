#include "plugins/sleepers/probe.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ctprof/files.hpp"
#include "plugins/shared/elevated_user.hpp"
#include "plugins/shared/kernel.hpp"
#include "plugins/sleepers/kernel_symbols.hpp"

namespace ctprof::sleepers {
namespace {

constexpr BpfPrograms kPrograms{.description = "the BPF program that samples sleeping threads",
                                .capabilities = "cap_bpf,cap_perfmon,cap_sys_ptrace",
                                .first_release = "5.17",
                                .required_release = "Linux 5.17 or newer"};

}  // namespace

std::unique_ptr<Program> load_program(const sdk::Host& host, BpfRefusal& refusal) {
  refusal = check_host_for_bpf(host);
  if (refusal.gap != Gap::None) return nullptr;
  int error = 0;
  auto program = Program::load(error);
  if (!program) refusal = explain_bpf_refusal(host, kPrograms, error);
  return program;
}

std::optional<BpfRefusal> explain_proc_refusal(const sdk::Host& host, bool has_extra_rights) {
  if (has_extra_rights)
    return BpfRefusal{Gap::Denied,
                      "without BPF ctprof cannot hide the stacks of other users from a user who "
                      "has only file capabilities",
                      {}};
  if (!has_capabilities({CAP_SYS_ADMIN}, true))
    return BpfRefusal{Gap::Denied, "and /proc/PID/task/TID/stack requires CAP_SYS_ADMIN", {}};
  sdk::TextFile file;
  if (!file.read(host.proc(), "self/stack"))
    return BpfRefusal{file.last_errno() == ENOENT ? Gap::Unsupported : Gap::Denied,
                      "and /proc/PID/task/TID/stack cannot be read: " +
                          std::string(std::strerror(file.last_errno())),
                      {}};
  if (!KernelSymbols::shows_addresses(host))
    return BpfRefusal{
        Gap::Denied, "and /proc/kallsyms hides addresses (kernel.kptr_restrict, CAP_SYSLOG)", {}};
  return std::nullopt;
}

void probe_host(const sdk::Host& host, const sdk::Probe& probe) {
  if (!host.live() || !host.own_tids())
    return probe.refuse_all(
        Gap::Unsupported,
        "the recorder samples only threads of the running kernel, by thread ids of ctprof's "
        "PID namespace; this tree belongs to another kernel or PID namespace");
  BpfRefusal refusal;
  if (load_program(host, refusal)) {
    if (!has_capabilities({CAP_SYS_PTRACE}, true))
      probe.all_lack("without CAP_SYS_PTRACE stacks of other users' processes have no user part",
                     sdk::by_capabilities("cap_sys_ptrace"));
    return;
  }
  if (const auto refused = explain_proc_refusal(host, find_elevated_user().has_value()))
    return probe.refuse_all(refusal.gap, refusal.reason + "; " + refused->reason, refusal.remedy);
  probe.all_lack("stacks have only their kernel part, from /proc: " + refusal.reason,
                 refusal.remedy);
}

}  // namespace ctprof::sleepers
