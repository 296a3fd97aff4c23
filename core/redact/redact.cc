#include "core/redact/redact.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/json_scanner.hpp"
#include "core/base/json_writer.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/map_labels.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/stacks/hidden_offsets.hpp"

namespace ctprof {
namespace {

// Keys that describe machine and kernel, which are needed to understand the values. Of the kernel
// release only the numbers are kept.
constexpr std::array<std::string_view, 8> kKeptKeys{
    "cpu_model",   "cpu_vendor", "arch",           "kernel_name",
    "thp_enabled", "thp_defrag", "task_delayacct", "config_task_xacct"};
constexpr std::string_view kReleaseKey = "kernel_release";
// The usual mount points of cgroups.
constexpr std::array<std::string_view, 2> kUsualMounts{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

constexpr std::string_view kNumberCharacters = "0123456789.,+- \t";

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Returns whether a text consists of numbers, such as "100000", "0-3" or "1 2 3", but is not a
// network address.
bool is_numeric(std::string_view text) {
  return text.find_first_not_of(kNumberCharacters) == text.npos &&
         text.find('.') == text.rfind('.');
}

std::string redact_release(std::string_view release, Pseudonyms& pseudonyms) {
  const std::size_t end = std::min(release.find_first_not_of("0123456789."), release.size());
  return std::string(release.substr(0, end)) + pseudonyms.pseudonym_of(release.substr(end));
}

std::string redact_text(std::string_view key, std::string_view text, Pseudonyms& pseudonyms) {
  if (contains(kKeptKeys, key) || is_numeric(text)) return std::string(text);
  return key == kReleaseKey ? redact_release(text, pseudonyms) : pseudonyms.word_of(text);
}

// --- cells

// Redacts cells of texts and maps; a text or map that occurs several times is replaced once.
class CellRedactor {
 public:
  CellRedactor(Snapshot& snapshot, const Vocabulary& vocabulary, Pseudonyms& pseudonyms)
      : pools_(*snapshot.pools), vocabulary_(vocabulary), pseudonyms_(pseudonyms) {}

  void redact(Column& column) {
    const MetricDef& def = column.def();
    const bool is_known_metric = vocabulary_.find(def.name) != nullptr;
    if (def.storage == Storage::String && !(is_known_metric && is_kernel_text(def)))
      replace(column, texts_, [&](Id id) { return pools_.texts.intern(redact_name(id)); });
    if (def.storage == Storage::Map && !is_known_metric)
      replace(column, maps_[def.labels], [&](Id id) { return redact_map_keys(id, def.labels); });
  }

  std::size_t count() const { return replaced_; }

 private:
  using Replacements = std::unordered_map<Id, Id>;

  // Categorical texts, such as policies and states, come from a short list of the kernel. Those of
  // the host may contain names.
  static bool is_kernel_text(const MetricDef& def) {
    return def.family == "categorical" && def.entity != Entity::Host;
  }

  std::string redact_name(Id id) { return pseudonyms_.pseudonym_of(pools_.texts[id]); }

  // A label value has one pseudonym in all keys.
  std::string redact_key(std::string_view labels, std::string_view key) {
    std::vector<std::string> values = label_values(labels, key);
    if (values.empty()) return pseudonyms_.pseudonym_of(key);
    for (std::string& value : values) value = pseudonyms_.pseudonym_of(value);
    return join_label_values(values);
  }

  Id redact_map_keys(Id id, std::string_view labels) {
    std::vector<std::string> keys;
    std::vector<ctprof_entry> entries(pools_.maps[id].begin(), pools_.maps[id].end());
    for (const ctprof_entry& entry : entries)
      keys.push_back(redact_key(labels, {entry.key.data, entry.key.size}));
    for (std::size_t i = 0; i < entries.size(); ++i)
      entries[i].key = {keys[i].data(), keys[i].size()};
    return pools_.maps.append(entries, pools_.texts);
  }

  template <class Make>
  void replace(Column& column, Replacements& vocabulary, const Make& make) {
    for (std::size_t row = 0; row < column.rows(); ++row) {
      if (!column.has_value(row)) continue;
      Id& id = column.ids()[row];
      const auto [place, is_new] = vocabulary.try_emplace(id);
      if (is_new) place->second = make(id);
      id = place->second;
      ++replaced_;
    }
  }

  Pools& pools_;
  const Vocabulary& vocabulary_;
  Pseudonyms& pseudonyms_;
  Replacements texts_;
  std::map<std::string, Replacements> maps_;  // by labels
  std::size_t replaced_ = 0;
};

// --- cgroups, whose rows are sorted by path

void sort_cgroups(Snapshot& snapshot) {
  Table& table = snapshot.table(Entity::Cgroup);
  const Column* paths = table.find(kCgroupPath);
  if (!paths || table.rows == 0) return;
  std::vector<std::uint32_t> order(table.rows);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) {
    return paths->has_value(row) ? snapshot.pools->texts[paths->ids()[row]] : std::string_view{};
  });
  const auto runs = find_row_ranges(order);
  std::vector<std::byte> scratch;
  for (Column& column : table.columns) column.reorder_rows(runs, scratch);
  if (!snapshot.window) return;
  Opening& opening = snapshot.window->openings[static_cast<std::size_t>(Entity::Cgroup)];
  for (Column& column : opening.columns) column.reorder_rows(runs, scratch);
  std::vector<std::uint8_t> started;
  for (std::size_t i = 0; i < opening.started.size(); ++i)
    started.push_back(opening.started[order[i]]);
  opening.started = std::move(started);
}

// --- stacks

bool is_user_module(const Module& module) {
  return module.kind != Module::Kind::Kernel && module.kind != Module::Kind::Vdso;
}

// The build ids of the kernel and of its vDSO identify the exact build, which redact_release()
// hides.
Module redact_module(Module module, Pseudonyms& pseudonyms) {
  if (is_user_module(module)) module.path = pseudonyms.pseudonym_of(module.path);
  module.build_id = pseudonyms.bytes_of(module.build_id);
  if (module.kind == Module::Kind::File)
    module.address_bias = pseudonyms.offset_of(module.address_bias);
  return module;
}

// Offsets in a file identify it, and the functions there. With one key they stay comparable.
Frame redact_offset(const Module& module, Frame frame, HiddenOffsets& hidden,
                    const Pseudonyms& pseudonyms) {
  if (HiddenOffsets::are_addresses(module.kind)) return hidden.hide_offset(module, frame);
  if (frame.offset != Frame::kNoOffset) frame.offset = pseudonyms.offset_of(frame.offset);
  return frame;
}

// Kernel symbols of BPF programs contain names that their users chose.
constexpr std::string_view kBpfPrefix = "bpf_prog_";

bool is_private(const Module& module, std::string_view name) {
  return is_user_module(module) || name.starts_with(kBpfPrefix);
}

// Keeps the numbers of frames and nodes, because cells of stacks refer to them.
std::size_t redact_stacks(StackTable& table, Pseudonyms& pseudonyms) {
  StackTable other;
  HiddenOffsets hidden;
  std::size_t names = 0;
  for (const Module& module : table.modules()) other.add_module(redact_module(module, pseudonyms));
  for (std::uint32_t number = 1; number < table.frames().size(); ++number) {
    const Frame& frame = table.frames()[number];
    const Module& module = table.modules()[frame.module];
    other.add_frame(redact_offset(module, frame, hidden, pseudonyms));
    const std::string& name = table.get_name(number);
    if (name.empty() && HiddenOffsets::are_addresses(module.kind))
      other.set_name(number, HiddenOffsets::get_placeholder_name(module.kind));
    if (name.empty()) continue;
    const bool replaced = is_private(module, name);
    other.set_name(number, replaced ? pseudonyms.word_of(name) : name);
    names += replaced;
  }
  for (std::uint32_t number = 1; number < table.nodes().size(); ++number)
    other.add_node(table.nodes()[number]);
  table = std::move(other);
  return names;
}

// --- metadata of the capture

std::size_t redact_meta(Meta& meta, Pseudonyms& pseudonyms) {
  meta.boot_id = pseudonyms.uuid_of(meta.boot_id);
  if (meta.hostname) meta.hostname = pseudonyms.pseudonym_of(*meta.hostname);
  meta.cgroup_root = pseudonyms.pseudonym_of(meta.cgroup_root);
  if (!contains(kUsualMounts, meta.cgroup_mount))
    meta.cgroup_mount = pseudonyms.pseudonym_of(meta.cgroup_mount);
  for (SourceCost& source : meta.sources)
    if (!source.failed.empty()) source.failed = "it failed (redacted)";
  return std::exchange(meta.notes, {}).size();
}

// Redacts the value of a key, including nested objects and arrays.
void redact_value(Scanner& in, JsonWriter& out, std::string_view key, Pseudonyms& pseudonyms) {
  const char open_bracket = in.peek();
  if (open_bracket == '"') return out.text(redact_text(key, in.text(), pseudonyms));
  if (open_bracket != '{' && open_bracket != '[') return out.raw(in.skip());
  const char close_bracket = open_bracket == '{' ? '}' : ']';
  in.enter(open_bracket);
  out.put(open_bracket);
  while (in.next(close_bracket)) {
    const std::string inner(open_bracket == '{' ? in.key() : key);
    if (open_bracket == '{') out.key(inner);
    redact_value(in, out, inner, pseudonyms);
    out.put(',');
  }
  out.close(close_bracket);
}

template <class Container>
std::size_t clear_and_count(Container& container) {
  return std::exchange(container, {}).size();
}

// Removes data that this version does not know, because it may contain names.
std::size_t remove_unknown(Snapshot& snapshot, const Vocabulary& vocabulary) {
  std::size_t removed_items = std::erase_if(snapshot.objects, [&](const auto& object) {
    return object.first != kHostContext &&
           std::ranges::find(vocabulary.objects, object.first) == vocabulary.objects.end();
  });
  std::erase_if(snapshot.extras->header_objects,
                [&](const std::string& name) { return !snapshot.objects.contains(name); });
  for (KeptKeys& keys : snapshot.extras->unknown_keys) removed_items += clear_and_count(keys);
  for (KeptKeys& keys : snapshot.extras->unknown_base_cells) removed_items += clear_and_count(keys);
  if (snapshot.window)
    removed_items += clear_and_count(snapshot.extras->unknown_bases) +
                     clear_and_count(snapshot.extras->unknown_opening_only);
  UnknownDefinitions& unknown = snapshot.extras->unknown_definitions;
  return removed_items + clear_and_count(snapshot.extras->unknown_meta) +
         clear_and_count(snapshot.extras->unknown_summary_meta) +
         clear_and_count(snapshot.extras->unknown_lines) +
         clear_and_count(snapshot.extras->unknown_window) +
         clear_and_count(snapshot.extras->unknown_tables) +
         clear_and_count(snapshot.extras->unknown_gaps) +
         clear_and_count(snapshot.extras->unknown_raw) + clear_and_count(unknown.derived) +
         clear_and_count(unknown.members) + clear_and_count(unknown.metrics) +
         clear_and_count(unknown.metric_members) + clear_and_count(unknown.derived_members);
}

// Redacts rows that only the opening of a window has. Returns the number of names that it replaced.
std::size_t redact_rows(Snapshot& opening_only, const Vocabulary& vocabulary,
                        Pseudonyms& pseudonyms) {
  CellRedactor cells(opening_only, vocabulary, pseudonyms);
  for (Table& table : opening_only.tables)
    for (Column& column : table.columns) cells.redact(column);
  sort_cgroups(opening_only);
  return cells.count();
}

}  // namespace

std::string redact_json(std::string_view json, Pseudonyms& pseudonyms) {
  Scanner in(json);
  JsonWriter out;
  redact_value(in, out, {}, pseudonyms);
  return in.has_failed() ? "null" : std::string(out.view());
}

RedactionCounts redact(Snapshot& snapshot, const Vocabulary& vocabulary, Pseudonyms& pseudonyms) {
  CellRedactor cells(snapshot, vocabulary, pseudonyms);
  RedactionCounts done;
  for (Table& table : snapshot.tables)
    for (Column& column : table.columns) {
      cells.redact(column);
      if (column.provenance.gap == Gap::SourceFailed) column.provenance.reason = "redacted";
    }
  if (snapshot.window) {
    for (Opening& opening : snapshot.window->openings)
      for (Column& column : opening.columns) cells.redact(column);
    if (!snapshot.window->host_context.empty())
      snapshot.window->host_context = redact_json(snapshot.window->host_context, pseudonyms);
  }
  sort_cgroups(snapshot);
  if (snapshot.window && snapshot.window->opening_only) {
    Snapshot& opening_only = *snapshot.window->opening_only;
    done.names += redact_rows(opening_only, vocabulary, pseudonyms);
    done.removed_items += remove_unknown(opening_only, vocabulary);
  }
  done.names += cells.count() + redact_stacks(snapshot.pools->stacks.table, pseudonyms);
  done.removed_items +=
      remove_unknown(snapshot, vocabulary) + redact_meta(snapshot.meta, pseudonyms);
  for (auto& [key, object] : snapshot.objects) object = redact_json(object, pseudonyms);
  return done;
}

}  // namespace ctprof
