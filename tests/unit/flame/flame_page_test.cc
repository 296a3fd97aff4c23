// Tests that names of programs, threads, cgroups, functions and files are plain text in a flame
// graph page.

#include "core/flame/flame_page.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/flame/made_stacks.hpp"

namespace ctprof::tests::flame_page_test {
namespace {

// Markup characters for an element and for an attribute.
const std::string kHostile = "<evil a='1' b=\"2\">&x;";

bool is_text(const std::string& page) {
  for (const char* part : {"<evil", "b=\"2\"", "&x;"})
    if (page.find(part) != page.npos) return false;
  return page.find("&lt;evil") != page.npos;
}

std::string page_of(const StackOwner& owner, const std::string& module, const std::string& function,
                    const std::string& title, FlameStyle::Form form) {
  MadeStacks stacks(kOnCpu);
  const std::uint32_t number = stacks.module(module);
  stacks.owner(owner);
  stacks.add({stacks.frame(number, "main"), stacks.frame(number, function)}, {60});
  const FlameTree tree = make_flame_tree({{&stacks.profile(), 0, 0}});
  FlameStyle style;
  style.form = form;
  style.title = title;
  style.unit = "ns";
  return flame_page(tree, style);
}

BOOST_AUTO_TEST_SUITE(flame_page_test)

BOOST_AUTO_TEST_CASE(escapes_markup_in_every_name) {
  const StackOwner plain{.process = "p", .thread = "t", .cgroup = {}};
  for (const auto form : {FlameStyle::Form::Svg, FlameStyle::Form::Html}) {
    BOOST_TEST(
        is_text(page_of({.process = kHostile, .thread = "t", .cgroup = {}}, "/m", "f", "x", form)));
    BOOST_TEST(
        is_text(page_of({.process = "p", .thread = kHostile, .cgroup = {}}, "/m", "f", "x", form)));
    BOOST_TEST(is_text(
        page_of({.process = "", .thread = "", .cgroup = "/" + kHostile}, "/m", "f", "x", form)));
    BOOST_TEST(is_text(page_of(plain, "/lib/" + kHostile, "f", "x", form)));
    BOOST_TEST(is_text(page_of(plain, "/m", kHostile, "x", form)));
    BOOST_TEST(is_text(page_of(plain, "/m", "f", kHostile, form)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::flame_page_test
