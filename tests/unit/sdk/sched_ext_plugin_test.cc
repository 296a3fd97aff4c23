// Tests the plugin sched_ext with its sources in the same program, as an author of a plugin does
// with ctprof/testing.hpp: on trees that the test contains as text, and on recorded kernels.

#include "plugins/sched_ext/sched_ext.cc"

#include <boost/test/unit_test.hpp>

#include "ctprof/testing.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace sched_ext_plugin_test {
namespace testing = ctprof::sdk::testing;
using ctprof::Gap;

namespace {

testing::Capture capture_recorded(const char* kernel) {
  return testing::capture(::ctprof_plugin, testing::Tree::existing(fixture_path(kernel)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sched_ext_plugin_test)

BOOST_AUTO_TEST_CASE(reads_a_loaded_scheduler) {
  const auto done = capture_recorded("6.18-scx");
  BOOST_TEST(done.failures().empty());
  BOOST_TEST(done.cell("host.sched_ext.state", "host") == "enabled");
  BOOST_TEST(done.cell("host.sched_ext.switch_all", "host") == true);
  BOOST_TEST(done.cell("host.sched_ext.enable_seq", "host") == 1);
  BOOST_TEST(done.cell("host.sched_ext.root_ops", "host") == "ctp_fifo");
  const auto& events = done.cell("host.sched_ext.events", "host").get<testing::Cell::Map>();
  BOOST_TEST(events.at("SCX_EV_BYPASS_DURATION") == 95531018u);
}

BOOST_AUTO_TEST_CASE(reports_that_no_scheduler_is_loaded) {
  const auto done = capture_recorded("6.18");
  BOOST_TEST(done.failures().empty());
  BOOST_TEST(done.cell("host.sched_ext.state", "host") == "disabled");
  BOOST_TEST(done.cell("host.sched_ext.switch_all", "host") == false);
  BOOST_TEST(done.cell("host.sched_ext.root_ops", "host") == Gap::NotApplicable);
  BOOST_TEST(done.cell("host.sched_ext.events", "host") == Gap::NotApplicable);
}

BOOST_AUTO_TEST_CASE(refuses_all_metrics_without_sched_ext) {
  const auto done = capture_recorded("6.12");
  BOOST_TEST(done.refusal("host.sched_ext.state")
                 .reason.starts_with("the kernel lacks CONFIG_SCHED_CLASS_EXT"));
  BOOST_TEST(done.cell("host.sched_ext.state", "host") == Gap::Unsupported);
}

BOOST_AUTO_TEST_CASE(a_number_that_is_no_number_is_malformed) {
  const testing::Tree tree({{"sys/kernel/sched_ext/state", "enabled\n"},
                            {"sys/kernel/sched_ext/enable_seq", "one\n"},
                            {"sys/kernel/sched_ext/nr_rejected", "7\n"}});
  const auto done = testing::capture(::ctprof_plugin, tree);
  BOOST_TEST(done.failures().empty());
  BOOST_TEST(done.cell("host.sched_ext.enable_seq", "host") == Gap::Malformed);
  BOOST_TEST(done.cell("host.sched_ext.nr_rejected", "host") == 7);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace sched_ext_plugin_test
