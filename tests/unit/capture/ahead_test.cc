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

namespace ahead_test {
using namespace ctprof;
using namespace ctprof::fake;

namespace {

namespace fs = std::filesystem;

std::string tree() { return fixture("6.18-schedstats-off"); }

// Context of a plugin. Counts its instances.
struct Kept {
  static inline int alive = 0, made = 0;
  explicit Kept(const sdk::Host&) { ++alive, ++made; }
  ~Kept() { --alive; }
  std::uint64_t answer = 42;
};
struct Refuses {
  explicit Refuses(const sdk::Host&) { throw std::runtime_error("the device is missing"); }
};

// Fills a column with a value from the plugin's context.
struct Asks : Offers<kOne> {
  explicit Asks(const sdk::Host& host) : Offers(host), answer_(host.context<Kept>().answer) {}
  void collect(const sdk::Batch& batch) {
    auto column = batch.column(kOne);
    for (const sdk::Thread thread : batch.threads()) column.put(thread, answer_);
  }
  std::uint64_t answer_;
};

template <class Context, class Source>
Plugin keeping(const char* name) {
  static const auto sources = sdk::SourceList<Source>::make("keeper");
  const ctprof_plugin table =
      sdk::make_plugin(name, "1", "", sources, sdk::with_context<Context>());
  Plugin made = read_plugin(table, sizeof table).value();
  made.shipped = true;
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ahead_test)

BOOST_AUTO_TEST_CASE(a_session_uses_a_plugin_that_was_opened_ahead) {
  const int made = Kept::made;
  {
    Ahead ahead(tree());
    ahead.open(keeping<Kept, Asks>("keeper"));
    BOOST_TEST(Kept::alive == 1);
    const Registry registry = fake::registry({keeping<Kept, Asks>("keeper")});
    const auto snapshot =
        capture(registry, {.rootfs = tree(), .pids = {}, .metrics = {}, .jobs = 1}, nullptr,
                std::move(ahead));
    BOOST_REQUIRE(snapshot);
    BOOST_TEST(snapshot->tables[0].find("one")->u64()[0] == 42u);
    BOOST_TEST(Kept::alive == 0);
  }
  BOOST_TEST(Kept::made == made + 1);
  Ahead(tree()).open(keeping<Kept, Asks>("keeper"));
  BOOST_TEST(Kept::made == made + 2);
  BOOST_TEST(Kept::alive == 0);  // closed although no session used it
}

BOOST_AUTO_TEST_CASE(a_session_reports_why_opening_ahead_failed) {
  Ahead ahead(tree());
  ahead.open(keeping<Refuses, Offers<kOne>>("failing"));
  const Registry registry = fake::registry({keeping<Refuses, Offers<kOne>>("failing")});
  auto session = Session::open(registry, {.rootfs = tree(), .pids = {}, .metrics = {}, .jobs = 1},
                               std::move(ahead));
  BOOST_REQUIRE(session && session->begin());
  BOOST_TEST_REQUIRE(session->refused().size() == 1u);
  BOOST_TEST(session->refused()[0].reason == "the device is missing");
}

// Copies of plugins that no other test has loaded.
BOOST_AUTO_TEST_CASE(loads_slow_plugins_first) {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  const fs::path built = directory ? directory : ".";
  const fs::path room =
      fs::temp_directory_path() / ("ctprof-session-ahead-" + std::to_string(::getpid()));
  if (!fs::exists(built / "task-iter.so")) {
    BOOST_TEST_MESSAGE("skipped: needs task-iter");
    return;
  }
  fs::create_directory(room);
  for (const char* name : {"host.so", "task-iter.so"})
    fs::copy_file(built / name, room / name, fs::copy_options::overwrite_existing);
  const auto is_loaded = [&](const char* name) {
    return ::dlopen((room / name).c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  };
  const auto names_of = [&](std::optional<std::vector<std::string>> only) {
    std::string names;
    const auto note = [&](const Plugin& plugin) { names += "ahead " + plugin.name + ", "; };
    const auto loaded = load_plugins(
        {.own_directory = room, .directories = {}, .only = std::move(only), .ahead = note});
    for (const Plugin& plugin : loaded->plugins) names += plugin.name + " ";
    return names;
  };
  const auto look = [&](const Plugin&) {
    BOOST_TEST(is_loaded("task-iter.so"));
    BOOST_TEST(!is_loaded("host.so"));
  };
  BOOST_TEST(load_plugins({.own_directory = room, .directories = {}, .only = {}, .ahead = look})
                 .has_value());
  BOOST_TEST(is_loaded("host.so"));
  BOOST_TEST(names_of(std::nullopt) == "ahead task-iter, host task-iter ");
  BOOST_TEST(names_of({{"host"}}) == "host ");
  fs::remove_all(room);
}

// A copy of a plugin that no other test has loaded.
BOOST_AUTO_TEST_CASE(loads_recorders_only_for_recordings) {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  const fs::path built = directory ? directory : ".";
  const fs::path room =
      fs::temp_directory_path() / ("ctprof-without-recorders-" + std::to_string(::getpid()));
  fs::create_directory(room);
  for (const char* name : {"host.so", "on-cpu.so"})
    fs::copy_file(built / name, room / name, fs::copy_options::overwrite_existing);
  const auto is_loaded = [&] {
    return ::dlopen((room / "on-cpu.so").c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  };
  const auto names_of = [&](bool recorders, std::optional<std::vector<std::string>> only) {
    std::string names;
    const auto loaded = load_plugins({.own_directory = room,
                                      .directories = {},
                                      .only = std::move(only),
                                      .recorders = recorders});
    for (const Plugin& plugin : loaded->plugins) names += plugin.name + " ";
    return names;
  };
  BOOST_TEST(names_of(false, {}) == "host ");
  BOOST_TEST(!is_loaded());
  BOOST_TEST(names_of(false, {{"on-cpu"}}) == "on-cpu ");  // it is requested by name
  BOOST_TEST(names_of(true, {}) == "host on-cpu ");
  fs::remove_all(room);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ahead_test
