// Tests expressions: results, missing inputs, units, and refused text.

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/expression/expression.hpp"
#include "core/expression/expression_parser.hpp"

namespace ctprof::expression_test {
namespace {

using Values = std::map<std::string, double>;

double evaluate_text(std::string_view text, const Values& values = {}) {
  const auto expression = Expression::parse(text);
  BOOST_REQUIRE_MESSAGE(expression, expression.error().text);
  std::vector<double> inputs;
  for (const auto& input : expression->inputs()) {
    const auto it = values.find(input.name);
    inputs.push_back(it == values.end() ? std::numeric_limits<double>::quiet_NaN() : it->second);
  }
  return expression->evaluate(inputs);
}

std::string refusal(std::string_view text) {
  const auto expression = Expression::parse(text);
  return expression ? "" : expression.error().text;
}

std::string unit_of(std::string_view text, const std::map<std::string, std::string>& units) {
  const auto expression = Expression::parse(text);
  std::vector<std::string> inputs;
  for (const auto& input : expression->inputs()) inputs.push_back(units.at(input.name));
  const auto found = expression->unit(inputs);
  return found ? *found : "no: " + found.error().text;
}

// Inputs that start with C are counters; all others are levels.
std::string kind_of(std::string_view text) {
  const auto expression = Expression::parse(text);
  BOOST_REQUIRE(expression);
  std::vector<FigureKind> inputs;
  for (const auto& input : expression->inputs())
    inputs.push_back(input.name.front() == 'C' ? FigureKind::Counter : FigureKind::Level);
  const auto found = expression->kind(inputs);
  if (!found) return found.error().text;
  constexpr const char* kWords[] = {"number", "counter", "level", "share"};
  return kWords[static_cast<std::size_t>(*found)];
}

BOOST_AUTO_TEST_SUITE(expression_test)

BOOST_AUTO_TEST_CASE(determines_counters_levels_and_shares) {
  for (const char* text : {"C + C2", "C - C2", "-C", "max(C, C2?)", "C * 2", "C / 1000", "C / L",
                           "C + 1", "C * (C2 / C3)", "C / (C2 / C3)", "C * (1 - C2 / C3)"})
    BOOST_TEST(kind_of(text) == "counter", text);
  for (const char* text : {"C / C2", "1 - C / C2", "(C - C2) / (C + C2?)", "100 * C / C2",
                           "(C / C2) / (C3 / C4)", "max(C / C2, 0)"})
    BOOST_TEST(kind_of(text) == "share", text);
  for (const char* text : {"L", "L + L2", "L / L2", "L * L2", "1 / L", "L * (C / C2)", "L - 5"})
    BOOST_TEST(kind_of(text) == "level", text);
  BOOST_TEST(kind_of("1 + 2") == "number");
}

BOOST_AUTO_TEST_CASE(refuses_results_that_depend_on_the_window_length) {
  BOOST_TEST(kind_of("C * L") ==
             "checking kinds of 'C * L': it multiplies a counter by a level, and the result "
             "depends on how long the counter has counted; use a ratio of counters");
  BOOST_TEST(kind_of("C * C2").find("multiplies a counter by a counter") != std::string::npos);
  BOOST_TEST(kind_of("C + L").find("combines a counter with a level") != std::string::npos);
  BOOST_TEST(kind_of("C - C2 / C3").find("combines a counter with a ratio") != std::string::npos);
  BOOST_TEST(kind_of("L / C").find("divides a level by a counter") != std::string::npos);
  BOOST_TEST(kind_of("1 / C").find("divides a number by a counter") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(evaluates_arithmetic) {
  BOOST_TEST(evaluate_text("1 + 2 * 3") == 7);
  BOOST_TEST(evaluate_text("(1 + 2) * 3") == 9);
  BOOST_TEST(evaluate_text("10 - 4 - 3") == 3);
  BOOST_TEST(evaluate_text("100 / 10 / 5") == 2);
  BOOST_TEST(evaluate_text("-2 * -3") == 6);
  BOOST_TEST(evaluate_text("max(1, 7.5, 3) - 0.5") == 7);
  BOOST_TEST(evaluate_text("a / (a + cgroup.cpu.usage_usec)",
                           {{"a", 1}, {"cgroup.cpu.usage_usec", 3}}) == 0.25);
}

BOOST_AUTO_TEST_CASE(propagates_missing_inputs) {
  BOOST_TEST(std::isnan(evaluate_text("a + b", {{"a", 1}})));
  BOOST_TEST(evaluate_text("a + b?", {{"a", 1}}) == 1);
  BOOST_TEST(evaluate_text("max(a?, b?)", {{"b", 4}}) == 4);
  BOOST_TEST(std::isnan(evaluate_text("a? + b?")));
  BOOST_TEST(std::isnan(evaluate_text("a / b", {{"a", 1}, {"b", 0}})));
  BOOST_TEST(std::isnan(evaluate_text("1 / (a / b)", {{"a", 1}, {"b", 0}})));
  BOOST_TEST(std::isnan(evaluate_text("a / (b - b)", {{"a", 1}, {"b", 5}})));
  BOOST_TEST(std::isnan(evaluate_text("max(a, b)", {{"b", 4}})));
  BOOST_TEST(std::isnan(evaluate_text("a? + a", {})));
  for (const char* text : {"a + b", "a - b", "a * b", "a / b", "max(a, b)", "max(c, a, b)"})
    for (const char* known : {"a", "b"})
      BOOST_TEST(std::isnan(evaluate_text(text, {{known, 4}, {"c", 1}})), text << " of " << known);
}

BOOST_AUTO_TEST_CASE(map_keys_may_contain_any_text) {
  for (const std::string key : {"Rss", "a,b", "[z]", "q\"", "a\\b]", ""}) {
    const std::string name = format_key_name("m", key);
    const auto found = split_key(name);
    BOOST_REQUIRE_MESSAGE(found, name);
    BOOST_TEST(found->key == key);
    BOOST_TEST(normalize_name(name) == name);
    BOOST_TEST(inputs_of(name) == std::vector{name}, boost::test_tools::per_element());
  }
  BOOST_TEST(normalize_name(R"(m["Rss"].pct)") == "m[Rss].pct");
  for (const char* other : {"m", "m[Rss", "m[\"Rss]", "m[Rss]x"}) BOOST_TEST(!split_key(other));
  const std::string_view names[] = {R"(a["],["])", "b[x,y]", "c[d", ""};
  BOOST_TEST(split_names(R"(a["],["],b[x,y],c[d,)") == names, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_map_key_is_part_of_the_input_name) {
  BOOST_TEST(evaluate_text("m[Rss] - m[8:0 a-b]", {{"m[Rss]", 9}, {"m[8:0 a-b]", 2}}) == 7);
  BOOST_TEST(evaluate_text("m[Rss]? + n?", {{"n", 3}}) == 3);
  BOOST_TEST(evaluate_text(R"(m["Rss"] - m["a]\"\\"])", {{"m[Rss]", 9}, {R"(m["a]\"\\"])", 2}}) ==
             7);
  BOOST_TEST(refusal("1 + m[Rss") ==
             "reading expression '1 + m[Rss': the '[' of this name has no ']' at character 5");
}

BOOST_AUTO_TEST_CASE(lists_each_input_once) {
  BOOST_TEST(inputs_of("a / (a + max(b?, c))") == (std::vector<std::string>{"a", "b", "c"}),
             boost::test_tools::per_element());
  BOOST_TEST(inputs_of("max(a").empty());
}

BOOST_AUTO_TEST_CASE(determines_units) {
  const std::map<std::string, std::string> units{
      {"t", "ns"}, {"u", "ns"}, {"n", "count"}, {"b", "bytes"}};
  BOOST_TEST(unit_of("t / n", units) == "ns");
  BOOST_TEST(unit_of("t / (t + u)", units) == "ratio");
  BOOST_TEST(unit_of("n / n", units) == "ratio");
  BOOST_TEST(unit_of("t + max(u, t) * 2", units) == "ns");
  BOOST_TEST(unit_of("t + 1", units) == "ns");
  BOOST_TEST(unit_of("3", units) == "none");
  BOOST_TEST(unit_of("t + b", units) ==
             "no: checking units of 't + b': 'ns' and 'bytes' are units that cannot be combined");
  BOOST_TEST(unit_of("n / t", units).starts_with("no: "));
  BOOST_TEST(unit_of("t * b", units).starts_with("no: "));
}

BOOST_AUTO_TEST_CASE(refusals_name_the_position) {
  BOOST_TEST(refusal("") ==
             "reading expression '': a name, a number or '(' was expected at character 1");
  BOOST_TEST(refusal("a b") == "reading expression 'a b': an operator was expected at character 3");
  BOOST_TEST(refusal("(a + b") == "reading expression '(a + b': ')' was expected at character 7");
  BOOST_TEST(refusal("max(a; b)") ==
             "reading expression 'max(a; b)': ',' or ')' was expected at character 6");
  BOOST_TEST(refusal("a + ") ==
             "reading expression 'a + ': a name, a number or '(' was expected at character 5");
  BOOST_TEST(refusal("a ** b") != "");
  BOOST_TEST(refusal("a < b") != "");
  BOOST_TEST(refusal("5e3") != "");
  BOOST_TEST(refusal(std::string(100'000, '(')) != "");
  BOOST_TEST(refusal(std::string(1000, '(')).ends_with("it is nested too deeply at character 65"));
  BOOST_TEST(refusal(std::string(1000, '-') + "1").find("too deeply") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::expression_test
