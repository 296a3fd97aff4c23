// Tests the checks on a plugin's table: each error is refused with its message.

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

#include "core/registry/plugin.hpp"
#include "ctprof/newtypes.hpp"
#include "ctprof/source.hpp"

namespace plugin_table_test {
using namespace ctprof;

namespace {

std::int32_t open_worker(const ctprof_host*, void**, char*, std::size_t) { return 0; }
std::int32_t collect(void*, ctprof_batch*) { return 0; }
void close_worker(void*) {}

// A valid plugin table that a test can modify.
struct PluginParts {
  ctprof_metric metric{};
  ctprof_offer offer{&metric, 0, 0};
  ctprof_source source{};
  ctprof_plugin table{};

  PluginParts() {
    metric.size = sizeof metric;
    metric.storage = CTPROF_U64;
    metric.name = "x_count";
    metric.newtype = "MonotonicCount";
    metric.rule = "SumCount";
    source.size = sizeof source;
    source.stage = CTPROF_STAGE_THREAD;
    source.name = "x";
    source.open_worker = &open_worker;
    source.collect = &collect;
    source.close_worker = &close_worker;
    table.abi = CTPROF_ABI;
    table.size = sizeof table;
    table.name = "x";
  }

  // Returns the refusal, or "" if the plugin is accepted.
  std::string refusal() {
    source.offers = {&offer, 1, sizeof offer};
    table.sources = {&source, 1, sizeof source};
    const auto plugin = read_plugin(table, sizeof table);
    return plugin ? "" : plugin.error().text;
  }
};

// Returns the reason why an offer is ignored although the plugin is accepted.
std::string ignored_offer_reason(PluginParts plugin) {
  plugin.source.offers = {&plugin.offer, 1, sizeof plugin.offer};
  plugin.offer.metric = &plugin.metric;
  plugin.table.sources = {&plugin.source, 1, sizeof plugin.source};
  const auto read = read_plugin(plugin.table, sizeof plugin.table);
  return read && read->unsupported_parts.size() == 1 ? read->unsupported_parts[0] : "";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plugin_table_test)

BOOST_AUTO_TEST_CASE(accepts_a_valid_plugin) { BOOST_TEST(PluginParts().refusal() == ""); }

BOOST_AUTO_TEST_CASE(refuses_another_abi) {
  PluginParts plugin;
  plugin.table.abi = 7;
  BOOST_TEST(plugin.refusal() == "it uses ABI 7, this ctprof uses 1");
}

BOOST_AUTO_TEST_CASE(refuses_meaningless_pairs_with_the_compilers_message) {
  const auto refusal = [](const char* newtype, const char* rule, ctprof_storage storage) {
    PluginParts plugin;
    plugin.metric.newtype = newtype, plugin.metric.rule = rule, plugin.metric.storage = storage;
    return plugin.refusal();
  };
  BOOST_TEST(contains(refusal("PeakNs", "SumNs", CTPROF_U64), CTPROF_SAYS_PEAK_SUMMED));
  BOOST_TEST(contains(refusal("Bytes", "SumNs", CTPROF_U64), CTPROF_SAYS_UNITS_DIFFER));
  BOOST_TEST(contains(refusal("DeadCounter", "SumCount", CTPROF_U64), CTPROF_SAYS_DEAD_REDUCED));
  BOOST_TEST(contains(refusal("CategoricalString", "SumCount", CTPROF_STRING),
                      CTPROF_SAYS_CATEGORY_COUNTED));
}

BOOST_AUTO_TEST_CASE(refuses_null_functions) {
  PluginParts plugin;
  plugin.source.collect = nullptr;
  BOOST_TEST(plugin.refusal() == "source 'x' has NULL for collect");
}

BOOST_AUTO_TEST_CASE(refuses_sizes_that_are_too_small) {
  PluginParts small_table, small_source, small_metric;
  small_table.table.size = 16, small_source.source.size = 16, small_metric.metric.size = 16;
  BOOST_TEST(contains(small_table.refusal(), "its table is of size 16"));
  BOOST_TEST(contains(small_source.refusal(), "is of size 16"));
  BOOST_TEST(contains(small_metric.refusal(), "a metric is of size 16"));
}

BOOST_AUTO_TEST_CASE(refuses_a_table_larger_than_its_symbol) {
  PluginParts plugin;
  const auto read = read_plugin(plugin.table, 64);
  BOOST_REQUIRE(!read);
  BOOST_TEST(contains(read.error().text, "but has 64"));
}

BOOST_AUTO_TEST_CASE(refuses_storage_that_does_not_match_the_newtype) {
  PluginParts plugin;
  plugin.metric.storage = CTPROF_STRING;
  BOOST_TEST(contains(plugin.refusal(), "which must be 0"));
}

BOOST_AUTO_TEST_CASE(refuses_an_entity_that_does_not_match_the_stage) {
  PluginParts plugin;
  plugin.metric.entity = CTPROF_CGROUP;
  BOOST_TEST(contains(plugin.refusal(),
                      "fills rows about a thread but offers 'x_count', which is about a cgroup"));
}

BOOST_AUTO_TEST_CASE(a_lister_must_offer_identity_columns) {
  PluginParts plugin;
  plugin.source.stage = CTPROF_STAGE_LIST;
  plugin.source.list = [](void*, ctprof_listing*) -> std::int32_t { return 0; };
  BOOST_TEST(contains(plugin.refusal(), "does not offer 'tgid'"));
}

BOOST_AUTO_TEST_CASE(a_source_of_exits_must_start_and_stop) {
  PluginParts plugin;
  plugin.source.stage = CTPROF_STAGE_EXITED;
  BOOST_TEST(contains(plugin.refusal(), "has NULL for one of start, drain_exited and stop"));
  plugin.source.start = [](void*, const ctprof_window*, char*, std::size_t) -> std::int32_t {
    return 0;
  };
  plugin.source.drain_exited = [](void*, ctprof_listing*) -> std::int32_t { return 0; };
  plugin.source.stop = [](void*, char*, std::size_t) -> std::int32_t { return 0; };
  BOOST_TEST(contains(plugin.refusal(), "does not offer 'tgid'"));
}

// Starts or refuses to start; counts the calls of stop.
struct TestExits : sdk::ExitedSource {
  static constexpr auto kOffers = sdk::offers(sdk::kTid);
  static inline bool may_start;
  static inline int stops;
  explicit TestExits(const sdk::Host&) {}
  void start(const sdk::Window&) {
    if (!may_start) throw std::runtime_error("no");
  }
  void drain(const sdk::Listing&) {}
  void stop() { ++stops; }
};

int count_stops(bool may_start) {
  constexpr ctprof_source kSource = sdk::SourceTable<TestExits>::make("p");
  char message[64];
  void* worker = nullptr;
  const ctprof_host host{};
  const ctprof_window window{};
  TestExits::may_start = may_start;
  TestExits::stops = 0;
  BOOST_TEST(kSource.open_worker(&host, &worker, message, sizeof message) == 0);
  BOOST_TEST((kSource.start(worker, &window, message, sizeof message) == 0) == may_start);
  kSource.close_worker(worker);
  return TestExits::stops;
}

BOOST_AUTO_TEST_CASE(closing_stops_a_started_source) {
  BOOST_TEST(count_stops(true) == 1);
  BOOST_TEST(count_stops(false) == 0);
}

BOOST_AUTO_TEST_CASE(a_recorder_must_start_and_stop_and_offer_stacks_or_numbers) {
  PluginParts plugin;
  plugin.source.stage = CTPROF_STAGE_RECORD;
  BOOST_TEST(contains(plugin.refusal(), "has NULL for one of start, drain_records and stop"));
  plugin.source.start = [](void*, const ctprof_window*, char*, std::size_t) -> std::int32_t {
    return 0;
  };
  plugin.source.drain_records = [](void*, ctprof_records*) -> std::int32_t { return 0; };
  plugin.source.stop = [](void*, char*, std::size_t) -> std::int32_t { return 0; };
  BOOST_TEST(plugin.refusal() == "");
  plugin.metric.storage = CTPROF_STRING;
  plugin.metric.newtype = "Char";
  plugin.metric.rule = "ModeChar";
  BOOST_TEST(
      contains(plugin.refusal(), "records call stacks but offers 'x_count', which is stored as"));
  plugin.metric.storage = CTPROF_STACKS;
  plugin.metric.newtype = "StackCount";
  plugin.metric.rule = "StackSum";
  BOOST_TEST(plugin.refusal() == "");
  plugin.source.stage = CTPROF_STAGE_THREAD;
  BOOST_TEST(contains(plugin.refusal(), "does not record call stacks but offers 'x_count'"));
}

BOOST_AUTO_TEST_CASE(a_recorder_only_plugin_must_have_only_recorders) {
  PluginParts plugin;
  plugin.table.flags = CTPROF_PLUGIN_RECORDER;
  BOOST_TEST(plugin.refusal() ==
             "its flag CTPROF_PLUGIN_RECORDER is set, but its source 'x' does not record");
}

BOOST_AUTO_TEST_CASE(ignores_unknown_stages_and_storages) {
  PluginParts plugin;
  plugin.source.stage = 99;
  BOOST_TEST(contains(ignored_offer_reason(plugin), "source 'x' has stage number 99"));
  plugin.source.stage = CTPROF_STAGE_THREAD;
  plugin.metric.storage = 77;
  BOOST_TEST(
      contains(ignored_offer_reason(plugin), "metric 'x_count' is stored as type number 77"));
}

BOOST_AUTO_TEST_CASE(checks_headlines_and_roles) {
  ctprof_headline headline{.size = sizeof headline,
                           .order = 1,
                           .label = "x/s",
                           .shown = CTPROF_SHOWN_RATE,
                           .flags = 0,
                           .floor = 10};
  PluginParts plugin;
  plugin.metric.headline = &headline;
  BOOST_TEST(plugin.refusal() == "");
  headline.floor = -1;
  BOOST_TEST(contains(plugin.refusal(), "has a floor that is negative"));
  headline.floor = 0;
  headline.shown = 9;
  BOOST_TEST(contains(plugin.refusal(), "has display number 9"));
  headline.shown = CTPROF_SHOWN_LEVEL;
  headline.label = "";
  BOOST_TEST(contains(plugin.refusal(), "headline has no label"));
  headline.label = "x";
  headline.size = 8;
  BOOST_TEST(contains(plugin.refusal(), "headline is of size 8"));
  plugin.metric.headline = nullptr;
  plugin.metric.role = "run-time";
  BOOST_TEST(plugin.refusal() == "");
  plugin.metric.role = "king";
  BOOST_TEST(contains(plugin.refusal(), "claims the role 'king', which ctprof does not have"));
}

BOOST_AUTO_TEST_CASE(checks_findings) {
  ctprof_finding finding{.size = sizeof finding,
                         .next = CTPROF_NEXT_THREADS,
                         .at_least = 1,
                         .weight = 0.5,
                         .statement = "lost {x_count}, {} per second"};
  ctprof_derived derived{};
  derived.size = sizeof derived;
  derived.name = "x_more";
  derived.expression = "x_count / 2";
  derived.finding = &finding;
  PluginParts plugin;
  plugin.table.derived = {&derived, 1, sizeof derived};
  BOOST_TEST(plugin.refusal() == "");
  const auto refusal_of = [&](auto change) {
    const ctprof_finding good = finding;
    change(finding);
    const std::string refusal = plugin.refusal();
    finding = good;
    return refusal;
  };
  BOOST_TEST(contains(refusal_of([](auto& it) { it.size = 8; }), "'s finding is of size 8"));
  BOOST_TEST(contains(refusal_of([](auto& it) { it.next = 9; }), "has step number 9"));
  BOOST_TEST(
      contains(refusal_of([](auto& it) { it.at_least = 0; }), "has a threshold that is not"));
  BOOST_TEST(contains(refusal_of([](auto& it) { it.weight = -1; }), "has a weight that is not"));
  BOOST_TEST(contains(refusal_of([](auto& it) { it.statement = ""; }), "has no statement"));
  for (const char* statement : {"lost {x_count", "lost x}", "lost {{}}", "lost {X y}"})
    BOOST_TEST(contains(refusal_of([&](auto& it) { it.statement = statement; }),
                        "in which a brace does not enclose the name of a metric"));
  BOOST_TEST(
      contains(refusal_of([](auto& it) { it.statement = "a\x1b[m"; }), "control characters"));
  BOOST_TEST(contains(refusal_of([](auto& it) { it.statement = "{}{}{}{}{}{}{}{}{}"; }),
                      "more than 8 values"));
  const std::string long_text(201, 'x');
  BOOST_TEST(contains(refusal_of([&](auto& it) { it.statement = long_text.c_str(); }),
                      "more than 200 bytes"));
  derived.size = offsetof(ctprof_derived, finding);  // a plugin of an earlier version
  plugin.table.derived.item_size = derived.size;
  finding.size = 8;
  BOOST_TEST(plugin.refusal() == "");
}

BOOST_AUTO_TEST_CASE(opens_and_closes_a_context) {
  PluginParts plugin;
  plugin.table.open_plugin = [](const ctprof_host*, void**, char*, std::size_t) {
    return std::int32_t{0};
  };
  BOOST_TEST(contains(plugin.refusal(), "only one of open_plugin and close_plugin"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace plugin_table_test
