// Tests the conversion of raw records into columns of stacks. Records come from this process, whose
// stack is copied as by a recorder, and from synthetic processes.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/capture/recorded_stacks.hpp"
#include "core/capture/recorder_notes.hpp"
#include "core/window/differences.hpp"
#include "tests/unit/capture/own_stack.hpp"
#include "tests/unit/capture/test_recording.hpp"
#include "tests/unit/support/named_stacks.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::recorded_stacks_test {
namespace {

using namespace hand_made;

BOOST_AUTO_TEST_SUITE(recorded_stacks_test)

BOOST_AUTO_TEST_CASE(unwinds_and_names_a_stack_of_this_process) {
  const NamedStack taken = take_stack_of_thread();
  Recording recording(window_of_self());
  recording.stacks().add_mappings(kSelf, boottime_ns(), own_mappings());
  recording.begin();
  for (int i = 0; i < 3; ++i)
    recording.stacks().add(set_stack_copy(record_of(kSelf, kSelf, 10), taken));
  recording.stacks().finish();
  const std::string row = recording.row_text(0);
  BOOST_TEST_CONTEXT(row) {
    const auto outer = row.find("outer_work"), inner = row.find("inner_work"),
               leaf = row.rfind("take_stack");
    BOOST_TEST((outer < inner && inner < leaf && leaf != std::string::npos));
    BOOST_TEST(row.ends_with(" 30"));
  }
  const Module& module = recording.module(recording.frames(0).front());
  BOOST_TEST(module.path == std::filesystem::canonical("/proc/self/exe").string());
  BOOST_TEST(module.build_id.size() == 20u);
  const StackTally& tally = recording.window().meta.stacks.at(0);
  BOOST_TEST(tally.records == 3u);
  // The copy ends inside the padding below the stack.
  BOOST_TEST(tally.complete_stacks + tally.stacks_beyond_copy == 3u);
  BOOST_TEST(tally.stacks_without_rule == 0u);
  BOOST_TEST(recording.window().meta.notes.empty());
}

// Takes a stack of module offsets, as a BPF program records it, with one frame that is in no file.
// `change` modifies the file stamp that the table was made for.
void take_table_frames(Recording& recording, const std::function<void(FileStamp&)>& change = {}) {
  const NamedStack taken = take_stack_of_thread();
  const auto mappings = own_mappings();
  const auto own = std::ranges::find_if(mappings, [&](const Mapping& mapping) {
    return taken.registers.ip >= mapping.start && taken.registers.ip < mapping.end;
  });
  BOOST_REQUIRE((own != mappings.end()));
  const sdk::Fd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  FileStamp stamp = read_stamp(self.get()).value();
  if (change) change(stamp);
  const std::vector<TableFile> tables{{kSelf, {0, 4096, 0, {99, 99}, "/none"}},
                                      {kSelf, *own, stamp}};
  const std::vector<std::uint64_t> words{std::uint64_t{2} << CTPROF_FRAME_TABLE_SHIFT |
                                             (taken.registers.ip - own->start + own->offset),
                                         CTPROF_FRAME_ADDRESS | CTPROF_FRAME_GUESSED | 0x1234560};
  recording.stacks().begin_source("test", "tests", {kStacks}, tables);
  ctprof_record record = with_addresses(record_of(kSelf, kSelf, 10), words);
  record.user_kind = CTPROF_USER_FRAMES;
  recording.stacks().add(record);
  record.flags = CTPROF_RECORD_CUT;
  recording.stacks().add(record);
  recording.stacks().finish();
}

BOOST_AUTO_TEST_CASE(names_frames_of_unwind_tables) {
  Recording recording(window_of_self());
  take_table_frames(recording);
  BOOST_TEST(recording.row_text(0).find("take_stack") != std::string::npos, recording.row_text(0));
  const StackTally& tally = recording.window().meta.stacks.at(0);
  BOOST_TEST(tally.complete_stacks == 1u);
  BOOST_TEST(tally.too_deep_stacks == 1u);
  BOOST_TEST(tally.guessed_stacks == 2u);
}

BOOST_AUTO_TEST_CASE(does_not_name_frames_of_files_that_changed_after_unwinding) {
  Recording recording(window_of_self());
  take_table_frames(recording, [](FileStamp& stamp) { ++stamp.written_ns; });
  BOOST_TEST(recording.row_text(0).find("take_stack") == std::string::npos, recording.row_text(0));
  BOOST_TEST(recording.window().meta.stacks.at(0).complete_stacks == 1u);
  BOOST_REQUIRE(recording.window().meta.notes.size() == 1u);
  BOOST_TEST(recording.window().meta.notes[0].find("unit-capture") != std::string::npos,
             recording.window().meta.notes[0]);
}

// Takes a stack of addresses with kernel frames.
BOOST_AUTO_TEST_CASE(kernel_frames_are_above_those_of_the_user) {
  const NamedStack taken = take_stack_of_thread();
  Recording recording(window_of_self());
  recording.stacks().add_mappings(kSelf, boottime_ns(), own_mappings());
  recording.begin();
  const std::vector<std::uint64_t> user{taken.registers.ip, taken.registers.ip + 1},
      kernel{0xffffffff81000010, 0xffffffff81000020};
  ctprof_record record = with_addresses(record_of(kSelf, kSelf, 7), user);
  record.kernel = kernel.data();
  record.kernel_count = 2;
  record.flags = CTPROF_RECORD_GUESSED;
  recording.stacks().add(record);
  recording.stacks().finish();
  const auto frames = recording.frames(0);
  BOOST_REQUIRE_EQUAL(frames.size(), 5u);  // the last is "[truncated]", as no thread starts there
  BOOST_TEST(frames[0].offset == kernel[0]);
  BOOST_TEST(frames[1].offset == kernel[1] - 1);
  BOOST_TEST((recording.module(frames[0]).kind == Module::Kind::Kernel));
  BOOST_TEST((recording.module(frames[2]).kind == Module::Kind::File));
  BOOST_TEST(frames[2].offset == frames[3].offset);
  BOOST_TEST(!frames[2].is_guessed);
  BOOST_TEST(frames[3].is_guessed);
  BOOST_TEST((recording.row_text(0).find("take_stack") != std::string::npos));
  BOOST_TEST(recording.window().meta.stacks.at(0).guessed_stacks == 1u);
  BOOST_TEST(recording.window().meta.stacks.at(0).stacks_without_rule == 1u);
  BOOST_TEST(recording.window().meta.stacks.at(0).complete_stacks == 0u);
}

// A JIT compiler announces its dump file by mapping it.
BOOST_AUTO_TEST_CASE(names_generated_functions_by_the_dump_that_is_mapped) {
  constexpr std::uint64_t kCode = 0x7000000, kDump = 0x8000000;
  const std::string path = "/tmp/jit-" + std::to_string(kSelf) + ".dump";
  std::string dump("DTiJ\1\0\0\0\x28\0\0\0", 12);
  dump.resize(40);
  const std::string name("generated", 10);
  const std::uint64_t numbers[] = {0, 0, 0, kCode, 0x100, 1};  // the entry without its first field
  std::string entry(reinterpret_cast<const char*>(numbers + 1), 5 * sizeof(std::uint64_t));
  entry.insert(0, 16, '\0');
  entry += name;
  entry[4] = static_cast<char>(entry.size());
  std::ofstream(path, std::ios::binary) << dump << entry;
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  Recording recording(window_of_self());
  recording.stacks().add_mappings(
      kSelf, 1,
      std::vector<Mapping>{{kCode, kCode + 0x1000, 0, {}, ""},
                           {kDump, kDump + 0x1000, 0, {status.st_dev, status.st_ino}, path}});
  recording.begin();
  const std::vector<std::uint64_t> user{kCode + 0x20};
  recording.stacks().add(with_addresses(record_of(kSelf, kSelf, 7), user));
  recording.stacks().finish();
  std::filesystem::remove(path);
  BOOST_TEST(recording.row_text(0).find("generated") != std::string::npos);
}

// --- assignment of records to threads ---

BOOST_AUTO_TEST_CASE(distinguishes_threads_by_start_time_or_record_time) {
  Recording recording;
  recording.begin();
  const auto at = [](std::uint64_t second) { return second * kSecond; };
  recording.stacks().add(record_of(7, 7, 1, at(11)));
  recording.stacks().add(record_of(7, 8, 2, at(11)));
  recording.stacks().add(record_of(7, 8, 4, at(19)));
  recording.stacks().add(record_of(7, 8, 8, at(19), 5));
  recording.stacks().add(record_of(7, 8, 16, at(16), 1500));
  recording.stacks().add(record_of(7, 9, 32, at(11)));
  recording.stacks().add(record_of(6, 8, 64, at(11)));
  recording.stacks().add(record_of(7, 8, 128, at(11), 77));
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0) == " 1");
  BOOST_TEST(recording.row_text(1) == " 20");
  BOOST_TEST(recording.row_text(2) == " 10");
  BOOST_TEST(recording.window().meta.stacks.at(0).records_without_row == 3u);
  BOOST_TEST(recording.window().meta.notes.at(0) ==
             "224 ns of oncpu_stacks belong to threads without a row");
}

// Returns the weights of three threads, which have one record in each of `seconds`, and the number
// of records without a row.
std::string rows_text(ExclusiveEnds ends, const std::vector<std::uint64_t>& seconds) {
  Recording recording(window_with_reused_id(), ends);
  recording.begin();
  for (const std::uint64_t tid : {7, 8, 9})
    for (const std::uint64_t second : seconds)
      recording.stacks().add(record_of(7, tid, 1, second * kSecond));
  recording.stacks().finish();
  return recording.row_text(0) + recording.row_text(1) + recording.row_text(2) + ", " +
         std::to_string(recording.window().meta.stacks.at(0).records_without_row);
}

// Thread 8 exits at 12 and starts again at 15. The window contains no times of thread 9.
BOOST_AUTO_TEST_CASE(counts_records_between_the_readings_of_their_thread) {
  const std::vector<std::uint64_t> seconds{9, 11, 19, 21};
  BOOST_TEST(rows_text({}, seconds) == " 2 1 1, 2");
  BOOST_TEST(rows_text({.has_own_begin = false}, seconds) == " 3 1 2, 3");
  BOOST_TEST(rows_text({.has_own_end = false}, seconds) == " 3 2 1, 3");
  BOOST_TEST(rows_text({.has_own_begin = false, .has_own_end = false}, seconds) == " 4 2 2, 4");
}

BOOST_AUTO_TEST_CASE(a_thread_without_a_record_has_no_weight_and_no_gap) {
  Recording recording;
  recording.begin();
  recording.stacks().add(record_of(7, 7, 1));
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(1) == "");
  BOOST_TEST(name(recording.window().threads().find(kStacks.name)->gap(1)) == "None");
}

BOOST_AUTO_TEST_CASE(marks_incomplete_stacks) {
  Recording recording;
  recording.begin();
  ctprof_record cut = with_addresses(record_of(7, 7, 1), {});
  cut.flags = CTPROF_RECORD_CUT;
  ctprof_record without_user = record_of(7, 8, 2, 0, 1500);
  without_user.flags = CTPROF_RECORD_NO_USER;
  recording.stacks().add(cut);
  recording.stacks().add(without_user);
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0) == "[truncated] 1");
  BOOST_TEST(recording.row_text(1) == "[truncated] 2");
  const StackTally& tally = recording.window().meta.stacks.at(0);
  BOOST_TEST(tally.too_deep_stacks == 1u);
  BOOST_TEST(tally.without_user == 1u);
  BOOST_TEST(tally.complete_stacks == 0u);
  BOOST_TEST(
      describe_recorder(RecorderResult(1024), tally)
          .starts_with(": 2 stacks, 0.0% reach the root (1 too deep, 1 without user part); "));
}

BOOST_AUTO_TEST_CASE(a_repeated_stack_needs_no_frames) {
  Recording recording;
  recording.begin();
  ctprof_record truncated = with_addresses(record_of(7, 7, 1, 9 * kSecond, 5), {});
  truncated.flags = CTPROF_RECORD_CUT;  // not counted: before the window opened
  ctprof_record repeated = record_of(7, 7, 2, 11 * kSecond, 5);
  repeated.flags = CTPROF_RECORD_AGAIN;
  ctprof_record other_thread = record_of(7, 8, 4, 16 * kSecond, 1500);
  other_thread.flags = CTPROF_RECORD_AGAIN;
  ctprof_record rest = record_of(7, 7, 8, 12 * kSecond, 5);
  rest.flags = CTPROF_RECORD_REST;
  for (const ctprof_record& record : {truncated, repeated, repeated, other_thread, rest})
    recording.stacks().add(record);
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0) == "[rest] 8, [truncated] 4");
  BOOST_TEST(recording.row_text(1) == "[rest] 4");
  BOOST_TEST(recording.window().meta.stacks.at(0).records == 3u);
  BOOST_TEST(recording.window().meta.stacks.at(0).too_deep_stacks == 2u);
}

BOOST_AUTO_TEST_CASE(threads_that_may_not_be_seen_have_a_gap) {
  Recording recording;
  recording.begin();
  recording.stacks().add(with_addresses(record_of(7, 7, 4, 11 * kSecond, 5), {}));
  for (const std::uint64_t tid : {7, 8}) {
    ctprof_record unseen = record_of(7, tid, 0, 0, tid == 7 ? 5 : 1500);
    unseen.flags = CTPROF_RECORD_UNSEEN;
    recording.stacks().add(unseen);
  }
  recording.stacks().finish();
  const Column& column = *recording.window().threads().find(kStacks.name);
  BOOST_TEST((column.has_value(0) && column.gap(1) == Gap::Denied && column.has_value(2)));
  BOOST_TEST(recording.window().meta.stacks.at(0).records == 1u);
}

// --- numbers ---

MetricDef number_metric(const char* name, const char* newtype, const char* rule,
                        const char* reduction) {
  MetricDef def = metric(name, newtype, rule);
  def.reduction = reduction;
  return def;
}

// Returns the values of the column, or their gaps.
std::string numbers_text(const Snapshot& window, const std::string& metric) {
  const Column& column = *window.threads().find(metric);
  std::string text;
  for (std::size_t row = 0; row < column.rows(); ++row)
    text += (row == 0 ? "" : " ") + (column.has_value(row) ? std::to_string(column.u64()[row])
                                                           : std::string(name(column.gap(row))));
  return text;
}

BOOST_AUTO_TEST_CASE(numbers_are_reduced_to_sum_maximum_or_minimum) {
  Snapshot window = window_with_reused_id();
  RecordedStacks stacks(window, proc().get());
  stacks.begin_source("test", "tests",
                      {number_metric("x_ns", "MonotonicNs", "SumNs", "sum"),
                       number_metric("x_max_ns", "PeakNs", "MaxPeak", "max"),
                       number_metric("x_min_ns", "GaugeNs", "x_least", "min")});
  const auto put = [&](std::uint32_t offer, std::uint64_t tid, std::uint64_t weight,
                       std::uint64_t at_ns) {
    ctprof_record record = record_of(7, tid, weight, at_ns);
    record.offer = offer;
    stacks.add(record);
  };
  for (const std::uint32_t offer : {0, 1, 2}) {
    put(offer, 7, 5, 0);
    put(offer, 7, 9, 11 * kSecond);
    put(offer, 7, 3, 12 * kSecond);
    put(offer, 7, 100, 9 * kSecond);  // before the window of its row
    put(offer, 99, 6, 0);             // of a thread without a row
  }
  for (const std::uint32_t offer : {0, 1, 2})
    for (const std::uint64_t tid : {7, 8}) {  // the first has a value anyway
      ctprof_record record = record_of(7, tid, 0, 0, tid == 7 ? 5 : 1500);
      record.offer = offer;
      record.flags = CTPROF_RECORD_UNSEEN;
      stacks.add(record);
    }
  stacks.finish();
  BOOST_TEST(numbers_text(window, "x_ns") == "17 Denied 0");
  BOOST_TEST(numbers_text(window, "x_max_ns") == "9 Denied NotApplicable");
  BOOST_TEST(numbers_text(window, "x_min_ns") == "3 Denied NotApplicable");
  BOOST_TEST(window.meta.stacks.at(0).records == 0u);
  BOOST_TEST(window.meta.notes.at(0) == "6 ns of x_ns belong to threads without a row");
  convert_to_differences(window);
  BOOST_TEST(numbers_text(window, "x_ns") == "17 Denied 0");
}

BOOST_AUTO_TEST_CASE(histograms_count_by_bucket) {
  Snapshot window = window_with_reused_id();
  RecordedStacks stacks(window, proc().get());
  stacks.begin_source("test", "tests",
                      {metric("waits", "HistogramNs", "HistogramMerge"),
                       metric("skipped", "HistogramNs", "HistogramMerge")},
                      {}, {true, false});
  const auto put = [&](std::uint64_t tid, std::uint64_t value, std::uint64_t weight,
                       std::uint64_t at_ns, ctprof_record_flags flags = 0) {
    ctprof_record record = record_of(7, tid, weight, at_ns, tid == 8 ? 1500 : 5);
    record.element = ctprof_histogram_bucket(value);
    record.flags = flags;
    stacks.add(record);
  };
  put(7, 4, 5, 0);
  put(7, 5, 1, 11 * kSecond);
  put(7, 1, UINT64_MAX, 0);
  put(7, 1, 1, 0);              // the count stops at the largest number
  put(7, 3, 100, 9 * kSecond);  // before the window of its row
  put(99, 3, 6, 0);             // of a thread without a row
  put(8, 0, 0, 0, CTPROF_RECORD_UNSEEN);
  stacks.finish();
  const Column& column = *window.threads().find("waits");
  const auto buckets = [&](std::size_t row) {
    const auto words = window.pools->words[column.ids()[row]];
    return std::vector<std::uint64_t>(words.begin(), words.end());
  };
  BOOST_TEST(buckets(0) == (std::vector<std::uint64_t>{0, UINT64_MAX, 0, 0, 6}),
             boost::test_tools::per_element());
  BOOST_TEST((column.gap(1) == Gap::Denied && column.has_value(2) && buckets(2).empty()));
  BOOST_TEST(window.meta.notes.at(0) == "6 values of waits belong to threads without a row");
  BOOST_TEST(!window.threads().find("skipped"));
  convert_to_differences(window);
  BOOST_TEST((window.threads().find("waits")->has_value(0) && buckets(0)[4] == 6u));
  BOOST_TEST(!window.window->openings[0].find("waits"));  // see counts_up()
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::recorded_stacks_test
