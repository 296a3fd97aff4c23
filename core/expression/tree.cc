#include "core/expression/tree.hpp"

#include <utility>

#include "core/expression/expression_parser.hpp"

namespace ctprof {
namespace {

std::size_t pop(std::vector<std::size_t>& stack) {
  const std::size_t top = stack.back();
  stack.pop_back();
  return top;
}

// Pops the node's operands from the stack.
ExpressionNode make_node(const Program::Instruction& instruction,
                         const std::vector<ExpressionNode>& nodes,
                         std::vector<std::size_t>& stack) {
  ExpressionNode node{instruction.op, instruction.number, instruction.index, {}};
  if (node.op == Op::Number || node.op == Op::Input) return node;
  const std::size_t last = pop(stack);
  if (node.op != Op::Negate) {
    // "a - b - c" is one operator with three operands.
    const std::size_t first = pop(stack);
    node.operands = nodes[first].op == node.op ? nodes[first].operands : std::vector{first};
  }
  node.operands.push_back(last);
  return node;
}

}  // namespace

Result<ExpressionTree> parse_tree(std::string_view text) {
  CTPROF_TRY_VALUE(auto program,
                   ExpressionParser(text, Grammar::Formula).parse("reading expression"));
  ExpressionTree tree{std::move(program.inputs), {}};
  std::vector<std::size_t> stack;
  for (const Program::Instruction& instruction : program.instructions) {
    ExpressionNode node = make_node(instruction, tree.nodes, stack);
    stack.push_back(tree.nodes.size());
    tree.nodes.push_back(std::move(node));
  }
  return tree;
}

}  // namespace ctprof
