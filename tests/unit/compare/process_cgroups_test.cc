// Tests groups of processes with the same name in different cgroups, and their names.

#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/compare/grouping/grouping.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::process_cgroups_test {
namespace {

using namespace hand_made;
using Names = std::vector<std::string>;

// A thread of a window.
struct Row {
  std::uint64_t tgid, tid;
  std::string name;
  std::optional<std::string> cgroup;
  bool has_started = false;  // inside the window
};

Snapshot rows_of(const std::vector<Row>& all) {
  std::vector<Thread> threads;
  Cells<std::string> cgroups;
  for (const Row& row : all) {
    threads.push_back({row.tgid, row.tid, row.name, row.name});
    cgroups.push_back(row.cgroup);
  }
  Snapshot snapshot = snapshot_of(threads);
  add_text(snapshot, identity_metric(kCgroup), cgroups);
  return snapshot;
}

using Window = std::vector<Row>;

Snapshot make_window_of(const Window& all) {
  Snapshot window = rows_of(all);
  window.window.emplace().living_threads = all.size();
  auto& started = window.window->openings[static_cast<std::size_t>(Entity::Thread)].started;
  for (const Row& row : all) started.push_back(row.has_started);
  return window;
}

Spec divided_spec() { return Spec{.divides_by_cgroup = true}; }

struct Groups {
  Grouping grouping;
  std::vector<Names> of_threads;  // by window: the group of each thread
};
Groups groups_of(const std::vector<Window>& windows, const Spec& spec = divided_spec()) {
  RowGrouper grouper(spec);
  std::vector<RowGroups> rows;
  std::vector<const RunGroups*> runs;
  for (const Window& window : windows) rows.push_back(grouper.add(make_window_of(window)));
  for (const RowGroups& run : rows) runs.push_back(&run.groups);
  Groups found{join(grouper, runs, spec.group_by), {}};
  for (std::size_t run = 0; run < rows.size(); ++run) {
    Names& names = found.of_threads.emplace_back();
    for (const std::uint32_t group : found.grouping.runs[run].groups_of(
             rows[run].group_of_row[static_cast<std::size_t>(Entity::Thread)]))
      names.push_back(group == kNoGroup ? "-" : found.grouping.names[group]);
  }
  return found;
}
Names names_of(const std::vector<Window>& windows, const Spec& spec = divided_spec()) {
  return groups_of(windows, spec).grouping.names;
}

const std::string kA = "/system.slice/a.service", kB = "/system.slice/b.service";

BOOST_AUTO_TEST_SUITE(process_cgroups_test)

BOOST_AUTO_TEST_CASE(divides_a_name_only_where_a_window_has_it_in_two_cgroups) {
  const Window two{{10, 10, "web", kA}, {11, 11, "web", kB}, {12, 12, "cron", kA}};
  BOOST_TEST(names_of({two}) == (Names{"cron", "web (a.service)", "web (b.service)"}),
             boost::test_tools::per_element());
  const Window in_a{{10, 10, "web", kA}}, in_b{{10, 10, "web", kB}};
  BOOST_TEST(names_of({in_a, in_b}) == (Names{"web"}), boost::test_tools::per_element());
  BOOST_TEST(names_of({two, in_b}) == (Names{"cron", "web (a.service)", "web (b.service)"}),
             boost::test_tools::per_element());
  BOOST_TEST(names_of({two}, Spec{}) == (Names{"cron", "web"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keeps_names_of_snapshots_undivided) {
  RowGrouper grouper(divided_spec());
  grouper.add(rows_of({{10, 10, "web", kA}, {11, 11, "web", kB}}));
  const Names keys = grouper.keys();
  BOOST_TEST(keys == (Names{"web"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keeps_one_group_where_a_window_lacks_the_cgroup) {
  const Window known{{10, 10, "web", kA}, {11, 11, "web", kB}},
      unknown{{10, 10, "web", {}}, {11, 11, "web", {}}};
  BOOST_TEST(names_of({unknown}) == (Names{"web"}), boost::test_tools::per_element());
  BOOST_TEST(names_of({known, unknown}) == (Names{"web"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(moves_processes_without_a_cgroup_to_the_only_one) {
  const Groups one = groups_of({Window{{10, 10, "web", kA}, {11, 11, "web", {}}}});
  BOOST_TEST(one.grouping.names == (Names{"web"}), boost::test_tools::per_element());
  const Groups two =
      groups_of({Window{{10, 10, "web", kA}, {11, 11, "web", kB}, {12, 12, "web", {}}}});
  BOOST_TEST(two.of_threads[0] == (Names{"web (a.service)", "web (b.service)", "web"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_process_is_in_the_cgroup_of_its_leader) {
  const Groups groups =
      groups_of({Window{{10, 10, "web", kA}, {10, 11, "web", kA + "/pool"}, {20, 20, "web", kB}}});
  BOOST_TEST(
      groups.of_threads[0] == (Names{"web (a.service)", "web (a.service)", "web (b.service)"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(distinguishes_numbered_cgroups_only_where_all_windows_have_them) {
  const auto web = [](int a, int b, bool has_started = false) {
    return Window{{10, 10, "web", "/web" + std::to_string(a) + ".service"},
                  {11, 11, "web", "/web" + std::to_string(b) + ".service", has_started}};
  };
  BOOST_TEST(names_of({web(1, 2)}) == (Names{"web (web1.service)", "web (web2.service)"}),
             boost::test_tools::per_element());
  BOOST_TEST(names_of({web(1, 2), web(3, 4)}) == (Names{"web"}), boost::test_tools::per_element());
  // The third and the fourth are the same group: one replaced the other.
  BOOST_TEST(
      names_of({web(1, 3), web(1, 4)}) == (Names{"web (web1.service)", "web (web{N}.service)"}),
      boost::test_tools::per_element());
  // A cgroup that started inside the window.
  BOOST_TEST(names_of({web(1, 2, true)}) == (Names{"web (web1.service)", "web (web2.service)"}),
             boost::test_tools::per_element());
  const Window storm{{10, 10, "web", "/web1.service", true},
                     {11, 11, "web", "/web2.service", true},
                     {12, 12, "web", "/web3.service", true}};
  BOOST_TEST(names_of({storm}) == (Names{"web"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(merges_cgroups_that_the_user_flattens) {
  Spec spec = divided_spec();
  spec.cgroups.flatten_globs.push_back(*PathGlob::parse("/system.slice/*"));
  BOOST_TEST(names_of({Window{{10, 10, "web", kA}, {11, 11, "web", kB}}}, spec) == (Names{"web"}),
             boost::test_tools::per_element());
}

// Gauges of processes that exited are compared with those of their group.
BOOST_AUTO_TEST_CASE(rows_of_the_opening_stay_in_an_undivided_group) {
  Snapshot window = make_window_of({{10, 10, "web", kA}, {12, 12, "db", kA}, {13, 13, "db", kB}});
  window.window->opening_only =
      std::make_shared<Snapshot>(rows_of({{11, 11, "web", kB}, {14, 14, "db", kB}}));
  RowGrouper grouper(divided_spec());
  const RowGroups rows = grouper.add(window);
  const Names keys = grouper.keys();
  Names found;
  for (const std::uint32_t group :
       rows.group_of_opening_row[static_cast<std::size_t>(Entity::Thread)])
    found.push_back(group == kNoGroup ? "-" : keys[rows.groups.keys[group]]);
  BOOST_TEST(found == (Names{"web", "db (b.service)"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(labels_are_the_shortest_distinguishing_parts) {
  const std::string id1 = std::string(63, 'a') + "1", id2 = std::string(63, 'b') + "2";
  const std::vector<std::pair<Names, Names>> expected{
      {{kA, kB}, {"a.service", "b.service"}},
      {{kA + "/main", kB + "/main"}, {"a.service", "b.service"}},
      {{kA + "/main", kB + "/other"}, {"a.service", "b.service"}},
      {{"/lxc/one/init", "/lxc/two/init"}, {"one", "two"}},
      {{"/docker/" + id1, "/docker/" + id2}, {"docker-aaaaaaaaaaaa", "docker-bbbbbbbbbbbb"}},
      {{"/x/docker-" + id1 + ".scope", kA}, {"docker-aaaaaaaaaaaa", "a.service"}},
      {{"/", "/a"}, {"/", "a"}},
      {{"/a", "/a/b"}, {"/a", "b"}},
      {{"/a/b", "/b/a", "/b/b"}, {"/a/b", "a", "/b/b"}},
      {{"/docker-" + id1 + ".scope", "/docker-" + id1.substr(0, 63) + "f.scope"},
       {"/docker-" + id1 + ".scope", "/docker-" + id1.substr(0, 63) + "f.scope"}}};
  for (const auto& [paths, labels] : expected) {
    const std::vector<std::string_view> views(paths.begin(), paths.end());
    BOOST_TEST(distinguish_paths(views) == labels, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(limits_the_length_of_keys) {
  const std::string name(300, 'n'), path = "/" + std::string(4096, 'p'),
                                    unit = "/" + std::string(300, 'u') + ".service";
  BOOST_TEST(names_of({Window{{10, 10, name, kA}, {11, 11, name, kB}}}) == (Names{name}),
             boost::test_tools::per_element());
  BOOST_TEST(names_of({Window{{10, 10, "web", kA}, {11, 11, "web", path}}}) == (Names{"web"}),
             boost::test_tools::per_element());
  for (const std::string& key : names_of({Window{{10, 10, "web", kA}, {11, 11, "web", unit}}}))
    BOOST_TEST(key.size() < 120);
}

BOOST_AUTO_TEST_CASE(conditions_use_the_process_unless_they_contain_the_whole_name) {
  const Groups groups = groups_of({Window{{10, 10, "web", kA}, {11, 11, "web", kB}}});
  const auto name = [&](const std::string& condition) {
    return name_in_condition(groups.grouping, "web (a.service)", condition);
  };
  BOOST_TEST(name("group == \"web\"") == "web");
  BOOST_TEST(name("group == \"web (a.service)\"") == "web (a.service)");
  BOOST_TEST(name("group == \"web (b.service)\"") == "web");
  BOOST_TEST(name_in_condition(groups.grouping, "cron", "group == \"web\"") == "cron");
  const CgroupPart& part = groups.grouping.cgroup_parts.at("web (a.service)");
  BOOST_TEST(part.process == "web");
  BOOST_TEST(part.cgroup == kA);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::process_cgroups_test
