#include "core/file/read/rows_reader.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/members.hpp"
#include "core/file/layout/sections.hpp"
#include "core/file/read/row_reader.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kItemsPerKey = 3;  // allocations per key, as the budget counts them
// Text that is read ahead of a row. Most rows are shorter, and are then read in one slice.
constexpr std::size_t kBytesAhead = 16 * limits::kKiB;
constexpr std::size_t kDepthOfMember = limits::kDepth - 1;  // of a value at the top

// Counts the text for the budget.
class CountedText final : public TextSource {
 public:
  CountedText(TextSource& source, MemoryBudget& budget) : source_(&source), budget_(&budget) {}
  Result<std::string_view> next() override {
    auto slice = source_->next();
    if (slice) budget_->text_bytes += slice->size();
    return slice;
  }

 private:
  TextSource* source_;
  MemoryBudget* budget_;
};

// Reads the document.
class RowsReader {
 public:
  RowsReader(TextSource& source, const Vocabulary& vocabulary, PassOptions options,
             SnapshotBuilder& builder)
      : text_(source, builder.budget),
        in_(text_, {.string_bytes = limits::kTextBytes, .value_bytes = limits::kSectionBytes}),
        rows_(in_, builder),
        vocabulary_(&vocabulary),
        options_(std::move(options)),
        builder_(&builder) {}

  PassResult read();

 private:
  void read_document();
  void read_member();
  void read_threads();
  void read_cgroups();
  void keep_object();
  void read_section(const FileSection& section);
  void use_registry();
  void prepare();
  std::string keep_value();
  PassResult describe_error() const;

  CountedText text_;
  Scanner in_;
  RowReader rows_;
  const Vocabulary* vocabulary_;
  PassOptions options_;
  SnapshotBuilder* builder_;
  std::string key_;  // of the current member
  std::set<std::string, std::less<>> known_keys_;
  std::string location_;  // the place of an error, if it is more precise than the position
  std::optional<RegistryPart> registry_after_tables_;
};

PassResult RowsReader::read() {
  read_document();
  PassResult result = in_.has_failed() ? describe_error() : PassResult();
  result.registry = std::move(registry_after_tables_);
  return result;
}

void RowsReader::read_document() {
  if (in_.peek() != '{') return rows_.reject_kind(" where a snapshot's object should be");
  for (in_.enter('{'); in_.next('}'); rows_.set_top_key("")) read_member();
  if (in_.has_failed()) return;
  prepare();
  if (in_.has_failed()) return;
  rows_.end_host();
  if (!in_.at_end()) in_.fail("more text follows the end of the JSON");
}

PassResult RowsReader::describe_error() const {
  using Kind = ScanError::Kind;
  const ScanError& error = in_.error();
  const std::string location = location_.empty() ? rows_.location() : location_;
  if (error.kind == Kind::Source) return {.failure = error.reason, .registry = {}};
  PassResult result;
  if (!rows_.error_text().empty())
    result.failure = location + ' ' + rows_.error_text();
  else if (error.kind == Kind::EndOfText)
    result.failure = "the text ends in the middle, in " + location;
  else
    result.failure =
        (error.kind == Kind::Syntax ? "invalid JSON: " : "") + error.reason + ", in " + location;
  result.is_content_error = !rows_.error_text().empty();
  result.failure += " (byte " + std::to_string(error.position) + " of the text)";
  return result;
}

// --- members at the top ---

void RowsReader::read_member() {
  key_ = in_.key();
  rows_.check_key(key_);
  if (in_.has_failed()) return;
  if (!known_keys_.emplace(key_).second)
    return rows_.reject("has the key '" + replace_invalid_utf8(key_) + "' twice");
  builder_->budget.kept_bytes += 2 * key_.size();
  builder_->budget.items += kItemsPerKey;
  if (builder_->budget.is_exceeded()) return rows_.reject(RowFiller::kTooMuchMemory);
  const bool is_wanted =
      key_ == kRegistryKey ? !options_.registry.has_value() : !options_.only_find_registry;
  rows_.set_top_key(key_);
  if (!is_wanted) return in_.discard(kDepthOfMember);
  if (const FileSection* section = find_file_section(key_)) return read_section(*section);
  prepare();
  if (in_.has_failed()) return;
  if (key_ == kThreadsKey) return read_threads();
  if (key_ == kCgroupsKey) return read_cgroups();
  KeyNode* const node = builder_->layout.tree(TreeRoot::Host).find(key_);
  node ? rows_.read_value(*node) : keep_object();
}

void RowsReader::read_threads() {
  if (in_.peek() != '[') return rows_.reject_kind();
  for (in_.enter('['); in_.next(']');) {
    in_.read_ahead(kBytesAhead);
    if (in_.peek() != '{') return rows_.reject_kind();
    rows_.read_row(TreeRoot::Thread);
  }
}

void RowsReader::read_cgroups() {
  if (in_.peek() != '{') return rows_.reject_kind();
  for (in_.enter('{'); in_.next('}');) {
    in_.read_ahead(kBytesAhead);
    const std::string_view path = in_.key();
    rows_.check_key(path);
    if (!in_.has_failed()) rows_.read_row(TreeRoot::Cgroup, path);
  }
}

// Creates the columns, before the first value that is not of a section.
void RowsReader::prepare() {
  if (builder_->is_prepared()) return;
  if (options_.registry)
    builder_->prepare(std::move(*options_.registry));
  else
    builder_->prepare(*vocabulary_);
  rows_.begin_host();
}

// --- values that are kept as text ---

std::string RowsReader::keep_value() {
  std::string json = normalize_json(in_.skip(kDepthOfMember));
  builder_->budget.kept_bytes += json.size();
  if (builder_->budget.is_exceeded()) rows_.reject(RowFiller::kTooMuchMemory);
  return json;
}

void RowsReader::keep_object() {
  std::string json = keep_value();
  if (in_.has_failed()) return;
  if (json != "null" || !std::ranges::count(vocabulary_->objects, key_))
    builder_->snapshot.objects.emplace(key_, std::move(json));
}

void RowsReader::read_section(const FileSection& section) {
  std::string json = keep_value();
  if (in_.has_failed()) return;
  if (!section.read_before_rows)
    return void(builder_->sections.emplace(section.key, std::move(json)));
  Result<void> done = section.read_before_rows(json, *builder_);
  if (done && builder_->registry) done = check_key_paths(*builder_->registry);
  if (!done) {
    // The message begins with the place, up to the first space.
    const std::string& sentence = done.error().text;
    location_ = sentence.substr(0, sentence.find(' '));
    return rows_.reject(sentence.substr(std::min(sentence.size(), location_.size() + 1)));
  }
  if (builder_->registry) use_registry();
}

void RowsReader::use_registry() {
  std::optional<RegistryPart> found = std::exchange(builder_->registry, std::nullopt);
  if (builder_->is_prepared() || options_.only_find_registry) {
    registry_after_tables_ = std::move(found);
    return rows_.reject("comes after the rows that it describes");
  }
  options_.registry = std::move(found);
  prepare();
}

}  // namespace

PassResult read_rows(TextSource& source, const Vocabulary& vocabulary, PassOptions options,
                     SnapshotBuilder& builder) {
  return RowsReader(source, vocabulary, std::move(options), builder).read();
}

}  // namespace ctprof
