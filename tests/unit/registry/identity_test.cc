// Tests that the identity columns of the core equal their rows in metrics.tsv.

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "core/registry/identity.hpp"
#include "source_dir.hpp"
#include "tests/unit/plugins/tsv.hpp"

namespace identity_test {
using namespace ctprof;

namespace {

constexpr std::array<const char*, 4> kEntities{"thread", "process", "cgroup", "host"};

void check_definition(const TsvRow& row, const MetricDef& metric) {
  BOOST_TEST_CONTEXT(row.at("name")) {
    BOOST_TEST(kEntities[static_cast<std::size_t>(metric.entity)] == row.at("entity"));
    BOOST_TEST(metric.newtype == row.at("newtype"));
    BOOST_TEST(metric.rule == row.at("rule"));
    BOOST_TEST(metric.unit == row.at("unit"));
    BOOST_TEST(metric.family == row.at("family"));
    BOOST_TEST(metric.section == row.at("section"));
    BOOST_TEST(metric.applies_to == row.at("applies_to"));
    BOOST_TEST(metric.source == row.at("source"));
    BOOST_TEST(metric.file_path == row.at("file_path"));
    BOOST_TEST(metric.file_absent == row.at("file_if_absent"));
    BOOST_TEST(metric.description == row.at("description"));
    BOOST_TEST(metric.caveat == row.at("caveat"));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(identity_test)

BOOST_AUTO_TEST_CASE(core_declares_its_rows_of_metrics_tsv) {
  std::map<std::string, const MetricDef*> declared;
  for (const MetricDef& metric : identity_metrics()) declared[std::string(metric.name)] = &metric;
  std::size_t row_count = 0;
  for (const TsvRow& row : read_tsv(CTPROF_SOURCE_DIR "/plugins/vocabulary/metrics.tsv")) {
    if (row.at("plugin") != "core") continue;
    ++row_count;
    BOOST_TEST_REQUIRE(declared.count(row.at("name")) == 1u, row.at("name"));
    check_definition(row, *declared.at(row.at("name")));
  }
  BOOST_TEST(declared.size() == row_count);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace identity_test
