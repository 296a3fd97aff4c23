#include "core/file/row_writer.hpp"

#include <bit>

namespace ctprof {
namespace {

constexpr std::size_t kMostSetsKept = 1024;

std::string quoted_key(std::string_view key) {
  JsonOut out;
  out.key(key);
  return std::string(out.view());
}

}  // namespace

RowWriter::RowWriter(const KeyNode& tree, std::span<const LeafContent> contents, const Pools& pools) : pools_(&pools) {
  add_members(tree, contents);
}

void RowWriter::add_members(const KeyNode& node, std::span<const LeafContent> contents) {
  for (const KeyNode& child : node.children)
    if (child.is_leaf())
      add_leaf(child, contents[child.leaf]);
    else
      add_object(child, contents);
}

void RowWriter::add_object(const KeyNode& node, std::span<const LeafContent> contents) {
  Step step;
  step.kind = Kind::Open;
  step.text = quoted_key(node.key) + '{';
  steps_.push_back(std::move(step));
  const std::size_t opened = steps_.size();
  add_members(node, contents);
  if (steps_.size() == opened) return steps_.pop_back();
  steps_.emplace_back().kind = Kind::Close;
}

void RowWriter::add_leaf(const KeyNode& node, const LeafContent& content) {
  const std::string key = quoted_key(node.key);
  if (!content.column && !content.mark && !content.kept) {
    if (!content.absent.empty()) add_literal(key + content.absent + ',');
    return;
  }
  Step& step = steps_.emplace_back();
  step.text = key;
  step.content = &content;
  if (!content.absent.empty()) step.absent = content.absent + ',';
  if (content.mark) return void(step.kind = Kind::Mark);
  if (content.kept) return void(step.kind = Kind::Kept);
  constexpr Kind kKinds[] = {Kind::U64, Kind::I64, Kind::F64, Kind::Bool, Kind::Text, Kind::Bits, Kind::Map, Kind::Array};
  step.kind = is_number(content.column->def()) ? Kind::ZeroOne : kKinds[static_cast<std::size_t>(content.column->def().storage)];
  step.codes.emplace(*content.column);
}

void RowWriter::add_literal(const std::string& text) {
  if (steps_.empty() || steps_.back().kind != Kind::Literal) steps_.emplace_back();
  steps_.back().text += text;
}

void RowWriter::write(std::size_t row, JsonOut& out) {
  out.put('{');
  write_members(row, out);
  out.close('}');
  out.put(',');
}

void RowWriter::write_members(std::size_t row, JsonOut& out) {
  for (Step& step : steps_) run(step, row, out);
}

void RowWriter::run(Step& step, std::size_t row, JsonOut& out) {
  switch (step.kind) {
    case Kind::Literal: return out.raw(step.text);
    case Kind::Open: open_.push_back(out.size()); return out.raw(step.text);
    case Kind::Close: return close(out);
    case Kind::Kept: return write_kept(step, row, out);
    case Kind::Mark:
      out.raw(step.text);
      out.raw((*step.content->mark)[row] ? "true," : "false,");
      return;
    default: return write_cell(step, row, out);
  }
}

// Ends the innermost object, or takes it back if it is empty.
void RowWriter::close(JsonOut& out) {
  const std::size_t began = open_.back();
  open_.pop_back();
  if (out.view().back() == '{') return out.rewind(began);
  out.close('}');
  out.put(',');
}

void RowWriter::write_cell(const Step& step, std::size_t row, JsonOut& out) {
  const auto rows = step.content->rows;
  if (!rows.empty()) row = rows[row];
  if (row != kNoRow && (*step.codes)[row] == CTPROF_VALUE) {
    out.raw(step.text);
    write_value(step, row, out);
    return out.put(',');
  }
  if (step.absent.empty()) return;
  out.raw(step.text);
  out.raw(step.absent);
}

void RowWriter::write_value(const Step& step, std::size_t row, JsonOut& out) {
  const Column& column = *step.content->column;
  switch (step.kind) {
    case Kind::U64: return out.number(column.u64()[row]);
    case Kind::I64: return out.number(column.i64()[row]);
    case Kind::F64: return out.number(column.f64()[row]);
    case Kind::Bool: return out.boolean(column.bools()[row] != 0);
    case Kind::ZeroOne: return out.put(column.bools()[row] ? '1' : '0');
    case Kind::Text: return out.text(pools_->texts[column.ids()[row]]);
    case Kind::Bits: return write_bits(column.ids()[row], out);
    case Kind::Array: return write_array(column.ids()[row], out);
    default: return write_map(column.ids()[row], out);
  }
}

void RowWriter::write_bits(Id id, JsonOut& out) {
  if (const auto known = bits_.find(id); known != bits_.end()) return out.raw(known->second);
  const std::size_t began = out.size();
  const std::span<const std::uint64_t> words = pools_->words[id];
  out.put('[');
  for (std::size_t word = 0; word < words.size(); ++word)
    for (std::uint64_t left = words[word]; left != 0; left &= left - 1) {
      out.number(std::uint64_t{64 * word + static_cast<std::size_t>(std::countr_zero(left))});
      out.put(',');
    }
  out.close(']');
  if (bits_.size() < kMostSetsKept) bits_.emplace(id, out.view().substr(began));
}

void RowWriter::write_array(Id id, JsonOut& out) const {
  out.put('[');
  for (const std::uint64_t value : pools_->words[id]) {
    out.number(value);
    out.put(',');
  }
  out.close(']');
}

void RowWriter::write_map(Id id, JsonOut& out) const {
  out.put('{');
  for (const ctprof_entry& entry : pools_->maps[id]) {
    out.key({entry.key.data, entry.key.size});
    out.number(entry.value);
    out.put(',');
  }
  out.close('}');
}

void RowWriter::write_kept(Step& step, std::size_t row, JsonOut& out) const {
  const auto& pieces = *step.content->kept;
  while (step.next < pieces.size() && pieces[step.next].first < row) ++step.next;
  if (step.next == pieces.size() || pieces[step.next].first != row) return;
  out.raw(step.text);
  out.raw(pieces[step.next].second);
  out.put(',');
}

}  // namespace ctprof
