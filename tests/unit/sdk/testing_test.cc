// Tests ctprof/testing.hpp: it runs plugins as ctprof does, and reports what violates the contract.

#include "ctprof/testing.hpp"

#include <boost/test/unit_test.hpp>

#include "ctprof/plugin.hpp"

namespace testing_test {
namespace sdk = ctprof::sdk;
namespace testing = ctprof::sdk::testing;
using ctprof::Gap;

namespace {

constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kCalls{{.name = "t_calls"}};
constexpr sdk::Metric<sdk::CategoricalString, sdk::Mode> kText{{.name = "t_text"}};
constexpr sdk::Metric<sdk::GaugeF64, sdk::MaxGaugeF64, sdk::Entity::Process> kLoad{
    {.name = "t_load"}};
constexpr sdk::Metric<sdk::CountMap, sdk::MapSum, sdk::Entity::Cgroup> kMap{{.name = "t_map"}};
constexpr sdk::Metric<sdk::Flag, sdk::AnyFlag, sdk::Entity::Host> kFlag{{.name = "t_flag"}};
constexpr sdk::Metric<sdk::CategoricalString, sdk::Mode> kForeign{{.name = "other_state"}};
constexpr sdk::Metric<sdk::CountMap, sdk::MapSum, sdk::Entity::Host> kPairs{
    {.name = "t_pairs", .labels = sdk::labels<"device", "direction">}};
constexpr std::array kOptions{sdk::option("file", "calls", "The file of a thread.")};

// Reads a number per thread; the option names the file.
class Calls : public sdk::ThreadSource {
 public:
  static constexpr const char* kName = "calls";
  static constexpr auto kOffers = sdk::offers(kCalls);
  static constexpr std::uint32_t kTallies = 1;
  static constexpr const char* kSummaryKey = "t_summary";
  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    const std::string file(host.option(kOptions[0]));
    if (!sdk::TextFile().read(host, host.sample(), file.c_str()))
      probe.refuse_all(Gap::Unsupported, "there is no " + file, sdk::by_boot("calls=1"));
    if (host.live()) probe.lacks(kCalls, "calls of others");
  }
  explicit Calls(const sdk::Host& host) : host_(host), name_(host.option(kOptions[0])) {}
  void collect(const sdk::Batch& batch) {
    auto calls = batch.column(kCalls);
    for (const sdk::Thread thread : batch.threads()) {
      const auto text = file_.read(host_, thread, name_.c_str());
      batch.tally(0);
      calls.put(thread, text ? sdk::number<std::uint64_t>(sdk::trimmed(text.value)) : text.gap);
    }
  }
  static void summarise(const sdk::Summary& summary) { summary.put("threads", summary.tally(0)); }

 private:
  sdk::Host host_;
  std::string name_;
  sdk::TextFile file_;
};

// Reads the column of `Calls` and one of another plugin, and is listed first.
class Texts : public sdk::ThreadSource {
 public:
  static constexpr const char* kName = "texts";
  static constexpr auto kOffers = sdk::offers(kText);
  static constexpr auto kReads = sdk::reads(kCalls, sdk::optional<kForeign>, sdk::kComm);
  explicit Texts(const sdk::Host&) {}
  void collect(const sdk::Batch& batch) {
    auto texts = batch.column(kText);
    const auto calls = batch.input(kCalls);
    const auto states = batch.input(kForeign);
    const auto names = batch.input(sdk::kComm);
    for (const sdk::Thread thread : batch.threads()) {
      const auto count = calls.at(thread.row);
      if (!count) {
        texts.put(thread, count.gap);
        continue;
      }
      const auto state = states.at(thread.row);
      texts.put(thread, std::string(names.at(thread.row).value) + " " +
                            (state ? std::string(state.value) : "?") + std::to_string(count.value));
    }
  }
};

struct Loads : sdk::ProcessSource {
  static constexpr const char* kName = "loads";
  static constexpr auto kOffers = sdk::offers(kLoad);
  explicit Loads(const sdk::Host&) {}
  void collect(const sdk::Batch& batch) {
    const auto tgids = batch.input(sdk::kProcessTgid);
    for (std::uint32_t row = 0; row < batch.rows(); ++row)
      batch.column(kLoad).put(row, tgids.at(row).value == 7 ? 0.5 : HUGE_VAL);
  }
};

struct Maps : sdk::CgroupSource {
  static constexpr const char* kName = "maps";
  static constexpr auto kOffers = sdk::offers(kMap);
  explicit Maps(const sdk::Host&) {}
  void collect(const sdk::Batch& batch) {
    const auto paths = batch.input(sdk::kCgroupPath);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      const ctprof_entry entry{{"length", 6}, paths.at(row).value.size()};
      batch.column(kMap).put(row, sdk::Entries(&entry, 1));
    }
  }
};

// Fills the flag, or misbehaves as the file `flag` states.
class Flags : public sdk::HostSource {
 public:
  static constexpr const char* kName = "flags";
  static constexpr auto kOffers = sdk::offers(kFlag);
  explicit Flags(const sdk::Host& host) : host_(host) {}
  void collect(const sdk::Batch& batch) {
    const auto text = file_.read(host_.proc(), "flag");
    if (text && text.value == "throw") throw std::runtime_error("thrown");
    if (text && text.value == "untouched") return;
    if (text && text.value == "gap") batch.column(kFlag).put(0, Gap::NoBase);
    if (!text) batch.column(kFlag).put(0, true);
  }

 private:
  sdk::Host host_;
  sdk::TextFile file_;
};

// Offers the flag as well, with a lower rank.
struct Other : sdk::HostSource {
  static constexpr const char* kName = "other";
  static constexpr std::int32_t kRank = -1;
  static constexpr auto kOffers = sdk::offers(kFlag);
  explicit Other(const sdk::Host&) {}
  void collect(const sdk::Batch& batch) { batch.column(kFlag).put(0, false); }
};

// Puts the key that the file `key` contains, or a pair of values; `many`: too many keys.
class Pairs : public sdk::HostSource {
 public:
  static constexpr const char* kName = "pairs";
  static constexpr auto kOffers = sdk::offers(kPairs);
  explicit Pairs(const sdk::Host& host) : host_(host) {}
  void collect(const sdk::Batch& batch) {
    const auto text = file_.read(host_.proc(), "key");
    if (!text) {
      pairs_.add("a,b", "read", 1);
      return batch.column(kPairs).put(0, pairs_.entries());
    }
    for (std::uint32_t i = 0; text.value == "many" && i <= CTPROF_MAX_MAP_KEYS; ++i)
      pairs_.add("sda", std::to_string(i), i);
    const ctprof_entry entry{{text.value.data(), text.value.size()}, 1};
    batch.column(kPairs).put(0, pairs_.size() > 0 ? pairs_.entries() : sdk::Entries(&entry, 1));
  }

 private:
  sdk::Host host_;
  sdk::TextFile file_;
  sdk::LabelledEntries pairs_;
};

struct Shared {
  explicit Shared(const sdk::Host& host) {
    if (sdk::TextFile().read(host.proc(), "closed")) throw std::runtime_error("no context");
  }
};

constexpr auto kSources =
    sdk::SourceList<Texts, Calls, Loads, Maps, Other, Flags, Pairs>::make("t");
constexpr sdk::Extra kExtra = sdk::with_context<Shared>({.options = sdk::array_of(kOptions)});
constexpr struct ctprof_plugin kPlugin = sdk::make_plugin("t", "1", "", kSources, kExtra);

testing::Tree make_tree() {
  return testing::Tree({{"proc/10/task/10/calls", "x\n"},
                        {"proc/7/task/7/calls", "40\n"},
                        {"proc/7/task/7/comm", "work\n"},
                        {"proc/7/task/8/comm", "work\n"},
                        {"sys/fs/cgroup/cgroup.controllers", "cpu\n"},
                        {"sys/fs/cgroup/a.slice/cgroup.type", "domain\n"}});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(testing_test)

BOOST_AUTO_TEST_CASE(fills_rows_of_each_stage) {
  const auto done = testing::capture(kPlugin, make_tree());
  BOOST_TEST(done.failures().empty());
  const testing::Rows calls{{"7/7", 40}, {"7/8", Gap::ThreadGone}, {"10/10", Gap::Malformed}};
  const testing::Rows loads{{"7", 0.5}, {"10", Gap::Malformed}};
  BOOST_TEST((done.rows("t_calls") == calls));
  BOOST_TEST((done.rows("t_load") == loads));
  BOOST_TEST(done.cell("t_map", "/a.slice") == testing::Cell(testing::Cell::Map{{"length", 8}}));
  BOOST_TEST(done.cell("t_map", "/") == testing::Cell(testing::Cell::Map{{"length", 1}}));
  BOOST_TEST(done.cell("t_flag", "host") == true);
  BOOST_TEST(done.cell("t_pairs", "host") == testing::Cell(testing::Cell::Map{{"a%2Cb,read", 1}}));
  BOOST_TEST(done.summary().at("t_summary.threads") == "3");
}

BOOST_AUTO_TEST_CASE(runs_a_source_after_those_whose_columns_it_reads) {
  const auto tree = make_tree();
  BOOST_TEST(testing::capture(kPlugin, tree).cell("t_text", "7/7") == "work ?40");
  const auto done = testing::capture(kPlugin, tree, testing::Clock(),
                                     {.inputs = {{"other_state", {{"7/7", "S"}}}}});
  BOOST_TEST(done.cell("t_text", "7/7") == "work S40");
  BOOST_TEST(done.cell("t_text", "7/8") == Gap::ThreadGone);
}

BOOST_AUTO_TEST_CASE(refusals_have_reasons_and_remedies) {
  const testing::Tree tree({{"proc/7/task/7/comm", "work\n"}});
  const auto done = testing::capture(kPlugin, tree, testing::Clock(), {.flags = CTPROF_HOST_LIVE});
  BOOST_TEST(done.refusal("t_calls").reason == "there is no calls");
  BOOST_TEST(done.refusal("t_calls").remedy == "calls=1");
  BOOST_TEST(done.cell("t_calls", "7/7") == Gap::Unsupported);
  BOOST_TEST(done.lacks().at("t_calls").front() == "calls of others");
  BOOST_TEST((done.refusal("t_flag").gap == Gap::None));
  BOOST_TEST(done.failures().size() == 1u);  // `texts` reads t_calls
  BOOST_TEST(done.failures().front().find("nothing fills the column 't_calls'") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(options_are_those_of_the_plugin) {
  const testing::Tree tree({{"proc/7/task/7/own", "5\n"}});
  const auto done =
      testing::capture(kPlugin, tree, testing::Clock(), {.settings = {{"file", "own"}}});
  BOOST_TEST(done.cell("t_calls", "7/7") == 5);
  BOOST_CHECK_THROW(
      testing::capture(kPlugin, tree, testing::Clock(), {.settings = {{"depth", "1"}}}),
      std::logic_error);
}

BOOST_AUTO_TEST_CASE(captures_only_requested_metrics) {
  const auto done =
      testing::capture(kPlugin, make_tree(), testing::Clock(), {.metrics = {"t_flag"}});
  BOOST_TEST(done.cell("t_flag", "host") == true);
  BOOST_CHECK_THROW(done.rows("t_load"), std::logic_error);
}

BOOST_AUTO_TEST_CASE(violations_of_the_contract_are_failures) {
  for (const auto& [behaviour, words] :
       {std::pair{"throw", "flags: thrown"},
        {"untouched", "flags: it leaves a cell of 't_flag' without a value or a gap"},
        {"gap", "flags: it leaves a cell of 't_flag' without a value or a gap"}}) {
    const testing::Tree tree = make_tree();
    tree.write("proc/flag", behaviour);
    const auto done = testing::capture(kPlugin, tree);
    BOOST_TEST((done.failures() == std::vector<std::string>{words}), behaviour);
    BOOST_TEST(done.cell("t_flag", "host") == Gap::SourceFailed);
  }
}

BOOST_AUTO_TEST_CASE(maps_that_ctprof_does_not_store_are_failures) {
  for (const auto& [key, words] :
       {std::pair{"sda",
                  "pairs: it puts the key 'sda' into 't_pairs', whose keys consist of two "
                  "labels"},
        {"many", "pairs: it puts more than 4096 keys into a cell of 't_pairs'"}}) {
    const testing::Tree tree = make_tree();
    tree.write("proc/key", key);
    const auto done = testing::capture(kPlugin, tree);
    BOOST_REQUIRE(!done.failures().empty());
    BOOST_TEST(done.failures().front() == words);
  }
}

BOOST_AUTO_TEST_CASE(a_context_that_fails_refuses_all_metrics) {
  const testing::Tree tree({{"proc/closed", ""}, {"proc/7/task/7/calls", "40\n"}});
  const auto done = testing::capture(kPlugin, tree);
  BOOST_TEST((done.failures() == std::vector<std::string>{"open_plugin: no context"}));
  BOOST_TEST(done.cell("t_calls", "7/7") == Gap::SourceFailed);
}

BOOST_AUTO_TEST_CASE(rates_follow_the_clock) {
  testing::Clock clock;
  const auto tree = make_tree();
  const auto before = testing::capture(kPlugin, tree, clock);
  BOOST_CHECK_THROW(testing::rate(before, before, "t_calls", "7/7"), std::logic_error);
  clock.advance(std::chrono::seconds(4));
  tree.write("proc/7/task/7/calls", "50\n");
  tree.write("proc/7/task/8/calls", "1\n");
  const auto after = testing::capture(kPlugin, tree, clock);
  BOOST_TEST(testing::rate(before, after, "t_calls", "7/7") == 2.5);
  BOOST_TEST(testing::rate(before, after, "t_calls", "7/8") == Gap::NoBase);
  BOOST_TEST(testing::rate(before, after, "t_calls", "10/10") == Gap::Malformed);
  tree.write("proc/7/task/7/calls", "39\n");
  const auto reset = testing::capture(kPlugin, tree, clock);
  BOOST_TEST(testing::rate(before, reset, "t_calls", "7/7") == Gap::WentBackwards);
}

BOOST_AUTO_TEST_CASE(splits_rows_into_batches) {
  const testing::Tree tree({});
  for (int tid = 1; tid <= 1500; ++tid)
    tree.write("proc/1/task/" + std::to_string(tid) + "/calls", std::to_string(tid));
  const auto done = testing::capture(kPlugin, tree, testing::Clock(), {.metrics = {"t_calls"}});
  BOOST_TEST(done.failures().empty());
  for (int tid : {1, 1024, 1025, 1500})
    BOOST_TEST(done.cell("t_calls", "1/" + std::to_string(tid)) == tid);
}

BOOST_AUTO_TEST_CASE(checks_count_differences) {
  const auto done = testing::capture(kPlugin, make_tree());
  testing::Checks passing, failing;
  BOOST_TEST(passing.exit_status() == 1);  // nothing was checked
  passing.rows(done, "t_load", {{"7", 0.5}, {"10", Gap::Malformed}});
  BOOST_TEST(passing.exit_status() == 0);
  failing.rows(done, "t_load", {{"7", 0.5}});
  BOOST_TEST(failing.exit_status() == 1);
}

BOOST_AUTO_TEST_CASE(a_text_differs_from_a_gap_and_numbers_compare_by_value) {
  BOOST_TEST((testing::Cell("Denied") != testing::Cell(Gap::Denied)));
  BOOST_TEST((testing::Cell(std::uint64_t{5}) == testing::Cell(5)));
  BOOST_TEST((testing::Cell(UINT64_MAX) != testing::Cell(-1)));
  BOOST_TEST((testing::Cell(0u) != testing::Cell(Gap::None)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace testing_test
