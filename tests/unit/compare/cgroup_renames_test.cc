// Tests the detection of cgroups that have another name on the other side.

#include <boost/test/unit_test.hpp>
#include <list>
#include <set>

#include "core/compare/grouping/cgroup_renames.hpp"

namespace ctprof::cgroup_renames_test {
namespace {

// A cgroup on one side, with thread names k<first> to k<last>.
struct SidedCgroup {
  std::string cgroup;
  std::size_t side;
  int first, last;
};

CgroupRenames find_renames(const std::vector<SidedCgroup>& all, std::size_t& visited) {
  std::set<std::string> cgroups;
  for (const SidedCgroup& has : all) cgroups.insert(has.cgroup);
  static std::list<std::string> names;
  std::vector<KeyPresence> keys;
  for (const std::string& cgroup : cgroups)
    for (int kind = 0; kind < 100; ++kind) {
      KeyPresence key{names.emplace_back(cgroup), "p",
                      names.emplace_back("k" + std::to_string(kind)), false, false};
      for (const SidedCgroup& has : all)
        if (has.cgroup == cgroup && has.first <= kind && kind <= has.last)
          (has.side == 0 ? key.on_baseline : key.on_candidate) = true;
      if (key.on_baseline || key.on_candidate) keys.push_back(key);
    }
  return find_cgroup_renames(keys, visited);
}
CgroupRenames find_renames(const std::vector<SidedCgroup>& all) {
  std::size_t visited = 0;
  return find_renames(all, visited);
}

using TextList = std::vector<std::string>;

// Returns "baseline=candidate" of each pair, followed by ":baseline=candidate" of the cgroups
// below.
TextList pair_texts(const CgroupRenames& renames) {
  TextList words;
  for (const CgroupRename& rename : renames.renames) {
    words.push_back(rename.baseline + "=" + rename.candidate);
    for (const auto& [before, after] : rename.child_renames)
      words.push_back(":" + before + "=" + after);
  }
  return words;
}
std::vector<SidedCgroup> exchange_sides(std::vector<SidedCgroup> all) {
  for (SidedCgroup& has : all) has.side = 1 - has.side;
  return all;
}

#define TEST_WORDS(found, ...) \
  BOOST_TEST((found) == (TextList{__VA_ARGS__}), boost::test_tools::per_element())

BOOST_AUTO_TEST_SUITE(cgroup_renames_test)

BOOST_AUTO_TEST_CASE(ten_common_thread_names_make_a_pair) {
  TEST_WORDS(pair_texts(find_renames({{"/a", 0, 1, 10}, {"/b", 1, 1, 10}})), "/a=/b");
  TEST_WORDS(pair_texts(find_renames({{"/a", 0, 1, 9}, {"/b", 1, 1, 9}})));
}

BOOST_AUTO_TEST_CASE(a_pair_needs_nine_of_ten_names_in_common) {
  const auto renames = find_renames({{"/a", 0, 1, 18}, {"/b", 1, 0, 19}});
  TEST_WORDS(pair_texts(renames), "/a=/b");
  BOOST_TEST(renames.renames[0].kinds_in_common == 18);
  BOOST_TEST(renames.renames[0].kinds_in_either == 20);
  BOOST_TEST(renames.renames[0].only_baseline.empty());
  BOOST_TEST(renames.renames[0].only_candidate.size() == 2);
  BOOST_TEST(renames.renames[0].only_candidate[1].comm == "k19");
  TEST_WORDS(pair_texts(find_renames({{"/a", 0, 1, 17}, {"/b", 1, 0, 18}})));  // 17 of 19
  TEST_WORDS(pair_texts(find_renames({{"/a", 0, 1, 10}, {"/b", 1, 1, 11}})), "/a=/b");
  TEST_WORDS(pair_texts(find_renames({{"/a", 0, 0, 10}, {"/b", 1, 1, 11}})));
}

BOOST_AUTO_TEST_CASE(a_cgroup_on_both_sides_is_not_renamed) {
  TEST_WORDS(pair_texts(find_renames({{"/a", 0, 1, 10}, {"/a", 1, 10, 20}, {"/b", 1, 1, 10}})));
  TEST_WORDS(pair_texts(find_renames({{"/a", 0, 1, 10}, {"/a", 1, 30, 40}, {"/b", 1, 1, 10}})));
  TEST_WORDS(pair_texts(find_renames({{"", 0, 1, 10}, {"/b", 1, 1, 10}})));
}

BOOST_AUTO_TEST_CASE(pairs_the_most_similar_cgroups_first) {
  TEST_WORDS(pair_texts(find_renames({{"/a", 0, 1, 20}, {"/b", 1, 1, 19}, {"/c", 1, 1, 20}})),
             "/a=/c", "/a=/b");
  TEST_WORDS(pair_texts(find_renames(
                 {{"/a", 0, 1, 20}, {"/b", 1, 1, 19}, {"/c", 1, 1, 20}, {"/d", 0, 1, 19}})),
             "/a=/c", "/d=/b");
}

BOOST_AUTO_TEST_CASE(pairs_replicas_by_name_and_joins_the_remaining_ones) {
  const std::vector<SidedCgroup> more_replicas{
      {"/x/a", 0, 1, 12}, {"/y/p", 1, 1, 12}, {"/y/q", 1, 1, 12}};
  const auto renames = find_renames(more_replicas),
             reverse_renames = find_renames(exchange_sides(more_replicas));
  TEST_WORDS(pair_texts(renames), "/x/a=/y/p", "/x/a=/y/q");
  TEST_WORDS(pair_texts(reverse_renames), "/y/p=/x/a", "/y/q=/x/a");
  BOOST_TEST(renames.baseline_name_of.at("/y/q") == "/x/a");
  BOOST_TEST(reverse_renames.baseline_name_of.at("/y/q") == "/y/p");
  TEST_WORDS(pair_texts(find_renames(
                 {{"/a", 0, 1, 12}, {"/b", 0, 1, 12}, {"/m", 1, 1, 12}, {"/n", 1, 1, 12}})),
             "/a=/m", "/b=/n");
}

BOOST_AUTO_TEST_CASE(pairs_thousands_of_replicas) {
  std::vector<std::string> names;
  for (int i = 0; i < 6000; ++i) names.push_back("/pod" + std::to_string(10000 + i));
  std::vector<KeyPresence> keys;
  const std::vector<std::string> comms{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const std::string& comm : comms)
      keys.push_back({names[i], "p", comm, i % 3 == 0, i % 3 != 0});
  const auto renames = find_cgroup_renames(keys);
  BOOST_TEST(renames.renames.size() == 4000);
  BOOST_TEST(renames.renames[1].baseline == "/pod10003");
  BOOST_TEST(renames.renames[1].candidate == "/pod10002");
  BOOST_TEST(renames.renames[2000].baseline == "/pod10000");  // the remaining names
}

BOOST_AUTO_TEST_CASE(pairs_equal_paths_below_a_pair) {
  const auto renames = find_renames({{"/old/x", 0, 1, 1},
                                     {"/old/x/deep", 0, 2, 2},
                                     {"/old/gone", 0, 3, 3},
                                     {"/old", 0, 4, 4},
                                     {"/older", 0, 4, 4},
                                     {"/old/app", 0, 1, 12},
                                     {"/new", 1, 9, 9},
                                     {"/new/app", 1, 1, 12},
                                     {"/new/x", 1, 5, 5},
                                     {"/new/x/deep", 1, 2, 2},
                                     {"/newer", 1, 4, 4}});
  TEST_WORDS(pair_texts(renames), "/old/app=/new/app", ":/old=/new", ":/old/x=/new/x",
             ":/old/x/deep=/new/x/deep");
  BOOST_TEST(renames.renames[0].baseline_root == "/old");
  BOOST_TEST(renames.renames[0].candidate_root == "/new");
}

// A moved subtree has the same roots for each of its pairs.
BOOST_AUTO_TEST_CASE(visits_a_moved_subtree_once) {
  constexpr std::size_t kCgroups = 200;
  std::vector<SidedCgroup> all;
  for (std::size_t i = 0; i < kCgroups; ++i)
    for (const std::size_t side : {0, 1})
      all.push_back({(side == 0 ? "/a/u" : "/b/u") + std::to_string(i), side, 1, 10});
  std::size_t visited = 0;
  const CgroupRenames found = find_renames(all, visited);
  BOOST_TEST(found.renames.size() == kCgroups);
  BOOST_TEST(visited == kCgroups);
}

BOOST_AUTO_TEST_CASE(a_pair_with_different_last_components_is_its_own_root) {
  TEST_WORDS(pair_texts(find_renames({{"/a", 0, 1, 12},
                                      {"/a/x", 0, 1, 1},
                                      {"/b", 1, 1, 12},
                                      {"/b/x", 1, 2, 2},
                                      {"/b/y", 1, 2, 2}})),
             "/a=/b", ":/a/x=/b/x");
  // All cgroups moved below a new parent.
  const auto renames = find_renames(
      {{"/app", 0, 1, 12}, {"/db", 0, 1, 1}, {"/top/app", 1, 1, 12}, {"/top/db", 1, 1, 1}});
  TEST_WORDS(pair_texts(renames), "/app=/top/app", ":/db=/top/db");
  BOOST_TEST(renames.renames[0].baseline_root.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::cgroup_renames_test
