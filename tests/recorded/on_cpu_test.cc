// Tests the values of on-cpu, for exact results: recorded rings of all CPUs are replayed through
// the plugin, and counted a second time only from the raw records.

#define BOOST_TEST_MODULE recorded_on_cpu
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "plugins/on-cpu/record_writer.hpp"
#include "plugins/on-cpu/sampler.hpp"
#include "tests/recorded/on_cpu_expected.hpp"
#include "tests/recorded/on_cpu_replay.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
using namespace ctprof::recorded::on_cpu_trace;
namespace data = boost::unit_test::data;

namespace {

// "copies_without_rdi" was recorded by an event that did not request rdi.
const std::vector<std::string> kTraces{"copies", "copies_without_rdi", "chains", "lost"};

struct Replay {
  explicit Replay(const std::string& name)
      : trace(Trace::load(std::string(std::getenv("TRACES")) + "/on_cpu_" + name + ".trace.zst")),
        expected(compute_recording(trace)),
        period_ns(1'000'000'000 / trace.number("frequency_hz")) {
    replay_on_cpu(trace, received);
    for (const ReceivedRecord& record : received.records)
      (record.record.offer == on_cpu::kStacksOffer ? stacks : counts).push_back(&record);
  }

  Trace trace;
  ExpectedRecording expected;
  std::uint64_t period_ns;
  ReceivedData received;
  std::vector<const ReceivedRecord*> stacks, counts;
};

// Time and thread, which are unique for each sample.
using Key = std::pair<std::uint64_t, std::uint64_t>;

void check_sample(const Replay& replay, const ExpectedSample& sample,
                  const ReceivedRecord& received_record) {
  BOOST_TEST(received_record.record.tgid == sample.tgid);
  BOOST_TEST(received_record.record.weight == replay.period_ns);
  BOOST_TEST(received_record.kernel == sample.kernel, boost::test_tools::per_element());
  BOOST_TEST(received_record.user == sample.user, boost::test_tools::per_element());
  BOOST_TEST(received_record.record.ip == sample.ip);
  BOOST_TEST(received_record.record.sp == sample.sp);
  BOOST_TEST(received_record.record.bp == sample.bp);
  BOOST_TEST(received_record.record.lr == sample.rdi);
  BOOST_TEST(received_record.stack.size() == sample.stack_bytes);
  for (const std::uint8_t byte : received_record.stack)
    if (byte != pattern_of(sample.tid)) BOOST_FAIL("memory of another thread");
}

std::uint64_t total_of(const std::map<std::uint64_t, std::uint64_t>& by_process) {
  return std::accumulate(
      by_process.begin(), by_process.end(), std::uint64_t{0},
      [](std::uint64_t total, const auto& entry) { return total + entry.second; });
}

}  // namespace

BOOST_DATA_TEST_CASE(reports_each_sample_once_with_its_stack, data::make(kTraces), name) {
  const Replay replay(name);
  std::map<Key, const ReceivedRecord*> by_key;
  for (const ReceivedRecord* got : replay.stacks)
    BOOST_TEST(by_key.emplace(Key(got->record.at_ns, got->record.tid), got).second);
  BOOST_TEST(by_key.size() == replay.expected.samples.size());
  for (const ExpectedSample& sample : replay.expected.samples) {
    const auto got = by_key.find({sample.at_ns + replay.expected.to_boottime_ns, sample.tid});
    BOOST_TEST_REQUIRE((got != by_key.end()));
    check_sample(replay, sample, *got->second);
  }
  BOOST_TEST(replay.expected.samples.size() > 100u);
}

// vfork(2) keeps its return address there.
BOOST_AUTO_TEST_CASE(reports_rdi_of_copied_samples) {
  const Replay replay("copies");
  BOOST_TEST(std::ranges::any_of(replay.stacks, [](const ReceivedRecord* got) {
    return got->record.user_kind == CTPROF_USER_COPY && got->record.lr != 0;
  }));
}

BOOST_DATA_TEST_CASE(a_thread_has_one_period_of_weight_per_sample, data::make(kTraces), name) {
  const Replay replay(name);
  std::map<std::uint64_t, std::uint64_t> samples, weights, counts;
  for (const ExpectedSample& sample : replay.expected.samples) ++samples[sample.tid];
  for (const ReceivedRecord* got : replay.stacks) weights[got->record.tid] += got->record.weight;
  for (const ReceivedRecord* got : replay.counts) counts[got->record.tid] += got->record.weight;
  BOOST_TEST((counts == samples));
  for (auto& [tid, number] : samples) number *= replay.period_ns;
  BOOST_TEST((weights == samples));
}

BOOST_DATA_TEST_CASE(a_stack_has_one_period_of_weight_per_sample, data::make(kTraces), name) {
  using Stack = std::tuple<std::uint64_t, std::vector<std::uint64_t>, std::vector<std::uint64_t>,
                           std::uint64_t>;
  const Replay replay(name);
  std::map<Stack, std::uint64_t> expected, got;
  for (const ExpectedSample& sample : replay.expected.samples)
    expected[{sample.tid, sample.kernel, sample.user, sample.ip}] += replay.period_ns;
  for (const ReceivedRecord* is : replay.stacks)
    got[{is->record.tid, is->kernel, is->user, is->record.ip}] += is->record.weight;
  BOOST_TEST((got == expected));
}

// The records of two rings, each in its own order, are read in parts.
BOOST_DATA_TEST_CASE(merges_records_of_all_rings_by_time, data::make(kTraces), name) {
  const Replay replay(name);
  BOOST_TEST(replay.expected.cpus.size() > 1u);
  BOOST_TEST(std::ranges::is_sorted(replay.received.times));
}

BOOST_DATA_TEST_CASE(counts_and_locates_lost_records, data::make(kTraces), name) {
  const Replay replay(name);
  std::uint64_t lost = 0, losses = 0, unreported = 0;
  std::set<std::uint64_t> ends;
  for (const auto& [number, cpu] : replay.expected.cpus) {
    lost += std::max(cpu.lost, cpu.kernel_lost);
    unreported += cpu.kernel_lost > cpu.lost;
  }
  for (const ctprof_loss& loss : replay.received.losses) {
    BOOST_TEST(loss.kind == static_cast<ctprof_loss_kind>(CTPROF_LOSS_FULL));
    losses += loss.count;
    ends.insert(loss.until_ns);
    BOOST_TEST(loss.from_ns <= loss.until_ns);
  }
  BOOST_TEST(replay.received.lost() == lost);
  BOOST_TEST(losses == lost);
  BOOST_TEST(replay.received.losses.size() == replay.expected.losses.size() + unreported);
  for (const std::uint64_t at_ns : replay.expected.losses)
    BOOST_TEST(ends.contains(at_ns + replay.expected.to_boottime_ns));
  BOOST_TEST((lost > 0) == (name == "lost"));
}

// The clock ticks once per period while a CPU is not idle. Samples, lost samples and missed samples
// together are all of its ticks, except for two ticks and the rounding of idle time to hundredths
// of a second.
std::uint64_t missed_ticks(const ExpectedRecording& expected, std::uint64_t period_ns) {
  constexpr std::uint64_t kUnevenTicks = 2, kUnevenNs = 20'000'000;
  std::uint64_t missed = expected.unknown_thread_samples;
  for (const auto& [number, cpu] : expected.cpus) {
    const std::uint64_t idle = cpu.idle_until_ns - cpu.idle_from_ns + kUnevenNs;
    const std::uint64_t busy = cpu.enabled_ns - std::min(cpu.enabled_ns, idle);
    const std::uint64_t known = cpu.samples + std::max(cpu.lost, cpu.kernel_lost) + kUnevenTicks;
    missed += std::max(busy / period_ns, known) - known;
  }
  return missed;
}

BOOST_DATA_TEST_CASE(accounts_for_each_tick_of_a_busy_cpu, data::make(kTraces), name) {
  const Replay replay(name);
  BOOST_TEST_REQUIRE(replay.trace.number("by_cycles") == 0u);
  BOOST_TEST(replay.received.unseen() == missed_ticks(replay.expected, replay.period_ns));
}

// For example, the hypervisor takes the CPU, or interrupts are disabled.
BOOST_DATA_TEST_CASE(counts_missed_samples, data::make({"copies", "chains"}), name) {
  const Replay whole(name);
  TraceWriter writer;
  std::size_t samples = 0;
  for (const char* fact : {"frequency_hz", "depth", "stack_bytes", "by_cycles", "defers",
                           "counts_lost", "ring_bytes", "layout:perf_records"})
    writer.add_fact(fact, whole.trace.fact(fact));
  for (const Frame& frame : whole.trace.frames())
    if (frame.kind != kRecord || on_cpu::read_header(frame.bytes).type != PERF_RECORD_SAMPLE ||
        ++samples % 2 != 0)
      writer.put_frame(frame);
  const Trace halved = Trace::parse(writer.bytes());
  ReceivedData received;
  replay_on_cpu(halved, received);
  const std::uint64_t missed = missed_ticks(compute_recording(halved), whole.period_ns);
  BOOST_TEST(received.unseen() == missed);
  BOOST_TEST(missed > 10u);
}

BOOST_DATA_TEST_CASE(reports_changes_of_processes, data::make(kTraces), name) {
  const Replay replay(name);
  std::map<ctprof_change_kind, std::map<std::uint64_t, std::uint64_t>> got;
  for (const ctprof_change& change : replay.received.changes) ++got[change.kind][change.tgid];
  const auto check = [&](ctprof_change_kind kind, const auto& expected) {
    for (const auto& [tgid, number] : expected) BOOST_TEST(got[kind][tgid] == number);
    BOOST_TEST(total_of(got[kind]) == total_of(expected));
  };
  check(CTPROF_CHANGE_MAPPED, replay.expected.mapped);
  check(CTPROF_CHANGE_EXECED, replay.expected.execed);
  check(CTPROF_CHANGE_FORKED, replay.expected.forked);
  check(CTPROF_CHANGE_ENDED, replay.expected.ended);
  const std::uint64_t pid = replay.trace.number("pid");
  if (name == "lost") return;
  BOOST_TEST(got[CTPROF_CHANGE_ENDED][pid] == 1u);
  BOOST_TEST(got[CTPROF_CHANGE_EXECED][pid] == 1u);
  BOOST_TEST(std::ranges::count(replay.received.paths, "/libshares.so") > 1);
}

// After a loss, the mappings of each process with a user stack must be read again, once.
BOOST_AUTO_TEST_CASE(requires_reading_mappings_again_after_a_loss) {
  const Replay replay("lost");
  // The last loss after which a process was read again.
  std::map<std::uint64_t, std::uint64_t> last_loss_ns;
  std::uint64_t expected = 0;
  std::vector<std::uint64_t> losses = replay.expected.losses;
  std::ranges::sort(losses);
  for (const ReceivedRecord* got : replay.stacks) {
    if (got->record.user_kind != CTPROF_USER_COPY) continue;
    const std::uint64_t at_ns = got->record.at_ns - replay.expected.to_boottime_ns;
    const auto number =
        static_cast<std::uint64_t>(std::ranges::upper_bound(losses, at_ns) - losses.begin());
    std::uint64_t& since = last_loss_ns[got->record.tgid];
    expected += number > since;
    since = std::max(since, number);
  }
  const auto remapped =
      std::ranges::count(replay.received.changes, CTPROF_CHANGE_REMAPPED, &ctprof_change::kind);
  BOOST_TEST(static_cast<std::uint64_t>(remapped) == expected);
  BOOST_TEST(expected > 1u);
}
