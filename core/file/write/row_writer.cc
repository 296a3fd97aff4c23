#include "core/file/write/row_writer.hpp"

#include <bit>

namespace ctprof {
namespace {

constexpr std::size_t kMaxKnownSets = 1024;

std::string quoted_key(std::string_view key) {
  JsonWriter out;
  out.key(key);
  return std::string(out.view());
}

}  // namespace

RowWriter::RowWriter(const KeyNode& tree, std::span<const LeafContent> contents, const Pools& pools)
    : pools_(&pools) {
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
  step.key = PreparedJson(quoted_key(node.key) + '{');
  steps_.push_back(std::move(step));
  const std::size_t opened = steps_.size();
  add_members(node, contents);
  if (steps_.size() == opened) return steps_.pop_back();
  steps_.emplace_back().kind = Kind::Close;
}

void RowWriter::add_leaf(const KeyNode& node, const LeafContent& content) {
  const std::string key = quoted_key(node.key);
  if (!content.column && !content.mark && !content.kept_json) {
    if (!content.absent.empty()) add_literal(key + content.absent + ',');
    return;
  }
  Step& step = steps_.emplace_back();
  step.key = PreparedJson(key);
  step.content = &content;
  if (!content.absent.empty()) step.absent = PreparedJson(key + content.absent + ',');
  if (content.mark)
    step.kind = Kind::Mark;
  else if (content.kept_json)
    step.kind = Kind::Kept;
  else
    add_column(step);
}

void RowWriter::add_column(Step& step) {
  constexpr Kind kKinds[] = {Kind::U64,  Kind::I64,  Kind::F64, Kind::Bool,
                             Kind::Text, Kind::Bits, Kind::Map, Kind::Array};
  const Column& column = *step.content->column;
  step.kind = is_written_as_number(column.def())
                  ? Kind::ZeroOne
                  : kKinds[static_cast<std::size_t>(column.def().storage)];
  step.codes.emplace(column);
  step.is_direct = step.content->rows.empty() && !step.codes->depend_on_value();
  step.gaps = column.gaps().data();
  step.values = column.values_at(0);
}

void RowWriter::add_literal(const std::string& text) {
  if (steps_.empty() || steps_.back().kind != Kind::Literal) steps_.emplace_back();
  steps_.back().text += text;
}

void RowWriter::write(std::size_t row, JsonWriter& out) {
  out.put('{');
  write_members(row, out);
  out.close('}');
  out.put(',');
}

void RowWriter::write_members(std::size_t row, JsonWriter& out) {
  for (Step& step : steps_) run_step(step, row, out);
}

void RowWriter::run_step(Step& step, std::size_t row, JsonWriter& out) {
  switch (step.kind) {
    case Kind::Literal: return out.raw(step.text);
    case Kind::Open: open_objects_.push_back(out.size()); return step.key.write(out);
    case Kind::Close: return close(out);
    case Kind::Kept: return write_kept(step, row, out);
    case Kind::Mark:
      step.key.write(out);
      out.raw((*step.content->mark)[row] ? "true," : "false,");
      return;
    default: return write_cell(step, row, out);
  }
}

// Closes the innermost object, or removes it if it is empty.
void RowWriter::close(JsonWriter& out) {
  const std::size_t start = open_objects_.back();
  open_objects_.pop_back();
  if (out.view().back() == '{') return out.truncate(start);
  out.close('}');
  out.put(',');
}

void RowWriter::write_cell(const Step& step, std::size_t row, JsonWriter& out) {
  bool has_value = false;
  if (step.is_direct) {
    has_value = step.gaps[row] == CTPROF_VALUE;
  } else {
    if (!step.content->rows.empty()) row = step.content->rows[row];
    has_value = row != kNoRow && (*step.codes)[row] == CTPROF_VALUE;
  }
  if (!has_value) return step.absent.write(out);
  if (step.kind == Kind::U64)
    return out.member(step.key, static_cast<const std::uint64_t*>(step.values)[row]);
  step.key.write(out);
  write_value(step, row, out);
  out.put(',');
}

void RowWriter::write_value(const Step& step, std::size_t row, JsonWriter& out) {
  const auto id = [&] { return static_cast<const Id*>(step.values)[row]; };
  switch (step.kind) {
    case Kind::I64: return out.number(static_cast<const std::int64_t*>(step.values)[row]);
    case Kind::F64: return out.number(static_cast<const double*>(step.values)[row]);
    case Kind::Bool: return out.boolean(static_cast<const std::uint8_t*>(step.values)[row] != 0);
    case Kind::ZeroOne:
      return out.put(static_cast<const std::uint8_t*>(step.values)[row] ? '1' : '0');
    case Kind::Text: return out.text(pools_->texts[id()]);
    case Kind::Bits: return write_bits(id(), out);
    case Kind::Array: return write_array(id(), out);
    default: return write_map(id(), out);
  }
}

void RowWriter::write_bits(Id id, JsonWriter& out) {
  if (const auto known = known_sets_.find(id); known != known_sets_.end())
    return out.raw(known->second);
  const std::size_t start = out.size();
  const std::span<const std::uint64_t> words = pools_->words[id];
  out.put('[');
  for (std::size_t word = 0; word < words.size(); ++word)
    for (std::uint64_t left = words[word]; left != 0; left &= left - 1) {
      out.number(std::uint64_t{64 * word + static_cast<std::size_t>(std::countr_zero(left))});
      out.put(',');
    }
  out.close(']');
  if (known_sets_.size() < kMaxKnownSets) known_sets_.emplace(id, out.view().substr(start));
}

void RowWriter::write_array(Id id, JsonWriter& out) const {
  out.put('[');
  for (const std::uint64_t value : pools_->words[id]) {
    out.number(value);
    out.put(',');
  }
  out.close(']');
}

void RowWriter::write_map(Id id, JsonWriter& out) const {
  out.put('{');
  for (const ctprof_entry& entry : pools_->maps[id]) {
    out.key({entry.key.data, entry.key.size});
    out.number(entry.value);
    out.put(',');
  }
  out.close('}');
}

void RowWriter::write_kept(Step& step, std::size_t row, JsonWriter& out) const {
  const auto& pieces = *step.content->kept_json;
  while (step.next < pieces.size() && pieces[step.next].first < row) ++step.next;
  if (step.next == pieces.size() || pieces[step.next].first != row) return;
  step.key.write(out);
  out.raw(pieces[step.next].second);
  out.put(',');
}

}  // namespace ctprof
