// Tests the process of an output plugin: its queue, its end, and windows as bytes.

#define BOOST_TEST_MODULE outputs
#define BOOST_TEST_NO_MAIN
#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/output/find_output.hpp"
#include "core/output/output_child.hpp"
#include "core/output/output_process.hpp"
#include "core/output/window_bytes.hpp"

namespace ctprof::outputs_test {
namespace {

using namespace std::chrono_literals;

// `bytes_fd`: receives the bytes that the plugin writes.
OutputProcess start(const std::string& mode, int bytes_fd = -1) {
  auto file = find_output("awkward", {"", {std::getenv("OUTPUTS")}});
  BOOST_REQUIRE_MESSAGE(file, file.error().text);
  auto process = OutputProcess::start(
      std::move(*file), {.name = "awkward", .settings = {{"mode", mode}}, .bytes_fd = bytes_fd});
  BOOST_REQUIRE_MESSAGE(process, process.error().text);
  return std::move(*process);
}

OutputWindow make_window() {
  OutputWindow window;
  window.host = "h";
  OutputTable& table = window.tables.emplace_back();
  table.label_names = {"pcomm"};
  table.metrics = {
      {CTPROF_OUTPUT_INCREASE, "m", "k,l", "ns", "cumulative", "thread", {{"a", "k"}, {"b", "l"}}}};
  ctprof_output_cell gap{};
  gap.rows = 3;
  table.rows = {{{std::string("a\0b", 3)}, {{make_number(std::uint64_t{7}), 2, 3}}},
                {{"c"}, {gap}}};
  return window;
}

BOOST_AUTO_TEST_CASE(bytes_keep_a_window) {
  const std::string bytes = encode_window(make_window());
  const auto window = decode_window(bytes);
  BOOST_REQUIRE(window.has_value());
  BOOST_TEST(encode_window(*window) == bytes);
  const OutputTable& table = window->tables.at(0);
  BOOST_TEST((table.metrics == make_window().tables[0].metrics));
  BOOST_TEST(table.rows.at(0).labels.at(0) == std::string("a\0b", 3));
  BOOST_TEST(table.rows[0].cells.at(0).number.u64 == 7);
  BOOST_TEST(table.rows[1].cells.at(0).number.kind == std::uint32_t{CTPROF_NUMBER_NONE});
  BOOST_TEST(table.rows[1].cells[0].rows == 3);
}

BOOST_AUTO_TEST_CASE(rejects_truncated_and_longer_bytes) {
  const std::string bytes = encode_window(make_window());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    BOOST_TEST(!decode_window(std::string_view(bytes).substr(0, size)).has_value());
  BOOST_TEST(!decode_window(bytes + "x").has_value());
}

// If pass() waited for the plugin, this test would not end.
BOOST_AUTO_TEST_CASE(plugin_that_hangs_blocks_no_window) {
  OutputProcess output = start("hang-put");
  std::size_t passed = 0;
  for (int i = 0; i < 100; ++i) passed += output.pass(make_window()) ? 1 : 0;
  BOOST_TEST(passed == OutputProcess::kMaxQueuedWindows);
  BOOST_TEST(output.counts().dropped == 100 - passed);
  BOOST_TEST(output.take_messages().empty());
  const auto finished = output.finish(10ms);
  BOOST_TEST(!finished);
  BOOST_TEST(output.counts().lost == passed);
  BOOST_TEST(!output.pass(make_window()));
}

BOOST_AUTO_TEST_CASE(plugin_that_crashes_is_reported_once) {
  OutputProcess output = start("crash-put");
  BOOST_TEST(output.pass(make_window()));
  const auto finished = output.finish(10s);
  BOOST_REQUIRE(!finished);
  BOOST_TEST(finished.error().text == "its process ended with signal 6");
  BOOST_TEST(output.take_messages().size() == 1);
  BOOST_TEST(output.counts().lost == 1);
  BOOST_TEST(!output.pass(make_window()));
  BOOST_TEST(output.take_messages().empty());
}

BOOST_AUTO_TEST_CASE(plugin_that_closes_its_descriptors_is_ended) {
  OutputProcess output = start("close-put");
  BOOST_TEST(output.pass(make_window()));
  const auto finished = output.finish(10s);
  BOOST_REQUIRE(!finished);
  BOOST_TEST(finished.error().text == "its process ended with signal 9");
}

// If answers were read as long as there are some, this test would not end.
BOOST_AUTO_TEST_CASE(plugin_that_sends_answers_without_end_is_ended) {
  OutputProcess output = start("flood-put");
  BOOST_TEST(output.pass(make_window()));
  const auto finished = output.finish(10s);
  BOOST_REQUIRE(!finished);
  BOOST_TEST(finished.error().text == "its process sends answers that were not requested");
  BOOST_TEST(output.counts().delivered == 1);
  BOOST_TEST(output.counts().lost == 0);
  BOOST_TEST(!output.pass(make_window()));
}

BOOST_AUTO_TEST_CASE(plugin_that_sends_an_answer_without_end_is_ended) {
  OutputProcess output = start("garbage-put");
  BOOST_TEST(output.pass(make_window()));
  const auto finished = output.finish(10s);
  BOOST_REQUIRE(!finished);
  BOOST_TEST(finished.error().text == "its process ended with signal 9");
  BOOST_TEST(output.counts().lost == 1);
}

// If the process were waited for as long as it prints, this test would not end.
BOOST_AUTO_TEST_CASE(plugin_that_prints_without_end_is_ended) {
  OutputProcess output = start("print-endless-put");
  BOOST_TEST(output.pass(make_window()));
  const auto finished = output.finish(10ms);
  BOOST_REQUIRE(!finished);
  BOOST_TEST(finished.error().text == "it did not take its windows within 0 s");
  BOOST_TEST(output.take_printed_lines().size() <= PrintedLines::kMaxLines + 1);
}

std::ptrdiff_t count_descriptors() {
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  return std::distance(begin(descriptors), end(descriptors));
}

BOOST_AUTO_TEST_CASE(plugin_cannot_open_descriptors_in_ctprof) {
  const std::ptrdiff_t before = count_descriptors();
  {
    OutputProcess output = start("pass-descriptors-put");
    BOOST_TEST(output.pass(make_window()));
    BOOST_TEST(output.finish(10s).has_value());
    BOOST_TEST(output.counts().delivered == 1);
  }
  BOOST_TEST(count_descriptors() == before);
}

BOOST_AUTO_TEST_CASE(equal_messages_are_returned_once) {
  OutputProcess output = start("fail-put");
  for (int i = 0; i < 3; ++i) BOOST_TEST(output.pass(make_window()));
  BOOST_TEST(!output.finish(10s));
  BOOST_TEST(output.take_messages() == std::vector<std::string>{"the server is closed"},
             boost::test_tools::per_element());
  BOOST_TEST(output.counts().failed == 3);
}

// A process that kept each window would grow as long as it runs.
BOOST_AUTO_TEST_CASE(process_keeps_no_window_mapped) {
  OutputProcess output = start("maps-put");
  for (int i = 0; i < 3; ++i) BOOST_TEST(output.pass(make_window()));
  BOOST_TEST(output.finish(10s).has_value());
  BOOST_TEST(output.take_messages().empty());
  BOOST_TEST(output.counts().delivered == 3);
}

BOOST_AUTO_TEST_CASE(window_beyond_the_limit_is_dropped) {
  OutputProcess output = start("good");
  OutputWindow window = make_window();
  window.host = std::string(OutputProcess::kMaxWindowBytes, 'x');
  BOOST_TEST(!output.pass(window));
  BOOST_TEST(output.pass(make_window()));
  BOOST_TEST(output.finish(10s).has_value());
  BOOST_TEST(output.counts().delivered == 1);
}

BOOST_AUTO_TEST_CASE(each_window_has_the_number_dropped_directly_before_it) {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const sdk::Fd reader(ends[0]);
  sdk::Fd writer(ends[1]);
  OutputProcess output = start("good", writer.get());
  writer.reset();
  OutputWindow large = make_window();
  large.host = std::string(OutputProcess::kMaxWindowBytes, 'x');
  for (const std::size_t dropped : {0, 2, 0, 1}) {
    for (std::size_t at = 0; at < dropped; ++at) BOOST_TEST(!output.pass(large));
    BOOST_TEST(output.pass(make_window()));
  }
  BOOST_TEST(output.counts().dropped == 3u);
  std::string text;
  const auto take = [&](std::string_view bytes) {
    text += bytes;
    return Result<void>();
  };
  BOOST_TEST(output.finish(10s, {reader.get(), take}).has_value());
  BOOST_TEST(text ==
             "window, 0 dropped before\nwindow, 2 dropped before\n"
             "window, 0 dropped before\nwindow, 1 dropped before\n");
}

}  // namespace
}  // namespace ctprof::outputs_test

// The processes of outputs run this program.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == ctprof::kOutputChildWord) ctprof::run_output_child();
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}
