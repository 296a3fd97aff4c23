#include "core/redact/redact.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/file/layout/scanner.hpp"
#include "core/registry/identity.hpp"
#include "core/stacks/hidden_offsets.hpp"

namespace ctprof {
namespace {

// Keys that describe machine and kernel, which are needed to understand the values. Of the kernel
// release only the numbers are kept.
constexpr std::array<std::string_view, 8> kKept{"cpu_model",      "cpu_vendor",       "arch",
                                                "kernel_name",    "thp_enabled",      "thp_defrag",
                                                "task_delayacct", "config_task_xacct"};
constexpr std::string_view kRelease = "kernel_release";
// The usual mount points of cgroups.
constexpr std::array<std::string_view, 2> kUsualMounts{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

constexpr std::string_view kInNumbers = "0123456789.,+- \t";

bool is_listed(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Returns whether a text consists of numbers, such as "100000", "0-3" or "1 2 3", but is not a
// network address.
bool is_in_numbers(std::string_view text) {
  return text.find_first_not_of(kInNumbers) == text.npos && text.find('.') == text.rfind('.');
}

std::string redacted_release(std::string_view release, Pseudonyms& pseudonyms) {
  const std::size_t end = std::min(release.find_first_not_of("0123456789."), release.size());
  return std::string(release.substr(0, end)) + pseudonyms.of(release.substr(end));
}

std::string redacted_text(std::string_view key, std::string_view text, Pseudonyms& pseudonyms) {
  if (is_listed(kKept, key) || is_in_numbers(text)) return std::string(text);
  return key == kRelease ? redacted_release(text, pseudonyms) : pseudonyms.of_whole(text);
}

// --- cells

// Redacts cells of texts and maps; a text or map that occurs several times is replaced once.
class Cells {
 public:
  Cells(Snapshot& snapshot, const Vocabulary& known, Pseudonyms& pseudonyms)
      : pools_(*snapshot.pools), known_(known), pseudonyms_(pseudonyms) {}

  void redact(Column& column) {
    const MetricDef& def = column.def();
    const bool is_vouched = known_.find(def.name) != nullptr;
    if (def.storage == Storage::String && !(is_vouched && is_word_of_kernels(def)))
      replace(column, texts_, [&](Id id) { return pools_.texts.intern(name_of(id)); });
    if (def.storage == Storage::Map && !is_vouched)
      replace(column, maps_, [&](Id id) { return with_other_keys(id); });
  }

  std::size_t replaced() const { return replaced_; }

 private:
  using Known = std::unordered_map<Id, Id>;

  // Categorical texts, such as policies and states, come from a short list of the kernel. Those of
  // the host may contain names.
  static bool is_word_of_kernels(const MetricDef& def) {
    return def.family == "categorical" && def.entity != Entity::Host;
  }

  std::string name_of(Id id) { return pseudonyms_.of(pools_.texts[id]); }

  Id with_other_keys(Id id) {
    std::vector<std::string> keys;
    std::vector<ctprof_entry> entries(pools_.maps[id].begin(), pools_.maps[id].end());
    for (const ctprof_entry& entry : entries)
      keys.push_back(pseudonyms_.of({entry.key.data, entry.key.size}));
    for (std::size_t i = 0; i < entries.size(); ++i)
      entries[i].key = {keys[i].data(), keys[i].size()};
    return pools_.maps.append(entries, pools_.texts);
  }

  template <class Make>
  void replace(Column& column, Known& known, const Make& make) {
    for (std::size_t row = 0; row < column.rows(); ++row) {
      if (!column.has_value(row)) continue;
      Id& id = column.ids()[row];
      const auto [place, is_new] = known.try_emplace(id);
      if (is_new) place->second = make(id);
      id = place->second;
      ++replaced_;
    }
  }

  Pools& pools_;
  const Vocabulary& known_;
  Pseudonyms& pseudonyms_;
  Known texts_, maps_;
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
  const auto runs = runs_of(order);
  std::vector<std::byte> scratch;
  for (Column& column : table.columns) column.permute(runs, scratch);
  if (!snapshot.window) return;
  Opening& opening = snapshot.window->openings[static_cast<std::size_t>(Entity::Cgroup)];
  for (Column& column : opening.columns) column.permute(runs, scratch);
  std::vector<std::uint8_t> born;
  for (std::size_t i = 0; i < opening.born.size(); ++i) born.push_back(opening.born[order[i]]);
  opening.born = std::move(born);
}

// --- stacks

Module redacted_module(Module module, Pseudonyms& pseudonyms) {
  module.path = pseudonyms.of(module.path);
  module.build_id = pseudonyms.of_bytes(module.build_id);
  return module;
}

bool is_of_user(const Module& module) {
  return module.kind != Module::Kind::Kernel && module.kind != Module::Kind::Vdso;
}

// Kernel symbols of BPF programs contain names that their users chose.
constexpr std::string_view kLoaded = "bpf_prog_";

bool is_private(const Module& module, std::string_view name) {
  return is_of_user(module) || name.starts_with(kLoaded);
}

// Keeps the numbers of frames and nodes, because cells of stacks refer to them.
std::size_t redact_stacks(StackTable& table, Pseudonyms& pseudonyms) {
  StackTable other;
  HiddenOffsets hidden;
  std::size_t names = 0;
  for (const Module& module : table.modules())
    other.add_module(is_of_user(module) ? redacted_module(module, pseudonyms) : module);
  for (std::uint32_t number = 1; number < table.frames().size(); ++number) {
    const Frame& frame = table.frames()[number];
    const Module& module = table.modules()[frame.module];
    other.add_frame(hidden.of(module, frame));
    const std::string& name = table.name(number);
    if (name.empty() && HiddenOffsets::are_addresses(module.kind))
      other.set_name(number, HiddenOffsets::name_of(module.kind));
    if (name.empty()) continue;
    const bool replaced = is_private(module, name);
    other.set_name(number, replaced ? pseudonyms.of_whole(name) : name);
    names += replaced;
  }
  for (std::uint32_t number = 1; number < table.nodes().size(); ++number)
    other.add_node(table.nodes()[number]);
  table = std::move(other);
  return names;
}

// --- metadata of the capture

std::size_t redact_meta(Meta& meta, Pseudonyms& pseudonyms) {
  meta.boot_id = pseudonyms.of_uuid(meta.boot_id);
  if (meta.hostname) meta.hostname = pseudonyms.of(*meta.hostname);
  meta.cgroup_root = pseudonyms.of(meta.cgroup_root);
  if (!is_listed(kUsualMounts, meta.cgroup_mount))
    meta.cgroup_mount = pseudonyms.of(meta.cgroup_mount);
  for (SourceCost& source : meta.sources)
    if (!source.failed.empty()) source.failed = "it failed (redacted)";
  return std::exchange(meta.notes, {}).size();
}

// Redacts the value of a key, including nested objects and arrays.
void redact_value(Scanner& in, JsonWriter& out, std::string_view key, Pseudonyms& pseudonyms) {
  const char begins = in.peek();
  if (begins == '"') return out.text(redacted_text(key, in.text(), pseudonyms));
  if (begins != '{' && begins != '[') return out.raw(in.skip());
  const char ends = begins == '{' ? '}' : ']';
  in.enter(begins);
  out.put(begins);
  while (in.next(ends)) {
    const std::string inner(begins == '{' ? in.key() : key);
    if (begins == '{') out.key(inner);
    redact_value(in, out, inner, pseudonyms);
    out.put(',');
  }
  out.close(ends);
}

template <class Container>
std::size_t emptied(Container& container) {
  return std::exchange(container, {}).size();
}

// Removes data that this version does not know, because it may contain names.
std::size_t leave_out_unknown(Snapshot& snapshot, const Vocabulary& known) {
  std::size_t left_out = std::erase_if(snapshot.objects, [&](const auto& object) {
    return object.first != kHostContext &&
           std::ranges::find(known.objects, object.first) == known.objects.end();
  });
  std::erase_if(snapshot.early_objects,
                [&](const std::string& name) { return !snapshot.objects.contains(name); });
  for (KeptKeys& keys : snapshot.unknown_keys) left_out += emptied(keys);
  if (snapshot.window)
    left_out +=
        emptied(snapshot.window->unknown_bases) + emptied(snapshot.window->unknown_opening_only);
  UnknownDefinitions& unknown = snapshot.unknown_definitions;
  return left_out + emptied(snapshot.unknown_meta) + emptied(snapshot.unknown_late_meta) +
         emptied(snapshot.unknown_lines) + emptied(snapshot.unknown_window) +
         emptied(snapshot.unknown_tables) + emptied(snapshot.unknown_gaps) +
         emptied(snapshot.unknown_raw) + emptied(unknown.derived) + emptied(unknown.members) +
         emptied(unknown.metrics) + emptied(unknown.of_metrics) + emptied(unknown.of_derived);
}

// Redacts rows that only the opening of a window has. Returns the number of names that it replaced.
std::size_t redact_rows(Snapshot& opening_only, const Vocabulary& known, Pseudonyms& pseudonyms) {
  Cells cells(opening_only, known, pseudonyms);
  for (Table& table : opening_only.tables)
    for (Column& column : table.columns) cells.redact(column);
  sort_cgroups(opening_only);
  return cells.replaced();
}

}  // namespace

std::string redacted_json(std::string_view json, Pseudonyms& pseudonyms) {
  Scanner in(json);
  JsonWriter out;
  redact_value(in, out, {}, pseudonyms);
  return in.failed() ? "null" : std::string(out.view());
}

Redacted redact(Snapshot& snapshot, const Vocabulary& known, Pseudonyms& pseudonyms) {
  Cells cells(snapshot, known, pseudonyms);
  Redacted done;
  for (Table& table : snapshot.tables)
    for (Column& column : table.columns) {
      cells.redact(column);
      if (column.provenance.gap == Gap::SourceFailed) column.provenance.reason = "redacted";
    }
  if (snapshot.window) {
    for (Opening& opening : snapshot.window->openings)
      for (Column& column : opening.columns) cells.redact(column);
    if (!snapshot.window->host.empty())
      snapshot.window->host = redacted_json(snapshot.window->host, pseudonyms);
  }
  sort_cgroups(snapshot);
  if (snapshot.window && snapshot.window->opening_only)
    done.names += redact_rows(*snapshot.window->opening_only, known, pseudonyms);
  done.names += cells.replaced() + redact_stacks(snapshot.pools->stacks.table, pseudonyms);
  done.left_out = leave_out_unknown(snapshot, known) + redact_meta(snapshot.meta, pseudonyms);
  for (auto& [key, object] : snapshot.objects) object = redacted_json(object, pseudonyms);
  return done;
}

}  // namespace ctprof
