// Tests ListedRows: batches end at the limit of rows. Tests the list of a process's other threads.

#include "ctprof/listing.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <vector>

#include "ctprof/other_threads.hpp"
#include "tests/unit/support/files.hpp"

namespace listing_test {
namespace sdk = ctprof::sdk;
namespace {

struct NoColumns {
  explicit NoColumns(const sdk::Batch&) {}
};

// Replaces the core: provides a limited number of batches, and records the committed rows.
struct Core {
  int batches = 1000;
  ctprof_batch batch{};
  std::vector<std::uint32_t> commits;

  static ctprof_batch* room(void* core) {
    return static_cast<Core*>(core)->batches-- > 0 ? &static_cast<Core*>(core)->batch : nullptr;
  }
  static void commit(void* core, std::uint32_t rows) {
    static_cast<Core*>(core)->commits.push_back(rows);
  }
};

// Adds rows until there are `rows` of them or no more batch. Returns the number of added rows.
std::uint32_t add_rows(Core& core, std::uint32_t rows) {
  ctprof_listing abi{};
  abi.size = sizeof(abi);
  abi.core = &core;
  abi.room = Core::room;
  abi.commit = Core::commit;
  const ctprof_array none{};
  const sdk::Listing listing(abi, none, none);
  sdk::ListedRows<NoColumns> listed(listing);
  std::uint32_t added = 0;
  while (added < rows && listed.add()) {
    BOOST_TEST_REQUIRE(listed.row() == added % CTPROF_MAX_ROWS);
    ++added;
  }
  listed.commit();
  return added;
}

BOOST_AUTO_TEST_SUITE(listing_test)

BOOST_AUTO_TEST_CASE(a_batch_has_at_most_the_maximum_of_rows) {
  Core core;
  BOOST_TEST(add_rows(core, 2 * CTPROF_MAX_ROWS + 3) == 2 * CTPROF_MAX_ROWS + 3);
  BOOST_TEST(core.commits == (std::vector<std::uint32_t>{CTPROF_MAX_ROWS, CTPROF_MAX_ROWS, 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_full_batch_is_committed_once) {
  Core core;
  BOOST_TEST(add_rows(core, CTPROF_MAX_ROWS) == CTPROF_MAX_ROWS);
  BOOST_TEST(core.commits == std::vector<std::uint32_t>{CTPROF_MAX_ROWS},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(stops_when_there_is_no_more_room) {
  Core core;
  core.batches = 1;
  BOOST_TEST(add_rows(core, CTPROF_MAX_ROWS + 1) == CTPROF_MAX_ROWS);
  BOOST_TEST(core.commits.size() == 1u);
}

BOOST_AUTO_TEST_CASE(nothing_is_committed_without_rows) {
  Core core;
  BOOST_TEST(add_rows(core, 0) == 0u);
  BOOST_TEST(core.commits.empty());
}

BOOST_AUTO_TEST_CASE(lists_few_threads_other_than_the_main_thread) {
  const TemporaryDirectory proc;
  const std::filesystem::path task = proc / "7/task";
  for (const char* name : {"7", "0", "x", "8x"}) std::filesystem::create_directories(task / name);
  for (int tid = 100; tid < 120; ++tid)
    std::filesystem::create_directory(task / std::to_string(tid));
  const sdk::Fd fd(::open(proc.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  BOOST_REQUIRE(fd);
  const auto is_other = [](std::uint64_t tid) { return tid >= 100 && tid < 120; };
  for (const std::size_t most : {0u, 3u, 8u, 20u, 30u}) {
    const std::vector<std::uint64_t> tids = sdk::other_threads(fd.get(), 7, most);
    BOOST_TEST(tids.size() == std::min<std::size_t>(most, 20));
    BOOST_TEST(std::ranges::all_of(tids, is_other));
  }
  BOOST_TEST(sdk::other_threads(fd.get(), 7).size() == 8u);
  BOOST_TEST(sdk::other_threads(fd.get(), 6).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace listing_test
