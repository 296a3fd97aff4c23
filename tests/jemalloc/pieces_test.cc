// Tests parts of jemalloc-ptrace: the stat file, addresses, the meaning of failures, and the
// summary.
//
// Contents:  functions that need no processes, and the plugin's answers on hosts without processes.
// See also:  harm_test.cc and values_test.py, for live targets; finder/, for the finder.

#define BOOST_TEST_MODULE jemalloc_pieces
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <limits>

#include "plugins/jemalloc-ptrace/counter_reader.hpp"
#include "plugins/jemalloc-ptrace/outcome.hpp"
#include "plugins/jemalloc-ptrace/program.hpp"
#include "tests/unit/support/loaded_plugin.hpp"
#include "tests/unit/support/source_driver.hpp"

using namespace ctprof::jemalloc;
using ctprof::Gap;

namespace {

constexpr std::string_view kStat =
    "12880 (a) S (b) R 12879 12880 12879 34816 12880 4194304 133 0 0 0 1 2 0 0 20 0 9 0 1580339 "
    "78426112 1120 "
    "18446744073709551615 "
    "94044413612032 94044413613229 140722195388816 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 94044413623696 "
    "94044413624352 94044921126912 "
    "140722195391171 140722195391270 140722195391270 140722195394522 0\n";

std::uint64_t own_pid() { return static_cast<std::uint64_t>(::getpid()); }

}  // namespace

BOOST_AUTO_TEST_CASE(parses_the_stat_file) {
  const ThreadImage image = parse_thread_image(kStat);
  BOOST_TEST(image.state == 'R');
  BOOST_TEST(image.start_time == 1580339u);
  BOOST_TEST(image.code_start == 94044413612032u);
  BOOST_TEST(image.code_end == 94044413613229u);
  BOOST_TEST(image.stack_start == 140722195388816u);
  BOOST_TEST(!image.is_kernel_thread);
  BOOST_TEST(parse_thread_image("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0\n").is_kernel_thread);
}

BOOST_AUTO_TEST_CASE(rejects_malformed_stat_files) {
  for (const char* text : {"", "1", "1 (a", "1 (a)", ") ) )", "1 (a) Sleeping 1 2 3"})
    BOOST_TEST(parse_thread_image(text).state == '?');
}

BOOST_AUTO_TEST_CASE(distinguishes_programs) {
  const ThreadImage image = parse_thread_image(kStat);
  ThreadImage other = image;
  other.start_time += 1;  // another thread
  BOOST_TEST(is_same_program(image, other));
  other.stack_start += 16;
  BOOST_TEST(!is_same_program(image, other));
}

BOOST_AUTO_TEST_CASE(computes_the_addresses_of_counters) {
  const auto before = find_extent(0x7f0000001000, {-1808, -1792});
  BOOST_REQUIRE(before.has_value());
  BOOST_TEST(before->address == 0x7f0000001000 - 1808u);
  BOOST_TEST(before->size == 24u);
  BOOST_TEST(find_extent(0x7f0000001000, {32, 16})->address == 0x7f0000001010u);
  BOOST_TEST(find_extent(0x7f0000001000, {32, 16})->size == 24u);
}

BOOST_AUTO_TEST_CASE(rejects_impossible_addresses_of_counters) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  BOOST_TEST(!find_extent(0, {-1808, -1792}));
  BOOST_TEST(!find_extent(~std::uint64_t{0}, {16, 32}));
  BOOST_TEST(!find_extent(0x1000, {kMin, kMax}));
  BOOST_TEST(!find_extent(0x1000, {kMin, kMin}));
  BOOST_TEST(!find_extent(0x1000, {kMax, kMax}));
  BOOST_TEST(!find_extent(0x7f0000001000, {0, 1 << 20}));
}

BOOST_AUTO_TEST_CASE(maps_failures_to_gaps) {
  BOOST_TEST((gap_of(Outcome{ProbeStep::Wait, ETIMEDOUT}) == Gap::Busy));
  BOOST_TEST((gap_of(Outcome{ProbeStep::GetRegset, ESRCH}) == Gap::ThreadGone));
  BOOST_TEST((gap_of(Outcome{ProbeStep::ReadMemory, EPERM}) == Gap::Denied));
  BOOST_TEST((gap_of(Outcome{ProbeStep::ReadMemory, EFAULT}) == Gap::Malformed));
  BOOST_TEST((gap_of(Outcome{ProbeStep::TlsArithmetic, EFAULT}) == Gap::NotApplicable));
  BOOST_TEST((gap_of(FindResult{FindStatus::NotJemalloc, {}, 0}) == Gap::NotApplicable));
  BOOST_TEST((gap_of(FindResult{FindStatus::ReadlinkFailure, {}, EACCES}) == Gap::Denied));
  BOOST_TEST((gap_of(FindResult{FindStatus::ReadlinkFailure, {}, ENOENT}) == Gap::ThreadGone));
  BOOST_TEST((gap_of(FindResult{FindStatus::MapsReadFailure, {}, EACCES}) == Gap::Denied));
  BOOST_TEST((gap_of(FindResult{FindStatus::DwarfParseFailure, {}, 0}) == Gap::Unsupported));
  BOOST_TEST((gap_of(FindResult{FindStatus::Unreadable, {}, EFAULT}) == Gap::Busy));
}

BOOST_AUTO_TEST_CASE(reads_the_mapped_part_of_memory) {
  // Three "threads" of our own process with artificial pointers. The memory of the second one is
  // unmapped.
  const std::array<std::uint64_t, 3> first{11, 0, 22}, last{33, 0, 44};
  const auto pointer = [](const auto& words) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(words.data()));
  };
  const pid_t pid = ::getpid();
  std::vector<Tracee> tracees{{pid, pid, pointer(first), {}},
                              {pid, pid, 0x1000, {}},
                              {pid, pid, 0, {ProbeStep::Wait, ESRCH}},
                              {pid, pid, pointer(last), {}}};
  CounterReader memory;
  const auto readings = memory.read(tracees, {1, {{0, 16}}});
  BOOST_REQUIRE(readings.size() == 4u);
  BOOST_TEST(readings[0].allocated == 11u);
  BOOST_TEST(readings[0].deallocated == 22u);
  BOOST_TEST((tracees[1].outcome.failed_step == ProbeStep::ReadMemory));
  BOOST_TEST(tracees[1].outcome.error == EFAULT);
  BOOST_TEST((tracees[2].outcome.failed_step == ProbeStep::Wait));
  BOOST_TEST((tracees[3].outcome.failed_step == ProbeStep::Done));
  BOOST_TEST(readings[3].allocated == 33u);
  BOOST_TEST(readings[3].deallocated == 44u);
}

BOOST_AUTO_TEST_CASE(adds_the_values_of_two_allocators) {
  const std::array<std::uint64_t, 4> words{1, 20, 300, 4000};
  const auto pointer = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(words.data()));
  const pid_t pid = ::getpid();
  std::vector<Tracee> tracees{{pid, pid, pointer, {}}};
  CounterReader memory;
  const auto readings = memory.read(tracees, {2, {{0, 8}, {16, 24}}});
  BOOST_TEST((tracees[0].outcome.failed_step == ProbeStep::Done));
  BOOST_TEST(readings[0].allocated == 301u);
  BOOST_TEST(readings[0].deallocated == 4020u);
}

// A helper may report success without counters. Then there are no values, rather than zeros.
BOOST_AUTO_TEST_CASE(missing_counters_are_not_zero) {
  const pid_t pid = ::getpid();
  std::vector<Tracee> tracees{{pid, pid, 0x1000, {}}};
  CounterReader memory;
  memory.read(tracees, {});
  BOOST_TEST((tracees[0].outcome.failed_step == ProbeStep::ReadMemory));
}

BOOST_AUTO_TEST_CASE(refuses_hosts_without_threads) {
  const LoadedPlugin plugin("jemalloc-ptrace");
  const TestHost recorded("", {1, 1}, 0), foreign("", {1, 1}, CTPROF_HOST_LIVE),
      live("", {own_pid(), own_pid()}, CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS);
  BOOST_TEST(SourceDriver(*plugin, 0, recorded)
                 .probe()
                 .at("allocated_bytes")
                 .starts_with("Unsupported: a recorded tree"));
  BOOST_TEST(SourceDriver(*plugin, 0, foreign)
                 .probe()
                 .at("deallocated_bytes")
                 .starts_with("Unsupported: the tree belongs to another PID"));
  BOOST_TEST(SourceDriver(*plugin, 0, live).probe().empty());
}

BOOST_AUTO_TEST_CASE(does_not_probe_its_own_process) {
  const LoadedPlugin plugin("jemalloc-ptrace");
  const TestHost live("", {own_pid(), own_pid()}, CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS);
  SourceDriver source(*plugin, 0, live);
  source.collect({{own_pid(), own_pid()}, {0x7ffffffe, 0x7ffffffe}});
  BOOST_TEST(source.cell("allocated_bytes", 0) == "NotApplicable");
  BOOST_TEST(source.cell("deallocated_bytes", 1) == "ThreadGone");
  const std::vector<std::pair<std::string, std::string>> expected{
      {"tgids_walked", "1"}, {"jemalloc_detected", "0"},   {"probed_ok", "0"},
      {"failed", "0"},       {"dominant_failure", "null"}, {"privilege_dominant", "false"},
      {"denied", "0"}};
  const auto summary = source.summary(2);
  BOOST_TEST((summary.fields == expected));
  BOOST_TEST(summary.notes.empty());
}
