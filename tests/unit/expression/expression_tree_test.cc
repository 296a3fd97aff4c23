// Tests expressions as trees, for evaluation in other programs.

#include <boost/test/unit_test.hpp>
#include <string>

#include "core/expression/tree.hpp"

namespace ctprof::expression_tree_test {
namespace {

std::string operator_text(Op op) {
  switch (op) {
    case Op::Negate: return "neg";
    case Op::Add: return "+";
    case Op::Subtract: return "-";
    case Op::Multiply: return "*";
    case Op::Divide: return "/";
    default: return "max";
  }
}

std::string tree_text(const ExpressionTree& tree, std::size_t at) {
  const ExpressionNode& node = tree.nodes[at];
  if (node.op == Op::Number) return std::to_string(static_cast<int>(node.number));
  if (node.op == Op::Input)
    return tree.inputs[node.input].name + (tree.inputs[node.input].optional ? "?" : "");
  std::string text = "(" + operator_text(node.op);
  for (const std::size_t operand : node.operands) text += " " + tree_text(tree, operand);
  return text + ")";
}

std::string tree_text(std::string_view text) {
  const auto tree = parse_tree(text);
  return tree ? tree_text(*tree, tree->nodes.size() - 1) : tree.error().text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(expression_tree_test)

BOOST_AUTO_TEST_CASE(merges_equal_operators_into_one_node) {
  BOOST_TEST(tree_text("a + b + c") == "(+ a b c)");
  BOOST_TEST(tree_text("a - b - c + d") == "(+ (- a b c) d)");
  BOOST_TEST(tree_text("a - (b - c)") == "(- a (- b c))");
  BOOST_TEST(tree_text("max(a, b?, 2)") == "(max a b? 2)");
  BOOST_TEST(tree_text("a / b * c") == "(* (/ a b) c)");
  BOOST_TEST(tree_text("-a * 3") == "(* (neg a) 3)");
  BOOST_TEST(tree_text("7") == "7");
}

BOOST_AUTO_TEST_CASE(reports_errors_like_any_expression) {
  BOOST_TEST(tree_text("a +").ends_with("at character 4"));
  BOOST_TEST(tree_text("a < 2").find("operator") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(lists_each_name_once) {
  const auto tree = parse_tree("a * b + a");
  BOOST_TEST_REQUIRE(tree.has_value());
  BOOST_TEST(tree->inputs.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::expression_tree_test
