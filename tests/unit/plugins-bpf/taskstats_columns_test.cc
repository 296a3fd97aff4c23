// Tests which metric comes from which member of struct taskstats, with a struct whose values all
// differ.

#include <boost/test/unit_test.hpp>

#include <linux/taskstats.h>

#include <cstring>

#include "plugins/taskstats/columns.hpp"
#include "plugins/taskstats/decode.hpp"
#include "tests/unit/support/cells_by_name.hpp"

namespace taskstats_columns_test {
using namespace ctprof::taskstats;

namespace {

using Stats = struct ::taskstats;

// The version of the oldest supported headers. taskstats_decode_test.cc tests later members on
// recorded structs.
constexpr std::uint16_t kVersion = 13;
constexpr std::size_t kSize = offsetof(Stats, wpcopy_delay_total) + sizeof(std::uint64_t);

struct TaskstatsColumns {
  static constexpr auto kOffers = ExitedThreadMetrics::kOffers;
  explicit TaskstatsColumns(const ctprof::sdk::Batch& batch)
      : wanted(ExitedThreadMetrics::select_columns(batch)) {}
  std::vector<ExitedThreadMetrics::SelectedColumn> wanted;
};

struct Member {
  const char* metric;
  __u64 Stats::*member;
};

constexpr Member kMembers[] = {
    {"cpu_delay_count", &Stats::cpu_count},
    {"cpu_delay_total_ns", &Stats::cpu_delay_total},
    {"blkio_delay_count", &Stats::blkio_count},
    {"blkio_delay_total_ns", &Stats::blkio_delay_total},
    {"swapin_delay_count", &Stats::swapin_count},
    {"swapin_delay_total_ns", &Stats::swapin_delay_total},
    {"freepages_delay_count", &Stats::freepages_count},
    {"freepages_delay_total_ns", &Stats::freepages_delay_total},
    {"thrashing_delay_count", &Stats::thrashing_count},
    {"thrashing_delay_total_ns", &Stats::thrashing_delay_total},
    {"compact_delay_count", &Stats::compact_count},
    {"compact_delay_total_ns", &Stats::compact_delay_total},
    {"wpcopy_delay_count", &Stats::wpcopy_count},
    {"wpcopy_delay_total_ns", &Stats::wpcopy_delay_total},
    {"hiwater_rss_bytes", &Stats::hiwater_rss},
    {"hiwater_vm_bytes", &Stats::hiwater_vm},
    {"run_time_ns", &Stats::cpu_run_virtual_total},
    {"voluntary_csw", &Stats::nvcsw},
    {"nonvoluntary_csw", &Stats::nivcsw},
    {"minflt", &Stats::ac_minflt},
    {"majflt", &Stats::ac_majflt},
    {"rchar", &Stats::read_char},
    {"wchar", &Stats::write_char},
    {"read_bytes", &Stats::read_bytes},
    {"write_bytes", &Stats::write_bytes},
    {"cancelled_write_bytes", &Stats::cancelled_write_bytes},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(taskstats_columns_test)

BOOST_AUTO_TEST_CASE(fills_every_column_from_its_member) {
  Stats stats{};
  CellTexts expected;
  std::uint64_t value = 100;
  for (const Member& member : kMembers) {
    stats.*member.member = value;
    expected[member.metric] = std::to_string(value++);
  }
  expected["wait_time_ns"] = expected["cpu_delay_total_ns"];
  expected["timeslices"] = expected["cpu_delay_count"];
  const Layout layout(kVersion, kSize);
  const auto bytes = std::as_bytes(std::span(&stats, 1)).first(kSize);
  const CellTexts found = fill_one_row<TaskstatsColumns>([&](TaskstatsColumns& columns) {
    for (auto& cells : columns.wanted) cells.column.put(0, read_field(bytes, layout, cells.field));
  });
  for (const auto& [name, cell] : found) {
    const auto it = expected.find(name);
    BOOST_TEST(cell == (it == expected.end() ? "Unsupported" : it->second), name);
  }
  BOOST_TEST(found.size() == kFields);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace taskstats_columns_test
