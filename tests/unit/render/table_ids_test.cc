// Ids of rows of tables: each names one row of its capture.

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/tables/table_rows.hpp"
#include "tests/unit/support/window_made.hpp"

namespace ctprof::table_ids_test {
namespace {

using namespace hand_made;

std::vector<std::string> ids_of(const Snapshot& capture, bool is_long) {
  TableColumns columns({});
  columns.add(capture);
  StringSink sink;
  TableRows rows({TableForm::Ndjson, {Entity::Thread}, is_long}, columns, sink);
  rows.add(capture);
  BOOST_REQUIRE(rows.finish());
  std::vector<std::string> ids;
  std::istringstream lines(sink.text());
  for (std::string line; std::getline(lines, line);) {
    const std::string id(boost::json::parse(line).at("id").as_string());
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  }
  return ids;
}

BOOST_AUTO_TEST_SUITE(table_ids_test)

// The kernel gives a thread that calls exec the id and the start time of its leader, which ends.
BOOST_AUTO_TEST_CASE(a_leader_that_exec_replaced_has_an_id_of_its_own) {
  Snapshot capture = taken(10, {{7, 50}, {8, 60}, {7, 50}, {7, 50}});
  add_u64(capture, kRun, {1, 2, 3, 4});
  for (const bool is_long : {false, true})
    BOOST_TEST(
        ids_of(capture, is_long) == (std::vector<std::string>{"7@50", "8@60", "7@50#2", "7@50#3"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::table_ids_test
