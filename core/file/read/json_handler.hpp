// Handles the parser's events: tracks the position in the document, and passes values on.
//
// Most events are a key that followed the same key in the previous row, and a number for its cell.
// These take a fast path. The handler is a template argument of the parser, so there are no
// indirect calls.
//
// Contents: the position in the document, and values that are kept as text (RawCollector).
//
// See also: read_pass.hpp, which runs the parser, and row_filler.hpp for cells.

#pragma once

#include <algorithm>
#include <boost/json/error.hpp>
#include <boost/json/string_view.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/json_writer.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/sections.hpp"
#include "core/file/read/pass_options.hpp"
#include "core/file/read/row_reader.hpp"
#include "core/file/read/snapshot_builder.hpp"

namespace ctprof {

// Collects a JSON value as text.
class RawCollector {
 public:
  // Begins a new value. Without `keep`, only tracks its nesting.
  void begin(bool keep) {
    keep_ = keep;
    is_too_large_ = false;
    depth_ = 0;
    out_.clear();
  }

  // The following functions return whether the value is complete.
  bool handle_key(std::string_view name) {
    if (keep_) out_.key(name);
    return false;
  }
  bool text(std::string_view text) {
    if (keep_) out_.text(text);
    return end_of_value();
  }
  // Adds a number, true, false or null.
  bool plain(std::string_view json) {
    if (keep_) out_.raw(json);
    return end_of_value();
  }
  bool open(char bracket) {
    if (keep_) out_.put(bracket);
    ++depth_;
    return false;
  }
  bool close(char bracket) {
    if (keep_) out_.close(bracket);
    --depth_;
    return end_of_value();
  }

  // Returns whether the value was larger than a section may be; the remainder was then not kept.
  bool is_too_large() const { return is_too_large_; }
  // Returns the value. REQUIRES: it is complete and was kept.
  std::string release() {
    std::string json(out_.view().substr(0, out_.size() - 1));
    if (json.size() > kMaxReusedCapacity) out_ = JsonWriter();
    return json;
  }

 private:
  // Largest capacity that is reused for the next value.
  static constexpr std::size_t kMaxReusedCapacity = limits::kMiB;

  bool end_of_value() {
    if (keep_) out_.put(',');
    if (out_.size() > limits::kSectionBytes) keep_ = !(is_too_large_ = true);
    return depth_ == 0;
  }

  JsonWriter out_;
  std::size_t depth_ = 0;
  bool keep_ = false;
  bool is_too_large_ = false;
};

// The handler of the JSON parser.
class JsonHandler {
 public:
  using Failed = boost::json::error_code;
  using Text = boost::json::string_view;

  // Limits that the parser reads from its handler.
  static constexpr std::size_t max_array_size = 4 * limits::kThreads;
  static constexpr std::size_t max_object_size = limits::kCgroups;
  static constexpr std::size_t max_string_size = limits::kTextBytes;
  static constexpr std::size_t max_key_size = limits::kKeyBytes;

  JsonHandler(const Vocabulary& vocabulary, PassOptions& options, SnapshotBuilder& builder)
      : vocabulary_(&vocabulary), options_(&options), builder_(&builder) {}

  // The error, and its place, such as "threads[12].nice".
  const std::string& error_text() const { return error_text_; }
  std::string location() const;
  bool is_complete() const { return state_ == State::End; }
  std::optional<RegistryPart> registry_after_tables;

  // Returns whether no row is open. A string that was partly parsed in place of a row counts as
  // open; the error is reported when it is complete.
  bool is_between_rows() const { return state_ == State::ThreadRows && parts_.empty(); }
  bool is_among_threads() const {
    return state_ == State::ThreadRows || (table_ == TreeRoot::Thread && state_ != State::Raw);
  }
  // Reads rows without the parser. Returns the number of bytes read. REQUIRES: is_between_rows(),
  // and `text` follows a comma.
  std::size_t read_rows(std::string_view text) {
    return RowReader(builder_->layout.tree(TreeRoot::Thread), builder_->filler(TreeRoot::Thread))
        .read(text);
  }

  bool on_document_begin(Failed&) { return true; }
  bool on_document_end(Failed&) { return true; }
  bool on_object_begin(Failed& failed) { return open_object() || set_parser_error(failed); }
  bool on_object_end(std::size_t, Failed& failed) {
    return close_object() || set_parser_error(failed);
  }
  bool on_array_begin(Failed& failed) { return open_array() || set_parser_error(failed); }
  bool on_array_end(std::size_t, Failed& failed) {
    return close_array() || set_parser_error(failed);
  }
  bool on_key_part(Text part, std::size_t, Failed&) { return add_part(part); }
  bool on_string_part(Text part, std::size_t, Failed&) { return add_part(part); }
  bool on_number_part(Text part, Failed&) { return add_part(part); }
  bool on_comment_part(Text, Failed&) { return true; }
  bool on_comment(Text, Failed&) { return true; }

  bool on_key(Text last, std::size_t, Failed& failed) {
    if (parts_.empty()) return handle_key({last.data(), last.size()}) || set_parser_error(failed);
    const bool fine = handle_key(join_parts(last));
    parts_.clear();
    return fine || set_parser_error(failed);
  }
  bool on_string(Text last, std::size_t, Failed& failed) {
    const bool fine = handle_text(join_parts(last));
    parts_.clear();
    return fine || set_parser_error(failed);
  }
  bool on_int64(std::int64_t value, Text last, Failed& failed) {
    if (state_ == State::Members && node_->is_leaf() && parts_.empty())
      return check(rows_->put_signed(slot(), value, {last.data(), last.size()})) ||
             set_parser_error(failed);
    const bool fine = handle_number(value, join_parts(last));
    parts_.clear();
    return fine || set_parser_error(failed);
  }
  bool on_uint64(std::uint64_t value, Text last, Failed& failed) {
    const bool fine = handle_number(value, join_parts(last));
    parts_.clear();
    return fine || set_parser_error(failed);
  }
  bool on_double(double, Text last, Failed& failed) {
    const bool fine = handle_real(join_parts(last));
    parts_.clear();
    return fine || set_parser_error(failed);
  }
  bool on_bool(bool value, Failed& failed) {
    return handle_boolean(value) || set_parser_error(failed);
  }
  bool on_null(Failed& failed) { return handle_null() || set_parser_error(failed); }

 private:
  // The position in the document: the owner of the next event.
  enum class State : std::uint8_t {
    Start,         // before the document's object
    Members,       // the member of a known object
    ThreadsValue,  // the value of "threads"
    ThreadRows,
    CgroupsValue,  // the value of "cgroup_stats"
    CgroupKeys,
    CgroupRow,  // the value of a path
    Items,      // an item of an array that is one cell
    Entries,    // an entry of an object that is one cell
    Raw,        // a value that is kept as text, or skipped
    End,
  };
  // The purpose of a value that is kept as text.
  enum class RawPurpose { Nothing, Section, Object, RowKey };

  // An object on the path to the current position.
  struct Frame {
    KeyNode* node;
    KeyNode** next;  // predicted next child; updated for the next row
  };

  bool handle_key(std::string_view name) {
    if (state_ == State::Members) {
      Frame& frame = frames_[depth_ - 1];
      KeyNode* const guess = *frame.next;
      if (guess && guess->has_key(name)) {
        node_ = guess;
        frame.next = &guess->predicted_sibling;
        return true;
      }
    }
    return handle_unpredicted_key(name);
  }
  bool handle_unpredicted_key(std::string_view name);
  bool find_member(std::string_view name);
  bool handle_top_level_key(std::string_view name);
  bool begin_raw(RawPurpose purpose, std::string_view name);
  bool end_raw();
  bool keep_row_key();
  bool keep_top_level();
  bool handle_section(const FileSection& section, std::string json);
  bool use_registry();
  bool prepare();

  bool open_object();
  bool close_object();
  bool open_array();
  bool close_array();
  bool close_members();
  bool handle_text(std::string_view text);
  template <class T>
  bool handle_number(T value, std::string_view text);
  bool handle_real(std::string_view text);
  bool handle_boolean(bool value);
  bool handle_null();

  bool begin_row(RowFiller& rows, KeyNode& tree);
  bool end_row();
  void enter(KeyNode& node) {
    frames_[depth_++] = {&node, &node.predicted_child};
    node_ = nullptr;
  }
  Slot& slot() { return rows_->slot(node_->leaf); }
  bool is_cell() const { return state_ == State::Members && node_->is_leaf(); }
  // Reports a value of a kind that is not allowed here.
  bool reject_kind(const char* what);
  bool check(bool fine) { return fine || reject(rows_->error_text()); }
  bool reject(std::string error_text) {
    error_text_ = std::move(error_text);
    return false;
  }
  // Reports an error whose message begins with the place, up to the first space.
  bool reject_with_location(const std::string& sentence) {
    location_ = sentence.substr(0, sentence.find(' '));
    return reject(sentence.substr(std::min(sentence.size(), location_.size() + 1)));
  }
  static bool set_parser_error(Failed& failed) {
    failed = boost::json::error::exception;
    return false;
  }

  bool add_part(Text part) {
    parts_.append(part.data(), part.size());
    return true;
  }
  // Joins the earlier parts of a text with the last one, and returns the complete text.
  std::string_view join_parts(Text last) {
    if (parts_.empty()) return {last.data(), last.size()};
    parts_.append(last.data(), last.size());
    return parts_;
  }

  const Vocabulary* vocabulary_;
  PassOptions* options_;
  SnapshotBuilder* builder_;
  State state_ = State::Start;
  KeyNode* node_ = nullptr;    // in Members: the node of the last key
  RowFiller* rows_ = nullptr;  // the table of the current row
  TreeRoot table_ = TreeRoot::Host;
  std::array<Frame, limits::kPathKeys + 2> frames_{};
  std::size_t depth_ = 0;
  std::string parts_;
  std::string error_text_;
  std::string location_;  // the place of an error, if it is more precise than the parser's position

  RawCollector raw_;
  RawPurpose raw_purpose_ = RawPurpose::Nothing;
  std::string raw_key_;  // the key of the value that raw_ collects
  std::set<std::string, std::less<>> top_level_;
  using Lookup = std::unordered_map<std::string_view, std::size_t, SeededHash>;
  std::unordered_map<const KeyNode*, Lookup> lookups_;  // position of a key among a node's children
};

}  // namespace ctprof
