#include "core/file/read/events.hpp"

#include <utility>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kThingsPerKey = 3;  // allocations per key, as the budget counts them

Entity entity_of(Root root) {
  return root == Root::Thread   ? Entity::Thread
         : root == Root::Cgroup ? Entity::Cgroup
                                : Entity::Host;
}

}  // namespace

std::string Events::where() const {
  if (!place_.empty()) return place_;
  std::string path;
  const auto row = [&] {
    return std::string("[") + std::to_string(std::max<std::size_t>(rows_->rows(), 1) - 1) + "]";
  };
  if (table_ == Root::Thread) path = std::string(kThreadsKey) + row();
  if (table_ == Root::Cgroup) path = std::string(kCgroupsKey) + row();
  const std::size_t row_frame = table_ == Root::Host ? 1 : 2;
  const auto append = [&](std::string_view key) {
    if (!path.empty()) path += '.';
    path += valid_utf8(key);
  };
  for (std::size_t i = row_frame; i < depth_; ++i) append(frames_[i].node->key);
  if (state_ == State::Raw && keep_ != Keep::RowKey) append(raw_name_);
  const bool is_between = table_ == Root::Host;  // no row is open
  if (is_between && (state_ == State::ThreadsValue || state_ == State::ThreadRows))
    append(kThreadsKey);
  if (is_between && (state_ == State::CgroupsValue || state_ == State::CgroupKeys))
    append(kCgroupsKey);
  if (node_ && (state_ == State::Members || state_ == State::Items || state_ == State::Entries))
    append(node_->key);
  return path.empty() ? "the top level" : path;
}

bool Events::misplaced(const char* what) {
  if (state_ == State::Start)
    return refuse(std::string("holds ") + what + " where a snapshot's object should be");
  return refuse(std::string("holds ") + what + ", which is not allowed there");
}

// --- keys ---

bool Events::other_key(std::string_view name) {
  switch (state_) {
    case State::Members: return find_member(name);
    case State::Raw: return !raw_.key(name);
    case State::Entries: return said(rows_->add_key(name));
    default: break;
  }
  // CgroupKeys: every path begins a row.
  if (!rows_->begin_row()) return refuse(rows_->why());
  table_ = Root::Cgroup;
  state_ = State::CgroupRow;
  return said(rows_->put_text(draft_->path_slot(), name));
}

bool Events::find_member(std::string_view name) {
  node_ = nullptr;
  if (depth_ == 1 && table_ == Root::Host && !top_level_key(name)) return false;
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
    frame.next = &node_->follower;
    return true;
  }
  return begin_raw(depth_ == 1 ? Keep::Object : Keep::RowKey, name);
}

// Handles a top-level key. Changes the state if the key is one of the file's own. Returns false if
// the key is not allowed here.
bool Events::top_level_key(std::string_view name) {
  if (!top_level_.emplace(name).second)
    return refuse("has the key '" + valid_utf8(name) + "' twice");
  draft_->budget.kept += 2 * name.size();
  draft_->budget.things += kThingsPerKey;
  if (draft_->budget.is_exceeded()) return refuse(RowFiller::kTooMuch);
  const bool is_wanted =
      name == kRegistryKey ? !options_->registry.has_value() : !options_->only_registry;
  if (!is_wanted) return begin_raw(Keep::Nothing, name);
  if (find_file_section(name)) return begin_raw(Keep::Section, name);
  if (!prepare()) return false;
  if (name == kThreadsKey) state_ = State::ThreadsValue;
  if (name == kCgroupsKey) state_ = State::CgroupsValue;
  return true;
}

bool Events::prepare() {
  if (draft_->is_prepared()) return true;
  if (options_->registry)
    draft_->prepare(std::move(*options_->registry));
  else
    draft_->prepare(*vocabulary_);
  rows_ = &draft_->filler(Root::Host);
  depth_ = 0;
  enter(draft_->layout.tree(Root::Host));
  return said(rows_->begin_row());
}

// --- values that are kept as text ---

bool Events::begin_raw(Keep keep, std::string_view name) {
  keep_ = keep;
  raw_name_ = name;
  raw_.begin(keep != Keep::Nothing);
  state_ = State::Raw;
  return true;
}

bool Events::end_raw() {
  if (raw_.is_too_large())
    return refuse("is more than " + std::to_string(limits::kSectionBytes) + " bytes of text");
  const bool fine =
      keep_ == Keep::Nothing || (keep_ == Keep::RowKey ? keep_row_key() : keep_top_level());
  if (fine) state_ = State::Members;
  return fine;
}

bool Events::keep_top_level() {
  std::string json = raw_.take();
  draft_->budget.kept += json.size();
  if (draft_->budget.is_exceeded()) return refuse(RowFiller::kTooMuch);
  if (keep_ == Keep::Section) return take_section(*find_file_section(raw_name_), std::move(json));
  if (json != "null" ||
      !std::count(vocabulary_->objects.begin(), vocabulary_->objects.end(), raw_name_))
    draft_->snapshot.objects.emplace(raw_name_, std::move(json));
  return true;
}

bool Events::keep_row_key() {
  std::string path;
  for (std::size_t i = table_ == Root::Host ? 1 : 2; i < depth_; ++i)
    append_to_path(path, frames_[i].node->key);
  append_to_path(path, raw_name_);
  std::string json = raw_.take();
  draft_->budget.kept += json.size();
  ++draft_->budget.things;
  KeptKeys& kept = draft_->snapshot.unknown_keys[static_cast<std::size_t>(entity_of(table_))];
  const auto [place, is_new] = kept.try_emplace(path);
  if (is_new && kept.size() > limits::kColumns)
    return refuse("has more kinds of unknown keys than " + std::to_string(limits::kColumns));
  const auto row = static_cast<std::uint32_t>(rows_->rows() - 1);
  if (place->second.empty() || place->second.back().first != row)
    place->second.emplace_back(row, std::move(json));
  return true;
}

bool Events::take_section(const FileSection& section, std::string json) {
  if (!section.begin) return draft_->sections.emplace(section.key, std::move(json)), true;
  if (auto done = section.begin(json, *draft_); !done) return refuse_here(done.error().text);
  return !draft_->registry || use_registry();
}

bool Events::use_registry() {
  std::optional<RegistryPart> found = std::exchange(draft_->registry, std::nullopt);
  if (draft_->is_prepared() || options_->only_registry) {
    late_registry = std::move(found);
    return refuse("comes after what it describes");
  }
  options_->registry = std::move(found);
  return prepare();
}

// --- brackets ---

bool Events::begin_row(RowFiller& rows, KeyNode& tree) {
  rows_ = &rows;
  if (!rows.begin_row()) return refuse(rows.why());
  enter(tree);
  state_ = State::Members;
  return true;
}

bool Events::open_object() {
  switch (state_) {
    case State::Start: enter(draft_->layout.tree(Root::Host)); return state_ = State::Members, true;
    case State::Raw: raw_.open('{'); return true;
    case State::ThreadRows:
      table_ = Root::Thread;
      return begin_row(draft_->filler(Root::Thread), draft_->layout.tree(Root::Thread));
    case State::CgroupsValue:
      rows_ = &draft_->filler(Root::Cgroup);
      return state_ = State::CgroupKeys, true;
    case State::CgroupRow:
      enter(draft_->layout.tree(Root::Cgroup));
      return state_ = State::Members, true;
    case State::Members: break;
    default: return misplaced("an object");
  }
  if (!node_->is_leaf()) return enter(*node_), true;
  const bool is_map = slot().kind == Slot::Kind::Map && !rows_->is_seen(slot());
  if (!is_map && slot().kind != Slot::Kind::Skip && slot().kind != Slot::Kind::Map)
    return misplaced("an object");
  if (is_map) return rows_->begin_map(), state_ = State::Entries, true;
  begin_raw(Keep::Nothing, node_->key);
  return raw_.open('{'), true;
}

bool Events::close_object() {
  switch (state_) {
    case State::Raw: return !raw_.close('}') || end_raw();
    case State::Entries: rows_->end_map(slot()); return state_ = State::Members, true;
    case State::CgroupKeys:
      rows_ = &draft_->filler(Root::Host);
      return state_ = State::Members, true;
    default: return close_members();
  }
}

bool Events::close_members() {
  --depth_;
  node_ = nullptr;
  if (depth_ == 0) return prepare() && (state_ = State::End, end_row());
  if (depth_ > 1 || table_ == Root::Host) return true;
  const bool fine = end_row();
  state_ = table_ == Root::Thread ? State::ThreadRows : State::CgroupKeys;
  table_ = Root::Host;
  return fine;
}

bool Events::end_row() { return said(rows_->end_row()); }

bool Events::open_array() {
  if (state_ == State::Raw) return raw_.open('['), true;
  if (state_ == State::ThreadsValue) return state_ = State::ThreadRows, true;
  if (!is_cell()) return misplaced("an array");
  const Slot::Kind kind = slot().kind;
  const bool is_items = kind == Slot::Kind::Bits || kind == Slot::Kind::Array;
  if (!is_items && kind != Slot::Kind::Skip) return misplaced("an array");
  if (is_items && !rows_->is_seen(slot())) return rows_->begin_items(), state_ = State::Items, true;
  begin_raw(Keep::Nothing, node_->key);
  return raw_.open('['), true;
}

bool Events::close_array() {
  if (state_ == State::Raw) return !raw_.close(']') || end_raw();
  if (state_ == State::Items)
    rows_->end_items(slot());
  else
    rows_ = &draft_->filler(Root::Host);
  return state_ = State::Members, true;
}

// --- scalars ---

bool Events::text(std::string_view text) {
  if (is_cell()) return said(rows_->put_text(slot(), text));
  if (state_ == State::Raw) return !raw_.text(text) || end_raw();
  return misplaced("a text");
}

template <class T>
bool Events::number(T value, std::string_view text) {
  switch (state_) {
    case State::Raw: return !raw_.plain(text) || end_raw();
    case State::Items: return said(rows_->add_item(slot(), value, text));
    case State::Entries:
      if (text[0] == '-') return refuse("has a value below zero: " + std::string(text));
      return rows_->set_entry(static_cast<std::uint64_t>(value)), true;
    default: break;
  }
  if (!is_cell()) return misplaced("a number");
  if constexpr (std::is_signed_v<T>)
    return said(rows_->put_signed(slot(), value, text));
  else
    return said(rows_->put_unsigned(slot(), value, text));
}
template bool Events::number(std::int64_t, std::string_view);
template bool Events::number(std::uint64_t, std::string_view);

bool Events::real(std::string_view text) {
  if (is_cell()) return said(rows_->put_real(slot(), text));
  if (state_ == State::Raw) return !raw_.plain(text) || end_raw();
  return refuse("holds " + std::string(text) + " where a whole number should be");
}

bool Events::boolean(bool value) {
  if (is_cell()) return said(rows_->put_bool(slot(), value));
  if (state_ == State::Raw) return !raw_.plain(value ? "true" : "false") || end_raw();
  return misplaced(value ? "true" : "false");
}

bool Events::null() {
  if (state_ == State::Members) return !node_->is_leaf() || said(rows_->put_null(slot()));
  if (state_ == State::Raw) return !raw_.plain("null") || end_raw();
  return misplaced("null");
}

}  // namespace ctprof
