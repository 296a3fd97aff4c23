// Tests passes over sleeping threads: sums per thread, and copies of stacks.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "plugins/sleepers/probe.hpp"
#include "plugins/sleepers/proc_sampler.hpp"
#include "plugins/sleepers/stack_copier.hpp"
#include "plugins/sleepers/tally.hpp"
#include "tests/recorded/received.hpp"

namespace sleepers_test {
using namespace ctprof;
using namespace ctprof::sleepers;

namespace {

struct ReceivedRecord {
  std::uint64_t tgid, tid, start, offer, weight;
  bool is_again, lacks_user, is_unseen, is_cut;
  std::vector<std::uint64_t> kernel, user;
  std::size_t copied;
};

// Receives the records and changes of a tally.
struct TallyCore {
  std::vector<ReceivedRecord> records;
  std::vector<ctprof_change> changes;

  static void put_record(void* core, const ctprof_record* r) {
    static_cast<TallyCore*>(core)->records.push_back({r->tgid,
                                                      r->tid,
                                                      r->start_time_clock_ticks,
                                                      r->offer,
                                                      r->weight,
                                                      (r->flags & CTPROF_RECORD_AGAIN) != 0,
                                                      (r->flags & CTPROF_RECORD_NO_USER) != 0,
                                                      (r->flags & CTPROF_RECORD_UNSEEN) != 0,
                                                      (r->flags & CTPROF_RECORD_CUT) != 0,
                                                      {r->kernel, r->kernel + r->kernel_count},
                                                      {r->user, r->user + r->user_count},
                                                      r->stack_size});
  }
  static void put_change(void* core, const ctprof_change* change) {
    static_cast<TallyCore*>(core)->changes.push_back(*change);
  }
  ctprof_records target() {
    ctprof_records to{};
    to.size = sizeof to;
    to.core = this;
    to.put = &put_record;
    to.change = &put_change;
    return to;
  }
  std::uint64_t weight(std::uint64_t tid, std::uint64_t offer) const {
    std::uint64_t sum = 0;
    for (const ReceivedRecord& one : records)
      if (one.tid == tid && one.offer == offer) sum += one.weight;
    return sum;
  }
};

Sleeper make_sleeper(Pass& pass, std::uint32_t tid, std::uint64_t start, std::uint64_t address) {
  Sleeper one;
  one.tgid = one.tid = tid;
  one.start_ticks = start;
  one.first_address = pass.addresses.size();
  one.addresses = 1;
  pass.addresses.push_back(address);
  return one;
}

// Returns the indices of all sleepers of a pass that have run since the previous pass.
std::vector<std::uint32_t> all_indices(const Pass& pass) {
  std::vector<std::uint32_t> all(pass.changed_sleepers.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

struct TallyFixture {
  TallyCore core;
  ctprof_records to = core.target();
  sdk::Records records{to};
  Tally tally{RecordFormat{}};

  void take(const Pass& pass) { tally.add_pass(pass, records); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(sleepers_test)

// The core omits processes that are not reported as descendants of the requested ones.
BOOST_FIXTURE_TEST_CASE(reports_children_of_the_processes_once_and_before_their_stacks,
                        TallyFixture) {
  Tally followed{RecordFormat{.parents = {7, 9}}};
  Pass first, second;
  first.at_ns = 5;
  first.changed_sleepers = {make_sleeper(first, 7, 100, 0xa), make_sleeper(first, 8, 100, 0xb)};
  followed.add_pass(first, records);
  BOOST_REQUIRE_EQUAL(core.changes.size(), 2u);
  BOOST_TEST(core.changes[0].kind == CTPROF_CHANGE_FORKED);
  BOOST_TEST(core.changes[0].tgid == 8u);
  BOOST_TEST(core.changes[0].parent == 7u);
  BOOST_TEST(core.changes[0].at_ns == 5u);
  BOOST_TEST(core.changes[1].kind == CTPROF_CHANGE_REMAPPED);
  BOOST_TEST(core.changes[1].tgid == 8u);
  second.changed_sleepers = {make_sleeper(second, 8, 100, 0xb)};
  second.hidden_stacks = {{11, 11, 100}};
  followed.add_pass(second, records);
  BOOST_REQUIRE_EQUAL(core.changes.size(), 4u);
  BOOST_TEST(core.changes[2].tgid == 11u);
  tally.add_pass(first, records);  // for all processes
  BOOST_TEST(core.changes.size() == 4u);
}

BOOST_FIXTURE_TEST_CASE(marks_a_kernel_stack_that_fills_the_record_as_truncated, TallyFixture) {
  for (const std::size_t frames : {126, 127}) {
    Pass pass;
    Sleeper one = make_sleeper(pass, 7, 100, 0xa);
    pass.addresses.resize(frames, 0xa);
    one.addresses = frames;
    pass.changed_sleepers = {one};
    core.records.clear();
    take(pass);
    BOOST_TEST(core.records.front().is_cut == (frames == 127));
    core.records.clear();
    Tally of_lower_limit{RecordFormat{.max_kernel_frames = 126}};
    of_lower_limit.add_pass(pass, records);
    BOOST_TEST(core.records.front().is_cut);
  }
}

BOOST_FIXTURE_TEST_CASE(adds_the_samples_of_a_thread, TallyFixture) {
  Pass first, second, third;
  first.changed_sleepers = {make_sleeper(first, 7, 100, 0xa), make_sleeper(first, 8, 100, 0xb)};
  second.unchanged = {{7, 7, 100}, {8, 8, 100}};
  third.unchanged = {{8, 8, 100}};
  third.changed_sleepers = {make_sleeper(third, 7, 100, 0xc)};
  take(first);
  take(second);
  BOOST_TEST(core.records.size() == 2u);  // repeats are pending
  take(third);
  tally.end_window(records);
  BOOST_TEST(core.weight(7, kStacksOffer) == 3u);
  BOOST_TEST(core.weight(7, kSamplesOffer) == 3u);
  BOOST_TEST(core.weight(8, kStacksOffer) == 3u);
  BOOST_TEST(core.weight(8, kSamplesOffer) == 3u);
  // Thread 7 was found twice at a. These samples are reported before it is found at c.
  std::vector<std::pair<std::uint64_t, bool>> samples_of_7;
  for (const ReceivedRecord& one : core.records)
    if (one.tid == 7 && one.offer == kStacksOffer)
      samples_of_7.emplace_back(one.weight, one.is_again);
  BOOST_TEST((samples_of_7 ==
              std::vector<std::pair<std::uint64_t, bool>>{{1, false}, {1, true}, {1, false}}));
  const auto repeats = std::ranges::find_if(core.records, &ReceivedRecord::is_again);
  BOOST_TEST(repeats->kernel.empty());
}

BOOST_FIXTURE_TEST_CASE(exited_or_replaced_threads_keep_their_samples, TallyFixture) {
  Pass first, second, third;
  first.changed_sleepers = {make_sleeper(first, 7, 100, 0xa), make_sleeper(first, 8, 100, 0xb)};
  second.unchanged = {{7, 7, 100}, {8, 8, 100}};
  third.changed_sleepers = {make_sleeper(third, 8, 900, 0xd)};  // another thread with this id
  take(first);
  take(second);
  take(third);
  BOOST_TEST(core.weight(7, kStacksOffer) == 2u);
  BOOST_TEST(core.weight(7, kSamplesOffer) == 2u);
  tally.end_window(records);
  const auto weight_of = [&](std::uint64_t start, std::uint64_t offer) {
    std::uint64_t sum = 0;
    for (const ReceivedRecord& one : core.records)
      if (one.tid == 8 && one.start == start && one.offer == offer) sum += one.weight;
    return sum;
  };
  BOOST_TEST(weight_of(100, kStacksOffer) == 2u);
  BOOST_TEST(weight_of(100, kSamplesOffer) == 2u);
  BOOST_TEST(weight_of(900, kStacksOffer) == 1u);
  BOOST_TEST(weight_of(900, kSamplesOffer) == 1u);
}

BOOST_FIXTURE_TEST_CASE(each_window_has_its_own_samples, TallyFixture) {
  Pass first, second;
  first.changed_sleepers = {make_sleeper(first, 7, 100, 0xa)};
  second.changed_sleepers = {make_sleeper(second, 7, 100, 0xa)};
  take(first);
  tally.end_window(records);
  core.records.clear();
  take(second);
  tally.end_window(records);
  BOOST_TEST(core.records.size() == 2u);
  BOOST_TEST(core.weight(7, kSamplesOffer) == 1u);
}

BOOST_FIXTURE_TEST_CASE(counts_sleepers_whose_stacks_are_denied, TallyFixture) {
  Pass pass;
  pass.hidden_stacks = {{7, 7, 100}};
  take(pass);
  take(pass);
  BOOST_TEST(core.records.size() == 1u);  // once per window
  BOOST_TEST((core.records[0].is_unseen && core.records[0].offer == kStacksOffer));
  BOOST_TEST(tally.hidden_stack_count() == 1u);
  tally.end_window(records);
  BOOST_TEST(core.weight(7, kSamplesOffer) == 2u);
  BOOST_TEST(core.weight(7, kStacksOffer) == 0u);
  BOOST_TEST(tally.hidden_stack_count() == 0u);
  take(pass);
  BOOST_TEST(core.records.back().is_unseen);
}

BOOST_FIXTURE_TEST_CASE(changed_code_requires_reading_mappings_again, TallyFixture) {
  Pass pass;
  pass.at_ns = 5;
  Sleeper one = make_sleeper(pass, 7, 100, 0xa);
  one.user = UserPart::Unavailable;
  one.code = {1, 10, 0};
  pass.changed_sleepers = {one};
  take(pass);
  BOOST_TEST(core.changes.empty());  // mappings of new processes are read anyway
  BOOST_TEST(core.records.front().lacks_user);
  take(pass);
  BOOST_TEST(core.changes.empty());
  pass.changed_sleepers[0].code.pages = 11;
  take(pass);
  BOOST_REQUIRE(core.changes.size() == 1u);
  BOOST_TEST(core.changes[0].kind == std::uint32_t{CTPROF_CHANGE_REMAPPED});
  BOOST_TEST(core.changes[0].tgid == 7u);
  BOOST_TEST(core.changes[0].at_ns == 5u);
}

BOOST_AUTO_TEST_CASE(follows_frame_pointers_within_the_copy) {
  TallyCore core;
  ctprof_records to = core.target();
  Tally tally(RecordFormat{.depth = 1, .uses_frame_pointers = true});
  Pass pass;
  Sleeper one = make_sleeper(pass, 7, 100, 0xa);
  pass.addresses.push_back(0xb);
  one.addresses = 2;
  one.user = UserPart::Copied;
  one.ip = 0x1000;
  one.sp = 0x7000;
  one.bp = 0x7010;
  const std::uint64_t words[] = {0, 0, 0x7020, 0x1001, 0x7fff'ffff'ffff, 0x1002};
  one.copied = sizeof words;
  std::memcpy(pass.copies.reserve(0, sizeof words), words, sizeof words);
  pass.changed_sleepers = {one};
  tally.add_pass(pass, sdk::Records(to));
  BOOST_TEST((core.records[0].user == std::vector<std::uint64_t>{0x1000, 0x1001, 0x1002}));
  BOOST_TEST((core.records[0].kernel == std::vector<std::uint64_t>{0xa}));
}

BOOST_AUTO_TEST_CASE(copies_the_readable_part_of_a_stack) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<std::uint8_t*>(
      ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::mprotect(memory + 2 * page, page, PROT_NONE);
  std::memset(memory, 'x', 2 * page);
  std::memset(memory + 3 * page, 'y', page);
  Pass pass;
  const auto add = [&](std::size_t at, std::size_t depth) {
    Sleeper one = make_sleeper(pass, static_cast<std::uint32_t>(::getpid()), 1, 0);
    one.user = UserPart::Copied;
    one.sp = reinterpret_cast<std::uint64_t>(memory + at);
    one.stack_extent = depth;
    pass.changed_sleepers.push_back(one);
  };
  add(0, 64);           // completely
  add(page, 2 * page);  // until the unreadable page
  add(2 * page, 64);    // nothing
  add(3 * page, 100);   // after that page
  add(8, 1 << 20);      // up to the limit or the end
  StackCopier copier(0, {});
  copier.copy(pass, all_indices(pass));
  const auto copied = [&](std::size_t i) { return pass.changed_sleepers[i].copied; };
  BOOST_TEST(copied(0) == 64u);
  BOOST_TEST(copied(1) == page);
  BOOST_TEST((pass.changed_sleepers[2].user == UserPart::Unavailable));
  BOOST_TEST(copied(3) == 104u);  // whole words
  BOOST_TEST(copied(4) == 2 * page - 8);
  for (const std::size_t i : {0, 1, 3, 4}) {
    const auto part = pass.copies.part(pass.changed_sleepers[i].copy_offset, copied(i));
    BOOST_TEST(std::ranges::count(part, i == 3 ? 'y' : 'x') == std::ptrdiff_t(part.size()));
  }
  BOOST_TEST(copier.current_process() == 0u);
  ::munmap(memory, 4 * page);
}

// Each thread may copy 64 KiB of the requested 256 KiB; for the rest, a pass may copy 16 MiB in
// total.
BOOST_AUTO_TEST_CASE(limits_large_copies_of_a_pass) {
  constexpr std::size_t kNormalBytes = 64 << 10, kMaxStackBytes = 256 << 10,
                        kMaxExtraBytes = 16 << 20;
  const std::vector<std::uint8_t> memory(kMaxStackBytes, 'x');
  Pass pass;
  Sleeper one = make_sleeper(pass, static_cast<std::uint32_t>(::getpid()), 1, 0);
  one.user = UserPart::Copied;
  one.sp = reinterpret_cast<std::uint64_t>(memory.data());
  one.stack_extent = 1 << 20;
  pass.changed_sleepers.assign(100, one);
  StackCopier(0, {}).copy(pass, all_indices(pass));
  constexpr std::size_t kFullCopies = kMaxExtraBytes / (kMaxStackBytes - kNormalBytes);
  for (std::size_t i = 0; i < pass.changed_sleepers.size(); ++i)
    if (i != kFullCopies)
      BOOST_TEST(pass.changed_sleepers[i].copied ==
                 (i < kFullCopies ? kMaxStackBytes : kNormalBytes));
  BOOST_TEST(pass.copied == pass.changed_sleepers.size() * kNormalBytes + kMaxExtraBytes);
}

BOOST_AUTO_TEST_CASE(avoided_or_exited_processes_have_no_user_stack) {
  const auto self = static_cast<std::uint32_t>(::getpid());
  for (const std::uint32_t tgid : {self, (1u << 22) - 1}) {
    Pass pass;
    Sleeper one = make_sleeper(pass, tgid, 1, 0);
    one.user = UserPart::Copied;
    one.sp = reinterpret_cast<std::uint64_t>(&pass);
    one.stack_extent = 8;
    pass.changed_sleepers = {one, one};
    StackCopier(0, {self}).copy(pass, all_indices(pass));
    for (const Sleeper& each : pass.changed_sleepers)
      BOOST_TEST((each.user == UserPart::Unavailable));
  }
}

// Such a user must not see stacks of other users, and only a BPF program can filter them.
BOOST_AUTO_TEST_CASE(user_of_file_capabilities_gets_no_stacks_from_proc) {
  const recorded::TestHost host("/proc", "/sys");
  const auto refusal = explain_proc_refusal(host.host(), true);
  BOOST_REQUIRE(refusal);
  BOOST_TEST((refusal->gap == Gap::Denied));
  BOOST_TEST(refusal->reason ==
             "without BPF ctprof cannot hide the stacks of other users from a user who has only "
             "file capabilities");
}

BOOST_AUTO_TEST_CASE(a_thread_name_cannot_forge_the_state) {
  const std::string rest = " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
  BOOST_TEST(parse_stat("12 (a) R 1 2) S" + rest).state == 'S');
  BOOST_TEST(parse_stat("12 (a) R 1 2) S" + rest).start_ticks == 777u);
  BOOST_TEST(parse_stat("12 (a) R 1 2) S" + rest).has_user);
  for (const char* flags : {"2129984", "4194576"})  // a kernel thread; a user worker
    BOOST_TEST(!parse_stat("12 (a) S 1 1 1 0 -1 " + std::string(flags) +
                           " 1 0 0 0 0 0 0 0 20 0 1 0 777 0 0")
                    .has_user);
  for (const char* text : {"", "12 (a", "12 (a) ", "12 (a) S", "12 (a) S 1 1"})
    BOOST_TEST(parse_stat(text).state == '?');
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace sleepers_test
