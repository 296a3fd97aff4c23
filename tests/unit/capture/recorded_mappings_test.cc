// Tests which module an address belongs to, according to the mappings at the time of the record.

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/capture/recorded_stacks.hpp"
#include "tests/unit/capture/test_recording.hpp"

namespace ctprof::recorded_mappings_test {
namespace {

using namespace hand_made;

constexpr std::uint64_t kCode = 0x400000;

ctprof_change make_change(ctprof_change_kind kind, std::uint64_t tgid, std::uint64_t at_ns) {
  ctprof_change change{};
  change.size = sizeof change;
  change.kind = kind;
  change.tgid = tgid;
  change.at_ns = at_ns;
  return change;
}

ctprof_change make_mapping_change(std::uint64_t tgid, std::uint64_t at_ns, std::string_view path,
                                  std::uint64_t inode) {
  ctprof_change change = make_change(CTPROF_CHANGE_MAPPED, tgid, at_ns);
  change.start = kCode;
  change.length = 0x1000;
  change.inode = inode;
  change.path = {path.data(), path.size()};
  return change;
}

// Returns the path of the module at an address, according to the mappings at that time.
std::string module_path(Recording& recording) {
  const std::vector<std::uint64_t> there{kCode + 4};
  recording.stacks().add(with_addresses(record_of(7, 7, 1), there));
  recording.stacks().finish();
  const auto frames = recording.frames(0);
  BOOST_TEST(frames[0].offset == (recording.module(frames[0]).path.empty() ? kCode + 4 : 4));
  return recording.module(frames[0]).path;
}

BOOST_AUTO_TEST_SUITE(recorded_mappings_test)

BOOST_AUTO_TEST_CASE(a_mapping_replaces_earlier_mappings) {
  Recording recording;
  recording.begin();
  recording.stacks().add(make_mapping_change(7, 5, "/no/such/one", 1));
  recording.stacks().add(make_mapping_change(7, 6, "/no/such/other", 2));
  BOOST_TEST(module_path(recording) == "/no/such/other");
  BOOST_TEST(recording.window().meta.stacks.at(0).unnamed_frames == 1u);
}

BOOST_AUTO_TEST_CASE(a_later_reading_replaces_earlier_changes) {
  Recording recording;
  recording.stacks().add_mappings(
      7, 10, std::vector<Mapping>{{kCode, kCode + 0x1000, 0, {0, 3}, "/no/read"}});
  recording.begin();
  recording.stacks().add(make_mapping_change(7, 9, "/no/earlier", 1));
  recording.stacks().add(make_change(CTPROF_CHANGE_EXECED, 7, 9));
  BOOST_TEST(module_path(recording) == "/no/read");
}

// Returns the path after a change at `at_ns` that requires reading the mappings again; 0: no
// change.
std::string module_path_after_change(std::uint64_t at_ns) {
  Recording recording;
  const auto read = [&](std::uint64_t read_ns, const char* path) {
    recording.stacks().add_mappings(
        7, read_ns, std::vector<Mapping>{{kCode, kCode + 0x1000, 0, {0, read_ns}, path}});
  };
  read(10, "/no/first");
  read(20, "/no/second");
  read(30, "/no/third");
  recording.begin();
  if (at_ns > 0) recording.stacks().add(make_change(CTPROF_CHANGE_REMAPPED, 7, at_ns));
  return module_path(recording);
}

BOOST_AUTO_TEST_CASE(uses_the_reading_after_an_unreported_change) {
  BOOST_TEST(module_path_after_change(0) == "/no/first");
  BOOST_TEST(module_path_after_change(15) == "/no/second");
  BOOST_TEST(module_path_after_change(25) == "/no/third");
  BOOST_TEST(module_path_after_change(35) == "/no/first");  // there is no later reading
}

BOOST_AUTO_TEST_CASE(execve_removes_all_mappings) {
  Recording recording;
  recording.begin();
  recording.stacks().add(make_mapping_change(7, 5, "/no/such/one", 1));
  recording.stacks().add(make_change(CTPROF_CHANGE_EXECED, 7, 6));
  BOOST_TEST(module_path(recording) == "");
}

BOOST_AUTO_TEST_CASE(a_child_inherits_the_mappings_of_its_parent) {
  Recording recording;
  recording.begin();
  recording.stacks().add(make_mapping_change(3, 5, "/no/of/parent", 1));
  ctprof_change fork = make_change(CTPROF_CHANGE_FORKED, 7, 6);
  fork.parent = 3;
  recording.stacks().add(fork);
  recording.stacks().add(make_mapping_change(3, 7, "/no/of/parent/later", 2));
  BOOST_TEST(module_path(recording) == "/no/of/parent");
}

// Returns the modules of one stack, with weights: two records of weight 1 after the first change,
// two of weight 10 after the second one, and so on.
std::string module_paths_of_known_stack(const std::vector<ctprof_change>& changes) {
  Recording recording;
  recording.begin();
  const std::vector<std::uint64_t> addresses{kCode + 4};
  std::uint64_t weight = 1;
  for (const ctprof_change& change : changes) {
    recording.stacks().add(change);
    for (int i = 0; i < 2; ++i)
      recording.stacks().add(with_addresses(record_of(7, 7, weight), addresses), 0);
    weight *= 10;
  }
  recording.stacks().finish();
  std::string paths;
  const StackPool& pool = recording.window().pools->stacks;
  for (const ctprof_stack& stack :
       pool[recording.window().threads().find(kStacks.name)->ids()[0]]) {
    const auto frames = pool.table.get_stack_frames(static_cast<std::uint32_t>(stack.stack));
    paths += recording.module(pool.table.frames()[frames.front()]).path + " " +
             std::to_string(stack.weight) + "\n";
  }
  return paths;
}

BOOST_AUTO_TEST_CASE(unwinds_a_known_stack_again_after_a_change) {
  BOOST_TEST(module_paths_of_known_stack(
                 {make_mapping_change(7, 5, "/no/one", 1), make_mapping_change(7, 6, "/no/two", 2),
                  make_change(CTPROF_CHANGE_EXECED, 7, 7)}) == "/no/one 2\n/no/two 20\n 200\n");
  BOOST_TEST(module_paths_of_known_stack({make_mapping_change(7, 5, "/no/one", 1),
                                          make_mapping_change(8, 6, "/no/two", 2)}) ==
             "/no/one 22\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::recorded_mappings_test
