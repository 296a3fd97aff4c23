#include "plugins/taskstats/probe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"
#include "ctprof/reads.hpp"
#include "plugins/shared/kernel.hpp"
#include "plugins/taskstats/columns.hpp"
#include "plugins/taskstats/decode.hpp"
#include "plugins/taskstats/socket.hpp"

namespace ctprof::taskstats {
namespace {

// A member of `struct rq` that exists only with the option. Names in BTF are separated by zero
// bytes.
constexpr std::string_view kIrqTimeMember{"\0prev_irq_time\0", 15};

bool has_file(const sdk::Host& host, const char* path) {
  return ::faccessat(host.proc(), path, F_OK, 0) == 0;
}

void refuse(const sdk::Probe& probe, Field field, Gap gap, std::string_view reason,
            const sdk::Remedy& remedy) {
  probe.refuse(static_cast<std::uint32_t>(index_of(field)), gap, reason, remedy);
}

void refuse_range(const sdk::Probe& probe, std::size_t first, std::size_t end, Gap gap,
                  std::string_view reason, const sdk::Remedy& remedy) {
  for (std::size_t i = first; i < end; ++i)
    refuse(probe, static_cast<Field>(i), gap, reason, remedy);
}

void refuse_unopened(const sdk::Probe& probe, const SocketError& error) {
  if (error.error == ENOENT)
    return probe.refuse_all(Gap::Unsupported, "the kernel has no CONFIG_TASKSTATS",
                            sdk::by_kernel("CONFIG_TASKSTATS=y"));
  probe.refuse_all(gap_of_answer(error.error), error.message);
}

void refuse_unanswered(const sdk::Probe& probe, int error) {
  if (error == EPERM)
    return probe.refuse_all(
        Gap::Denied,
        "the kernel gives taskstats only to CAP_NET_ADMIN in the host's own user namespace: run "
        "ctprof as the "
        "host's root, or give it that capability",
        has_capabilities({CAP_NET_ADMIN}) ? sdk::Remedy{} : sdk::by_capabilities("cap_net_admin"));
  probe.refuse_all(gap_of_answer(error),
                   "requesting the taskstats of a thread: " + std::string(std::strerror(error)));
}

// Returns the first release whose struct certainly has the fields of a version, for versions after
// that of Linux 5.10.
sdk::Remedy kernel_with_version(std::uint16_t version) {
  if (version <= 11) return sdk::by_kernel("Linux 5.17 or newer");
  if (version <= 13) return sdk::by_kernel("Linux 6.0 or newer");
  if (version <= 14) return sdk::by_kernel("Linux 6.4 or newer");
  return sdk::by_kernel("Linux 6.16 or newer");
}

void probe_version(const sdk::Probe& probe, const Layout& layout, std::size_t fields) {
  const std::string version_text =
      "this kernel's taskstats are of version " + std::to_string(layout.version());
  for (std::size_t i = 0; i < fields; ++i) {
    const auto field = static_cast<Field>(i);
    if (layout.offset(field) != Layout::kAbsent) continue;
    const std::uint16_t first_version = find_first_version(field);
    refuse(probe, field, Gap::Unsupported,
           version_text + (layout.version() < first_version
                               ? "; this metric requires version " + std::to_string(first_version)
                               : ", but too short to contain this metric"),
           kernel_with_version(first_version));
  }
}

// Refuses all fields of delay accounting, including those of the cpu kind.
void refuse_delays(const sdk::Probe& probe, Gap gap, std::string_view reason,
                   const sdk::Remedy& remedy) {
  refuse_range(probe, 0, kDelayFieldsEnd, gap, reason, remedy);
  for (const Field field : {Field::CpuRunVirtual, Field::RunDelay, Field::Pcount})
    refuse(probe, field, gap, reason, remedy);
  probe.refuse(sdk::kReadAt, gap, reason, remedy);  // the time of reading these three
}

// Reports that delay accounting was enabled at run time: threads that were already running have no
// delays, and cannot be distinguished from threads that never waited.
void report_older_threads(const sdk::Probe& probe) {
  for (std::size_t i = kFirstSwitchedField; i < kDelayFieldsEnd; ++i)
    probe.lacks(
        static_cast<std::uint32_t>(i),
        "kernel.task_delayacct was switched on at run time: threads that existed already show "
        "delays of zero, whatever they waited for",
        sdk::by_boot("delayacct"));
}

void probe_accounting(const sdk::Host& host, const sdk::Probe& probe, bool has_cpu_counts) {
  if (!has_cpu_counts && is_on_command_line(host, "nodelayacct"))
    return refuse_delays(probe, Gap::SwitchedOff,
                         "the kernel was started with nodelayacct, which disables delay accounting",
                         sdk::by_boot("without nodelayacct"));
  if (!has_cpu_counts)
    return refuse_delays(probe, Gap::Unsupported, "the kernel has no CONFIG_TASK_DELAY_ACCT",
                         sdk::by_kernel("CONFIG_TASK_DELAY_ACCT=y"));
  const Switch state = read_switch(host, kDelayAccounting);
  if (state == Switch::Unknown)
    refuse_range(probe, kFirstSwitchedField, kDelayFieldsEnd, Gap::Unsupported,
                 describe_unknown_switch("kernel.task_delayacct"), {});
  if (state == Switch::Off)
    refuse_range(probe, kFirstSwitchedField, kDelayFieldsEnd, Gap::SwitchedOff,
                 "kernel.task_delayacct is 0; sysctl kernel.task_delayacct=1 switches it on, for "
                 "threads started from then on",
                 sdk::by_command("sysctl -w kernel.task_delayacct=1"));
  if (may_be_enabled_after_boot(host)) report_older_threads(probe);
}

void probe_interrupts(const sdk::Host& host, const sdk::Probe& probe) {
  const auto is_measured = measures_interrupts(host);
  if (is_measured && is_measured.value) return;
  const auto refuse_irq = [&](std::string_view reason, const sdk::Remedy& remedy) {
    refuse_range(probe, index_of(Field::IrqCount), kDelayFieldsEnd, Gap::Unsupported, reason,
                 remedy);
  };
  if (is_measured)
    return refuse_irq(
        "the kernel has no CONFIG_IRQ_TIME_ACCOUNTING: it does not measure how long interrupts "
        "take",
        sdk::by_kernel("CONFIG_IRQ_TIME_ACCOUNTING=y"));
  refuse_irq(
      "whether the kernel measures interrupt time is unknown: /proc/pressure and "
      "/sys/kernel/btf/vmlinux are missing",
      {});
}

void probe_fields(const sdk::Host& host, const sdk::Probe& probe, std::size_t fields, Bytes stats) {
  const Layout layout(version_of(stats), stats.size());
  const auto is_nonzero = [&](Field field) { return read_field(stats, layout, field).value > 0; };
  // Not decided by the run time: with a coarse clock it may be 0 for a thread that just started.
  probe_accounting(host, probe, is_nonzero(Field::Pcount));
  probe_interrupts(host, probe);
  if (!is_nonzero(Field::HiwaterVm))
    refuse_range(probe, index_of(Field::HiwaterRss), index_of(Field::CpuRunVirtual),
                 Gap::Unsupported, "the kernel has no CONFIG_TASK_XACCT",
                 sdk::by_kernel("CONFIG_TASK_XACCT=y"));
  if (fields > kExactFields && !has_file(host, "self/io"))
    refuse_range(probe, kExactFields, fields, Gap::Unsupported,
                 "the kernel has no CONFIG_TASK_IO_ACCOUNTING",
                 sdk::by_kernel("CONFIG_TASK_IO_ACCOUNTING=y"));
  probe_version(probe, layout, fields);
}

}  // namespace

sdk::Reading<bool> measures_interrupts(const sdk::Host& host) {
  if (has_file(host, "pressure/cpu")) return has_file(host, "pressure/irq");
  sdk::TextFile file;
  const auto btf = file.read_records(host.sys(), "kernel/btf/vmlinux");
  return btf ? sdk::Reading<bool>(btf.value.find(kIrqTimeMember) != btf.value.npos)
             : sdk::Reading<bool>(btf.gap);
}

void probe_host(const sdk::Host& host, const sdk::Probe& probe, std::size_t fields) {
  if (!host.live() || !host.own_tids())
    return probe.refuse_all(
        Gap::Unsupported,
        "taskstats come from the running kernel, by thread ids of our own PID namespace");
  Socket socket;
  if (const SocketError refused = socket.open(); refused.error != 0)
    return refuse_unopened(probe, refused);
  const auto tid = static_cast<std::uint64_t>(::gettid());
  const Answer answer = socket.request_threads({&tid, 1}).front();
  answer.error == 0 ? probe_fields(host, probe, fields, answer.stats)
                    : refuse_unanswered(probe, answer.error);
}

void probe_exit_messages(const sdk::Host& host, const sdk::Probe& probe, std::size_t fields) {
  probe_host(host, probe, fields);
  Socket socket;
  if (!host.live() || !host.own_tids() || socket.open().error != 0) return;
  const auto cpus = read_possible_cpus(host);
  if (!cpus) return probe.refuse_all(cpus.gap, "the list of possible CPUs cannot be read");
  if (const SocketError refused = socket.listen(cpus.value); refused.error == EINVAL)
    probe.refuse_all(
        Gap::Denied,
        "the kernel reports exited threads only in the initial user and PID namespaces");
  else if (refused.error != 0 && refused.error != EPERM)
    probe.refuse_all(gap_of_answer(refused.error), refused.message);
}

sdk::Reading<std::string> read_possible_cpus(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.sys(), "devices/system/cpu/possible");
  if (!text) return text.gap;
  return std::string(text.value.substr(0, text.value.find('\n')));
}

bool may_be_enabled_after_boot(const sdk::Host& host) {
  return read_switch(host, kDelayAccounting) == Switch::On &&
         is_known_absent_from_command_line(host, "delayacct");
}

}  // namespace ctprof::taskstats
