// Tests columns files: data survives writing and reading, also between the layouts; files with
// several captures; and members of newer versions.

#include <boost/test/unit_test.hpp>

#include "core/file/capture_file.hpp"
#include "core/file/columns/read_columns.hpp"
#include "core/file/write/document.hpp"
#include "core/snapshot/file_extras.hpp"
#include "tests/unit/support/column_lines.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::tests::file_columns_test {
namespace {

constexpr int kSnapshots = 60;

BOOST_AUTO_TEST_SUITE(file_columns_test)

BOOST_AUTO_TEST_CASE(reads_what_it_writes) {
  for (int seed = 0; seed < kSnapshots; ++seed) {
    const Snapshot original = random_snapshot(seed);
    const std::string bytes = to_file_bytes(original);
    const Snapshot again = load(bytes);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(difference(original, again) == "");
      BOOST_TEST(!again.is_foreign);
      BOOST_TEST((to_file_bytes(again) == bytes), "written again it is another file");
    }
  }
}

BOOST_AUTO_TEST_CASE(both_layouts_contain_the_same_data) {
  for (int seed = 0; seed < kSnapshots; ++seed) {
    const Snapshot original = random_snapshot(seed);
    StringSink rows;
    BOOST_REQUIRE(Document(original, shipped_vocabulary()).write(rows).has_value());
    auto from_rows = load_text(rows.text(), "rows", shipped_vocabulary());
    BOOST_REQUIRE(from_rows.has_value());
    const Snapshot converted_twice = load(to_file_bytes(*from_rows));
    StringSink again;
    BOOST_REQUIRE(Document(converted_twice, shipped_vocabulary()).write(again).has_value());
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(difference(original, converted_twice) == "");
      BOOST_TEST((again.text() == rows.text()), "rows, columns and rows again differ");
    }
  }
}

BOOST_AUTO_TEST_CASE(several_workers_write_the_same_bytes) {
  const Snapshot original = idle_host_snapshot(5000);
  const std::string bytes = to_file_bytes(original, 1);
  BOOST_TEST((to_file_bytes(original, 4) == bytes));
  for (const unsigned workers : {1u, 2u, 7u}) {
    const auto block = columns::read_block(bytes, 1, workers);
    BOOST_REQUIRE(block.has_value());
    BOOST_TEST(block->complete_blocks == 1u);
    BOOST_TEST(difference(block->snapshot, original) == "");
  }
}

// A line has at most 1 MiB, whatever its rows contain.
BOOST_AUTO_TEST_CASE(splits_lines_with_long_rows) {
  Snapshot original = idle_host_snapshot(500);
  Column& comm = *original.threads().find(kComm);
  for (std::size_t row = 0; row < comm.rows(); ++row)
    comm.ids()[row] = original.pools->texts.intern(std::string(20'000, 'x') + std::to_string(row));
  const std::string bytes = to_file_bytes(original);
  BOOST_TEST(difference(load(bytes), original) == "");
  for (const std::string& line : lines_of(bytes)) BOOST_TEST(line.size() <= 1024u * 1024u);
}

BOOST_AUTO_TEST_CASE(writes_an_empty_host) {
  const Snapshot original = idle_host_snapshot(0);
  BOOST_TEST(difference(load(to_file_bytes(original)), original) == "");
}

BOOST_AUTO_TEST_CASE(reads_consecutive_blocks) {
  const Snapshot one = idle_host_snapshot(100), other = idle_host_snapshot(200);
  const std::string bytes = to_file_bytes(one) + to_file_bytes(other) + to_file_bytes(one);
  const auto block = columns::read_block(bytes, 2, 2);
  BOOST_REQUIRE(block.has_value());
  BOOST_TEST(difference(block->snapshot, other) == "");
  BOOST_TEST(block->complete_blocks == 3u);
  BOOST_TEST(!block->is_truncated);
  const Snapshot first = load(bytes);
  BOOST_TEST(difference(first, one) == "");
  BOOST_TEST(
      first.load_messages ==
      (std::vector<std::string>{"'test' holds 3 captures; the first one is read; 'test#2' is "
                                "the next"}));
  BOOST_TEST(load(bytes, {"test", 3, true}).load_messages.empty());
  BOOST_TEST(refusal(bytes, {"test", 4, true}) == "it has no capture 4; its last capture is 3");
  BOOST_TEST(refusal(bytes, {"test", 0, true}) == "it has no capture 0; its last capture is 3");
}

BOOST_AUTO_TEST_CASE(selects_a_capture_by_number) {
  const auto name = [](const std::string& argument) {
    const CaptureName found = parse_capture_name(argument);
    return found.path + " " + std::to_string(found.number) + (found.has_number ? " chosen" : "");
  };
  BOOST_TEST(name("a.zst") == "a.zst 1");
  BOOST_TEST(name("a.zst#12") == "a.zst 12 chosen");
  BOOST_TEST(name("a#1#2") == "a#1 2 chosen");
  for (const char* path : {"a#", "a#x", "a#-1", "a#1x", "a#99999999999999999999"})
    BOOST_TEST(name(path) == path + std::string(" 1"));
  const TemporaryDirectory directory;
  std::ofstream(directory / "file" + "#2").close();
  BOOST_TEST(name(directory / "file" + "#2") == directory / "file" + "#2 1");
}

BOOST_AUTO_TEST_CASE(omits_and_reports_an_incomplete_block) {
  const Snapshot one = idle_host_snapshot(100);
  const std::string whole = to_file_bytes(one), next = to_file_bytes(idle_host_snapshot(3000));
  for (const std::size_t cut : {1ul, 100ul, next.size() / 2, next.size() - 1}) {
    const Snapshot kept = load(whole + next.substr(0, cut));
    BOOST_TEST(difference(kept, one) == "");
    BOOST_TEST(
        kept.load_messages ==
        (std::vector<std::string>{"'test' ends with an incomplete capture, which is skipped"}));
  }
  BOOST_TEST(refusal(whole + next.substr(0, 100), {"test", 2, true}) ==
             "it has no capture 2; its last capture is 1");
  // Without a complete block, the file is refused.
  for (const std::size_t cut : {next.size() / 2, next.size() - 1})
    BOOST_TEST(refusal(next.substr(0, cut)) == "it is truncated, because its end is missing");
}

// Each block can be read independently of the data after it.
BOOST_AUTO_TEST_CASE(a_damaged_block_does_not_affect_earlier_ones) {
  const Snapshot one = idle_host_snapshot(100);
  Lines other = lines_of(to_file_bytes(idle_host_snapshot(50)));
  other.erase(other.end() - 2);
  const std::string bytes = to_file_bytes(one) + compress_lines(update_line_counts(other));
  const Snapshot kept = load(bytes);
  BOOST_TEST(difference(kept, one) == "");
  BOOST_REQUIRE(kept.load_messages.size() == 1u);
  BOOST_TEST(kept.load_messages[0].find("ends a block without a summary") != std::string::npos);
  BOOST_TEST(refusal(bytes, {"test", 2, true}).find("without a summary") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(ignores_blanks_between_tokens) {
  const Snapshot original = random_snapshot(5);
  auto lines = lines_of(to_file_bytes(original));
  for (std::string& line : lines) {
    std::string spaced;
    bool in_text = false, escaped = false;
    for (const char c : line) {
      if (!in_text && (c == ',' || c == ':' || c == '[' || c == '}')) spaced += ' ';
      spaced += c;
      if (!in_text && (c == ',' || c == ':')) spaced += "\t ";
      in_text = c == '"' && !escaped ? !in_text : in_text;
      escaped = c == '\\' && !escaped;
    }
    line = spaced;
  }
  lines[0] = "{\"kind\":\"header\"" + lines[0].substr(lines[0].find(','));
  BOOST_TEST(difference(load(compress_lines(update_line_counts(lines))), original) == "");
}

// Members of newer versions are kept when a file is read and written, or refused with a message.
BOOST_AUTO_TEST_CASE(keeps_unknown_members) {
  const Snapshot original = idle_host_snapshot(20);
  auto lines = lines_of(to_file_bytes(original));
  lines[0] =
      replace_once(lines[0], "\"kind\":\"header\",", "\"kind\":\"header\",\"newer\":[1,\"x\"],");
  lines[1] = replace_once(
      lines[1], "\"columns\":{", "\"columns\":{\"newer_metric\":[" + [] {
        std::string cells = "{\"a\":1}";
        for (int i = 1; i < 20; ++i) cells += ",null";
        return cells;
      }() + "],");
  lines.insert(lines.end() - 2, "{\"kind\":\"moons\",\"nodes\":[1,2]}\n");
  const std::string bytes = compress_lines(update_line_counts(lines));
  const Snapshot again = load(bytes);
  BOOST_TEST(again.objects.at("newer") == "[1,\"x\"]");
  BOOST_REQUIRE(again.extras->unknown_lines.size() == 1u);
  BOOST_TEST(again.extras->unknown_lines[0] == "{\"kind\":\"moons\",\"nodes\":[1,2]}");
  const auto& kept = again.extras->unknown_keys[0].at("newer_metric");
  BOOST_REQUIRE(kept.size() == 1u);
  BOOST_TEST(kept[0].second == "{\"a\":1}");
  const Snapshot twice = load(to_file_bytes(again));
  BOOST_TEST(difference(again, twice) == "");
  BOOST_TEST(twice.extras->unknown_lines == again.extras->unknown_lines);
  auto newer = lines_of(bytes);
  newer[0] = replace_once(newer[0], "\"format\":2", "\"format\":3");
  BOOST_TEST(refusal(compress_lines(update_line_counts(newer))) ==
             "line 1 is of format 3, but this ctprof reads formats up to 2; use a newer ctprof");
}

// A metric of an unknown newtype remains a column with its definition.
BOOST_AUTO_TEST_CASE(keeps_a_column_of_an_unknown_newtype) {
  Lines lines = lines_of(to_file_bytes(idle_host_snapshot(20)));
  lines[0] = replace_once(lines[0], "\"newtype\":\"ClockTicks\"", "\"newtype\":\"Moons\"");
  const Snapshot snapshot = load(compress_lines(update_line_counts(lines)));
  BOOST_TEST(!snapshot.threads().find("utime_clock_ticks"));
  BOOST_TEST(snapshot.extras->unknown_keys[0].at("utime_clock_ticks").size() == 20u);
  const Lines again = lines_of(to_file_bytes(snapshot));
  BOOST_TEST(again[0].find("\"newtype\":\"Moons\"") != std::string::npos);
  BOOST_TEST(again[1].find("\"utime_clock_ticks\":[") != std::string::npos);
  BOOST_TEST(again[1].find("\"unknown\"") == std::string::npos);
}

// The same applies to an unknown display of a headline.
BOOST_AUTO_TEST_CASE(keeps_an_unknown_headline) {
  Snapshot original = random_snapshot(1);
  Column& column = *original.threads().find("third_thread.MonotonicNs");
  MetricDef def = column.def();
  def.headline = Headline{.label = "x", .order = 1, .shown = CTPROF_SHOWN_RATE};
  def.name = "third_more";
  def.file_path = "none";
  original.threads().add(def, Gap::None);
  Lines lines = lines_of(to_file_bytes(original));
  const auto at = lines[0].find("\"shown\":1", lines[0].find("\"third_more\""));
  BOOST_REQUIRE(at != std::string::npos);
  lines[0].replace(at, 9, "\"shown\":7");
  const Snapshot snapshot = load(compress_lines(update_line_counts(lines)));
  BOOST_TEST(!snapshot.threads().find("third_more")->def().headline.has_value());
  BOOST_TEST(lines_of(to_file_bytes(snapshot))[0].find("\"shown\":7") != std::string::npos);
}

// A finding of a derived metric with an unknown next step.
BOOST_AUTO_TEST_CASE(keeps_an_unknown_finding) {
  Snapshot original = random_snapshot(1);
  DerivedDef derived;
  derived.name = "third_more";
  derived.expression = "third_thread.MonotonicNs / 2";
  derived.unit = "ns";
  derived.finding = FindingDef{.statement = "is {}", .at_least = 0.5, .weight = 0.25, .next = 1};
  original.derived = {derived};
  Lines lines = lines_of(to_file_bytes(original));
  BOOST_TEST((load(compress_lines(lines)).derived.at(0).finding == derived.finding));
  lines[0] = replace_once(lines[0], "\"next\":1", "\"next\":44");
  const Snapshot snapshot = load(compress_lines(update_line_counts(lines)));
  BOOST_TEST(!snapshot.derived.at(0).finding.has_value());
  BOOST_TEST(lines_of(to_file_bytes(snapshot))[0].find("\"next\":44") != std::string::npos);
}

// Members of the header line and of the end line return to their line.
BOOST_AUTO_TEST_CASE(keeps_unknown_members_in_their_lines) {
  Lines lines = lines_of(to_file_bytes(idle_host_snapshot(20)));
  const std::size_t summary = lines.size() - 2;
  lines[0] = replace_once(lines[0], "\"ctprof\":{", "\"early\":1,\"ctprof\":{\"soon\":2,");
  lines[summary] =
      replace_once(lines[summary], "\"ctprof\":{", "\"late\":3,\"ctprof\":{\"then\":4,");
  const Lines again = lines_of(to_file_bytes(load(compress_lines(update_line_counts(lines)))));
  for (const char* words : {"\"early\":1", "\"soon\":2"})
    BOOST_TEST(again[0].find(words) != std::string::npos);
  for (const char* words : {"\"late\":3", "\"then\":4"})
    BOOST_TEST(again[summary].find(words) != std::string::npos);
}

// Unknown lines between tables and summary are kept.
BOOST_AUTO_TEST_CASE(keeps_unknown_lines) {
  Lines lines = lines_of(to_file_bytes(idle_host_snapshot(20)));
  const Lines more{"{\"columns\":{\"run_time_ns\":[1,null]},\"kind\":\"newer\"}\n",
                   "{\"columns\":{\"tid\":[7]},\"kind\":\"later\"}\n",
                   "{\"kind\":\"moons\",\"nodes\":[[0,1]]}\n"};
  lines.insert(lines.end() - 2, more.begin(), more.end());
  lines = update_line_counts(lines);
  BOOST_TEST((lines_of(to_file_bytes(load(compress_lines(lines)))) == lines));
}

// An unknown gap code means that the cell has a gap.
BOOST_AUTO_TEST_CASE(unknown_gap_codes_are_malformed) {
  auto lines = lines_of(to_file_bytes(idle_host_snapshot(20)));
  lines[1] = replace_once(lines[1], "\"runs\":[", "\"runs\":[77");  // 77 is an unknown code
  bool found = false;
  const Snapshot again = load(compress_lines(update_line_counts(lines)));
  for (const Column& column : again.threads().columns)
    for (std::size_t row = 0; row < column.rows(); ++row)
      found = found || column.gap(row) == Gap::Malformed;
  BOOST_TEST(found);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_columns_test
