// Tests windows in files: they survive writing and reading, and inconsistent windows are refused.

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/file/capture_file.hpp"
#include "core/registry/identity.hpp"
#include "core/snapshot/file_extras.hpp"
#include "tests/unit/support/column_lines.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/random_window.hpp"

namespace ctprof::tests::file_window_test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr int kWindows = 40;

BOOST_AUTO_TEST_SUITE(file_window_test)

BOOST_AUTO_TEST_CASE(reads_what_it_writes) {
  for (int seed = 0; seed < kWindows; ++seed) {
    Snapshot made = random_window(static_cast<std::uint64_t>(seed));
    const std::string bytes = to_file_bytes(made);
    Snapshot again = load(bytes);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(difference(made, again) == "");
      BOOST_TEST((to_file_bytes(again) == bytes), "written again it is another file");
      convert_to_differences(made);
      convert_to_differences(again);
      BOOST_TEST(difference(made, again) == "");
    }
  }
}

// Returns the outline of a file with these bytes.
std::optional<Snapshot> outline_of(const std::string& bytes) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file", std::ios::binary) << bytes;
  auto outline = CaptureFile::open(directory / "file")->load_outline();
  BOOST_REQUIRE_MESSAGE(outline.has_value(), outline.error().text);
  return std::move(*outline);
}

std::vector<std::string> columns_of(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) names.push_back(column.def().name);
  return names;
}

BOOST_AUTO_TEST_CASE(an_outline_has_columns_and_no_rows) {
  for (int seed = 0; seed < kWindows; ++seed) {
    const std::string bytes = to_file_bytes(random_window(static_cast<std::uint64_t>(seed)));
    Snapshot whole = load(bytes);
    auto outline = outline_of(bytes);
    BOOST_TEST_REQUIRE(outline.has_value());
    BOOST_TEST_CONTEXT("seed " << seed)
    for (std::size_t entity = 0; entity < kEntities; ++entity) {
      BOOST_TEST((*outline->rows_in_file)[entity] == whole.tables[entity].rows);
      BOOST_TEST(outline->tables[entity].rows == 0u);
    }
    BOOST_TEST(outline->text_bytes == whole.text_bytes);
    convert_to_differences(whole);
    convert_to_differences(*outline);
    BOOST_TEST(columns_of(*outline) == columns_of(whole), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(only_a_single_window_has_an_outline) {
  const std::string window = to_file_bytes(random_window(1));
  BOOST_TEST(!outline_of(window + window).has_value());
  BOOST_TEST(!outline_of(window.substr(0, window.size() - 40)).has_value());
  BOOST_TEST(!outline_of(window + window.substr(0, 200)).has_value());
  BOOST_TEST(!outline_of(window.substr(0, 200)).has_value());  // without a complete first line
  BOOST_TEST(!outline_of(to_file_bytes(random_host_at(1, 10))).has_value());
  const CaptureFile named(window, {.path = "x", .has_number = true});
  BOOST_TEST(!named.load_outline()->has_value());
  BOOST_TEST(!CaptureFile::open("/nonexistent").has_value());
}

BOOST_AUTO_TEST_CASE(a_snapshot_is_not_a_window) {
  BOOST_TEST(!load(to_file_bytes(random_host_at(1, 10))).window.has_value());
}

// The end of a window read from rows.
BOOST_AUTO_TEST_CASE(the_rows_layout_contains_the_end_as_a_snapshot) {
  for (std::uint64_t seed = 0; seed < kWindows; ++seed) {
    Snapshot window = random_window(seed);
    window = closing_snapshot(std::move(window));
    BOOST_TEST_CONTEXT("seed " << seed)
    BOOST_TEST(difference(window, random_host_at(seed + seed % 2, 20)) == "");
  }
}

// Returns a window with two threads, the second of which started inside, and one exited thread.
Lines small_window() {
  Snapshot before = idle_host_snapshot(1), after = idle_host_snapshot(2);
  ExitedThreads ended;
  ended.rows = idle_host_snapshot(1);
  for (const std::string_view id : {kTid, kTgid}) ended.rows.threads().find(id)->u64()[0] = 4'000;
  ended.exit_ns = {15 * kSecond};
  ended.has_source = true;
  for (Snapshot* end : {&before, &after}) {
    end->meta.boot_id = "b";
    end->meta.start.boottime_ns = end == &before ? 1 : 20 * kSecond;
    end->read_at.assign(end->threads().rows, 5);
  }
  auto made = make_window(before, std::move(after), std::move(ended));
  BOOST_REQUIRE_MESSAGE(made.has_value(), made.error().text);
  return lines_of(to_file_bytes(*made));
}

constexpr std::size_t kHeader = 0, kWindow = 1, kThreads = 2;

// Unknown members about the window are kept.
BOOST_AUTO_TEST_CASE(keeps_unknown_members) {
  const Lines lines =
      replace_in_line(small_window(), kWindow, "\"notes\":[", "\"newer\":{\"a\":1},\"notes\":[");
  const Lines again = lines_of(to_file_bytes(load(compress_lines(lines))));
  BOOST_TEST(again[kWindow].find("\"newer\":{\"a\":1}") != std::string::npos);
}

// Returns the error after replacing text in one line of the window.
std::string refusal_with(std::size_t line, std::string_view what, std::string_view instead) {
  return refusal(compress_lines(replace_in_line(small_window(), line, what, instead)));
}

BOOST_AUTO_TEST_CASE(checks_the_window_line) {
  const Lines lines = small_window();
  BOOST_REQUIRE_EQUAL(refusal(compress_lines(lines)), "");
  Lines without = lines;
  without.erase(without.begin() + kWindow);
  BOOST_TEST(refusal(compress_lines(update_line_counts(without))) ==
             "line 2 is not the window that the header announces");
  Lines twice = lines;
  twice.insert(twice.begin() + kWindow, lines[kWindow]);
  BOOST_TEST(refusal(compress_lines(update_line_counts(twice))).starts_with("line 3 is "));
  BOOST_TEST(refusal_with(kWindow, "\"living\":2", "\"living\":99999") ==
             "the window has more living threads than there are rows");
  BOOST_TEST(refusal_with(kWindow, "\"columns\":[", "\"columns\":[\"no_such\",") ==
             "line 2 has a base of 'no_such', which is not a column or is repeated");
  BOOST_TEST(refusal_with(kWindow, "\"columns\":[", "\"columns\":[\"run_time_ns\",") ==
             "line 2 has a base of 'run_time_ns', which is not a column or is repeated");
  BOOST_TEST(refusal_with(kWindow, "\"opened\":{", "\"opened\":[{") != "");
  BOOST_TEST(refusal_with(kWindow, "\"notes\":[", "\"notes\":[7,") != "");
  BOOST_TEST(refusal_with(kHeader, "\"exited\":[1]", "\"exited\":[2]") != "");
  BOOST_TEST(refusal_with(kHeader, "\"exited\":[1]", "\"exited\":[4000000000]") != "");
  BOOST_TEST(refusal_with(kHeader, "\"exited\":[1]", "\"exited\":[]") != "");
}

BOOST_AUTO_TEST_CASE(checks_the_rows_of_a_window) {
  const auto check_refusal = [](std::string_view what, std::string_view instead,
                                std::string_view words) {
    const std::string refusal_text = refusal_with(kThreads, what, instead);
    BOOST_TEST((refusal_text.find(words) != refusal_text.npos), refusal_text << ", not " << words);
  };
  check_refusal("\"bases\":{", "\"bases\":{\"no_such\":[1,2],",
                "no base of 'no_such' is announced");
  check_refusal("\"bases\":{", "\"bases\":{\"run_time_ns\":[1,2],\"run_time_ns\":[1,2],",
                "base 'run_time_ns' is repeated");
  check_refusal("\"bases\":{", "\"bases\":{\"majflt\":[1,2,3],", "too long");
  check_refusal("\"bases\":{", "\"bases\":{\"majflt\":[1],", "has 1 cells instead of 2");
  check_refusal("\"bases\":{", "\"bases\":{\"majflt\":[\"x\",2],", "a whole number");
  check_refusal("\"born\":[", "\"born\":[2,",
                "it lists the start of a row that is not in this line");
  check_refusal("\"born\":[", "\"born\":[-1,", "a whole number");
  check_refusal("\"seen\":[[", "\"seen\":[[9,1],[", "seen is not a span of time");
  check_refusal("\"seen\":[[", "\"seen\":[[1,2],[", "seen is too long");
}

// Returns a window with a process that exited without a row, and one living thread.
Lines window_with_exited_process() {
  Snapshot before = idle_host_snapshot(2), after = idle_host_snapshot(1);
  for (Snapshot* end : {&before, &after}) {
    end->meta.boot_id = "b";
    end->meta.start.boottime_ns = end == &before ? 1 : 20 * kSecond;
    end->read_at.assign(end->threads().rows, 5);
  }
  ExitedThreads no_exits;
  no_exits.has_source = true;
  auto made = make_window(before, std::move(after), std::move(no_exits));
  BOOST_REQUIRE_MESSAGE(made.has_value(), made.error().text);
  return lines_of(to_file_bytes(*made));
}

std::size_t window_line_with(const Lines& lines, std::string_view text) {
  for (std::size_t line = 0; line < lines.size(); ++line)
    if (lines[line].find(text) != std::string::npos) return line;
  BOOST_FAIL("no line with " << text);
  return 0;
}

constexpr std::string_view kThreadLine = R"("kind":"opening","entity":"thread")";

BOOST_AUTO_TEST_CASE(keeps_rows_that_only_the_opening_has) {
  const Snapshot window = load(compress_lines(window_with_exited_process()));
  BOOST_TEST_REQUIRE(bool(window.window->opening_only));
  const Table& threads = window.window->opening_only->threads();
  BOOST_TEST_REQUIRE(threads.rows == 1u);
  BOOST_TEST(threads.find(kTid) != nullptr);
  BOOST_TEST(window.extras->unknown_lines.empty());
}

// Older versions write no announcement, or copy such lines without interpreting them.
BOOST_AUTO_TEST_CASE(ignores_opening_lines_without_an_announcement) {
  Lines lines = window_with_exited_process();
  const auto at = lines[kWindow].find(",\"opening_only\":");
  BOOST_TEST_REQUIRE(at != std::string::npos);
  lines[kWindow] = lines[kWindow].substr(0, at) + "}\n";
  const Snapshot window = load(compress_lines(update_line_counts(lines)));
  BOOST_TEST(!window.window->opening_only);
  BOOST_TEST(window.extras->unknown_lines.empty());
}

// An older version copies unknown lines with their keys in sorted order.
BOOST_AUTO_TEST_CASE(accepts_any_order_of_keys_in_opening_lines) {
  Lines lines = window_with_exited_process();
  const std::string all = compress_lines(lines);
  std::string& line = lines[window_line_with(lines, kThreadLine)];
  const std::string first = R"({"kind":"opening","entity":"thread","first_row":0,)";
  BOOST_TEST_REQUIRE(line.starts_with(first));
  line = "{" + line.substr(first.size(), line.size() - first.size() - 2) + "," +
         first.substr(1, first.size() - 2) + "}\n";
  BOOST_TEST(difference(load(all), load(compress_lines(update_line_counts(lines)))) == "");
}

BOOST_AUTO_TEST_CASE(checks_the_rows_of_the_opening) {
  const Lines lines = window_with_exited_process();
  BOOST_REQUIRE_EQUAL(refusal(compress_lines(lines)), "");
  const auto refused = [&](std::size_t line, std::string_view what, std::string_view instead) {
    return refusal(compress_lines(replace_in_line(lines, line, what, instead)));
  };
  const std::string announced = R"("opening_only":[{"entity":"thread","columns":[)";
  BOOST_TEST(
      refused(kWindow, announced, announced + "\"no_such\",") ==
      "line 2 announces opening values in column 'no_such', which is missing from the table, "
      "is repeated, or contains stacks");
  BOOST_TEST(refused(kWindow, announced, announced + "\"tid\",") != "");
  BOOST_TEST(refused(kWindow, R"("opening_only":[)",
                     R"("opening_only":[{"entity":"thread","columns":[],"rows":[1]},)") ==
             "line 2 announces opening rows of 'thread' twice");
  BOOST_TEST(refused(kWindow, "\"rows\":[1]", "\"rows\":[0]") ==
             "line 2 announces a line with no or too many opening rows");
  BOOST_TEST(refused(kWindow, "\"rows\":[1]", "\"rows\":[4000000]").find("is too short for") !=
             std::string::npos);
  BOOST_TEST(refused(kWindow, "\"rows\":[1]", "\"rows\":[1,1,1,1,1,1,1,1]") != "");
  const std::size_t opening = window_line_with(lines, kThreadLine);
  BOOST_TEST(refused(opening, "\"tid\":[", "\"tid\":[7,") != "");
  BOOST_TEST(refused(opening, "\"first_row\":0", "\"first_row\":1") != "");
  BOOST_TEST(refused(opening, "\"columns\":{", "\"columnz\":{").find("has no ") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_window_test
