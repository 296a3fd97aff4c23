#include "plugins/off-cpu/probe.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <cerrno>
#include <iterator>

#include "ctprof/files.hpp"

namespace ctprof::off_cpu {
namespace {

constexpr BpfPrograms kPrograms{.description = "the BPF programs that follow threads",
                                .capabilities = "cap_bpf,cap_perfmon",
                                .first_release = "5.10",
                                .required_release = "Linux 5.10 or newer"};

// Tries to load the smallest possible program of the type for tracepoints: one that returns 0.
// Returns 0, or an errno.
int try_smallest_program() {
  const bpf_insn program[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
  const sdk::Fd loaded(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "ctprof_try", "GPL", program,
                                     std::size(program), nullptr));
  return loaded ? 0 : errno;
}

}  // namespace

BpfRefusal explain_refusal(const sdk::Host& host, int error) {
  return explain_bpf_refusal(host, kPrograms, error);
}

bool can_store_histograms() {
  return !can_load_bpf() || libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, nullptr) == 1;
}

void probe_host(const sdk::Host& host, const sdk::Probe& probe) {
  BpfRefusal refusal_reason = check_host_for_bpf(host);
  if (refusal_reason.gap == Gap::None)
    if (const int error = can_load_bpf() ? try_smallest_program() : EPERM; error != 0)
      refusal_reason = explain_refusal(host, error);
  if (refusal_reason.gap != Gap::None)
    probe.refuse_all(refusal_reason.gap, refusal_reason.reason, refusal_reason.remedy);
}

}  // namespace ctprof::off_cpu
