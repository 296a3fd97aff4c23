#include "core/file/write/document.hpp"

#include <algorithm>

#include "core/file/columns/plugin_entities.hpp"
#include "core/file/layout/sections.hpp"
#include "core/registry/identity.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof {
namespace {

// Rows per part: about 500 KiB of text, which fits into caches, and enough parts to share among
// workers. Smaller parts compress less: by 7 percent with half as many rows.
constexpr std::size_t kRowsPerPart = 256;
// Rows with long texts are written out when they reach this many bytes, which limits memory.
constexpr std::size_t kFlushBytes = 2 * 1024 * 1024;
constexpr std::array kAllEntities{Entity::Thread, Entity::Process, Entity::Cgroup, Entity::Host};

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::size_t count_parts(std::size_t rows) {
  return std::max<std::size_t>(1, (rows + kRowsPerPart - 1) / kRowsPerPart);
}

void set_marks(const Column& column, std::vector<std::uint8_t>& rows) {
  const ctprof_gap* gaps = column.gaps().data();
  std::uint8_t* marks = rows.data();
  for (std::size_t row = 0, count = rows.size(); row < count; ++row)
    marks[row] |= gaps[row] == CTPROF_VALUE;
}

// Writes the text except a comma at its end, which may have to be removed later.
Result<void> flush_all_but_comma(JsonWriter& out, Sink& sink) {
  const std::size_t size = out.size() - (out.view().back() == ',');
  auto done = sink.write(out.view().substr(0, size));
  const bool ends_in_comma = size < out.size();
  out.clear();
  if (ends_in_comma) out.put(',');
  return done;
}

// Returns whether any leaf below the node has a value in the tree's only row.
bool has_value(const KeyNode& node, const std::vector<LeafContent>& contents) {
  if (!node.is_leaf())
    return std::any_of(node.children.begin(), node.children.end(),
                       [&](const KeyNode& child) { return has_value(child, contents); });
  const LeafContent& content = contents[node.leaf];
  return content.kept_json ||
         (content.column && content.column->rows() > 0 && content.column->has_value(0));
}

}  // namespace

Document::Document(const Snapshot& snapshot, const Vocabulary& vocabulary)
    : snapshot_(&snapshot),
      vocabulary_(&vocabulary),
      thread_parts_(count_parts(snapshot.threads().rows)),
      cgroup_parts_(count_parts(snapshot.table(Entity::Cgroup).rows)) {
  fill_marks();
  find_leaders();
  add_metrics();
  for (const Entity entity : {Entity::Thread, Entity::Cgroup, Entity::Host}) add_kept_keys(entity);
  add_null_objects();
  list_metrics();
}

// Sets each mark to true in the rows where a metric that names it has a value. Marks that it names
// itself become true as well.
void Document::fill_marks() {
  const Table& threads = snapshot_->threads();
  for (const Column& column : threads.columns) {
    std::string_view mark = column.def().mark;
    for (std::size_t step = 0; !mark.empty() && step < vocabulary_->metrics.size(); ++step) {
      set_marks(column, marks_.try_emplace(std::string(mark), threads.rows).first->second);
      const MetricDef* def = vocabulary_->find(mark);
      mark = def ? std::string_view(def->mark) : std::string_view{};
    }
  }
}

// Assigns each process to the row of its leader, or to its first row if the leader was not listed.
void Document::find_leaders() {
  process_rows_.assign(snapshot_->threads().rows, kNoRow);
  const Column* tids = snapshot_->threads().find(kTid);
  const Column* tgids = snapshot_->threads().find(kTgid);
  const Column* processes = snapshot_->table(Entity::Process).find(kProcessTgid);
  if (!tids || !tgids || !processes) return;
  std::size_t row = 0;
  for (std::uint32_t process = 0; process < processes->rows(); ++process) {
    const std::uint64_t tgid = processes->u64()[process];
    while (row < tgids->rows() && tgids->u64()[row] < tgid) ++row;
    const std::size_t first = row;
    std::size_t leader = tgids->rows();
    for (; row < tgids->rows() && tgids->u64()[row] == tgid; ++row)
      if (tids->u64()[row] == tgid) leader = std::min(leader, row);
    if (row > first) process_rows_[leader < row ? leader : first] = process;
  }
}

// Returns the key paths that have contents: columns, kept keys, and objects.
Layout Document::key_paths_of_contents() const {
  Layout used;
  for (const Entity entity : kAllEntities)
    for (const Column& column : snapshot_->table(entity).columns)
      used.add(key_path_of(column.def()));
  for (const Entity entity : kAllEntities)
    for (const auto& [path, pieces] :
         snapshot_->extras->unknown_keys[static_cast<std::size_t>(entity)])
      used.add({root_of(entity), split_path(path)});
  for (const auto& [key, json] : snapshot_->objects) used.add({TreeRoot::Host, {key}});
  return used;
}

// Adds the vocabulary's metrics in their order, then columns that it does not know. If two metrics
// have the same key path, one with contents takes precedence. Alternative spellings are added last.
void Document::add_metrics() {
  Layout used = key_paths_of_contents();
  std::vector<MetricLeaf> placed;
  std::unordered_set<const Column*> done;
  for (const MetricDef& def : vocabulary_->metrics) {
    const Column* column = def.is_mark ? nullptr : snapshot_->table(def.entity).find(def.name);
    if (!column && used.add(key_path_of(def)) == KeyNode::kNone) continue;
    add_metric(column ? column->def() : def, column, placed);
    done.insert(column);
  }
  for (const Entity entity : kAllEntities)
    for (const Column& column : snapshot_->table(entity).columns)
      if (!done.contains(&column)) add_metric(column.def(), &column, placed);
  for (const auto& [def, leaf] : placed)
    for (const KeyPath& alias : aliases_of(*def)) layout_.add_alias(alias, leaf);
}

void Document::add_metric(const MetricDef& def, const Column* column,
                          std::vector<MetricLeaf>& placed) {
  const KeyPath place = key_path_of(def);
  const std::size_t leaf = layout_.add(place);
  if (leaf == KeyNode::kNone) return;
  placed.push_back({&def, leaf});
  contents_of(place.root).push_back(content_of(def, column));
  if (column) return void(placed_columns_.insert(column));
  registry_.placeholders.push_back(format_key_path(place));
  for (const KeyPath& alias : aliases_of(def))
    registry_.placeholders.push_back(format_key_path(alias));
}

// Lists all columns, in table order. A column whose key path is used by another gets the path
// "none".
void Document::list_metrics() {
  for (const Entity entity : kAllEntities)
    for (const Column& column : snapshot_->table(entity).columns) {
      if (column.def().is_hidden || column.def().storage == Storage::Stacks) continue;
      columns_[static_cast<std::size_t>(entity)].push_back(&column);
      MetricDef& def =
          registry_.metrics.emplace_back(RegistryPart::Metric{column.def(), column.provenance}).def;
      if (key_path_of(def).root != TreeRoot::None && !placed_columns_.contains(&column))
        def.file_path = "none";
    }
  registry_.derived = snapshot_->builtin_derived();
  registry_.labels = labels_of(*snapshot_);
  registry_.unknown = snapshot_->extras->unknown_definitions;
}

LeafContent Document::content_of(const MetricDef& def, const Column* column) const {
  LeafContent content;
  content.absent = json_of_absent_cell(def);
  if (def.is_mark) {
    const auto mark = marks_.find(def.name);
    if (mark != marks_.end()) content.mark = &mark->second;
  } else if (column && column->rows() > 0) {
    content.column = column;
    if (def.entity == Entity::Process) content.rows = process_rows_;
  }
  return content;
}

void Document::add_kept_keys(Entity entity) {
  const TreeRoot root = root_of(entity);
  for (const auto& [path, pieces] :
       snapshot_->extras->unknown_keys[static_cast<std::size_t>(entity)]) {
    if (layout_.add({root, split_path(path)}) == KeyNode::kNone) continue;
    contents_of(root).emplace_back().kept_json = &pieces;
  }
}

// Writes null for whole objects of the host in which nothing has a value.
void Document::add_null_objects() {
  for (KeyNode& node : layout_.tree(TreeRoot::Host).children) {
    if (!contains(vocabulary_->objects, node.key) || has_value(node, contents_of(TreeRoot::Host)))
      continue;
    node = KeyNode(node.key, contents_of(TreeRoot::Host).size());
    contents_of(TreeRoot::Host).emplace_back().absent = "null";
  }
}

Document::WorkerBuffers::WorkerBuffers(const Document& document)
    : threads_(document.row_writer_of(TreeRoot::Thread)),
      cgroups_(document.row_writer_of(TreeRoot::Cgroup)) {}

RowWriter Document::row_writer_of(TreeRoot root) const {
  return RowWriter(layout_.tree(root), contents_[static_cast<std::size_t>(root)],
                   *snapshot_->pools);
}

Result<void> Document::write(Sink& sink) const {
  WorkerBuffers buffers(*this);
  for (std::size_t part = 0; part < part_count(); ++part) CTPROF_TRY(write(part, buffers, sink));
  return {};
}

Result<void> Document::write(std::size_t part, WorkerBuffers& buffers, Sink& sink) const {
  buffers.out_.clear();
  Result<void> done;
  if (part == 0)
    write_start(buffers.out_);
  else if (part <= thread_parts_)
    done = write_threads(part - 1, buffers, sink);
  else
    done = write_cgroups(part - 1 - thread_parts_, buffers, sink);
  return done ? sink.write(buffers.out_.view()) : done;
}

void Document::write_start(JsonWriter& out) const {
  out.put('{');
  write_sections(out);
  write_objects(out);
  out.key(kThreadsKey);
  out.put('[');
}

void Document::write_sections(JsonWriter& out) const {
  const SectionInput source{*snapshot_, registry_, columns_};
  for (const FileSection& section : file_sections()) {
    out.key(section.key);
    section.write(source, out);
    out.put(',');
  }
}

void Document::write_objects(JsonWriter& out) const {
  std::map<std::string, std::string_view> objects;
  for (const std::string& key : vocabulary_->objects) objects[key] = "null";
  for (const auto& [key, json] : snapshot_->objects) objects[key] = json;
  objects.erase(std::string(columns::kPluginEntitiesKey));
  for (const auto& [key, json] : objects) {
    if (is_reserved(key) || layout_.tree(TreeRoot::Host).find(key)) continue;
    out.key(key);
    out.raw(json);
    out.put(',');
  }
  columns::write_plugin_entities(*snapshot_, out);
}

Result<void> Document::write_threads(std::size_t part, WorkerBuffers& buffers, Sink& sink) const {
  const std::size_t first = part * kRowsPerPart,
                    last = std::min(first + kRowsPerPart, snapshot_->threads().rows);
  for (std::size_t row = first; row < last; ++row) {
    buffers.threads_.write(row, buffers.out_);
    if (buffers.out_.size() < kFlushBytes) continue;
    CTPROF_TRY(flush_all_but_comma(buffers.out_, sink));
  }
  if (part + 1 < thread_parts_) return {};
  buffers.out_.close(']');
  buffers.out_.put(',');
  return {};
}

// Writes cgroups; the last part also contains the remaining keys of the document.
Result<void> Document::write_cgroups(std::size_t part, WorkerBuffers& buffers, Sink& sink) const {
  const Table& cgroups = snapshot_->table(Entity::Cgroup);
  const Column* paths = cgroups.find(kCgroupPath);
  JsonWriter& out = buffers.out_;
  if (part == 0) {
    out.key(kCgroupsKey);
    out.put('{');
  }
  const std::size_t first = part * kRowsPerPart,
                    last = paths ? std::min(first + kRowsPerPart, cgroups.rows) : first;
  for (std::size_t row = first; row < last; ++row) {
    out.key(snapshot_->pools->texts[paths->ids()[row]]);
    buffers.cgroups_.write(row, out);
    if (out.size() < kFlushBytes) continue;
    CTPROF_TRY(flush_all_but_comma(out, sink));
  }
  if (part + 1 < cgroup_parts_) return {};
  out.close('}');
  out.put(',');
  row_writer_of(TreeRoot::Host).write_members(0, out);
  out.close('}');
  return {};
}

}  // namespace ctprof
