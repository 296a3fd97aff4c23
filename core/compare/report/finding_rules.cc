// The rules for findings, with their thresholds as text.

#include <array>

#include "core/compare/report/findings.hpp"

namespace ctprof {
namespace {

constexpr std::array kFindingRules{
    FindingRule{
        "wait",
        "waits for a CPU for 20 % of one CPU, and for 25 % of the time that it runs or waits"},
    FindingRule{"blocked", "is blocked on a disk, memory or in the kernel for 5 % of the time"},
    FindingRule{"io", "moves bytes that kept the host's disks busy for 10 % of the time"},
    FindingRule{
        "memory",
        "existed before, and grew by 64 MiB and by 0.5 % of the host's memory; of processes that "
        "started or exited meanwhile, or that are younger than a minute and busy for 80 % of "
        "the time, this does not count"},
    FindingRule{
        "threads",
        "has 20 threads and 50 % more than before, and fewer than half of the new ones exited"},
    FindingRule{"starts",
                "starts 20 threads or processes per second that exit, and runs for 5 % of a CPU"},
    FindingRule{"cpu", "between windows: runs for 20 % of a CPU more, and 1.5 times as long"},
    FindingRule{"throttled", "a cgroup whose CPU quota stopped it for 5 % of the time"},
    FindingRule{"pressure", "of the host: threads wait for memory or a disk for 10 % of the time"},
    FindingRule{"setting",
                "a setting that differs between windows, of a group whose figures differ by 2 % of "
                "the machine"},
    FindingRule{"lock",
                "two threads of one process wait 200 times per second each, for 5 ms in the mean, "
                "and together for 20 % of a CPU"},
    FindingRule{"one-of-many",
                "of 4 similar threads of a process, one runs or waits for a CPU three times as "
                "long as their median, which runs for 1 % of a CPU, and for 20 % of a CPU longer"},
    FindingRule{"zombies", "10 of its processes exited, and their parent did not wait for them"},
    FindingRule{"stuck", "1 thread was in state D at both ends of the window, and did not run"},
    FindingRule{"major-faults", "reads pages from a disk or swap 100 times per second"},
    FindingRule{"oom", "a cgroup of which the kernel killed 1 process for lack of memory"},
    FindingRule{"interrupts", "of the host: interrupts and softirqs take 20 % of a CPU"},
    FindingRule{"own-cost", "ctprof itself runs for 10 % of a CPU"},
    FindingRule{"names",
                "runs for 10 % of a CPU, and 30 % of that in an interpreter or in compiled code "
                "whose functions have no names; the finding names the option of the program that "
                "provides them"},
};

}  // namespace

std::span<const FindingRule> finding_rules() { return kFindingRules; }

}  // namespace ctprof
