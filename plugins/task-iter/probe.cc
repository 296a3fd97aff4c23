#include "plugins/task-iter/probe.hpp"

#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/clock.hpp"
#include "ctprof/files.hpp"
#include "plugins/shared/bpf_refusal.hpp"
#include "plugins/shared/kernel.hpp"
#include "plugins/shared/text_formats.hpp"
#include "plugins/task-iter/context.hpp"
#include "plugins/task-iter/pass.hpp"

namespace ctprof::task_iter {
namespace {

constexpr BpfPrograms kPrograms{.description = "the BPF program that lists threads",
                                .capabilities = "cap_bpf,cap_perfmon",
                                .first_release = "5.17",
                                .required_release = "Linux 5.17 or newer"};

// Returns the program, or null if no pass is possible; then everything is refused.
Program* find_program(const sdk::Host& host, const sdk::Probe& probe) {
  BpfRefusal refusal = check_host_for_bpf(host);
  if (refusal.gap == Gap::None) {
    int error = 0;
    if (Program* program = host.context<Context>().program(error)) return program;
    refusal = explain_bpf_refusal(host, kPrograms, error);
  }
  probe.refuse_all(refusal.gap, refusal.reason, refusal.remedy);
  return nullptr;
}

// Returns the record of ctprof itself, which shows the available fields.
record read_own_record(Program& program) {
  record self_record{};
  Pass pass(program, {.tgid = static_cast<std::uint32_t>(::getpid()), .cpu_words = 0});
  for (auto records = pass.read(); !records.empty(); records = pass.read())
    std::memcpy(&self_record, records.data(), RECORD_FIXED);
  if (self_record.tid == 0)
    throw std::runtime_error("the BPF pass over the threads did not visit ctprof itself");
  return self_record;
}

// Returns whether the kernel measures CPU time on some CPUs without ticks.
bool has_tickless_cpus(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.sys(), "devices/system/cpu/nohz_full");
  return text && text.value.find_first_of("0123456789") != std::string_view::npos;
}

constexpr std::string_view kNoExtremesReason =
    "the kernel does not record longest and shortest delays; Linux 6.14 introduced them";
constexpr auto kExtremesRemedy = sdk::by_kernel("Linux 6.14 or newer");

void probe_waits(const sdk::Probe& probe, const record& self_record) {
  if (!has_feature(self_record, RECORD_HAS_SCHED_INFO))
    RunQueueWaits::refuse(probe, Gap::Unsupported, "the kernel has no CONFIG_SCHED_INFO",
                          sdk::by_kernel("CONFIG_SCHED_INFO=y"));
  if (!has_feature(self_record, RECORD_HAS_SCHED_INFO_EXTREMES))
    WaitExtremes::refuse(probe, Gap::Unsupported, kNoExtremesReason, kExtremesRemedy);
}

template <class... Groups>
void refuse_groups(const sdk::Probe& probe, Gap gap, std::string_view reason,
                   const sdk::Remedy& remedy) {
  (Groups::refuse(probe, gap, reason, remedy), ...);
}

void probe_interrupts(const sdk::Probe& probe, const record& self_record) {
  if (!has_feature(self_record, RECORD_HAS_IRQ))
    return refuse_groups<InterruptDelays, InterruptExtremes>(
        probe, Gap::Unsupported,
        "the kernel does not account for interrupts by thread; Linux 6.4 introduced it",
        sdk::by_kernel("Linux 6.4 or newer"));
  if (!has_feature(self_record, RECORD_HAS_IRQ_TIME))
    refuse_groups<InterruptDelays, InterruptExtremes>(
        probe, Gap::Unsupported,
        "the kernel has no CONFIG_IRQ_TIME_ACCOUNTING: it does not measure how long interrupts "
        "take",
        sdk::by_kernel("CONFIG_IRQ_TIME_ACCOUNTING=y"));
}

// Reports that the switch was turned on after boot: threads that were already running have no
// delays.
void report_older_threads(const sdk::Probe& probe) {
  const auto report = [&]<class... Groups>() {
    (Groups::lacks(probe,
                   "kernel.task_delayacct was switched on at run time: threads that existed "
                   "already are not accounted for",
                   sdk::by_boot("delayacct")),
     ...);
  };
  report.operator()<Delays, CopyOnWriteDelays, InterruptDelays, DelayExtremes, InterruptExtremes>();
}

void probe_delays(const sdk::Host& host, const sdk::Probe& probe, const record& self_record) {
  const auto refuse = [&](Gap gap, std::string_view reason, const sdk::Remedy& remedy) {
    refuse_groups<Delays, CopyOnWriteDelays, InterruptDelays, DelayExtremes, InterruptExtremes>(
        probe, gap, reason, remedy);
  };
  if (!has_feature(self_record, RECORD_HAS_DELAYS))
    return refuse(Gap::Unsupported, "the kernel has no CONFIG_TASK_DELAY_ACCT",
                  sdk::by_kernel("CONFIG_TASK_DELAY_ACCT=y"));
  const Switch state = read_switch(host, kDelayAccounting);
  // A thread has delays if it was created while the switch was on. The thread of ctprof was created
  // recently.
  if (state == Switch::Unknown && (self_record.properties & RECORD_OF_DELAYS) == 0)
    refuse(Gap::Unsupported, describe_unknown_switch("kernel.task_delayacct"), {});
  else if (state == Switch::Off)
    refuse(Gap::SwitchedOff,
           "kernel.task_delayacct is 0; sysctl kernel.task_delayacct=1 switches it on, for threads "
           "started from then on",
           sdk::by_command("sysctl -w kernel.task_delayacct=1"));
  else if (state == Switch::On && is_known_absent_from_command_line(host, "delayacct"))
    report_older_threads(probe);
  // Refuses what the kernel does not support, regardless of the switch.
  if (!has_feature(self_record, RECORD_HAS_DELAY_EXTREMES))
    refuse_groups<DelayExtremes, InterruptExtremes>(probe, Gap::Unsupported, kNoExtremesReason,
                                                    kExtremesRemedy);
  if (!has_feature(self_record, RECORD_HAS_WPCOPY))
    CopyOnWriteDelays::refuse(
        probe, Gap::Unsupported,
        "the kernel does not account for copies on write; Linux 6.0 introduced it",
        sdk::by_kernel("Linux 6.0 or newer"));
  probe_interrupts(probe, self_record);
}

void probe_statistics(const sdk::Host& host, const sdk::Probe& probe, const record& self_record) {
  if (!has_feature(self_record, RECORD_HAS_STATISTICS))
    return refuse_groups<Wakeups, Statistics, Forceidle>(probe, Gap::Unsupported,
                                                         "the kernel has no CONFIG_SCHEDSTATS",
                                                         sdk::by_kernel("CONFIG_SCHEDSTATS=y"));
  const Switch state = read_switch(host, kScheduleStatistics);
  if (state == Switch::Unknown)
    refuse_groups<Wakeups, Statistics, Forceidle>(
        probe, Gap::Unsupported, describe_unknown_switch("kernel.sched_schedstats"), {});
  if (state == Switch::Off)
    refuse_groups<Wakeups, Statistics, Forceidle>(
        probe, Gap::SwitchedOff,
        "kernel.sched_schedstats is 0; sysctl kernel.sched_schedstats=1 switches it on",
        sdk::by_command("sysctl -w kernel.sched_schedstats=1"));
  if (!has_feature(self_record, RECORD_HAS_FORCEIDLE))
    Forceidle::refuse(probe, Gap::Unsupported, "the kernel has no CONFIG_SCHED_CORE (Linux 5.17)",
                      sdk::by_kernel("CONFIG_SCHED_CORE=y (Linux 5.17 or newer)"));
}

bool hides_addresses_from_all(const sdk::Host& host) {
  sdk::TextFile file;
  const auto restricted = file.read(host.proc(), "sys/kernel/kptr_restrict");
  return restricted && sdk::trimmed(restricted.value) == "2";
}

// The address of the scheduling class shows which threads a BPF scheduler controls, and addresses
// require privileges.
void probe_extensible(const sdk::Host& host, const sdk::Probe& probe) {
  if (!has_extensible_class(host))
    return ExtClassColumns::refuse(
        probe, Gap::Unsupported, "the kernel has no CONFIG_SCHED_CLASS_EXT (Linux 6.12)",
        sdk::by_kernel("CONFIG_SCHED_CLASS_EXT=y (Linux 6.12 or newer)"));
  const Gap gap = find_extensible_class(host).gap;
  if (gap == Gap::Unsupported)
    ExtClassColumns::refuse(
        probe, gap,
        "a BPF scheduler is loaded, and the addresses of scheduling classes are unknown "
        "(CONFIG_KALLSYMS_ALL is missing?); /proc reports which threads it schedules",
        sdk::by_kernel("CONFIG_KALLSYMS_ALL=y"));
  else if (gap == Gap::Denied && hides_addresses_from_all(host))
    ExtClassColumns::refuse(
        probe, gap,
        "a BPF scheduler is loaded, and kernel.kptr_restrict is 2, which hides the "
        "addresses of scheduling classes; /proc reports which threads it schedules");
  else if (gap == Gap::Denied)
    ExtClassColumns::refuse(
        probe, gap,
        "a BPF scheduler is loaded, and the addresses of scheduling classes require "
        "CAP_SYSLOG; /proc reports which threads it schedules",
        sdk::by_capabilities("cap_syslog"));
}

void probe_record(const sdk::Host& host, const sdk::Probe& probe, const record& self_record) {
  if (!has_feature(self_record, RECORD_HAS_PREV_CPUTIME) || has_tickless_cpus(host))
    CpuTimeColumns::refuse(
        probe, Gap::Unsupported,
        "the kernel does not account for CPU time by ticks, and /proc has more accurate values");
  if (!has_feature(self_record, RECORD_HAS_SLICE))
    Slice::refuse(probe, Gap::Unsupported,
                  "the kernel's fair scheduler has no slice field; Linux 6.6 introduced it",
                  sdk::by_kernel("Linux 6.6 or newer"));
  if (!has_feature(self_record, RECORD_HAS_IO))
    Io::refuse(probe, Gap::Unsupported, "the kernel has no CONFIG_TASK_IO_ACCOUNTING",
               sdk::by_kernel("CONFIG_TASK_IO_ACCOUNTING=y"));
  if (const auto online = read_host_facts(host).online_cpus;
      online.empty() || online.size() > RECORD_CPU_WORDS)
    Affinity::refuse(
        probe, Gap::Unsupported,
        "the list of online CPUs is unknown, or it has more CPUs than a record can hold");
  if (!has_feature(self_record, RECORD_HAS_IN_PROGRESS))
    InProgress::refuse(probe, Gap::Unsupported, "the kernel has no CONFIG_FAIR_GROUP_SCHED",
                       sdk::by_kernel("CONFIG_FAIR_GROUP_SCHED=y"));
  probe_waits(probe, self_record);
  probe_delays(host, probe, self_record);
  probe_statistics(host, probe, self_record);
  probe_extensible(host, probe);
}

}  // namespace

void probe_host(const sdk::Host& host, const sdk::Probe& probe) {
  Program* program = find_program(host, probe);
  if (!program) return;
  probe_record(host, probe, read_own_record(*program));
  // Without a cgroup mount no path can be verified; then ctprof reads the paths without this
  // plugin.
  if (host.cgroup() < 0)
    probe.refuse(sdk::kCgroup, Gap::Unsupported, "no cgroup v2 hierarchy is mounted");
}

bool probe_pointers(const sdk::Host& host, const sdk::Probe& probe) {
  Program* program = find_program(host, probe);
  if (!program) return false;
  if (has_feature(read_own_record(*program), RECORD_HAS_THREAD_POINTER)) return true;
  probe.refuse_all(Gap::Unsupported,
                   "the location of thread pointers is unknown for this machine's kernel");
  return false;
}

HostFacts read_host_facts(const sdk::Host& host) {
  HostFacts facts;
  facts.ns_per_tick = ns_per_tick(host.user_hz());
  facts.page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  sdk::TextFile file;
  const auto online = file.read(host.sys(), "devices/system/cpu/online");
  if (!online || !parse_cpu_list(sdk::trimmed(online.value), facts.online_cpus))
    facts.online_cpus.clear();
  return facts;
}

}  // namespace ctprof::task_iter
