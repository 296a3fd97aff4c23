// Tests samples whose stack a BPF program walked, and requests for tables of files.

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "plugins/on-cpu/record_writer.hpp"
#include "plugins/on-cpu/records.hpp"
#include "plugins/on-cpu/sampler.hpp"
#include "tests/unit/plugins-bpf/test_perf_events.hpp"

namespace on_cpu_walked_test {
using namespace ctprof;
using namespace ctprof::on_cpu;
using namespace test_perf_events;

namespace {

using Times = std::vector<std::uint64_t>;

std::vector<std::uint64_t> copy(std::span<const std::uint64_t> words) {
  return {words.begin(), words.end()};
}

// Returns a sample in the format of the BPF program: size, tag, and words.
RecordBuilder walked_sample(std::uint32_t tag, const std::vector<std::uint64_t>& words) {
  RecordBuilder record = make_sample(5, {kKernelContext, 11});
  record.put(static_cast<std::uint32_t>(4 + 8 * words.size()));
  record.put(tag | static_cast<std::uint32_t>(words.size()));
  for (const std::uint64_t word : words) record.put(word);
  return record;
}

const std::vector<std::uint64_t> kMissed{77, 4096,   9,      std::uint64_t{0x800001} << 32 | 8,
                                         5,  0x1000, 0x2000, 0x3000};

// A sampler that copies stacks because attaching the walking program failed on another CPU.
struct SamplerWithoutWalk {
  SamplerWithoutWalk() : sampler(std::make_unique<TestInput>(kernel), Sampling{}, 1 << 16) {
    sampler.start();
  }

  void drain() {
    kernel.now_ns += 1'000'000'000;
    sampler.drain(sdk::Records(target.table));
  }

  TestKernel kernel;
  Sampler sampler;
  RecordTarget target;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(on_cpu_walked_test)

BOOST_AUTO_TEST_CASE(reads_a_walked_stack) {
  const std::vector<std::uint64_t> words{std::uint64_t{3} << CTPROF_FRAME_TABLE_SHIFT | 0x1234,
                                         CTPROF_FRAME_ADDRESS | CTPROF_FRAME_GUESSED | 0x7f0000};
  RecordBuilder record = walked_sample(WALK_STACK, words);
  const auto read = parse_sample(record.bytes(), true);
  BOOST_REQUIRE((read && read->walked_frames));
  BOOST_TEST(!parse_missed(record.bytes()));
  BOOST_TEST(!read->registers);
  BOOST_TEST(copy(*read->walked_frames) == words, boost::test_tools::per_element());
  BOOST_TEST(copy(read->kernel) == Times{11}, boost::test_tools::per_element());
  const sdk::Record made = make_record(*read, {}, 99);
  BOOST_TEST(made.user_kind == CTPROF_USER_FRAMES);
  BOOST_TEST(made.user_count == 2u);
  BOOST_TEST(made.flags == 0);
  RecordBuilder deep = walked_sample(WALK_DEEP_STACK, words);
  const auto deep_sample = parse_sample(deep.bytes(), true);
  BOOST_REQUIRE(deep_sample);
  BOOST_TEST(make_record(*deep_sample, {}, 99).flags == CTPROF_RECORD_CUT);
}

// A thread has no user stack while execve replaces its program.
BOOST_AUTO_TEST_CASE(reads_a_walked_stack_without_frames) {
  RecordBuilder record = walked_sample(WALK_STACK, {});
  const auto read = parse_sample(record.bytes(), true);
  BOOST_REQUIRE((read && read->walked_frames));
  BOOST_TEST(!read->registers);
  const sdk::Record made = make_record(*read, {}, 99);
  BOOST_TEST(made.user_kind == CTPROF_USER_FRAMES);
  BOOST_TEST(made.user_count == 0u);
  BOOST_TEST(made.flags == 0);
  BOOST_TEST(made.kernel_count == 1u);
}

BOOST_AUTO_TEST_CASE(rejects_a_walked_sample_that_claims_too_many_words) {
  RecordBuilder record = make_sample(5, {});
  record.put(std::uint32_t{20}).put(std::uint32_t{WALK_STACK | 9}).words({1, 2});
  BOOST_TEST(!parse_sample(record.bytes(), true));
  BOOST_TEST(!parse_missed(record.bytes()));
}

BOOST_AUTO_TEST_CASE(reads_a_request_for_a_table) {
  RecordBuilder record = walked_sample(WALK_MISS, kMissed);
  const auto missed = parse_missed(record.bytes());
  BOOST_REQUIRE(missed);
  BOOST_TEST(missed->tgid == 7u);
  BOOST_TEST(missed->miss.file.inode == 77u);
  BOOST_TEST(missed->miss.file.size == 4096u);
  BOOST_TEST(missed->miss.file.ctime_s == 9);
  BOOST_TEST(missed->miss.file.ctime_ns == 8u);
  BOOST_TEST(missed->miss.file.device == 0x800001u);
  BOOST_TEST(missed->miss.file.generation == 5u);
  BOOST_TEST(missed->miss.start == 0x1000u);
  BOOST_TEST(missed->miss.end == 0x2000u);
  BOOST_TEST(missed->miss.offset == 0x3000u);
  RecordBuilder copied = make_sample(5, {});
  copied.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64})
      .words({0xd1, 0xb, 0x5, 0x1})
      .put(std::uint64_t{0});
  BOOST_TEST(!parse_missed(copied.bytes()));
}

BOOST_FIXTURE_TEST_CASE(a_request_is_not_a_sample_after_the_walk_failed, SamplerWithoutWalk) {
  kernel.write(walked_sample(WALK_MISS, kMissed));
  drain();
  BOOST_TEST(target.records.empty());
  BOOST_TEST(target.table.unseen == 0u);
  kernel.write(walked_sample(WALK_STACK, {CTPROF_FRAME_ADDRESS | 0x7f0000}));
  drain();
  BOOST_TEST(target.records.size() == 2u);  // stack and count of one sample
}

// Frames without a table are addresses, so the mappings of their process must be read again.
BOOST_FIXTURE_TEST_CASE(a_loss_requires_reading_mappings_again, SamplerWithoutWalk) {
  RecordBuilder lost(PERF_RECORD_LOST);
  lost.words({1, 3}).thread(7, 7).put(kernel.now_ns);
  kernel.write(std::move(lost));
  kernel.write(walked_sample(WALK_STACK, {CTPROF_FRAME_ADDRESS | 0x7f0000}));
  kernel.write(walked_sample(WALK_STACK, {CTPROF_FRAME_ADDRESS | 0x7f0000}));
  drain();
  BOOST_REQUIRE_EQUAL(target.changes.size(), 1u);  // once per process
  BOOST_TEST(target.changes[0].kind == CTPROF_CHANGE_REMAPPED);
  BOOST_TEST(target.changes[0].tgid == 7u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace on_cpu_walked_test
