// Tests the helpers of core/base: JSON text, escapes, clocks, lists, and worker threads.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/dropped_capabilities.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/base/workers.hpp"
#include "ctprof/files.hpp"
#include "ctprof/work_thread.hpp"

namespace ctprof::base_test {
namespace {

std::string text(std::string_view bytes, Escape escape) {
  JsonWriter out(escape);
  out.text(bytes);
  return std::string(out.view());
}
std::string finished_json(std::string_view json, Escape escape) {
  JsonWriter out(escape);
  out.embed(json);
  return std::string(out.view());
}

BOOST_AUTO_TEST_SUITE(base_test)

BOOST_AUTO_TEST_CASE(closes_a_descriptor_that_is_replaced) {
  sdk::Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int first = fd.get();
  fd = sdk::Fd(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  BOOST_TEST(fd.get() != first);
  BOOST_TEST(::fcntl(first, F_GETFD) == -1);
  const int second = fd.release();
  fd = sdk::Fd();
  BOOST_TEST(::fcntl(second, F_GETFD) != -1);
  ::close(second);
}

BOOST_AUTO_TEST_CASE(json_strings_are_always_utf8) {
  for (const Escape escape : {Escape::Json, Escape::Unprintable}) {
    BOOST_TEST(text("a\"b\\c\n\t\x1b", escape) == R"("a\"b\\c\n\t\u001b")");
    BOOST_TEST(text("bad\xff\xc3", escape) == "\"bad\xef\xbf\xbd\xef\xbf\xbd\"");
    // A surrogate is not valid UTF-8.
    BOOST_TEST(text("\xed\xa0\x80", escape) == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    BOOST_TEST(text("grün", escape) == "\"grün\"");
    BOOST_TEST(text("", escape) == "\"\"");
  }
}

// The code tests eight characters per step. A byte gives the same text at every offset of a step.
BOOST_AUTO_TEST_CASE(writes_a_byte_equally_at_every_offset) {
  const auto alone = [](std::string_view byte) {
    const std::string quoted = text(byte, Escape::Json);
    return quoted.substr(1, quoted.size() - 2);
  };
  for (int code = 0; code < 256; ++code)
    for (std::size_t before = 0; before < 17; ++before)
      for (const std::size_t after : {0u, 1u, 9u}) {
        const std::string byte(1, static_cast<char>(code)), left(before, '~'), right(after, '!');
        BOOST_TEST(
            text(left + byte + right, Escape::Json) == "\"" + left + alone(byte) + right + "\"",
            code << " behind " << before);
      }
}

BOOST_AUTO_TEST_CASE(escapes_terminal_controls_only_for_display) {
  // A change of text direction, a C1 control, an invisible tag character, and DEL.
  const std::string moves = "\u202e\u0085\U000e0001\x7f";
  BOOST_TEST(text(moves, Escape::Unprintable) == R"("\u202e\u0085\udb40\udc01\u007f")");
  BOOST_TEST(text(moves, Escape::Json) == "\"" + moves + "\"");
}

BOOST_AUTO_TEST_CASE(escapes_controls_in_finished_json_for_display) {
  const std::string json = "{\"a\\n\":\"\u202egrün\",\"b\":[1,2]}";
  BOOST_TEST(finished_json(json, Escape::Unprintable) == R"({"a\n":"\u202egrün","b":[1,2]})");
  BOOST_TEST(finished_json(json, Escape::Json) == json);
}

BOOST_AUTO_TEST_CASE(writes_every_kind_of_json_value) {
  JsonWriter out;
  out.put('{');
  out.member("text", "x");
  out.member("most", std::numeric_limits<std::uint64_t>::max());
  out.key("list");
  out.put('[');
  out.number(std::int64_t{-7});
  out.put(',');
  out.number(0.1);
  out.put(',');
  out.boolean(false);
  out.put(',');
  out.close(']');
  out.put(',');
  out.key("none");
  out.put('[');
  out.close(']');
  out.close('}');
  BOOST_TEST(out.view() ==
             R"({"text":"x","most":18446744073709551615,"list":[-7,0.1,false],"none":[]})");
}

BOOST_AUTO_TEST_CASE(a_writer_grows_with_its_text) {
  JsonWriter out;
  const std::string piece(1000, 'x');
  for (int i = 0; i < 100; ++i) out.raw(piece);
  BOOST_TEST(out.size() == 100'000u);
  BOOST_TEST(std::count(out.view().begin(), out.view().end(), 'x') == 100'000);
  out.clear();
  BOOST_TEST(out.view() == "");
}

BOOST_AUTO_TEST_CASE(replaces_invalid_utf8) {
  BOOST_TEST(is_utf8("grün"));
  BOOST_TEST(!is_utf8("gr\xfcn"));
  BOOST_TEST(replace_invalid_utf8("gr\xfcn") == "gr\xef\xbf\xbdn");
  BOOST_TEST(replace_invalid_utf8("\xf0\x9f\x98") == "\xef\xbf\xbd");  // truncated
}

// Each clock returns a time between two readings of the system clock that it is named after.
BOOST_AUTO_TEST_CASE(clocks_match_their_names) {
  const auto is_between = [](std::uint64_t (*read)(), clockid_t clock) {
    const auto ns = [clock] {
      timespec now{};
      ::clock_gettime(clock, &now);
      return static_cast<std::uint64_t>(now.tv_sec * 1'000'000'000 + now.tv_nsec);
    };
    const std::uint64_t before = ns(), read_ns = read();
    return before <= read_ns && read_ns <= ns();
  };
  BOOST_TEST(is_between(boottime_ns, CLOCK_BOOTTIME));
  BOOST_TEST(is_between(monotonic_ns, CLOCK_MONOTONIC));
  BOOST_TEST(is_between(realtime_ns, CLOCK_REALTIME));
  BOOST_TEST(is_between(cpu_time_ns, CLOCK_PROCESS_CPUTIME_ID));
}

BOOST_AUTO_TEST_CASE(quotes_words) {
  BOOST_TEST(quote("a'b") == "'a'b'");
  BOOST_TEST(quote_for_shell("--out=/a_b.c-1@%+,:#") == "--out=/a_b.c-1@%+,:#");
  BOOST_TEST(quote_for_shell("") == "''");
  BOOST_TEST(quote_for_shell("#a") == "'#a'", "it is not a comment");
  BOOST_TEST(quote_for_shell("it's $HOME") == "'it'\\''s $HOME'");
}

BOOST_AUTO_TEST_CASE(formats_counts_with_their_nouns) {
  BOOST_TEST(format_count(1, "group") == "1 group");
  BOOST_TEST(format_count(0, "process") == "0 processes");
  BOOST_TEST(format_count(12'345, "more row") == "12345 more rows");
  BOOST_TEST(format_count(2, "series", "series") == "2 series");
  BOOST_TEST(inflect(0.5, "thread") == "threads");
}

BOOST_AUTO_TEST_CASE(formats_decimals) {
  BOOST_TEST(format_fixed(1.25, 1) == "1.2", "rounds half to even, as printf does");
  BOOST_TEST(format_fixed(-2, 2) == "-2.00");
  BOOST_TEST(format_seconds(1'260'000'000) == "1.3 s");
  BOOST_TEST(format_short(7.34) == "7.3");
  BOOST_TEST(format_short(9.96) == "10");
  BOOST_TEST(format_short(0.04) == "0");
  BOOST_TEST(format_short(-0.01) == "0", "not -0");
}

BOOST_AUTO_TEST_CASE(converts_times_and_clock_ticks_to_ns) {
  BOOST_TEST(to_ns(timespec{3, 4}) == 3'000'000'004u);
  BOOST_TEST(to_ns(timespec{0, 999'999'999}) == 999'999'999u);
  BOOST_TEST(to_ns(timespec{-1, 999'999'999}) == 0u, "a file may be older than 1970");
  struct statx_timestamp stamp {};
  stamp.tv_sec = 3, stamp.tv_nsec = 4;
  BOOST_TEST(to_ns(stamp) == 3'000'000'004u);
  BOOST_TEST(ns_per_tick(100) == 10'000'000u);
  BOOST_TEST(ns_per_tick(0) == kNsPerSecond, "a damaged file may contain 0 ticks per second");
}

BOOST_AUTO_TEST_CASE(splits_at_every_comma) {
  using Entries = std::vector<std::string_view>;
  BOOST_TEST((split("a,b c,d") == Entries{"a", "b c", "d"}));
  BOOST_TEST((split("a,,") == Entries{"a", "", ""}));
  BOOST_TEST((split("") == Entries{""}));
  BOOST_TEST((split("a.b", '.') == Entries{"a", "b"}));
}

// Many pieces without work, and no worker begins its second piece before each has its first, so
// that workers often take pieces at the same time.
BOOST_AUTO_TEST_CASE(each_piece_of_work_runs_once) {
  constexpr unsigned kWorkers = 4;
  std::vector<std::atomic<int>> done(3'000'000);
  std::vector<int> pieces_by_worker(kWorkers);
  std::atomic<unsigned> started_workers{0};
  const auto tids = share_work(kWorkers, done.size(), [&](unsigned worker, std::size_t piece) {
    ++done[piece];
    if (pieces_by_worker[worker]++ > 0) return;
    for (++started_workers; started_workers < kWorkers;) std::this_thread::yield();
  });
  BOOST_TEST(tids.size() == kWorkers);
  BOOST_TEST(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
}

BOOST_AUTO_TEST_CASE(rethrows_an_exception_of_a_worker) {
  const auto work = [](unsigned, std::size_t piece) {
    if (piece == 7) throw std::runtime_error("seven");
  };
  BOOST_CHECK_EXCEPTION(share_work(3, 100, work), std::runtime_error,
                        [](const auto& error) { return std::string(error.what()) == "seven"; });
}

BOOST_AUTO_TEST_CASE(runs_a_periodic_function_during_the_work) {
  std::atomic<int> times{0};
  const auto stop_at_three = [&] {
    while (times < 3) std::this_thread::yield();
  };
  const std::uint64_t tid = run_with_periodic_task(
      std::chrono::milliseconds(1), [&] { ++times; }, stop_at_three);
  BOOST_TEST(tid != static_cast<std::uint64_t>(::gettid()));
  const int then = times;
  while (::syscall(SYS_tgkill, ::getpid(), tid, 0) == 0)
    std::this_thread::yield();  // wait for the thread to exit
  BOOST_TEST(times == then);

  times = 0;
  // Returns before the next period.
  run_with_periodic_task(
      std::chrono::hours(1), [&] { ++times; }, [] {});
  BOOST_TEST(times == 1);
}

BOOST_AUTO_TEST_CASE(rethrows_exceptions_of_work_and_periodic_function) {
  const auto fails = [] { throw std::runtime_error("beside"); };
  BOOST_CHECK_THROW(run_with_periodic_task(std::chrono::hours(1), fails, [] {}),
                    std::runtime_error);
  BOOST_CHECK_THROW(run_with_periodic_task(
                        std::chrono::hours(1), [] {}, fails),
                    std::runtime_error);
}

BOOST_AUTO_TEST_CASE(uses_one_worker_per_idle_cpu) {
  BOOST_TEST(count_spare_workers(2, "1.90 0.58 0.59 1/467 11206\n") == 2u);
  BOOST_TEST(count_spare_workers(2, "0.00 0.00 0.00 2/467 11206\n") == 1u);
  BOOST_TEST(count_spare_workers(8, "0.00 0.00 0.00 4/467 11206\n") == 5u);
  BOOST_TEST(count_spare_workers(2, "0.00 0.00 0.00 90/467 11206\n") == 1u);
  BOOST_TEST(count_spare_workers(4, "") == 4u);
  BOOST_TEST(count_spare_workers(0, "") == 1u);
}

bool has_affinity(pthread_t thread, const cpu_set_t& cpus) {
  cpu_set_t may{};
  return ::pthread_getaffinity_np(thread, sizeof may, &may) == 0 && CPU_EQUAL(&may, &cpus);
}

BOOST_AUTO_TEST_CASE(work_threads_inherit_the_cpu_affinity_of_their_creator) {
  cpu_set_t all{}, one{};
  BOOST_REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  std::promise<void> go;
  sdk::WorkThread first([gone = go.get_future()] { gone.wait(); });
  BOOST_TEST(has_affinity(first.native_handle(), all));
  sdk::WorkThread second(std::move(first));
  BOOST_TEST(!first.joinable());
  go.set_value();
  second.join();
  BOOST_TEST(!second.joinable());

  // With only one CPU allowed, the thread must start on that CPU.
  CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
  BOOST_REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  bool done = false;
  second = sdk::WorkThread([&] { done = has_affinity(::pthread_self(), one); });
  second = {};  // joins the thread
  BOOST_TEST(done);
  BOOST_TEST(::sched_setaffinity(0, sizeof all, &all) == 0);
}

bool can_read(const char* path) {
  return static_cast<bool>(sdk::Fd(::open(path, O_RDONLY | O_CLOEXEC)));
}

BOOST_AUTO_TEST_CASE(drops_and_restores_capabilities,
                     *boost::unit_test::precondition([](auto) { return ::geteuid() == 0; })) {
  char path[] = "/tmp/base_test_XXXXXX";
  const sdk::Fd file(::mkstemp(path));
  BOOST_REQUIRE(::fchown(file.get(), 65534, 65534) == 0);
  BOOST_TEST(can_read(path));
  {
    const DroppedCapabilities unchanged(false);
    BOOST_TEST(can_read(path));
    const DroppedCapabilities lowered;
    BOOST_TEST((lowered && !can_read(path)));
  }
  BOOST_TEST(can_read(path));
  ::unlink(path);
}

BOOST_AUTO_TEST_CASE(suggests_the_nearest_name) {
  const std::vector<std::string> names{"run_time_ns", "wait_time_ns"};
  BOOST_TEST(suggest_nearest("run_tme_ns", names) == " (did you mean 'run_time_ns'?)");
  BOOST_TEST(suggest_nearest("something_else", names) == "");
  BOOST_TEST(suggest_nearest("RUN_TIME_NS", names) == " (did you mean 'run_time_ns'?)");
  BOOST_TEST(suggest_nearest("wait-time-ns", names) == " (did you mean 'wait_time_ns'?)");
  BOOST_TEST(suggest_nearest("", names) == "");
  // Suggests a name with this prefix, unless another name differs by only one typing error.
  const std::vector<std::string> runs{"nice", "run_time_ns", "run_delay"};
  BOOST_TEST(suggest_nearest("run_", runs) == " (did you mean 'run_delay'?)");
  BOOST_TEST(suggest_nearest("run", runs) == " (did you mean 'run_delay'?)");
  BOOST_TEST(suggest_nearest("nise", runs) == " (did you mean 'nice'?)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::base_test
