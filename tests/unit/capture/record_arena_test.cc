// Tests the compact storage of raw stacks: records are unchanged, and equal stacks and equal parts
// of copies are stored once.

#include "core/capture/record_arena.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "ctprof/records.hpp"

namespace record_arena_test {
using namespace ctprof;

BOOST_AUTO_TEST_SUITE(record_arena_test)

BOOST_AUTO_TEST_CASE(stores_copies_of_any_size_and_alignment) {
  RecordArena arena(std::size_t{1} << 30);
  std::vector<std::uint8_t> memory(3 * PiecePool::kSize);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * 37);
  std::size_t added = 0, read = 0;
  for (std::uint64_t sp = 1000; sp < 3100; sp += 52)
    for (std::size_t size = 0; size <= memory.size(); size += 101, ++added) {
      sdk::Record record(1, 1, size);
      record.set_user_copy(0, sp, 0, 0, std::span(memory).first(size));
      BOOST_REQUIRE(arena.add(record));
    }
  arena.for_each(
      [&](const ctprof_record& record, std::uint32_t) {
        ++read;
        BOOST_REQUIRE(record.stack_size == record.weight);
        BOOST_REQUIRE(std::equal(record.stack, record.stack + record.stack_size, memory.begin()));
      },
      [](const ctprof_change&) {});
  BOOST_TEST(read == added);
}

BOOST_AUTO_TEST_CASE(stores_equal_pieces_once) {
  RecordArena arena(std::size_t{1} << 30);
  std::vector<std::uint8_t> memory(8192);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * i / 5);
  sdk::Record record(1, 1, 1);
  record.set_user_copy(0, 0x7000, 0, 0, memory);
  for (int i = 0; i < 10'000; ++i) {
    memory[100] = static_cast<std::uint8_t>(i);
    BOOST_REQUIRE(arena.add(record));
  }
  BOOST_TEST(arena.bytes() < std::size_t{4} << 20);  // instead of 80 MB
}

// Returns the frames of the n-th of the distinct stacks.
std::vector<std::uint64_t> make_frames(std::uint64_t n) {
  std::vector<std::uint64_t> frames(50, 1000);
  frames[n % frames.size()] = n;
  return frames;
}

BOOST_AUTO_TEST_CASE(stores_equal_stacks_once) {
  constexpr std::uint64_t kStacks = 500, kRecords = 200'000;
  RecordArena arena(std::size_t{1} << 30);
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    const std::vector<std::uint64_t> frames = make_frames(i % kStacks);
    sdk::Record record(1, 1, i);
    record.at_ns = 7 * i;
    record.set_user_frames(frames);
    BOOST_REQUIRE(arena.add(record));
  }
  BOOST_TEST(arena.bytes() < std::size_t{8} << 20);  // instead of 80 MB
  std::uint64_t read = 0;
  arena.for_each(
      [&](const ctprof_record& record, std::uint32_t stack) {
        BOOST_REQUIRE(stack == read % kStacks);
        BOOST_REQUIRE((record.weight == read && record.at_ns == 7 * read));
        BOOST_REQUIRE(std::vector(record.user, record.user + record.user_count) ==
                      make_frames(stack));
        ++read;
      },
      [](const ctprof_change&) {});
  BOOST_TEST(read == kRecords);
}

// Returns the numbers of the stacks of these records, in order.
std::vector<std::uint32_t> number_stacks(std::span<const sdk::Record> records) {
  RecordArena arena(std::size_t{1} << 30);
  for (const sdk::Record& record : records) BOOST_REQUIRE(arena.add(record));
  std::vector<std::uint32_t> numbers;
  arena.for_each([&](const ctprof_record&, std::uint32_t stack) { numbers.push_back(stack); },
                 [](const ctprof_change&) {});
  return numbers;
}

BOOST_AUTO_TEST_CASE(distinguishes_stacks_in_every_field_except_time_and_weight) {
  const std::vector<std::uint64_t> addresses{5, 6, 7};
  std::vector<sdk::Record> records(11, sdk::Record(1, 2, 3));
  for (sdk::Record& record : records) record.set_user(addresses);
  records[1].weight = records[1].at_ns = 9;
  records[2].tgid = 9;
  records[3].tid = 9;
  records[4].start_time_clock_ticks = 9;
  records[5].offer = 9;
  records[6].flags = CTPROF_RECORD_CUT;
  records[7].set_user_frames(addresses);
  records[8].set_user(std::span(addresses).first(2));
  records[9].set_user(std::span(addresses).last(1));
  records[9].set_kernel(std::span(addresses).first(2));
  records[10].element = 9;
  BOOST_TEST(
      number_stacks(records) == (std::vector<std::uint32_t>{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
      boost::test_tools::per_element());
}

// A record of offer 1 that counts the sample.
sdk::Record make_count(const ctprof_record& sample) {
  sdk::Record count(sample.tgid, sample.tid, 1);
  count.offer = 1;
  count.at_ns = sample.at_ns;
  return count;
}

BOOST_AUTO_TEST_CASE(stores_samples_with_their_counts) {
  constexpr std::uint64_t kStacks = 200, kSamples = 200'000;
  RecordArena arena(std::size_t{1} << 30);
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const std::vector<std::uint64_t> frames = make_frames(i % kStacks);
    sdk::Record sample(1, 1 + i % kStacks % 7, 250'000);
    sample.at_ns = 7 * i;
    sample.set_user_frames(frames);
    BOOST_REQUIRE((arena.add(sample) && arena.add(make_count(sample))));
  }
  BOOST_TEST(arena.bytes() < kSamples * 40);  // instead of 64 bytes for both records
  std::uint64_t read = 0;
  arena.for_each(
      [&](const ctprof_record& record, std::uint32_t) {
        const std::uint64_t sample = read / 2, is_count = read % 2;
        BOOST_REQUIRE(record.offer == is_count);
        BOOST_REQUIRE((record.at_ns == 7 * sample && record.tid == 1 + sample % kStacks % 7));
        BOOST_REQUIRE(record.weight == (is_count ? 1 : 250'000));
        BOOST_REQUIRE(record.user_count == (is_count ? 0 : 50));
        ++read;
      },
      [](const ctprof_change&) {});
  BOOST_TEST(read == 2 * kSamples);
}

// Records that look like counts, but differ in one respect.
BOOST_AUTO_TEST_CASE(keeps_records_that_do_not_count_the_last_sample) {
  const std::vector<std::uint64_t> frames{5, 6};
  sdk::Record sample(1, 2, 9);
  sample.at_ns = 3;
  sample.set_user_frames(frames);
  const sdk::Record count = make_count(sample);
  std::vector<sdk::Record> records{sample, count, sample, count, count, sample};
  for (int i = 0; i < 6; ++i) records.insert(records.end(), {sample, count});
  const std::size_t first = records.size() - 12;
  records[first + 1].tid = 4;
  records[first + 3].at_ns = 4;
  records[first + 5].weight = 2;
  records[first + 7].offer = 2;
  records[first + 9].flags = CTPROF_RECORD_UNSEEN;
  records[first + 11].start_time_clock_ticks = 5;
  RecordArena arena(std::size_t{1} << 20);
  for (const sdk::Record& record : records) BOOST_REQUIRE(arena.add(record));
  std::size_t read = 0;
  arena.for_each(
      [&](const ctprof_record& got, std::uint32_t) {
        const sdk::Record& put = records[read++];
        BOOST_TEST_CONTEXT(read) {
          BOOST_TEST(got.offer == put.offer);
          BOOST_TEST(got.tid == put.tid);
          BOOST_TEST(got.at_ns == put.at_ns);
          BOOST_TEST(got.weight == put.weight);
          BOOST_TEST(got.flags == put.flags);
          BOOST_TEST(got.start_time_clock_ticks == put.start_time_clock_ticks);
          BOOST_TEST(got.user_count == put.user_count);
        }
      },
      [](const ctprof_change&) {});
  BOOST_TEST(read == records.size());
}

// A change between a sample and its count keeps its place.
BOOST_AUTO_TEST_CASE(keeps_the_order_of_changes_and_counts) {
  RecordArena arena(std::size_t{1} << 20);
  sdk::Record sample(1, 2, 9);
  ctprof_change change{};
  change.size = sizeof change;
  for (int i = 0; i < 3; ++i)
    BOOST_REQUIRE((arena.add(sample) && arena.add(change) && arena.add(make_count(sample))));
  std::string order;
  arena.for_each(
      [&](const ctprof_record& record, std::uint32_t) { order += record.offer == 1 ? 'n' : 's'; },
      [&](const ctprof_change&) { order += 'c'; });
  BOOST_TEST(order == "scnscnscn");
}

BOOST_AUTO_TEST_CASE(keeps_the_buckets_of_histograms) {
  RecordArena arena(std::size_t{1} << 20);
  sdk::Record record(1, 2, 3);
  for (std::uint32_t bucket = 0; bucket < 5; ++bucket) {
    record.element = bucket;
    BOOST_REQUIRE(arena.add(record));
  }
  std::uint32_t read = 0;
  arena.for_each(
      [&](const ctprof_record& stored, std::uint32_t) { BOOST_TEST(stored.element == read++); },
      [](const ctprof_change&) {});
  BOOST_TEST(read == 5u);
}

BOOST_AUTO_TEST_CASE(does_not_compare_copies) {
  const std::vector<std::uint8_t> memory(100);
  std::vector<sdk::Record> records(2, sdk::Record(1, 2, 3));
  for (sdk::Record& record : records) record.set_user_copy(1, 2, 3, 4, memory);
  BOOST_TEST(number_stacks(records) == std::vector<std::uint32_t>(2, RecordArena::kUnique),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(finds_stored_pieces_among_many) {
  constexpr std::uint64_t kPieces = 20'000;
  PiecePool pool;
  std::vector<std::byte> piece(PiecePool::kSize);
  const auto numbered = [&](std::uint64_t number) {
    std::memcpy(piece.data() + 512, &number, sizeof number);
    return piece.data();
  };
  for (std::uint64_t i = 0; i < kPieces; ++i) BOOST_REQUIRE(pool.intern(numbered(i)) == i);
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    BOOST_REQUIRE(pool.intern(numbered(i)) == i);
    const auto* kept = pool[static_cast<std::uint32_t>(i)];
    BOOST_REQUIRE(std::equal(piece.begin(), piece.end(), kept));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace record_arena_test
