// Tests that names of programs, threads, cgroups, functions and files are plain text in a flame
// graph page.

#include "core/flame/flame_page.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/flame/stack_profile_builder.hpp"

namespace ctprof::tests::flame_page_test {
namespace {

// Markup characters for an element and for an attribute.
const std::string kMarkup = "<evil a='1' b=\"2\">&x;";

bool escapes_markup(const std::string& page) {
  for (const char* part : {"<evil", "b=\"2\"", "&x;"})
    if (page.find(part) != page.npos) return false;
  return page.find("&lt;evil") != page.npos;
}

std::string page_of(const StackOwner& owner, const std::string& module, const std::string& function,
                    const std::string& title, FlameStyle::Format form) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t number = stacks.add_module(module);
  stacks.add_owner(owner);
  stacks.add_stack({stacks.make_frame(number, "main"), stacks.make_frame(number, function)}, {60});
  const FlameTree tree = make_flame_tree({{&stacks.get_profile(), 0, 0}});
  FlameStyle style;
  style.format = form;
  style.title = title;
  style.unit = "ns";
  return make_flame_page(tree, style);
}

BOOST_AUTO_TEST_SUITE(flame_page_test)

BOOST_AUTO_TEST_CASE(escapes_markup_in_every_name) {
  const StackOwner plain{.process = "p", .thread = "t", .cgroup = {}};
  for (const auto form : {FlameStyle::Format::Svg, FlameStyle::Format::Html}) {
    BOOST_TEST(escapes_markup(
        page_of({.process = kMarkup, .thread = "t", .cgroup = {}}, "/m", "f", "x", form)));
    BOOST_TEST(escapes_markup(
        page_of({.process = "p", .thread = kMarkup, .cgroup = {}}, "/m", "f", "x", form)));
    BOOST_TEST(escapes_markup(
        page_of({.process = "", .thread = "", .cgroup = "/" + kMarkup}, "/m", "f", "x", form)));
    BOOST_TEST(escapes_markup(page_of(plain, "/lib/" + kMarkup, "f", "x", form)));
    BOOST_TEST(escapes_markup(page_of(plain, "/m", kMarkup, "x", form)));
    BOOST_TEST(escapes_markup(page_of(plain, "/m", "f", kMarkup, form)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::flame_page_test
