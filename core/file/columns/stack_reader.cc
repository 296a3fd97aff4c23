#include <algorithm>
#include <utility>

#include "core/base/text.hpp"
#include "core/file/columns/stack_lines.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof::columns {
namespace {

using Numbers = std::vector<std::uint64_t>;
using Texts = std::vector<std::string>;

Error line_error(const std::string& what) { return {"is wrong: " + what}; }

Error repeated_item_error(std::string_view part, std::size_t number) {
  return line_error(std::string(part) + " " + std::to_string(number) +
                    " is repeated, or exceeds the possible number");
}

Error unknown_reference_error(std::string_view part, std::uint64_t number) {
  return line_error("it refers to " + std::string(part) + " " + std::to_string(number) +
                    ", which is not defined yet");
}

void read_numbers(Scanner& in, Numbers& numbers) {
  for (in.enter('['); in.next(']'); numbers.push_back(in.number()))
    if (numbers.size() == limits::kItems) return in.fail("too many items for one line");
}

void read_texts(Scanner& in, Texts& texts) {
  for (in.enter('['); in.next(']'); texts.emplace_back(in.text()))
    if (texts.size() == limits::kItems) return in.fail("too many items for one line");
}

// Reads texts that are not UTF-8, by the number of their item.
void read_raw(Scanner& in, std::vector<std::pair<std::uint64_t, std::string>>& raw) {
  for (in.enter('['); in.next(']');) {
    in.enter('[');
    const std::uint64_t number = in.next(']') ? in.number() : 0;
    const auto bytes = in.next(']') ? from_hex(in.text()) : std::nullopt;
    if (!bytes || in.next(']') || raw.size() == limits::kItems)
      return in.fail("a pair of a number and bytes in hexadecimal was expected");
    raw.emplace_back(number, *bytes);
  }
}

}  // namespace

// The members of one line.
struct StackReader::Items {
  std::string kind, part, metric;
  std::uint64_t first = 0;
  Texts text, type, build_id;
  Numbers path, process, shift, module, offset, guessed, inlined, name, parent, frame, row, node,
      weight;
  std::vector<std::pair<std::uint64_t, std::string>> raw;

  static constexpr std::pair<std::string_view, Texts Items::*> kTexts[] = {
      {"text", &Items::text}, {"type", &Items::type}, {"build_id", &Items::build_id}};
  static constexpr std::pair<std::string_view, Numbers Items::*> kNumbers[] = {
      {"path", &Items::path},       {"process", &Items::process}, {"shift", &Items::shift},
      {"module", &Items::module},   {"offset", &Items::offset},   {"guessed", &Items::guessed},
      {"inlined", &Items::inlined}, {"name", &Items::name},       {"parent", &Items::parent},
      {"frame", &Items::frame},     {"row", &Items::row},         {"node", &Items::node},
      {"weight", &Items::weight}};

  void read(Scanner& in) {
    for (in.enter('{'); in.next('}');) read_member(in, std::string(in.key()));
    if (!in.has_failed() && !in.at_end()) in.fail("more than one value");
  }

  std::size_t text_bytes() const {
    std::size_t bytes = 0;
    for (const Texts* texts : {&text, &build_id})
      for (const std::string& each : *texts) bytes += each.size();
    for (const auto& [number, exact] : raw) bytes += exact.size();
    return bytes;
  }

 private:
  void read_member(Scanner& in, const std::string& key) {
    for (const auto& [word, texts] : kTexts)
      if (key == word) return read_once(in, key, this->*texts, read_texts);
    for (const auto& [word, numbers] : kNumbers)
      if (key == word) return read_once(in, key, this->*numbers, read_numbers);
    if (key == "raw") return read_once(in, key, raw, read_raw);
    if (key == "first") return void(first = in.number());
    for (const auto& [word, text] :
         {std::pair{"kind", &kind}, {"part", &part}, {"metric", &metric}})
      if (key == word) return void(*text = in.text());
    in.skip();
  }

  template <class List>
  void read_once(Scanner& in, const std::string& key, List& list, void (*read)(Scanner&, List&)) {
    if (!list.empty()) return in.fail("'" + key + "' is repeated");
    read(in, list);
  }
};

// Describes one kind of part: its name, how many items have been read, how many a line adds, and
// the function that adds them.
struct StackReader::Part {
  std::string_view name;
  std::size_t (*items_read)(const StackReader& reader);
  std::size_t (*count_items)(const Items& items);  // SIZE_MAX: the lists differ in length
  AddItems add;
};

namespace {

template <class... Lists>
std::size_t common_size(const Lists&... lists) {
  const std::size_t sizes[] = {lists.size()...};
  return std::ranges::count(sizes, sizes[0]) == std::ssize(sizes) ? sizes[0] : SIZE_MAX;
}

}  // namespace

const std::array<StackReader::Part, 5> StackReader::kParts{{
    {"strings", [](const StackReader& reader) { return reader.strings_.size(); },
     [](const Items& items) { return items.text.size(); }, &StackReader::add_strings},
    {"modules", [](const StackReader& reader) { return reader.table().modules().size(); },
     [](const Items& items) {
       return common_size(items.type, items.path, items.build_id, items.process, items.shift);
     },
     &StackReader::add_modules},
    {"frames", [](const StackReader& reader) { return reader.table().frames().size(); },
     [](const Items& items) {
       return common_size(items.module, items.offset, items.guessed, items.inlined, items.name);
     },
     &StackReader::add_frames},
    {"nodes", [](const StackReader& reader) { return reader.table().nodes().size(); },
     [](const Items& items) { return common_size(items.parent, items.frame); },
     &StackReader::add_nodes},
    {"weights", [](const StackReader& reader) { return reader.weight_count_; },
     [](const Items& items) { return common_size(items.row, items.node, items.weight); },
     &StackReader::add_weights},
}};

Result<void> StackReader::read(std::string_view line) {
  Scanner in(line);
  Items items;
  items.read(in);
  if (in.has_failed()) return line_error(in.error_text());
  if (items.kind != "stacks") return Error{"holds no stacks, which the header announces there"};
  return add_items(items, in);
}

Result<void> StackReader::add_items(const Items& items, Scanner& in) {
  const auto part = std::ranges::find(kParts, items.part, &Part::name);
  if (part == kParts.end())
    return line_error("it defines the unknown part " + quote_name(items.part));
  if (part->add == &StackReader::add_weights) CTPROF_TRY(begin_metric(items.metric));
  if (const std::size_t expected_first = part->items_read(*this); items.first != expected_first)
    return line_error("its " + items.part + " begin with " + std::to_string(items.first) +
                      ", not " + std::to_string(expected_first));
  const std::size_t count = part->count_items(items);
  if (count == SIZE_MAX) return line_error("its lists differ in length");
  budget_->spend(items.text_bytes(), in, count);
  return in.has_failed() ? Result<void>(line_error(in.error_text())) : (this->*part->add)(items);
}

Result<void> StackReader::add_strings(const Items& items) {
  strings_.insert(strings_.end(), items.text.begin(), items.text.end());
  for (const auto& [number, bytes] : items.raw) {
    if (number < items.first || number >= strings_.size())
      return unknown_reference_error("string", number);
    strings_[number] = bytes;
  }
  return {};
}

Result<void> StackReader::add_modules(const Items& items) {
  for (std::size_t i = 0; i < items.type.size(); ++i) {
    const auto type = std::ranges::find(kModuleTypes, items.type[i]);
    if (type == kModuleTypes.end())
      return line_error("a module of type " + quote_name(items.type[i]));
    if (items.path[i] >= strings_.size()) return unknown_reference_error("string", items.path[i]);
    const auto build_id = from_hex(items.build_id[i]);
    if (!build_id) return line_error("a build id that is not hexadecimal");
    const auto kind = static_cast<Module::Kind>(type - kModuleTypes.begin());
    const Module module{kind, strings_[items.path[i]], *build_id, items.process[i], items.shift[i]};
    if (table().add_module(module) != items.first + i)
      return repeated_item_error("module", items.first + i);
  }
  return {};
}

Result<void> StackReader::add_frames(const Items& items) {
  for (std::size_t i = 0; i < items.module.size(); ++i) {
    if (items.module[i] >= table().modules().size())
      return unknown_reference_error("module", items.module[i]);
    if (items.name[i] >= strings_.size()) return unknown_reference_error("string", items.name[i]);
    if (items.guessed[i] > 1) return line_error("'guessed' is neither 0 nor 1");
    if (items.inlined[i] > UINT16_MAX) return line_error("'inlined' is too large");
    const ctprof::Frame frame{items.offset[i], static_cast<std::uint32_t>(items.module[i]),
                              items.guessed[i] == 1, static_cast<std::uint16_t>(items.inlined[i])};
    const std::uint32_t number = table().add_frame(frame);
    if (number != items.first + i) return repeated_item_error("frame", items.first + i);
    const std::string& name = strings_[items.name[i]];
    if (!name.empty()) table().set_name(number, name);
  }
  return {};
}

Result<void> StackReader::add_nodes(const Items& items) {
  for (std::size_t i = 0; i < items.parent.size(); ++i) {
    if (items.parent[i] >= table().nodes().size())
      return unknown_reference_error("node", items.parent[i]);
    if (items.frame[i] >= table().frames().size())
      return unknown_reference_error("frame", items.frame[i]);
    const StackTable::Node node{static_cast<std::uint32_t>(items.parent[i]),
                                static_cast<std::uint32_t>(items.frame[i])};
    if (table().add_node(node) != items.first + i)
      return repeated_item_error("node", items.first + i);
  }
  return {};
}

Result<void> StackReader::begin_metric(const std::string& name) {
  if (column_ && column_->def().name == name) return {};
  CTPROF_TRY(end_metric());
  for (Table& table : snapshot_->tables)
    if (Column* column = table.find(name); column && column->def().storage == Storage::Stacks)
      column_ = column;
  if (!column_) return line_error("no metric of call stacks has the name " + quote_name(name));
  if (!read_metrics_.insert(column_).second)
    return line_error("the weights of " + quote_name(name) + " are repeated");
  return {};
}

Result<void> StackReader::add_weights(const Items& items) {
  for (std::size_t i = 0; i < items.row.size(); ++i) {
    if (items.node[i] >= table().nodes().size())
      return unknown_reference_error("node", items.node[i]);
    CTPROF_TRY(add_weight(items.row[i], {items.node[i], items.weight[i]}));
  }
  weight_count_ += items.row.size();
  return {};
}

Result<void> StackReader::add_weight(std::uint64_t row, const ctprof_stack& weight) {
  if (row >= column_->rows() || !column_->has_value(row))
    return line_error("row " + std::to_string(row) + " has no stacks");
  if (row != row_ || row_set_.empty()) {
    CTPROF_TRY(end_row());
    if (row < row_) return line_error("row " + std::to_string(row) + " is out of order");
    CTPROF_TRY(check_rows_without_stacks(row));
    row_ = row;
  }
  if (!row_set_.empty() && weight.stack <= row_set_.back().stack)
    return line_error("node " + std::to_string(weight.stack) + " of row " + std::to_string(row) +
                      " is out of order");
  row_set_.push_back(weight);
  return {};
}

// Replaces the placeholder set of the row by the set that was read; both must have the same weight.
Result<void> StackReader::end_row() {
  if (row_set_.empty()) return {};
  StackPool& pool = snapshot_->pools->stacks;
  const std::uint64_t table_total = total_weight(pool[column_->ids()[row_]]),
                      stack_total = total_weight(row_set_);
  if (table_total != stack_total)
    return line_error("row " + std::to_string(row_) + " of " + quote_name(column_->def().name) +
                      " has weight " + std::to_string(table_total) +
                      " in its table, but its stacks have " + std::to_string(stack_total));
  column_->ids()[row_++] = pool.append(row_set_);
  row_set_.clear();
  return {};
}

// Fails if a row before `until` has weight but no stacks.
Result<void> StackReader::check_rows_without_stacks(std::size_t until) const {
  for (std::size_t row = row_; row < until; ++row)
    if (column_->has_value(row) && !snapshot_->pools->stacks[column_->ids()[row]].empty())
      return line_error("row " + std::to_string(row) + " of " + quote_name(column_->def().name) +
                        " has weight, but no stacks");
  return {};
}

Result<void> StackReader::end_metric() {
  if (!column_) return {};
  CTPROF_TRY(end_row());
  CTPROF_TRY(check_rows_without_stacks(column_->rows()));
  column_ = nullptr;
  weight_count_ = row_ = 0;
  return {};
}

Result<void> StackReader::finish() {
  CTPROF_TRY(end_metric());
  for (Table& table : snapshot_->tables)
    for (Column& column : table.columns) {
      if (column.def().storage != Storage::Stacks || read_metrics_.contains(&column)) continue;
      column_ = &column;
      CTPROF_TRY(end_metric());
    }
  return {};
}

}  // namespace ctprof::columns
