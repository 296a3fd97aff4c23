// Tests computed grouping keys: services from cgroup paths, and process trees from parent ids.

#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/compare/grouping/grouping.hpp"
#include "core/compare/grouping/services.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::axes_test {
namespace {

using namespace hand_made;
using Names = std::vector<std::string>;

// A process with one thread.
struct Process {
  std::uint64_t pid, parent;
  std::string name, cgroup;
};

Snapshot snapshot_with(const std::vector<Process>& all) {
  std::vector<Thread> threads;
  Cells<std::uint64_t> parents;
  Cells<std::string> cgroups;
  for (const Process& one : all) {
    threads.push_back({one.pid, one.pid, one.name, one.name});
    parents.push_back(one.parent);
    cgroups.push_back(one.cgroup);
  }
  Snapshot snapshot = snapshot_of(threads);
  add_u64(snapshot, identity_metric(kParent), parents);
  add_text(snapshot, identity_metric(kCgroup), cgroups);
  return snapshot;
}

// Returns the group of each thread.
Names groups_of_threads(const Snapshot& snapshot, GroupBy by) {
  RowGrouper grouper(Spec{.group_by = by});
  const RowGroups rows = grouper.add(snapshot);
  const auto keys = grouper.keys();
  Names found;
  for (const std::uint32_t group : rows.group_of_row[static_cast<std::size_t>(Entity::Thread)])
    found.push_back(keys[rows.groups.keys[group]]);
  return found;
}

BOOST_AUTO_TEST_SUITE(axes_test)

BOOST_AUTO_TEST_CASE(names_the_unit_container_or_pod_of_a_path) {
  const std::string id(64, 'a');
  const std::vector<std::pair<std::string, std::string>> expected{
      {"/system.slice/nginx.service", "nginx.service"},
      {"/system.slice/nginx.service/worker", "nginx.service"},
      {"/user.slice/user-7.slice/user@7.service/app.slice/a.service", "a.service"},
      {"/user.slice/user-7.slice/session-3.scope", "session-3.scope"},
      {"/system.slice/docker-" + id + ".scope", "docker-aaaaaaaaaaaa"},
      {"/docker/" + id, "docker-aaaaaaaaaaaa"},
      {"/docker/" + id + "/system.slice/x.service", "docker-aaaaaaaaaaaa/x.service"},
      {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a_2b.slice/"
       "cri-containerd-" +
           id + ".scope",
       "pod1a_2b/cri-containerd-aaaaaaaaaaaa"},
      {"/kubepods/besteffort/pod12-34/" + id, "pod12-34/aaaaaaaaaaaa"},
      {"/podman.service", "podman.service"},
      {"/podcast.slice/a.service", "a.service"},
      {"/user.slice/user@7.service/app.slice/app-podcast.service", "app-podcast.service"},
      {"/system.slice/k3s.service/kubepods/burstable/pod1a2b", "pod1a2b"},
      {"/build/" + id + "0", "/build/" + id + "0"},
      {"/", "/"},
      {"", ""}};
  for (const auto& [path, service] : expected) BOOST_TEST(find_service(path) == service, path);
}

BOOST_AUTO_TEST_CASE(groups_threads_by_service) {
  const Snapshot s = snapshot_with({{10, 1, "a", "/s.slice/x.service"},
                                    {11, 1, "b", "/s.slice/x.service/sub"},
                                    {12, 1, "c", "/s.slice/y-2.service"}});
  BOOST_TEST(
      groups_of_threads(s, GroupBy::Service) == (Names{"x.service", "x.service", "y-2.service"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tree_ends_at_init_and_at_cgroup_boundaries) {
  const Snapshot s = snapshot_with({{1, 0, "init", "/"},
                                    {2, 0, "kthreadd", "/"},
                                    {3, 2, "rcu", "/"},
                                    {7, 1, "sshd", "/ssh"},
                                    {20, 7, "bash", "/session"},
                                    {30, 20, "make", "/session"},
                                    {31, 30, "cc1", "/session"},
                                    {40, 99, "orphan", "/session"}});
  BOOST_TEST(groups_of_threads(s, GroupBy::Tree) ==
                 (Names{"init[1]", "kthreadd[2]", "kthreadd[2]", "sshd[7]", "bash[20]", "bash[20]",
                        "bash[20]", "orphan[40]"}),
             boost::test_tools::per_element());
}

// A window of two snapshots keeps exited processes only in its opening; the opening has no rows of
// parents that are still alive.
BOOST_AUTO_TEST_CASE(keeps_exited_processes_in_the_tree_of_a_living_parent) {
  Snapshot window = snapshot_with({{7, 1, "sshd", "/ssh"}, {20, 7, "bash", "/session"}});
  window.window.emplace().living_threads = 2;
  window.window->opening_only = std::make_shared<Snapshot>(
      snapshot_with({{9, 7, "login", "/session"},  // not in its parent's cgroup
                     {30, 20, "make", "/session"},
                     {31, 30, "cc1", "/session"},
                     {40, 99, "orphan", "/session"}}));
  RowGrouper grouper(Spec{.group_by = GroupBy::Tree});
  const RowGroups rows = grouper.add(window);
  const auto& groups = rows.groups;
  const auto keys = grouper.keys();
  Names found;
  for (const std::uint32_t group :
       rows.group_of_opening_row[static_cast<std::size_t>(Entity::Thread)])
    found.push_back(group == kNoGroup ? "-" : keys[groups.keys[group]]);
  BOOST_TEST(found == (Names{"-", "bash[20]", "bash[20]", "-"}), boost::test_tools::per_element());
  BOOST_TEST(keys == (Names{"sshd[7]", "bash[20]", "login[9]", "orphan[40]"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ends_a_cycle_of_parents) {
  const Snapshot s = snapshot_with({{5, 6, "a", "/"}, {6, 5, "b", "/"}});
  BOOST_TEST(groups_of_threads(s, GroupBy::Tree).size() == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::axes_test
