// Tests the transfer of remedies from a source to the registry, and to an older core.

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <map>
#include <string>

#include "core/registry/probed_host.hpp"
#include "tests/unit/support/fake_plugins.hpp"

namespace remedy_test {
using namespace ctprof;
using namespace ctprof::fake;

namespace {

// Offers two metrics. It refuses the first and reports what the second lacks.
struct RemedySource : OfferingSource<kOne> {
  static constexpr auto kOffers = sdk::offers(kOne, kTwo);
  static void probe(const sdk::Host&, const sdk::Probe& probe) {
    probe.refuse(kOne, Gap::SwitchedOff, "the switch is off", sdk::by_command("sysctl -w a.b=1"));
    probe.lacks(kTwo, "others are closed", sdk::by_capabilities("cap_net_admin"));
    probe.lacks(kTwo, "only young threads are counted");
  }
  using OfferingSource::OfferingSource;
};

// Refuses twice; the second refusal has no remedy.
struct TwiceRefusingSource : OfferingSource<kOne> {
  static void probe(const sdk::Host&, const sdk::Probe& probe) {
    probe.refuse_all(Gap::Denied, "it is closed", sdk::by_boot("open=1"));
    probe.refuse_all(Gap::Unsupported, "the file is missing");
  }
  using OfferingSource::OfferingSource;
};

// Returns the offer of a plugin whose probe function calls the core through the C ABI.
template <void (*CallProbe)(const ctprof_probe&)>
ProbedOffer offer_of() {
  Plugin made = make_fake_plugin<OfferingSource<kOne>>("by-hand");
  made.sources[0].table.probe = [](const ctprof_host*, const ctprof_probe* probe) {
    CallProbe(*probe);
  };
  const Registry merged = make_registry({made});
  const ProbedHost probed(merged, host_without_files());
  return probed.find("one")->offers[0];
}

void remedy_of_unknown_offer(const ctprof_probe& probe) {
  probe.remedy(probe.core, 1, "x", 1, CTPROF_REMEDY_BOOT, "y", 1);
}
void remedy_without_refusal(const ctprof_probe& probe) {
  probe.remedy(probe.core, 0, nullptr, 0, CTPROF_REMEDY_BOOT, "y", 1);
}
void remedy_of_unknown_kind(const ctprof_probe& probe) {
  probe.refuse(probe.core, 0, CTPROF_DENIED, "closed", 6);
  probe.remedy(probe.core, 0, nullptr, 0, 77, "y", 1);
  probe.remedy(probe.core, 0, "lack", 4, 77, "y", 1);
}
void remedy_with_null_text(const ctprof_probe& probe) {
  probe.refuse(probe.core, 0, CTPROF_DENIED, "closed", 6);
  probe.remedy(probe.core, 0, nullptr, 9, CTPROF_REMEDY_COMMAND, nullptr, 9);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(remedy_test)

BOOST_AUTO_TEST_CASE(a_refusal_has_a_remedy_and_a_working_offer_its_lacks) {
  const Registry merged = make_registry({make_fake_plugin<RemedySource>("one")});
  const ProbedHost probed(merged, host_without_files());
  const ProbedOffer& refused = probed.find("one")->offers[0];
  BOOST_TEST(refused.reason == "the switch is off");
  BOOST_CHECK((refused.remedy == Remedy{CTPROF_REMEDY_COMMAND, "sysctl -w a.b=1"}));
  BOOST_TEST(refused.remaining_gaps.empty());
  const ProbedOffer& working = probed.find("two")->offers[0];
  BOOST_CHECK(working.refusal == Gap::None);
  BOOST_REQUIRE_EQUAL(working.remaining_gaps.size(), 2u);
  BOOST_TEST(working.remaining_gaps[0].description == "others are closed");
  BOOST_CHECK(
      (working.remaining_gaps[0].remedy == Remedy{CTPROF_REMEDY_CAPABILITIES, "cap_net_admin"}));
  BOOST_CHECK(working.remaining_gaps[1].remedy == Remedy{});
}

BOOST_AUTO_TEST_CASE(a_later_refusal_replaces_the_remedy) {
  const Registry merged = make_registry({make_fake_plugin<TwiceRefusingSource>("one")});
  const ProbedHost probed(merged, host_without_files());
  BOOST_TEST(probed.find("one")->offers[0].reason == "the file is missing");
  BOOST_CHECK(probed.find("one")->offers[0].remedy == Remedy{});
}

BOOST_AUTO_TEST_CASE(ignores_invalid_remedies) {
  BOOST_TEST(offer_of<&remedy_of_unknown_offer>().remaining_gaps.empty());
  BOOST_CHECK(offer_of<&remedy_without_refusal>().remedy == Remedy{});
  BOOST_CHECK(offer_of<&remedy_with_null_text>().remedy == Remedy{});
  const ProbedOffer later = offer_of<&remedy_of_unknown_kind>();
  BOOST_CHECK(later.remedy == Remedy{});
  BOOST_REQUIRE_EQUAL(later.remaining_gaps.size(), 1u);
  BOOST_CHECK(later.remaining_gaps[0].remedy == Remedy{});
}

// The struct of an older core ends before `remedy`, so reading that member would be out of bounds.
BOOST_AUTO_TEST_CASE(an_older_core_receives_only_refusals) {
  using RefusalTexts = std::map<std::uint32_t, std::string>;
  RefusalTexts refusals;
  ctprof_probe probe{};
  probe.size = offsetof(ctprof_probe, remedy);
  probe.core = &refusals;
  probe.refuse = [](void* core, std::uint32_t offer, ctprof_gap, const char* reason,
                    std::size_t size) {
    (*static_cast<RefusalTexts*>(core))[offer] = std::string(reason, size);
  };
  probe.remedy = [](void*, std::uint32_t, const char*, std::size_t, ctprof_remedy, const char*,
                    std::size_t) { BOOST_ERROR("a function was called that is not there"); };
  const ctprof_host host = host_without_files();
  make_fake_plugin<RemedySource>("one").sources[0].table.probe(&host, &probe);
  BOOST_TEST((refusals == RefusalTexts{{0, "the switch is off"}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remedy_test
