// Tests the output of functions and stacks as text, JSON and CSV.

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/page/report_page.hpp"
#include "core/render/report_csv.hpp"
#include "core/render/report_json.hpp"
#include "core/render/sleeping_stacks_text.hpp"
#include "core/render/stacks_text.hpp"
#include "tests/unit/support/stack_reports.hpp"

namespace ctprof::stacks_output_test {
namespace {

using namespace hand_made;

class TextSink final : public Sink {
 public:
  Result<void> write(std::string_view more) override { return text += more, Result<void>{}; }
  std::string text;
};

const std::vector<std::pair<std::string, NamedStacks>> kTwo{
    {"a", {{{"p:hot", "p:main"}, 700 * kMs}, {{"p:warm", "p:main"}, 300 * kMs}}}};

BOOST_AUTO_TEST_SUITE(stacks_output_test)

BOOST_AUTO_TEST_CASE(text_has_shares_and_amounts) {
  const Snapshot snapshot = window_of(kTwo);
  const std::string text = format_stacks(report_of({&snapshot}), {.width = 80}, {});
  BOOST_TEST(text ==
             "\n## stacks\n\non of a: 1.00s\n"
             " self      %  total       %  function  module\n"
             "700ms  70.0%  700ms   70.0%  hot       p\n"
             "300ms  30.0%  300ms   30.0%  warm      p\n"
             "    0   0.0%  1.00s  100.0%  main      p\n"
             "stacks      %  leaf ← caller\n"
             " 700ms  70.0%  hot ← main\n"
             " 300ms  30.0%  warm ← main\n");
}

BOOST_AUTO_TEST_CASE(text_of_two_windows_has_both_values_and_the_change) {
  auto more = kTwo;
  more[0].second[0].weight = 1700 * kMs;
  const Snapshot before = window_of(kTwo), after = window_of(more);
  const std::string text = format_stacks(report_of({&before, &after}), {.width = 120}, 1);
  for (const char* part : {"on of a: 100→200ms/s", "+100ms/s", "70.0→170ms/s", "70.0→85.0%",
                           "2 more functions, 1 more stack (--limit 0 shows all)"})
    BOOST_TEST(contains(text, part), part << " in\n" << text);
}

BOOST_AUTO_TEST_CASE(escapes_names_for_the_terminal) {
  const Snapshot snapshot =
      window_of({{"a", {{{"p\x1b[2J:f\n\x1b]0;\xe2\x80\xae", "p:" + std::string(9000, 'x')}, 1}}}});
  const Report report = report_of({&snapshot});
  TextSink csv;
  BOOST_REQUIRE(write_report_csv(report, csv));
  for (const std::string& text : {format_stacks(report, {}, 0), csv.text}) {
    BOOST_TEST(!contains(text, "\x1b"));
    BOOST_TEST(!contains(text, "\xe2\x80\xae"));
    BOOST_TEST(!contains(text, std::string(2000, 'x')));
    BOOST_TEST(contains(text, "f\\n\\x1b]0;\\u202e"));
  }
}

BOOST_AUTO_TEST_CASE(escapes_names_on_the_page) {
  const Snapshot snapshot = window_of({{"\"><b>", {{{"p\"><b>:\"><b>", "p:main"}, 700 * kMs}}}});
  const std::vector<std::string> files{"\"><b>"};
  const std::string page = make_report_page(report_of({&snapshot}), files, {"", true});
  BOOST_TEST(contains(page, "class=\"functions\""));
  BOOST_TEST(!contains(page, "\"><b>"));
}

BOOST_AUTO_TEST_CASE(json_names_each_function_once) {
  auto more = kTwo;
  more[0].second[0].weight = 1700 * kMs;
  const Snapshot before = window_of(kTwo), after = window_of(more);
  const std::string files[] = {"a.zst", "b.zst"};
  TextSink text_sink;
  BOOST_REQUIRE(write_report_json(report_of({&before, &after}), files, text_sink));
  const auto json = boost::json::parse(text_sink.text);
  const auto& stacks = json.at("stacks");
  BOOST_TEST(stacks.at("functions").as_array().size() == 3u);
  BOOST_TEST(stacks.at_pointer("/functions/0/name").as_string() == "hot");
  BOOST_TEST(stacks.at_pointer("/functions/0/module").as_string() == "p");
  BOOST_TEST(stacks.at_pointer("/groups/0/weights/1").to_number<double>() == 200e6);
  BOOST_TEST(stacks.at_pointer("/groups/0/functions/0/function").to_number<int>() == 0);
  BOOST_TEST(stacks.at_pointer("/groups/0/functions/0/self/0").to_number<double>() == 70e6);
  BOOST_TEST(stacks.at_pointer("/groups/0/stacks/0/weights/1").to_number<double>() == 170e6);
  BOOST_TEST(stacks.at_pointer("/groups/0/stacks/0/functions").as_array().size() == 2u);
}

BOOST_AUTO_TEST_CASE(csv_has_a_line_for_each_value) {
  const Snapshot snapshot = window_of(kTwo);
  TextSink text_sink;
  BOOST_REQUIRE(write_report_csv(report_of({&snapshot}), text_sink));
  for (const char* line :
       {"primary,a,on,self hot (p),ns,700000000", "primary,a,on,total main (p),ns,1000000000",
        "primary,a,on,stack warm ← main,ns,300000000"})
    BOOST_TEST(contains(text_sink.text, line), line << " in\n" << text_sink.text);
}

// Returns a snapshot with the stacks of waiting threads. The text omits the kernel entry frames.
Snapshot snapshot_with_waits(const std::vector<std::pair<std::string, NamedStacks>>& threads) {
  Snapshot snapshot = window_of(threads, 10, {}, metric("asleep", "StackCount", "StackSum"));
  snapshot.window.reset();
  return snapshot;
}
const NamedStack kPoll{{"[kernel]:do_poll", "[kernel]:do_syscall_64",
                        "[kernel]:entry_SYSCALL_64_after_hwframe", "c:poll", "p:loop", "p:main"},
                       1};
const NamedStack kPipe{{"[kernel]:pipe_read", "[kernel]:ksys_read", "[kernel]:do_syscall_64",
                        "[kernel]:entry_SYSCALL_64_after_hwframe", "c:read", "p:main"},
                       1};

BOOST_AUTO_TEST_CASE(threads_with_equal_stacks_share_a_line) {
  const Snapshot snapshot = snapshot_with_waits(
      {{"b", {kPipe}}, {"a", {kPoll}}, {"a", {kPoll}}, {"a", {kPipe}}, {"c", {}}});
  const Report report = report_of({&snapshot});
  BOOST_TEST(format_sleeping_stacks(report, {}, {}) ==
             "\n## asleep\n"
             "2 threads  a: do_poll ← poll ← loop ← main\n"
             "1 thread   a: pipe_read ← ksys_read ← read ← main\n"
             "1 thread   b: pipe_read ← ksys_read ← read ← main\n");
  BOOST_TEST(format_sleeping_stacks(report, {}, 1) ==
             "\n## asleep\n2 threads  a: do_poll ← poll ← loop ← main\n"
             "2 more lines (--limit 0 shows all)\n");
  for (const std::size_t width : {36u, 80u, 120u}) {
    const std::string text_sink = format_sleeping_stacks(report, {.width = width}, {});
    for (std::size_t at = 0, end = 0; at < text_sink.size(); at = end + 1) {
      end = text_sink.find('\n', at);
      BOOST_TEST(get_display_width(text_sink.substr(at, end - at)) <= width);
    }
  }
  BOOST_TEST(
      contains(format_sleeping_stacks(report, {.width = 36}, {}), "a: pipe_read ← … (3 more)\n"));
}

BOOST_AUTO_TEST_CASE(only_a_single_snapshot_lists_waiting_threads) {
  const Snapshot window =
      window_of({{"a", {kPoll}}}, 10, {}, metric("asleep", "StackCount", "StackSum"));
  BOOST_TEST(format_sleeping_stacks(report_of({&window}), {}, {}) == "");
  const Snapshot time = [] {
    Snapshot snapshot = window_of(kTwo);
    snapshot.window.reset();
    return snapshot;
  }();
  BOOST_TEST(format_sleeping_stacks(report_of({&time}), {}, {}) == "");
  const Snapshot snapshot = snapshot_with_waits({{"a", {kPoll}}});
  BOOST_TEST(format_sleeping_stacks(report_of({&snapshot, &snapshot}), {}, {}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::stacks_output_test
