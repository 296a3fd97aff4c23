// Tests files of later versions: unknown entities, storages and lines are kept and written again.
// Hostile files cannot use them to exceed the memory limits.

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/file/columns/header.hpp"
#include "core/file/columns/read_columns.hpp"
#include "core/file/layout/limits.hpp"
#include "core/redact/redact.hpp"
#include "core/registry/identity.hpp"
#include "core/snapshot/file_extras.hpp"
#include "tests/unit/support/column_lines.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/random_window.hpp"

namespace ctprof::tests::file_unknown_test {
namespace {

constexpr std::string_view kDiskMetric =
    R"({"name":"disk_read_bytes","entity":"disk","storage":"u64","newtype":"Bytes",)"
    R"("rule":"SumBytes","file_path":"disks[].read"})";
constexpr std::string_view kDiskDerived =
    R"({"name":"disk_mean","entity":"disk","expression":"a / b","unit":"bytes"})";
constexpr std::string_view kDiskLine =
    "{\"kind\":\"table\",\"entity\":\"disk\",\"first_row\":0,"
    "\"columns\":{\"device\":[\"sda\",\"sdb\"],\"disk_read_bytes\":[1,null]}}\n";
constexpr std::string_view kOtherDisksLine =
    "{\"kind\":\"table\",\"entity\":\"disk\",\"first_row\":2,\"columns\":{\"device\":[\"sdc\"]}}\n";
constexpr std::string_view kNetLine =
    "{\"kind\":\"table\",\"entity\":\"net\",\"first_row\":0,\"columns\":{\"nic\":[\"lo\"]}}\n";

// Returns the lines with one more line inserted before line `before`.
Lines insert_line(Lines lines, std::size_t before, std::string_view line) {
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(before), std::string(line));
  return update_line_counts(lines);
}

bool has_kind(const Lines& lines, std::string_view kind) {
  const std::string begins = "{\"kind\":\"" + std::string(kind) + "\"";
  return std::ranges::any_of(lines, [&](const auto& line) { return line.starts_with(begins); });
}

// Returns a window with exited threads and with rows that only its opening has.
const Lines& complete_window() {
  static const Lines found = [] {
    Lines lines;
    for (std::uint64_t seed = 0; !has_kind(lines, "exited") || !has_kind(lines, "opening"); ++seed)
      lines = lines_of(to_file_bytes(random_window(seed)));
    return lines;
  }();
  return found;
}

std::size_t first_of_kind(const Lines& lines, std::string_view kind) {
  const std::string begins = "{\"kind\":\"" + std::string(kind) + "\"";
  std::size_t line = 0;
  while (line < lines.size() && !lines[line].starts_with(begins)) ++line;
  BOOST_REQUIRE_MESSAGE(line < lines.size(), kind);
  return line;
}

std::string append_item(std::string text, std::string_view array, std::string_view item) {
  const auto at = text.find(array);
  BOOST_REQUIRE_MESSAGE(at != text.npos, array);
  return text.insert(at, "," + std::string(item));
}

// Returns a file with header, threads, processes, cgroups, host, two lines of disks, one line of an
// interface, summary, end.
Lines file_with_disks() {
  Lines lines = lines_of(to_file_bytes(idle_host_snapshot(20)));
  lines[0] = append_item(lines[0], R"(],"derived":)", kDiskMetric);
  const bool has_derived = lines[0].find(R"("derived":[])") == std::string::npos;
  lines[0] =
      replace_once(lines[0], R"(],"placeholders")",
                   (has_derived ? "," : "") + std::string(kDiskDerived) + R"(],"placeholders")");
  lines[0] = replace_once(lines[0], R"("host":[1])", R"("host":[1],"disk":[2,1],"net":[1])");
  const Lines more{std::string(kDiskLine), std::string(kOtherDisksLine), std::string(kNetLine)};
  lines.insert(lines.end() - 2, more.begin(), more.end());
  return update_line_counts(lines);
}

// Returns a window with rows of disks, their opening values, and a disk that only the opening has.
Lines window_with_disks() {
  Lines lines = complete_window();
  const std::string_view before =
      lines[0].find(R"("host":[1])") != std::string::npos ? R"("host":[1])" : R"("host":[])";
  lines[0] = replace_once(lines[0], before, std::string(before) + R"(,"disk":[2])");
  const std::size_t window = first_of_kind(lines, "window");
  lines[window] = replace_once(lines[window], R"("opening_only":[)",
                               R"("opening_only":[)"
                               R"({"entity":"disk","columns":["device"],"rows":[1]},)");
  lines[window] = replace_once(lines[window], R"("bases":[)",
                               R"("bases":[{"entity":"disk","columns":["disk_read_bytes"]},)");
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(first_of_kind(lines, "opening")),
               "{\"kind\":\"opening\",\"entity\":\"disk\",\"first_row\":0,"
               "\"columns\":{\"device\":[\"old\"]}}\n");
  lines.insert(
      lines.begin() + static_cast<std::ptrdiff_t>(first_of_kind(lines, "exited")),
      replace_once(std::string(kDiskLine), "}}", R"(},"bases":{"disk_read_bytes":[0,null]}})"));
  return update_line_counts(lines);
}

BOOST_AUTO_TEST_SUITE(file_unknown_test)

BOOST_AUTO_TEST_CASE(keeps_rows_of_unknown_entities) {
  const Lines lines = file_with_disks();
  Snapshot read = load(compress_lines(lines));
  BOOST_TEST((lines_of(to_file_bytes(read)) == lines));
  read.extras->unknown_definitions = {};
  BOOST_TEST(difference(read, load(to_file_bytes(idle_host_snapshot(20)))) == "");
}

BOOST_AUTO_TEST_CASE(keeps_unknown_rows_of_windows) {
  const Lines lines = window_with_disks();
  const Snapshot read = load(compress_lines(lines));
  BOOST_TEST(difference(read, load(compress_lines(complete_window()))) == "");
  const Lines again = lines_of(to_file_bytes(read));
  BOOST_TEST(again.size() == lines.size());
  for (const std::string& line : lines)
    if (line.find("disk") != line.npos && !line.starts_with("{\"kind\":\"window\""))
      BOOST_TEST((std::ranges::find(again, line) != again.end()), line.substr(0, 80));
  const std::string& window = again[first_of_kind(again, "window")];
  BOOST_TEST(window.find(R"({"entity":"disk","columns":["disk_read_bytes"]})") != window.npos);
  BOOST_TEST(window.find(R"({"entity":"disk","columns":["device"],"rows":[1]})") != window.npos);
  BOOST_TEST((lines_of(to_file_bytes(load(compress_lines(again)))) == again));
}

BOOST_AUTO_TEST_CASE(keeps_a_metric_of_unknown_storage) {
  Lines lines = lines_of(to_file_bytes(idle_host_snapshot(20)));
  lines[0] =
      append_item(lines[0], R"(],"derived":)",
                  R"({"name":"waits","entity":"thread","storage":"histogram",)"
                  R"("newtype":"MonotonicNs","rule":"SumNs","file_path":"threads[].waits"})");
  std::string cells = "{\"p\":[1,2]}";
  for (int i = 1; i < 20; ++i) cells += ",null";
  lines[1] = replace_once(lines[1], "\"columns\":{", "\"columns\":{\"waits\":[" + cells + "],");
  const Lines again = lines_of(to_file_bytes(load(compress_lines(update_line_counts(lines)))));
  BOOST_TEST(again[0] == lines[0]);
  BOOST_TEST(again[1].find("\"waits\":[" + cells + "]") != std::string::npos);
}

constexpr std::string_view kNewtype = R"("newtype":")", kFuture = "Future";

// Returns whether the metric's newtype can be unknown; identity metrics have a fixed meaning.
bool can_be_unknown(std::string_view metric) {
  return std::ranges::find(identity_metrics(), metric, &MetricDef::name) ==
         identity_metrics().end();
}

// Returns the header with unknown newtypes for all metrics with values at the opening.
std::string make_newtypes_unknown(std::string header, const Window& window) {
  std::set<std::string> metrics;
  const auto add = [&](const auto& columns) {
    for (const Column& column : columns)
      if (can_be_unknown(column.def().name)) metrics.insert(column.def().name);
  };
  for (const Opening& opening : window.openings) add(opening.columns);
  for (const Table& table : window.opening_only->tables) add(table.columns);
  for (const std::string& metric : metrics) {
    const auto definition = header.find("{\"name\":\"" + metric + "\"");
    BOOST_REQUIRE_MESSAGE(definition != header.npos, metric);
    header.insert(header.find(kNewtype, definition) + kNewtype.size(), kFuture);
  }
  return header;
}

std::string make_newtypes_known(std::string header) {
  const std::string unknown = std::string(kNewtype) + std::string(kFuture);
  for (auto at = header.find(unknown); at != header.npos; at = header.find(unknown, at))
    header.erase(at + kNewtype.size(), kFuture.size());
  return header;
}

// Checks the values. Rows without a value may have another reason for it.
void check_same_values(const Column* column, const Column& expected) {
  BOOST_REQUIRE_MESSAGE(column, expected.def().name);
  BOOST_REQUIRE_EQUAL(column->rows(), expected.rows());
  for (std::size_t row = 0; row < column->rows(); ++row) {
    BOOST_TEST(column->has_value(row) == expected.has_value(row), column->def().name << row);
    if (column->has_value(row) && column->def().storage == Storage::U64)
      BOOST_TEST(column->u64()[row] == expected.u64()[row], column->def().name << row);
  }
}

BOOST_AUTO_TEST_CASE(keeps_opening_values_of_unknown_newtypes) {
  Lines lines = complete_window();
  const Snapshot window = load(compress_lines(lines));
  lines[0] = make_newtypes_unknown(lines[0], *window.window);
  lines = lines_of(to_file_bytes(load(compress_lines(update_line_counts(lines)))));
  lines[0] = make_newtypes_known(lines[0]);
  const Snapshot restored = load(compress_lines(update_line_counts(lines)));
  std::size_t opening_columns = 0, opening_only_columns = 0;
  for (const Entity entity : columns::kAllEntities) {
    const auto index = static_cast<std::size_t>(entity);
    const Table& opening_only = window.window->opening_only->table(entity);
    for (const Column& column : window.window->openings[index].columns) {
      const std::string& metric = column.def().name;
      check_same_values(restored.window->openings[index].find(metric), column);
      ++opening_columns;
      const Column* opening = opening_only.rows == 0 ? nullptr : opening_only.find(metric);
      if (!opening) continue;
      check_same_values(restored.window->opening_only->table(entity).find(metric), *opening);
      ++opening_only_columns;
    }
  }
  BOOST_TEST(opening_columns > 10u);
  BOOST_TEST(opening_only_columns > 0u);
}

// Otherwise the work for a line would grow with the square of its length.
BOOST_AUTO_TEST_CASE(rejects_repeated_opening_values_of_unknown_newtypes) {
  constexpr std::string_view kBases = R"("bases":{")";
  Lines lines = complete_window();
  lines[0] = make_newtypes_unknown(lines[0], *load(compress_lines(lines)).window);
  const auto table = std::ranges::find_if(
      lines, [&](const std::string& line) { return line.find(kBases) != line.npos; });
  BOOST_REQUIRE(table != lines.end());
  const std::size_t at = table->find(kBases) + kBases.size();
  const std::string metric = table->substr(at, table->find('"', at) - at);
  table->insert(at, metric + R"(":[],")");
  const std::string refused = refusal(compress_lines(update_line_counts(lines)));
  BOOST_TEST((refused.find("base '" + metric + "' is repeated") != refused.npos), refused);
}

BOOST_AUTO_TEST_CASE(redaction_omits_opening_values_of_unknown_newtypes) {
  Lines lines = complete_window();
  const Window window = *load(compress_lines(lines)).window;
  lines[0] = make_newtypes_unknown(lines[0], window);
  Snapshot read = load(compress_lines(update_line_counts(lines)));
  Pseudonyms pseudonyms(KeyedHash::Key{});
  redact(read, shipped_vocabulary(), pseudonyms);
  lines = lines_of(to_file_bytes(read));
  for (const Column& column : window.opening_only->table(Entity::Process).columns)
    for (const std::string& line : lines)
      if (can_be_unknown(column.def().name))
        BOOST_TEST((line.find('"' + column.def().name + '"') == line.npos), column.def().name);
}

BOOST_AUTO_TEST_CASE(keeps_unknown_lines_wherever_they_are) {
  const std::string moons = "{\"kind\":\"moons\",\"rows\":[[0,1]]}\n";
  const Lines& window = complete_window();
  const Lines end = insert_line(window, window.size() - 2, moons);
  for (std::size_t before = 1; before + 1 < window.size(); ++before) {
    const Lines lines = insert_line(window, before, moons);
    BOOST_TEST_CONTEXT("before line " << before) {
      BOOST_TEST(refusal(compress_lines(lines)) == "");
      BOOST_TEST((lines_of(to_file_bytes(load(compress_lines(lines)))) == end));
    }
  }
}

// Blocks with unknown lines are skipped by number and listed like others.
BOOST_AUTO_TEST_CASE(skips_blocks_with_unknown_lines) {
  const Lines lines = insert_line(file_with_disks(), 2, "{\"kind\":\"moons\"}\n");
  const std::string bytes = compress_lines(lines) + compress_lines(lines);
  BOOST_TEST(load(bytes, {"test", 2}).extras->unknown_lines.size() == 1u);
  const columns::BlockList blocks = columns::list_blocks(bytes);
  BOOST_REQUIRE(blocks.blocks.size() == 2u);
  BOOST_TEST(blocks.invalid_reason == "");
  BOOST_TEST(blocks.blocks[1].offset == compress_lines(lines).size());
}

BOOST_AUTO_TEST_CASE(counts_unknown_lines_in_line_numbers) {
  Lines lines = insert_line(file_with_disks(), 1, "{\"kind\":\"moons\"}\n");
  lines[3] = replace_once(lines[3], "process", "thread");
  BOOST_TEST(refusal(compress_lines(update_line_counts(lines))).starts_with("line 4 "));
}

BOOST_AUTO_TEST_CASE(redaction_omits_unknown_rows) {
  for (const Lines& lines : {file_with_disks(), window_with_disks()}) {
    Snapshot read =
        load(compress_lines(insert_line(lines, 1, "{\"kind\":\"moons\",\"a\":\"sda\"}\n")));
    Pseudonyms pseudonyms(KeyedHash::Key{});
    redact(read, shipped_vocabulary(), pseudonyms);
    for (const std::string& line : lines_of(to_file_bytes(read)))
      for (const char* word : {"sda", "\"old\"", "\"lo\"", "disk_mean", "\"disk\""})
        BOOST_TEST((line.find(word) == line.npos), word << " in " << line.substr(0, 60));
  }
}

BOOST_AUTO_TEST_CASE(keeps_notes_of_unknown_entities_in_rows) {
  const TemporaryDirectory directory;
  const auto rows_of = [&](const Snapshot& snapshot) {
    const auto done =
        write_file(snapshot, shipped_vocabulary(), directory / "file", {.sync = false});
    BOOST_REQUIRE_MESSAGE(done.has_value(), done.error().text);
    std::string text;
    for (const std::string& part : lines_of(file_text(directory / "file"))) text += part;
    return text;
  };
  std::string text = rows_of(idle_host_snapshot(20));
  text = append_item(text, R"(],"derived":)", kDiskMetric);
  text = replace_once(text, R"("gaps":{)", R"("gaps":{"disk":[{"columns":["a"],"runs":[5,1]}],)");
  text = replace_once(text, R"("raw":{)",
                      R"("raw":{"disk":{"device":[]}},)"
                      R"("disks":[{"read":1}],"x":{)");
  const std::string again = rows_of(load(compress_lines({text})));
  for (const std::string_view kept :
       {kDiskMetric, std::string_view(R"("disk":[{"columns":["a"],"runs":[5,1]}])"),
        std::string_view(R"("disk":{"device":[]})"), std::string_view(R"("disks":[{"read":1}])")})
    BOOST_TEST((again.find(kept) != again.npos), kept);
}

// --- hostile files ---

BOOST_AUTO_TEST_CASE(requires_the_unknown_tables_that_the_header_announces) {
  const Lines lines = file_with_disks();
  const auto check_refusal_contains = [](const Lines& changed, std::string_view words) {
    const std::string sentence = refusal(compress_lines(update_line_counts(changed)));
    BOOST_TEST((sentence.find(words) != sentence.npos), sentence << " is not: " << words);
  };
  const std::size_t disks = lines.size() - 5;
  check_refusal_contains(replace_in_line(lines, disks, "disk", "disc"),
                         "line 6 is not the table of 'disk' from row 0 that is announced there");
  check_refusal_contains(replace_in_line(lines, disks, "table", "exited"), "is not the table");
  check_refusal_contains(replace_in_line(lines, disks, "\"first_row\":0", "\"first_row\":1"),
                         "is not the table");
  check_refusal_contains(replace_in_line(lines, disks, "]}}", "]}"), "line 6 is wrong");
  check_refusal_contains(replace_in_line(lines, 0, R"("disk":[2,1])", R"("disk":[2000,1])"),
                         "too short for the 2000 rows");
  check_refusal_contains(replace_in_line(lines, 0, R"("disk":[2,1])", R"("disk":[0,1])"),
                         "no rows or too many rows of disk");
  check_refusal_contains(replace_in_line(lines, 0, R"("disk":[2,1])", R"("disk":[2,5000000])"),
                         "too many rows of disk");
  check_refusal_contains(replace_in_line(lines, 0, R"("net":[1])", R"("disk":[1])"),
                         "announced twice");
  check_refusal_contains(replace_in_line(lines, 0, "\"disk_read_bytes\",\"entity\":\"disk\"",
                                         "\"run_time_ns\",\"entity\":\"disk\""),
                         "'run_time_ns' twice");
  check_refusal_contains(replace_in_line(lines, 0, "\"disk_read_bytes\",\"entity\":\"disk\"",
                                         "\"tid\",\"entity\":\"disk\""),
                         "'tid'");
}

BOOST_AUTO_TEST_CASE(limits_the_number_of_unknown_entities) {
  const auto with_entities = [](std::size_t count) {
    std::string more;
    for (std::size_t i = 0; i < count; ++i) more += ",\"e" + std::to_string(i) + "\":[]";
    Lines lines = lines_of(to_file_bytes(idle_host_snapshot(20)));
    return compress_lines(replace_in_line(lines, 0, R"("host":[1])", R"("host":[1])" + more));
  };
  BOOST_TEST(refusal(with_entities(limits::kUnknownEntities)) == "");
  BOOST_TEST(refusal(with_entities(limits::kUnknownEntities + 1)).find("too many unknown") !=
             std::string::npos);
}

// A small file that expands to much text in unknown lines.
BOOST_AUTO_TEST_CASE(limits_the_text_of_unknown_lines) {
  const std::size_t line_bytes = limits::kLineBytes - limits::kKiB;
  const std::string line =
      "{\"kind\":\"moons\",\"a\":[\"" + std::string(limits::kTextBytes - 1, 'x') + "\"" +
      [&] {
        std::string more;
        const std::string text = ",\"" + std::string(limits::kTextBytes - 8, 'x') + "\"";
        while (more.size() + 3 * limits::kTextBytes < line_bytes) more += text;
        return more;
      }() +
      "]}\n";
  Lines lines = lines_of(to_file_bytes(idle_host_snapshot(20)));
  columns::FrameCompressor folder(3);
  std::string bytes;
  std::size_t text_bytes = 0;
  for (std::size_t i = 0; i + 2 < lines.size(); ++i) bytes += folder.compress(lines[i]);
  const std::string folded_line = folder.compress(line);
  for (; text_bytes <= limits::kKeptText; text_bytes += line.size()) bytes += folded_line;
  bytes += columns::make_padding(text_bytes + limits::kMiB, bytes.size());
  for (std::size_t i = lines.size() - 2; i < lines.size(); ++i) bytes += folder.compress(lines[i]);
  const std::string sentence = refusal(bytes);
  BOOST_TEST((sentence.find("bytes of keys that this version does not know") != sentence.npos),
             sentence);
}

BOOST_AUTO_TEST_CASE(refuses_a_file_with_only_unknown_lines) {
  for (const Lines& lines : {Lines{"{\"kind\":\"moons\"}\n"},
                             Lines{"{\"kind\":\"moons\"}\n", "{\"kind\":\"tides\"}\n"}}) {
    const auto block = columns::read_block(compress_lines(lines), 1, 1);
    BOOST_REQUIRE(!block);
    BOOST_TEST(block.error().text == "line 1 is of kind 'moons' where a block should begin");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_unknown_test
