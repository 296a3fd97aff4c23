// Tests conditions: results, missing values, operand types, and refused text.

#include <boost/test/unit_test.hpp>
#include <map>
#include <string>

#include "core/expression/condition.hpp"
#include "core/expression/expression.hpp"

namespace ctprof::condition_test {
namespace {

using ValueType = Condition::ValueType;
using Value = Condition::Value;

const std::map<std::string, Value> kKnown{
    {"one", {ValueType::Number, 1}},
    {"two", {ValueType::Number, 2}},
    {"nice", {ValueType::Number, -5}},
    {"yes", {ValueType::Flag, 1}},
    {"no", {ValueType::Flag, 0}},
    {"comm", {ValueType::Text, 0, "nginx: worker"}},
    {"nothing", {ValueType::Text, 0, ""}},
    {"quoted", {ValueType::Text, 0, "a\"b\\c"}},
    {"cgroup", {ValueType::Text, 0, "/system.slice/a.service"}}};

bool is_condition_true(std::string_view text) {
  const auto condition = Condition::parse(text, "reading");
  BOOST_REQUIRE_MESSAGE(condition, condition.error().text);
  std::vector<Value> values;
  for (const auto& input : condition->inputs())
    values.push_back(kKnown.contains(input.name) ? kKnown.at(input.name) : Value{});
  return condition->is_true(values);
}

std::string refusal(std::string_view text) {
  const auto condition = Condition::parse(text, "reading --where");
  if (!condition) return condition.error().text;
  std::vector<ValueType> types;
  for (const auto& input : condition->inputs()) types.push_back(kKnown.at(input.name).type);
  const auto sound = condition->check(types);
  return sound ? "" : sound.error().text;
}

// Returns the names in each conjunct of a condition, each followed by + if it is true, else by -.
std::string conjuncts_of(std::string_view text) {
  const auto condition = Condition::parse(text, "reading");
  BOOST_REQUIRE_MESSAGE(condition, condition.error().text);
  std::string out;
  for (const Condition& part : condition->split_conjunction()) {
    std::vector<Value> values;
    for (const auto& input : part.inputs()) {
      values.push_back(kKnown.at(input.name));
      out += input.name + " ";
    }
    out += part.is_true(values) ? "+" : "-";
    BOOST_TEST(part.text() == text);
  }
  return out;
}

BOOST_AUTO_TEST_SUITE(condition_test)

BOOST_AUTO_TEST_CASE(splits_a_condition_at_its_conjunctions) {
  BOOST_TEST(conjuncts_of("one < 2") == "one +");
  BOOST_TEST(conjuncts_of(R"(one < 2 && comm =~ "^nginx" && !(two < one))") ==
             "one +comm +two one +");
  BOOST_TEST(conjuncts_of("two < one && (one == 1 && max(two, nice) == two * 1)") ==
             "two one -one +two nice +");
  BOOST_TEST(conjuncts_of(R"(cgroup under "/a" || one == 1 && two == 2)") == "cgroup one two +");
  BOOST_TEST(conjuncts_of("one == 1 && (two == 1 || nice == 1)") == "one +two nice -");
}

BOOST_AUTO_TEST_CASE(compares_numbers) {
  for (const char* text : {"one < 2", "one <= 1", "two > one", "two>=2", "nice == -5", "one != two",
                           "-nice == 5", "1 == 1", "one + two * 2 == 5", "max(one, two) / 2 == 1",
                           "(one + two) * 2 == 6", "two - one - one == 0"})
    BOOST_TEST(is_condition_true(text), text);
  for (const char* text :
       {"one < 1", "one <= 0", "one > two", "nice == 5", "one != 1", "one / (two - 2) == 0"})
    BOOST_TEST(!is_condition_true(text), text);
}

BOOST_AUTO_TEST_CASE(compares_texts) {
  for (const char* text : {R"(comm == "nginx: worker")", R"(comm != "nginx")", R"(nothing == "")",
                           R"(quoted == "a\"b\\c")", R"("nginx: worker" == comm)"})
    BOOST_TEST(is_condition_true(text), text);
  for (const char* text : {R"(comm == "nginx")", R"(comm != "nginx: worker")", R"(quoted == "ab")"})
    BOOST_TEST(!is_condition_true(text), text);
}

BOOST_AUTO_TEST_CASE(matches_patterns) {
  for (const char* text :
       {R"(comm =~ "^nginx")", R"(comm =~ "work")", R"(comm =~ "r$")",
        R"(comm =~ "^(apache|nginx): \w+$")", R"(comm =~ "")", R"(nothing =~ "^$")",
        R"(quoted =~ "\"")", R"(quoted =~ "\\c$")", R"(cgroup =~ "\.slice/")"})
    BOOST_TEST(is_condition_true(text), text);
  for (const char* text : {R"(comm =~ "^worker")", R"(comm =~ "nginx$")",
                           R"(cgroup =~ "systemX.slice")", R"(nothing =~ ".")"})
    BOOST_TEST(!is_condition_true(text), text);
}

BOOST_AUTO_TEST_CASE(tests_cgroup_paths) {
  for (const char* text : {R"(cgroup under "/system.slice")", R"(cgroup under "/system.slice/")",
                           R"(cgroup under "/")", R"(cgroup under "/system.slice/a.service")"})
    BOOST_TEST(is_condition_true(text), text);
  for (const char* text : {R"(cgroup under "/system")",
                           R"(cgroup under "/system.slice/a.service/b")", R"(nothing under "/")"})
    BOOST_TEST(!is_condition_true(text), text);
}

BOOST_AUTO_TEST_CASE(evaluates_logical_operators) {
  for (const char* text :
       {"one == 1 && two == 2", "one == 2 || two == 2", "!(one == 2)", "!!(one == 1)",
        "one == 1 || one == 2 && two == 3", "!(one == 1) || two == 2", "one==1&&!(two==1)"})
    BOOST_TEST(is_condition_true(text), text);
  for (const char* text :
       {"one == 1 && two == 3", "(one == 1 || one == 2) && two == 3", "!(one == 1)"})
    BOOST_TEST(!is_condition_true(text), text);
}

BOOST_AUTO_TEST_CASE(a_missing_value_makes_a_comparison_false) {
  for (const char* text :
       {"gone == 1", "gone != 1", "gone < 1", "gone == gone", "gone + one > 0", "gone =~ \"\"",
        "gone == \"\"", "gone != \"x\"", "gone under \"/\"", "max(gone, one) == 1",
        // A name that also occurs without ? is required.
        "gone + gone? == 0", "gone? + gone == 0"})
    BOOST_TEST(!is_condition_true(text), text);
  for (const char* text :
       {"gone? == 0", "gone? + one == 1", "!(gone == 1)", "gone == 1 || one == 1"})
    BOOST_TEST(is_condition_true(text), text);
}

BOOST_AUTO_TEST_CASE(evaluates_boolean_names_without_an_operator) {
  for (const char* text :
       {"yes", "yes && nice < 0", "no || yes", "!(no)", "yes == 1", "no + 1 > no"})
    BOOST_TEST(is_condition_true(text), text);
  for (const char* text : {"no", "gone", "yes && gone", "!(yes)", "yes == 0"})
    BOOST_TEST(!is_condition_true(text), text);
  BOOST_TEST(refusal("yes && no == 0") == "");
  BOOST_TEST(refusal("yes =~ \"1\"").ends_with("'=~' needs a text on its left"));
}

BOOST_AUTO_TEST_CASE(refuses_operands_of_different_types) {
  BOOST_TEST(refusal("one") == "reading --where 'one': it is a value, not a condition");
  BOOST_TEST(refusal("one + 1") == "reading --where 'one + 1': it is a value, not a condition");
  BOOST_TEST(refusal("comm == 1") ==
             "reading --where 'comm == 1': '==' needs two numbers or two texts");
  BOOST_TEST(refusal("comm < \"x\"") ==
             "reading --where 'comm < \"x\"': '<' needs a number on either side");
  BOOST_TEST(refusal("comm + 1 == 2").ends_with("'+' needs a number on either side"));
  BOOST_TEST(refusal("one =~ \"1\"").ends_with("'=~' needs a text on its left"));
  BOOST_TEST(refusal("one under \"/\"").ends_with("'under' needs a text on its left"));
  BOOST_TEST(refusal("one && two").ends_with("'&&' needs a condition on either side"));
  BOOST_TEST(refusal("one < two < 3").ends_with("'<' needs a number on either side"));
  BOOST_TEST(refusal("!one == 1").ends_with("'!' needs a condition after it, in parentheses"));
  BOOST_TEST(refusal("-comm == 1").ends_with("'-' needs a number after it"));
  BOOST_TEST(refusal("max(comm, 1) == 1").ends_with("'max' needs numbers"));
  BOOST_TEST(
      refusal("comm? == \"x\"").ends_with("'comm' is a text, which '?' cannot replace by zero"));
  BOOST_TEST(refusal("one == 1") == "");
}

BOOST_AUTO_TEST_CASE(refusals_name_the_position) {
  BOOST_TEST(refusal("") ==
             "reading --where '': a name, a number, a text or '(' was expected at character 1");
  BOOST_TEST(refusal("one = 1") ==
             "reading --where 'one = 1': '=' is not an operator; use == at character 5");
  BOOST_TEST(refusal("comm == \"x") ==
             "reading --where 'comm == \"x': the text that begins here has no closing quote at "
             "character 9");
  BOOST_TEST(refusal("comm == \"x\\\"") != "");
  BOOST_TEST(
      refusal("comm =~ x").ends_with("a pattern in double quotes was expected at character 9"));
  BOOST_TEST(
      refusal("comm =~ \"[x\"").ends_with("invalid pattern (a '[' has no ']') at character 9"));
  BOOST_TEST(refusal("comm =~ \"a)(b\"").find("a parenthesis is unmatched") != std::string::npos);
  BOOST_TEST(
      refusal("cgroup under \"x\"")
          .ends_with("a path in double quotes that begins with / was expected at character 14"));
  BOOST_TEST(refusal("comm undertaker \"x\"").ends_with("an operator was expected at character 6"));
  BOOST_TEST(refusal("(one == 1") != "");
  BOOST_TEST(refusal("one == 1 &&") != "");
  BOOST_TEST(refusal("comm == 'x'") != "");
  BOOST_TEST(refusal(std::string(1000, '!') + "(one == 1)").find("too deeply") !=
             std::string::npos);
}

// Formulas in files keep their syntax; condition operators are not part of it.
BOOST_AUTO_TEST_CASE(formulas_reject_condition_operators) {
  for (const char* text :
       {"a < b", "a == b", "a && b", "!a", "\"x\"", "a =~ \"x\"", "a under \"/\"", "max(a, b) > 1"})
    BOOST_TEST(!Expression::parse(text), text);
  BOOST_TEST(inputs_of("under + underworld").size() == 2);
}

// A matcher with backtracking would exceed the time limit of the test.
BOOST_AUTO_TEST_CASE(matches_every_pattern_in_bounded_time) {
  const std::string name = std::string(4096, 'a') + "b";
  for (const char* pattern : {"(a+)+$", "(a|aa)+$", "(a|a)*c$", "(.*a){20}c", "((a*)*)*c"}) {
    const auto parsed = Pattern::parse(pattern);
    BOOST_REQUIRE_MESSAGE(parsed, pattern);
    BOOST_TEST(!parsed->matches(name), pattern);
  }
  BOOST_TEST(Pattern::parse("((a{100}){100}){100}").error().text ==
             "a count in braces is invalid or too large");
  BOOST_TEST(Pattern::parse(std::string(5000, '(')).error().text == "it is too long");
}

BOOST_AUTO_TEST_CASE(refused_patterns_name_the_reason) {
  const auto cause = [](std::string_view text) {
    const auto parsed = Pattern::parse(text);
    return parsed ? std::string() : parsed.error().text;
  };
  BOOST_TEST(cause("(a)\\1").ends_with("back-references are not supported"));
  BOOST_TEST(cause("(?=.*a)b").ends_with("for example lookahead"));
  BOOST_TEST(cause("[z-a]") == "a range or class of characters is invalid");
  BOOST_TEST(cause("a)(b") == "a parenthesis is unmatched");
  BOOST_TEST(cause("*a") == "there is nothing to repeat");
  BOOST_TEST(cause("a**") == "a repetition is repeated");
  BOOST_TEST(cause("a\\") == "it ends with a backslash");
  BOOST_TEST(cause("x{2,322222222222222222222222}") == "");  // literal: the count is too large
  BOOST_TEST(cause("x{2,3222}") == "a count in braces is invalid or too large");
}

BOOST_AUTO_TEST_CASE(compares_names_as_bytes) {
  BOOST_TEST(Pattern::parse("^a.b$")->matches("a\nb"));
  BOOST_TEST(
      Pattern::parse("^a.b$")->matches("a\xff"
                                       "b"));
  BOOST_TEST(Pattern::parse("\xc3\xa4")->matches("B\xc3\xa4r"));
  BOOST_TEST(!Pattern::parse("^worker-[0-9]+$")->matches("worker-x1"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::condition_test
