// Tests samples whose user stack comes later, on any CPU: the user stacks of a recorded trace are
// removed from its samples and added as separate records, in the format of Linux 7.3.
//
// Each sample occurs three times, a nanosecond apart, because one user stack completes all samples
// of a thread since it entered the kernel. The user stack follows before the thread's next sample,
// on the other CPU. For some threads it never comes, except for two samples: for the first, it
// comes just before the samples lose their slots, for the second just after. Cookies count per
// thread.

#define BOOST_TEST_MODULE recorded_on_cpu_deferred
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>

#include "plugins/on-cpu/record_writer.hpp"
#include "tests/recorded/on_cpu_replay.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
using namespace ctprof::recorded::on_cpu_trace;

namespace {

constexpr std::uint64_t kCopies = 3;
constexpr std::size_t kMaxWaiting = 1024;
using ModuleWords = std::vector<std::uint64_t>;

struct Record {
  std::uint64_t time_ns = 0, cpu = 0, tid = 0, number = 0;
  bool is_sample = false;
  ModuleWords words{};  // in ring format
  ModuleWords user{};   // of a user stack
};

std::uint64_t thread_word(std::uint64_t tgid, std::uint64_t tid) { return tid << 32 | tgid; }

ModuleWords finish_record(std::uint64_t type, std::uint64_t misc, ModuleWords words) {
  words[0] = type | misc << 32 | words.size() * sizeof words[0] << 48;
  return words;
}

// Returns the records that replace one recorded sample, or none if it has no user stack.
std::vector<Record> derive_records(const on_cpu::Sample& sample, std::uint64_t time_ns,
                                   std::uint64_t cpu, std::uint64_t number) {
  std::vector<Record> made;
  if (sample.tgid == 0 || sample.user.empty()) return made;
  for (std::uint64_t copy = 0; copy < kCopies; ++copy) {
    ModuleWords words{0, thread_word(sample.tgid, sample.tid), time_ns + copy, 0,
                      static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL)};
    words.insert(words.end(), sample.kernel.begin(), sample.kernel.end());
    words.insert(words.end(), {on_cpu::kContextUserDeferred, number});
    words[3] = words.size() - 4;
    made.push_back({time_ns + copy, cpu, sample.tid, number, true,
                    finish_record(PERF_RECORD_SAMPLE, 0, std::move(words))});
  }
  return made;
}

Record make_deferred_stack(const on_cpu::Sample& sample, std::uint64_t time_ns, std::uint64_t cpu,
                           std::uint64_t number) {
  ModuleWords user(sample.user.begin(), sample.user.end());
  ModuleWords words{0, number, user.size()};
  words.insert(words.end(), user.begin(), user.end());
  words.insert(words.end(), {thread_word(sample.tgid, sample.tid), time_ns});
  return {time_ns,
          cpu,
          sample.tid,
          number,
          false,
          finish_record(on_cpu::kRecordDeferred, PERF_RECORD_MISC_USER, std::move(words)),
          std::move(user)};
}

bool has_no_user_stack(std::uint64_t tid) { return tid % 4 == 0; }

// Returns all records of the derived trace, ordered by time.
std::vector<Record> derived_records(const Trace& trace) {
  std::vector<Record> made;
  std::map<std::uint64_t, std::pair<on_cpu::Sample, std::uint64_t>> open;  // by tid, with cookie
  std::vector<std::pair<std::uint64_t, Bytes>> samples;                    // CPU, record
  std::map<std::uint64_t, std::uint64_t> numbers;                          // by tid
  std::uint64_t cpu = 0;
  for (const Frame& frame : trace.frames()) {
    if (frame.kind == kRingRead) cpu = frame.as<CpuValue>().cpu;
    if (frame.kind == kRecord && on_cpu::read_header(frame.bytes).type == PERF_RECORD_SAMPLE)
      samples.emplace_back(cpu, frame.bytes);
  }
  const auto time = [](const auto& sample) { return on_cpu::read_time(sample.second); };
  std::ranges::stable_sort(samples, {}, time);
  for (const auto& [of_cpu, record] : samples) {
    const auto sample = on_cpu::parse_sample(record, false);
    const std::uint64_t time_ns = on_cpu::read_time(record);
    const std::uint64_t number = ++numbers[sample->tid];
    std::vector<Record> copies = derive_records(*sample, time_ns, of_cpu, number);
    if (copies.empty()) continue;
    if (const auto before = open.find(sample->tid);
        before != open.end() && !has_no_user_stack(sample->tid))
      made.push_back(make_deferred_stack(before->second.first, time_ns - 1, 1 - of_cpu,
                                         before->second.second));
    open[sample->tid] = {*sample, number};
    made.insert(made.end(), copies.begin(), copies.end());
  }
  std::ranges::stable_sort(made, {}, &Record::time_ns);
  return made;
}

// Completes all copies of a sample, the first of which is `first`, directly after the record
// `previous`.
void complete_after(std::vector<Record>& records, const Record& first, const Record& previous) {
  on_cpu::Sample sample;
  sample.tgid = static_cast<std::uint32_t>(first.words[1]);
  sample.tid = static_cast<std::uint32_t>(first.tid);
  const ModuleWords user{0x4000, first.number};
  sample.user = user;
  const Record made = make_deferred_stack(sample, previous.time_ns, previous.cpu, first.number);
  const auto at = std::ranges::find_if(records, [&](const Record& record) {
    return record.is_sample && record.time_ns == previous.time_ns && record.tid == previous.tid;
  });
  records.insert(at + 1, made);
}

// Completes one sample that is followed by exactly as many samples as there are slots, and one that
// is followed by one more.
void complete_at_last_slot(std::vector<Record>& records) {
  std::vector<Record> samples;
  std::ranges::copy_if(records, std::back_inserter(samples), &Record::is_sample);
  std::size_t first = 0;
  while (!has_no_user_stack(samples[first].tid)) ++first;
  std::size_t second = first + kCopies;
  while (!has_no_user_stack(samples[second].tid)) ++second;
  complete_after(records, samples[first], samples[first + kMaxWaiting - 1]);
  complete_after(records, samples[second], samples[second + kCopies - 1 + kMaxWaiting]);
}

// Each record is in the first read of its ring after it was written.
Trace derived_trace(const Trace& trace, const std::vector<Record>& records) {
  TraceWriter writer;
  on_cpu::Sampling sampling = sampling_of(trace);
  sampling.defers_user_chains = true;
  add_sampling_facts(sampling, writer);
  writer.add_fact("ring_bytes", trace.fact("ring_bytes"));
  std::map<std::uint64_t, std::size_t> next;  // by CPU
  for (const Frame& frame : trace.frames()) {
    if (frame.kind == kRecord) continue;
    writer.put_frame(frame);
    if (frame.kind != kRingRead) continue;
    const std::uint64_t cpu = frame.as<CpuValue>().cpu;
    std::size_t& at = next[cpu];
    for (; at < records.size() && records[at].time_ns < frame.clock_ns; ++at)
      if (records[at].cpu == cpu)
        writer.put_frame({kRecord, frame.clock_ns, std::as_bytes(std::span(records[at].words))});
  }
  return Trace::parse(writer.bytes());
}

struct Expected {
  std::map<std::pair<std::uint64_t, std::uint64_t>, ModuleWords> user;  // by time and thread
  std::size_t completed = 0, displaced = 0, missing = 0;
};

// Each sample takes the oldest slot. The sample that had it is reported without a user stack.
Expected expected_user_parts(const std::vector<Record>& records) {
  Expected expected;
  std::vector<const Record*> waiting;  // ordered by time; null: completed
  for (const Record& record : records) {
    if (record.is_sample) {
      if (waiting.size() >= kMaxWaiting)
        expected.displaced += waiting[waiting.size() - kMaxWaiting] != nullptr;
      waiting.push_back(&record);
      expected.user[{record.time_ns, record.tid}] = {};
      continue;
    }
    // Earlier samples lost their slots.
    const std::size_t first = waiting.size() - std::min(waiting.size(), kMaxWaiting);
    for (std::size_t i = first; i < waiting.size(); ++i) {
      if (waiting[i] == nullptr || waiting[i]->tid != record.tid ||
          waiting[i]->number != record.number)
        continue;
      expected.user[{waiting[i]->time_ns, record.tid}] = record.user;
      waiting[i] = nullptr;
      ++expected.completed;
    }
  }
  expected.missing = expected.user.size() - expected.completed - expected.displaced;
  return expected;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_deferred_user_stack_completes_the_waiting_samples) {
  const Trace trace = Trace::load(std::string(std::getenv("TRACES")) + "/on_cpu_chains.trace.zst");
  std::vector<Record> records = derived_records(trace);
  complete_at_last_slot(records);
  const Expected expected = expected_user_parts(records);
  BOOST_TEST(expected.completed > 100u);
  BOOST_TEST(expected.displaced > 10u);
  BOOST_TEST(expected.missing > 10u);

  ReceivedData received;
  const Trace derived = derived_trace(trace, records);
  replay_on_cpu(derived, received);
  std::map<std::pair<std::uint64_t, std::uint64_t>, const ReceivedRecord*> received_sample;
  std::uint64_t to_boottime = 0;
  for (const ReceivedRecord& record : received.records) {
    if (record.record.offer != on_cpu::kStacksOffer) continue;
    BOOST_TEST(
        received_sample.emplace(std::pair(record.record.at_ns, record.record.tid), &record).second);
    if (to_boottime == 0 || record.record.at_ns - expected.user.begin()->first.first < to_boottime)
      to_boottime = record.record.at_ns - expected.user.begin()->first.first;
  }
  BOOST_TEST(received_sample.size() == expected.user.size());
  for (const auto& [key, user] : expected.user) {
    const auto is = received_sample.find({key.first + to_boottime, key.second});
    BOOST_TEST_REQUIRE((is != received_sample.end()));
    BOOST_TEST(is->second->user == user, boost::test_tools::per_element());
    const auto flags = is->second->record.flags;
    BOOST_TEST(((flags & CTPROF_RECORD_NO_USER) != 0) == user.empty());
    BOOST_TEST(((flags & CTPROF_RECORD_GUESSED) != 0) == !user.empty());
  }
}
