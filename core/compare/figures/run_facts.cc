#include "core/compare/figures/run_facts.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/cpu_ranges.hpp"
#include "core/base/json_scanner.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// An object with a longer dotted name is compared as a whole.
constexpr std::size_t kMaxPathLength = 1024;

using Members = HostMembers;

// A file can contain a size as both "..._kb" and "..._kib", for different readers. Both spellings
// become one member.
std::string normalize_unit_suffix(std::string key) {
  if (key.ends_with("_kb")) key.replace(key.size() - 1, 1, "ib");
  return key;
}

// Reads the object that is next.
void flatten(Scanner& in, const std::string& prefix, Members& members) {
  for (in.enter('{'); in.next('}');) {
    const std::string key = prefix + std::string(in.key());
    if (in.peek() == '{' && key.size() < kMaxPathLength)
      flatten(in, key + ".", members);
    else
      members.emplace(normalize_unit_suffix(key), normalize_json(in.skip()));
  }
}

}  // namespace

std::optional<HostMembers> host_members(const RawJson& context) {
  Scanner in(context);
  if (in.peek() != '{') return {};
  Members members;
  flatten(in, "", members);
  return in.at_end() ? std::optional(std::move(members)) : std::nullopt;
}

namespace {

// The maximum number of distinct changes; more indicate a malicious file.
constexpr std::size_t kMaxChanges = 1000;

SettingValue number_value(const ctprof_number& number, const MetricDef& def) {
  return {number, format_scaled(number, def.unit)};
}

SettingValue setting_value(const Column& column, std::size_t row, const Pools& pools) {
  const MetricDef& def = column.def();
  switch (def.storage) {
    case Storage::U64:
      if (def.family == "limit" && column.u64()[row] == std::numeric_limits<std::uint64_t>::max())
        return {{}, "max"};
      return number_value(make_number(column.u64()[row]), def);
    case Storage::I64: return number_value(make_number(column.i64()[row]), def);
    case Storage::F64: return number_value(make_number(column.f64()[row]), def);
    case Storage::Bool: return {{}, column.bools()[row] ? "true" : "false"};
    case Storage::String: return {{}, std::string(pools.texts[column.ids()[row]])};
    case Storage::Bitset: return {{}, format_cpu_ranges(pools.words[column.ids()[row]])};
    default: return {};
  }
}

// Finds the settings of a window's rows that differ between its ends.
class SettingsComparison {
 public:
  explicit SettingsComparison(const Snapshot& window) : window_(&window) {}

  void find(WindowFacts& facts) {
    for (std::size_t entity = 0; entity < kEntities; ++entity)
      for (const Column& at_end : window_->tables[entity].columns)
        if (const Column* at_opening = window_->window->openings[entity].find(at_end.def().name);
            at_end.def().is_setting && at_opening &&
            at_opening->def().storage == at_end.def().storage)
          compare(at_end, *at_opening);
    compare_hosts();
    move_into(facts);
  }

 private:
  // The key of rows that are shown in one line: metric, family, before, after.
  using ChangeKey = std::tuple<std::string, std::uint32_t, std::string, std::string>;

  void compare(const Column& at_end, const Column& at_opening) {
    const Column* names = names_of(at_end.def().entity);
    for (std::size_t row = 0; row < at_end.rows(); ++row) {
      if (!at_end.has_value(row) || !at_opening.has_value(row) ||
          at_end.has_same_cell(row, at_opening))
        continue;
      SettingChange change{at_end.def().name,
                           at_end.def().entity,
                           {},
                           setting_value(at_opening, row, *window_->pools),
                           setting_value(at_end, row, *window_->pools)};
      std::string name(names && names->has_value(row) ? window_->pools->texts[names->ids()[row]]
                                                      : std::string_view{});
      add(std::move(change), name);
    }
  }

  // In the host's context, texts are settings; numbers are sizes and counts.
  void compare_hosts() {
    const auto host = window_->objects.find(kHostContext);
    if (window_->window->host_context.empty() || host == window_->objects.end()) return;
    const auto opening_members = host_members(window_->window->host_context),
               closing_members = host_members(host->second);
    if (!opening_members || !closing_members) return;
    for (const auto& [key, before] : *opening_members)
      if (const auto it = closing_members->find(key);
          it != closing_members->end() && it->second != before)
        if (const auto opening_text = parse_json_string(before),
            closing_text = parse_json_string(it->second);
            opening_text && closing_text)
          add({key, Entity::Host, {}, {{}, *opening_text}, {{}, *closing_text}}, {});
  }

  void add(SettingChange change, const std::string& name) {
    const bool is_path = change.entity == Entity::Cgroup;
    const std::uint32_t family = is_path ? paths_.add(name) : families_.add(name);
    const ChangeKey change_key{change.metric, family, change.before.text, change.after.text};
    if (changes_.size() >= kMaxChanges && !changes_.contains(change_key)) return void(++omitted_);
    ++changes_.try_emplace(change_key, std::move(change)).first->second.rows;
  }

  const Column* names_of(Entity entity) const {
    const std::string_view name = entity == Entity::Thread    ? kComm
                                  : entity == Entity::Process ? kProcessPcomm
                                                              : kCgroupPath;
    const Column* column = window_->table(entity).find(name);
    return column && column->def().storage == Storage::String ? column : nullptr;
  }

  void move_into(WindowFacts& facts) {
    const auto names = families_.keys(), paths = paths_.keys();
    for (auto& [same, change] : changes_) {
      change.name = (change.entity == Entity::Cgroup ? paths : names)[std::get<1>(same)];
      facts.settings.push_back(std::move(change));
    }
    std::ranges::stable_sort(facts.settings, std::ranges::greater{}, &SettingChange::rows);
    facts.settings_omitted = omitted_;
  }

  const Snapshot* window_;
  NameFamilies families_;
  LiteralNames paths_;
  std::map<ChangeKey, SettingChange> changes_;
  std::size_t omitted_ = 0;
};

std::uint64_t window_length_ns(const Snapshot& snapshot) {
  const std::uint64_t end_ns = snapshot.meta.start.boottime_ns;
  return end_ns - std::min(end_ns, snapshot.window->opened_at.boottime_ns);
}

WindowFacts facts_of_window(const Snapshot& snapshot) {
  const Window& window = *snapshot.window;
  WindowFacts facts;
  facts.length_ns = window_length_ns(snapshot);
  facts.rates_over_ns = rates_over_ns(snapshot);
  facts.rows = count_rows(snapshot);
  facts.lost = window.exited_lost;
  facts.unseen = window.exited_unknown;
  facts.merged = window.exited_merged;
  facts.records_exits = window.reports_exits;
  for (const Table& table : snapshot.tables)
    facts.denied_metrics +=
        static_cast<std::size_t>(std::ranges::count_if(table.columns, [](const Column& column) {
          return column.provenance.plugin.empty() && column.provenance.gap == Gap::Denied;
        }));
  facts.is_partial = window.is_partial;
  facts.accounting = compute_accounting(snapshot);
  facts.load = compute_host_load(snapshot);
  SettingsComparison(snapshot).find(facts);
  facts.notes = window.notes;
  if (facts.length_ns == 0)
    facts.notes.insert(facts.notes.begin(),
                       "the window is empty: it opened and closed at the same time");
  return facts;
}

}  // namespace

double rates_over_ns(const Snapshot& snapshot) {
  const double time = mean_thread_time_ns(*snapshot.window);
  return time > 0 ? time : static_cast<double>(window_length_ns(snapshot));
}

RunFacts collect_run_facts(const Snapshot& snapshot) {
  RunFacts facts;
  facts.meta = snapshot.meta;
  facts.text_bytes = snapshot.text_bytes;
  if (const auto host = snapshot.objects.find(kHostContext); host != snapshot.objects.end())
    facts.host = host->second;
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    facts.rows[entity] = snapshot.tables[entity].rows;
  for (std::size_t entity = kBuiltinEntities; entity < kEntities; ++entity)
    for (const Column* column : identity_columns(snapshot.tables[entity]))
      facts.identity_columns[entity].push_back(column->def().name);
  if (snapshot.window) facts.window = facts_of_window(snapshot);
  return facts;
}

std::optional<double> host_memory_bytes(const RunFacts& run) {
  constexpr double kKib = 1024;
  const auto members = run.host ? host_members(*run.host) : std::nullopt;
  const auto found = members ? members->find("total_memory_kib") : HostMembers::const_iterator{};
  if (!members || found == members->end()) return {};
  const std::string& text = found->second;
  double kib = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kib);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number && kib > 0 ? std::optional(kib * kKib) : std::nullopt;
}

namespace {

using Contexts = std::vector<Members>;  // by run

std::optional<Contexts> parse_contexts(std::span<const RunFacts> runs) {
  Contexts contexts;
  for (const RunFacts& run : runs) {
    auto members = run.host ? host_members(*run.host) : std::nullopt;
    if (!members) return {};
    contexts.push_back(std::move(*members));
  }
  return contexts;
}

std::vector<HostValue> distinct_values(const Contexts& contexts, const std::string& key) {
  std::vector<HostValue> values;
  std::map<std::optional<std::string>, std::size_t> places;  // in `values`
  for (const Members& members : contexts) {
    const auto member = members.find(key);
    std::optional<std::string> json;
    if (member != members.end()) json = member->second;
    const auto [place, is_new] = places.try_emplace(json, values.size());
    if (is_new)
      values.push_back({std::move(json), 1});
    else
      ++values[place->second].runs;
  }
  return values;
}

}  // namespace

std::optional<std::vector<HostDifference>> host_differences(std::span<const RunFacts> baseline,
                                                            std::span<const RunFacts> candidate) {
  const auto before = parse_contexts(baseline), after = parse_contexts(candidate);
  if (!before || !after) return {};
  std::set<std::string> keys;
  for (const Contexts* side : {&*before, &*after})
    for (const Members& members : *side)
      for (const auto& [key, value] : members) keys.insert(key);
  std::vector<HostDifference> differences;
  for (const std::string& key : keys) {
    HostDifference found{key, distinct_values(*before, key), distinct_values(*after, key)};
    const bool is_one = found.baseline.size() == 1 && found.candidate.size() == 1 &&
                        found.baseline[0].json == found.candidate[0].json;
    if (!is_one) differences.push_back(std::move(found));
  }
  return differences;
}

}  // namespace ctprof
