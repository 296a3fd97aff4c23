// Tests the pools of values that many cells share, and the memory of cells.

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>

#include <array>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/snapshot/column.hpp"
#include "core/snapshot/pool.hpp"

namespace ctprof::tests::pool_test {
namespace {

std::vector<ctprof_entry> entries(const std::vector<std::pair<const char*, std::uint64_t>>& of) {
  std::vector<ctprof_entry> made;
  for (const auto& [key, value] : of)
    made.push_back({{key, static_cast<std::uint32_t>(std::string_view(key).size())}, value});
  return made;
}

BOOST_AUTO_TEST_SUITE(pool_test)

BOOST_AUTO_TEST_CASE(stores_equal_maps_once) {
  Pools pools;
  const Id first = pools.maps.append(entries({{"oom", 1}, {"max", 2}}), pools.texts);
  const std::size_t bytes = pools.maps.bytes();
  BOOST_TEST(pools.maps.append(entries({{"max", 2}, {"oom", 1}}), pools.texts) == first);
  BOOST_TEST(pools.maps.bytes() == bytes);
  for (const auto& other : {entries({{"oom", 1}}), entries({{"oom", 2}, {"max", 1}}),
                            entries({{"oom", 1}, {"min", 2}}), entries({})})
    BOOST_TEST(pools.maps.append(other, pools.texts) != first);
  BOOST_TEST(pools.maps[first].size() == 2u);
  BOOST_TEST(pools.maps[first][0].value == 2u);
}

// There are more maps than the pool can deduplicate; their contents stay correct.
BOOST_AUTO_TEST_CASE(keeps_different_maps_separate) {
  Pools pools;
  std::vector<Id> ids;
  for (std::uint64_t i = 0; i < 20'000; ++i)
    ids.push_back(pools.maps.append(entries({{"a", i}, {"b", i % 7}}), pools.texts));
  for (std::uint64_t i = 0; i < ids.size(); ++i) {
    BOOST_REQUIRE_EQUAL(pools.maps[ids[i]][0].value, i);
    BOOST_REQUIRE_EQUAL(pools.maps[ids[i]][1].value, i % 7);
  }
}

// Plugins fill columns from several threads that share the pools.
BOOST_AUTO_TEST_CASE(several_threads_add_to_one_pool) {
  constexpr std::uint64_t kThreads = 4, kContents = 20'000, kShared = 7;
  Pools pools;
  struct Ids {
    std::vector<Id> texts, words, maps;
  };
  std::array<Ids, kThreads> ids_of_threads;
  // Two threads add each content.
  const auto content = [](std::uint64_t thread, std::uint64_t i) {
    return i * kShared + thread / 2;
  };
  const auto add = [&](std::uint64_t thread) {
    Ids& ids = ids_of_threads[thread];
    for (std::uint64_t i = 0; i < kContents; ++i) {
      const std::uint64_t value = content(thread, i);
      ids.texts.push_back(pools.texts.intern(std::to_string(value)));
      ids.words.push_back(pools.words.intern(std::array{value, value + 1}));
      ids.maps.push_back(pools.maps.append(entries({{"a", value}}), pools.texts));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(add, thread);
  }
  for (std::uint64_t thread = 0; thread < kThreads; ++thread)
    for (std::uint64_t i = 0; i < kContents; ++i) {
      const Ids& ids = ids_of_threads[thread];
      const std::uint64_t value = content(thread, i);
      BOOST_REQUIRE_EQUAL(pools.texts[ids.texts[i]], std::to_string(value));
      BOOST_REQUIRE_EQUAL(pools.words[ids.words[i]][1], value + 1);
      BOOST_REQUIRE_EQUAL(pools.maps[ids.maps[i]][0].value, value);
      BOOST_REQUIRE_EQUAL(ids.words[i], ids_of_threads[thread ^ 1].words[i]);
    }
}

// Stacks are sorted by number, and the weights of duplicates are added.
BOOST_AUTO_TEST_CASE(sorts_and_merges_weighted_stacks) {
  constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();
  StackPool pool;
  const std::vector<ctprof_stack> unsorted{{7, 1}, {3, 2}, {7, 4}, {5, kMaxU64}, {5, 1}};
  const auto kept = pool[pool.append(unsorted)];
  BOOST_REQUIRE_EQUAL(kept.size(), 3u);
  BOOST_TEST((kept[0].stack == 3 && kept[0].weight == 2));
  BOOST_TEST((kept[1].stack == 5 && kept[1].weight == kMaxU64));
  BOOST_TEST((kept[2].stack == 7 && kept[2].weight == 5));
  BOOST_TEST(pool[pool.append({})].empty());
}

// No page is resident before a row is written.
BOOST_AUTO_TEST_CASE(does_not_touch_reserved_memory_of_a_column) {
  constexpr std::size_t kRows = 1024;
  MetricDef def;
  def.storage = Storage::U64;
  Column column(std::move(def), 0, Gap::Untouched);
  column.reserve(kRows);
  column.resize(kRows, Gap::Untouched);
  unsigned char resident = 0;
  BOOST_REQUIRE(::mincore(column.u64().data(), 1, &resident) == 0);
  BOOST_TEST((resident & 1) == 0);
  BOOST_TEST(column.u64()[0] == 0u);
}

std::uint32_t stack_of(StackPool& pool, const std::vector<std::uint64_t>& offsets) {
  const std::uint32_t module = pool.table.add_module({Module::Kind::File, "/bin/p", {}, 0});
  std::vector<Frame> frames;
  for (const std::uint64_t offset : offsets) frames.push_back({offset, module, false});
  return pool.table.add_stack(frames, WalkEnd::Root);
}

// Each pool numbers its stacks independently.
BOOST_AUTO_TEST_CASE(copies_stacks_of_another_pool) {
  StackPool pool, other;
  stack_of(pool, {9});
  const std::uint32_t own_stack = stack_of(pool, {1, 2});
  const std::uint32_t other_stack = stack_of(other, {1, 2});
  BOOST_REQUIRE(own_stack != other_stack);
  const Id set = other.append(std::vector<ctprof_stack>{{other_stack, 5}});
  std::vector<ctprof_stack> stacks;
  pool.add_set_to(other, set, stacks);
  // The other pool grows after the first stack was copied.
  const Id more = other.append(std::vector<ctprof_stack>{{stack_of(other, {7, 2}), 6}});
  pool.add_set_to(other, more, stacks);
  pool.add_set_to(pool, pool.append(stacks), stacks);
  BOOST_REQUIRE_EQUAL(stacks.size(), 4u);
  BOOST_TEST((stacks[0].stack == own_stack && stacks[0].weight == 5));
  BOOST_TEST((stacks[1].stack == stack_of(pool, {7, 2}) && stacks[1].weight == 6));
  BOOST_TEST((stacks[2].stack == stacks[0].stack && stacks[3].stack == stacks[1].stack));
  BOOST_TEST(total_weight(stacks) == 22u);
}

// The counter takes the cells in runs of 255.
BOOST_AUTO_TEST_CASE(counts_the_gaps_of_long_columns) {
  for (const std::size_t cells : {0, 1, 254, 255, 256, 257, 510, 511, 512, 1000}) {
    std::vector<ctprof_gap> gaps(cells, CTPROF_DENIED);
    gaps.resize(cells + 3, CTPROF_VALUE);
    GapCounts counts{};
    count_gaps(gaps, counts);
    BOOST_TEST(counts[CTPROF_DENIED] == cells);
    BOOST_TEST(counts[0] == 3u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::pool_test
