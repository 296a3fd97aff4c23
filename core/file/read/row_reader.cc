#include "core/file/read/row_reader.hpp"

#include <charconv>
#include <optional>
#include <utility>

#include "core/base/text.hpp"
#include "core/file/layout/members.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof {
namespace {

// Largest number of consecutive predicted keys that a row may lack.
constexpr int kMaxMissingKeys = 16;

Entity entity_of(TreeRoot root) {
  return root == TreeRoot::Thread   ? Entity::Thread
         : root == TreeRoot::Cgroup ? Entity::Cgroup
                                    : Entity::Host;
}

// Returns the number if its text is a whole number that fits.
template <class T>
std::optional<T> to_whole_number(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  return code == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

// Returns the kind of the value that begins with this character; empty if none does.
std::string_view kind_of(char first) {
  switch (first) {
    case '{': return "an object";
    case '[': return "an array";
    case '"': return "a text";
    case 't': return "true";
    case 'f': return "false";
    case 'n': return "null";
    default: return first == '-' || (first >= '0' && first <= '9') ? "a number" : "";
  }
}

}  // namespace

// --- the place, and errors ---

std::string RowReader::location() const {
  std::string path;
  const auto append = [&](std::string_view key) {
    if (!path.empty()) path += '.';
    path += replace_invalid_utf8(key);
  };
  if (table_ == TreeRoot::Host && depth_ == 0 && !node_) append(top_key_);
  if (table_ != TreeRoot::Host)
    path = std::string(table_ == TreeRoot::Thread ? kThreadsKey : kCgroupsKey) + "[" +
           std::to_string(std::max<std::size_t>(rows_->rows(), 1) - 1) + "]";
  for (std::size_t i = 0; i < depth_; ++i) append(path_[i]->key);
  if (node_) append(node_->key);
  return path.empty() ? "the top level" : path;
}

void RowReader::reject(std::string error_text) {
  if (in_->has_failed()) return;
  error_text_ = std::move(error_text);
  in_->fail("");
}

void RowReader::reject_kind(std::string_view reason) {
  const std::string_view kind = kind_of(in_->peek());
  if (kind.empty()) return in_->discard(0);  // reports invalid JSON
  reject("holds " + std::string(kind) + std::string(reason));
}

void RowReader::check_key(std::string_view key) {
  if (key.size() > limits::kKeyBytes)
    reject("has a key of more than " + std::to_string(limits::kKeyBytes) + " bytes");
}

// --- rows, and their keys ---

void RowReader::begin_host() {
  rows_ = &builder_->filler(TreeRoot::Host);
  check(rows_->begin_row());
}

void RowReader::read_row(TreeRoot table, std::string_view cgroup_path) {
  RowFiller* const outer = std::exchange(rows_, &builder_->filler(table));
  table_ = table;
  node_ = nullptr;
  check(rows_->begin_row());
  if (table == TreeRoot::Cgroup) check(rows_->put_text(builder_->path_slot(), cgroup_path));
  if (in_->peek() != '{') return reject_kind();
  read_object(builder_->layout.tree(table));
  if (in_->has_failed()) return;
  check(rows_->end_row());
  if (in_->has_failed()) return;
  table_ = TreeRoot::Host;
  rows_ = outer;
}

// After a failure, the place remains, for location().
void RowReader::read_object(KeyNode& object) {
  KeyNode** next = &object.predicted_child;
  for (in_->enter('{'); in_->next('}');) {
    if (KeyNode* const node = find_member(object, next))
      read_value(*node);
    else
      keep_unknown_member();
  }
  if (!in_->has_failed()) node_ = nullptr;
}

// Reads a key. `next` is the prediction for it, and becomes that for the key after it. Returns null
// if the key is unknown.
KeyNode* RowReader::find_member(KeyNode& object, KeyNode**& next) {
  in_->peek();
  KeyNode* node = *next;
  for (int missing = 0; node && missing <= kMaxMissingKeys; ++missing) {
    if (consume_key(*node)) return next = &node->predicted_sibling, node;
    node = node->predicted_sibling;
  }
  const std::string_view name = in_->key();
  node = *next && (*next)->has_key(name) ? *next : object.find(name);
  if (node) {
    *next = node;
    next = &node->predicted_sibling;
  } else {
    unknown_key_ = name;
  }
  return node;
}

bool RowReader::consume_key(const KeyNode& node) {
  return in_->consume_if(node.spelling.size() + 1, [&](const char* text) {
    return *text == '"' && node.matches_spelling(text + 1);
  });
}

void RowReader::keep_unknown_member() {
  node_ = nullptr;
  check_key(unknown_key_);
  std::string json = normalize_json(in_->skip(allowed_depth()));
  if (in_->has_failed()) return;
  std::string path;
  for (std::size_t i = 0; i < depth_; ++i) append_to_path(path, path_[i]->key);
  append_to_path(path, unknown_key_);
  builder_->budget.kept_bytes += json.size();
  ++builder_->budget.items;
  KeptKeys& kept =
      builder_->snapshot.extras->unknown_keys[static_cast<std::size_t>(entity_of(table_))];
  const auto [place, is_new] = kept.try_emplace(path);
  if (is_new && kept.size() > limits::kColumns)
    return reject("has more kinds of unknown keys than " + std::to_string(limits::kColumns));
  const auto row = static_cast<std::uint32_t>(rows_->rows() - 1);
  if (place->second.empty() || place->second.back().first != row)
    place->second.emplace_back(row, std::move(json));
}

// --- values ---

void RowReader::read_other_value(KeyNode& node) {
  if (!node.is_leaf()) return read_inner_object(node);
  Slot& slot = rows_->slot(node.leaf);
  switch (in_->peek()) {
    case '"': return check(rows_->put_text(slot, in_->text()));
    case '[': return read_items(slot);
    case '{': return read_map(slot);
    case 't':
    case 'f': return check(rows_->put_bool(slot, in_->boolean()));
    case 'n': return in_->consume_null() ? check(rows_->put_null(slot)) : in_->discard(0);
    default: return read_number(slot);
  }
}

void RowReader::read_inner_object(KeyNode& node) {
  if (in_->consume_null()) return;
  if (in_->peek() != '{') return reject_kind();
  path_[depth_++] = &node;
  node_ = nullptr;
  read_object(node);
  if (!in_->has_failed()) --depth_;
}

void RowReader::read_number(Slot& slot) {
  const std::string_view text = in_->number_text();
  if (in_->has_failed()) return;
  if (const auto number = to_whole_number<std::uint64_t>(text))
    return check(rows_->put_number(slot, *number));
  if (const auto number = to_whole_number<std::int64_t>(text))
    return check(rows_->put_signed(slot, *number, text));
  check(rows_->put_real(slot, text));
}

// Reads a number of an array or a map.
bool RowReader::read_whole_number(std::uint64_t& value, std::string_view below_zero) {
  if (in_->consume_short_number(value)) return true;
  if (kind_of(in_->peek()) != "a number") return reject_kind(), false;
  const std::string_view text = in_->number_text();
  if (in_->has_failed()) return false;
  const auto number = to_whole_number<std::uint64_t>(text);
  const auto signed_number = to_whole_number<std::int64_t>(text);
  value = number.value_or(0);
  if (number || signed_number == 0) return true;  // -0
  reject(signed_number ? std::string(below_zero) + ": " + std::string(text)
                       : "holds " + std::string(text) + " where a whole number should be");
  return false;
}

// A value is skipped if the row already has one under another spelling of the key.
void RowReader::read_items(Slot& slot) {
  const bool is_list = slot.kind == Slot::Kind::Bits || slot.kind == Slot::Kind::Array;
  if (!is_list && slot.kind != Slot::Kind::Skip) return reject_kind();
  if (!is_list || rows_->has_value_in_row(slot)) return in_->discard(allowed_depth());
  rows_->begin_items();
  for (in_->enter('['); in_->next(']');) {
    std::uint64_t value = 0;
    if (!read_whole_number(value, "has an item that is below zero")) return;
    check(rows_->add_item(slot, value));
  }
  if (!in_->has_failed()) rows_->end_items(slot);
}

void RowReader::read_map(Slot& slot) {
  const bool is_map = slot.kind == Slot::Kind::Map;
  if (!is_map && slot.kind != Slot::Kind::Skip) return reject_kind();
  if (!is_map || rows_->has_value_in_row(slot)) return in_->discard(allowed_depth());
  rows_->begin_map();
  for (in_->enter('{'); in_->next('}');) {
    check(rows_->add_key(in_->key()));
    std::uint64_t value = 0;
    if (in_->has_failed() || !read_whole_number(value, "has a value below zero")) return;
    rows_->set_entry(value);
  }
  if (!in_->has_failed()) rows_->end_map(slot);
}

}  // namespace ctprof
