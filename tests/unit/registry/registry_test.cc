// Merging what plugins offer: one name, one meaning, the best offer that can.

#include <boost/test/unit_test.hpp>

#include <future>
#include <stdexcept>
#include <string>

#include "core/registry/call_watch.hpp"
#include <utility>
#include <vector>
#include "core/registry/probed.hpp"
#include "tests/unit/support/fake_plugins.hpp"

namespace registry_test {
using namespace ctprof;
using namespace ctprof::fake;

BOOST_AUTO_TEST_SUITE(registry_test)

BOOST_AUTO_TEST_CASE(the_highest_rank_wins) {
  const Registry merged =
      registry({plugin<Offers<kOne, 1>>("low"), plugin<Offers<kOne, 5>>("high")});
  const Probed probed(merged, no_host());
  BOOST_TEST(probed.find("one")->chosen()->plugin->name == "high");
}

BOOST_AUTO_TEST_CASE(an_offer_that_cannot_loses_and_says_why) {
  const Registry merged =
      registry({plugin<Offers<kOne, 1>>("low"), plugin<Offers<kOne, 5, true>>("high")});
  const Probed probed(merged, no_host());
  const ProbedField& field = *probed.find("one");
  BOOST_TEST(field.chosen()->plugin->name == "low");
  BOOST_TEST(field.offers.front().reason == "the switch is off");
  BOOST_CHECK(field.offers.front().verdict == Gap::SwitchedOff);
}

BOOST_AUTO_TEST_CASE(another_meaning_is_refused_and_both_are_named) {
  const Registry merged = registry(
      {plugin<Offers<kOne>>("first"), plugin<Offers<kOneOtherwise>, Offers<kTwo>>("second")});
  BOOST_REQUIRE_EQUAL(merged.refused().size(), 1u);
  BOOST_TEST(merged.refused()[0].what == "second.so");
  BOOST_TEST(merged.refused()[0].reason.find("'first'") != std::string::npos);
  BOOST_TEST(merged.find("one")->offers.size() == 1u);
  BOOST_TEST(merged.find("two")->offers.size() == 1u);  // the rest of the plugin stays
}

// What is about a thread and what is about a cgroup have no groups in common.
BOOST_AUTO_TEST_CASE(a_formula_stays_with_its_entity) {
  static constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount, sdk::Entity::Cgroup> kOfCgroup{
      {.name = "of_cgroup", .description = "one"}};
  Plugin mixed = plugin<Offers<kOne>>("mixed");
  mixed.declared.push_back(define(kOfCgroup.abi, "mixed"));
  DerivedDef ratio;
  ratio.name = "mixed_ratio";
  ratio.expression = "one / of_cgroup";
  ratio.unit = "ratio";
  mixed.derived.push_back(ratio);
  const Registry merged = registry({mixed});
  BOOST_TEST(merged.derived().empty());
  BOOST_REQUIRE_EQUAL(merged.refused().size(), 1u);
  BOOST_TEST(merged.refused()[0].reason ==
             "its derived metric 'mixed_ratio' is about a thread, but reads 'of_cgroup', which is "
             "about a cgroup: they have no groups in common");
}

BOOST_AUTO_TEST_CASE(a_third_party_prefixes_its_names) {
  const Registry merged = registry({plugin<Offers<kOne>>("other", false)});
  BOOST_TEST(merged.find("one") == nullptr);
  BOOST_TEST(merged.refused()[0].reason.find("must begin with 'other_'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_third_party_may_offer_what_is_known) {
  const Registry merged =
      registry({plugin<Offers<kOne>>("ours"), plugin<Offers<kOne, 9>>("theirs", false)});
  BOOST_TEST(merged.find("one")->offers.front().plugin->name == "theirs");
}

BOOST_AUTO_TEST_CASE(what_is_thrown_while_a_slow_call_is_told_arrives) {
  std::promise<void> reported;
  CallWatch watch([&](const SlowCall& slow) {
    reported.set_value();
    throw std::runtime_error(slow.function);
  });
  BOOST_TEST(contained(call_owner("slow.so"), "open", [&] { reported.get_future().wait(); }) == "");
  BOOST_CHECK_EXCEPTION(watch.end(), std::runtime_error,
                        [](const auto& error) { return std::string(error.what()) == "open"; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace registry_test
