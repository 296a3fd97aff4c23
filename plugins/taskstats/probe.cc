#include "plugins/taskstats/probe.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"
#include "plugins/taskstats/columns.hpp"
#include "plugins/taskstats/gaps.hpp"
#include "plugins/taskstats/interrupts.hpp"
#include "plugins/taskstats/socket.hpp"

namespace ctprof::taskstats {
namespace {

// The kernel's switch for all delays but cpu; absent before Linux 5.14, where they are on.
sdk::Reading<bool> is_switched_on(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "sys/kernel/task_delayacct");
  return text ? sdk::Reading<bool>(sdk::trimmed(text.value) != "0") : sdk::Reading<bool>(text.gap);
}

bool is_on_command_line(const sdk::Host& host, std::string_view wanted) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "cmdline");
  std::string_view words = text ? sdk::trimmed(text.value) : std::string_view{};
  while (!words.empty())
    if (sdk::take(words, ' ') == wanted) return true;
  return false;
}

void refuse(const sdk::Probe& probe, Field field, Gap gap, std::string_view reason) {
  probe.refuse(static_cast<std::uint32_t>(index_of(field)), gap, reason);
}

void refuse_range(const sdk::Probe& probe, std::size_t first, std::size_t past, Gap gap, std::string_view reason) {
  for (std::size_t i = first; i < past; ++i) refuse(probe, static_cast<Field>(i), gap, reason);
}

void cannot_open(const sdk::Probe& probe, const Refused& refused) {
  if (refused.error == ENOENT) return probe.refuse_all(Gap::Unsupported, "the kernel has no CONFIG_TASKSTATS");
  probe.refuse_all(gap_of_answer(refused.error), refused.why);
}

void no_answer(const sdk::Probe& probe, int error) {
  if (error == EPERM)
    return probe.refuse_all(
        Gap::Denied,
        "the kernel gives taskstats only to CAP_NET_ADMIN in the host's own user namespace: run ctprof as the "
        "host's root, or give it that capability with setcap");
  probe.refuse_all(gap_of_answer(error), "asking for the taskstats of a thread: " + std::string(std::strerror(error)));
}

void probe_version(const sdk::Probe& probe, const Layout& layout) {
  const std::string here = "this kernel's taskstats are of version " + std::to_string(layout.version());
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    if (layout.offset(field) != Layout::kAbsent) continue;
    const std::uint16_t brought = since(field);
    refuse(probe, field, Gap::Unsupported,
           here + (layout.version() < brought ? "; the figure came with " + std::to_string(brought)
                                              : ", but too short for the figure"));
  }
}

// All that the kernel's delay accounting fills, the cpu's figures too.
void refuse_delays(const sdk::Probe& probe, Gap gap, std::string_view reason) {
  refuse_range(probe, 0, kPastKinds, gap, reason);
  for (const Field field : {Field::CpuRunVirtual, Field::RunDelay, Field::Pcount}) refuse(probe, field, gap, reason);
}

void probe_accounting(const sdk::Host& host, const sdk::Probe& probe, bool counts_cpu) {
  const auto switched_on = is_switched_on(host);
  if (!counts_cpu && is_on_command_line(host, "nodelayacct"))
    return refuse_delays(probe, Gap::SwitchedOff, "the kernel was started with nodelayacct; without it delays are accounted");
  if (!counts_cpu) return refuse_delays(probe, Gap::Unsupported, "the kernel has no CONFIG_TASK_DELAY_ACCT");
  if (switched_on && !switched_on.value)
    refuse_range(probe, kFirstOtherKind, kPastKinds, Gap::SwitchedOff,
                 "kernel.task_delayacct is 0; sysctl kernel.task_delayacct=1 switches it on, for threads started from then on");
}

void probe_interrupts(const sdk::Host& host, const sdk::Probe& probe) {
  const auto measured = measures_interrupts(host);
  if (measured && measured.value) return;
  refuse_range(
      probe, index_of(Field::IrqCount), kPastKinds, Gap::Unsupported,
      measured ? "the kernel has no CONFIG_IRQ_TIME_ACCOUNTING: it does not know how long interrupts take"
               : "neither /proc/pressure nor /sys/kernel/btf/vmlinux is there to tell whether the kernel measures interrupts");
}

void probe_fields(const sdk::Host& host, const sdk::Probe& probe, Bytes stats) {
  const Layout layout(version_of(stats), stats.size());
  const auto counts = [&](Field field) { return read_field(stats, layout, field).value > 0; };
  probe_accounting(host, probe, counts(Field::Pcount));  // not our run time: with a coarse clock a young thread has none yet
  probe_interrupts(host, probe);
  if (!counts(Field::HiwaterVm))
    refuse_range(probe, index_of(Field::HiwaterRss), index_of(Field::CpuRunVirtual), Gap::Unsupported,
                 "the kernel has no CONFIG_TASK_XACCT");
  probe_version(probe, layout);
}

}  // namespace

void probe_host(const sdk::Host& host, const sdk::Probe& probe) {
  if (!host.live() || !host.own_tids())
    return probe.refuse_all(Gap::Unsupported, "taskstats come from the running kernel, by thread ids of our own PID namespace");
  Socket socket;
  if (const Refused refused = socket.open(); refused.error != 0) return cannot_open(probe, refused);
  const auto tid = static_cast<std::uint64_t>(::gettid());
  const Answer answer = socket.ask({&tid, 1}).front();
  answer.error == 0 ? probe_fields(host, probe, answer.stats) : no_answer(probe, answer.error);
}

bool was_switched_on_later(const sdk::Host& host) {
  const auto switched_on = is_switched_on(host);
  return switched_on && switched_on.value && !is_on_command_line(host, "delayacct");
}

}  // namespace ctprof::taskstats
