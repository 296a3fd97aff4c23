#include "core/file/read/json_handler.hpp"

#include <utility>

#include "core/base/text.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kItemsPerKey = 3;  // allocations per key, as the budget counts them

Entity entity_of(TreeRoot root) {
  return root == TreeRoot::Thread   ? Entity::Thread
         : root == TreeRoot::Cgroup ? Entity::Cgroup
                                    : Entity::Host;
}

}  // namespace

std::string JsonHandler::location() const {
  if (!location_.empty()) return location_;
  std::string path;
  const auto row = [&] {
    return std::string("[") + std::to_string(std::max<std::size_t>(rows_->rows(), 1) - 1) + "]";
  };
  if (table_ == TreeRoot::Thread) path = std::string(kThreadsKey) + row();
  if (table_ == TreeRoot::Cgroup) path = std::string(kCgroupsKey) + row();
  const std::size_t row_frame = table_ == TreeRoot::Host ? 1 : 2;
  const auto append = [&](std::string_view key) {
    if (!path.empty()) path += '.';
    path += replace_invalid_utf8(key);
  };
  for (std::size_t i = row_frame; i < depth_; ++i) append(frames_[i].node->key);
  if (state_ == State::Raw && raw_purpose_ != RawPurpose::RowKey) append(raw_key_);
  const bool is_between = table_ == TreeRoot::Host;  // no row is open
  if (is_between && (state_ == State::ThreadsValue || state_ == State::ThreadRows))
    append(kThreadsKey);
  if (is_between && (state_ == State::CgroupsValue || state_ == State::CgroupKeys))
    append(kCgroupsKey);
  if (node_ && (state_ == State::Members || state_ == State::Items || state_ == State::Entries))
    append(node_->key);
  return path.empty() ? "the top level" : path;
}

bool JsonHandler::reject_kind(const char* what) {
  if (state_ == State::Start)
    return reject(std::string("holds ") + what + " where a snapshot's object should be");
  return reject(std::string("holds ") + what + ", which is not allowed there");
}

// --- keys ---

bool JsonHandler::handle_unpredicted_key(std::string_view name) {
  switch (state_) {
    case State::Members: return find_member(name);
    case State::Raw: return !raw_.handle_key(name);
    case State::Entries: return check(rows_->add_key(name));
    default: break;
  }
  // CgroupKeys: every path begins a row.
  if (!rows_->begin_row()) return reject(rows_->error_text());
  table_ = TreeRoot::Cgroup;
  state_ = State::CgroupRow;
  return check(rows_->put_text(builder_->path_slot(), name));
}

bool JsonHandler::find_member(std::string_view name) {
  node_ = nullptr;
  if (depth_ == 1 && table_ == TreeRoot::Host && !handle_top_level_key(name)) return false;
  if (state_ != State::Members) return true;
  Frame& frame = frames_[depth_ - 1];
  auto& lookup = lookups_[frame.node];
  if (lookup.empty())
    for (std::size_t i = 0; i < frame.node->children.size(); ++i)
      lookup.emplace(frame.node->children[i].key, i);
  const auto found = lookup.find(name);
  if (found != lookup.end()) {
    node_ = &frame.node->children[found->second];
    *frame.next = node_;
    frame.next = &node_->predicted_sibling;
    return true;
  }
  return begin_raw(depth_ == 1 ? RawPurpose::Object : RawPurpose::RowKey, name);
}

// Handles a top-level key. Changes the state if the key is one of the file's own. Returns false if
// the key is not allowed here.
bool JsonHandler::handle_top_level_key(std::string_view name) {
  if (!top_level_.emplace(name).second)
    return reject("has the key '" + replace_invalid_utf8(name) + "' twice");
  builder_->budget.kept_bytes += 2 * name.size();
  builder_->budget.items += kItemsPerKey;
  if (builder_->budget.is_exceeded()) return reject(RowFiller::kTooMuchMemory);
  const bool is_wanted =
      name == kRegistryKey ? !options_->registry.has_value() : !options_->only_find_registry;
  if (!is_wanted) return begin_raw(RawPurpose::Nothing, name);
  if (find_file_section(name)) return begin_raw(RawPurpose::Section, name);
  if (!prepare()) return false;
  if (name == kThreadsKey) state_ = State::ThreadsValue;
  if (name == kCgroupsKey) state_ = State::CgroupsValue;
  return true;
}

bool JsonHandler::prepare() {
  if (builder_->is_prepared()) return true;
  if (options_->registry)
    builder_->prepare(std::move(*options_->registry));
  else
    builder_->prepare(*vocabulary_);
  rows_ = &builder_->filler(TreeRoot::Host);
  depth_ = 0;
  enter(builder_->layout.tree(TreeRoot::Host));
  return check(rows_->begin_row());
}

// --- values that are kept as text ---

bool JsonHandler::begin_raw(RawPurpose purpose, std::string_view name) {
  raw_purpose_ = purpose;
  raw_key_ = name;
  raw_.begin(purpose != RawPurpose::Nothing);
  state_ = State::Raw;
  return true;
}

bool JsonHandler::end_raw() {
  if (raw_.is_too_large())
    return reject("is more than " + std::to_string(limits::kSectionBytes) + " bytes of text");
  const bool fine = raw_purpose_ == RawPurpose::Nothing ||
                    (raw_purpose_ == RawPurpose::RowKey ? keep_row_key() : keep_top_level());
  if (fine) state_ = State::Members;
  return fine;
}

bool JsonHandler::keep_top_level() {
  std::string json = raw_.release();
  builder_->budget.kept_bytes += json.size();
  if (builder_->budget.is_exceeded()) return reject(RowFiller::kTooMuchMemory);
  if (raw_purpose_ == RawPurpose::Section)
    return handle_section(*find_file_section(raw_key_), std::move(json));
  if (json != "null" ||
      !std::count(vocabulary_->objects.begin(), vocabulary_->objects.end(), raw_key_))
    builder_->snapshot.objects.emplace(raw_key_, std::move(json));
  return true;
}

bool JsonHandler::keep_row_key() {
  std::string path;
  for (std::size_t i = table_ == TreeRoot::Host ? 1 : 2; i < depth_; ++i)
    append_to_path(path, frames_[i].node->key);
  append_to_path(path, raw_key_);
  std::string json = raw_.release();
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
  return true;
}

bool JsonHandler::handle_section(const FileSection& section, std::string json) {
  if (!section.read_before_rows)
    return builder_->sections.emplace(section.key, std::move(json)), true;
  if (auto done = section.read_before_rows(json, *builder_); !done)
    return reject_with_location(done.error().text);
  return !builder_->registry || use_registry();
}

bool JsonHandler::use_registry() {
  std::optional<RegistryPart> found = std::exchange(builder_->registry, std::nullopt);
  if (builder_->is_prepared() || options_->only_find_registry) {
    registry_after_tables = std::move(found);
    return reject("comes after the rows that it describes");
  }
  options_->registry = std::move(found);
  return prepare();
}

// --- brackets ---

bool JsonHandler::begin_row(RowFiller& rows, KeyNode& tree) {
  rows_ = &rows;
  if (!rows.begin_row()) return reject(rows.error_text());
  enter(tree);
  state_ = State::Members;
  return true;
}

bool JsonHandler::open_object() {
  switch (state_) {
    case State::Start:
      enter(builder_->layout.tree(TreeRoot::Host));
      return state_ = State::Members, true;
    case State::Raw: raw_.open('{'); return true;
    case State::ThreadRows:
      table_ = TreeRoot::Thread;
      return begin_row(builder_->filler(TreeRoot::Thread), builder_->layout.tree(TreeRoot::Thread));
    case State::CgroupsValue:
      rows_ = &builder_->filler(TreeRoot::Cgroup);
      return state_ = State::CgroupKeys, true;
    case State::CgroupRow:
      enter(builder_->layout.tree(TreeRoot::Cgroup));
      return state_ = State::Members, true;
    case State::Members: break;
    default: return reject_kind("an object");
  }
  if (!node_->is_leaf()) return enter(*node_), true;
  const bool is_map = slot().kind == Slot::Kind::Map && !rows_->has_value_in_row(slot());
  if (!is_map && slot().kind != Slot::Kind::Skip && slot().kind != Slot::Kind::Map)
    return reject_kind("an object");
  if (is_map) return rows_->begin_map(), state_ = State::Entries, true;
  begin_raw(RawPurpose::Nothing, node_->key);
  return raw_.open('{'), true;
}

bool JsonHandler::close_object() {
  switch (state_) {
    case State::Raw: return !raw_.close('}') || end_raw();
    case State::Entries: rows_->end_map(slot()); return state_ = State::Members, true;
    case State::CgroupKeys:
      rows_ = &builder_->filler(TreeRoot::Host);
      return state_ = State::Members, true;
    default: return close_members();
  }
}

bool JsonHandler::close_members() {
  --depth_;
  node_ = nullptr;
  if (depth_ == 0) return prepare() && (state_ = State::End, end_row());
  if (depth_ > 1 || table_ == TreeRoot::Host) return true;
  const bool fine = end_row();
  state_ = table_ == TreeRoot::Thread ? State::ThreadRows : State::CgroupKeys;
  table_ = TreeRoot::Host;
  return fine;
}

bool JsonHandler::end_row() { return check(rows_->end_row()); }

bool JsonHandler::open_array() {
  if (state_ == State::Raw) return raw_.open('['), true;
  if (state_ == State::ThreadsValue) return state_ = State::ThreadRows, true;
  if (!is_cell()) return reject_kind("an array");
  const Slot::Kind kind = slot().kind;
  const bool is_items = kind == Slot::Kind::Bits || kind == Slot::Kind::Array;
  if (!is_items && kind != Slot::Kind::Skip) return reject_kind("an array");
  if (is_items && !rows_->has_value_in_row(slot()))
    return rows_->begin_items(), state_ = State::Items, true;
  begin_raw(RawPurpose::Nothing, node_->key);
  return raw_.open('['), true;
}

bool JsonHandler::close_array() {
  if (state_ == State::Raw) return !raw_.close(']') || end_raw();
  if (state_ == State::Items)
    rows_->end_items(slot());
  else
    rows_ = &builder_->filler(TreeRoot::Host);
  return state_ = State::Members, true;
}

// --- scalars ---

bool JsonHandler::handle_text(std::string_view text) {
  if (is_cell()) return check(rows_->put_text(slot(), text));
  if (state_ == State::Raw) return !raw_.text(text) || end_raw();
  return reject_kind("a text");
}

template <class T>
bool JsonHandler::handle_number(T value, std::string_view text) {
  switch (state_) {
    case State::Raw: return !raw_.plain(text) || end_raw();
    case State::Items: return check(rows_->add_item(slot(), value, text));
    case State::Entries:
      if (text[0] == '-') return reject("has a value below zero: " + std::string(text));
      return rows_->set_entry(static_cast<std::uint64_t>(value)), true;
    default: break;
  }
  if (!is_cell()) return reject_kind("a number");
  if constexpr (std::is_signed_v<T>)
    return check(rows_->put_signed(slot(), value, text));
  else
    return check(rows_->put_unsigned(slot(), value, text));
}
template bool JsonHandler::handle_number(std::int64_t, std::string_view);
template bool JsonHandler::handle_number(std::uint64_t, std::string_view);

bool JsonHandler::handle_real(std::string_view text) {
  if (is_cell()) return check(rows_->put_real(slot(), text));
  if (state_ == State::Raw) return !raw_.plain(text) || end_raw();
  return reject("holds " + std::string(text) + " where a whole number should be");
}

bool JsonHandler::handle_boolean(bool value) {
  if (is_cell()) return check(rows_->put_bool(slot(), value));
  if (state_ == State::Raw) return !raw_.plain(value ? "true" : "false") || end_raw();
  return reject_kind(value ? "true" : "false");
}

bool JsonHandler::handle_null() {
  if (state_ == State::Members) return !node_->is_leaf() || check(rows_->put_null(slot()));
  if (state_ == State::Raw) return !raw_.plain("null") || end_raw();
  return reject_kind("null");
}

}  // namespace ctprof
