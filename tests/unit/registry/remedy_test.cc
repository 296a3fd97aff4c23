// Tests the transfer of remedies from a source to the registry, and to an older core.

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <map>
#include <string>

#include "core/registry/probed.hpp"
#include "tests/unit/support/fake_plugins.hpp"

namespace remedy_test {
using namespace ctprof;
using namespace ctprof::fake;

namespace {

// Offers two metrics. It refuses the first and reports what the second lacks.
struct Advises : Offers<kOne> {
  static constexpr auto kOffers = sdk::offers(kOne, kTwo);
  static void probe(const sdk::Host&, const sdk::Probe& probe) {
    probe.refuse(kOne, Gap::SwitchedOff, "the switch is off", sdk::by_command("sysctl -w a.b=1"));
    probe.lacks(kTwo, "others are closed", sdk::by_capabilities("cap_net_admin"));
    probe.lacks(kTwo, "the young alone are counted");
  }
  using Offers::Offers;
};

// Refuses twice; the second refusal has no remedy.
struct Wavers : Offers<kOne> {
  static void probe(const sdk::Host&, const sdk::Probe& probe) {
    probe.refuse_all(Gap::Denied, "it is closed", sdk::by_boot("open=1"));
    probe.refuse_all(Gap::Unsupported, "it is not there");
  }
  using Offers::Offers;
};

// Returns the offer of a plugin whose probe function calls the core through the C ABI.
template <void (*Speak)(const ctprof_probe&)>
ProbedOffer offer_of() {
  Plugin made = plugin<Offers<kOne>>("byhand");
  made.sources[0].table.probe = [](const ctprof_host*, const ctprof_probe* probe) {
    Speak(*probe);
  };
  const Registry merged = registry({made});
  const Probed probed(merged, no_host());
  return probed.find("one")->offers[0];
}

void out_of_range(const ctprof_probe& probe) {
  probe.remedy(probe.core, 1, "x", 1, CTPROF_REMEDY_BOOT, "y", 1);
}
void of_no_refusal(const ctprof_probe& probe) {
  probe.remedy(probe.core, 0, nullptr, 0, CTPROF_REMEDY_BOOT, "y", 1);
}
void of_a_kind_to_come(const ctprof_probe& probe) {
  probe.refuse(probe.core, 0, CTPROF_DENIED, "closed", 6);
  probe.remedy(probe.core, 0, nullptr, 0, 77, "y", 1);
  probe.remedy(probe.core, 0, "lack", 4, 77, "y", 1);
}
void of_nulls(const ctprof_probe& probe) {
  probe.refuse(probe.core, 0, CTPROF_DENIED, "closed", 6);
  probe.remedy(probe.core, 0, nullptr, 9, CTPROF_REMEDY_COMMAND, nullptr, 9);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(remedy_test)

BOOST_AUTO_TEST_CASE(a_refusal_has_a_remedy_and_a_working_offer_its_lacks) {
  const Registry merged = registry({plugin<Advises>("one")});
  const Probed probed(merged, no_host());
  const ProbedOffer& refused = probed.find("one")->offers[0];
  BOOST_TEST(refused.reason == "the switch is off");
  BOOST_CHECK((refused.remedy == Remedy{CTPROF_REMEDY_COMMAND, "sysctl -w a.b=1"}));
  BOOST_TEST(refused.lacks.empty());
  const ProbedOffer& stands = probed.find("two")->offers[0];
  BOOST_CHECK(stands.verdict == Gap::None);
  BOOST_REQUIRE_EQUAL(stands.lacks.size(), 2u);
  BOOST_TEST(stands.lacks[0].sentence == "others are closed");
  BOOST_CHECK((stands.lacks[0].remedy == Remedy{CTPROF_REMEDY_CAPABILITIES, "cap_net_admin"}));
  BOOST_CHECK(stands.lacks[1].remedy == Remedy{});
}

BOOST_AUTO_TEST_CASE(a_later_refusal_replaces_the_remedy) {
  const Registry merged = registry({plugin<Wavers>("one")});
  const Probed probed(merged, no_host());
  BOOST_TEST(probed.find("one")->offers[0].reason == "it is not there");
  BOOST_CHECK(probed.find("one")->offers[0].remedy == Remedy{});
}

BOOST_AUTO_TEST_CASE(ignores_invalid_remedies) {
  BOOST_TEST(offer_of<&out_of_range>().lacks.empty());
  BOOST_CHECK(offer_of<&of_no_refusal>().remedy == Remedy{});
  BOOST_CHECK(offer_of<&of_nulls>().remedy == Remedy{});
  const ProbedOffer later = offer_of<&of_a_kind_to_come>();
  BOOST_CHECK(later.remedy == Remedy{});
  BOOST_REQUIRE_EQUAL(later.lacks.size(), 1u);
  BOOST_CHECK(later.lacks[0].remedy == Remedy{});
}

// The struct of an older core ends before `remedy`, so reading that member would be out of bounds.
BOOST_AUTO_TEST_CASE(an_older_core_receives_only_refusals) {
  using Heard = std::map<std::uint32_t, std::string>;
  Heard heard;
  ctprof_probe probe{};
  probe.size = offsetof(ctprof_probe, remedy);
  probe.core = &heard;
  probe.refuse = [](void* core, std::uint32_t offer, ctprof_gap, const char* reason,
                    std::size_t size) {
    (*static_cast<Heard*>(core))[offer] = std::string(reason, size);
  };
  probe.remedy = [](void*, std::uint32_t, const char*, std::size_t, ctprof_remedy, const char*,
                    std::size_t) { BOOST_ERROR("a function was called that is not there"); };
  const ctprof_host host = no_host();
  plugin<Advises>("one").sources[0].table.probe(&host, &probe);
  BOOST_TEST((heard == Heard{{0, "the switch is off"}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remedy_test
