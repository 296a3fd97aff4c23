// Tests plugins that are opened ahead, while others are still loading, and their use by a session.

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/capture/capture.hpp"
#include "core/registry/loader.hpp"
#include "tests/unit/support/fake_plugins.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace early_opener_test {
using namespace ctprof;
using namespace ctprof::fake;

namespace {

namespace fs = std::filesystem;

std::string fixture_tree() { return fixture_path("6.18-schedstats-off"); }

// Context of a plugin. Counts its instances.
struct EarlyContext {
  static inline int open_count = 0, opened_total = 0;
  explicit EarlyContext(const sdk::Host&) { ++open_count, ++opened_total; }
  ~EarlyContext() { --open_count; }
  std::uint64_t answer = 42;
};
struct FailingEarlyContext {
  explicit FailingEarlyContext(const sdk::Host&) {
    throw std::runtime_error("the device is missing");
  }
};

// Fills a column with a value from the plugin's context.
struct EarlyContextSource : OfferingSource<kOne> {
  explicit EarlyContextSource(const sdk::Host& host)
      : OfferingSource(host), answer_(host.context<EarlyContext>().answer) {}
  void collect(const sdk::Batch& batch) {
    auto column = batch.column(kOne);
    for (const sdk::Thread thread : batch.threads()) column.put(thread, answer_);
  }
  std::uint64_t answer_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(early_opener_test)

BOOST_AUTO_TEST_CASE(a_session_uses_a_plugin_that_was_opened_ahead) {
  const int made = EarlyContext::opened_total;
  {
    EarlyOpener ahead(fixture_tree());
    ahead.open(fake::make_plugin_with_context<EarlyContext, EarlyContextSource>("keeper"));
    BOOST_TEST(EarlyContext::open_count == 1);
    const Registry registry = fake::make_registry(
        {fake::make_plugin_with_context<EarlyContext, EarlyContextSource>("keeper")});
    const auto snapshot =
        capture(registry, {.rootfs = fixture_tree(), .pids = {}, .metrics = {}, .jobs = 1}, nullptr,
                std::move(ahead));
    BOOST_REQUIRE(snapshot);
    BOOST_TEST(snapshot->tables[0].find("one")->u64()[0] == 42u);
    BOOST_TEST(EarlyContext::open_count == 0);
  }
  BOOST_TEST(EarlyContext::opened_total == made + 1);
  EarlyOpener(fixture_tree())
      .open(fake::make_plugin_with_context<EarlyContext, EarlyContextSource>("keeper"));
  BOOST_TEST(EarlyContext::opened_total == made + 2);
  BOOST_TEST(EarlyContext::open_count == 0);  // closed although no session used it
}

BOOST_AUTO_TEST_CASE(a_session_reports_why_opening_ahead_failed) {
  EarlyOpener ahead(fixture_tree());
  ahead.open(fake::make_plugin_with_context<FailingEarlyContext, OfferingSource<kOne>>("failing"));
  const Registry registry = fake::make_registry(
      {fake::make_plugin_with_context<FailingEarlyContext, OfferingSource<kOne>>("failing")});
  auto session = Session::open(
      registry, {.rootfs = fixture_tree(), .pids = {}, .metrics = {}, .jobs = 1}, std::move(ahead));
  BOOST_REQUIRE(session && session->begin());
  BOOST_TEST_REQUIRE(session->refusals().size() == 1u);
  BOOST_TEST(session->refusals()[0].reason == "the device is missing");
}

// Copies of plugins that no other test has loaded.
BOOST_AUTO_TEST_CASE(loads_slow_plugins_first) {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  const fs::path built = directory ? directory : ".";
  const fs::path plugin_directory =
      fs::temp_directory_path() / ("ctprof-session-ahead-" + std::to_string(::getpid()));
  if (!fs::exists(built / "task-iter.so")) {
    BOOST_TEST_MESSAGE("skipped: needs task-iter");
    return;
  }
  fs::create_directory(plugin_directory);
  for (const char* name : {"host.so", "task-iter.so"})
    fs::copy_file(built / name, plugin_directory / name, fs::copy_options::overwrite_existing);
  const auto is_loaded = [&](const char* name) {
    return ::dlopen((plugin_directory / name).c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  };
  const auto names_of = [&](std::optional<std::vector<std::string>> only) {
    std::string names;
    const auto note = [&](const Plugin& plugin) { names += "ahead " + plugin.name + ", "; };
    const auto loaded = load_plugins({.shipped_directory = plugin_directory,
                                      .directories = {},
                                      .selected_plugins = std::move(only),
                                      .on_early_plugin = note});
    for (const Plugin& plugin : loaded->plugins) names += plugin.name + " ";
    return names;
  };
  const auto check_loaded = [&](const Plugin&) {
    BOOST_TEST(is_loaded("task-iter.so"));
    BOOST_TEST(!is_loaded("host.so"));
  };
  BOOST_TEST(load_plugins({.shipped_directory = plugin_directory,
                           .directories = {},
                           .selected_plugins = {},
                           .on_early_plugin = check_loaded})
                 .has_value());
  BOOST_TEST(is_loaded("host.so"));
  BOOST_TEST(names_of(std::nullopt) == "ahead task-iter, host task-iter ");
  BOOST_TEST(names_of({{"host"}}) == "host ");
  fs::remove_all(plugin_directory);
}

// A copy of a plugin that no other test has loaded.
BOOST_AUTO_TEST_CASE(loads_recorders_only_for_recordings) {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  const fs::path built = directory ? directory : ".";
  const fs::path plugin_directory =
      fs::temp_directory_path() / ("ctprof-without-recorders-" + std::to_string(::getpid()));
  fs::create_directory(plugin_directory);
  for (const char* name : {"host.so", "on-cpu.so"})
    fs::copy_file(built / name, plugin_directory / name, fs::copy_options::overwrite_existing);
  const auto is_loaded = [&] {
    return ::dlopen((plugin_directory / "on-cpu.so").c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  };
  const auto names_of = [&](bool recorders, std::optional<std::vector<std::string>> only) {
    std::string names;
    const auto loaded = load_plugins({.shipped_directory = plugin_directory,
                                      .directories = {},
                                      .selected_plugins = std::move(only),
                                      .load_recorders = recorders});
    for (const Plugin& plugin : loaded->plugins) names += plugin.name + " ";
    return names;
  };
  BOOST_TEST(names_of(false, {}) == "host ");
  BOOST_TEST(!is_loaded());
  BOOST_TEST(names_of(false, {{"on-cpu"}}) == "on-cpu ");  // it is requested by name
  BOOST_TEST(names_of(true, {}) == "host on-cpu ");
  fs::remove_all(plugin_directory);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace early_opener_test
