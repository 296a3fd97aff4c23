#include <algorithm>
#include <span>
#include <unordered_map>

#include "core/base/text.hpp"
#include "core/file/columns/stack_lines.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof::columns {
namespace {

// Items per line: with this many numbers, a line has about half of its maximum length.
constexpr std::size_t kItemsPerLine = 16 * 1024;

// Writes the parts of the stacks' lines.
class StackWriter {
 public:
  StackWriter(const Snapshot& snapshot, JsonWriter& out,
              const std::function<void(std::string_view)>& take)
      : pool_(&snapshot.pools->stacks), out_(&out), on_line_(&take) {
    collect_strings();
  }

  void write_table() {
    write("strings", "", 0, strings_.size(), [&](const Range& range) { write_strings(range); });
    write("modules", "", 0, table().modules().size(),
          [&](const Range& range) { write_modules(range); });
    write("frames", "", 1, table().frames().size(),
          [&](const Range& range) { write_frames(range); });
    write("nodes", "", 1, table().nodes().size(), [&](const Range& range) { write_nodes(range); });
  }

  void write_weights(const Column& column) {
    std::vector<Weight> weights;
    for (std::uint64_t row = 0; row < column.rows(); ++row)
      if (column.has_value(row))
        for (const ctprof_stack& each : (*pool_)[column.ids()[row]])
          weights.push_back({row, each.stack, each.weight});
    write("weights", column.def().name, 0, weights.size(), [&](const Range& range) {
      write_list("row", range, [&](std::size_t i) { return weights[i].row; });
      write_list("node", range, [&](std::size_t i) { return weights[i].node; });
      write_list("weight", range, [&](std::size_t i) { return weights[i].weight; });
    });
  }

 private:
  // One item of the part `weights`.
  struct Weight {
    std::uint64_t row, node, weight;
  };
  // Items of a part, from `first` up to but excluding `end`.
  struct Range {
    std::size_t first, end;
  };

  const StackTable& table() const { return pool_->table; }

  std::uint64_t string_number(std::string_view text) {
    const auto [known, is_new] = numbers_.emplace(text, strings_.size());
    if (is_new) strings_.push_back(text);
    return known->second;
  }

  void collect_strings() {
    string_number("");
    for (const Module& module : table().modules()) string_number(module.path);
    for (std::uint32_t frame = 1; frame < table().frames().size(); ++frame)
      string_number(table().get_name(frame));
  }

  // Writes a part in several lines. A line that is too long is split in two.
  template <class WriteItems>
  void write(std::string_view part, std::string_view metric, std::size_t first, std::size_t end,
             const WriteItems& write_items) {
    for (; first < end; first += kItemsPerLine)
      write_line(part, metric, {first, std::min(first + kItemsPerLine, end)}, write_items);
  }

  template <class WriteItems>
  void write_line(std::string_view part, std::string_view metric, const Range& range,
                  const WriteItems& write_items) {
    out_->clear();
    out_->raw("{\"kind\":\"stacks\",");
    out_->member("part", part);
    out_->member("first", range.first);
    if (!metric.empty()) out_->member("metric", metric);
    write_items(range);
    out_->close('}');
    out_->put('\n');
    if (out_->size() <= limits::kMiB || range.end - range.first == 1)
      return (*on_line_)(out_->view());
    const std::size_t middle = (range.first + range.end) / 2;
    write_line(part, metric, {range.first, middle}, write_items);
    write_line(part, metric, {middle, range.end}, write_items);
  }

  // Writes a list with one number or text per item.
  template <class Value>
  void write_list(std::string_view key, const Range& range, const Value& value) {
    out_->key(key);
    out_->put('[');
    for (std::size_t i = range.first; i < range.end; ++i) {
      if constexpr (std::is_convertible_v<decltype(value(i)), std::string_view>)
        out_->text(value(i));
      else
        out_->number(std::uint64_t{value(i)});
      out_->put(',');
    }
    out_->close(']');
    out_->put(',');
  }

  void write_strings(const Range& range) {
    write_list("text", range, [&](std::size_t i) { return strings_[i]; });
    out_->raw("\"raw\":[");
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (is_utf8(strings_[i])) continue;
      out_->put('[');
      out_->number(std::uint64_t{i});
      out_->raw(",\"" + to_hex(strings_[i]) + "\"],");
    }
    out_->close(']');
    out_->put(',');
  }

  void write_modules(const Range& range) {
    const auto& modules = table().modules();
    write_list("type", range, [&](std::size_t i) {
      return kModuleTypes[static_cast<std::size_t>(modules[i].kind)];
    });
    write_list("path", range, [&](std::size_t i) { return string_number(modules[i].path); });
    write_list("build_id", range, [&](std::size_t i) { return to_hex(modules[i].build_id); });
    write_list("process", range, [&](std::size_t i) { return modules[i].process; });
    write_list("shift", range, [&](std::size_t i) { return modules[i].address_bias; });
  }

  void write_frames(const Range& range) {
    const auto& frames = table().frames();
    write_list("module", range, [&](std::size_t i) { return frames[i].module; });
    write_list("offset", range, [&](std::size_t i) { return frames[i].offset; });
    write_list("guessed", range,
               [&](std::size_t i) { return std::uint64_t{frames[i].is_guessed}; });
    write_list("inlined", range,
               [&](std::size_t i) { return std::uint64_t{frames[i].inline_depth}; });
    write_list("name", range, [&](std::size_t i) {
      return string_number(table().get_name(static_cast<std::uint32_t>(i)));
    });
  }

  void write_nodes(const Range& range) {
    const auto& nodes = table().nodes();
    write_list("parent", range, [&](std::size_t i) { return nodes[i].parent; });
    write_list("frame", range, [&](std::size_t i) { return nodes[i].frame; });
  }

  const StackPool* pool_;
  JsonWriter* out_;
  const std::function<void(std::string_view)>* on_line_;
  std::vector<std::string_view> strings_;
  std::unordered_map<std::string_view, std::uint64_t, SeededHash> numbers_;
};

bool has_stacks(const Column& column) {
  return column.def().storage == Storage::Stacks && !column.def().is_hidden;
}

}  // namespace

void write_stacks(const Snapshot& snapshot, JsonWriter& out,
                  const std::function<void(std::string_view)>& on_line) {
  std::vector<const Column*> columns;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns)
      if (has_stacks(column)) columns.push_back(&column);
  if (columns.empty()) return;
  StackWriter writer(snapshot, out, on_line);
  writer.write_table();
  for (const Column* column : columns) writer.write_weights(*column);
}

}  // namespace ctprof::columns
