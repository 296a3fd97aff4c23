// Tests small parts of a capture: stat, cgroup files, CPU lists, and rows of other entities that
// are derived from threads.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/capture/identity_reader.hpp"
#include "core/capture/meta.hpp"
#include "core/registry/identity.hpp"

namespace capture_pieces_test {
using namespace ctprof;

BOOST_AUTO_TEST_SUITE(capture_pieces_test)

BOOST_AUTO_TEST_CASE(parses_stat_with_parentheses_in_the_name) {
  const auto identity = parse_stat_identity(
      "184 (a b) S (c) S 17 0 0 0 -1 4194368 0 0 0 0 0 0 0 0 20 0 23 0 352 252850176 221 "
      "18446744073709551615 0 0 0 0 0\n");
  BOOST_REQUIRE(identity);
  BOOST_TEST(identity->comm == "a b) S (c");
  BOOST_TEST(identity->start_time == 352u);
  BOOST_TEST(identity->parent == 17u);
  BOOST_TEST(!identity->kernel_thread);
  BOOST_TEST(parse_stat_identity("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0\n")
                 ->kernel_thread);
}

BOOST_AUTO_TEST_CASE(names_keep_leading_and_trailing_blanks) {
  const auto named = [](const std::string& name, const std::string& flags) {
    const std::string text =
        "7 (" + name + ") S 1 0 0 0 -1 " + flags + " 0 0 0 0 0 0 0 0 20 0 1 0 352 0\n";
    const auto identity = parse_stat_identity(text);
    return identity ? std::string(identity->comm) : "none";
  };
  for (const std::string name : {" a", "a ", "\r\r\r", "\t", "\t\t", " ", "x\ny\n", ""})
    BOOST_TEST(named(name, "4194368") == name);
  // Only the kernel's own workers have the flag PF_WQ_WORKER.
  for (const std::string name : {"kworker/0:1-events", "kworker/0:1+events", "kworker/0:1"})
    BOOST_TEST(named(name, "69239136") == "kworker/0:1");
  BOOST_TEST(named("kworker/u8:0-events_unbound", "69239136") == "kworker/u8:0");
  BOOST_TEST(named("kworker/R-nfsiod", "69239136") == "kworker/R-nfsiod");
  BOOST_TEST(named("kworker/0:1-mine", "4194368") == "kworker/0:1-mine");
}

BOOST_AUTO_TEST_CASE(rejects_malformed_stat) {
  BOOST_TEST(!parse_stat_identity(""));
  BOOST_TEST(!parse_stat_identity("12 no parentheses S 1"));
  BOOST_TEST(!parse_stat_identity("12 (short) S 1 2 3"));
  BOOST_TEST(!parse_stat_identity("12 )x( S 1 0 0 0 -1 4194368 0 0 0 0 0 0 0 0 20 0 23 0 352 1"));
}

BOOST_AUTO_TEST_CASE(finds_the_v2_cgroup_on_a_hybrid_host) {
  BOOST_TEST(*parse_cgroup_path("9:name=systemd:/\n2:cpu:/x\n0::/a b/c\n") == "/a b/c");
  BOOST_TEST(*parse_cgroup_path("0::/../..\n") == "/../..");
  BOOST_TEST(!parse_cgroup_path("2:cpu:/x\n"));
}

BOOST_AUTO_TEST_CASE(compares_cgroup_paths_by_component) {
  BOOST_TEST(is_below("/a", "/a"));
  BOOST_TEST(is_below("/a/b", "/a"));
  BOOST_TEST(is_below("/", "/"));
  BOOST_TEST(is_below("/a", "/"));
  BOOST_TEST(!is_below("/ab", "/a"));
  BOOST_TEST(!is_below("/", "/a"));
}

HostState host_state_at(std::uint64_t wall, std::uint64_t boot, std::uint64_t monotonic) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return {{wall * kSecond, boot * kSecond}, monotonic * kSecond, {{0, 5}, {1, 6}}};
}

BOOST_AUTO_TEST_CASE(reports_no_change_of_an_unchanged_host) {
  HostState after = host_state_at(110, 20, 20);
  after.now.wall_unix_ns += 900'000;  // the clocks are read one after the other
  BOOST_TEST(describe_changes(host_state_at(100, 10, 10), after).empty());
}

BOOST_AUTO_TEST_CASE(reports_clock_changes_and_suspend) {
  using Texts = std::vector<std::string>;
  BOOST_TEST(describe_changes(host_state_at(100, 10, 10), host_state_at(113, 20, 20)) ==
                 Texts{"the clock was set forward by 3.000 s"},
             boost::test_tools::per_element());
  BOOST_TEST(describe_changes(host_state_at(100, 10, 10), host_state_at(10, 20, 20)) ==
                 Texts{"the clock was set back by 100.000 s"},
             boost::test_tools::per_element());
  BOOST_TEST(describe_changes(host_state_at(100, 10, 10), host_state_at(110, 20, 13)) ==
                 Texts{"the host was suspended for 7.000 s"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(reports_cpus_that_went_on_and_offline) {
  using Texts = std::vector<std::string>;
  HostState before = host_state_at(100, 10, 10), after = host_state_at(110, 20, 20);
  before.cpus = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
  after.cpus = {{0, 1}, {1, 9}, {4, 5}, {7, 8}};
  BOOST_TEST(
      describe_changes(before, after) == (Texts{"CPUs 2 and 3 went offline", "CPU 7 came online",
                                                "CPU 1 went offline and came back"}),
      boost::test_tools::per_element());
  before.cpus.clear();
  for (unsigned cpu = 0; cpu < 200; ++cpu) before.cpus[cpu] = cpu;
  after.cpus = {};
  BOOST_TEST(describe_changes(before, after) ==
                 Texts{"CPUs 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 184 others "
                       "went offline"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(reads_cpus_and_clocks_of_this_host) {
  const auto roots = open_roots("");
  BOOST_REQUIRE(roots);
  const std::uint64_t earlier_ns = monotonic_ns();
  const HostState state = read_host_state(*roots);
  BOOST_TEST(state.monotonic_ns >= earlier_ns);
  BOOST_TEST(state.monotonic_ns <= monotonic_ns());
  BOOST_TEST(state.cpus.size() == static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  // If two clocks are read at very different times, the wall clock appears to have been set.
  HostState later = read_host_state(*roots);
  later.now = state.now;
  later.monotonic_ns = state.monotonic_ns;
  BOOST_TEST(describe_changes(state, later).empty());
}

BOOST_AUTO_TEST_CASE(lists_cgroups_of_threads_and_their_ancestors) {
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

// A directory tree that the core reads as a cgroup hierarchy.
constexpr std::uint64_t kNoLimit = UINT64_MAX / 2;  // time limit in ns

struct CgroupTree {
  CgroupTree() {
    std::filesystem::create_directories(top);
    roots.is_live = true;
    roots.cgroup_root = "/";
    roots.cgroup_fd = sdk::Fd(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~CgroupTree() { std::filesystem::remove_all(top); }

  std::string top = "cgroups." + std::to_string(::getpid());
  Roots roots;
};

BOOST_FIXTURE_TEST_CASE(lists_cgroups_without_threads, CgroupTree) {
  std::filesystem::create_directories(top + "/a/b");
  std::filesystem::create_directories(top + "/c");
  std::ofstream(top + "/a/cpu.stat") << "usage_usec 1\n";
  const CgroupList list = list_cgroups(roots, kMaxCgroups, kNoLimit);
  BOOST_TEST(list.is_complete);
  Snapshot snapshot;
  snapshot.threads().rows = 2;
  Column& cgroup = snapshot.threads().add(identity_metric(kCgroup), Gap::None);
  cgroup.ids()[0] = snapshot.pools->texts.intern("/a");
  cgroup.ids()[1] = snapshot.pools->texts.intern("/gone (deleted)");
  add_cgroup_rows(snapshot, list);
  const Table& table = snapshot.table(Entity::Cgroup);
  struct stat status {};
  BOOST_REQUIRE(::stat((top + "/a/b").c_str(), &status) == 0);
  std::vector<std::string> found;
  for (const Id id : table.find(kCgroupPath)->ids()) found.emplace_back(snapshot.pools->texts[id]);
  BOOST_TEST(found == (std::vector<std::string>{"/", "/a", "/a/b", "/c", "/gone (deleted)"}),
             boost::test_tools::per_element());
  BOOST_TEST(table.find(kCgroupId)->u64()[2] == status.st_ino);
  BOOST_TEST(name(table.find(kCgroupId)->gap(4)) == "ThreadGone");
}

BOOST_FIXTURE_TEST_CASE(lists_cgroups_below_a_namespace_root, CgroupTree) {
  std::filesystem::create_directories(top + "/b");
  roots.cgroup_root = "/a";
  const CgroupList list = list_cgroups(roots, kMaxCgroups, kNoLimit);
  BOOST_REQUIRE(list.entries.size() == 2u);
  BOOST_TEST(list.entries[0].path == "/a");
  BOOST_TEST(list.entries[1].path == "/a/b");
  roots.cgroup_root = "/..";
  BOOST_TEST(list_cgroups(roots, kMaxCgroups, kNoLimit).entries.empty());
}

BOOST_FIXTURE_TEST_CASE(finds_a_cgroup_by_its_path, CgroupTree) {
  std::filesystem::create_directories(top + "/a/b");
  struct stat status {};
  BOOST_REQUIRE(::stat((top + "/a/b").c_str(), &status) == 0);
  for (const char* path : {"/a/b", "/a/b/", "//a//b"}) {
    const auto id = find_cgroup(roots, path);
    BOOST_REQUIRE(id.has_value());
    BOOST_TEST(*id == status.st_ino);
  }
  BOOST_TEST(find_cgroup(roots, "/a/c").error().text ==
             "looking for cgroup '/a/c': No such file or directory");
  roots.is_live = false;
  BOOST_TEST(*find_cgroup(roots, "/a/b") == 0u);
  BOOST_TEST(!find_cgroup(roots, "/a/c").has_value());
}

// The error would reveal whether files exist that only the capabilities of ctprof can see.
BOOST_FIXTURE_TEST_CASE(finds_no_cgroup_through_links_or_parents, CgroupTree) {
  std::filesystem::create_directories(top + "/a/b");
  std::filesystem::create_directory_symlink("a", top + "/link");
  for (const char* path : {"/link", "/link/b", "/link/none"})
    BOOST_TEST(find_cgroup(roots, path).error().text.ends_with("Not a directory"), path);
  for (const char* path : {"/..", "/a/../a",
                           "/a/../../"
                           "none"})
    BOOST_TEST(find_cgroup(roots, path).error().text.ends_with("Invalid argument"), path);
}

BOOST_FIXTURE_TEST_CASE(finds_cgroups_only_in_the_part_that_is_mounted, CgroupTree) {
  std::filesystem::create_directories(top + "/b");
  roots.cgroup_root = "/a";
  BOOST_TEST(*find_cgroup(roots, "/a/b") != 0u);
  BOOST_TEST(*find_cgroup(roots, "/ab") == 0u);
  BOOST_TEST(*find_cgroup(roots, "/a/none") == 0u);
}

// Shallow cgroups are listed first, so a user who creates many deep cgroups cannot hide others.
BOOST_FIXTURE_TEST_CASE(limits_the_number_of_listed_cgroups, CgroupTree) {
  for (int number = 0; number < 300; ++number)
    std::filesystem::create_directories(top + "/a/user/" + std::to_string(number));
  std::filesystem::create_directories(top + "/z");
  std::string deep = top + "/z/y";
  for (int level = 0; level < 900; ++level) deep += "/d";
  std::filesystem::create_directories(deep);
  const CgroupList list = list_cgroups(roots, 100, kNoLimit);
  BOOST_TEST(!list.is_complete);
  BOOST_TEST(list.entries.size() == 100u);
  const auto has = [&](std::string_view path) {
    return std::ranges::count(list.entries, path, &CgroupList::Entry::path) == 1;
  };
  BOOST_TEST(has("/z"));
  BOOST_TEST(has("/z/y"));
  BOOST_TEST(!list_cgroups(roots, 100'000, 0).is_complete);
  const CgroupList all = list_cgroups(roots, 100'000, kNoLimit);
  BOOST_TEST(all.is_complete);
  BOOST_TEST(all.entries.size() == 1205u);
}

// An incomplete list has no ids, because an absent cgroup may have existed before.
BOOST_AUTO_TEST_CASE(an_incomplete_list_has_no_cgroup_ids) {
  Snapshot snapshot;
  snapshot.threads().add(identity_metric(kCgroup), Gap::None);
  add_cgroup_rows(snapshot, {{{"/", 1}, {"/a", 2}}, false});
  BOOST_TEST(snapshot.table(Entity::Cgroup).rows == 2u);
  BOOST_TEST(!snapshot.table(Entity::Cgroup).find(kCgroupId));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace capture_pieces_test
