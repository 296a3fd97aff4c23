// Tests recorders of call stacks: the options that they receive, the handling of their records, and
// the summary text.

#include "core/capture/records.hpp"
#include "core/capture/recorded_words.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/unit/capture/made_recorder.hpp"

namespace records_test {
using namespace ctprof;
using namespace ctprof::hand_made;
using namespace ctprof::made_recorder;

BOOST_AUTO_TEST_SUITE(records_test)

BOOST_FIXTURE_TEST_CASE(a_window_passes_the_requested_options, World) {
  Small::on_start = [](const sdk::Window& window) {
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
                            .depth = 9,
                            .stack_bytes = 4096,
                            .user_kind = CTPROF_USER_ADDRESSES,
                            .ring_bytes = 65536,
                            .passes_hz = 7,
                            .period_ns = 8,
                            .budget_ppm = 10,
                            .every_stack = true},
                           {5, 3});
  BOOST_TEST(bool(all->start()));
  BOOST_TEST(Small::starts == 1);
}

BOOST_FIXTURE_TEST_CASE(starts_and_stops_once_and_drains_afterwards, World) {
  const auto all = records();
  BOOST_TEST(bool(all->start()));
  all->drain();
  all->stop();
  all->drain();
  BOOST_TEST(Small::starts == 1);
  BOOST_TEST(Small::stops == 1);
  BOOST_TEST(Small::drains == 3);
}

BOOST_FIXTURE_TEST_CASE(ends_each_window_before_its_last_drain, World) {
  const auto all = records();
  BOOST_TEST(bool(all->start()));
  Small::on_drain = [](const sdk::Records& to) {
    to.put(sdk::Record(1, 1, static_cast<std::uint64_t>(10 * Small::ends)));
  };
  all->forget();
  BOOST_TEST(Small::ends == 1);
  all->end_window();
  std::vector<std::uint64_t> weights;
  all->take().recorders.front().records.for_each(
      [&](const ctprof_record& record) { weights.push_back(record.weight); },
      [](const ctprof_change&) {});
  BOOST_TEST(weights == std::vector<std::uint64_t>{20});
}

// A recorder of sums. The weights of its records count its calls.
struct Sums : sdk::RecordSource {
  static constexpr auto kOffers = sdk::offers(made_recorder::kStacks, kEvents);
  static inline std::uint64_t windows, drains;
  explicit Sums(const sdk::Host&) {}
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

std::vector<std::uint64_t> weights_in(const Recorded& recorded) {
  std::vector<std::uint64_t> weights;
  recorded.records.for_each([&](const ctprof_record& record) { weights.push_back(record.weight); },
                            [](const ctprof_change&) {});
  return weights;
}

BOOST_AUTO_TEST_CASE(sums_belong_to_a_window_from_its_opening_to_its_end) {
  Sums::windows = Sums::drains = 0;
  std::vector<Plugin> plugins;
  plugins.push_back(fake::plugin<Sums>("sums"));
  const Registry registry = fake::registry(std::move(plugins));
  const Probed probed(registry, fake::no_host(), Recorders::All);
  const sdk::Fd proc{::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  RecordOptions options;
  options.recorders = {"sums"};
  Records all(*plan_recorders(probed, options.recorders), probed, options,
              WantedProcesses({}, "", proc.get()), proc.get());
  BOOST_REQUIRE(all.start());
  for (std::uint64_t window = 1; window <= 2; ++window) {
    all.drain();  // threads are read first
    all.open_sums();
    const std::uint64_t first = Sums::drains + 1;
    all.drain();
    all.close_sums();
    all.drain();  // threads are read last
    all.end_window();
    const Recorded recorded = std::move(all.take().recorders.front());
    const std::vector<std::uint64_t> expected{1000 * window + first, 1000 * window + first + 1};
    BOOST_TEST(weights_in(recorded) == expected, boost::test_tools::per_element());
    BOOST_TEST(recorded.covered_ns.has_value());
  }
}

BOOST_FIXTURE_TEST_CASE(counts_numbers_separately_from_stacks, World) {
  const Recorded recorded = drained([](const sdk::Records& to) {
    sdk::Record number(1, 1, 7);
    number.offer = 1;
    to.put(number);
    to.put(sdk::Record(1, 1, 3));
    to.count_cpu_ns(2'000'000'000);
  });
  BOOST_TEST(recorded.failed == "");
  BOOST_TEST(recorded.numbers == 1u);
  BOOST_TEST(recorded.taken == 1u);
  BOOST_TEST(recorded.cpu_elsewhere_ns == 2'000'000'000u);
  BOOST_TEST(has(in_words(recorded, {}), "1 stack; 200"));  // plus the short time of draining
}

BOOST_FIXTURE_TEST_CASE(refuses_stacks_in_metrics_without_stacks, World) {
  const std::vector<std::uint64_t> addresses{1};
  const auto failed_by = [&](std::uint32_t offer, ctprof_record_flags flags) {
    return drained([&](const sdk::Records& to) {
             sdk::Record record(1, 1, 1);
             record.offer = offer;
             record.flags = flags;
             record.set_user(addresses);
             to.put(record);
           })
        .failed;
  };
  BOOST_TEST(failed_by(0, 0) == "");
  BOOST_TEST(has(failed_by(1, 0), "where only a weight is expected"));
  BOOST_TEST(has(failed_by(0, CTPROF_RECORD_AGAIN), "where only a weight is expected"));
  BOOST_TEST(has(failed_by(0, CTPROF_RECORD_REST), "where only a weight is expected"));
}

BOOST_FIXTURE_TEST_CASE(returns_stacks_unchanged, World) {
  std::vector<std::uint8_t> memory(5000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * i / 7);
  const std::vector<std::uint64_t> kernel{1, 2, 3}, user{4, 5};
  const Recorded recorded = drained([&](const sdk::Records& to) {
    sdk::Record copied(7, 8, 100);
    copied.set_kernel(kernel);
    copied.set_user_copy(10, 0x1234, 12, 13, memory);
    copied.at_ns = 99;
    to.put(copied);
    to.put(change(CTPROF_CHANGE_MAPPED, 7, {"/bin/true", 9}));
    sdk::Record followed(7, 9, 1);
    followed.set_user(user);
    followed.flags = CTPROF_RECORD_CUT | CTPROF_RECORD_NO_USER;
    to.put(followed);
    to.count_lost(3);
    to.lose(loss(CTPROF_LOSS_THROTTLED, 1, 5, 6, 2));
    to.remark("no losses");
  });
  BOOST_TEST(recorded.failed == "");
  BOOST_TEST(recorded.taken == 2);
  BOOST_TEST(recorded.lost == 3);
  BOOST_TEST(recorded.unseen == 2);
  BOOST_TEST(recorded.cut == 1);
  BOOST_TEST(recorded.without_user == 1);
  BOOST_TEST(recorded.remark == "no losses");
  BOOST_REQUIRE(recorded.losses.size() == 1);
  BOOST_TEST(recorded.losses[0].cpu == 1);
  std::string order;
  recorded.records.for_each(
      [&](const ctprof_record& record) {
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

BOOST_FIXTURE_TEST_CASE(omits_records_of_other_processes, World) {
  const Recorded recorded = drained(
      [](const sdk::Records& to) {
        to.put(sdk::Record(3, 3, 1));
        to.put(sdk::Record(4, 4, 1));
      },
      {}, {5, 3});
  BOOST_TEST(recorded.taken == 1);
  BOOST_TEST(recorded.others == 1);
  const auto all = records({}, {5, 3});
  BOOST_TEST(bool(all->start()));
  Small::on_drain = [](const sdk::Records& to) {
    ctprof_change told = change(CTPROF_CHANGE_FORKED, 4);
    told.parent = static_cast<std::uint64_t>(::getpid());
    to.put(told);
  };
  all->drain();
  BOOST_TEST(all->take().code.empty());
}

BOOST_FIXTURE_TEST_CASE(reads_code_of_processes_without_reported_mappings, World) {
  const auto all = records();
  BOOST_TEST(bool(all->start()));
  const auto own = static_cast<std::uint64_t>(::getpid());
  const auto parent = static_cast<std::uint64_t>(::getppid());
  constexpr std::uint64_t kNew = 1 << 22, kOther = kNew - 1, kKernels = kNew - 2;
  Small::on_drain = [&](const sdk::Records& to) {
    const std::vector<std::uint64_t> user{1};
    for (const std::uint64_t tgid : {own, own, kNew, kOther, kKernels}) {
      ctprof_change told = change(CTPROF_CHANGE_FORKED, kNew);
      told.parent = parent;
      if (tgid == kNew) to.put(told);
      if (tgid == kOther) to.put(change(CTPROF_CHANGE_EXECED, kOther));
      sdk::Record record(tgid, tgid, 1);
      if (tgid != kKernels) record.set_user(user);
      to.put(record);
    }
  };
  all->drain();
  const RecordedWindow window = all->take();
  BOOST_TEST(window.unknown == 0);
  BOOST_REQUIRE(window.code.size() == 2);
  BOOST_TEST(window.code[0].tgid == own);
  BOOST_TEST(!window.code[0].mappings.empty());
  BOOST_TEST(window.code[1].tgid == parent);
  all->drain();
  BOOST_TEST(all->take().code.size() == 2);  // each window has its own list
}

BOOST_FIXTURE_TEST_CASE(keeps_only_messages_from_before_the_window, World) {
  const auto all = records();
  BOOST_TEST(bool(all->start()));
  Small::on_drain = [](const sdk::Records& to) {
    to.put(sdk::Record(3, 3, 1));
    to.count_lost(5);
    to.remark("rings are small");
  };
  all->drain();
  Small::on_drain = [](const sdk::Records& to) { to.put(sdk::Record(0, 0, 1)); };
  all->forget();
  const RecordedWindow window = all->take();
  BOOST_TEST(window.recorders[0].taken == 0);
  BOOST_TEST(window.recorders[0].lost == 0);
  BOOST_TEST(window.recorders[0].remark == "rings are small");
  BOOST_TEST(has(window.recorders[0].failed, "impossible thread"));
}

BOOST_AUTO_TEST_CASE(a_second_start_or_stop_returns_its_own_error) {
  constexpr ctprof_source kSource = sdk::SourceTable<Small>::make("small");
  char message[64];
  void* worker = nullptr;
  const ctprof_host host{};
  ctprof_window window{};
  window.size = sizeof window;
  Small::on_start = nullptr;
  Small::starts = Small::stops = 0;
  BOOST_TEST(kSource.open_worker(&host, &worker, message, sizeof message) == 0);
  BOOST_TEST(kSource.start(worker, &window, message, sizeof message) == CTPROF_DONE);
  BOOST_TEST(kSource.start(worker, &window, message, sizeof message) == CTPROF_ALREADY);
  BOOST_TEST(kSource.stop(worker, message, sizeof message) == CTPROF_DONE);
  BOOST_TEST(kSource.stop(worker, message, sizeof message) == CTPROF_ALREADY);
  kSource.close_worker(worker);
  BOOST_TEST((Small::starts == 1 && Small::stops == 1));
}

BOOST_FIXTURE_TEST_CASE(finds_recorders_by_name, World) {
  BOOST_TEST(plan_recorders(probed, {"small", "small"})->size() == 1);
  BOOST_TEST(plan_recorders(probed, {"smal"}).error().text ==
             "no loaded plugin has a recorder 'smal' (did you mean 'small'?); there are: small");
  Small::refuses = true;
  const Probed refused(registry, fake::no_host(), Recorders::All);
  Small::refuses = false;
  BOOST_TEST(plan_recorders(refused, {"small"}).error().text ==
             "the recorder 'small' cannot record here: not permitted");
}

BOOST_AUTO_TEST_CASE(summary_names_cpu_and_time_of_losses) {
  Recorded recorded(1024);
  recorded.source = "small";
  recorded.taken = 1;
  recorded.lost = 12;
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu)
    recorded.losses.push_back(
        loss(CTPROF_LOSS_FULL, cpu, 1'000'000'000, 1'020'000'000 + (cpu == 3 ? 1'000'000 : 0), 3));
  const std::string words = in_words(recorded, {});
  BOOST_TEST(has(words, "small: 1 stack, 12 lost (lost on CPU 3 for 21.0 ms at 1.000 s, "));
  BOOST_TEST(has(words, "CPU 1 for 20.0 ms at 1.000 s, ...);"), words);
  BOOST_TEST(!has(words, "root"));
  BOOST_TEST(!has(words, "frames"));
}

BOOST_AUTO_TEST_CASE(summary_counts_incomplete_stacks) {
  Recorded recorded(1024);
  recorded.source = "small";
  recorded.taken = 2100;  // includes records before the window opened
  recorded.cpu_ns = 12'300'000;
  StackTally tally{.records = 2000, .to_root = 2000, .frames = 300};
  BOOST_TEST(in_words(recorded, tally) ==
             "small: 2000 stacks, all to the root; 12.3 ms of CPU time, 0.0 MiB");
  tally.to_root = 1999, tally.cut = 1, tally.unnamed = 7;
  BOOST_TEST(in_words(recorded, tally) ==
             "small: 2000 stacks, 99.9% to the root (1 cut by the copy), 7 of 300 frames unnamed; "
             "12.3 ms of CPU time, 0.0 MiB");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace records_test
