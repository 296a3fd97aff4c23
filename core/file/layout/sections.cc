#include "core/file/layout/sections.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/fields.hpp"
#include "core/file/layout/members.hpp"
#include "core/file/layout/row_notes.hpp"

namespace ctprof {
namespace {

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

Result<void> apply_table_gaps(std::string_view gaps, Entity entity, SectionTarget& target,
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

Result<void> read_read_times(std::string_view read_at, SectionTarget& target) {
  const Error wrong{"read_at is not an array with one time for each thread"};
  std::vector<std::uint64_t> times(target.snapshot.threads().rows);
  Scanner in(read_at);
  if (in.peek() != '[') return wrong;
  std::size_t row = 0;
  for (in.enter('['); in.next(']'); ++row) {
    row += in.read_plain_numbers(std::span(times).subspan(row), UINT64_MAX);
    if (row == times.size()) return wrong;
    const auto at = read_whole_number(in);
    if (!at) return Error{"read_at holds something other than whole numbers"};
    times[row] = *at;
  }
  if (row != 0 && row != times.size()) return wrong;
  if (row != 0) target.snapshot.read_at = std::move(times);
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

Result<void> apply_table_raw(std::string_view raw, Entity entity, SectionTarget& target,
                             WorkBudget& work) {
  return apply_raw(raw, name(entity), target.snapshot.table(entity), target.snapshot.pools->texts,
                   work);
}

// --- captured_at_unix_ns: a key of the reference, which our files contain as well ---

void write_time(const SectionInput& source, JsonWriter& out) {
  out.number(source.snapshot.meta.start.wall_unix_ns);
}

Result<void> read_time(std::string_view at, SectionTarget& target) {
  Scanner in(at);
  const auto wall = read_whole_number(in);
  if (!wall) return Error{"captured_at_unix_ns is not a whole number"};
  target.snapshot.meta.start.wall_unix_ns = *wall;
  return {};
}

// The keys are stored in files.
constexpr FileSection kFileSections[] = {
    {"ctprof", write_meta, read_meta_section, nullptr, nullptr},
    {kRegistryKey, write_definitions, read_definitions_section, nullptr, nullptr},
    {"gaps", write_all_gaps, nullptr, nullptr, apply_table_gaps, &FileExtras::unknown_gaps},
    {"read_at", write_read_at, nullptr, read_read_times, nullptr},
    {"raw", write_all_raw, nullptr, nullptr, apply_table_raw, &FileExtras::unknown_raw},
    {"captured_at_unix_ns", write_time, nullptr, read_time, nullptr},
};

}  // namespace

Result<SplitSection> split_section(const FileSection& section, std::string_view json,
                                   SectionTarget& target) {
  SplitSection split{.section = &section};
  KeptMembers& unknown = (*target.snapshot.extras).*section.unknown_tables;
  Scanner in(json);
  if (in.peek() != '{') return Error{std::string(section.key) + " is not an object"};
  for (in.enter('{'); in.next('}');) {
    const std::string word(in.key());
    const std::string_view value = in.skip();
    if (Entity entity{}; parse(word, entity)) {
      split.parts[static_cast<std::size_t>(entity)] = value;
      continue;
    }
    if (unknown.size() == limits::kUnknownEntities || word.size() > limits::kNameBytes)
      return Error{std::string(section.key) +
                   " has too many unknown entities, or one with a long name"};
    unknown.emplace(word, value);
  }
  return split;
}

Result<void> read_meta(std::string_view text, Meta& meta, KeptMembers& unknown) {
  if (text.size() > limits::kObjectBytes)
    return Error{"ctprof is longer than " + std::to_string(limits::kObjectBytes) + " bytes"};
  Scanner in(text);
  FieldReader reader(in, "ctprof");
  reader.read_object(meta);
  if (std::string wrong = reader.error_text(); !wrong.empty()) return Error{std::move(wrong)};
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
