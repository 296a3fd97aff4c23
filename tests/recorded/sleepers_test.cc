// Tests the values of sleepers, for exact results: recorded passes are replayed through the
// plugin's sampler and tally, and counted a second time only from the raw records.

#define BOOST_TEST_MODULE recorded_sleepers
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "plugins/sleepers/bpf_sampler.hpp"
#include "plugins/sleepers/tally.hpp"
#include "tests/recorded/received.hpp"
#include "tests/recorded/sleepers_expected.hpp"
#include "tests/recorded/sleepers_trace.hpp"

using namespace ctprof;
using namespace ctprof::recorded;
using namespace ctprof::recorded::sleepers_trace;
namespace data = boost::unit_test::data;

namespace {

constexpr std::uint64_t kNsPerTick = 1'000'000'000 / TestHost::kUserHz;
const std::vector<std::string> kTraces{"turns", "crowd", "kinds", "come"};

Trace load_trace(const std::string& name) {
  return Trace::load(std::string(std::getenv("TRACES")) + "/sleepers_" + name + ".trace.zst");
}

struct Replay {
  explicit Replay(const std::string& name, const sleepers::RecordFormat& shape = {})
      : Replay(load_trace(name), shape) {}
  Replay(Trace recorded, const sleepers::RecordFormat& shape)
      : trace(std::move(recorded)), expected(expected_sleepers(trace)) {
    Cursor cursor(trace);
    sleepers::BpfSampler sampler(std::make_unique<ReplayedInput>(trace, cursor), kNsPerTick);
    sleepers::Tally tally(shape);
    sleepers::Pass pass;
    windows.push_back(std::make_unique<ReceivedData>());
    while (!cursor.is_at_end()) replay_frame(cursor, sampler, tally, pass);
    windows.pop_back();
  }

  void replay_frame(Cursor& cursor, sleepers::BpfSampler& sampler, sleepers::Tally& tally,
                    sleepers::Pass& pass) {
    switch (cursor.peek().kind) {
      case kPass:
        pass.clear();
        pass.at_ns = cursor.peek().clock_ns;
        sampler.sample(static_cast<std::uint32_t>(cursor.peek().as<std::uint64_t>()), pass);
        visited_by_pass.push_back(pass.visited_tgids);
        tally.add_pass(pass, windows.back()->sink());
        return;
      case kWindowEnds:
        cursor.next();
        tally.end_window(windows.back()->sink());
        windows.push_back(std::make_unique<ReceivedData>());
        return;
      case kOutput: cursor.next(); return;
      default: throw BadTrace("the sampler did not make all recorded calls");
    }
  }

  Trace trace;
  ExpectedSleepers expected;
  std::vector<std::unique_ptr<ReceivedData>> windows;
  std::vector<std::vector<std::uint32_t>> visited_by_pass;
};

// Converts the start time to ticks, as in records.
SleeperId with_start_in_ticks(const SleeperId& id) {
  return {std::get<0>(id), std::get<1>(id), std::get<2>(id) / kNsPerTick};
}

SleeperId id_of(const ctprof_record& record) {
  return {static_cast<std::uint32_t>(record.tgid), static_cast<std::uint32_t>(record.tid),
          record.start_time_clock_ticks};
}

// Thread, kernel stack, and instruction and stack pointer of user space.
using Stack = std::tuple<SleeperId, std::vector<std::uint64_t>, std::uint64_t, std::uint64_t>;

// Counts the passes that found each thread with each stack.
std::map<Stack, std::uint64_t> expected_weights(const std::vector<ExpectedPass>& passes) {
  std::map<Stack, std::uint64_t> weights;
  std::map<SleeperId, Stack> last;
  for (const ExpectedPass& pass : passes) {
    for (const ExpectedSleeper& sleeper : pass.fresh) {
      const bool has_place = sleeper.copied.has_value();
      const Stack stack{with_start_in_ticks(sleeper.id), sleeper.kernel, has_place ? sleeper.ip : 0,
                        has_place ? sleeper.sp : 0};
      last[sleeper.id] = stack;
      ++weights[stack];
    }
    for (const SleeperId& id : pass.unchanged) ++weights[last.at(id)];
  }
  return weights;
}

// Adds the weights of all records; a repeat refers to the thread's last stack.
std::map<Stack, std::uint64_t> received_weights(const ReceivedData& received) {
  std::map<Stack, std::uint64_t> weights;
  std::map<SleeperId, Stack> last;
  for (const ReceivedRecord& got : received.records) {
    if (got.record.offer != sleepers::kStacksOffer) continue;
    const SleeperId id = id_of(got.record);
    if ((got.record.flags & CTPROF_RECORD_AGAIN) == 0)
      last[id] = {id, got.kernel, got.record.ip, got.record.sp};
    weights[last.at(id)] += got.record.weight;
  }
  return weights;
}

std::map<SleeperId, std::uint64_t> weights_by_thread(const ReceivedData& received,
                                                     std::uint32_t offer) {
  std::map<SleeperId, std::uint64_t> weights;
  for (const ReceivedRecord& got : received.records)
    if (got.record.offer == offer) weights[id_of(got.record)] += got.record.weight;
  return weights;
}

}  // namespace

BOOST_DATA_TEST_CASE(the_weight_of_a_stack_is_its_number_of_passes, data::make(kTraces), name) {
  const Replay replay(name);
  BOOST_TEST(replay.expected.windows.size() > 1u);
  BOOST_TEST(replay.windows.size() == replay.expected.windows.size());
  for (std::size_t window = 0; window < replay.windows.size(); ++window)
    BOOST_TEST((received_weights(*replay.windows[window]) ==
                expected_weights(replay.expected.windows[window])));
}

BOOST_DATA_TEST_CASE(samples_of_a_thread_are_passes_that_found_it_asleep, data::make(kTraces),
                     name) {
  const Replay replay(name);
  std::uint64_t repeats = 0, fresh = 0;
  for (std::size_t window = 0; window < replay.windows.size(); ++window) {
    std::map<SleeperId, std::uint64_t> expected;
    for (const ExpectedPass& pass : replay.expected.windows[window]) {
      for (const ExpectedSleeper& sleeper : pass.fresh) ++expected[with_start_in_ticks(sleeper.id)];
      for (const SleeperId& id : pass.unchanged) ++expected[with_start_in_ticks(id)];
      fresh += pass.fresh.size();
      repeats += pass.unchanged.size();
    }
    const ReceivedData& received = *replay.windows[window];
    BOOST_TEST((weights_by_thread(received, sleepers::kSamplesOffer) == expected));
    BOOST_TEST((weights_by_thread(received, sleepers::kStacksOffer) == expected));
  }
  BOOST_TEST(fresh > 50u);
  BOOST_TEST(repeats > 5u);
}

// Each new stack has one record, and at most one more for all its repeats.
BOOST_DATA_TEST_CASE(reports_repeats_as_one_record, data::make(kTraces), name) {
  const Replay replay(name);
  for (std::size_t window = 0; window < replay.windows.size(); ++window) {
    std::size_t fresh = 0, got = 0, repeats = 0;
    for (const ExpectedPass& pass : replay.expected.windows[window]) fresh += pass.fresh.size();
    for (const ReceivedRecord& record : replay.windows[window]->records) {
      if (record.record.offer != sleepers::kStacksOffer) continue;
      (record.record.flags & CTPROF_RECORD_AGAIN) != 0 ? ++repeats : ++got;
    }
    BOOST_TEST(got == fresh);
    BOOST_TEST(repeats <= fresh);
  }
}

BOOST_DATA_TEST_CASE(user_stacks_belong_to_their_threads, data::make(kTraces), name) {
  const Replay replay(name);
  std::size_t copies = 0;
  for (std::size_t window = 0; window < replay.windows.size(); ++window) {
    std::map<SleeperId, std::vector<const ExpectedSleeper*>> expected;
    for (const ExpectedPass& pass : replay.expected.windows[window])
      for (const ExpectedSleeper& sleeper : pass.fresh)
        expected[with_start_in_ticks(sleeper.id)].push_back(&sleeper);
    std::map<SleeperId, std::size_t> next;
    for (const ReceivedRecord& got : replay.windows[window]->records) {
      if (got.record.offer != sleepers::kStacksOffer ||
          (got.record.flags & CTPROF_RECORD_AGAIN) != 0)
        continue;
      const SleeperId id = id_of(got.record);
      const ExpectedSleeper& sleeper = *expected.at(id).at(next[id]++);
      const bool lacks = sleeper.has_user && !sleeper.copied;
      BOOST_TEST(((got.record.flags & CTPROF_RECORD_NO_USER) != 0) == lacks);
      BOOST_TEST(got.stack.size() == sleeper.copied.value_or(0));
      for (const std::uint8_t byte : got.stack)
        if (byte != pattern_of(got.record.tid)) BOOST_FAIL("memory of another thread");
      copies += !got.stack.empty();
    }
  }
  BOOST_TEST(copies > 50u);
}

BOOST_DATA_TEST_CASE(reports_the_processes_that_were_found, data::make(kTraces), name) {
  const Replay replay(name);
  std::size_t pass = 0;
  for (const auto& window : replay.expected.windows)
    for (const ExpectedPass& expected : window)
      BOOST_TEST(replay.visited_by_pass[pass++] == expected.processes,
                 boost::test_tools::per_element());
  BOOST_TEST(pass > 10u);
}

// Returns a copy of the trace whose reads split their first record, at all kinds of positions.
Trace split_trace(const std::string& name) {
  const Trace original = load_trace(name);
  TraceWriter writer;
  writer.add_layouts(kLayouts);
  for (const char* fact : {"can_recheck", "pid"}) writer.add_fact(fact, original.fact(fact));
  std::size_t place = 1;
  for (const Frame& frame : original.frames()) {
    if (frame.kind == kChunk && !frame.bytes.empty()) {
      std::uint32_t size = 0;
      std::memcpy(&size, frame.bytes.data(), sizeof size);
      place = (place + 5) % size;
      if (place > 0) writer.put_frame({kChunk, frame.clock_ns, frame.bytes.first(place)});
      writer.put_frame({kChunk, frame.clock_ns, frame.bytes.subspan(place)});
    } else {
      writer.put_frame(frame);
    }
  }
  return Trace::parse(writer.bytes());
}

BOOST_DATA_TEST_CASE(joins_split_records, data::make(kTraces), name) {
  const Replay original(name), pieces(split_trace(name), {});
  BOOST_TEST(pieces.expected.split_records > 10u);
  BOOST_TEST(pieces.visited_by_pass.size() == original.visited_by_pass.size());
  for (std::size_t window = 0; window < original.windows.size(); ++window) {
    BOOST_TEST(
        (received_weights(*pieces.windows[window]) == received_weights(*original.windows[window])));
    BOOST_TEST((weights_by_thread(*pieces.windows[window], sleepers::kSamplesOffer) ==
                weights_by_thread(*original.windows[window], sleepers::kSamplesOffer)));
  }
}

// A thread that runs while its stack is copied is checked again, up to six times.
BOOST_AUTO_TEST_CASE(copies_running_threads_again) {
  const Replay replay("crowd");
  std::size_t lacking = 0;
  for (const auto& window : replay.expected.windows)
    for (const ExpectedPass& pass : window)
      lacking += static_cast<std::size_t>(std::ranges::count_if(
          pass.fresh,
          [](const ExpectedSleeper& sleeper) { return sleeper.has_user && !sleeper.copied; }));
  BOOST_TEST(replay.expected.moved_threads > 20u);
  BOOST_TEST(lacking > 0u);
}

BOOST_DATA_TEST_CASE(changed_code_requires_reading_mappings_again, data::make(kTraces), name) {
  const Replay replay(name);
  std::map<std::uint32_t, std::array<std::uint64_t, 3>> known;
  std::vector<std::uint64_t> expected, got;
  for (const auto& window : replay.expected.windows)
    for (const ExpectedPass& pass : window)
      for (const ExpectedSleeper& sleeper : pass.fresh) {
        if (!sleeper.has_user) continue;
        const auto [before, is_new] = known.try_emplace(std::get<0>(sleeper.id), sleeper.code);
        if (is_new || before->second == sleeper.code) continue;
        before->second = sleeper.code;
        expected.push_back(pass.at_ns);
      }
  for (const auto& received : replay.windows)
    for (const ctprof_change& change : received->changes) {
      BOOST_TEST(change.kind == static_cast<ctprof_change_kind>(CTPROF_CHANGE_REMAPPED));
      got.push_back(change.at_ns);
    }
  BOOST_TEST(got == expected, boost::test_tools::per_element());
  BOOST_TEST(!expected.empty());
}

BOOST_AUTO_TEST_CASE(a_depth_limit_removes_kernel_frames_at_the_root) {
  constexpr std::size_t kDepth = 3;
  const Replay original("turns"), cut("turns", {.depth = kDepth, .uses_frame_pointers = false});
  for (std::size_t window = 0; window < original.windows.size(); ++window) {
    const auto& expected = original.windows[window]->records;
    const auto& got = cut.windows[window]->records;
    BOOST_TEST_REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t frames = std::min(kDepth, expected[i].kernel.size());
      BOOST_TEST(got[i].kernel.size() == frames);
      BOOST_TEST(
          std::equal(got[i].kernel.begin(), got[i].kernel.end(), expected[i].kernel.begin()));
      BOOST_TEST(((got[i].record.flags & CTPROF_RECORD_CUT) != 0) ==
                 (expected[i].kernel.size() > kDepth));
      BOOST_TEST(got[i].record.weight == expected[i].record.weight);
    }
  }
}

// The workload prints how many threads it starts; 20 exist at a time.
BOOST_AUTO_TEST_CASE(finds_no_more_threads_than_existed) {
  const Replay replay("come");
  const auto pid = static_cast<std::uint32_t>(replay.trace.number("pid"));
  std::set<SleeperId> threads;
  for (const auto& window : replay.expected.windows)
    for (const ExpectedPass& pass : window) {
      std::set<SleeperId> unchanged_ids(pass.unchanged.begin(), pass.unchanged.end());
      for (const ExpectedSleeper& sleeper : pass.fresh) unchanged_ids.insert(sleeper.id);
      BOOST_TEST(unchanged_ids.size() == pass.unchanged.size() + pass.fresh.size());
      BOOST_TEST(unchanged_ids.size() <= 21u);
      threads.insert(unchanged_ids.begin(), unchanged_ids.end());
    }
  BOOST_TEST(threads.size() <= 121u);
  BOOST_TEST(threads.size() > 21u);
  for (const SleeperId& id : threads) BOOST_TEST(std::get<0>(id) == pid);
}
