// Tests patterns of names and cgroup paths: the pattern of a name depends on the other names.

#include "core/compare/grouping/key_families.hpp"

#include <boost/test/unit_test.hpp>

namespace ctprof::name_pattern_test {
namespace {

using Names = std::vector<std::string>;

// Two names that become one key.
struct Pair {
  const char* a;
  const char* b;
  const char* key;
};

void check(const Names& names, const Names& keys) {
  BOOST_TEST(name_patterns(names) == keys, boost::test_tools::per_element());
}

Names keys(const Names& paths, const CgroupNaming& naming = {}) {
  return cgroup_keys(paths, naming);
}

BOOST_AUTO_TEST_SUITE(name_pattern_test)

BOOST_AUTO_TEST_CASE(varying_names_share_a_pattern) {
  constexpr Pair kPairs[] = {
      {"12", "7", "{N}"},
      {"c0ffee", "1f", "{H}"},
      {"worker7", "worker12", "worker{N}"},
      {"7worker", "12worker", "{N}worker"},
      {"kworker/u8:7", "kworker/u8:12", "kworker/u{N}:{N}"},
      {"kworker/0:1H-kblockd", "kworker/3:2H-kblockd", "kworker/{N}:{N}H-kblockd"},
      {"a x1", "a x2", "a x{N}"},
      {"x\u00a01", "x\u00a02", "x\u00a0{N}"},
      {"[pool-1+2@3]", "[pool-4+5@6]", "[pool-{N}+{N}@{N}]"},
      {"01234567-89ab-cdef-0123-456789abcdef", "abcdefab-cdef-abcd-efab-cdefabcdefab", "{U}"},
      {"pod01234567_89ab_cdef_0123_456789abcdef.slice",
       "podabcdefab_cdef_abcd_efab_cdefabcdefab.slice", "pod{U}.slice"},
  };
  for (const Pair& pair : kPairs) {
    check({pair.a, pair.b}, {pair.key, pair.key});
    check({pair.b, pair.a, pair.a}, {pair.key, pair.key, pair.key});
  }
}

BOOST_AUTO_TEST_CASE(a_single_name_stays_unchanged) {
  const Names alone{"cc1",     "worker7",   "cc1plus",
                    "f2fs_gc", "C0FFEE12x", "01234567-89ab-cdef-0123-456789abcdef",
                    ""};
  for (const std::string& name : alone) check({name, name}, {name, name});
}

BOOST_AUTO_TEST_CASE(replaces_hexadecimal_only_where_it_varies) {
  check({"d3d-1", "d3d-2"}, {"d3d-{N}", "d3d-{N}"});
  check({"d3d-1", "e4e-2"}, {"{H}-{N}", "{H}-{N}"});
  check({"cc1", "d3d", "cc1plus"}, {"{H}", "{H}", "cc1plus"});
  // Upper-case text, words without a digit and single characters are not treated as hexadecimal.
  check({"DEAD1F", "dead"}, {"DEAD1F", "dead"});
}

BOOST_AUTO_TEST_CASE(treats_parts_of_an_invalid_uuid_separately) {
  check({"01234567-89ab_cdef-0123-456789abcdef", "11234567-89ab_cdef-0123-456789abcdef"},
        {"{N}-89ab_cdef-{N}-456789abcdef", "{N}-89ab_cdef-{N}-456789abcdef"});
}

BOOST_AUTO_TEST_CASE(merges_instances_of_a_unit) {
  BOOST_TEST(keys({"/system.slice/getty@tty1.service", "/system.slice/getty@ttyS.service"}) ==
                 (Names{"/system.slice/getty@{I}.service", "/system.slice/getty@{I}.service"}),
             boost::test_tools::per_element());
  // A single instance keeps its name, as does an instance whose name is more than a number.
  const Names alone{"/system.slice/getty@tty1.service", "/a@b-c.service", "/a@d-e.service",
                    "/odd@"};
  BOOST_TEST(keys(alone) == alone, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(merges_pods_automatically) {
  const std::string pods = "/kubepods.slice/kubepods-pod", rest = ".slice/cri-containerd-";
  const Names paths{pods + "01234567_89ab_cdef_0123_456789abcdef" + rest + "0a1b2c3d.scope",
                    pods + "11234567_89ab_cdef_0123_456789abcdef" + rest + "1a1b2c3d.scope"};
  const std::string key = pods + "{U}" + rest + "{H}.scope";
  BOOST_TEST(keys(paths) == (Names{key, key}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(applies_globs_before_patterns) {
  CgroupNaming naming;
  naming.flatten_globs.push_back(*PathGlob::parse("/user.slice/**"));
  naming.flatten_globs.push_back(*PathGlob::parse("/system.slice/*.service"));
  BOOST_TEST(keys({"/user.slice/user-1000.slice/x", "/system.slice/ssh.service",
                   "/system.slice/a/b.service"},
                  naming) ==
                 (Names{"/user.slice/**", "/system.slice/*.service", "/system.slice/a/b.service"}),
             boost::test_tools::per_element());
  naming.only_globs = true;
  BOOST_TEST(keys({"/w1", "/w2"}, naming) == (Names{"/w1", "/w2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(globs_match_whole_paths) {
  struct Case {
    const char *glob, *path;
    bool matches;
  };
  constexpr Case kCases[] = {
      {"/a/*", "/a/b", true},     {"/a/*", "/a/b/c", false}, {"/a/**", "/a/b/c", true},
      {"/a/*/c", "/a/b/c", true}, {"/**/c", "/a/b/c", true}, {"/?", "/a", true},
      {"/?", "/", false},         {"/a?b", "/a/b", false},   {"/[ab]", "/b", true},
      {"/[!ab]", "/b", false},    {"/[!ab]", "/c", true},    {"/[a-c]x", "/bx", true},
      {"/\\*", "/*", true},       {"/\\*", "/a", false},     {"/a", "/a/b", false},
      {"*", "/", false},          {"**", "/x/y", true},      {"/[]]", "/]", true},
      {"/a**", "/a", true},       {"/***", "/a/b", true},    {"/a[!b]c", "/a/c", false},
  };
  for (const Case& c : kCases)
    BOOST_TEST(PathGlob::parse(c.glob)->matches(c.path) == c.matches, c.glob << " on " << c.path);
}

BOOST_AUTO_TEST_CASE(refused_globs_name_the_reason) {
  BOOST_TEST(PathGlob::parse("").error().text ==
             "reading --cgroup-flatten '': a glob cannot be empty");
  BOOST_TEST(PathGlob::parse("/[a").error().text ==
             "reading --cgroup-flatten '/[a': a '[' has no ']'");
  BOOST_TEST(PathGlob::parse("/a\\").error().text ==
             "reading --cgroup-flatten '/a\\': nothing follows the last '\\'");
}

// A naive matcher would need exponential time for this glob.
BOOST_AUTO_TEST_CASE(matches_globs_in_bounded_time) {
  std::string glob, path(4096, 'a');
  for (int i = 0; i < 40; ++i) glob += "a*";
  BOOST_TEST(!PathGlob::parse(glob + "b")->matches(path));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::name_pattern_test
