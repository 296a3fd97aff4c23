// Tests recorders of call stacks: their options, the handling of their records, and the summary.

#include "core/capture/active_recorders.hpp"
#include "core/capture/recorder_notes.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/unit/capture/test_recorder.hpp"

namespace records_test {
using namespace ctprof;
using namespace ctprof::hand_made;
using namespace ctprof::test_recorder;

BOOST_AUTO_TEST_SUITE(records_test)

BOOST_FIXTURE_TEST_CASE(a_window_passes_the_requested_options, RecorderFixture) {
  TestRecorder::on_start = [](const sdk::Window& window) {
    BOOST_TEST(window.frequency_hz() == 123);
    BOOST_TEST(window.depth() == 9);
    BOOST_TEST(window.stack_bytes() == 4096);
    BOOST_TEST(window.user_kind() == CTPROF_USER_ADDRESSES);
    BOOST_TEST(window.ring_bytes() == 65536);
    BOOST_TEST(window.opened_ns() > 0);
    BOOST_TEST(window.passes_hz() == 7);
    BOOST_TEST(window.period_ns() == 8);
    BOOST_TEST(window.budget_ppm() == 10);
    BOOST_TEST(window.every_stack());
    BOOST_TEST(!window.all_waits());
    BOOST_TEST(!window.once());
    BOOST_TEST(window.pids().size() == 2);
    BOOST_TEST(window.pids()[0] == 3);
  };
  const auto all = records({.frequency_hz = 123,
                            .max_depth = 9,
                            .stack_bytes = 4096,
                            .user_kind = CTPROF_USER_ADDRESSES,
                            .ring_bytes = 65536,
                            .passes_hz = 7,
                            .period_ns = 8,
                            .budget_ppm = 10,
                            .records_every_stack = true},
                           {5, 3});
  BOOST_TEST(bool(all->start()));
  BOOST_TEST(TestRecorder::starts == 1);
}

BOOST_FIXTURE_TEST_CASE(a_window_lists_the_requested_offers, RecorderFixture) {
  std::string requested;
  TestRecorder::on_start = [&](const sdk::Window& window) {
    for (std::uint32_t offer = 0; offer < TestRecorder::kOffers.size(); ++offer)
      requested += window.requests(offer) ? '1' : '0';
    requested += ' ';
  };
  BOOST_TEST(bool(records()->start()));
  BOOST_TEST(bool(records({}, {}, {.includes_all = false})->start()));
  BOOST_TEST(
      bool(records({}, {}, {.includes_all = false, .names = {"small_times_ns", "nice"}})->start()));
  BOOST_TEST(requested == "111 110 111 ");
  ctprof_window older{};
  older.size = offsetof(ctprof_window, offers);
  BOOST_TEST(sdk::Window(older).requests(2));
}

BOOST_FIXTURE_TEST_CASE(counts_a_value_in_its_bucket, RecorderFixture) {
  std::vector<std::uint32_t> buckets;
  const RecorderResult recorded = drain_once([](const sdk::Records& to) {
    sdk::Record record(1, 1, 7);
    record.offer = 2;
    record.set_value(1000);
    to.put(record);
    record.size = offsetof(ctprof_record, element);  // of an older plugin
    to.put(record);
  });
  recorded.records.for_each([&](const auto& got, auto) { buckets.push_back(got.element); },
                            [](const ctprof_change&) {});
  BOOST_TEST(recorded.failure == "");
  BOOST_TEST(buckets == (std::vector<std::uint32_t>{19, 0}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(starts_and_stops_once_and_drains_afterwards, RecorderFixture) {
  const auto all = records();
  BOOST_TEST(bool(all->start()));
  all->drain();
  all->stop();
  all->drain();
  BOOST_TEST(TestRecorder::starts == 1);
  BOOST_TEST(TestRecorder::stops == 1);
  BOOST_TEST(TestRecorder::drains == 3);
}

BOOST_FIXTURE_TEST_CASE(ends_each_window_before_its_last_drain, RecorderFixture) {
  const auto all = records();
  BOOST_TEST(bool(all->start()));
  TestRecorder::on_drain = [](const sdk::Records& to) {
    to.put(sdk::Record(1, 1, static_cast<std::uint64_t>(10 * TestRecorder::ends)));
  };
  all->discard();
  BOOST_TEST(TestRecorder::ends == 1);
  all->end_window();
  std::vector<std::uint64_t> weights;
  all->take().recorders.front().records.for_each(
      [&](const ctprof_record& record, std::uint32_t) { weights.push_back(record.weight); },
      [](const ctprof_change&) {});
  BOOST_TEST(weights == std::vector<std::uint64_t>{20});
}

// A recorder of sums. The weights of its records count its calls.
struct SumRecorder : sdk::RecordSource {
  static constexpr auto kOffers = sdk::offers(test_recorder::kStacks, kEvents);
  static inline std::uint64_t windows, drains;
  explicit SumRecorder(const sdk::Host&) {}
  void start(const sdk::Window&) {}
  void window_opens() { ++windows; }
  void window_ends() {}
  void drain(const sdk::Records& records) {
    sdk::Record record(1, 1, 1000 * windows + ++drains);
    record.offer = 1;
    records.put(record);
  }
  void stop() {}
};

std::vector<std::uint64_t> weights_in(const RecorderResult& recorded) {
  std::vector<std::uint64_t> weights;
  recorded.records.for_each(
      [&](const ctprof_record& record, std::uint32_t) { weights.push_back(record.weight); },
      [](const ctprof_change&) {});
  return weights;
}

BOOST_AUTO_TEST_CASE(sums_belong_to_a_window_from_its_opening_to_its_end) {
  SumRecorder::windows = SumRecorder::drains = 0;
  std::vector<Plugin> plugins;
  plugins.push_back(fake::make_fake_plugin<SumRecorder>("sums"));
  const Registry registry = fake::make_registry(std::move(plugins));
  const ProbedHost probed(registry, fake::host_without_files(), RecorderSelection::All);
  const sdk::Fd proc{::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  RecordOptions options;
  options.recorders = {"sums"};
  ActiveRecorders all(*plan_recorders(probed, options.recorders), probed, options,
                      RequestedProcesses({}, "", proc.get()), proc.get());
  BOOST_REQUIRE(all.start());
  for (std::uint64_t window = 1; window <= 2; ++window) {
    all.drain();  // at the opening, the core reads the threads before it opens sums
    all.open_sums();
    const std::uint64_t first = SumRecorder::drains + 1;
    all.drain();
    all.close_sums();
    all.drain();  // at the end, it reads them after it has closed sums
    all.end_window();
    const RecorderResult recorded = std::move(all.take().recorders.front());
    const std::vector<std::uint64_t> expected{1000 * window + first, 1000 * window + first + 1};
    BOOST_TEST(weights_in(recorded) == expected, boost::test_tools::per_element());
    BOOST_TEST(recorded.covered_ns.has_value());
  }
}

BOOST_FIXTURE_TEST_CASE(counts_numbers_separately_from_stacks, RecorderFixture) {
  const RecorderResult recorded = drain_once([](const sdk::Records& to) {
    sdk::Record number(1, 1, 7);
    number.offer = 1;
    to.put(number);
    to.put(sdk::Record(1, 1, 3));
    to.count_cpu_ns(2'000'000'000);
  });
  BOOST_TEST(recorded.failure == "");
  BOOST_TEST(recorded.number_records == 1u);
  BOOST_TEST(recorded.stack_records == 1u);
  BOOST_TEST(recorded.other_cpu_ns == 2'000'000'000u);
  BOOST_TEST(contains(describe_recorder(recorded, {}),
                      "1 stack; 200"));  // plus the short time of draining
}

BOOST_FIXTURE_TEST_CASE(refuses_stacks_in_metrics_without_stacks, RecorderFixture) {
  const std::vector<std::uint64_t> addresses{1};
  const auto failed_by = [&](std::uint32_t offer, ctprof_record_flags flags) {
    return drain_once([&](const sdk::Records& to) {
             sdk::Record record(1, 1, 1);
             record.offer = offer;
             record.flags = flags;
             record.set_user(addresses);
             to.put(record);
           })
        .failure;
  };
  BOOST_TEST(failed_by(0, 0) == "");
  BOOST_TEST(contains(failed_by(1, 0), "where only a weight is expected"));
  BOOST_TEST(contains(failed_by(0, CTPROF_RECORD_AGAIN), "where only a weight is expected"));
  BOOST_TEST(contains(failed_by(0, CTPROF_RECORD_REST), "where only a weight is expected"));
}

BOOST_FIXTURE_TEST_CASE(returns_stacks_unchanged, RecorderFixture) {
  std::vector<std::uint8_t> memory(5000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * i / 7);
  const std::vector<std::uint64_t> kernel{1, 2, 3}, user{4, 5};
  const RecorderResult recorded = drain_once([&](const sdk::Records& to) {
    sdk::Record copied(7, 8, 100);
    copied.set_kernel(kernel);
    copied.set_user_copy(10, 0x1234, 12, 13, memory);
    copied.at_ns = 99;
    to.put(copied);
    to.put(make_change(CTPROF_CHANGE_MAPPED, 7, {"/bin/true", 9}));
    sdk::Record followed(7, 9, 1);
    followed.set_user(user);
    followed.flags = CTPROF_RECORD_CUT | CTPROF_RECORD_NO_USER;
    to.put(followed);
    to.count_lost(3);
    to.lose(make_loss(CTPROF_LOSS_THROTTLED, 1, 5, 6, 2));
    to.remark("no losses");
  });
  BOOST_TEST(recorded.failure == "");
  BOOST_TEST(recorded.stack_records == 2);
  BOOST_TEST(recorded.lost == 3);
  BOOST_TEST(recorded.missed == 2);
  BOOST_TEST(recorded.truncated_stacks == 1);
  BOOST_TEST(recorded.stacks_without_user == 1);
  BOOST_TEST(recorded.remark == "no losses");
  BOOST_REQUIRE(recorded.losses.size() == 1);
  BOOST_TEST(recorded.losses[0].cpu == 1);
  std::string order;
  recorded.records.for_each(
      [&](const ctprof_record& record, std::uint32_t) {
        order += "r" + std::to_string(record.tid);
        if (record.tid == 9) {
          BOOST_TEST((record.user_count == 2 && record.user[1] == 5 && record.stack_size == 0));
          return;
        }
        BOOST_TEST((record.kernel_count == 3 && record.kernel[2] == 3));
        BOOST_TEST((record.weight == 100 && record.at_ns == 99 && record.lr == 13));
        BOOST_TEST(std::vector(record.stack, record.stack + record.stack_size) == memory);
      },
      [&](const ctprof_change& change) {
        order += "c";
        BOOST_TEST(std::string(change.path.data, change.path.size) == "/bin/true");
      });
  BOOST_TEST(order == "r8cr9");
}

BOOST_FIXTURE_TEST_CASE(omits_records_of_other_processes, RecorderFixture) {
  const RecorderResult recorded = drain_once(
      [](const sdk::Records& to) {
        to.put(sdk::Record(3, 3, 1));
        to.put(sdk::Record(4, 4, 1));
      },
      {}, {5, 3});
  BOOST_TEST(recorded.stack_records == 1);
  BOOST_TEST(recorded.unrequested == 1);
  const auto all = records({}, {5, 3});
  BOOST_TEST(bool(all->start()));
  TestRecorder::on_drain = [](const sdk::Records& to) {
    ctprof_change fork_change = make_change(CTPROF_CHANGE_FORKED, 4);
    fork_change.parent = static_cast<std::uint64_t>(::getpid());
    to.put(fork_change);
  };
  all->drain();
  BOOST_TEST(all->take().code.empty());
}

BOOST_FIXTURE_TEST_CASE(reads_code_of_processes_without_reported_mappings, RecorderFixture) {
  const auto all = records();
  BOOST_TEST(bool(all->start()));
  const auto own = static_cast<std::uint64_t>(::getpid());
  const auto parent = static_cast<std::uint64_t>(::getppid());
  constexpr std::uint64_t kNewProcess = 1 << 22, kExecedProcess = kNewProcess - 1,
                          kKernelProcess = kNewProcess - 2;
  TestRecorder::on_drain = [&](const sdk::Records& to) {
    const std::vector<std::uint64_t> user{1};
    for (const std::uint64_t tgid : {own, own, kNewProcess, kExecedProcess, kKernelProcess}) {
      ctprof_change fork_change = make_change(CTPROF_CHANGE_FORKED, kNewProcess);
      fork_change.parent = parent;
      if (tgid == kNewProcess) to.put(fork_change);
      if (tgid == kExecedProcess) to.put(make_change(CTPROF_CHANGE_EXECED, kExecedProcess));
      sdk::Record record(tgid, tgid, 1);
      if (tgid != kKernelProcess) record.set_user(user);
      to.put(record);
    }
  };
  all->drain();
  const RecordedWindow window = all->take();
  BOOST_TEST(window.unreadable_processes == 0);
  BOOST_REQUIRE(window.code.size() == 2);
  BOOST_TEST(window.code[0].tgid == own);
  BOOST_TEST(!window.code[0].mappings.empty());
  BOOST_TEST(window.code[1].tgid == parent);
  all->drain();
  BOOST_TEST(all->take().code.size() == 2);  // each window has its own list
}

BOOST_FIXTURE_TEST_CASE(keeps_only_messages_from_before_the_window, RecorderFixture) {
  const auto all = records();
  BOOST_TEST(bool(all->start()));
  TestRecorder::on_drain = [](const sdk::Records& to) {
    to.put(sdk::Record(3, 3, 1));
    to.count_lost(5);
    to.remark("rings are small");
  };
  all->drain();
  TestRecorder::on_drain = [](const sdk::Records& to) { to.put(sdk::Record(0, 0, 1)); };
  all->discard();
  const RecordedWindow window = all->take();
  BOOST_TEST(window.recorders[0].stack_records == 0);
  BOOST_TEST(window.recorders[0].lost == 0);
  BOOST_TEST(window.recorders[0].remark == "rings are small");
  BOOST_TEST(contains(window.recorders[0].failure, "invalid thread"));
}

BOOST_FIXTURE_TEST_CASE(passes_remarks_of_several_sentences, RecorderFixture) {
  std::string remark = "rings are small";
  for (int i = 0; i < 100; ++i) remark += "; and another sentence";
  const RecorderResult recorded = drain_once([&](const sdk::Records& to) { to.remark(remark); });
  BOOST_TEST(recorded.remark == remark);
}

std::string write_to_buffer(std::size_t size, std::string_view message) {
  std::vector<char> buffer(size + 1, '#');
  sdk::write_message(buffer.data(), size, message);
  BOOST_TEST(buffer.back() == '#');
  return size == 0 ? "" : buffer.data();
}

BOOST_AUTO_TEST_CASE(cuts_long_messages_after_a_clause) {
  const std::string message = "one clause, two; three and more words";
  BOOST_TEST(write_to_buffer(message.size() + 1, message) == message);
  BOOST_TEST(write_to_buffer(message.size(), message) == "one clause, two; (message cut)");
  BOOST_TEST(write_to_buffer(31, message) == "one clause, two; (message cut)");
  BOOST_TEST(write_to_buffer(30, message) == "one clause, (message cut)");
  BOOST_TEST(write_to_buffer(24, message) == "one (message cut)");
  BOOST_TEST(write_to_buffer(18, "unseparated letters") == "uns (message cut)");
  BOOST_TEST(write_to_buffer(5, message) == " (me");
  BOOST_TEST(write_to_buffer(1, message) == "");
  BOOST_TEST(write_to_buffer(0, message) == "");
}

BOOST_AUTO_TEST_CASE(a_second_start_or_stop_returns_its_own_error) {
  constexpr ctprof_source kSource = sdk::SourceTable<TestRecorder>::make("small");
  char message[64];
  void* worker = nullptr;
  const ctprof_host host{};
  ctprof_window window{};
  window.size = sizeof window;
  TestRecorder::on_start = nullptr;
  TestRecorder::starts = TestRecorder::stops = 0;
  BOOST_TEST(kSource.open_worker(&host, &worker, message, sizeof message) == 0);
  BOOST_TEST(kSource.start(worker, &window, message, sizeof message) == CTPROF_DONE);
  BOOST_TEST(kSource.start(worker, &window, message, sizeof message) == CTPROF_ALREADY);
  BOOST_TEST(kSource.stop(worker, message, sizeof message) == CTPROF_DONE);
  BOOST_TEST(kSource.stop(worker, message, sizeof message) == CTPROF_ALREADY);
  kSource.close_worker(worker);
  BOOST_TEST((TestRecorder::starts == 1 && TestRecorder::stops == 1));
}

BOOST_FIXTURE_TEST_CASE(finds_recorders_by_name, RecorderFixture) {
  BOOST_TEST(plan_recorders(probed, {"small", "small"})->size() == 1);
  BOOST_TEST(plan_recorders(probed, {"smal"}).error().text ==
             "no loaded plugin has a recorder 'smal' (did you mean 'small'?); choose small");
  TestRecorder::refuses = true;
  const ProbedHost refused(registry, fake::host_without_files(), RecorderSelection::All);
  TestRecorder::refuses = false;
  BOOST_TEST(plan_recorders(refused, {"small"}).error().text ==
             "cannot start the recorder 'small': not permitted");
}

BOOST_AUTO_TEST_CASE(summary_names_cpu_and_time_of_losses) {
  RecorderResult recorded(1024);
  recorded.source = "small";
  recorded.stack_records = 1;
  recorded.lost = 12;
  recorded.missed = 2;
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu)
    recorded.losses.push_back(make_loss(CTPROF_LOSS_FULL, cpu, 1'000'000'000,
                                        1'020'000'000 + (cpu == 3 ? 1'000'000 : 0), 3));
  const std::string words = describe_recorder(recorded, {});
  BOOST_TEST(
      contains(words, "small: 1 stack, 12 lost, 2 missed (lost on CPU 3 for 21.0 ms at 1.000 s, "));
  BOOST_TEST(contains(words, "CPU 1 for 20.0 ms at 1.000 s, ...);"), words);
  BOOST_TEST(!contains(words, "root"));
  BOOST_TEST(!contains(words, "frames"));
}

BOOST_AUTO_TEST_CASE(summary_counts_incomplete_stacks) {
  RecorderResult recorded(1024);
  recorded.source = "small";
  recorded.stack_records = 2100;  // includes records before the window opened
  recorded.cpu_ns = 12'300'000;
  StackTally tally{.records = 2000, .complete_stacks = 2000, .frames = 300};
  BOOST_TEST(describe_recorder(recorded, tally) ==
             "small: 2000 stacks, all reach the root; 12.3 ms of CPU time, 0.0 MiB");
  tally.complete_stacks = 1999, tally.stacks_beyond_copy = 1, tally.unnamed_frames = 7;
  BOOST_TEST(describe_recorder(recorded, tally) ==
             "small: 2000 stacks, 99.9% reach the root (1 longer than the copied part), 7 of 300 "
             "frames unnamed; 12.3 ms of CPU time, 0.0 MiB");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace records_test
