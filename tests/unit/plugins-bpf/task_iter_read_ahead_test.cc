// Tests reading ahead of the decoder of task-iter: order, and slots that are in use.

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "plugins/task-iter/read_ahead.hpp"

namespace task_iter_read_ahead_test {
namespace {

using ctprof::task_iter::ReadAheadPass;
using ctprof::task_iter::RecordReader;

constexpr std::size_t kBytesPerRead = 4096;
constexpr std::size_t kReadsPerSlot = ReadAheadPass::kSlotBytes / kBytesPerRead;

// Returns reads of bytes that are numbered, modulo 256.
class NumberedReads final : public RecordReader {
 public:
  explicit NumberedReads(std::size_t reads, bool fails = false) : reads_(reads), fails_(fails) {}

  std::span<const std::byte> read() override {
    buffer_.resize(kBytesPerRead);
    return {buffer_.data(), read_into(buffer_.data())};
  }
  std::size_t read_into(std::byte* buffer) override {
    if (count == reads_ && fails_) throw std::runtime_error("the kernel reports an error");
    if (count == reads_) return 0;
    std::fill_n(buffer, kBytesPerRead, static_cast<std::byte>(count % 256));
    ++count;
    return kBytesPerRead;
  }
  std::size_t max_bytes() const override { return kBytesPerRead; }

  std::atomic<std::size_t> count = 0;

 private:
  std::size_t reads_;
  bool fails_;
  std::vector<std::byte> buffer_;
};

// Appends the number of each read; all of its bytes must have it.
void append_numbers(std::vector<std::size_t>& numbers, std::span<const std::byte> bytes) {
  for (; !bytes.empty(); bytes = bytes.subspan(kBytesPerRead)) {
    const auto read = bytes.first(kBytesPerRead);
    BOOST_TEST_REQUIRE(std::ranges::count(read, read.front()) == std::ptrdiff_t{kBytesPerRead});
    numbers.push_back(static_cast<std::size_t>(read.front()));
  }
}

std::vector<std::size_t> numbers_up_to(std::size_t count) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(i % 256);
  return numbers;
}

BOOST_AUTO_TEST_SUITE(task_iter_read_ahead_test)

BOOST_AUTO_TEST_CASE(passes_all_records_in_order) {
  for (const bool may_have_few_records : {false, true})
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kReadsPerSlot,
                                    kReadsPerSlot + 1, 9 * kReadsPerSlot + 5}) {
      NumberedReads reads(count);
      ReadAheadPass ahead(reads, may_have_few_records);
      std::vector<std::size_t> numbers;
      for (auto bytes = ahead.read(); !bytes.empty(); bytes = ahead.read())
        append_numbers(numbers, bytes);
      BOOST_TEST(numbers == numbers_up_to(count));
    }
}

// The caller holds the first slot while the thread fills the others. If the thread filled one slot
// too many, it would do so immediately, within the 20 ms of this wait.
BOOST_AUTO_TEST_CASE(does_not_fill_a_slot_that_is_in_use) {
  NumberedReads reads(20 * kReadsPerSlot);
  ReadAheadPass ahead(reads, false);
  const auto held = ahead.read();
  while (reads.count < ReadAheadPass::kSlots * kReadsPerSlot) std::this_thread::yield();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  BOOST_TEST(reads.count == ReadAheadPass::kSlots * kReadsPerSlot);
  std::vector<std::size_t> numbers;
  append_numbers(numbers, held);
  BOOST_TEST(numbers == numbers_up_to(kReadsPerSlot));
}

BOOST_AUTO_TEST_CASE(reports_an_error_after_the_records_before_it) {
  NumberedReads reads(2 * kReadsPerSlot, true);
  ReadAheadPass ahead(reads, false);
  std::vector<std::size_t> numbers;
  const auto read_all = [&] {
    for (auto bytes = ahead.read(); !bytes.empty(); bytes = ahead.read())
      append_numbers(numbers, bytes);
  };
  BOOST_CHECK_THROW(read_all(), std::runtime_error);
  BOOST_TEST(numbers == numbers_up_to(2 * kReadsPerSlot));
}

BOOST_AUTO_TEST_CASE(can_be_abandoned) {
  NumberedReads reads(100 * kReadsPerSlot);
  ReadAheadPass ahead(reads, false);
  BOOST_TEST(!ahead.read().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace task_iter_read_ahead_test
