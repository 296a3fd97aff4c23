// Tests grouping: which rows share a key, on one side and across two.

#include <boost/test/unit_test.hpp>

#include "core/compare/grouping/grouping.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::group_test {
namespace {

using namespace hand_made;
using Groups = std::vector<std::uint32_t>;
using Names = std::vector<std::string>;

// The groups of all sides, and the groups of the rows of each side.
struct RowGrouping : Grouping {
  std::vector<RowGroups> rows;
};

RowGrouping group_rows(std::vector<const Snapshot*> sides, const Spec& spec) {
  RowGrouper grouper(spec);
  std::vector<RowGroups> rows;
  for (const Snapshot* side : sides) rows.push_back(grouper.add(*side));
  std::vector<const RunGroups*> groups;
  for (const RowGroups& side : rows) groups.push_back(&side.groups);
  return {join(grouper, groups, spec.group_by), std::move(rows)};
}
RowGrouping group_rows(std::vector<const Snapshot*> sides, GroupBy by) {
  return group_rows(std::move(sides), Spec{.group_by = by});
}
Groups row_groups(const RowGrouping& grouping, std::size_t side, Entity entity) {
  const auto& own = grouping.rows[side].group_of_row[static_cast<std::size_t>(entity)];
  return entity == Entity::Host ? own : grouping.runs[side].groups_of(own);
}

BOOST_AUTO_TEST_SUITE(group_test)

BOOST_AUTO_TEST_CASE(groups_processes_by_their_leader) {
  const Snapshot s = snapshot_of(
      {{10, 10, "nginx", "master"}, {10, 11, "nginx", "aio"}, {20, 20, "bash", "bash"}});
  const RowGrouping by_process = group_rows({&s}, GroupBy::Pcomm);
  BOOST_TEST(by_process.names == (Names{"bash", "nginx"}), boost::test_tools::per_element());
  BOOST_TEST(row_groups(by_process, 0, Entity::Thread) == (Groups{1, 1, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(row_groups(by_process, 0, Entity::Process) == (Groups{1, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(by_process.sides[0].threads(1) == 2);

  const RowGrouping by_thread = group_rows({&s}, GroupBy::CommExact);
  BOOST_TEST(by_thread.names == (Names{"aio", "bash", "master"}), boost::test_tools::per_element());
  BOOST_TEST(row_groups(by_thread, 0, Entity::Process) == (Groups{2, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(accepts_leaders_that_come_later_or_are_missing) {
  // Thread ids wrap around, so a thread can have a smaller id than its leader. A leader can have
  // exited.
  const Snapshot s =
      snapshot_of({{10, 3, "p", "worker"}, {10, 10, "p", "leader"}, {20, 21, "q", "orphan"}});
  const RowGrouping grouping = group_rows({&s}, GroupBy::CommExact);
  BOOST_TEST(grouping.names == (Names{"leader", "orphan", "worker"}),
             boost::test_tools::per_element());
  BOOST_TEST(row_groups(grouping, 0, Entity::Process) == (Groups{0, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(literal_names_group_by_process_name_and_id) {
  const Snapshot a = snapshot_of({{10, 10, "p", "p"}, {10, 11, "p", "w"}, {20, 20, "p", "p"}});
  const Snapshot b = snapshot_of({{20, 20, "p", "p"}, {30, 30, "p", "p"}});
  const RowGrouping grouping = group_rows({&a, &b}, Spec{.literal_names = true});
  BOOST_TEST(grouping.names == (Names{"p", "p[10]", "p[20]", "p[30]"}),
             boost::test_tools::per_element());
  BOOST_TEST(row_groups(grouping, 0, Entity::Thread) == (Groups{0, 0, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(row_groups(grouping, 0, Entity::Process) == (Groups{1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(row_groups(grouping, 1, Entity::Process) == (Groups{2, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(grouping.sides[0].threads(0) == 3);
  BOOST_TEST(grouping.sides[0].threads(1) == 2);
  BOOST_TEST(grouping.has_group(0, 1));
  BOOST_TEST(!grouping.has_group(1, 1));
}

BOOST_AUTO_TEST_CASE(groups_by_process_id_and_by_process_text) {
  Snapshot s = snapshot_of({{10, 10, "p", "p"}, {10, 11, "p", "w"}, {20, 20, "p", "p"}});
  add_text(s, metric("acme.image", "CategoricalString", "Mode", Entity::Process), {"web:1", {}});
  const RowGrouping by_pid = group_rows({&s}, GroupBy::Pid);
  BOOST_TEST(by_pid.names == (Names{"p[10]", "p[20]"}), boost::test_tools::per_element());
  BOOST_TEST(row_groups(by_pid, 0, Entity::Thread) == (Groups{0, 0, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(row_groups(by_pid, 0, Entity::Process) == (Groups{0, 1}),
             boost::test_tools::per_element());
  const RowGrouping by_image =
      group_rows({&s}, Spec{.group_by = GroupBy::ProcessText, .group_metric = "acme.image"});
  BOOST_TEST(by_image.names == (Names{"", "web:1"}), boost::test_tools::per_element());
  BOOST_TEST(row_groups(by_image, 0, Entity::Thread) == (Groups{1, 1, 0}),
             boost::test_tools::per_element());
}

// One row can be that of several exited threads (merge_exited_threads.hpp).
BOOST_AUTO_TEST_CASE(counts_all_threads_of_a_merged_row) {
  Snapshot s = snapshot_of(
      {{10, 10, "nginx", "master"}, {10, 11, "nginx", "aio"}, {20, 20, "bash", "bash"}});
  add_u64(s, identity_metric(kThreads), {1, 40, {}});
  const RowGrouping grouping = group_rows({&s}, GroupBy::Pcomm);
  BOOST_TEST(grouping.names == (Names{"bash", "nginx"}), boost::test_tools::per_element());
  BOOST_TEST(grouping.sides[0].threads(0) == 1);
  BOOST_TEST(grouping.sides[0].threads(1) == 41);
}

BOOST_AUTO_TEST_CASE(a_group_has_the_same_index_on_both_sides) {
  const Snapshot a = snapshot_of({{1, 1, "zsh", "zsh"}, {2, 2, "cron", "cron"}});
  const Snapshot b = snapshot_of({{1, 1, "apt", "apt"}, {2, 2, "zsh", "zsh"}});
  const RowGrouping grouping = group_rows({&a, &b}, GroupBy::Pcomm);
  BOOST_TEST(grouping.names == (Names{"apt", "cron", "zsh"}), boost::test_tools::per_element());
  BOOST_TEST(row_groups(grouping, 0, Entity::Thread) == (Groups{2, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(row_groups(grouping, 1, Entity::Thread) == (Groups{0, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(grouping.sides[0].threads(0) == 0);
  BOOST_TEST(grouping.sides[1].threads(0) == 1);
}

BOOST_AUTO_TEST_CASE(missing_names_share_the_empty_group) {
  Snapshot s = snapshot_of({{1, 1, "a", "a"}, {2, 2, "b", "b"}});
  s.threads().find(kPcomm)->gaps()[0] = CTPROF_THREAD_GONE;
  const RowGrouping grouping = group_rows({&s}, GroupBy::Pcomm);
  BOOST_TEST(grouping.names == (Names{"", "b"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_host_is_a_separate_group) {
  Snapshot s = snapshot_of({{1, 1, "a", "a"}});
  s.table(Entity::Host).rows = 1;
  const RowGrouping grouping = group_rows({&s}, GroupBy::Pcomm);
  BOOST_TEST(row_groups(grouping, 0, Entity::Host) == Groups{0}, boost::test_tools::per_element());
  BOOST_TEST(grouping.count(Entity::Host) == 1);
  BOOST_TEST(grouping.name(Entity::Host, 0) == "host");
}

BOOST_AUTO_TEST_CASE(cgroups_and_their_ancestors_have_groups) {
  Snapshot s = snapshot_of({{1, 1, "a", "a"}, {2, 2, "b", "b"}});
  add_text(s, identity_metric(kCgroup), {"/x/w1", "/x/w2"});
  s.table(Entity::Cgroup).rows = 4;
  add_text(s, identity_metric(kCgroupPath), {"/", "/x", "/x/w1", "/x/w2"});
  const RowGrouping grouping = group_rows({&s}, GroupBy::Cgroup);
  BOOST_TEST(grouping.names == (Names{"/", "/x", "/x/w{N}"}), boost::test_tools::per_element());
  BOOST_TEST(row_groups(grouping, 0, Entity::Thread) == (Groups{2, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(row_groups(grouping, 0, Entity::Cgroup) == (Groups{0, 1, 2, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(grouping.has_group(0, 1));
  // With another grouping key, cgroups belong to no group.
  BOOST_TEST(row_groups(group_rows({&s}, GroupBy::Pcomm), 0, Entity::Cgroup) == Groups(4, kNoGroup),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(all_groups_by_cgroup_process_and_thread) {
  Snapshot s = snapshot_of({{1, 1, "p", "w1"}, {1, 2, "p", "w2"}, {3, 3, "p", "w1"}});
  add_text(s, identity_metric(kCgroup), {"/x", "/x", "/y"});
  const RowGrouping grouping = group_rows({&s}, GroupBy::All);
  BOOST_TEST(grouping.names.size() == 2);
  BOOST_TEST(row_groups(grouping, 0, Entity::Thread) == (Groups{0, 0, 1}),
             boost::test_tools::per_element());
  const auto parts = key_parts(grouping.names[1]);
  BOOST_TEST(std::vector<std::string>(parts.begin(), parts.end()) == (Names{"/y", "p", "w{N}"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(finds_name_patterns_across_both_sides) {
  const Snapshot a = snapshot_of({{1, 1, "w1", "w1"}}), b = snapshot_of({{1, 1, "w2", "w2"}});
  BOOST_TEST(group_rows({&a, &b}, GroupBy::Pcomm).names == Names{"w{N}"},
             boost::test_tools::per_element());
  BOOST_TEST(group_rows({&a}, GroupBy::Pcomm).names == Names{"w1"},
             boost::test_tools::per_element());
  BOOST_TEST(group_rows({&a, &b}, GroupBy::CommExact).names == (Names{"w1", "w2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_empty_snapshot_has_no_groups) {
  const Snapshot s = snapshot_of({});
  BOOST_TEST(group_rows({&s, &s}, GroupBy::Pcomm).names.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::group_test
