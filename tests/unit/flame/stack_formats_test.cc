// Tests properties that every export format of stacks has, whatever its reader requires.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "core/flame/stack_formats.hpp"
#include "tests/flame/stack_profile_builder.hpp"
#include "tests/unit/flame/gzip.hpp"

namespace ctprof::tests::stack_formats_test {
namespace {

class FullSink final : public Sink {
 public:
  Result<void> write(std::string_view) override { return Error{"the disk is full"}; }
};

std::string folded_text(StackProfileBuilder& stacks) {
  StringSink out;
  BOOST_REQUIRE(write_folded(stacks.get_profile(), out));
  return out.text();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stack_formats_test)

BOOST_AUTO_TEST_CASE(the_writer_returns_errors_of_the_sink) {
  StackProfileBuilder stacks(kOnCpu);
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  stacks.add_stack({stacks.make_frame(stacks.add_module("/bin/worker"), "main")}, {1});
  for (const StackFormat& form : get_stack_formats()) {
    FullSink full;
    const auto written = form.write(stacks.get_profile(), full);
    BOOST_TEST_CONTEXT(form.name) {
      BOOST_REQUIRE(!written);
      BOOST_TEST(written.error().text == "the disk is full");
    }
  }
}

BOOST_AUTO_TEST_CASE(shows_the_known_names_of_an_owner) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t module = stacks.add_module("/bin/worker");
  stacks.add_owner({});
  stacks.add_stack({stacks.make_frame(module, "main")}, {1});
  stacks.add_owner({.process = {}, .thread = "io", .cgroup = "/a b;c"});
  stacks.add_stack({stacks.make_frame(module, "operator new")}, {2});
  stacks.add_owner({.process = {}, .thread = {}, .cgroup = "/a b;c"});
  stacks.add_stack({stacks.make_frame(module, "main")}, {3});
  BOOST_TEST(folded_text(stacks) == "[unknown];main 1\nio;operator_new 2\n/a_b:c;main 3\n");
}

BOOST_AUTO_TEST_CASE(marks_guessed_frames_in_every_format) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t module = stacks.add_module("/bin/worker");
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  stacks.add_stack({stacks.make_frame(module, "caller", true), stacks.make_frame(module, "leaf")},
                   {1});
  BOOST_TEST(folded_text(stacks) == "worker;caller_(guessed);leaf 1\n");
  for (const StackFormat& form : get_stack_formats()) {
    StringSink out;
    BOOST_REQUIRE(form.write(stacks.get_profile(), out));
    const bool is_packed = out.text().starts_with("\x1f\x8b");
    const std::string text = is_packed ? decompress_gzip(out.text()) : out.text();
    BOOST_TEST_CONTEXT(form.name) {
      const bool is_marked =
          text.find("caller (guessed)") != text.npos || text.find("caller_(guessed)") != text.npos;
      BOOST_TEST(is_marked);
      BOOST_TEST(text.find("leaf (guessed)") == text.npos);
    }
  }
}

BOOST_AUTO_TEST_CASE(truncates_stacks_deeper_than_the_limit) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t module = stacks.add_module("/bin/worker");
  const Frame main = stacks.make_frame(module, "main"), leaf = stacks.make_frame(module, "leaf");
  std::vector<Frame> path(5000, main);
  path.push_back(leaf);
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  stacks.add_stack(path, {1});
  const std::string line = folded_text(stacks);
  BOOST_TEST(line.starts_with("worker;[truncated];main;"));
  BOOST_TEST(line.ends_with(";main;leaf 1\n"));
  BOOST_TEST(std::count(line.begin(), line.end(), ';') == 1 + 1024);
}

BOOST_AUTO_TEST_CASE(all_values_of_a_stack_are_one_row) {
  StackProfileBuilder stacks(kTwoValues);
  const std::uint32_t module = stacks.add_module("/bin/worker");
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  stacks.add_stack({stacks.make_frame(module, "both")}, {5, 7});
  stacks.add_stack({stacks.make_frame(module, "second")}, {0, 9});
  const std::vector<StackWeights> rows = collect_rows(stacks.get_profile().owners.front());
  BOOST_REQUIRE(rows.size() == 2u);
  BOOST_TEST(rows[0].weights == (std::vector<std::uint64_t>{5, 7}));
  BOOST_TEST(rows[1].weights == (std::vector<std::uint64_t>{0, 9}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stack_formats_test
