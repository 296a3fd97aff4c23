// Tests the labels of maps in files: both layouts have them, for threads, the host and entities of
// plugins. What this version cannot use is kept, and written again.

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/support/column_lines.hpp"
#include "tests/unit/support/idle_host.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::tests::file_labels_test {
namespace {

Entity gadget() { return *find_or_add_plugin_entity("gadget"); }

MetricDef labelled(const char* name, Entity entity, const char* labels) {
  MetricDef def = hand_made::metric(name, "CountMap", "MapSum", entity);
  def.file_path = default_file_path(entity, name);
  def.file_absent = "omit";
  def.labels = labels;
  return def;
}

Snapshot host_with_labels() {
  Snapshot snapshot = idle_host_snapshot(1);
  MetricDef name = hand_made::metric("gadget.name", "IdText", "Key", gadget());
  name.file_path = "none";
  name.file_absent = "omit";
  snapshot.table(gadget()).rows = 1;
  hand_made::add_text(snapshot, name, {"left"});
  hand_made::add_map(snapshot, labelled("gadget_moved", gadget(), "device,direction"),
                     {hand_made::MapValue{{"sda,read", 1}}});
  hand_made::add_map(snapshot, labelled("mine_events", Entity::Thread, "kind"),
                     {hand_made::MapValue{{"a,b%", 2}}});
  return snapshot;
}

std::string labels_in(const Snapshot& snapshot, Entity entity, const char* name) {
  const Column* column = snapshot.table(entity).find(name);
  return column ? column->def().labels : "no column";
}

void check_labels(const Snapshot& snapshot) {
  BOOST_TEST(labels_in(snapshot, gadget(), "gadget_moved") == "device,direction");
  BOOST_TEST(labels_in(snapshot, Entity::Thread, "mine_events") == "kind");
}

const std::string kLabels =
    "\"labels\":{\"gadget_moved\":\"device,direction\",\"mine_events\":\"kind\"}";

BOOST_AUTO_TEST_SUITE(file_labels_test)

BOOST_AUTO_TEST_CASE(columns_contain_the_labels) {
  const Snapshot made = host_with_labels();
  const std::string bytes = to_file_bytes(made);
  const Snapshot again = load(bytes);
  check_labels(again);
  BOOST_TEST(difference(made, again) == "");
  BOOST_TEST((to_file_bytes(again) == bytes));
}

// Versions without labels do not read an entity whose definitions have unknown fields.
BOOST_AUTO_TEST_CASE(labels_are_one_member_of_the_registry) {
  const Lines lines = lines_of(to_file_bytes(host_with_labels()));
  BOOST_TEST(lines[0].find(kLabels) != std::string::npos);
  for (std::size_t i = 1; i < lines.size(); ++i)
    BOOST_TEST(lines[i].find("direction") == std::string::npos, lines[i].substr(0, 200));
}

BOOST_AUTO_TEST_CASE(labels_that_cannot_be_used_are_kept) {
  const Lines lines = lines_of(to_file_bytes(host_with_labels()));
  for (const auto& [what, instead] : std::vector<std::pair<std::string, std::string>>{
           {"\"mine_events\":\"kind\"", "\"mine_events\":\"a,b,c\""},
           {"\"mine_events\":\"kind\"", "\"mine_events\":[1]"},
           {"\"mine_events\":\"kind\"", "\"newer_events\":\"kind\""}}) {
    const Snapshot read = load(compress_lines(replace_in_line(lines, 0, what, instead)));
    BOOST_TEST_CONTEXT(instead) {
      BOOST_TEST(labels_in(read, Entity::Thread, "mine_events") == "");
      BOOST_TEST(labels_in(read, gadget(), "gadget_moved") == "device,direction");
      const std::string header = lines_of(to_file_bytes(read))[0];
      BOOST_TEST(header.find(instead) != std::string::npos);
      BOOST_TEST(header.find("\"gadget_moved\":\"device,direction\"") != std::string::npos);
    }
  }
  const Snapshot read = load(compress_lines(replace_in_line(lines, 0, kLabels, "\"labels\":7")));
  BOOST_TEST(labels_in(read, gadget(), "gadget_moved") == "");
  BOOST_TEST(lines_of(to_file_bytes(read))[0].find("\"labels\":7") != std::string::npos);
}

// The entity stays text, and its labels stay with it.
BOOST_AUTO_TEST_CASE(labels_of_an_entity_that_cannot_be_read_are_kept) {
  const Lines lines = lines_of(to_file_bytes(host_with_labels()));
  const Snapshot read = load(
      compress_lines(replace_in_line(lines, lines.size() - 2, "\"tables\":[{", "\"tables\":[1,{")));
  BOOST_TEST(read.table(gadget()).columns.size() == 0u);
  BOOST_TEST(lines_of(to_file_bytes(read))[0].find(kLabels) != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_labels_test
