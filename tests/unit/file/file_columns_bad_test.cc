// Tests columns files that cannot be loaded: damaged, truncated, out of order, or made to use
// many resources. Each error is one sentence that names the line and the reason. No file uses more
// memory than allowed for its size.

#include <boost/test/unit_test.hpp>

#define ZSTD_STATIC_LINKING_ONLY  // for frames without a checksum or a size
#include <zstd.h>

#include "core/file/capture_file.hpp"
#include "core/file/layout/limits.hpp"
#include "tests/unit/support/column_lines.hpp"

namespace ctprof::tests::file_columns_bad_test {
namespace {

constexpr std::size_t kThreads = 20;

// Returns the lines of a small file: header, threads, processes, cgroups, host, summary, end.
const Lines& small_file() {
  static const Lines lines = lines_of(to_file_bytes(idle_host_snapshot(kThreads)));
  return lines;
}

void check_error(const std::string& bytes, const std::vector<std::string>& words) {
  const std::string sentence = refusal(bytes);
  BOOST_TEST_CONTEXT(sentence.substr(0, 200)) {
    BOOST_TEST(!sentence.empty());
    for (const std::string& word : words)
      BOOST_TEST((sentence.find(word) != sentence.npos), "no \"" << word << "\" in it");
  }
}
void check_error(const Lines& lines, const std::vector<std::string>& words) {
  check_error(compress_lines(lines), words);
}

// Replaces text in the line of threads, and checks the resulting error.
void check_thread_line(std::string_view what, std::string_view instead,
                       const std::vector<std::string>& words) {
  check_error(replace_in_line(small_file(), 1, what, instead), words);
}

BOOST_AUTO_TEST_SUITE(file_columns_bad_test)

// --- lines ---

BOOST_AUTO_TEST_CASE(reports_lines_out_of_order) {
  const Lines lines = lines_of(to_file_bytes(idle_host_snapshot(3000)));
  BOOST_REQUIRE(lines.size() >= 8u);  // three of threads
  const auto check_changed = [&](auto change, const std::string& words) {
    Lines changed = lines;
    change(changed);
    check_error(changed, {words});
  };
  check_changed([](Lines& l) { std::swap(l[1], l[2]); },
                "line 2 is not the table of 'thread' from row 0 that is announced there");
  check_changed([](Lines& l) { l.insert(l.begin() + 1, l[1]); }, "line 3 is not the table");
  check_changed([](Lines& l) { l.erase(l.begin() + 2); }, "line 3 is not the table");
  check_changed([](Lines& l) { l.erase(l.begin()); }, "");
  check_changed([](Lines& l) { l.insert(l.begin(), l[0]); }, "line 2 ");
  check_changed([](Lines& l) { l.insert(l.end() - 2, l[1]); }, "is of kind 'table' out of order");
  check_changed([](Lines& l) { l.insert(l.end() - 1, l[l.size() - 2]); },
                "is of kind 'summary' out of order");
  check_changed([](Lines& l) { l.insert(l.end() - 2, "{\"kin\":\"stacks\"}\n"); },
                "is of kind '' out of order");
  check_changed([](Lines& l) { l.erase(l.end() - 2), l = update_line_counts(l); },
                "line " + std::to_string(lines.size() - 1) + " ends a block without a summary");
  check_changed([](Lines& l) { l.back() = "{\"kind\":\"end\",\"lines\":3,\"bytes\":5}\n"; },
                "states 3 lines and 5 bytes for the block");
  check_changed([](Lines& l) { l.pop_back(); }, "it is truncated, because its end is missing");
  check_changed([](Lines& l) { l[1] = l[1].substr(0, l[1].size() / 2); }, "line 2 is wrong: ");
}

// Text before the end of a line, and two lines in one frame.
BOOST_AUTO_TEST_CASE(requires_one_line_per_frame) {
  Lines lines = small_file();
  lines[1] += lines[2];
  lines.erase(lines.begin() + 2);
  check_error(update_line_counts(lines), {"line 2 is wrong: more than one value"});
  check_error(replace_in_line(small_file(), small_file().size() - 2, "}\n", "} x\n"),
              {"more than one value"});
}

BOOST_AUTO_TEST_CASE(refuses_damaged_zstd_data) {
  const std::string bytes = compress_lines(small_file());
  check_error(bytes + "garbage, and more of it", {"invalid zstd data near byte "});
  // The second frame lacks its uncompressed size.
  std::string unsized(ZSTD_compressBound(small_file()[1].size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  unsized.resize(ZSTD_compress2(context, unsized.data(), unsized.size(), small_file()[1].data(),
                                small_file()[1].size()));
  ZSTD_freeCCtx(context);
  check_error(compress_lines({small_file()[0]}) + unsized, {"does not contain its length"});
}

BOOST_AUTO_TEST_CASE(detects_damaged_bytes_or_reads_equal_data) {
  const Snapshot made = idle_host_snapshot(30);
  const std::string bytes = to_file_bytes(made);
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    const auto snapshot = CaptureFile(damaged, {"test"}).load(shipped_vocabulary());
    if (snapshot) BOOST_TEST(difference(*snapshot, made) == "");
  }
}

BOOST_AUTO_TEST_CASE(refuses_truncated_files) {
  const std::string bytes = to_file_bytes(idle_host_snapshot(30));
  for (std::size_t size = 0; size < bytes.size(); size += 101)
    BOOST_REQUIRE(
        !CaptureFile(bytes.substr(0, size), {"test"}).load(shipped_vocabulary()).has_value());
}

// --- cells ---

BOOST_AUTO_TEST_CASE(refuses_cells_of_the_wrong_kind) {
  check_thread_line("\"tid\":[1000,", "\"tid\":[",
                    {"line 2 ", "column 'tid' has 19 cells instead of 20"});
  check_thread_line("\"tid\":[", "\"tid\":[1,", {"column 'tid' is too long"});
  check_thread_line("\"tid\":[1000", "\"tid\":[-1", {"a whole number from 0"});
  check_thread_line("\"tid\":[1000", "\"tid\":[1.0", {"a whole number from 0"});
  check_thread_line("\"tid\":[1000", "\"tid\":[4294967296", {"out of range for IdU32"});
  check_thread_line("\"tid\":[1000", "\"tid\":[null", {"row 0 of thread has no tid"});
  check_thread_line("\"tid\":[1000", "\"tid\":[5000", {"row 1 of thread is out of order"});
  check_thread_line("\"tid\":[", "\"tgid\":[", {"column 'tgid' is repeated"});
  check_thread_line("\"nice\":[", "\"nice\":[2147483648,", {"out of range for OrdinalI32"});
  check_thread_line("\"comm\":[", "\"comm\":[7,", {"a text was expected"});
  check_thread_line("\"comm\":[", "\"comm\":[\"\xff\",", {"not UTF-8"});
  check_thread_line("\"ext_enabled\":[", "\"ext_enabled\":[1,", {"true or false was expected"});
  check_thread_line("\"cpu_affinity\":[", "\"cpu_affinity\":[[0],", {"a text was expected"});
  check_thread_line("\"cpu_affinity\":[", "\"cpu_affinity\":[\"7-3\",",
                    {"a set of CPUs was expected"});
  check_thread_line("\"cpu_affinity\":[", "\"cpu_affinity\":[\"0-65536\",", {"a set of CPUs"});
  check_thread_line("\"columns\":{", "\"columns\":[", {"line 2 is wrong: an object was expected"});
  check_thread_line("{\"kind\"", "[{\"kind\"", {"line 2 "});
  for (const char* wrong : {"[[]],", "[[\"a\"]],", "[[\"a\",1,2]],", "[[\"a\",-1]],", "[[1,1]],"})
    check_error(replace_in_line(small_file(), 2, "\"process.smaps_rollup\":[",
                                "\"process.smaps_rollup\":[" + std::string(wrong)),
                {"line 3 "});
}

BOOST_AUTO_TEST_CASE(refuses_numbers_that_are_too_large) {
  for (const char* wrong : {"18446744073709551616", "99999999999999999999999999", "1e400"})
    check_thread_line("\"run_time_ns\":[", "\"run_time_ns\":[" + std::string(wrong) + ",",
                      {"a whole number from 0 to 18446744073709551615 was expected"});
  check_error(
      replace_in_line(small_file(), 0, "\"user_hz\":100", "\"user_hz\":18446744073709551616"),
      {"line 1 is wrong: ctprof.user_hz"});
  check_error(replace_in_line(small_file(), 0, "\"order\":", "\"order\":4294967296,\"newer\":"),
              {"line 1 is wrong: ", ".order is not a whole number from 0 to 2^32-1"});
  check_thread_line("\"first_row\":0", "\"first_row\":18446744073709551616", {"line 2 "});
  check_thread_line("\"first_row\":0", "\"first_row\":18446744073709551615", {"is not the table"});
}

// --- other members of a table line ---

BOOST_AUTO_TEST_CASE(requires_gaps_that_match_the_nulls) {
  const auto check_gaps_error = [](const std::string& gaps, const std::string& words) {
    check_thread_line("\"gaps\":[", "\"gaps\":[" + gaps + ",", {words});
  };
  check_gaps_error(R"({"columns":["tid"],"runs":[5,1]})", "gaps of 'tid' are more than its nulls");
  check_gaps_error(R"({"columns":["tid"],"runs":[5]})", "gaps of 'tid' are more than its nulls");
  check_gaps_error(R"({"columns":["tid","tid"],"runs":[]})", "gaps of 'tid' are repeated");
  check_gaps_error(R"({"columns":[],"runs":[5,0]})", "a run has zero rows");
  check_gaps_error(R"({"columns":[],"runs":[)" + repeat_text("5,1,", kThreads) + "5,1]}",
                   "more runs than rows");
  check_gaps_error("7", "an object was expected");
  check_thread_line("\"runs\":[5,20]", "\"runs\":[5,19]", {"are fewer than its nulls"});
  check_thread_line("\"runs\":[5,20]", "\"runs\":[5,19,5]", {"are fewer than its nulls"});
  check_thread_line("\"runs\":[5,20]", "\"runs\":[5,18446744073709551615]",
                    {"are more than its nulls"});
  check_thread_line("\"read_at\":[", "\"read_at\":[1,", {"read_at is too long"});
  check_thread_line("\"read_at\":[1000000,", "\"read_at\":[", {"read_at is too short"});
}

BOOST_AUTO_TEST_CASE(requires_row_numbers_inside_the_line) {
  const auto check_member_error = [](const std::string& more, const std::string& words) {
    check_thread_line("\"columns\":", more + ",\"columns\":", {words});
  };
  for (const std::string row : {"20", "18446744073709551615"}) {
    check_member_error("\"unknown\":{\"x\":[[" + row + ",1]]}", "a pair of a row and a value");
    check_member_error("\"raw\":{\"comm\":[[" + row + ",\"ff\"]]}", "bytes in hexadecimal");
  }
  for (const std::string row : {"-1", "\"0\""}) {
    check_member_error("\"unknown\":{\"x\":[[" + row + ",1]]}", "a whole number from 0");
    check_member_error("\"raw\":{\"comm\":[[" + row + ",\"ff\"]]}", "a whole number from 0");
  }
  for (const char* pair : {"[]", "[0]", "[0,1,2]", "7"})
    check_member_error("\"unknown\":{\"x\":[" + std::string(pair) + "]}", "");
  for (const char* pair : {"[]", "[0]", "[0,\"f\"]", "[0,\"fg\"]", "[0,\"ff\",1]"})
    check_member_error("\"raw\":{\"comm\":[" + std::string(pair) + "]}", "bytes in hexadecimal");
  check_member_error(R"("unknown":{"x":[[3,1],[4,1],[3,1]]})", "row 3 of thread has 'x' twice");
  check_member_error(R"("unknown":{"x":[[3,1]],"x":[[3,1]]})", "row 3 of thread has 'x' twice");
  check_member_error(R"("unknown":{"x":[[3,1]],"\\x":[[3,1]]})", "row 3 of thread has 'x' twice");
  check_member_error(R"("unknown":{"":[[3,1]]})", "an unknown key has no path");
}

// --- the header ---

BOOST_AUTO_TEST_CASE(checks_the_header) {
  const auto check_replaced = [](std::string_view what, std::string_view instead,
                                 const std::vector<std::string>& words) {
    check_error(replace_in_line(small_file(), 0, what, instead), words);
  };
  check_replaced(
      "\"format\":2", "\"format\":3",
      {"line 1 is of format 3, but this ctprof reads formats up to 2; use a newer ctprof"});
  check_replaced("\"format\":2", "\"format\":\"2\"", {"line 1 is of format 0"});
  check_replaced("\"format\":2,", "\"format\":2,\"format\":2,", {"a key is repeated"});
  check_replaced("\"ctprof\":", "\"other\":", {"line 1 has no ctprof object"});
  check_replaced("\"registry\":", "\"other\":", {"line 1 has no registry"});
  check_replaced("\"tables\":", "\"other\":", {"line 1 announces no tables"});
  check_replaced("\"storage\":\"u64\"", "\"storage\":\"string\"", {"registry.metrics", "'tid'"});
  check_replaced("\"storage\":\"u64\"", "\"storage\":\"pile\"", {"registry.metrics", "'tid'"});
  check_replaced("\"name\":\"tgid\"", "\"name\":\"tid\"", {"'tid' twice"});
  check_replaced("\"file_path\":\"threads[].tid\"", "\"file_path\":\"none\"",
                 {"gives 'tid' another file_path"});
  check_replaced("\"name\":\"tid\"", "\"name\":\"dit\"", {"the registry has no 'tid'"});
  check_replaced("\"rule\":\"SumNs\"", "\"rule\":\"SumBytes\"", {"registry.metrics", "units"});
  check_error(replace_in_line(small_file(), small_file().size() - 2, "\"kind\":\"summary\",",
                              "\"kind\":\"summary\",\"host\":{},"),
              {"repeats 'host'"});
}

// Announced rows that do not exist must not use memory.
BOOST_AUTO_TEST_CASE(announced_rows_use_no_memory) {
  const auto check_replaced = [](const std::string& tables, const std::vector<std::string>& words) {
    check_error(replace_in_line(small_file(), 0, "\"thread\":[20]", tables), words);
  };
  check_replaced("\"thread\":[4000000]", {"line 2 is too short for the 4000000 rows"});
  check_replaced("\"thread\":[4194305]", {"more than 4194304 rows of thread are announced"});
  check_replaced("\"thread\":[18446744073709551615,2]", {"more than 4194304 rows of thread"});
  check_replaced("\"thread\":[20,18446744073709551615]", {"more than 4194304 rows of thread"});
  check_replaced("\"thread\":[20,0]", {"a table without rows is announced"});
  check_replaced("\"thread\":[20],\"thread\":[20]", {"rows of thread are announced twice"});
  check_replaced("\"thread\":[20],\"moon\":[1]",
                 {"line 3 is not the table of 'moon' from row 0 that is announced there"});
  check_replaced("\"thread\":20", {"an array was expected"});
  check_replaced("\"thread\":[19]", {"is too long"});
  check_replaced("\"thread\":[10,10]", {"line 2 "});
  check_replaced("\"thread\":[" + repeat_text("1,", 1'000'000) + "1]", {"it is truncated"});
}

// --- decompression bombs ---

// Returns a file with this line between a header that announces `rows` threads and the end.
Lines file_with_line(std::string line, std::size_t rows) {
  Lines lines = small_file();
  lines[0] = replace_once(lines[0], "\"thread\":[20]", "\"thread\":[" + std::to_string(rows) + "]");
  lines[1] = std::move(line);
  return update_line_counts(lines);
}

constexpr std::string_view kTableStart = R"({"kind":"table","entity":"thread","first_row":0,)";

BOOST_AUTO_TEST_CASE(refuses_text_that_is_too_large_for_its_file) {
  Lines lines = small_file();
  for (int i = 0; i < 3; ++i)
    lines.insert(lines.end() - 2,
                 "{\"kind\":\"blank\"" + std::string(40 * limits::kMiB, ' ') + "}\n");
  check_error(update_line_counts(lines),
              {"decompresses to more than ", "the limit for a file of its size"});
  check_error(
      file_with_line(std::string(kTableStart) + std::string(limits::kLineBytes, ' ') + "}", 20),
      {"is longer than 67108864 bytes"});
}

BOOST_AUTO_TEST_CASE(refuses_deeply_nested_values) {
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  check_thread_line("\"columns\":{", "\"newer\":" + deep + ",\"columns\":{",
                    {"nested more than 32"});
  check_thread_line("\"columns\":{", "\"columns\":{\"newer\":[" + deep + "],",
                    {"nested more than 32"});
  check_error(replace_in_line(small_file(), 0, "\"format\"", "\"newer\":" + deep + ",\"format\""),
              {"line 1 is wrong: values are nested more than 32 deep"});
  check_error(replace_in_line(small_file(), 0, "\"user_hz\"", "\"newer\":" + deep + ",\"user_hz\""),
              {"nested more"});
}

BOOST_AUTO_TEST_CASE(refuses_items_that_are_too_large_or_too_many) {
  const std::string large(2 * limits::kMiB, 'x');
  check_thread_line("\"comm\":[", "\"comm\":[\"" + large + "\",", {"a text is too long"});
  check_thread_line("\"columns\":{", "\"unknown\":{\"" + large + "\":[[0,1]]},\"columns\":{",
                    {"a key is too long"});
  check_error(replace_in_line(small_file(), 0, "\"format\"", "\"" + large + "\":1,\"format\""),
              {"a key is too long"});
  std::string kinds, keys;
  for (int i = 0; i < 5000; ++i) kinds += "\"k" + std::to_string(i) + "\":[[0,1]],";
  check_thread_line("\"columns\":{", "\"unknown\":{" + kinds + "\"x\":[]},\"columns\":{",
                    {"too many kinds of unknown keys"});
  for (int i = 0; i < 70'000; ++i) keys += "[\"" + std::to_string(i) + "\",0],";
  check_error(replace_in_line(small_file(), 2, "\"process.smaps_rollup\":[",
                              "\"process.smaps_rollup\":[[" + keys + "[\"x\",1]],"),
              {"a map has too many keys"});
  check_thread_line("\"gaps\":[",
                    "\"gaps\":[{\"columns\":[" + repeat_text("\"a\",", 5000) + "\"a\"]},",
                    {"too many columns"});
  std::string members;
  for (int i = 0; i < 70'000; ++i) members += "\"k" + std::to_string(i) + "\":0,";
  check_error(replace_in_line(small_file(), 0, "\"format\"", members + "\"format\""),
              {"line 1 is wrong: too many keys"});
  for (const char* object : {"\"ctprof\":{", "\"registry\":{", "\"metrics\":[{"})
    check_error(replace_in_line(small_file(), 0, object, object + members),
                {"line 1 is wrong: ", "too many keys"});
  check_error(replace_in_line(small_file(), small_file().size() - 2, "\"sources\":[",
                              "\"sources\":[" + repeat_text("{},", 5000) + "{}"),
              {"ctprof.sources has more than 4096 items"});
  check_error(replace_in_line(small_file(), 0, "\"ctprof\":{",
                              "\"ctprof\":{\"newer\":[" + repeat_text("1,", 9'000'000) + "1],"),
              {"ctprof is longer than"});
  check_error(replace_in_line(small_file(), 0, "\"registry\":{",
                              "\"registry\":{\"newer\":[" + repeat_text("1,", 9'000'000) + "1],"),
              {"registry is longer than"});
}

// A short line can create millions of cells: rows without columns, or sets of all CPUs.
BOOST_AUTO_TEST_CASE(refuses_files_that_need_too_much_memory) {
  check_error(
      file_with_line(std::string(kTableStart) + std::string(8'400'000, ' ') + "\"columns\":{}}",
                     4'000'000),
      {"requires more memory than allowed for a file of its size"});
  std::string sets;
  for (int i = 0; i < 100'000; ++i) sets += i % 2 ? "\"0-65535\"," : "\"0-65534\",";
  check_error(file_with_line(
                  std::string(kTableStart) + "\"columns\":{\"cpu_affinity\":[" + sets + "\"0\"]}}",
                  100'001),
              {"requires more memory than allowed for a file of its size"});
}

BOOST_AUTO_TEST_CASE(refuses_too_many_lines) {
  columns::FrameCompressor folder(1);
  const std::string frame = folder.compress("");
  check_error(compress_lines({small_file()[0]}) + repeat_text(frame, limits::kLines + 1),
              {"has more than 1048576 lines"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_columns_bad_test
