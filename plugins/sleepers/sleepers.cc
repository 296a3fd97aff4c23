// sleepers: samples where threads wait: the stack of each sleeping thread, some times per second.
//
// Sources: a BPF program (iter/task) that the kernel runs for each thread, for the kernel part of
// the stack and the registers; process_vm_readv(2) for a copy of the user stack's top, which ctprof
// unwinds. Needs CAP_BPF with CAP_PERFMON, and BTF; for other users' processes CAP_SYS_PTRACE.
// Without BPF, /proc/PID/task/TID/stack, for only the kernel part.
//
// The cost grows with the threads of the host, not with their switches. A thread that has not run
// since the previous pass is only counted.
//
// Contents: the recorder, its defaults, the plugin's table.
// See also: bpf_sampler.hpp and proc_sampler.hpp for a pass, pass_thread.hpp for the schedule of
// passes, tally.hpp for the conversion to records, probe.hpp for the probe.

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "ctprof/plugin.hpp"
#include "plugins/shared/elevated_user.hpp"
#include "plugins/shared/hidden_threads.hpp"
#include "plugins/shared/kernel.hpp"
#include "plugins/sleepers/pass_thread.hpp"
#include "plugins/sleepers/probe.hpp"
#include "plugins/sleepers/proc_sampler.hpp"
#include "plugins/sleepers/tally.hpp"

namespace ctprof::sleepers {
namespace {

// Not a multiple of common periods.
constexpr std::uint32_t kDefaultPassesPerSecond = 9;

inline constexpr sdk::Metric<sdk::StackCount, sdk::StackSum> kSleepingStacks{
    {.name = "sleeping_stacks",
     .section = "stacks",
     .source = "a BPF iterator over tasks, process_vm_readv(2); else /proc/<pid>/task/<tid>/stack",
     .description = "Number of samples in which threads were asleep, by call stack.",
     .role = "waiting-stacks"}};

inline constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kSleepingSamples{
    {.name = "sleeping_samples",
     .section = "stacks",
     .source = "a BPF iterator over tasks; else /proc/<pid>/task/<tid>/stat",
     .description = "Number of samples in which the thread was asleep.",
     .file_path = "none"}};  // rows files contain no windows

PassSchedule make_schedule(const sdk::Window& window) {
  const std::uint32_t passes =
      window.passes_hz() > 0 ? window.passes_hz() : kDefaultPassesPerSecond;
  return {.period_ns = kNsPerSecond / passes,
          .budget_ppm = window.budget_ppm(),
          .cpus = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))),
          .is_single_pass = window.once()};
}

class Sleepers : public sdk::RecordSource {
 public:
  static constexpr auto kOffers = sdk::offers(kSleepingStacks, kSleepingSamples);

  explicit Sleepers(const sdk::Host& host) : host_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }

  void start(const sdk::Window& window) {
    pids_.assign(window.pids().begin(), window.pids().end());
    max_copied_bytes_ = window.stack_bytes();
    has_budget_ = window.budget_ppm() > 0;
    inherits_ = window.inherits() && !window.pids().empty();
    tally_ = std::make_unique<Tally>(RecordFormat{
        .depth = window.depth(),
        .uses_frame_pointers = window.user_kind() == CTPROF_USER_ADDRESSES,
        .max_kernel_frames = std::min<std::uint32_t>(SAMPLE_MAX_FRAMES, max_stack_depth(host_)),
        .parents = inherits_ ? pids_ : std::vector<std::uint64_t>{}});
    watch_ = std::make_unique<PassThread>([this] { return make_sampler(); }, make_schedule(window));
    watch_->begin();
  }

  void drain(const sdk::Records& records) {
    if (is_stopped_ && window_ == next_window_)
      return;  // a pass after the end belongs to no window
    std::unique_ptr<Pass> pass =
        next_window_pass_ ? std::move(next_window_pass_) : watch_->next_pass();
    for (; pass && pass->window <= window_; pass = watch_->next_pass())
      hand_over_pass(std::move(pass), records);
    next_window_pass_ = std::move(pass);  // belongs to the next window
    if (window_ == next_window_) return;
    report_hidden_threads(records);
    hidden_stack_count_ = tally_->hidden_stack_count();
    tally_->end_window(records);
    window_ = next_window_;
    report_remarks(watch_->take_counts(), records);
  }

  void window_ends() { next_window_ = watch_->end_window(); }

  void stop() {
    watch_->stop();
    is_stopped_ = true;
  }

 private:
  std::unique_ptr<Sampler> make_sampler();
  void hand_over_pass(std::unique_ptr<Pass> pass, const sdk::Records& records);
  void report_hidden_threads(const sdk::Records& records);
  void report_remarks(const PassThread::PassCounts& account, const sdk::Records& records) const;

  sdk::Host host_;
  std::vector<std::uint64_t> pids_;
  bool inherits_ = false;  // whether to include processes that these fork
  std::size_t max_copied_bytes_ = 0;
  bool has_budget_ = false;
  std::unique_ptr<Tally> tally_;
  std::unique_ptr<PassThread> watch_;
  std::uint32_t window_ = 0, next_window_ = 0;
  bool is_stopped_ = false;
  std::unique_ptr<Pass> next_window_pass_;
  std::vector<std::uint32_t> visited_tgids_;  // visited processes in the window's last pass
  std::uint64_t last_pass_ns_ = 0;            // time of that pass
  // Numbers of threads in the last window: hidden from BPF programs; with stacks that may not be
  // read.
  std::uint64_t hidden_thread_count_ = 0, hidden_stack_count_ = 0;
  std::string no_bpf_reason_;  // the reason why BPF is not used; empty: it is used
};

std::unique_ptr<Sampler> Sleepers::make_sampler() {
  BpfRefusal why;
  if (auto program = load_program(host_, why)) {
    program->select_processes(pids_, inherits_);
    return std::make_unique<BpfSampler>(std::move(program), ns_per_tick(host_.user_hz()),
                                        max_copied_bytes_, std::set<std::uint32_t>{});
  }
  if (const auto refused = explain_proc_refusal(host_, find_elevated_user().has_value()))
    throw std::runtime_error(why.reason + "; " + refused->reason);
  no_bpf_reason_ = why.reason;
  return std::make_unique<ProcSampler>(host_, pids_);
}

// "process 7" or "processes 7, 8, 9 and 2 others"
std::string list_processes(const std::set<std::uint32_t>& processes) {
  constexpr std::size_t kMaxShown = 5;
  std::string text = processes.size() > 1 ? "processes" : "process";
  std::size_t shown = 0;
  for (const std::uint32_t process : processes) {
    if (shown == kMaxShown) break;
    text += (shown++ > 0 ? ", " : " ") + std::to_string(process);
  }
  const std::size_t other_count = processes.size() - shown;
  if (other_count > 0)
    text += " and " + std::to_string(other_count) + (other_count == 1 ? " other" : " others");
  return text;
}

// Hands over a pass. A pass that belongs to an earlier window is only counted.
void Sleepers::hand_over_pass(std::unique_ptr<Pass> pass, const sdk::Records& records) {
  const std::uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  records.count_cpu_ns(pass->cpu_ns);
  if (pass->window == window_) {
    tally_->add_pass(*pass, records);
    std::swap(visited_tgids_, pass->visited_tgids);
    last_pass_ns_ = pass->at_ns;
  } else {
    records.count_unseen(pass->unsampled + pass->sleepers());
  }
  watch_->return_pass(std::move(pass), clock_ns(CLOCK_THREAD_CPUTIME_ID) - before);
}

// Reports hidden threads: whether they slept is unknown, although they existed all the time.
void Sleepers::report_hidden_threads(const sdk::Records& records) {
  hidden_thread_count_ = 0;
  if (visited_tgids_.empty()) return;
  std::ranges::sort(visited_tgids_);
  for (const HiddenThread& thread :
       HiddenThreads(host_, last_pass_ns_).find(visited_tgids_, pids_)) {
    ++hidden_thread_count_;
    for (const std::uint32_t offer : {kStacksOffer, kSamplesOffer})
      records.put_unseen(thread.tgid, thread.tid, thread.start_ticks, offer);
  }
  visited_tgids_.clear();
}

void Sleepers::report_remarks(const PassThread::PassCounts& account,
                              const sdk::Records& records) const {
  records.count_unseen(account.unsampled);
  std::string remark;
  const auto add = [&](const std::string& sentence) {
    remark += (remark.empty() ? "sleepers: " : "; ") + sentence;
  };
  if (!no_bpf_reason_.empty() && inherits_)
    add("processes that were forked since recording began are omitted: without BPF forks are not "
        "observed");
  if (!no_bpf_reason_.empty())
    add("stacks have only their kernel part, from /proc: " + no_bpf_reason_);
  if (hidden_stack_count_ > 0)
    add("stacks of " + std::to_string(hidden_stack_count_) +
        " sleeping threads are hidden from ctprof" +
        (find_elevated_user()
             ? ": its capabilities are only for reading metrics, and its user may not see "
               "these stacks"
         : has_capabilities({CAP_SYS_PTRACE}, true)
             ? " despite CAP_SYS_PTRACE (a security module or the kernel's policy)"
             : "; stacks of other users' threads require CAP_SYS_PTRACE"));
  if (account.omitted > 0)
    add(std::to_string(account.omitted) + " of " +
        std::to_string(account.completed + account.omitted) + " passes over all threads were " +
        (has_budget_ ? "skipped to stay within the budget" : "not made in time"));
  if (!watch_->avoided_processes().empty())
    add("a read of the memory of " + list_processes(watch_->avoided_processes()) +
        " blocked: its later stacks have no user part");
  if (hidden_thread_count_ > 0)
    add("this kernel hides " + std::to_string(hidden_thread_count_) +
        " threads from BPF programs: whether they sleep is unknown");
  if (!remark.empty()) records.remark(remark);
}

constexpr sdk::Extra kExtra{.flags = CTPROF_PLUGIN_RECORDER};

}  // namespace
}  // namespace ctprof::sleepers

CTPROF_PLUGIN_WITH("sleepers", "1.0",
                   "Call stacks of sleeping threads, sampled several times per second.",
                   ctprof::sleepers::kExtra, ctprof::sleepers::Sleepers)
