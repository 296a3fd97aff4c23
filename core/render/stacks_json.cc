#include "core/render/stacks_json.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ctprof {
namespace {

class StacksWriter {
 public:
  StacksWriter(JsonBuilder& json, const Report& report, const std::function<bool()>& may_write_row)
      : json_(&json),
        report_(&report),
        common_(&report.stacks()->common_stacks()),
        may_write_row_(&may_write_row) {}

  void write() {
    json_->key("stacks");
    json_->open('{');
    if (report_->stacks()->is_by_share()) json_->flag_member("by_share", true);
    json_->key("groups");
    json_->open('[');
    visit_stacks(*report_, [&](const MetricRow& row, const StackGroup& group) {
      if ((*may_write_row_)()) write_group_of_stacks(row, group);
    });
    json_->close(']');
    write_functions();
    json_->number_member("groups_cut", report_->stacks()->groups_over_limit());
    json_->close('}');
  }

 private:
  void write_group_of_stacks(const MetricRow& row, const StackGroup& group) {
    json_->open_item();
    json_->text_member("metric", row.metric->name);
    json_->text_member("unit", get_output_unit(row.metric->unit));
    json_->key("per_second");
    json_->raw(row.is_per_second ? "true" : "false");
    write_group(*json_, row.group);
    write_numbers("weights", group.weights);
    json_->key("functions");
    json_->open('[');
    for (const FunctionRow& function : group.functions)
      if ((*may_write_row_)()) write_function(function);
    json_->close(']');
    json_->key("stacks");
    json_->open('[');
    for (const StackRow& stack : group.stacks)
      if ((*may_write_row_)()) write_stack(stack);
    json_->close(']');
    json_->number_member("functions_cut", group.functions_over_limit);
    json_->number_member("stacks_cut", group.stacks_over_limit);
    json_->close('}');
  }

  void write_function(const FunctionRow& row) {
    json_->open_item();
    json_->number_member("function", find_or_add_function(row.function));
    write_numbers("self", figures(row, &FunctionWeight::self));
    write_numbers("total", figures(row, &FunctionWeight::total));
    json_->key("evidence");
    json_->open('[');
    for (const auto& test_result : row.test_results) write_test_result_item(test_result);
    json_->close(']');
    json_->close('}');
  }

  void write_test_result_item(const std::optional<RowTestResult>& proof) {
    json_->open_item();
    write_test_result(*json_, proof, 1);
    json_->close('}');
  }

  void write_stack(const StackRow& row) {
    json_->open_item();
    json_->key("functions");
    json_->open('[');
    for (const std::uint32_t function :
         common_->functions_of(row.stack, common_->depth(row.stack))) {
      json_->comma();
      json_->number(find_or_add_function(function));
    }
    json_->close(']');
    write_numbers("weights", row.sides);
    json_->close('}');
  }

  void write_functions() {
    json_->key("functions");
    json_->open('[');
    for (const std::uint32_t number : functions_) {
      const StackFunction& function = common_->functions()[number];
      json_->open_item();
      json_->key("name");
      function.name.empty() ? json_->raw("null") : json_->text(function.name);
      json_->text_member("module", function.module);
      json_->key("offset");
      function.name.empty() ? json_->number(function.offset) : json_->raw("null");
      json_->key("guessed");
      json_->raw(function.is_guessed ? "true" : "false");
      json_->close('}');
    }
    json_->close(']');
  }

  std::uint64_t find_or_add_function(std::uint32_t function) {
    const auto [index, is_new] = function_indexes_.try_emplace(function, functions_.size());
    if (is_new) functions_.push_back(function);
    return index->second;
  }

  void write_numbers(std::string_view name, std::span<const double> sides) {
    json_->key(name);
    json_->open('[');
    for (const double side : sides) {
      json_->comma();
      json_->number(as_number(side));
    }
    json_->close(']');
  }

  JsonBuilder* json_;
  const Report* report_;
  const CommonStacks* common_;
  const std::function<bool()>* may_write_row_;
  std::unordered_map<std::uint32_t, std::uint64_t> function_indexes_;
  std::vector<std::uint32_t> functions_;
};

}  // namespace

void write_stacks(JsonBuilder& json, const Report& report,
                  const std::function<bool()>& may_write_row) {
  StacksWriter(json, report, may_write_row).write();
}

}  // namespace ctprof
