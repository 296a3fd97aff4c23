// Tests the options of plugins (--set): which plugin accepts an option, and the messages for
// invalid ones.

#include <boost/test/unit_test.hpp>

#include "core/registry/loader.hpp"
#include "core/registry/probed_host.hpp"
#include "tests/unit/support/fake_plugins.hpp"

namespace settings_test {
using namespace ctprof;
using namespace ctprof::fake;

namespace {

constexpr std::array kOptions{sdk::option("depth", "16", "How deep it looks."),
                              sdk::option("file", nullptr, "Where it looks.")};

// Context that keeps its options. It fails to open if `depth` is "no".
struct OptionContext {
  explicit OptionContext(const sdk::Host& host)
      : depth(host.option(kOptions[0])), file(host.option(kOptions[1])) {
    if (depth == "no") throw std::runtime_error("depth 'no' is not a number");
    last = *this;
  }
  std::string depth, file;
  static inline struct {
    std::string depth, file;
    template <class From>
    void operator=(const From& from) {
      depth = from.depth;
      file = from.file;
    }
  } last;
};

Plugin with_options() {
  sdk::Extra extra = sdk::with_context<OptionContext>();
  extra.options = sdk::array_of(kOptions);
  const auto sources = sdk::SourceList<OfferingSource<kOne>>::make("deep");
  const ctprof_plugin table = sdk::make_plugin("deep", "1", "", sources, extra);
  Plugin made = read_plugin(table, sizeof table).value();
  made.path = "deep.so";
  made.is_shipped = true;
  return made;
}

std::string refusal(const std::string& setting) {
  std::vector plugins{with_options(), make_fake_plugin<OfferingSource<kTwo>>("plain")};
  const auto applied = apply_settings(plugins, std::vector{setting});
  return applied ? "" : applied.error().text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(settings_test)

BOOST_AUTO_TEST_CASE(passes_options_to_a_plugin) {
  std::vector plugins{with_options()};
  const std::vector<std::string> settings{"deep.depth=3", "deep.file=a=b.c", "deep.depth=4"};
  BOOST_REQUIRE(apply_settings(plugins, settings));
  const Registry merged = make_registry(std::move(plugins));
  const ProbedHost probed(merged, host_without_files());
  BOOST_TEST(OptionContext::last.depth == "4");
  BOOST_TEST(OptionContext::last.file == "a=b.c");
}

BOOST_AUTO_TEST_CASE(uses_fallbacks_for_missing_options) {
  const Registry merged = make_registry({with_options()});
  const ProbedHost probed(merged, host_without_files());
  BOOST_TEST(OptionContext::last.depth == "16");
  BOOST_TEST(OptionContext::last.file == "");
  // A ctprof version without options passes none.
  BOOST_TEST(sdk::Host(host_without_files()).option(kOptions[0]) == "16");
}

BOOST_AUTO_TEST_CASE(a_plugin_can_refuse_a_value) {
  std::vector plugins{with_options()};
  BOOST_REQUIRE(apply_settings(plugins, std::vector<std::string>{"deep.depth=no"}));
  const Registry merged = make_registry(std::move(plugins));
  const ProbedHost probed(merged, host_without_files());
  BOOST_REQUIRE_EQUAL(probed.failures().size(), 1u);
  BOOST_TEST(probed.failures()[0].reason == "depth 'no' is not a number");
}

BOOST_AUTO_TEST_CASE(refuses_unknown_options) {
  BOOST_TEST(refusal("deep.width=3") ==
             "--set: plugin 'deep' has no option 'width'; it has depth, file");
  BOOST_TEST(refusal("plain.depth=3") ==
             "--set: plugin 'plain' has no option 'depth'; it has none");
  BOOST_TEST(refusal("dep.depth=3") == "--set: no plugin 'dep' is loaded (did you mean 'deep'?)");
  for (const char* setting : {"deep", "deep.depth", "depth=3", ""})
    BOOST_TEST(refusal(setting) == "--set '" + std::string(setting) + "': write PLUGIN.KEY=VALUE");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace settings_test
