// Tests the compact storage of raw stacks: records are unchanged, and equal parts are stored once.

#include "core/capture/record_arena.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <span>
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
      [&](const ctprof_record& record) {
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
