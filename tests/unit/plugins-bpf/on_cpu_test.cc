// Tests reading synthetic rings of perf events, and samples of this process.

#include <linux/perf_event.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "plugins/on-cpu/pending.hpp"
#include "plugins/on-cpu/record_writer.hpp"
#include "plugins/on-cpu/records.hpp"
#include "plugins/on-cpu/ring.hpp"
#include "plugins/on-cpu/sampler.hpp"
#include "tests/unit/plugins-bpf/test_perf_events.hpp"

namespace on_cpu_test {
using namespace ctprof;
using namespace ctprof::on_cpu;
using namespace test_perf_events;

namespace {

using Times = std::vector<std::uint64_t>;

std::vector<std::uint64_t> copy(std::span<const std::uint64_t> words) {
  return {words.begin(), words.end()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(on_cpu_test)

BOOST_AUTO_TEST_CASE(reads_a_record_that_wraps_around) {
  TestRing ring(256);
  for (std::uint64_t time = 1; time < 100; ++time) {
    ring.write(make_sample(time, {kKernelContext, time, kUserContext, time + 1}).bytes());
    ring.ring.look_for_records();
    const auto read = parse_sample(ring.ring.record(), false);
    BOOST_REQUIRE(read);
    BOOST_TEST(copy(read->kernel) == Times{time}, boost::test_tools::per_element());
    BOOST_TEST(copy(read->user) == Times{time + 1}, boost::test_tools::per_element());
    BOOST_TEST(ring.read_times() == Times{time}, boost::test_tools::per_element());
    BOOST_TEST(ring.page.data_tail == ring.page.data_head);
  }
}

BOOST_AUTO_TEST_CASE(keeps_records_until_they_are_released) {
  TestRing ring(4096);
  ring.write(make_sample(1, {}).bytes());
  ring.write(make_sample(2, {}).bytes());
  ring.ring.look_for_records();
  ring.ring.skip();
  BOOST_TEST(ring.page.data_tail == 0);
  ring.write(make_sample(3, {}).bytes());
  BOOST_TEST(read_time(ring.ring.record()) == 2);
  ring.ring.skip();
  BOOST_TEST(ring.ring.record().empty());  // until the next look_for_records()
  BOOST_TEST(ring.read_times() == Times{3}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(drops_the_rest_after_an_invalid_record) {
  for (const std::uint16_t size : {0, 4, 7, 20, 60'000}) {
    TestRing ring(4096);
    ring.write(make_sample(1, {}).bytes());
    std::vector<std::uint64_t> words(8);
    const perf_event_header header{PERF_RECORD_SAMPLE, 0, size};
    std::memcpy(words.data(), &header, sizeof header);
    ring.write(std::as_bytes(std::span(words)));
    BOOST_TEST(ring.read_times() == Times{1}, boost::test_tools::per_element());
    BOOST_TEST(ring.ring.invalid_count() == 1);
    ring.write(make_sample(2, {}).bytes());
    BOOST_TEST(ring.read_times() == Times{2}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_invalid_head_reads_nothing_outside_of_the_ring) {
  TestRing ring(4096);
  ring.page.data_head = UINT64_MAX - 3;
  BOOST_TEST(ring.read_times().empty());
  BOOST_TEST(ring.ring.invalid_count() == 1);
}

// The kernel would have overwritten the records at the start.
BOOST_AUTO_TEST_CASE(a_head_beyond_the_size_of_the_ring_is_invalid) {
  TestRing ring(4096);
  ring.write(make_sample(1, {}).bytes());
  ring.page.data_head = 4096 + 8;
  BOOST_TEST(ring.read_times().empty());
  BOOST_TEST(ring.ring.invalid_count() == 1);
}

BOOST_AUTO_TEST_CASE(reads_registers_and_a_copy_of_the_stack) {
  RecordBuilder record = make_sample(5, {kKernelContext, 11, 12});
  record.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64}).words({0xd1, 0xb, 0x5, 0x1});
  record.put(std::uint64_t{32}).words({1, 2, 3, 4}).put(std::uint64_t{24});
#if defined(__x86_64__)
  auto read = parse_sample(record.bytes(), true);
  BOOST_REQUIRE((read && read->registers));
  read->weight_ns = 10'101'010;
  BOOST_TEST(read->registers->ip == 0x1);
  BOOST_TEST(read->registers->sp == 0x5);
  BOOST_TEST(read->registers->bp == 0xb);
  BOOST_TEST(read->registers->lr == 0xd1);  // vfork(2) keeps its return address in rdi
  BOOST_TEST(read->stack.size() == 24);
  BOOST_TEST(copy(read->kernel) == (Times{11, 12}), boost::test_tools::per_element());
  const sdk::Record made = make_record(*read, {}, 99);
  BOOST_TEST(made.user_kind == CTPROF_USER_COPY);
  BOOST_TEST(made.flags == 0);
  BOOST_TEST(made.weight == 10'101'010);
  BOOST_TEST(made.at_ns == 99);
  BOOST_TEST(made.lr == 0xd1);
#endif
}

BOOST_AUTO_TEST_CASE(rejects_a_sample_that_claims_too_many_bytes) {
  for (const std::uint64_t count : {std::uint64_t{9}, UINT64_MAX, UINT64_MAX / 8}) {
    RecordBuilder record(PERF_RECORD_SAMPLE);
    record.thread(1, 1).put(std::uint64_t{2}).put(count).words({kKernelContext, 3});
    BOOST_TEST(!parse_sample(record.bytes(), false));
  }
  RecordBuilder record = make_sample(5, {});
  record.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE}).put(UINT64_MAX);
  BOOST_TEST(!parse_sample(record.bytes(), true));
  RecordBuilder more = make_sample(5, {});
  more.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE}).put(std::uint64_t{8}).words({1, 1000});
  const auto read = parse_sample(more.bytes(), true);
  BOOST_TEST((read && read->stack.size() == 8));
}

BOOST_AUTO_TEST_CASE(reads_the_clock_offset_of_a_time_namespace) {
  BOOST_TEST(parse_monotonic_offset_ns("monotonic      500000         7\n"
                                       "boottime       100000         0\n") == 500'000'000'000'007);
  BOOST_TEST(parse_monotonic_offset_ns("boottime 1 1\nmonotonic -3 250000000\n") == -2'750'000'000);
  for (const char* other : {"", "monotonic", "monotonic 5", "monotonic x 5", "boottime 5 5\n"})
    BOOST_TEST(parse_monotonic_offset_ns(other) == 0);
}

BOOST_AUTO_TEST_CASE(sets_the_flags_of_records) {
  const Sampling by_chain{.stack_bytes = 0};
  Sample kernel_thread_sample{.tgid = 2, .tid = 2};
  BOOST_TEST(make_record(kernel_thread_sample, by_chain, 0).flags == 0);
  Sample sample_of_32_bits = kernel_thread_sample;
  sample_of_32_bits.is_32_bit = true;
  BOOST_TEST(make_record(sample_of_32_bits, by_chain, 0).flags == CTPROF_RECORD_NO_USER);
  const std::vector<std::uint64_t> chain(127);
  Sample deep = kernel_thread_sample;
  deep.user = chain;
  BOOST_TEST(make_record(deep, by_chain, 0).flags == (CTPROF_RECORD_GUESSED | CTPROF_RECORD_CUT));
}

// The user registers of io_uring and vhost workers are all zero.
BOOST_AUTO_TEST_CASE(kernel_workers_have_no_user_stack) {
  Sample worker{.tgid = 2, .tid = 3};
  worker.registers = Registers{};
  sdk::Record made = make_record(worker, {}, 0);
  BOOST_TEST(made.user_kind == CTPROF_USER_NONE);
  BOOST_TEST(made.flags == 0);
  const std::vector<std::uint64_t> nothing(1), null_call{0, 0x1234};
  worker.registers.reset();
  worker.user = nothing;
  made = make_record(worker, {.stack_bytes = 0}, 0);
  BOOST_TEST(made.user_kind == CTPROF_USER_NONE);
  BOOST_TEST(made.flags == 0);
  worker.user = null_call;
  BOOST_TEST(make_record(worker, {.stack_bytes = 0}, 0).user_kind == CTPROF_USER_ADDRESSES);
}

BOOST_AUTO_TEST_CASE(reads_mappings) {
  RecordBuilder record(PERF_RECORD_MMAP2);
  record.thread(7, 8).words({0x1000, 0x2000, 0x3000});
  record.put(std::uint32_t{8}).put(std::uint32_t{1}).words({1234, 0}).thread(5, 2);
  record.text("/lib/libc.so.6").thread(7, 8).put(std::uint64_t{77});
  const auto mapped = parse_mapped(record.bytes());
  BOOST_REQUIRE(mapped);
  BOOST_TEST(mapped->tgid == 7);
  BOOST_TEST(mapped->start == 0x1000);
  BOOST_TEST(mapped->length == 0x2000);
  BOOST_TEST(mapped->offset == 0x3000);
  BOOST_TEST(mapped->device_major == 8);
  BOOST_TEST(mapped->inode == 1234);
  BOOST_TEST(mapped->path == "/lib/libc.so.6");
  BOOST_TEST(read_time(record.bytes()) == 77);
  BOOST_TEST(!parse_mapped(RecordBuilder(PERF_RECORD_MMAP2).words({1, 2, 3, 4}).bytes()));
}

BOOST_AUTO_TEST_CASE(reports_only_forks_and_exits_of_processes) {
  RecordTarget target;
  const sdk::Records records(target.table);
  const auto put = [&](std::uint32_t type, std::uint32_t tgid, std::uint32_t parent,
                       std::uint32_t tid) {
    RecordBuilder record(type);
    record.thread(tgid, parent).thread(tid, parent).words({1, 0, 1});
    write_change(records, record.bytes(), 9);
  };
  put(PERF_RECORD_FORK, 5, 5, 6);  // a thread
  put(PERF_RECORD_EXIT, 5, 5, 6);
  BOOST_TEST(target.changes.empty());
  put(PERF_RECORD_FORK, 7, 5, 7);
  put(PERF_RECORD_EXIT, 7, 5, 7);
  write_change(records,
               RecordBuilder(PERF_RECORD_COMM).thread(5, 5).text("new name").words({0, 1}).bytes(),
               9);
  write_change(
      records,
      RecordBuilder(PERF_RECORD_COMM, 1 << 13).thread(5, 5).text("sh").words({0, 1}).bytes(), 9);
  BOOST_REQUIRE(target.changes.size() == 3);
  BOOST_TEST(target.changes[0].kind == CTPROF_CHANGE_FORKED);
  BOOST_TEST(target.changes[0].parent == 5);
  BOOST_TEST(target.changes[1].kind == CTPROF_CHANGE_ENDED);
  BOOST_TEST(target.changes[2].kind == CTPROF_CHANGE_EXECED);
  BOOST_TEST(target.changes[2].tgid == 5);
}

// Returns a deferred user stack in the format of the kernel.
std::optional<DeferredChain> make_deferred_stack(RecordBuilder& record, std::uint32_t tid,
                                                 std::uint64_t number) {
  record.words({number, 3, kUserContext, 0xa, 0xb}).thread(tid, tid).put(std::uint64_t{100});
  return parse_deferred(record.bytes());
}

BOOST_AUTO_TEST_CASE(a_deferred_stack_completes_all_waiting_samples) {
  PendingSamples pending(4, 2);
  const std::vector<std::uint64_t> kernel{1, 2, 3};
  std::vector<std::uint64_t> done, given_up;
  const auto give_up = [&](const PendingSamples::WaitingSample& waiting) {
    given_up.push_back(waiting.at_ns);
  };
  const auto wait = [&](std::uint32_t tid, std::uint64_t number, std::uint64_t at_ns) {
    pending.add({.tgid = 1, .tid = tid, .kernel = kernel, .deferred = number}, at_ns, give_up);
  };
  wait(7, 70, 1), wait(8, 80, 2), wait(7, 70, 3), wait(7, 71, 4);
  RecordBuilder record(kRecordDeferred);
  const auto deferred = make_deferred_stack(record, 7, 70);
  BOOST_REQUIRE(deferred);
  BOOST_TEST(copy(deferred->user) == (Times{0xa, 0xb}), boost::test_tools::per_element());
  const auto complete = [&](const PendingSamples::WaitingSample& waiting) {
    done.push_back(waiting.at_ns);
    BOOST_TEST(copy(waiting.kernel) == (Times{1, 2}), boost::test_tools::per_element());
  };
  pending.complete(*deferred, complete);
  BOOST_TEST(done == (Times{1, 3}), boost::test_tools::per_element());
  pending.complete(*deferred, complete);
  BOOST_TEST(done.size() == 2);

  wait(9, 90, 5), wait(9, 91, 6);  // the second replaces the oldest
  BOOST_TEST(given_up == Times{2}, boost::test_tools::per_element());
  pending.give_up_all(give_up);
  BOOST_TEST(given_up == (Times{2, 4, 5, 6}), boost::test_tools::per_element());
  given_up.clear();
  pending.give_up_all(give_up);
  BOOST_TEST(given_up.empty());
}

// The exact record of Linux 7.3: 4711 is the cookie, and no word names the thread of the addresses.
BOOST_AUTO_TEST_CASE(rejects_a_deferred_stack_without_a_thread) {
  RecordBuilder record(kRecordDeferred, PERF_RECORD_MISC_USER);
  record.words({4711, 2, 0x4384ad, 0x438511}).thread(7, 7).put(std::uint64_t{100});
  const auto deferred = parse_deferred(record.bytes());
  BOOST_REQUIRE(deferred);
  BOOST_TEST(copy(deferred->user) == (Times{0x4384ad, 0x438511}), boost::test_tools::per_element());
  RecordBuilder empty(kRecordDeferred);
  empty.words({4711, 0}).thread(7, 7).put(std::uint64_t{100});
  BOOST_TEST((parse_deferred(empty.bytes()) && parse_deferred(empty.bytes())->user.empty()));
}

BOOST_AUTO_TEST_CASE(recognizes_a_deferred_sample) {
  RecordBuilder written = make_sample(5, {kKernelContext, 11, kContextUserDeferred, 4711});
  const auto read = parse_sample(written.bytes(), false);
  BOOST_REQUIRE((read && read->deferred));
  BOOST_TEST(*read->deferred == 4711);
  BOOST_TEST(copy(read->kernel) == Times{11}, boost::test_tools::per_element());
  BOOST_TEST(read->user.empty());
  const sdk::Record alone = make_record(*read, {.stack_bytes = 0}, 0);
  BOOST_TEST(alone.flags == CTPROF_RECORD_NO_USER);
}

BOOST_AUTO_TEST_CASE(parses_lists_of_cpus) {
  BOOST_TEST(parse_cpu_list("0-2,5") == (std::vector<int>{0, 1, 2, 5}),
             boost::test_tools::per_element());
  BOOST_TEST(parse_cpu_list("0") == std::vector<int>{0}, boost::test_tools::per_element());
  for (const char* bad : {"", "a", "-1", "0-99999999", "1,,2"})
    BOOST_TEST(parse_cpu_list(bad).empty());
}

BOOST_AUTO_TEST_CASE(accepts_cpu_numbers_above_the_number_of_cpus) {
  BOOST_TEST(parse_possible_cpus("0-3\n").count == 4u);
  BOOST_TEST(parse_possible_cpus("0-3\n").number_limit == 4u);
  BOOST_TEST(parse_possible_cpus("0-1,8\n").count == 3u);
  BOOST_TEST(parse_possible_cpus("0-1,8\n").number_limit == 9u);
  BOOST_TEST(parse_possible_cpus("").count == 0u);
  BOOST_TEST(parse_possible_cpus("x\n").number_limit == 0u);
  BOOST_TEST(read_possible_cpus().count > 0u);
  BOOST_TEST(read_possible_cpus().number_limit >= read_possible_cpus().count);
}

BOOST_AUTO_TEST_CASE(reads_the_idle_time_of_a_cpu) {
  constexpr std::string_view kStat =
      "cpu  9 9 9 9 9 9\ncpu1 1 2 3 40 5 6 7\ncpu10 1 2 3 400 50 6\nintr 1 2\n";
  BOOST_TEST(parse_idle_ticks(kStat, 1) == 45u);
  BOOST_TEST(parse_idle_ticks(kStat, 10) == 450u);
  BOOST_TEST(parse_idle_ticks(kStat, 0) == 0u);
  BOOST_TEST(parse_idle_ticks("cpu1 1 2 3 x 5\n", 1) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace on_cpu_test
