// Tests stacks in columns files: they survive writing and reading; damaged, missing or
// misleading lines are refused with one sentence.

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "core/file/layout/limits.hpp"
#include "core/file/write/document.hpp"
#include "tests/unit/support/column_lines.hpp"
#include "tests/unit/support/named_stacks.hpp"

namespace ctprof::tests::file_stacks_test {
namespace {

using hand_made::add_stacks;
using hand_made::kStacks;

constexpr int kSnapshots = 40;

Snapshot random_stacks(int seed) {
  return RandomHost(static_cast<std::uint64_t>(seed)).make_with_stacks();
}

BOOST_AUTO_TEST_SUITE(file_stacks_test)

BOOST_AUTO_TEST_CASE(reads_what_it_writes) {
  for (int seed = 0; seed < kSnapshots; ++seed) {
    const Snapshot made = random_stacks(seed);
    const std::string bytes = to_file_bytes(made);
    const Snapshot again = load(bytes);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(difference(made, again) == "");
      BOOST_TEST((to_file_bytes(again) == bytes), "written again it is another file");
      BOOST_TEST((to_file_bytes(made, 3) == bytes), "three workers write another file");
    }
  }
}

// The rows layout has no key for stacks.
BOOST_AUTO_TEST_CASE(the_rows_layout_omits_stacks) {
  const Snapshot made = random_stacks(1);
  StringSink rows;
  BOOST_REQUIRE(Document(made, shipped_vocabulary()).write(rows).has_value());
  BOOST_TEST((rows.text().find("third_thread.StackNs") == std::string::npos));
  BOOST_TEST(load_text(rows.text(), "rows", shipped_vocabulary()).has_value());
}

// Returns the lines of a file with two threads with stacks and one without.
const Lines& small_file() {
  static const Lines lines = [] {
    Snapshot made = idle_host_snapshot(3);
    add_stacks(made, kStacks,
               {{{{"main;work", 5}, {"main", 2}}}, {{}}, {{{"[truncated];\xffhostile", 40}}}});
    return lines_of(to_file_bytes(made));
  }();
  return lines;
}

constexpr std::size_t kThreads = 1, kStrings = 5, kModules = 6, kFrames = 7, kNodes = 8,
                      kWeights = 9;

BOOST_AUTO_TEST_CASE(writes_the_documented_lines) {
  const Lines& lines = small_file();
  BOOST_REQUIRE_EQUAL(lines.size(), kWeights + 3);
  BOOST_TEST(lines[0].ends_with(",\"stacks\":5}\n"));
  BOOST_TEST((lines[kThreads].find("\"oncpu_stacks\":[7,0,40]") != std::string::npos));
  BOOST_TEST(lines[kStrings] ==
             "{\"kind\":\"stacks\",\"part\":\"strings\",\"first\":0,\"text\":[\"\",\"/bin/p\","
             "\"work\",\"main\",\"\xef\xbf\xbdhostile\"],\"raw\":[[4,\"ff686f7374696c65\"]]}\n");
  BOOST_TEST(lines[kModules] ==
             "{\"kind\":\"stacks\",\"part\":\"modules\",\"first\":0,\"type\":[\"file\"],"
             "\"path\":[1],\"build_id\":[\"12ab\"],\"process\":[0],\"shift\":[4096]}\n");
  BOOST_TEST(lines[kNodes] ==
             "{\"kind\":\"stacks\",\"part\":\"nodes\",\"first\":1,\"parent\":[0,1,0,3],"
             "\"frame\":[2,1,0,3]}\n");
  BOOST_TEST(lines[kWeights] ==
             "{\"kind\":\"stacks\",\"part\":\"weights\",\"first\":0,\"metric\":\"oncpu_stacks\","
             "\"row\":[0,0,2],\"node\":[1,2,4],\"weight\":[2,5,40]}\n");
}

BOOST_AUTO_TEST_CASE(a_file_without_stacks_has_no_stack_lines) {
  for (const std::string& line : lines_of(to_file_bytes(idle_host_snapshot(3))))
    BOOST_TEST((line.find("stacks") == std::string::npos));
}

// A hundred thousand stacks of one thread, and names of a megabyte.
BOOST_AUTO_TEST_CASE(continues_long_parts_in_the_next_line) {
  Snapshot made = idle_host_snapshot(2);
  hand_made::StackValue many;
  for (int i = 0; i < 100'000; ++i) many.emplace_back("main;" + std::to_string(i), i % 7);
  for (const char c : {'a', 'b', 'c'}) many.emplace_back(std::string(400'000, c), 1);
  add_stacks(made, kStacks, {{many}, {{{"main;7", 1}}}});
  const std::string bytes = to_file_bytes(made);
  BOOST_TEST(difference(load(bytes), made) == "");
  const Lines lines = lines_of(bytes);
  BOOST_TEST(lines.size() > 20u);
  for (const std::string& line : lines) BOOST_TEST(line.size() <= limits::kMiB);
}

void check_error(const Lines& lines, const std::string& words) {
  const std::string sentence = refusal(compress_lines(lines));
  BOOST_TEST((sentence.find(words) != std::string::npos),
             "no \"" << words << "\" in \"" << sentence.substr(0, 200) << "\"");
}

void check_line(std::size_t line, std::string_view what, std::string_view instead,
                const std::string& words) {
  check_error(replace_in_line(small_file(), line, what, instead), words);
}

BOOST_AUTO_TEST_CASE(reports_lines_out_of_order) {
  const auto check_changed = [](auto change, const std::string& words) {
    Lines lines = small_file();
    change(lines);
    check_error(update_line_counts(lines), words);
  };
  check_changed([](Lines& l) { std::swap(l[kStrings], l[kModules]); },
                "line 6 is wrong: it refers to");
  check_changed([](Lines& l) { std::swap(l[kFrames], l[kNodes]); },
                "line 8 is wrong: it refers to frame");
  check_changed([](Lines& l) { l.insert(l.begin() + kStrings, l[kStrings]); },
                "line 7 is wrong: its strings begin with 0, not 5");
  check_changed([](Lines& l) { l.insert(l.begin() + kNodes, l[kNodes]); }, "begin with 1, not 5");
  check_changed(
      [](Lines& l) {
        l.insert(l.begin() + kWeights, l[kWeights]);
        l[0] = replace_once(l[0], "\"stacks\":5", "\"stacks\":6");
      },
      "line 11 is wrong: its weights begin with 0, not 3");
  check_changed([](Lines& l) { l.insert(l.begin() + kWeights + 1, l[kWeights]); },
                "line 11 is of kind 'stacks' out of order");
  check_changed([](Lines& l) { l.erase(l.begin() + kWeights); },
                "line 10 holds no stacks, which the header announces there");
  check_changed([](Lines& l) { l.erase(l.begin() + kStrings); },
                "line 6 is wrong: it refers to string");
  check_changed([](Lines& l) { l[kNodes] = l[kNodes].substr(0, 60); }, "line 9 is wrong: ");
  check_changed([](Lines& l) { l.resize(kWeights); }, "");
  check_line(0, "\"stacks\":5", "\"stacks\":4",
             "line 9 is wrong: row 0 of 'oncpu_stacks' has weight, but no stacks");
  check_line(0, "\"stacks\":5", "\"stacks\":18446744073709551615", "it is truncated");
}

// Removes one line at a time; the tables show which lines must exist.
BOOST_AUTO_TEST_CASE(reports_missing_lines_of_stacks) {
  Lines lines = small_file();
  lines.erase(lines.begin() + kStrings, lines.begin() + kWeights + 1);
  lines[0] = replace_once(lines[0], ",\"stacks\":5", "");
  check_error(update_line_counts(lines), "row 0 of 'oncpu_stacks' has weight, but no stacks");
  check_line(kWeights, "[0,0,2],\"node\":[1,2,4],\"weight\":[2,5,40]",
             "[0,0],\"node\":[1,2],\"weight\":[2,5]", "row 2 of 'oncpu_stacks' has weight");
  check_line(kWeights, "[0,0,2],\"node\":[1,2,4],\"weight\":[2,5,40]",
             "[2],\"node\":[4],\"weight\":[40]", "row 0 of 'oncpu_stacks' has weight");
  check_line(kWeights, "[2,5,40]", "[2,6,40]", "has weight 7 in its table, but its stacks have 8");
  check_line(kWeights, "[2,5,40]", "[2,5,18446744073709551615]", "has weight 40 in its table");
}

BOOST_AUTO_TEST_CASE(checks_rows_and_nodes_of_weights) {
  check_line(kWeights, "[0,0,2]", "[0,0,3]", "row 3 has no stacks");
  check_line(kWeights, "[0,0,2]", "[0,0,18446744073709551615]", "has no stacks");
  check_line(kWeights, "[0,0,2]", "[0,2,0]", "has weight 7 in its table, but its stacks have 2");
  check_error(replace_in_line(replace_in_line(small_file(), kThreads, "[7,0,40]", "[0,0,40]"),
                              kWeights, "[0,0,2],\"node\":[1,2,4],\"weight\":[2,5,40]",
                              "[2,0],\"node\":[4,1],\"weight\":[40,0]"),
              "row 0 is out of order");
  check_line(kWeights, "[0,0,2]", "[0,0,-1]", "a whole number from 0");
  check_line(kWeights, "[1,2,4]", "[1,2,5]", "it refers to node 5, which is not defined yet");
  check_line(kWeights, "[1,2,4]", "[2,1,4]", "node 1 of row 0 is out of order");
  check_line(kWeights, "[1,2,4]", "[1,1,4]", "node 1 of row 0 is out of order");
  check_line(kWeights, "[1,2,4]", "[1,2]", "its lists differ in length");
  check_line(kWeights, "oncpu_stacks", "run_time_ns",
             "no metric of call stacks has the name 'run_time_ns'");
  check_line(kWeights, "\"row\"", "\"row\":[7],\"row\"", "'row' is repeated");
  check_line(kThreads, "[7,0,40]", "[7,null,40]", "");
  check_line(kThreads, "[7,0,40]", "[null,0,40]", "row 0 has no stacks");
  check_line(kThreads, "[7,0,40]", "[7,0,\"x\"]", "a whole number from 0");
}

BOOST_AUTO_TEST_CASE(checks_frames_and_modules) {
  check_line(kNodes, "[0,1,0,3]", "[0,2,0,3]", "it refers to node 2, which is not defined yet");
  check_line(kNodes, "[2,1,0,3]", "[2,4,0,3]", "it refers to frame 4, which is not defined yet");
  check_line(kNodes, "[0,1,0,3],\"frame\":[2,1,0,3]", "[0,0,0,3],\"frame\":[2,2,0,3]",
             "node 2 is repeated, or exceeds the possible number");
  check_line(kFrames, "\"module\":[0,", "\"module\":[1,",
             "it refers to module 1, which is not defined yet");
  check_line(kFrames, "\"guessed\":[0,", "\"guessed\":[2,", "'guessed' is neither 0 nor 1");
  check_line(kFrames, "\"inlined\":[0,", "\"inlined\":[65536,", "'inlined' is too large");
  check_line(kFrames, "\"name\":[2,", "\"name\":[5,",
             "it refers to string 5, which is not defined yet");
  check_line(kFrames, "\"first\":1", "\"first\":0", "its frames begin with 0, not 1");
  check_line(kModules, "\"file\"", "\"pile\"", "a module of type 'pile'");
  check_line(kModules, "\"12ab\"", "\"12ax\"", "a build id that is not hexadecimal");
  check_line(kModules, "\"path\":[1]", "\"path\":[5]", "it refers to string 5");
  check_line(kModules, "\"process\":[0]", "\"process\":[]", "its lists differ in length");
  check_line(kStrings, "\"raw\":[[4,", "\"raw\":[[5,", "it refers to string 5");
  check_line(kStrings, "[[4,\"ff", "[[4,\"f", "bytes in hexadecimal was expected");
  check_line(kStrings, "\"strings\"", "\"things\"", "it defines the unknown part 'things'");
}

// Additional members of a newer version have no effect.
BOOST_AUTO_TEST_CASE(ignores_unknown_members) {
  const Lines lines =
      replace_in_line(small_file(), kNodes, "\"parent\"", "\"newer\":[{}],\"parent\"");
  BOOST_TEST(refusal(compress_lines(lines)) == "");
}

BOOST_AUTO_TEST_CASE(limits_the_memory_of_each_line) {
  std::string many = "0";
  for (std::size_t i = 0; i < limits::kItems; ++i) many += ",0";
  check_line(kNodes, "[0,1,0,3]", "[" + many + "]", "too many items for one line");
}

// The opening of a window has no stacks.
BOOST_AUTO_TEST_CASE(stacks_have_no_base) {
  Snapshot made = idle_host_snapshot(1);
  made.window.emplace().living_threads = 1;
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    made.window->openings[entity].started.assign(made.tables[entity].rows, 0);
  add_stacks(made, kStacks, {{{{"main", 1}}}});
  Lines lines = lines_of(to_file_bytes(made));
  BOOST_TEST(refusal(compress_lines(lines)) == "");
  check_error(replace_in_line(lines, 1, "\"columns\":[]", "\"columns\":[\"oncpu_stacks\"]"),
              "line 2 has a base of 'oncpu_stacks', which cannot have a base");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_stacks_test
