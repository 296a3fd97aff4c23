// ctprof fleet parse: prints an expression as a tree, so that another program can compute it.

#include <cstddef>
#include <span>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/expression/tree.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

std::string_view operator_word(Op op) {
  switch (op) {
    case Op::Add: return "+";
    case Op::Subtract:
    case Op::Negate: return "-";
    case Op::Multiply: return "*";
    case Op::Divide: return "/";
    default: return "max";
  }
}

class TreeWriter {
 public:
  TreeWriter(const ExpressionTree& tree, JsonWriter& out) : tree_(&tree), out_(&out) {}

  void write() { write(tree_->nodes.size() - 1); }

 private:
  void write(std::size_t at) {
    const ExpressionNode& node = tree_->nodes[at];
    out_->put('{');
    if (node.op == Op::Number) {
      out_->key("number");
      out_->number(node.number);
    } else if (node.op == Op::Input) {
      out_->member("metric", tree_->inputs[node.input].name);
      out_->key("optional");
      out_->boolean(tree_->inputs[node.input].optional);
    } else {
      out_->member("op", operator_word(node.op));
      out_->key("of");
      out_->put('[');
      for (const std::size_t operand : node.operands) {
        write(operand);
        out_->put(',');
      }
      out_->close(']');
    }
    out_->close('}');
  }

  const ExpressionTree* tree_;
  JsonWriter* out_;
};

}  // namespace

int run_fleet_parse(std::span<const char* const> words) {
  if (words.size() != 1) return fail("fleet parse takes one expression");
  const auto tree = parse_tree(words.front());
  if (!tree) return fail(tree.error());
  JsonWriter out(Escape::Unprintable);
  out.put('{');
  out.key("expression");
  TreeWriter(*tree, out).write();
  out.raw(",\"metrics\":[");
  for (const Program::Input& input : tree->inputs) {
    out.text(input.name);
    out.put(',');
  }
  out.close(']');
  out.close('}');
  out.put('\n');
  return print(out.view());
}

}  // namespace ctprof::cli
