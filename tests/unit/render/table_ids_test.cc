// Tests rows of tables: their ids, which are unique in a capture, the marks of new and exited rows,
// and the fields that each kind of value fills.

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/tables/table_rows.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::table_ids_test {
namespace {

using namespace hand_made;

// Returns the rows of the thread table as JSON values; one value per cell if `is_long`.
std::vector<boost::json::value> rows_of(const Snapshot& capture, bool is_long) {
  TableColumns columns({});
  columns.add(capture);
  StringSink sink;
  TableRows rows({TableFormat::Ndjson, {Entity::Thread}, is_long}, columns, sink);
  rows.add(capture);
  BOOST_REQUIRE(rows.finish());
  std::vector<boost::json::value> read;
  std::istringstream lines(sink.text());
  for (std::string line; std::getline(lines, line);) read.push_back(boost::json::parse(line));
  return read;
}

std::vector<std::string> ids_of(const Snapshot& capture, bool is_long) {
  std::vector<std::string> ids;
  for (const boost::json::value& row : rows_of(capture, is_long)) {
    const std::string id(row.at("id").as_string());
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  }
  return ids;
}

// Returns the ids of the rows whose `mark` is true.
std::vector<std::string> ids_with_mark(const Snapshot& capture, std::string_view mark) {
  std::vector<std::string> ids;
  for (const boost::json::value& row : rows_of(capture, false))
    if (row.at(mark).as_bool()) ids.emplace_back(row.at("id").as_string());
  return ids;
}

BOOST_AUTO_TEST_SUITE(table_ids_test)

// After an exec, the kernel gives a thread the id and start time of its leader, which exits.
BOOST_AUTO_TEST_CASE(a_leader_replaced_by_exec_has_a_unique_id) {
  Snapshot capture = snapshot_at(10, {{7, 50}, {8, 60}, {7, 50}, {7, 50}});
  add_u64(capture, kRun, {1, 2, 3, 4});
  for (const bool is_long : {false, true})
    BOOST_TEST(
        ids_of(capture, is_long) == (std::vector<std::string>{"7@50", "8@60", "7@50#2", "7@50#3"}),
        boost::test_tools::per_element());
}

// Threads 7 and 8 exist at the start; 8 exits. 9 starts; 10 starts and exits.
BOOST_AUTO_TEST_CASE(marks_rows_of_new_and_exited_threads) {
  Snapshot from = snapshot_at(10, {{7, 50}, {8, 60}}),
           until = snapshot_at(20, {{7, 50}, {9, 1500}});
  ExitedThreads ended = exited_at(15, {{8, 60}, {10, 1400}});
  add_u64(from, kRun, {1, 2});
  add_u64(until, kRun, {3, 4});
  add_u64(ended.rows, kRun, {5, 6});
  const auto window = make_window(std::move(from), std::move(until), std::move(ended));
  BOOST_REQUIRE_MESSAGE(window, window.error().text);
  BOOST_TEST(
      ids_of(*window, false) == (std::vector<std::string>{"7@50", "9@1500", "8@60", "10@1400"}),
      boost::test_tools::per_element());
  BOOST_TEST(ids_with_mark(*window, "born") == (std::vector<std::string>{"9@1500", "10@1400"}),
             boost::test_tools::per_element());
  BOOST_TEST(ids_with_mark(*window, "ended") == (std::vector<std::string>{"8@60", "10@1400"}),
             boost::test_tools::per_element());
}

// Returns the fields after `metric` of the rows of one metric, as one text per row.
std::vector<std::string> long_fields(const std::vector<boost::json::value>& rows,
                                     std::string_view metric) {
  std::vector<std::string> found;
  for (const boost::json::value& row : rows) {
    if (row.at("metric").as_string() != metric) continue;
    std::string& fields = found.emplace_back();
    for (const char* field : {"key", "value", "exact", "text", "raw", "gap"})
      if (!row.at(field).is_null())
        fields += (fields.empty() ? "" : " ") + std::string(field) + "=" +
                  boost::json::serialize(row.at(field));
  }
  return found;
}

BOOST_AUTO_TEST_CASE(each_kind_of_value_fills_its_own_fields) {
  Snapshot capture = snapshot_of({{7, 7, "p", "t"}, {8, 8, "q", "u"}});
  add_u64(capture, metric("count", "MonotonicCount", "SumCount"), {UINT64_MAX, {}}, Gap::Denied);
  add_i64(capture, metric("nice", "OrdinalI32", "RangeI32"), {-5, 5});
  add_f64(capture, metric("real", "GaugeF64", "MaxGaugeF64"), {1.5, -0.25});
  add_bool(capture, metric("flag", "Flag", "ModeBool"), {true, false});
  add_text(capture, metric("policy", "CategoricalString", "Mode"), {"FIFO", "a\xff"});
  add_bits(capture, metric("cpus", "CpuSet", "Affinity"), {0b1011, 1});
  add_map(capture, metric("events", "CountMap", "MapSum"), {MapValue{{"a", 1}, {"b", 2}}, {}});
  const std::vector<boost::json::value> rows = rows_of(capture, true);
  const std::vector<std::pair<const char*, std::vector<std::string>>> expected{
      {"count", {"value=18446744073709551615 exact=18446744073709551615", "gap=\"Denied\""}},
      {"nice", {"value=-5", "value=5 exact=5"}},
      {"real", {"value=1.5E0", "value=-2.5E-1"}},
      {"flag", {"value=1 exact=1", "value=0 exact=0"}},
      {"policy", {"text=\"FIFO\"", "text=\"a\xef\xbf\xbd\" raw=\"61ff\""}},
      {"cpus", {"text=\"0-1,3\"", "text=\"0\""}},
      {"events", {"key=\"a\" value=1 exact=1", "key=\"b\" value=2 exact=2", "gap=\"ThreadGone\""}}};
  for (const auto& [name, fields] : expected) {
    BOOST_TEST_CONTEXT(name)
    BOOST_TEST(long_fields(rows, name) == fields, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::table_ids_test
