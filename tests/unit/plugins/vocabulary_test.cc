// Tests that plugins register the definitions of metrics.tsv: file-layout all of them, other
// plugins their part.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ctprof/abi.h"
#include "source_dir.hpp"
#include "tests/unit/plugins/tsv.hpp"
#include "tests/unit/support/loaded_plugin.hpp"

namespace vocabulary_test {
namespace {

const std::vector<TsvRow>& rows() {
  static const auto all = read_tsv(CTPROF_SOURCE_DIR "/plugins/vocabulary/metrics.tsv");
  return all;
}

std::string text_or_empty(const char* text) { return text ? text : ""; }

template <class Item>
std::map<std::string, const Item*> by_name(const ctprof_array& array) {
  std::map<std::string, const Item*> found;
  const auto* items = static_cast<const Item*>(array.items);
  for (std::uint32_t i = 0; i < array.count; ++i) found[items[i].name] = &items[i];
  BOOST_TEST(found.size() == array.count, "a name twice");
  return found;
}

std::map<std::string, const ctprof_metric*> offered_by(const ctprof_plugin& plugin) {
  std::map<std::string, const ctprof_metric*> found;
  const auto* sources = static_cast<const ctprof_source*>(plugin.sources.items);
  for (std::uint32_t s = 0; s < plugin.sources.count; ++s) {
    const auto* offers = static_cast<const ctprof_offer*>(sources[s].offers.items);
    for (std::uint32_t i = 0; i < sources[s].offers.count; ++i)
      if ((offers[i].metric->flags & CTPROF_METRIC_HIDDEN) == 0)
        found[offers[i].metric->name] = offers[i].metric;
  }
  return found;
}

constexpr std::array<const char*, 4> kEntities{"thread", "process", "cgroup", "host"};
constexpr std::array<const char*, 4> kPlaces{"threads[].", "threads[].", "cgroup_stats[].",
                                             "metrics."};

std::string value_or(const char* text, const std::string& otherwise) {
  return text && *text ? text : otherwise;
}

void check_metric(const TsvRow& row, const ctprof_metric& metric) {
  BOOST_TEST_CONTEXT(row.at("name")) {
    BOOST_TEST(metric.size == sizeof(ctprof_metric));
    BOOST_TEST(kEntities[metric.entity] == row.at("entity"));
    BOOST_TEST(text_or_empty(metric.newtype) == row.at("newtype"));
    BOOST_TEST(text_or_empty(metric.rule) == row.at("rule"));
    BOOST_TEST(text_or_empty(metric.unit) == row.at("unit"));
    BOOST_TEST(text_or_empty(metric.family) == row.at("family"));
    BOOST_TEST(value_or(metric.section, "primary") == row.at("section"));
    BOOST_TEST(text_or_empty(metric.sched_class) == row.at("sched_class"));
    BOOST_TEST(text_or_empty(metric.config_gates) == row.at("config_gates"));
    BOOST_TEST(value_or(metric.applies_to, "all") == row.at("applies_to"));
    BOOST_TEST(text_or_empty(metric.source) == row.at("source"));
    BOOST_TEST(text_or_empty(metric.description) == row.at("description"));
    BOOST_TEST(text_or_empty(metric.caveat) == row.at("caveat"));
    BOOST_TEST(value_or(metric.file_path, kPlaces[metric.entity] + row.at("name")) ==
               row.at("file_path"));
    BOOST_TEST(text_or_empty(metric.file_aliases) == row.at("file_aliases"));
    BOOST_TEST(text_or_empty(metric.file_unit) == row.at("file_unit"));
    BOOST_TEST(value_or(metric.file_absent, "omit") == row.at("file_if_absent"));
    BOOST_TEST(text_or_empty(metric.mark) == row.at("mark"));
    BOOST_TEST(((metric.flags & CTPROF_METRIC_MARK) != 0) == (row.at("kind") == "mark"));
  }
}

void check_derived(const TsvRow& row, const ctprof_derived& derived) {
  BOOST_TEST_CONTEXT(row.at("name")) {
    BOOST_TEST(kEntities[derived.entity] == row.at("entity"));
    BOOST_TEST(text_or_empty(derived.expression) == row.at("formula"));
    BOOST_TEST(text_or_empty(derived.unit) == row.at("unit"));
    BOOST_TEST(text_or_empty(derived.family) == row.at("family"));
    BOOST_TEST(text_or_empty(derived.section) == row.at("section"));
    BOOST_TEST(text_or_empty(derived.description) == row.at("description"));
  }
}

bool is_own_plugin(const TsvRow& row) { return row.at("plugin") != "core"; }

}  // namespace

BOOST_AUTO_TEST_SUITE(vocabulary_test)

BOOST_AUTO_TEST_CASE(file_layout_declares_every_row_of_metrics_tsv) {
  const LoadedPlugin plugin("file-layout");
  const auto metrics = by_name<ctprof_metric>(plugin->metrics);
  const auto derived = by_name<ctprof_derived>(plugin->derived);
  std::size_t wanted = 0;
  for (const TsvRow& row : rows()) {
    if (!is_own_plugin(row)) continue;
    ++wanted;
    const std::string& name = row.at("name");
    BOOST_TEST_REQUIRE(
        (row.at("kind") == "derived" ? derived.count(name) : metrics.count(name)) == 1u, name);
    row.at("kind") == "derived" ? check_derived(row, *derived.at(name))
                                : check_metric(row, *metrics.at(name));
  }
  BOOST_TEST(metrics.size() + derived.size() == wanted);
  BOOST_TEST(plugin->flags == CTPROF_PLUGIN_LAYOUT);
  BOOST_TEST(plugin->sources.count == 0u);
}

BOOST_AUTO_TEST_CASE(headlines_match_their_table) {
  const LoadedPlugin plugin("file-layout");
  const auto metrics = by_name<ctprof_metric>(plugin->metrics);
  const auto derived = by_name<ctprof_derived>(plugin->derived);
  const auto table = read_tsv(CTPROF_SOURCE_DIR "/plugins/vocabulary/headlines.tsv");
  for (const TsvRow& row : table) {
    const std::string& name = row.at("metric");
    const ctprof_headline* headline =
        metrics.count(name) ? metrics.at(name)->headline : derived.at(name)->headline;
    BOOST_TEST_REQUIRE(headline, name);
    BOOST_TEST(text_or_empty(headline->label) == row.at("label"));
    BOOST_TEST(std::to_string(headline->order) == row.at("order"));
    BOOST_TEST(headline->floor == std::stod(row.at("floor")));
    constexpr const char* kShown[] = {"percent", "rate", "level"};
    BOOST_TEST(kShown[headline->shown] == row.at("shown"));
  }
  const auto has_headline = [](const auto& item) { return item.second->headline != nullptr; };
  BOOST_TEST(static_cast<std::size_t>(std::ranges::count_if(metrics, has_headline) +
                                      std::ranges::count_if(derived, has_headline)) ==
             table.size());
}

// Checks that a plugin offers exactly the rows with its name.
void check_offers_its_rows(const std::string& name) {
  const LoadedPlugin plugin(name);
  const auto offered = offered_by(*plugin);
  const auto derived = by_name<ctprof_derived>(plugin->derived);
  std::set<std::string> wanted;
  for (const TsvRow& row : rows())
    if (row.at("plugin") == name) wanted.insert(row.at("name"));
  for (const auto& metric : wanted)
    BOOST_TEST(offered.count(metric) + derived.count(metric) == 1u, metric);
  BOOST_TEST(offered.size() + derived.size() == wanted.size());
  for (const TsvRow& row : rows())
    if (offered.count(row.at("name"))) check_metric(row, *offered.at(row.at("name")));
}

BOOST_AUTO_TEST_CASE(plugins_offer_exactly_their_rows) {
  for (const char* name : {"procfs-sched", "cgroup", "psi", "sched_ext"})
    BOOST_TEST_CONTEXT(name) check_offers_its_rows(name);
}

BOOST_AUTO_TEST_CASE(map_keys_cover_every_recorded_key) {
  const LoadedPlugin plugin("file-layout");
  const auto metrics = by_name<ctprof_metric>(plugin->metrics);
  for (const TsvRow& row : read_tsv(CTPROF_SOURCE_DIR "/plugins/vocabulary/mapkeys.tsv")) {
    const std::string keys = " " + text_or_empty(metrics.at(row.at("metric"))->map_keys) + ";";
    const std::string kind = (row.at("family") == "cumulative" ? "counter" : row.at("family")) +
                             " " + row.at("unit") + ":";
    const auto begin = keys.find(" " + kind);
    BOOST_TEST_REQUIRE(begin != keys.npos, row.at("metric") + ": " + kind);
    const std::string part = keys.substr(begin, keys.find(';', begin) - begin) + " ";
    const bool is_named = part.find(" " + row.at("key") + " ") != part.npos;
    const bool is_named_elsewhere =
        !is_named && (keys + " ").find(" " + row.at("key") + " ") != keys.npos;
    BOOST_TEST((is_named || (part.find(" * ") != part.npos && !is_named_elsewhere)), row.at("key"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace vocabulary_test
