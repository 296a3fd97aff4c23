// Tests files that cannot be loaded: each error is one sentence that names the file, the place and
// the reason.

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "core/file/capture_file.hpp"
#include "core/file/file.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/read/load_text.hpp"
#include "core/file/write/document.hpp"
#include "core/snapshot/file_extras.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/idle_host.hpp"

namespace ctprof::tests::file_bad_test {
namespace {

std::string compress(const std::string& text, int level = 3) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), level));
  return out;
}

std::string failure(const Result<Snapshot>& result) {
  BOOST_REQUIRE_MESSAGE(!result.has_value(), "it was loaded");
  return result.error().text;
}

std::string failure_of_text(const std::string& text) {
  return failure(load_text(text, "x.zst", shipped_vocabulary()));
}
std::string failure_of_bytes(const std::string& bytes) {
  return failure(CaptureFile(bytes, {"x.zst"}).load(shipped_vocabulary()));
}

void check_message(const std::string& sentence, const std::vector<std::string>& words) {
  BOOST_TEST_CONTEXT(sentence) {
    BOOST_TEST(sentence.starts_with("reading 'x.zst': "));
    BOOST_TEST(sentence.find('\n') == sentence.npos);
    for (const std::string& word : words)
      BOOST_TEST((sentence.find(word) != sentence.npos), "no \"" << word << "\" in it");
  }
}

std::string with_thread_member(const std::string& more) {
  return R"({"threads":[{"tid":1,"tgid":1},{"tid":2,"tgid":1,)" + more + "}]}";
}
std::string with_cgroup_member(const std::string& inner) {
  return R"({"cgroup_stats":{"/a":)" + inner + "}}";
}

const std::string& idle_text() {
  static const std::string text = [] {
    StringSink sink;
    HostShape shape;
    shape.threads = 500;
    BOOST_REQUIRE(Document(IdleHost(shape).make(), shipped_vocabulary()).write(sink).has_value());
    return sink.text();
  }();
  return text;
}

std::string replace_text(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  BOOST_REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

BOOST_AUTO_TEST_SUITE(file_bad_test)

BOOST_AUTO_TEST_CASE(refuses_values_of_the_wrong_type) {
  check_message(failure_of_text(with_thread_member(R"("nice":"low")")),
                {"threads[1].nice", "a text", "a whole number", "(byte "});
  check_message(failure_of_text(with_thread_member(R"("nice":1.5)")),
                {"threads[1].nice", "1.5", "a whole number"});
  check_message(failure_of_text(with_thread_member(R"("nice":null)")), {"threads[1].nice", "null"});
  check_message(failure_of_text(with_thread_member(R"("nice":{})")),
                {"threads[1].nice", "an object"});
  check_message(failure_of_text(with_thread_member(R"("comm":7)")),
                {"threads[1].comm", "a number", "a text"});
  check_message(failure_of_text(with_thread_member(R"("comm":["a"])")),
                {"threads[1].comm", "an array"});
  check_message(failure_of_text(with_thread_member(R"("ext_enabled":1)")),
                {"threads[1].ext_enabled", "true or false"});
  check_message(failure_of_text(with_thread_member(R"("cpu_affinity":3)")),
                {"threads[1].cpu_affinity", "an array of whole numbers"});
  check_message(failure_of_text(with_thread_member(R"("cpu_affinity":["0"])")),
                {"threads[1].cpu_affinity"});
  check_message(failure_of_text(with_thread_member(R"("cpu_affinity":[0.5])")),
                {"threads[1].cpu_affinity", "0.5"});
  check_message(failure_of_text(with_thread_member(R"("smaps_rollup_kib":{"Rss":"1"})")),
                {"threads[1].smaps_rollup_kib", "a text"});
  check_message(failure_of_text(with_thread_member(R"("smaps_rollup_kib":{"Rss":-1})")),
                {"threads[1].smaps_rollup_kib", "-1"});
  check_message(failure_of_text(with_cgroup_member(R"({"cpu":7})")),
                {"cgroup_stats[0].cpu", "a number"});
  check_message(failure_of_text(with_cgroup_member(R"({"cpu":{"weight":"x"}})")),
                {"cgroup_stats[0].cpu.weight", "a text"});
  check_message(failure_of_text(with_cgroup_member("null")), {"cgroup_stats[0]", "null"});
  check_message(failure_of_text(R"({"psi":{"cpu":{"some":{"avg10":true}}}})"),
                {"psi.cpu.some.avg10", "true"});
  check_message(failure_of_text(R"({"sched_ext":{"switch_all":2}})"),
                {"sched_ext.switch_all", "2"});
  check_message(failure_of_text(R"({"threads":{}})"), {"threads", "an object"});
  check_message(failure_of_text(R"({"threads":[1]})"), {"threads", "a number"});
  check_message(failure_of_text(R"({"cgroup_stats":[]})"), {"cgroup_stats", "an array"});
  check_message(failure_of_text(R"({"captured_at_unix_ns":"now"})"), {"captured_at_unix_ns"});
  check_message(failure_of_text("[]"), {"an array", "a snapshot's object"});
}

BOOST_AUTO_TEST_CASE(refuses_numbers_out_of_range) {
  check_message(failure_of_text(with_thread_member(R"("nice":2147483648)")),
                {"threads[1].nice", "OrdinalI32", "2147483648"});
  check_message(failure_of_text(with_thread_member(R"("nice":-2147483649)")),
                {"threads[1].nice", "-2147483649"});
  check_message(failure_of_text(with_thread_member(R"("rt_priority":-1)")),
                {"threads[1].rt_priority", "OrdinalU32"});
  check_message(failure_of_text(with_thread_member(R"("run_time_ns":-1)")),
                {"threads[1].run_time_ns", "MonotonicNs"});
  check_message(failure_of_text(with_thread_member(R"("run_time_ns":18446744073709551616)")),
                {"threads[1].run_time_ns", "18446744073709551616"});
  check_message(failure_of_text(R"({"threads":[{"tid":4294967296}]})"),
                {"threads[0].tid", "IdU32"});
  check_message(failure_of_text(with_thread_member(R"("cpu_affinity":[65536])")),
                {"threads[1].cpu_affinity", "65536"});
  check_message(failure_of_text(R"({"psi":{"cpu":{"some":{"avg10":65536}}}})"),
                {"psi.cpu.some.avg10", "GaugeRatio100"});
}

BOOST_AUTO_TEST_CASE(refuses_invalid_json) {
  check_message(failure_of_text(idle_text().substr(0, idle_text().size() / 2)),
                {"ends in the middle", "threads[", "(byte "});
  check_message(failure_of_text(idle_text() + "x"), {"more text follows the end of the JSON"});
  check_message(failure_of_text(idle_text() + std::string(300000, ' ') + "{}"),
                {"more text follows the end of the JSON"});
  check_message(failure_of_text(""), {"ends in the middle"});
  check_message(failure_of_text("{\"threads\":[{\"comm\":\"\xff\"}]}"), {"invalid JSON", "byte"});
  check_message(failure_of_text(R"({"threads":[{"tid":1,}]})"), {"invalid JSON", "threads[0]"});
  check_message(failure_of_text(R"({"threads":[],"threads":[]})"), {"'threads' twice"});
  BOOST_TEST(load_text(idle_text() + "\n \n", "x", shipped_vocabulary()).has_value());
}

BOOST_AUTO_TEST_CASE(refuses_deeply_nested_values) {
  check_message(failure_of_text("{\"a\":" + std::string(10000, '[')), {"nested more than 32 deep"});
  std::string objects;
  for (int i = 0; i < 10000; ++i) objects += "{\"a\":";
  check_message(failure_of_text(objects), {"nested more than 32 deep"});
}

BOOST_AUTO_TEST_CASE(refuses_damaged_zstd_data) {
  const std::string whole = compress(idle_text());
  check_message(failure_of_bytes(whole.substr(0, whole.size() / 2)),
                {"ends in the middle of its zstd data"});
  check_message(failure_of_bytes(whole.substr(0, 7)), {"ends in the middle"});
  check_message(failure_of_bytes(whole + "garbage"), {"zstd"});
  check_message(failure_of_bytes(idle_text()), {"does not begin with a zstd header"});
  check_message(failure_of_bytes(""), {"empty"});
  std::string damaged = whole;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  check_message(failure_of_bytes(damaged), {});
  BOOST_TEST(CaptureFile(compress("{\"a\":") + compress("1}"), {"x"})
                 .load(shipped_vocabulary())
                 .has_value(),
             "frames in a row are one text");
}

// The first 64 MiB are free; beyond that, 200 bytes are allowed for each byte of the file.
BOOST_AUTO_TEST_CASE(refuses_text_that_is_too_large_for_its_file) {
  std::string items;
  for (int item = 0; item < 5000; ++item) items += "," + std::to_string(item * 7919);
  std::string text = "{\"a\":[0";
  while (text.size() < 50 * limits::kMiB) text += items;
  text += "],\"b\":[0";
  while (text.size() < 100 * limits::kMiB) text += items;
  const std::string file = compress(text + "]}");
  BOOST_REQUIRE(text.size() / file.size() > 500);
  check_message(failure_of_bytes(file),
                {"decompresses to more than " +
                 std::to_string(64 * limits::kMiB + 200 * file.size()) + " bytes"});
}

// The text compresses better than a reader accepts, so the writer adds meaningless bytes that keep
// the ratio within the limit.
BOOST_AUTO_TEST_CASE(written_files_stay_within_the_compression_limit) {
  const TemporaryDirectory directory;
  const std::string path = directory / "x.zst";
  HostShape shape;
  shape.threads = 1;
  Snapshot snapshot = IdleHost(shape).make();
  for (const char* key : {"x", "y", "z"})
    snapshot.objects[key] = '0' + std::string(40 * limits::kMiB, ' ');
  const auto written = write_file(snapshot, shipped_vocabulary(), path, {.sync = false});
  BOOST_REQUIRE(written.has_value());
  BOOST_TEST(written->file_bytes >= (120 - 64) * limits::kMiB / 200);
  BOOST_TEST(written->file_bytes < 60 * limits::kMiB / 200);
  BOOST_TEST(load_file(path, shipped_vocabulary()).has_value());
}

BOOST_AUTO_TEST_CASE(refuses_decompression_bombs) {
  check_message(failure_of_bytes(compress("{\"a\":" + std::string(200'000'000, ' '))),
                {"decompresses to more than"});
  check_message(failure_of_text("{\"a\":\"" + std::string(2'000'000, 'x') + "\"}"),
                {"a text is too long, in a (byte "});
  check_message(failure_of_text("{\"" + std::string(100'000, 'x') + "\":1}"),
                {"the top level has a key of more than 65536 bytes", "(byte "});
  const std::string items = repeat_text(",1000000", 1000), rows = repeat_text("{},", 1000);
  check_message(failure_of_text("{\"a\":[1" + repeat_text(items, 10'000) + "]}"),
                {"a value is longer than 67108864 bytes, in a (byte "});
  check_message(failure_of_text("{\"threads\":[" + repeat_text(rows, 1000) + "{}]}"),
                {"requires more memory"});
  std::string kinds = "{\"threads\":[{";
  for (int key = 0; key < 10'000; ++key) kinds += "\"unknown" + std::to_string(key) + "\":0,";
  check_message(failure_of_text(kinds + "\"tid\":1}]}"), {"more kinds of unknown keys"});
  std::string map = "{\"threads\":[{\"smaps_rollup_kib\":{";
  for (int key = 0; key < 100'000; ++key) map += "\"" + std::to_string(key) + "\":0,";
  check_message(failure_of_text(map + "\"x\":1}}]}"), {"threads[0].smaps_rollup_kib", "keys"});
}

BOOST_AUTO_TEST_CASE(requires_columns_that_distinguish_threads) {
  check_message(failure_of_text(R"({"threads":[{"tid":1,"tgid":1},{"tid":2}]})"),
                {"threads[1] has no tgid"});
  BOOST_TEST(
      load_text(R"({"threads":[{"tid":1,"tgid":1},{"tid":1,"tgid":1}]})", "x", shipped_vocabulary())
          .has_value(),
      "a row twice does no harm");
}

BOOST_AUTO_TEST_CASE(checks_the_registry_of_the_file) {
  check_message(failure_of_text(replace_text(idle_text(), "\"format\":1", "\"format\":2")),
                {"format 2"});
  check_message(failure_of_text(replace_text(idle_text(), "\"user_hz\":100", "\"user_hz\":\"x\"")),
                {"ctprof.user_hz"});
  std::string sources;
  for (int i = 0; i < 5000; ++i) sources += "{},";
  check_message(
      failure_of_text(replace_text(idle_text(), "\"sources\":[", "\"sources\":[" + sources + "{}")),
      {"ctprof.sources has more than 4096 items"});
  check_message(failure_of_text(replace_text(idle_text(), "\"runs\":[5,500]", "\"runs\":[5,499]")),
                {"gaps.thread[", "add up to 500 rows"});
  check_message(failure_of_text(replace_text(idle_text(), "\"runs\":[5,500]",
                                             "\"runs\":[5,18446744073709551615,5,501]")),
                {"add up to 500 rows"});
  check_message(
      failure_of_text(replace_text(idle_text(), "\"runs\":[5,500]", "\"runs\":[5,500,0]")),
      {"add up to 500 rows"});
  check_message(failure_of_text(replace_text(idle_text(), "\"read_at\":[", "\"read_at\":[1,")),
                {"read_at"});
  check_message(failure_of_text(replace_text(
                    idle_text(), "\"raw\":{\"thread\":{}",
                    "\"raw\":{\"thread\":{\"comm\":[{\"hex\":\"f\",\"rows\":[0,1]}]}")),
                {"raw.thread.comm"});
  check_message(failure_of_text(replace_text(
                    idle_text(), "\"raw\":{\"thread\":{}",
                    "\"raw\":{\"thread\":{\"comm\":[{\"hex\":\"ff\",\"rows\":[500,1]}]}")),
                {"raw.thread.comm"});
  check_message(
      failure_of_text(replace_text(idle_text(), "\"storage\":\"u64\"", "\"storage\":\"string\"")),
      {"registry.metrics", "'tid'"});
  check_message(
      failure_of_text(replace_text(idle_text(), "\"storage\":\"u64\"", "\"storage\":\"pile\"")),
      {"registry.metrics", "'tid'"});
  check_message(
      failure_of_text(replace_text(idle_text(), "\"rule\":\"SumNs\"", "\"rule\":\"SumBytes\"")),
      {"registry.metrics", "units"});
  check_message(failure_of_text(replace_text(idle_text(), "\"name\":\"tgid\"", "\"name\":\"tid\"")),
                {"'tid' twice"});
  check_message(
      failure_of_text(replace_text(idle_text(), "\"newtype\":\"IdU32\"", "\"newtype\":\"Moons\"")),
      {"registry.metrics", "'tid'", "defines this name differently"});
}

// A row could hold only one of the two metrics, and another writer might choose the other one.
BOOST_AUTO_TEST_CASE(refuses_metrics_with_overlapping_paths) {
  const auto with_paths = [](const std::string& of_flag, const std::string& of_run,
                             const std::string& entity = "thread") {
    return R"({"ctprof":{"format":1},"registry":{"metrics":[{"name":"flag","entity":"thread",)"
           R"("storage":"bool","newtype":"Flag","rule":"ModeBool","file_path":")" +
           of_flag + R"("},{"name":"run","storage":"u64","newtype":"MonotonicNs","rule":"SumNs",)" +
           R"("entity":")" + entity + R"(","file_path":")" + of_run +
           R"("}],"derived":[]},"threads":[]})";
  };
  const std::string start = "registry.metrics has an invalid entry, 'run': its file_path ";
  check_message(failure_of_text(with_paths("threads[].a.flag", "threads[].a")),
                {start + "'threads[].a' overlaps that of 'flag', 'threads[].a.flag' (byte "});
  check_message(failure_of_text(with_paths("threads[].a", "threads[].a.flag")),
                {start + "'threads[].a.flag' overlaps that of 'flag', 'threads[].a' (byte "});
  check_message(failure_of_text(with_paths("threads[].a", "threads[].a", "process")),
                {start + "'threads[].a' overlaps that of 'flag', 'threads[].a' (byte "});
  for (const auto& [path, entity] : {std::pair{"threads[].a.flags", "thread"},
                                     {"threads[].a.run", "process"},
                                     {"cgroup_stats[].a.flag", "cgroup"},
                                     {"none", "thread"}})
    BOOST_TEST(load_text(with_paths("threads[].a.flag", path, entity), "x", shipped_vocabulary())
                   .has_value(),
               path);
}

// Without threads, no columns are needed to distinguish them.
BOOST_AUTO_TEST_CASE(needs_no_ids_without_threads) {
  const std::string text = R"({"ctprof":{"format":1},"registry":{"metrics":[],"derived":[]})";
  BOOST_TEST(load_text(text + ",\"threads\":[]}", "x", shipped_vocabulary()).has_value());
  check_message(failure_of_text(text + ",\"threads\":[{\"tid\":1,\"tgid\":1}]}"),
                {"has no definition of"});
}

// An unknown gap code of a later version is still a gap.
BOOST_AUTO_TEST_CASE(an_unknown_gap_code_is_malformed) {
  const auto snapshot =
      load_text(replace_text(idle_text(), "\"runs\":[5,500]", "\"runs\":[77,500]"), "x",
                shipped_vocabulary());
  BOOST_REQUIRE(snapshot.has_value());
  BOOST_TEST((snapshot->threads().find("wait_sum")->gap(3) == Gap::Malformed));
}

// A metric with an unknown newtype must not prevent reading the rest.
BOOST_AUTO_TEST_CASE(a_metric_of_an_unknown_newtype_is_an_unknown_key) {
  const auto snapshot =
      load_text(replace_text(idle_text(), "\"newtype\":\"ClockTicks\"", "\"newtype\":\"Moons\""),
                "x", shipped_vocabulary());
  BOOST_REQUIRE(snapshot.has_value());
  BOOST_TEST(!snapshot->threads().find("utime_clock_ticks"));
  BOOST_TEST(snapshot->extras->unknown_keys[0].at("utime_clock_ticks").size() == 500u);
}

BOOST_AUTO_TEST_CASE(reports_files_that_cannot_be_read) {
  const TemporaryDirectory directory;
  const auto sentence = [](const std::string& path) {
    return failure(load_file(path, shipped_vocabulary()));
  };
  BOOST_TEST(sentence(directory / "none") ==
             "reading '" + directory / "none" + "': No such file or directory");
  BOOST_TEST(sentence(directory.path()) == "reading '" + directory.path() + "': Is a directory");
  const std::string file = directory / "x.zst";
  std::ofstream(file).close();
  BOOST_TEST(sentence(file) == "reading '" + file + "': the file is empty");
  if (::geteuid() == 0) {
    BOOST_REQUIRE(::chmod(directory.path().c_str(), 0755) == 0 && ::chmod(file.c_str(), 0) == 0 &&
                  ::seteuid(65534) == 0);
    BOOST_TEST(sentence(file) == "reading '" + file + "': Permission denied");
    BOOST_REQUIRE(::seteuid(0) == 0);
  }
}

// A truncated file gives an error and never a crash.
BOOST_AUTO_TEST_CASE(refuses_truncated_files) {
  const std::string& text = idle_text();
  for (std::size_t size = 0; size + 1 < text.size(); size += 9973)
    BOOST_REQUIRE(
        !load_text(std::string_view(text).substr(0, size), "x", shipped_vocabulary()).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_bad_test
