// The small pieces of a capture: stat, cgroup files, CPU lists, rows that follow from
// threads.

#define BOOST_TEST_MODULE capture_pieces
#include <boost/test/unit_test.hpp>

#include <numeric>
#include <string>
#include <vector>

#include "core/capture/identity_reader.hpp"
#include "core/registry/identity.hpp"

using namespace ctprof;

BOOST_AUTO_TEST_CASE(stat_with_a_hostile_name) {
  const auto identity = parse_stat_identity(
      "184 (a b) S (c) S 1 0 0 0 -1 4194368 0 0 0 0 0 0 0 0 20 0 23 0 352 252850176 221 "
      "18446744073709551615 0 0 0 0 0\n");
  BOOST_REQUIRE(identity);
  BOOST_TEST(identity->comm == "a b) S (c");
  BOOST_TEST(identity->start_time == 352u);
}

BOOST_AUTO_TEST_CASE(names_keep_their_blanks) {
  const auto named = [](const std::string& name, const std::string& flags) {
    const std::string text =
        "7 (" + name + ") S 1 0 0 0 -1 " + flags + " 0 0 0 0 0 0 0 0 20 0 1 0 352 0\n";
    const auto identity = parse_stat_identity(text);
    return identity ? std::string(identity->comm) : "none";
  };
  for (const std::string name : {" a", "a ", "\r\r\r", "\t", "\t\t", " ", "x\ny\n", ""})
    BOOST_TEST(named(name, "4194368") == name);
  // PF_WQ_WORKER is among the flags of the kernel's own workers alone.
  for (const std::string name : {"kworker/0:1-events", "kworker/0:1+events", "kworker/0:1"})
    BOOST_TEST(named(name, "69239136") == "kworker/0:1");
  BOOST_TEST(named("kworker/u8:0-events_unbound", "69239136") == "kworker/u8:0");
  BOOST_TEST(named("kworker/R-nfsiod", "69239136") == "kworker/R-nfsiod");
  BOOST_TEST(named("kworker/0:1-mine", "4194368") == "kworker/0:1-mine");
}

BOOST_AUTO_TEST_CASE(stat_that_is_none) {
  BOOST_TEST(!parse_stat_identity(""));
  BOOST_TEST(!parse_stat_identity("12 no parentheses S 1"));
  BOOST_TEST(!parse_stat_identity("12 (short) S 1 2 3"));
  BOOST_TEST(!parse_stat_identity("12 )x( S 1 0 0 0 -1 4194368 0 0 0 0 0 0 0 0 20 0 23 0 352 1"));
}

BOOST_AUTO_TEST_CASE(cgroup_of_a_hybrid_host) {
  BOOST_TEST(*parse_cgroup_path("9:name=systemd:/\n2:cpu:/x\n0::/a b/c\n") == "/a b/c");
  BOOST_TEST(*parse_cgroup_path("0::/../..\n") == "/../..");
  BOOST_TEST(!parse_cgroup_path("2:cpu:/x\n"));
}

BOOST_AUTO_TEST_CASE(cgroups_and_their_ancestors) {
  Snapshot snapshot;
  snapshot.threads().rows = 3;
  Column& cgroup = snapshot.threads().add(identity_metric(kCgroup), Gap::None);
  std::size_t row = 0;
  for (const char* path : {"/a/b/c", "/a", "/a/b/c"})
    cgroup.ids()[row++] = snapshot.pools->texts.intern(path);
  add_cgroup_rows(snapshot);
  const Column& paths = *snapshot.table(Entity::Cgroup).find(kCgroupPath);
  std::vector<std::string> found;
  for (const Id id : paths.ids()) found.emplace_back(snapshot.pools->texts[id]);
  BOOST_TEST(found == (std::vector<std::string>{"/", "/a", "/a/b", "/a/b/c"}),
             boost::test_tools::per_element());
}
