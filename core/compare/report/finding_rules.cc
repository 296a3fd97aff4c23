// The rules for findings, with their thresholds as text.

#include <array>

#include "core/compare/report/findings.hpp"

namespace ctprof {
namespace {

constexpr std::array kFindingRules{
    FindingRule{
        "wait",
        "waits for a CPU for 20 % of one CPU, and for 25 % of the time that it runs or waits; not "
        "if a cgroup of the rule `throttled` explains half of it"},
    FindingRule{"blocked", "is blocked on a disk, memory or in the kernel for 5 % of the time"},
    FindingRule{"io", "moves bytes that kept the host's disks busy for 10 % of the time"},
    FindingRule{"memory",
                "existed before, and grew by 64 MiB and by 0.5 % of the host's memory; processes "
                "that started or exited meanwhile do not count, nor do processes that are younger "
                "than a minute and busy for 80 % of the time"},
    FindingRule{
        "threads",
        "has 20 threads and 50 % more than before, and fewer than half of the new ones exited"},
    FindingRule{"starts",
                "starts 20 short-lived threads or processes per second, and runs for 5 % of a CPU"},
    FindingRule{"cpu", "runs for 20 % of a CPU more, and 1.5 times as long (only in a comparison)"},
    FindingRule{"throttled", "is a cgroup that its CPU quota throttled for 5 % of the time"},
    FindingRule{"pressure",
                "is the host, and threads wait for memory or a disk for 10 % of the time"},
    FindingRule{"setting",
                "has figures that differ by 2 % of the machine, and a setting that differs between "
                "the windows"},
    FindingRule{"lock",
                "has two threads of one process that each wait 200 times per second, for 5 ms on "
                "average, and together for 20 % of a CPU for a lock, according to their stacks; "
                "longer or rarer waits count if their stacks have a function that locks; waits for "
                "time, input or a condition do not count; the finding adds how long these threads "
                "were blocked in fsync and similar calls, if that is 5 % of the time"},
    FindingRule{"short-waits",
                "has two threads of one process that each wait 200 times per second, for 5 ms on "
                "average, together 1,000 times per second and for 20 % of a CPU, if the recording "
                "has no stacks that show the cause; in a comparison also one thread that waits "
                "5,000 times per second"},
    FindingRule{"one-of-many",
                "has 4 similar threads in one process, and one of them runs or waits for a CPU "
                "three times as long as their median, and for 20 % of a CPU longer; the median is "
                "at least 1 % of a CPU, or was in the first window of a comparison"},
    FindingRule{"yields", "is switched off a CPU 10,000 times per second while it could run"},
    FindingRule{"minor-faults",
                "takes 100,000 page faults per second that read nothing from a disk, and does not "
                "grow"},
    FindingRule{
        "idle",
        "ran for 20 % of a CPU, and still exists but runs for a twentieth of that or less and "
        "does not wait for a CPU (only in a comparison)"},
    FindingRule{"zombies",
                "has 10 zombies: processes that exited and whose parent did not wait for them"},
    FindingRule{"stuck",
                "has 1 thread that was in state D at both ends of the window, and did not run"},
    FindingRule{"major-faults", "reads pages from a disk or swap 100 times per second"},
    FindingRule{"oom", "is a cgroup in which the kernel killed 1 process for lack of memory"},
    FindingRule{"interrupts", "is the host, and interrupts and softirqs take 20 % of a CPU"},
    FindingRule{"own-cost", "is ctprof itself, and runs for 10 % of a CPU"},
    FindingRule{"names",
                "runs for 10 % of a CPU, and 30 % of that in an interpreter or in compiled code "
                "whose functions have no names; the finding names the option of the program that "
                "provides them"},
};

}  // namespace

std::span<const FindingRule> finding_rules() { return kFindingRules; }

}  // namespace ctprof
