#include "core/output/window_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace ctprof {
namespace {

// Visits all members of a window in one order, for both directions. `Stream` has a function
// `number` for integers, `text` for strings and `list` for vectors.
template <class Stream, class Metric>
void visit_metric(Stream& stream, Metric& metric) {
  stream.number(metric.flags);
  for (auto* text : {&metric.name, &metric.key, &metric.unit, &metric.family, &metric.entity})
    stream.text(*text);
  stream.list(metric.key_labels, [&](auto& label) {
    stream.text(label.name);
    stream.text(label.value);
  });
}

template <class Stream, class Cell>
void visit_cell(Stream& stream, Cell& cell) {
  stream.number(cell.number.kind);
  stream.number(cell.number.u64);
  stream.number(cell.values);
  stream.number(cell.rows);
}

template <class Stream, class Table>
void visit_table(Stream& stream, Table& table) {
  const auto visit_text = [&](auto& text) { stream.text(text); };
  stream.list(table.label_names, visit_text);
  stream.list(table.metrics, [&](auto& metric) { visit_metric(stream, metric); });
  stream.list(table.rows, [&](auto& row) {
    stream.list(row.labels, visit_text);
    stream.list(row.cells, [&](auto& cell) { visit_cell(stream, cell); });
  });
}

template <class Stream, class Window>
void visit_window(Stream& stream, Window& window) {
  stream.number(window.flags);
  stream.number(window.user_hz);
  for (auto* number : {&window.start_ns, &window.end_ns, &window.length_ns, &window.dropped_before,
                       &window.omitted_rows})
    stream.number(*number);
  stream.text(window.host);
  stream.text(window.producer);
  stream.list(window.tables, [&](auto& table) { visit_table(stream, table); });
}

class Encoder {
 public:
  template <class Number>
  void number(Number value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number(std::uint64_t{value.size()});
    bytes_ += value;
  }
  template <class Item, class Visit>
  void list(const std::vector<Item>& items, const Visit& visit) {
    number(std::uint64_t{items.size()});
    for (const Item& item : items) visit(item);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  template <class Number>
  void number(Number& value) {
    is_valid_ = is_valid_ && bytes_.size() >= sizeof value;
    if (!is_valid_) return;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  void text(std::string& value) {
    const std::size_t size = count();
    value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  }
  template <class Item, class Visit>
  void list(std::vector<Item>& items, const Visit& visit) {
    items.resize(count());
    for (Item& item : items)
      if (is_valid_) visit(item);
  }
  bool is_complete() const { return is_valid_ && bytes_.empty(); }

 private:
  // Each item has at least one byte, so a larger number is invalid.
  std::size_t count() {
    std::uint64_t value = 0;
    number(value);
    is_valid_ = is_valid_ && value <= bytes_.size();
    return is_valid_ ? value : 0;
  }

  std::string_view bytes_;
  bool is_valid_ = true;
};

}  // namespace

std::string encode_window(const OutputWindow& window) {
  Encoder encoder;
  visit_window(encoder, window);
  return encoder.take();
}

std::optional<OutputWindow> decode_window(std::string_view bytes) {
  OutputWindow window;
  Decoder decoder(bytes);
  visit_window(decoder, window);
  if (!decoder.is_complete()) return std::nullopt;
  return window;
}

}  // namespace ctprof
