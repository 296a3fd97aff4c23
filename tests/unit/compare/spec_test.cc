// Tests parsing of user input: sort keys, lists of names, grouping keys, and the messages for
// invalid input.

#include <boost/test/unit_test.hpp>

#include "core/base/text.hpp"
#include "core/compare/request/spec.hpp"

namespace ctprof::spec_test {
namespace {

std::string sort_refusal(std::string_view text, ReportKind kind = ReportKind::Compare) {
  const auto keys = parse_sort(text, kind);
  return keys ? "" : keys.error().text;
}

BOOST_AUTO_TEST_SUITE(spec_test)

BOOST_AUTO_TEST_CASE(parses_sort_keys) {
  const auto keys = parse_sort(" run_time_ns : ASC , name,pct:asc,delta", ReportKind::Compare);
  BOOST_REQUIRE(keys);
  BOOST_REQUIRE(keys->size() == 4);
  BOOST_TEST(((*keys)[0].by == SortKey::Criterion::Metric && (*keys)[0].metric == "run_time_ns" &&
              (*keys)[0].ascending));
  BOOST_TEST(((*keys)[1].by == SortKey::Criterion::Name && (*keys)[1].ascending));
  BOOST_TEST(((*keys)[2].by == SortKey::Criterion::Percent && (*keys)[2].ascending));
  BOOST_TEST(((*keys)[3].by == SortKey::Criterion::Delta && !(*keys)[3].ascending));
}

BOOST_AUTO_TEST_CASE(refuses_invalid_sort_keys) {
  BOOST_TEST(sort_refusal("a,,b") == "reading --sort-by 'a,,b': an entry is empty");
  BOOST_TEST(sort_refusal("") == "reading --sort-by '': an entry is empty");
  BOOST_TEST(sort_refusal(":asc") == "reading --sort-by ':asc': an entry is empty");
  BOOST_TEST(sort_refusal("a:up") ==
             "reading --sort-by 'a:up': the direction 'up' is neither asc nor desc");
  BOOST_TEST(sort_refusal("a:asc:desc") != "");
  BOOST_TEST(sort_refusal("a,b,a:asc") == "reading --sort-by 'a,b,a:asc': 'a' is repeated");
  BOOST_TEST(sort_refusal("movers,movers") != "");
  BOOST_TEST(sort_refusal("pct", ReportKind::Show) ==
             "reading --sort-by 'pct': 'pct' needs two files; show sorts by name or by a metric");
  BOOST_TEST(sort_refusal("name:desc", ReportKind::Show) == "");
}

BOOST_AUTO_TEST_CASE(parses_lists_of_names) {
  const auto names = parse_names("a, b ,c", "metrics");
  BOOST_REQUIRE(names);
  BOOST_TEST(*names == (std::vector<std::string>{"a", "b", "c"}), boost::test_tools::per_element());
  BOOST_TEST(parse_names("a,", "metrics").error().text ==
             "reading --metrics 'a,': an entry is empty");
  BOOST_TEST(parse_names("a,b,a", "metrics").error().text ==
             "reading --metrics 'a,b,a': 'a' is repeated");
}

BOOST_AUTO_TEST_CASE(parses_grouping_keys) {
  for (const std::string_view word : {"pcomm", "comm-exact"}) {
    const auto by = parse_group_by(word);
    BOOST_REQUIRE(by);
    BOOST_TEST(axis_word({.group_by = *by}) == word);
  }
  BOOST_TEST((*parse_group_by("acme.image") == GroupBy::ProcessText));
  BOOST_TEST(parse_group_by("pcom").error().text ==
             "reading --group-by 'pcom': it is neither one of pcomm, cgroup, comm, comm-exact, "
             "all, pid, service, tree, nor a text metric of a process (did you mean 'pcomm'?)");
}

BOOST_AUTO_TEST_CASE(suggests_the_nearest_name) {
  const std::vector<std::string> names{"run_time_ns", "wait_time_ns", "nr_migrations"};
  BOOST_TEST(suggest_nearest("nr_migration", names) == " (did you mean 'nr_migrations'?)");
  BOOST_TEST(suggest_nearest("run_time", names) == " (did you mean 'run_time_ns'?)");
  BOOST_TEST(suggest_nearest("color", names) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::spec_test
