#include "core/file/layout/sections.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "core/file/file.hpp"
#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/fields.hpp"
#include "core/file/layout/members.hpp"
#include "core/file/layout/row_notes.hpp"

namespace ctprof {
namespace {

namespace json = boost::json;

constexpr std::size_t kDepthOfMeta = 2;  // nesting depth of its members

// Writes {"thread": ..., "process": ..., ...}.
template <class WriteTable>
void write_by_table(JsonWriter& out, const KeptMembers& unknown, WriteTable write_table) {
  out.put('{');
  for (std::size_t entity = 0; entity < kBuiltinEntities; ++entity) {
    out.key(name(static_cast<Entity>(entity)));
    write_table(entity);
    out.put(',');
  }
  write_members(unknown, out);
  out.close('}');
}

// Keeps the members of such an object that belong to unknown entities.
Result<void> keep_unknown_tables(const json::value& by_table, const char* key,
                                 KeptMembers& unknown) {
  if (!by_table.is_object()) return {};  // reading the first table reports the error
  for (const auto& [word, value] : by_table.get_object()) {
    Entity entity{};
    if (parse(std::string_view(word), entity)) continue;
    if (unknown.size() == limits::kUnknownEntities || word.size() > limits::kNameBytes)
      return Error{std::string(key) + " has too many unknown entities, or one with a long name"};
    unknown.emplace(std::string_view(word), json::serialize(value));
  }
  return {};
}

// --- ctprof: how, when and where the capture was made ---

void write_meta(const SectionInput& source, JsonWriter& out) {
  out.put('{');
  FieldWriter(out).write_members(source.snapshot.meta);
  write_members(source.snapshot.extras->unknown_meta, out);
  write_members(source.snapshot.extras->unknown_summary_meta, out);
  out.close('}');
}

Result<void> read_meta_section(std::string_view text, SectionTarget& target) {
  CTPROF_TRY(read_meta(text, target.snapshot.meta, target.snapshot.extras->unknown_meta));
  const std::uint64_t format = target.snapshot.meta.format;
  if (format > kFileFormat)
    return Error{"ctprof is of format " + std::to_string(format) +
                 ", but this version reads formats up to " + std::to_string(kFileFormat) +
                 "; use a newer ctprof"};
  target.has_meta = true;
  return {};
}

// --- registry: the columns' definitions ---

void write_definitions(const SectionInput& source, JsonWriter& out) {
  write_registry(source.registry, out);
}

Result<void> read_definitions_section(std::string_view text, SectionTarget& target) {
  CTPROF_TRY_VALUE(auto registry, read_registry(text));
  target.registry = std::move(registry);
  return {};
}

// --- gaps: why cells hold no value ---

void write_all_gaps(const SectionInput& source, JsonWriter& out) {
  write_by_table(out, source.snapshot.extras->unknown_gaps,
                 [&](std::size_t entity) { write_gaps(source.columns[entity], out); });
}

Result<void> keep_unknown_gaps(const json::value& gaps, SectionTarget& target) {
  return keep_unknown_tables(gaps, "gaps", target.snapshot.extras->unknown_gaps);
}

Result<void> apply_table_gaps(const json::value& gaps, Entity entity, SectionTarget& target,
                              WorkBudget& work) {
  return apply_gaps(gaps, name(entity), target.snapshot.table(entity), work);
}

// --- read_at: for each thread the time of its reading, in ns after the start ---

void write_read_at(const SectionInput& source, JsonWriter& out) {
  out.put('[');
  for (const std::uint64_t at : source.snapshot.read_at) {
    out.number(at);
    out.put(',');
  }
  out.close(']');
}

Result<void> read_read_times(const json::value& read_at, SectionTarget& target) {
  Snapshot& snapshot = target.snapshot;
  const bool fits = read_at.is_array() && (read_at.get_array().empty() ||
                                           read_at.get_array().size() == snapshot.threads().rows);
  if (!fits) return Error{"read_at is not an array with one time for each thread"};
  for (const json::value& item : read_at.get_array()) {
    boost::system::error_code failed;
    snapshot.read_at.push_back(item.to_number<std::uint64_t>(failed));
    if (failed) return Error{"read_at holds something other than whole numbers"};
  }
  return {};
}

// --- raw: the bytes of texts that are not UTF-8 ---

void write_all_raw(const SectionInput& source, JsonWriter& out) {
  const TextPool& texts = source.snapshot.pools->texts;
  const std::vector<Id> invalid = invalid_texts(texts);
  write_by_table(out, source.snapshot.extras->unknown_raw, [&](std::size_t entity) {
    write_raw(source.columns[entity], invalid, texts, out);
  });
}

Result<void> keep_unknown_raw(const json::value& raw, SectionTarget& target) {
  return keep_unknown_tables(raw, "raw", target.snapshot.extras->unknown_raw);
}

Result<void> apply_table_raw(const json::value& raw, Entity entity, SectionTarget& target,
                             WorkBudget& work) {
  return apply_raw(raw, name(entity), target.snapshot.table(entity), target.snapshot.pools->texts,
                   work);
}

// --- captured_at_unix_ns: a key of the reference, which our files contain as well ---

void write_time(const SectionInput& source, JsonWriter& out) {
  out.number(source.snapshot.meta.start.wall_unix_ns);
}

Result<void> read_time(const json::value& at, SectionTarget& target) {
  boost::system::error_code failed;
  const auto wall = at.to_number<std::uint64_t>(failed);
  if (failed) return Error{"captured_at_unix_ns is not a whole number"};
  target.snapshot.meta.start.wall_unix_ns = wall;
  return {};
}

// The keys are stored in files.
constexpr FileSection kFileSections[] = {
    {"ctprof", write_meta, read_meta_section, nullptr, nullptr},
    {kRegistryKey, write_definitions, read_definitions_section, nullptr, nullptr},
    {"gaps", write_all_gaps, nullptr, keep_unknown_gaps, apply_table_gaps},
    {"read_at", write_read_at, nullptr, read_read_times, nullptr},
    {"raw", write_all_raw, nullptr, keep_unknown_raw, apply_table_raw},
    {"captured_at_unix_ns", write_time, nullptr, read_time, nullptr},
};

}  // namespace

Result<void> read_meta(std::string_view text, Meta& meta, KeptMembers& unknown) {
  if (text.size() > limits::kObjectBytes)
    return Error{"ctprof is longer than " + std::to_string(limits::kObjectBytes) + " bytes"};
  boost::system::error_code failed;
  FieldReader reader("ctprof");
  reader.read_object(json::parse({text.data(), text.size()}, failed), meta);
  if (!reader.error_text().empty()) return Error{reader.error_text()};
  if (!reader.has_unknown_members()) return {};
  auto members = parse_members(text, kDepthOfMeta);
  if (!members) return Error{"ctprof is wrong: " + members.error().text};
  unknown = unknown_members<Meta>(std::move(*members));
  return {};
}

std::span<const FileSection> file_sections() { return kFileSections; }

const FileSection* find_file_section(std::string_view key) {
  const auto it = std::find_if(std::begin(kFileSections), std::end(kFileSections),
                               [&](const FileSection& section) { return section.key == key; });
  return it == std::end(kFileSections) ? nullptr : &*it;
}

}  // namespace ctprof
