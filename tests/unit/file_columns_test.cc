// Files in columns: what is written is what is read, in this layout and from one to the other; and
// what is damaged, cut, missing, doubled or out of order says so.

#define BOOST_TEST_MODULE file_columns
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/cpu_ranges.hpp"
#include "core/base/hex.hpp"
#include "core/file/columns/lines.hpp"
#include "core/file/columns/read_columns.hpp"
#include "core/file/columns/scanner.hpp"
#include "core/file/columns/write_columns.hpp"
#include "core/file/file.hpp"
#include "core/file/read/load.hpp"
#include "core/file/write/document.hpp"
#include "tests/unit/odd_host.hpp"

namespace ctprof::tests {
namespace {

using namespace columns;

constexpr int kSnapshots = 60;

struct Directory {
  std::string path;
  Directory() {
    char name[] = "/tmp/file_columns_XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Directory() { std::filesystem::remove_all(path); }
};

std::string bytes_of(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// The file that the snapshot becomes.
std::string written(const Snapshot& snapshot, unsigned workers = 1) {
  const Directory directory;
  const std::string path = directory.path + "/file";
  const auto done = write_file(snapshot, whole_vocabulary(), path,
                               {.layout = FileLayout::Columns, .workers = workers, .sync = false});
  BOOST_REQUIRE_MESSAGE(done.has_value(), done.error().text);
  return bytes_of(path);
}

Snapshot loaded(std::string_view bytes) {
  auto snapshot = load_bytes(bytes, "test", whole_vocabulary());
  BOOST_REQUIRE_MESSAGE(snapshot.has_value(), snapshot.error().text);
  return std::move(*snapshot);
}

std::string refusal(std::string_view bytes) {
  const auto snapshot = load_bytes(bytes, "test", whole_vocabulary());
  return snapshot ? "" : snapshot.error().text;
}

std::vector<std::string> lines_of(std::string_view bytes) {
  const auto frames = find_frames(bytes);
  BOOST_REQUIRE(frames.has_value());
  Unfolder unfolder;
  std::vector<std::string> lines;
  for (const Frame& frame : frames->whole) {
    const auto text = unfolder.unfold(bytes, frame);
    BOOST_REQUIRE(text.has_value());
    lines.emplace_back(*text);
  }
  return lines;
}

std::string folded(const std::vector<std::string>& lines) {
  Folder folder(3);
  std::string bytes;
  for (const std::string& line : lines) bytes += folder.fold(line);
  return bytes;
}

// Its last line made to count the others.
std::vector<std::string> counted(std::vector<std::string> lines) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) bytes += lines[i].size();
  lines.back() = R"({"kind":"end","lines":)" + std::to_string(lines.size()) + R"(,"bytes":)" +
                 std::to_string(bytes) + "}\n";
  return lines;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  BOOST_REQUIRE_MESSAGE(at != text.npos, what);
  return text.replace(at, what.size(), with);
}

Snapshot odd(int seed) { return OddHost(static_cast<std::uint64_t>(seed)).make(); }

Snapshot host_of(std::size_t threads) {
  HostShape shape;
  shape.threads = threads;
  return IdleHost(shape).make();
}

BOOST_AUTO_TEST_CASE(what_is_written_is_what_is_read) {
  for (int seed = 0; seed < kSnapshots; ++seed) {
    const Snapshot made = odd(seed);
    const std::string bytes = written(made);
    const Snapshot again = loaded(bytes);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(difference(made, again) == "");
      BOOST_TEST(!again.foreign);
      BOOST_TEST((written(again) == bytes), "written again it is another file");
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_and_columns_hold_the_same) {
  for (int seed = 0; seed < kSnapshots; ++seed) {
    const Snapshot made = odd(seed);
    StringSink rows;
    BOOST_REQUIRE(Document(made, whole_vocabulary()).write(rows).has_value());
    auto from_rows = load_text(rows.text(), "rows", whole_vocabulary());
    BOOST_REQUIRE(from_rows.has_value());
    const Snapshot through_both = loaded(written(*from_rows));
    StringSink again;
    BOOST_REQUIRE(Document(through_both, whole_vocabulary()).write(again).has_value());
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(difference(made, through_both) == "");
      BOOST_TEST((again.text() == rows.text()), "rows, columns and rows again differ");
    }
  }
}

BOOST_AUTO_TEST_CASE(workers_make_the_same_bytes) {
  const Snapshot made = host_of(5000);
  const std::string bytes = written(made, 1);
  BOOST_TEST((written(made, 4) == bytes));
  for (const unsigned workers : {1u, 2u, 7u}) {
    const auto blocks = read_blocks(bytes, workers);
    BOOST_REQUIRE(blocks.has_value());
    BOOST_REQUIRE(blocks->snapshots.size() == 1u);
    BOOST_TEST(difference(blocks->snapshots[0], made) == "");
  }
}

// A line has at most 1 MiB, whatever stands in its rows.
BOOST_AUTO_TEST_CASE(long_rows_make_short_lines) {
  Snapshot made = host_of(500);
  Column& comm = *made.threads().find(kComm);
  for (std::size_t row = 0; row < comm.rows(); ++row)
    comm.ids()[row] = made.pools->texts.intern(std::string(20'000, 'x') + std::to_string(row));
  const std::string bytes = written(made);
  BOOST_TEST(difference(loaded(bytes), made) == "");
  for (const std::string& line : lines_of(bytes)) BOOST_TEST(line.size() <= 1024u * 1024u);
}

BOOST_AUTO_TEST_CASE(an_empty_host_is_a_file) {
  const Snapshot made = host_of(0);
  BOOST_TEST(difference(loaded(written(made)), made) == "");
}

BOOST_AUTO_TEST_CASE(blocks_follow_one_another) {
  const Snapshot one = host_of(100), other = host_of(200);
  const std::string bytes = written(one) + written(other);
  const auto blocks = read_blocks(bytes, 2);
  BOOST_REQUIRE(blocks.has_value());
  BOOST_REQUIRE(blocks->snapshots.size() == 2u);
  BOOST_TEST(difference(blocks->snapshots[0], one) == "");
  BOOST_TEST(difference(blocks->snapshots[1], other) == "");
  BOOST_TEST(!blocks->torn);
  BOOST_TEST(refusal(bytes) == "reading 'test': it holds 2 captures, not one");
}

BOOST_AUTO_TEST_CASE(a_torn_block_is_left_out_and_told) {
  const Snapshot one = host_of(100);
  const std::string whole = written(one), next = written(host_of(3000));
  for (const std::size_t cut : {1ul, 100ul, next.size() / 2, next.size() - 1}) {
    const auto blocks = read_blocks(whole + next.substr(0, cut), 2);
    BOOST_REQUIRE_MESSAGE(blocks.has_value(), blocks.error().text);
    BOOST_TEST(blocks->snapshots.size() == 1u);
    BOOST_TEST(blocks->torn);
    const Snapshot kept = loaded(whole + next.substr(0, cut));
    BOOST_TEST(kept.meta.notes.back() == "a second block that was cut short is left out");
  }
  // Nothing whole is no file.
  for (const std::size_t cut : {next.size() / 2, next.size() - 1})
    BOOST_TEST(refusal(next.substr(0, cut)) == "reading 'test': it was cut: it has no end");
}

BOOST_AUTO_TEST_CASE(lines_in_disorder_say_so) {
  const std::vector<std::string> lines = lines_of(written(host_of(3000)));
  BOOST_REQUIRE(lines.size() >= 8u);  // header, three of threads, processes, cgroups, host, ...
  auto swapped = lines;
  std::swap(swapped[1], swapped[2]);
  BOOST_TEST(refusal(folded(swapped)) ==
             "reading 'test': line 2 is not the table that the header announces there: rows of "
             "thread from 0");
  auto doubled = lines;
  doubled.insert(doubled.begin() + 1, lines[1]);
  BOOST_TEST(refusal(folded(doubled)).starts_with("reading 'test': line 3 is not the table"));
  auto missing = lines;
  missing.erase(missing.begin() + 2);
  BOOST_TEST(refusal(folded(missing)).starts_with("reading 'test': line 3 is not the table"));
  auto headless = lines;
  headless.erase(headless.begin());
  BOOST_TEST(refusal(folded(headless)) != "");
  auto without_summary = lines;
  without_summary.erase(without_summary.end() - 2);
  BOOST_TEST(refusal(folded(counted(without_summary))) == "reading 'test': line " +
                                                              std::to_string(lines.size() - 1) +
                                                              " ends a block that has no summary");
  auto miscounted = lines;
  miscounted.back() = "{\"kind\":\"end\",\"lines\":3,\"bytes\":5}\n";
  BOOST_TEST(refusal(folded(miscounted)).find("says that the block has 3 lines and 5 bytes") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_in_a_table_is_told_with_its_line) {
  const std::vector<std::string> lines = lines_of(written(host_of(20)));
  const auto with = [&](std::string_view what, std::string_view instead) {
    auto changed = lines;
    changed[1] = replaced(changed[1], what, instead);
    return refusal(folded(counted(changed)));
  };
  BOOST_TEST(with("\"tid\":[1000,", "\"tid\":[").find("line 2 column 'tid' has 19 cells, not 20") !=
             std::string::npos);
  BOOST_TEST(with("\"tid\":[", "\"tid\":[1,").find("column 'tid' is too long") !=
             std::string::npos);
  BOOST_TEST(with("\"tid\":[1000", "\"tid\":[-1").find("a whole number from 0") !=
             std::string::npos);
  BOOST_TEST(with("\"tid\":[1000", "\"tid\":[4294967296").find("out of range for IdU32") !=
             std::string::npos);
  BOOST_TEST(with("\"tid\":[1000", "\"tid\":[null").find("row 0 of thread has no tid") !=
             std::string::npos);
  BOOST_TEST(with("\"tid\":[1000", "\"tid\":[5000").find("row 1 of thread is out of order") !=
             std::string::npos);
  BOOST_TEST(with("\"tid\":[", "\"tgid\":[").find("column 'tgid' is there twice") !=
             std::string::npos);
  BOOST_TEST(with("\"gaps\":[", "\"gaps\":[{\"columns\":[\"tid\"],\"runs\":[5,1]},")
                 .find("gaps of 'tid' are more than its nulls") != std::string::npos);
  BOOST_TEST(with("\"gaps\":[", "\"gaps\":[7,").find("an object was expected") !=
             std::string::npos);
  BOOST_TEST(with("{\"kind\"", "[{\"kind\"") != "");
}

BOOST_AUTO_TEST_CASE(blanks_between_tokens_change_nothing) {
  const Snapshot made = odd(5);
  auto lines = lines_of(written(made));
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
  BOOST_TEST(difference(loaded(folded(counted(lines))), made) == "");
}

// What a newer version may write is kept, through load and store, or refused with a sentence.
BOOST_AUTO_TEST_CASE(what_is_unknown_is_kept) {
  const Snapshot made = host_of(20);
  auto lines = lines_of(written(made));
  lines[0] = replaced(lines[0], "\"kind\":\"header\",", "\"kind\":\"header\",\"newer\":[1,\"x\"],");
  lines[1] = replaced(
      lines[1], "\"columns\":{", "\"columns\":{\"newer_metric\":[" + [] {
        std::string cells = "{\"a\":1}";
        for (int i = 1; i < 20; ++i) cells += ",null";
        return cells;
      }() + "],");
  lines.insert(lines.end() - 2, "{\"kind\":\"stacks\",\"nodes\":[1,2]}\n");
  const std::string bytes = folded(counted(lines));
  const Snapshot again = loaded(bytes);
  BOOST_TEST(again.objects.at("newer") == "[1,\"x\"]");
  BOOST_REQUIRE(again.unknown_lines.size() == 1u);
  BOOST_TEST(again.unknown_lines[0] == "{\"kind\":\"stacks\",\"nodes\":[1,2]}");
  const auto& kept = again.unknown_keys[0].at("newer_metric");
  BOOST_REQUIRE(kept.size() == 1u);
  BOOST_TEST(kept[0].second == "{\"a\":1}");
  const Snapshot twice = loaded(written(again));
  BOOST_TEST(difference(again, twice) == "");
  BOOST_TEST(twice.unknown_lines == again.unknown_lines);
  auto newer = lines_of(bytes);
  newer[0] = replaced(newer[0], "\"format\":2", "\"format\":3");
  BOOST_TEST(refusal(folded(counted(newer))) ==
             "reading 'test': it is of format 3; this ctprof reads up to 2");
}

// A code of a gap that this version does not know had a reason.
BOOST_AUTO_TEST_CASE(unknown_gap_codes_are_malformed) {
  auto lines = lines_of(written(host_of(20)));
  lines[1] = replaced(lines[1], "\"runs\":[", "\"runs\":[77");  // 77x, which is no code of ours
  bool found = false;
  const Snapshot again = loaded(folded(counted(lines)));
  for (const Column& column : again.threads().columns)
    for (std::size_t row = 0; row < column.rows(); ++row)
      found = found || column.gap(row) == Gap::Malformed;
  BOOST_TEST(found);
}

// Rows that are announced and not there cost nothing.
BOOST_AUTO_TEST_CASE(announcing_is_not_having) {
  auto lines = lines_of(written(host_of(20)));
  lines[0] = replaced(lines[0], "\"thread\":[20]", "\"thread\":[4000000]");
  BOOST_TEST(refusal(folded(counted(lines))) != "");
  lines[0] = replaced(lines[0], "\"thread\":[4000000]", "\"thread\":[4194305]");
  BOOST_TEST(refusal(folded(counted(lines))) ==
             "reading 'test': line 1 announces more than 4194304 rows of thread");
  lines[0] = replaced(lines[0], "\"thread\":[4194305]", "\"thread\":[18446744073709551615,2]");
  BOOST_TEST(refusal(folded(counted(lines))) ==
             "reading 'test': line 1 announces more than 4194304 rows of thread");
}

BOOST_AUTO_TEST_CASE(every_damaged_byte_is_seen_or_harmless) {
  const std::string bytes = written(host_of(30));
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    const auto snapshot = load_bytes(damaged, "test", whole_vocabulary());
    if (snapshot) BOOST_TEST(difference(*snapshot, host_of(30)) == "");
  }
}

BOOST_AUTO_TEST_CASE(scanner_takes_json_alone) {
  const auto wrong = [](std::string_view text) {
    Scanner in(text);
    in.skip();
    return in.failed() || !in.at_end();
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
  BOOST_TEST(wrong(std::string(100, '[') + std::string(100, ']')));
  Scanner number("18446744073709551615");
  BOOST_TEST(number.number() == std::numeric_limits<std::uint64_t>::max());
  Scanner too_large("18446744073709551616");
  too_large.number();
  BOOST_TEST(too_large.failed());
}

BOOST_AUTO_TEST_CASE(sets_of_cpus_as_text) {
  std::vector<std::uint64_t> words;
  for (const std::string text : {"", "0", "63", "64", "0-3,8", "0-63", "0-127", "1,3,5,130"}) {
    BOOST_REQUIRE(parse_cpu_ranges(text, 1024, words));
    BOOST_TEST(cpu_ranges(words) == text);
  }
  for (const char* text : {",", "1,", "3-1", "1,1", "2,1", "0-2,2", "x", "1024", "-1", "1-", "0 1"})
    BOOST_TEST(!parse_cpu_ranges(text, 1024, words), text);
}

BOOST_AUTO_TEST_CASE(bytes_in_hexadecimal) {
  const std::string bytes(
      "\x00\x7f\xff"
      "a",
      4);
  BOOST_TEST(hex(bytes) == "007fff61");
  BOOST_TEST((unhex("007fff61") == bytes));
  for (const char* text : {"0", "0g", "0X", "F0"}) BOOST_TEST(!unhex(text), text);
}

}  // namespace
}  // namespace ctprof::tests
