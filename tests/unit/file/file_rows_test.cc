// Tests that the slices in which the text of a rows file arrives change neither the cells nor
// the errors, and that all spellings of a row are read.

#include <boost/test/unit_test.hpp>

#include <array>
#include <random>

#include "core/file/layout/limits.hpp"
#include "core/file/read/load_text.hpp"
#include "core/file/write/document.hpp"
#include "core/snapshot/file_extras.hpp"
#include "tests/unit/support/idle_host.hpp"

namespace ctprof::tests::file_rows_test {
namespace {

constexpr int kDamagedTexts = 300;
// Sizes of slices that divide rows, keys and numbers at many places.
constexpr std::array<std::size_t, 3> kSliceSizes{1, 7, 300};

std::string idle_host_text(bool is_busy) {
  HostShape shape;
  shape.threads = 12;
  shape.threads_per_process = 3;
  shape.cgroups = 2;
  shape.is_busy = is_busy;
  StringSink sink;
  BOOST_REQUIRE(Document(IdleHost(shape).make(), shipped_vocabulary()).write(sink).has_value());
  return sink.text();
}

std::string to_text(const Snapshot& snapshot) {
  StringSink sink;
  BOOST_REQUIRE(Document(snapshot, shipped_vocabulary()).write(sink).has_value());
  return sink.text();
}

// Loads the text in slices of all sizes and returns the error, or "".
std::string load_in_slices(const std::string& text) {
  const auto whole = load_text(text, "x", shipped_vocabulary());
  for (const std::size_t slice_bytes : kSliceSizes) {
    const auto sliced = load_text(text, "x", shipped_vocabulary(), slice_bytes);
    BOOST_REQUIRE_EQUAL(whole ? "" : whole.error().text, sliced ? "" : sliced.error().text);
    if (!whole) continue;
    BOOST_REQUIRE_EQUAL(difference(*whole, *sliced), "");
    BOOST_REQUIRE(to_text(*whole) == to_text(*sliced));
  }
  return whole ? "" : whole.error().text;
}

// Returns a foreign file: two plain rows, which predict the keys of the third, and two rows after
// it.
std::string file_with_row(const std::string& third) {
  return R"({"threads":[{"tid":1,"tgid":1,"comm":"a","nice":0},{"tid":2,"tgid":1,"comm":"a","nice":0},)" +
         third +
         R"(,{"tid":4,"tgid":1,"comm":"a","nice":0},{"tid":5,"tgid":1,"comm":"a","nice":0}]})";
}

BOOST_AUTO_TEST_SUITE(file_rows_test)

BOOST_AUTO_TEST_CASE(reads_own_files_equally) {
  for (const bool is_busy : {false, true})
    BOOST_TEST(load_in_slices(idle_host_text(is_busy)) == "");
}

BOOST_AUTO_TEST_CASE(reads_valid_rows_equally) {
  for (const char* more :
       {R"("comm":"a","nice":-20)",
        R"("comm":"","nice":19)",
        R"("comm":"\u00e4\n","nice":0)",
        "\"comm\":\"\xc3\xa4\x7f\",\"nice\":0",
        R"("nice":3)",
        R"("nice":1,"comm":"b")",
        R"("comm":"b","nice":1,"nice":2)",
        R"("comm":"b","nice":-0)",
        R"("comm":"b", "nice":1)",
        R"("comm":"b","nice":1,"new":[{"a":1},{"b":{}}])",
        R"("comm":"b","nice":1,"new":"},{")",
        R"("comm":"b","run_time_ns":18446744073709551615)",
        R"("comm":"b","run_time_ns":9999999999999999999)",
        R"("comm":"b","cpu_affinity":[])",
        R"("comm":"b","cpu_affinity":[0,3,65535])",
        R"("comm":"b","smaps_rollup_kib":{})",
        R"("comm":"b","smaps_rollup_kib":{"Rss":1,"Pss":2},"smaps_rollup_kb":{"Rss":1,"Pss":2})",
        R"("comm":"b","smaps_rollup_kib":{"Rss":1},"smaps_rollup_kb":{"Pss":2})",
        R"("comm":"b","ext_enabled":true)",

        R"("comm":"b","nr_throttled":null)"})
    BOOST_TEST_CONTEXT(more) {
      const std::string third = R"({"tid":3,"tgid":1,)" + std::string(more) + "}";
      BOOST_TEST(load_in_slices(file_with_row(third)) == "");
      BOOST_TEST(load_in_slices(file_with_row(third + ',' + third)) == "");
    }
}

BOOST_AUTO_TEST_CASE(refuses_invalid_rows_equally) {
  for (const char* more : {R"("comm":"a","nice":2147483648)",
                           R"("comm":"a","nice":00)",
                           R"("comm":"a","nice":1.5)",
                           R"("comm":"a","nice":1e2)",
                           R"("comm":"a","nice":-)",
                           R"("comm":"a","nice":"1")",
                           R"("comm":7,"nice":0)",
                           R"("comm":"a" "nice":0)",
                           R"("comm":"a",)",
                           R"("comm":"a","nice":0,,)",
                           R"("comm":"a","nice":tru)",
                           R"("comm":"a","nice":nul)",
                           R"("comm":"a","nice")",
                           R"("comm":"a","run_time_ns":18446744073709551616)",
                           R"("comm":"a","run_time_ns":-1)",
                           R"("comm":"a","cpu_affinity":[1,])",
                           R"("comm":"a","cpu_affinity":[65536])",
                           R"("comm":"a","cpu_affinity":[-1])",
                           R"("comm":"a","cpu_affinity":{})",
                           R"("comm":"a","smaps_rollup_kib":{"Rss":1,})",
                           R"("comm":"a","smaps_rollup_kib":{"Rss":-1})",
                           R"("comm":"a","smaps_rollup_kib":{"Rss":"1"})",
                           R"("comm":"a","smaps_rollup_kib":[1])",
                           "\"comm\":\"\xff\"",
                           "\"comm\":\"\n\"",
                           "\"comm\":\"\xc3\""})
    BOOST_TEST_CONTEXT(more)
  BOOST_TEST(load_in_slices(file_with_row(R"({"tid":3,"tgid":1,)" + std::string(more) + "}")) !=
             "");
  for (const char* third : {"{}", "1", "null", R"("a,)", R"("\u0041,)", R"("},{")", "[", "]", "",
                            R"({"tid":3,"tgid":1}})"})
    BOOST_TEST_CONTEXT(third) BOOST_TEST(load_in_slices(file_with_row(third)) != "");
  BOOST_TEST(load_in_slices(R"({"threads":[{"tid":1,"tgid":1},{"tid":2,"tgid":1},]})") != "");
  BOOST_TEST(load_in_slices(
                 R"({"threads":[{"tid":1,"tgid":1},{"tid":2,"tgid":1},{"tid":3,"tgid":1},)") != "");
}

// A third-party metric whose key contains a JSON escape.
BOOST_AUTO_TEST_CASE(reads_escaped_keys) {
  std::string text = idle_host_text(false);
  for (std::size_t at = 0; (at = text.find("threads[].syscr", at)) != text.npos;)
    text.replace(at, 15, R"(threads[].sy\"cr)");
  std::string sound = text, unsound = text;
  for (std::size_t at = 0; (at = sound.find("\"syscr\":", at)) != sound.npos;)
    sound.replace(at, 8, R"("sy\"cr":)");
  for (std::size_t at = 0; (at = unsound.find("\"syscr\":", at)) != unsound.npos;)
    unsound.replace(at, 8, R"("sy"cr":)");
  BOOST_TEST(load_in_slices(sound) == "");
  BOOST_TEST(load_in_slices(unsound) != "");
}

// Rows without some keys alternate with rows that have them.
BOOST_AUTO_TEST_CASE(reads_rows_with_changing_keys) {
  std::string text = R"({"threads":[)";
  for (int tid = 1; tid < 300; ++tid) {
    text += R"({"tid":)" + std::to_string(tid) + R"(,"tgid":1)" +
            (tid % 3 ? R"(,"nice":5,"comm":"x")" : "");
    text += tid % 7 ? R"(,"minflt":1,"majflt":2},)" : R"(,"majflt":2,"minflt":1},)";
  }
  text.back() = ']';
  BOOST_TEST(load_in_slices(text + "}") == "");
}

// Entries of a map are sorted by key, regardless of their order in the text or in the previous map.
BOOST_AUTO_TEST_CASE(sorts_maps_by_key) {
  const std::vector<std::string> maps{R"("a":1,"b":2)", R"("b":2,"a":1)", R"("b":2,"a":1)",
                                      R"("a":1,"b":2,"a":1)", R"("a":1,"b":2)"};
  std::string text = R"({"threads":[{"tid":1,"tgid":1,"smaps_rollup_kib":{}})";
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::string id = std::to_string(i + 2);
    text += R"(,{"tid":)" + id + R"(,"tgid":)" + id + R"(,"smaps_rollup_kib":{)" + maps[i] + "}}";
  }
  const auto snapshot = load_text(text + "]}", "x", shipped_vocabulary());
  BOOST_REQUIRE(snapshot.has_value());
  const Column& column = *snapshot->table(Entity::Process).find("process.smaps_rollup");
  for (std::size_t row = 1; row <= maps.size(); ++row) {
    const auto entries = snapshot->pools->maps[column.ids()[row]];
    BOOST_REQUIRE(entries.size() == 2u);
    BOOST_TEST(std::string_view(entries[0].key.data, entries[0].key.size) == "a");
    BOOST_TEST(entries[0].value == 1u);
    BOOST_TEST(entries[1].value == 2u);
  }
}

// A value that is kept as text may be larger than a slice, and has the escapes of ctprof's files.
BOOST_AUTO_TEST_CASE(keeps_values_that_span_slices) {
  const std::string items(200, '1');
  const std::string text = R"({"new": {"a\u0041" : [ ")" + items + R"(", "\/\n\u00e4", 1e400 ]},)" +
                           R"("threads":[{"tid":1,"tgid":1,"new":[")" + items +
                           R"(", -0.50E+2 ]}]})";
  BOOST_TEST(load_in_slices(text) == "");
  const auto snapshot = load_text(text, "x", shipped_vocabulary(), 7);
  BOOST_REQUIRE(snapshot.has_value());
  BOOST_TEST(snapshot->objects.at("new") == R"({"aA":[")" + items + "\",\"/\\n\u00e4\",1e400]}");
  BOOST_TEST(snapshot->extras->unknown_keys[0].at("new")[0].second ==
             R"([")" + items + R"(",-0.50E+2])");
}

BOOST_AUTO_TEST_CASE(reports_the_byte_of_an_error) {
  const std::string rows = R"({"threads":[{"tid":1,"tgid":1},)";
  BOOST_TEST(load_in_slices(rows + R"({"tid":1,"tgid":x}]})") ==
             "reading 'x': invalid JSON: a number was expected, in threads[1].tgid (byte " +
                 std::to_string(rows.size() + 16) + " of the text)");
  BOOST_TEST(load_in_slices(rows + R"({"tid":1,"nice":"a"}]})") ==
             "reading 'x': threads[1].nice holds a text where a whole number should be (byte " +
                 std::to_string(rows.size() + 19) + " of the text)");
  BOOST_TEST(load_in_slices(rows + R"({"tid":1,"ni)") ==
             "reading 'x': the text ends in the middle, in threads[1] (byte " +
                 std::to_string(rows.size() + 12) + " of the text)");
}

// Changes, drops, repeats and inserts random bytes of the rows.
BOOST_AUTO_TEST_CASE(refuses_damaged_texts_equally) {
  constexpr std::string_view kBytes = "\"{}[]:,0179-+.eEtfn\\ x\n\x80";
  std::mt19937 random(7);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const std::string whole = idle_host_text(true);
  const std::size_t start = whole.find("\"threads\":[{") + 12,
                    size = whole.find("],\"cgroup_stats\"") - start;
  int refused = 0;
  for (int i = 0; i < kDamagedTexts; ++i) {
    std::string text = whole;
    for (std::size_t bends = 1 + below(3); bends > 0; --bends) {
      const std::size_t at = start + below(size - 40), length = 1 + below(30);
      switch (below(4)) {
        case 0: text[at] = kBytes[below(kBytes.size())]; break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(at, text.substr(at, length)); break;
        default: text.insert(at, 1, kBytes[below(kBytes.size())]);
      }
    }
    refused += !load_in_slices(text).empty();
  }
  BOOST_TEST(refused > kDamagedTexts / 2);
  BOOST_TEST(refused < kDamagedTexts);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_rows_test
