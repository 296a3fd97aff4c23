// Tests the rows of entities of plugins in files: they survive both layouts, in snapshots and in
// windows. What this version cannot read is kept, and written again.

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/window/make_window.hpp"
#include "tests/unit/support/column_lines.hpp"
#include "tests/unit/support/idle_host.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::tests::file_entities_test {
namespace {

using hand_made::Cells;

constexpr std::uint64_t kSecond = 1'000'000'000;

Entity gadget() { return *find_or_add_plugin_entity("gadget"); }

MetricDef gadget_metric(const char* name, const char* newtype, const char* rule) {
  MetricDef def = hand_made::metric(name, newtype, rule, gadget());
  def.file_path = "none";
  def.file_absent = "omit";
  return def;
}

// One row: a name, a counter and a level.
struct Gadget {
  std::optional<std::string> name;
  std::optional<std::uint64_t> count, level;
};

Snapshot host_with(const std::vector<Gadget>& gadgets, std::uint64_t boottime_ns) {
  Snapshot snapshot = idle_host_snapshot(1);
  snapshot.meta.boot_id = "b";
  snapshot.meta.start.boottime_ns = boottime_ns;
  snapshot.table(gadget()).rows = gadgets.size();
  Cells<std::string> names;
  Cells<std::uint64_t> counts, levels;
  for (const Gadget& one : gadgets) {
    names.push_back(one.name);
    counts.push_back(one.count);
    levels.push_back(one.level);
  }
  hand_made::add_text(snapshot, gadget_metric("gadget.name", "IdText", "Key"), names);
  hand_made::add_u64(snapshot, gadget_metric("gadget_count", "MonotonicCount", "SumCount"), counts,
                     Gap::Denied);
  hand_made::add_u64(snapshot, gadget_metric("gadget_level", "GaugeCount", "MaxGaugeCount"),
                     levels);
  DerivedDef mean;
  mean.name = "gadget_mean";
  mean.entity = gadget();
  mean.expression = "gadget_count / gadget_level";
  mean.unit = "ratio";
  mean.family = "gauge";
  mean.section = "derived";
  snapshot.derived.push_back(std::move(mean));
  return snapshot;
}

Snapshot small_host() {
  return host_with({{"a", 1, 10}, {"b", {}, 20}, {std::string("\xff\"", 2), 3, {}}}, kSecond);
}

Snapshot small_window() {
  const Snapshot before = host_with({{"a", 1, 10}, {"gone", 5, 50}}, kSecond);
  Snapshot after = host_with({{"new", 7, 70}, {"a", 4, 12}}, 20 * kSecond);
  auto made = make_window(before, std::move(after), {}, "one", "two");
  BOOST_REQUIRE_MESSAGE(made.has_value(), made.error().text);
  return std::move(*made);
}

BOOST_AUTO_TEST_SUITE(file_entities_test)

BOOST_AUTO_TEST_CASE(columns_contain_the_rows) {
  const Snapshot made = small_host();
  const std::string bytes = to_file_bytes(made);
  const Snapshot again = load(bytes);
  BOOST_TEST(again.table(gadget()).rows == 3u);
  BOOST_TEST(difference(made, again) == "");
  BOOST_TEST((to_file_bytes(again) == bytes));
}

BOOST_AUTO_TEST_CASE(a_window_contains_both_ends_and_rows_that_vanished) {
  const Snapshot made = small_window();
  const Opening& opening = made.window->openings[static_cast<std::size_t>(gadget())];
  BOOST_TEST(opening.started == (std::vector<std::uint8_t>{1, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(opening.find("gadget_count")->u64()[0] == 0u);
  BOOST_TEST(opening.find("gadget_count")->u64()[1] == 1u);
  BOOST_TEST(made.window->opening_only->table(gadget()).rows == 1u);
  const std::string bytes = to_file_bytes(made);
  const Snapshot again = load(bytes);
  BOOST_TEST(difference(made, again) == "");
  BOOST_TEST((to_file_bytes(again) == bytes));
}

// Older versions refuse unknown entities in these places.
BOOST_AUTO_TEST_CASE(only_the_summary_mentions_the_entity) {
  for (const Snapshot& made : {small_host(), small_window()})
    for (const std::string& line : lines_of(to_file_bytes(made)))
      if (!line.starts_with("{\"kind\":\"summary\""))
        BOOST_TEST(line.find("gadget") == std::string::npos, line.substr(0, 200));
}

BOOST_AUTO_TEST_CASE(an_entity_that_cannot_be_read_is_kept) {
  const Lines lines = lines_of(to_file_bytes(small_host()));
  const std::size_t summary = lines.size() - 2;
  for (const auto& [what, instead] : std::vector<std::pair<std::string, std::string>>{
           {"{\"gadget\":{\"registry\"", "{\"gadget\":{\"newer\":1,\"registry\""},
           {"{\"gadget\":{\"registry\"", "{\"Gadget!\":{\"registry\""},
           {"\"newtype\":\"MonotonicCount\"", "\"newtype\":\"NewerCount\""},
           {"\"tables\":[{", "\"tables\":[1,{"},
           {"\"first_row\":0", "\"first_row\":1"}}) {
    const Lines changed = replace_in_line(lines, summary, what, instead);
    const Snapshot read = load(compress_lines(changed));
    BOOST_TEST_CONTEXT(instead) {
      BOOST_TEST(read.table(gadget()).columns.size() == 0u);
      const Lines again = lines_of(to_file_bytes(read));
      BOOST_TEST(again[again.size() - 2].find(instead) != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_entities_test
