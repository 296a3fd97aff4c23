// Tests how stacks that the BPF programs of off-cpu walked, or copied because a walk gave up, are
// passed to the core.

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "plugins/off-cpu/waits.hpp"
#include "tests/recorded/received.hpp"

namespace off_cpu_walked_test {
using namespace ctprof;
using namespace ctprof::off_cpu;

namespace {

// A kernel from which one record of a stack can be read.
class SingleStackInput final : public KernelInput {
 public:
  explicit SingleStackInput(std::vector<std::byte> record) : record_(std::move(record)) {}

  std::uint64_t now_ns(clockid_t) const override { return 1'000; }
  ResumeHook resume_hook() const override { return ResumeHook::ExitTracepoint; }
  bool can_read_cgroups() const override { return true; }
  void attach() override {}
  void detach() override {}
  void visit_threads(off_pass_purpose, const RecordCallback&) override {}
  std::uint64_t open_window(std::uint32_t) override { return 100; }
  bool read_stacks(const RecordCallback& take) override {
    if (!record_.empty()) take(std::exchange(record_, {}));
    return true;
  }
  void read_other_records(const RecordCallback&) override {}
  std::vector<StackTop> read_user_stacks(std::vector<StackTop>, std::size_t,
                                         std::chrono::milliseconds) override {
    return {};
  }
  void set_period(std::uint64_t, bool) override {}
  Counters counters() const override { return {}; }
  void begin_measuring() override {}
  void end_measuring() override {}
  double ns_per_switch() const override { return 0; }

 private:
  std::vector<std::byte> record_;
};

// Returns a record in the format of the BPF programs.
off_stack make_stack(off_kind kind) {
  off_stack stack{};
  stack.kind = kind;
  stack.window = 1;
  stack.identity = {7, 8, 5};
  stack.at = 500;
  stack.weight = 300;
  stack.place.has_user = 1;
  stack.place.memory = 1;
  stack.place.kernel_bytes = 16;
  stack.place.kernel[0] = 11;
  stack.place.kernel[1] = 12;
  return stack;
}

std::vector<std::byte> walked_record(const std::vector<std::uint64_t>& frames, bool is_deep,
                                     std::uint32_t claimed) {
  off_stack stack = make_stack(OFF_WALKED_STACK);
  stack.pieces = claimed;
  stack.unused = is_deep;
  std::memcpy(stack.user, frames.data(), 8 * frames.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(&stack);
  return {bytes, bytes + OFF_WALKED_BYTES};
}

// Returns a record with this number of copied pieces; each byte contains the number of its piece.
// The stack pointer is 8 bytes above the start of the first piece.
std::vector<std::byte> copied_record(std::size_t pieces, std::uint32_t claimed) {
  off_stack stack = make_stack(OFF_STACK);
  stack.place.sp = 0x10000 + 8;
  stack.pieces = claimed;
  const auto* bytes = reinterpret_cast<const std::byte*>(&stack);
  std::vector<std::byte> record(bytes, bytes + OFF_STACK_WITHOUT_USER);
  for (std::size_t i = 0; i < pieces; ++i) record.insert(record.end(), OFF_PIECE, std::byte(i));
  return record;
}

void drain(std::vector<std::byte> record, recorded::ReceivedData& received) {
  const recorded::TestHost host("/proc", "/sys");
  Waits waits(host.host(), std::make_unique<SingleStackInput>(std::move(record)), {}, 0);
  waits.start();
  waits.drain(received.sink());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(off_cpu_walked_test)

BOOST_AUTO_TEST_CASE(passes_a_walked_stack_as_frames) {
  const std::vector<std::uint64_t> frames{std::uint64_t{3} << CTPROF_FRAME_TABLE_SHIFT | 0x1234,
                                          CTPROF_FRAME_ADDRESS | CTPROF_FRAME_GUESSED | 0x7000};
  recorded::ReceivedData received;
  drain(walked_record(frames, false, 2), received);
  BOOST_REQUIRE_EQUAL(received.records.size(), 1u);
  const auto& [record, kernel, user, stack] = received.records[0];
  BOOST_TEST(record.user_kind == CTPROF_USER_FRAMES);
  BOOST_TEST(record.tgid == 7u);
  BOOST_TEST(record.tid == 8u);
  BOOST_TEST(record.weight == 300u);
  BOOST_TEST(record.flags == CTPROF_RECORD_OF_WINDOW);
  BOOST_TEST(user == frames, boost::test_tools::per_element());
  BOOST_TEST(kernel == (std::vector<std::uint64_t>{11, 12}), boost::test_tools::per_element());
  BOOST_TEST(stack.empty());
}

BOOST_AUTO_TEST_CASE(marks_an_incomplete_walked_stack) {
  recorded::ReceivedData received;
  drain(walked_record({1, 2, 3}, true, 3), received);
  BOOST_REQUIRE_EQUAL(received.records.size(), 1u);
  BOOST_TEST(received.records[0].record.flags == (CTPROF_RECORD_OF_WINDOW | CTPROF_RECORD_CUT));
}

BOOST_AUTO_TEST_CASE(limits_the_claimed_size_of_a_walked_stack) {
  recorded::ReceivedData received;
  drain(walked_record({1, 2, 3}, false, UINT32_MAX), received);
  BOOST_REQUIRE_EQUAL(received.records.size(), 1u);
  BOOST_TEST(received.records[0].user.size() == std::size_t{OFF_FRAMES + 1});
  std::vector<std::byte> shorter = walked_record({1, 2, 3}, false, 3);
  shorter.resize(OFF_STACK_WITHOUT_USER + 8);
  recorded::ReceivedData none;
  drain(std::move(shorter), none);
  BOOST_TEST(none.records.empty());
}

BOOST_AUTO_TEST_CASE(passes_copies_of_both_sizes) {
  for (const std::size_t pieces : {std::size_t{OFF_PIECES}, std::size_t{OFF_LARGE_PIECES}}) {
    recorded::ReceivedData received;
    drain(copied_record(pieces, static_cast<std::uint32_t>(pieces)), received);
    BOOST_REQUIRE_EQUAL(received.records.size(), 1u);
    BOOST_TEST(received.records[0].record.user_kind == CTPROF_USER_COPY);
    BOOST_REQUIRE_EQUAL(received.records[0].stack.size(), pieces * OFF_PIECE - 8);
    BOOST_TEST(received.records[0].stack.front() == 0);
    BOOST_TEST(received.records[0].stack[OFF_PIECE - 8] == 1);
    BOOST_TEST(received.records[0].stack.back() == pieces - 1);
  }
}

// Pages that are not in memory end a copy early.
BOOST_AUTO_TEST_CASE(limits_the_claimed_size_of_a_copy) {
  recorded::ReceivedData shorter, longer, none;
  drain(copied_record(OFF_LARGE_PIECES, 5), shorter);
  drain(copied_record(OFF_PIECES, UINT32_MAX), longer);
  drain(copied_record(0, 1), none);
  BOOST_REQUIRE_EQUAL(shorter.records.size() + longer.records.size() + none.records.size(), 3u);
  BOOST_TEST(shorter.records[0].stack.size() == 5u * OFF_PIECE - 8);
  BOOST_TEST(longer.records[0].stack.size() == std::size_t{OFF_PIECES} * OFF_PIECE - 8);
  BOOST_TEST(none.records[0].stack.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace off_cpu_walked_test
