#include "core/render/stacks_json.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ctprof {
namespace {

class StacksWriter {
 public:
  StacksWriter(JsonPieces& json, const Report& report, const std::function<bool()>& has_room)
      : json_(&json), report_(&report), book_(&report.stacks()->book()), has_room_(&has_room) {}

  void write() {
    json_->key("stacks");
    json_->open('{');
    json_->key("groups");
    json_->open('[');
    tell(*report_, RowKind::Stacks, [&](const ReportRow& row) { take(row); });
    end_group();
    json_->close(']');
    write_functions();
    json_->number_member("groups_cut", report_->stacks()->cut());
    json_->close('}');
  }

 private:
  void take(const ReportRow& row) {
    if (row.kind == RowKind::Stacks) return begin_group(row);
    if (!group_) return;
    if (row.kind == RowKind::Stack) begin_stacks();
    if (!(*has_room_)()) return;
    row.kind == RowKind::Function ? write_function(*row.function) : write_stack(*row.stack);
  }

  void begin_group(const ReportRow& row) {
    end_group();
    if (!(*has_room_)()) return;
    group_ = {row.stacks->functions_cut, row.stacks->stacks_cut};
    json_->open_item();
    json_->text_member("metric", row.metric->name);
    json_->text_member("unit", unit_told(row.metric->unit));
    json_->key("per_second");
    json_->raw(row.per_second ? "true" : "false");
    write_group(*json_, row.group);
    numbers("weights", row.stacks->weights);
    json_->key("functions");
    json_->open('[');
  }

  void begin_stacks() {
    if (std::exchange(in_stacks_, true)) return;
    json_->close(']');
    json_->key("stacks");
    json_->open('[');
  }

  void end_group() {
    if (!group_) return;
    begin_stacks();
    json_->close(']');
    json_->number_member("functions_cut", group_->functions);
    json_->number_member("stacks_cut", group_->stacks);
    json_->close('}');
    group_.reset();
    in_stacks_ = false;
  }

  void write_function(const FunctionRow& row) {
    json_->open_item();
    json_->number_member("function", place_of(row.function));
    numbers("self", figures(row, &FunctionWeight::self));
    numbers("total", figures(row, &FunctionWeight::total));
    json_->key("evidence");
    json_->open('[');
    for (const auto& proof : row.proofs) write(proof);
    json_->close(']');
    json_->close('}');
  }

  void write(const std::optional<Proof>& proof) {
    json_->open_item();
    write_proof(*json_, proof, 1);
    json_->close('}');
  }

  void write_stack(const StackRow& row) {
    json_->open_item();
    json_->key("functions");
    json_->open('[');
    for (const std::uint32_t function : book_->functions_of(row.stack, book_->depth(row.stack))) {
      json_->comma();
      json_->number(place_of(function));
    }
    json_->close(']');
    numbers("weights", row.sides);
    json_->close('}');
  }

  void write_functions() {
    json_->key("functions");
    json_->open('[');
    for (const std::uint32_t number : told_) {
      const StackFunction& function = book_->functions()[number];
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

  std::uint64_t place_of(std::uint32_t function) {
    const auto [place, is_new] = places_.try_emplace(function, told_.size());
    if (is_new) told_.push_back(function);
    return place->second;
  }

  void numbers(std::string_view name, std::span<const double> sides) {
    json_->key(name);
    json_->open('[');
    for (const double side : sides) {
      json_->comma();
      json_->number(as_number(side));
    }
    json_->close(']');
  }

  struct Cut {
    std::size_t functions, stacks;
  };

  JsonPieces* json_;
  const Report* report_;
  const StackBook* book_;
  const std::function<bool()>* has_room_;
  std::optional<Cut> group_;  // of the current group
  bool in_stacks_ = false;
  std::unordered_map<std::uint32_t, std::uint64_t> places_;
  std::vector<std::uint32_t> told_;
};

}  // namespace

void write_stacks(JsonPieces& json, const Report& report, const std::function<bool()>& has_room) {
  StacksWriter(json, report, has_room).write();
}

}  // namespace ctprof
