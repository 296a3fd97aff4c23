// Tests the cells in a line of the columns layout: strict JSON, cells of every kind, CPU sets, and
// bytes as text.

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cpu_ranges.hpp"
#include "core/base/json_scanner.hpp"
#include "core/base/text.hpp"
#include "core/file/columns/cell_reader.hpp"

namespace ctprof::tests::file_cells_test {
namespace {

BOOST_AUTO_TEST_SUITE(file_cells_test)

BOOST_AUTO_TEST_CASE(the_scanner_accepts_only_json) {
  const auto wrong = [](std::string_view text) {
    Scanner in(text);
    in.skip();
    return in.has_failed() || !in.at_end();
  };
  for (const char* good : {"0", "-0", "1.5e3", "\"\\u00e4\\ud83d\\ude00\"", "[]", "{}", "[1, 2]",
                           "{\"a\" : [null , true,false]}", " \"x\" "})
    BOOST_TEST(!wrong(good), good);
  for (const char* bad :
       {"",         "01",       ".5",         "1.",         "+1",          "[1,]",
        "[,1]",     "{\"a\"}",  "{\"a\":1,}", "\"\\x\"",    "\"\\ud800\"", "\"\\udc00\"",
        "\"\x01\"", "\"\xff\"", "nul",        "[1 2]",      "\"",          "[",
        "1 2",      "--1",      "1e",         "\"\\u12g4\""})
    BOOST_TEST(wrong(bad), bad);
  BOOST_TEST(!wrong(std::string(32, '[') + "1" + std::string(32, ']')));
  BOOST_TEST(wrong(std::string(33, '[') + std::string(33, ']')));
  Scanner number("18446744073709551615");
  BOOST_TEST(number.number() == std::numeric_limits<std::uint64_t>::max());
  Scanner too_large("18446744073709551616");
  too_large.number();
  BOOST_TEST(too_large.has_failed());
}

BOOST_AUTO_TEST_CASE(reads_numbers_up_to_their_end) {
  Scanner in("[0,7 ,12345678901234567890, 18446744073709551615,1]");
  std::vector<std::uint64_t> read;
  for (in.enter('['); in.next(']');) read.push_back(in.number());
  BOOST_TEST(!in.has_failed());
  BOOST_TEST(read == (std::vector<std::uint64_t>{0, 7, 12345678901234567890u,
                                                 std::numeric_limits<std::uint64_t>::max(), 1}),
             boost::test_tools::per_element());
  for (const char* bad : {"[01]", "[00]", "[1.0]", "[1e2]", "[-1]", "[1-]", "[]", "[ ]", "[null]",
                          "[18446744073709551616]", "[99999999999999999999]", "[1", "["}) {
    Scanner wrong(bad);
    wrong.enter('[');
    wrong.next(']');
    wrong.number();
    wrong.next(']');
    BOOST_TEST(wrong.has_failed(), bad);
  }
}

// Runs of plain numbers have a fast path. It must give the same values and the same errors at the
// same places as reading them one by one.
BOOST_AUTO_TEST_CASE(the_fast_path_reads_plain_numbers_equally) {
  const std::vector<std::string> items = {"0",
                                          "7",
                                          "12345678",
                                          "123456789",
                                          "1234567890123456",
                                          "9999999999999999999",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "00",
                                          "0123456789",
                                          "1234567/",
                                          "1234567:9",
                                          "12345678\xb0",
                                          "1.0",
                                          "-1",
                                          "null",
                                          "1,2,3",
                                          "1,2,3,4,5,6,7,8,9",
                                          "/",
                                          ":",
                                          "?",
                                          "1.2",
                                          " 5",
                                          "5 ",
                                          "",
                                          "[1]"};
  MetricDef def;
  def.name = "some";
  const auto one_by_one = [](const std::string& text, std::size_t rows,
                             std::vector<std::uint64_t>& values) {
    Scanner in(text);
    for (in.enter('['); in.next(']');) {
      if (values.size() == rows) return in.fail("column 'some' is too long"), in.error_text();
      values.push_back(in.consume_null() ? 0 : in.number());
    }
    if (!in.has_failed() && values.size() < rows)
      in.fail("column 'some' has " + std::to_string(values.size()) + " cells instead of " +
              std::to_string(rows));
    return in.error_text();
  };
  std::size_t sound = 0;
  for (const std::string& a : items)
    for (const std::string& b : items)
      for (const std::string tail : {"]", "]                         ", ",1,1,1,1,1,1,1,1,1,1,1]"})
        for (const std::size_t rows : {2u, 4u, 14u}) {
          const std::string text = "[" + a + "," + b + (rows == 2 ? "" : ",3,44") + tail;
          std::vector<std::uint64_t> values;
          const std::string why = one_by_one(text, rows, values);
          Pools pools;
          columns::PoolBudget budget(1 << 20);
          Column column(def, rows, Gap::Untouched);
          Scanner in(text);
          columns::CellReader(pools, budget).read(in, {0, rows}, column);
          BOOST_TEST(in.error_text() == why, text);
          if (!why.empty()) continue;
          ++sound;
          for (std::size_t row = 0; row < rows; ++row)
            if (column.has_value(row)) BOOST_TEST(column.u64()[row] == values[row], text);
        }
  BOOST_TEST(sound > 300u);
}

// Returns a column that was read from this text, cell by cell, or "refused".
std::string read_column(Storage storage, const std::string& text, std::size_t rows) {
  MetricDef def;
  def.name = "some";
  def.storage = storage;
  Pools pools;
  columns::PoolBudget budget(1 << 20);
  Column column(def, rows, Gap::Untouched);
  Scanner in(text);
  columns::CellReader(pools, budget).read(in, {0, rows}, column);
  if (in.has_failed()) return "refused";
  std::string read;
  for (std::size_t row = 0; row < rows; ++row) {
    read += std::string(name(column.gap(row))) + " ";
    if (!column.has_value(row)) continue;
    if (storage == Storage::U64) read += std::to_string(column.u64()[row]);
    if (storage == Storage::I64) read += std::to_string(column.i64()[row]);
    if (storage == Storage::Bool) read += std::to_string(column.bools()[row]);
    if (storage == Storage::String) read += pools.texts[column.ids()[row]];
    if (storage == Storage::Bitset) read += format_cpu_ranges(pools.words[column.ids()[row]]);
    read += ";";
  }
  return read;
}

// Text without blanks takes the fast path; text with blanks is read cell by cell.
BOOST_AUTO_TEST_CASE(ignores_blanks) {
  const std::vector<std::pair<Storage, std::vector<std::string>>> cells = {
      {Storage::U64, {"0", "7", "12345", "null", "-1", "true"}},
      {Storage::I64,
       {"0", "7", "-7", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "null"}},
      {Storage::Bool, {"true", "false", "null", "1", "truf", "falsy"}},
      {Storage::String, {"\"\"", "\"ab\"", "\"abc\"", "\"a\\u0062\"", "\"a,\"", "null", "1"}},
      {Storage::Bitset, {"\"0-3\"", "\"8\"", "\"\"", "null", "\"x\""}}};
  std::size_t sound = 0;
  for (const auto& [storage, items] : cells)
    for (std::size_t which = 0; which < items.size() * items.size() * items.size(); ++which)
      for (const std::size_t again : {1u, 5u}) {
        std::string dense = "[", wide = "[ ";
        std::size_t rows = 0;
        for (std::size_t rest = which, i = 0; i < 3 * again; ++i, ++rows) {
          const std::string& item = items[rest % items.size()];
          dense += (rows ? "," : "") + item;
          wide += (rows ? " , " : "") + item;
          if (i % again == again - 1) rest /= items.size();
        }
        for (const std::size_t requested_rows : {rows - 1, rows, rows + 1}) {
          const std::string read = read_column(storage, dense + "]", requested_rows);
          BOOST_TEST(read == read_column(storage, wide + " ]", requested_rows), dense);
          sound += read != "refused";
        }
      }
  BOOST_TEST(sound > 500u);
}

BOOST_AUTO_TEST_CASE(reads_repeated_texts) {
  Scanner in(R"(["ab", "ab","abc","a","a\u0062",{"ab" :1}])");
  in.enter('[');
  in.next(']');
  BOOST_TEST(in.text() == "ab");
  BOOST_TEST(!in.was_escaped());
  BOOST_TEST((in.next(']') && in.consume_text("ab")));
  BOOST_TEST((in.next(']') && !in.consume_text("ab") && in.text() == "abc"));
  BOOST_TEST((in.next(']') && !in.consume_text("ab") && in.text() == "a"));
  BOOST_TEST((in.next(']') && !in.consume_text("ab") && in.text() == "ab" && in.was_escaped()));
  BOOST_TEST((in.next(']') && in.enter('{') && in.next('}') && in.consume_key("ab")));
  BOOST_TEST(in.number() == 1u);
  BOOST_TEST((!in.next('}') && !in.next(']') && in.at_end()));
  for (const char* cut : {"\"ab", "\"a", "\"", ""})
    BOOST_TEST(!Scanner(cut).consume_text("ab"), cut);
}

// Consecutive maps have equal keys or different ones.
BOOST_AUTO_TEST_CASE(reads_maps_of_different_keys) {
  const std::vector<std::string> maps = {R"({"a":1,"b":2,"c":3})",
                                         R"({"a":4,"b":5})",
                                         R"({"a":6,"b":7,"c":8,"d":9})",
                                         R"({"c":1,"b":2,"a":3})",
                                         R"({"c":4,"b":5})",
                                         R"({"c":6})",
                                         R"({"b":1,"b":2})",
                                         R"([["a",1],["b",2]])",
                                         R"([["b",3],["a",4]])",
                                         R"({"\"":1,"\u0061":2})",
                                         R"({"\"":3,"a":4})",
                                         R"({"":1})",
                                         R"({"":2,"a":3})",
                                         R"({})"};
  const std::vector<std::string> expected = {"a1b2c3", "a4b5", "a6b7c8d9", "a3b2c1", "b5c4",
                                             "c6",     "b2",   "a1b2",     "a4b3",   "\"1a2",
                                             "\"3a4",  "1",    "2a3",      ""};
  std::string line = "[";
  for (const std::string& map : maps) line += (line.size() > 1 ? "," : "") + map;
  MetricDef def;
  def.storage = Storage::Map;
  Column column(def, maps.size(), Gap::Untouched);
  Pools pools;
  columns::PoolBudget budget(1 << 20);
  columns::CellReader cells(pools, budget);
  line += "]";
  Scanner in(line);
  cells.read(in, {0, maps.size()}, column);
  BOOST_TEST(in.error_text() == "");
  for (std::size_t row = 0; row < maps.size(); ++row) {
    std::string read;
    for (const ctprof_entry& entry : pools.maps[column.ids()[row]])
      read += std::string(entry.key.data, entry.key.size) + std::to_string(entry.value);
    BOOST_TEST(read == expected[row], maps[row]);
  }
}

BOOST_AUTO_TEST_CASE(reads_cpu_sets_as_text) {
  std::vector<std::uint64_t> words;
  for (const std::string text : {"", "0", "63", "64", "0-3,8", "0-63", "0-127", "1,3,5,130"}) {
    BOOST_REQUIRE(parse_cpu_ranges(text, 1024, words));
    BOOST_TEST(format_cpu_ranges(words) == text);
  }
  for (const char* text : {",", "1,", "3-1", "1,1", "2,1", "0-2,2", "x", "1024", "-1", "1-", "0 1"})
    BOOST_TEST(!parse_cpu_ranges(text, 1024, words), text);
}

BOOST_AUTO_TEST_CASE(reads_hexadecimal_bytes) {
  const std::string bytes(
      "\x00\x7f\xff"
      "a",
      4);
  BOOST_TEST(to_hex(bytes) == "007fff61");
  BOOST_TEST((from_hex("007fff61") == bytes));
  for (const char* text : {"0", "0g", "0X", "F0"}) BOOST_TEST(!from_hex(text), text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_cells_test
