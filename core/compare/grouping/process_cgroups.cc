#include "core/compare/grouping/process_cgroups.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/base/seeded_hash.hpp"
#include "core/base/text.hpp"
#include "core/compare/grouping/services.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kNoName = UINT32_MAX;  // of a row that does not count
// Longer names are not divided, and longer paths count as unknown: each pair of both can be a key.
constexpr std::size_t kMaxNameBytes = 255, kMaxPathBytes = 4096;
constexpr std::size_t kMaxLabelBytes = 100;  // longer labels are shortened
constexpr std::size_t kMaxEndParts = 8;      // components at the end of a path that are compared

// The components of a path, without empty ones.
std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (!part.empty()) parts.push_back(part);
    path.remove_prefix(std::min(part.size() + 1, path.size()));
  }
  return parts;
}

// The name of a component that is a unit, a container or a pod; empty for any other.
std::string name_service(std::string_view parent, std::string_view part) {
  const std::string alone = "/" + std::string(part);
  const std::string name = find_service(alone);
  if (name == alone || name == part) return name == alone ? std::string() : name;
  const std::string below = find_service("/" + std::string(parent) + alone);
  return below.ends_with(name) ? below : name;
}

using PartCounts = std::unordered_map<std::string_view, std::size_t, SeededHash>;

// Calls `use` with the ends of the path in whole components, the shortest first.
template <class Use>
void for_each_end(std::string_view path, Use use) {
  std::size_t from = path.rfind('/');
  for (std::size_t parts = 0; parts < kMaxEndParts && from != path.npos && from > 0; ++parts) {
    use(path.substr(from));
    from = path.rfind('/', from - 1);
  }
}

// Returns the shortest end of the path that no other path has, or the path.
std::string_view find_distinct_end(std::string_view path, const PartCounts& paths_with_end) {
  std::string_view found = path;
  for_each_end(path, [&](std::string_view end) {
    if (found == path && paths_with_end.at(end) == 1) found = end.substr(1);
  });
  return found;
}

// Returns the beginning of a label, in whole UTF-8 characters.
std::string shorten_label(std::string_view label) {
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(label[at]) & 0xC0) == 0x80;
  };
  std::size_t size = kMaxLabelBytes;
  while (size > 0 && continues(size)) --size;
  return std::string(label.substr(0, size));
}

// Returns the last component of a path that no other path has, units, containers and pods first.
std::string find_distinct_part(const std::vector<std::string_view>& parts,
                               const PartCounts& paths_with_part) {
  std::string found;
  for (std::size_t at = parts.size(); at-- > 0;) {
    if (paths_with_part.at(parts[at]) > 1) continue;
    const std::string service = name_service(at > 0 ? parts[at - 1] : "", parts[at]);
    if (!service.empty()) return service;
    if (found.empty()) found = parts[at];
  }
  return found;
}

// The row of the process's leader: of living threads the thread with the id of the process, in the
// order of the rows. Other rows are their own leaders.
class LeaderRows {
 public:
  explicit LeaderRows(const Snapshot& snapshot)
      : tgids_(u64_values(snapshot.threads(), kTgid)), tids_(u64_values(snapshot.threads(), kTid)) {
    for (std::size_t row = 0; row < std::min(tgids_.size(), tids_.size()); ++row)
      if (tgids_[row] == tids_[row]) row_of_.try_emplace(tgids_[row], row);
  }
  std::size_t leader_of(std::size_t row) const {
    if (row >= tgids_.size() || row >= tids_.size() || tgids_[row] == tids_[row]) return row;
    const auto leader = row_of_.find(tgids_[row]);
    return leader == row_of_.end() ? row : leader->second;
  }

 private:
  std::span<const std::uint64_t> tgids_, tids_;
  std::unordered_map<std::uint64_t, std::size_t> row_of_;
};

// Returns the cgroups of threads that existed throughout the window.
std::set<std::string_view> find_lasting_cgroups(const Snapshot& window, const Column& cgroups) {
  std::vector<bool> is_lasting(window.pools->texts.size());
  const auto& started = window.window->openings[static_cast<std::size_t>(Entity::Thread)].started;
  const std::size_t living = std::min(window.window->living_threads, window.threads().rows);
  for (std::size_t row = 0; row < living; ++row)
    if (cgroups.has_value(row) && !(row < started.size() && started[row]))
      is_lasting[cgroups.ids()[row]] = true;
  std::set<std::string_view> found;
  for (std::size_t id = 0; id < is_lasting.size(); ++id)
    if (is_lasting[id]) found.insert(window.pools->texts[id]);
  return found;
}

}  // namespace

std::vector<std::string> distinguish_paths(std::span<const std::string_view> paths) {
  PartCounts paths_with_part, paths_with_end;
  for (const std::string_view path : paths) {
    const auto parts = split_path(path);
    for (const std::string_view part : std::set(parts.begin(), parts.end()))
      ++paths_with_part[part];
    for_each_end(path, [&](std::string_view end) { ++paths_with_end[end]; });
  }
  std::vector<std::string> labels;
  for (const std::string_view path : paths) {
    std::string label = find_distinct_part(split_path(path), paths_with_part);
    labels.push_back(label.empty() ? std::string(find_distinct_end(path, paths_with_end))
                                   : std::move(label));
  }
  const std::set<std::string_view> distinct(labels.begin(), labels.end());
  if (distinct.size() < labels.size()) labels.assign(paths.begin(), paths.end());
  for (std::size_t at = 0; at < labels.size(); ++at)
    if (labels[at].size() > kMaxLabelBytes)
      labels[at] = shorten_label(labels[at]) + " #" + std::to_string(at + 1);
  return labels;
}

std::uint32_t ProcessCgroups::find_or_add(std::string_view path, bool is_lasting) {
  if (path.empty() || path.size() > kMaxPathBytes) return kUnknown;
  const std::uint32_t family = families_.add(path);
  const bool is_flattened = std::ranges::any_of(
      naming_.flatten_globs, [&](const PathGlob& glob) { return glob.matches(path); });
  const bool is_distinct = is_lasting && !is_flattened;
  const auto [place, is_new] =
      known_.try_emplace(std::pair(family, std::string(is_distinct ? path : std::string_view())),
                         static_cast<std::uint32_t>(cgroups_.size()));
  if (is_new)
    cgroups_.push_back({family, is_distinct, std::string(path)});
  else if (Cgroup& cgroup = cgroups_[place->second]; cgroup.path != path)
    cgroup.has_several = true;
  return place->second;
}

std::vector<std::uint32_t> ProcessCgroups::number_rows(const Snapshot& snapshot,
                                                       const Snapshot& window) {
  std::vector<std::uint32_t> numbers(snapshot.threads().rows, kUnknown);
  const Column* const cgroups = thread_column(snapshot, kCgroup, Storage::String);
  const Column* const of_window = thread_column(window, kCgroup, Storage::String);
  if (!window.window || !cgroups || !of_window) return numbers;
  const std::set<std::string_view> lasting = find_lasting_cgroups(window, *of_window);
  const LeaderRows leaders(snapshot);
  std::vector<std::optional<std::uint32_t>> number_of_text(snapshot.pools->texts.size());
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    const std::size_t leader = leaders.leader_of(row);
    const std::size_t known = cgroups->has_value(leader) ? leader : row;
    if (!cgroups->has_value(known)) continue;
    auto& number = number_of_text[cgroups->ids()[known]];
    const std::string_view path = snapshot.pools->texts[cgroups->ids()[known]];
    if (!number) number = find_or_add(path, lasting.contains(path));
    numbers[row] = *number;
  }
  return numbers;
}

void ProcessCgroups::add_run(std::span<const std::uint32_t> names,
                             std::vector<std::uint32_t>& cgroups) {
  // By name: its cgroup, or kUnknown if there are several.
  std::unordered_map<std::uint32_t, std::uint32_t> only_cgroup;
  for (std::size_t row = 0; row < names.size(); ++row) {
    if (names[row] == kNoName || cgroups[row] == kUnknown) continue;
    const auto [place, is_new] = only_cgroup.try_emplace(names[row], cgroups[row]);
    if (!is_new && place->second != cgroups[row]) place->second = kUnknown;
  }
  std::set<Pair> pairs;
  for (std::size_t row = 0; row < names.size(); ++row) {
    if (names[row] == kNoName) continue;
    if (cgroups[row] == kUnknown)
      if (const auto only = only_cgroup.find(names[row]); only != only_cgroup.end())
        cgroups[row] = only->second;
    pairs.emplace(names[row], cgroups[row]);
  }
  runs_.emplace_back(pairs.begin(), pairs.end());
}

void ProcessCgroups::move_opening_rows(std::span<const std::uint32_t> names,
                                       std::vector<std::uint32_t>& cgroups) const {
  const std::vector<Pair>& run = runs_.back();
  for (std::size_t row = 0; row < names.size(); ++row) {
    const auto first = std::ranges::lower_bound(run, Pair(names[row], 0));
    const auto has_name = [&](auto at) { return at != run.end() && at->first == names[row]; };
    if (!has_name(first) || std::ranges::binary_search(run, Pair(names[row], cgroups[row])))
      continue;
    if (!has_name(first + 1)) cgroups[row] = first->second;
  }
}

// Returns, for each pair of a name and a known cgroup, whether every run with this name has it in
// that cgroup, and the cgroup has threads that existed throughout the window.
std::map<ProcessCgroups::Pair, bool> ProcessCgroups::find_lasting_pairs() const {
  std::map<std::uint32_t, std::size_t> runs_of_name;
  std::map<Pair, std::size_t> runs_of_pair;
  for (const std::vector<Pair>& run : runs_) {
    std::set<std::uint32_t> names;
    for (const Pair& pair : run) {
      ++runs_of_pair[pair];
      names.insert(pair.first);
    }
    for (const std::uint32_t name : names) ++runs_of_name[name];
  }
  std::map<Pair, bool> pairs;
  for (const auto& [pair, runs] : runs_of_pair)
    if (pair.second != kUnknown)
      pairs[pair] = cgroups_[pair.second].is_lasting && runs == runs_of_name.at(pair.first);
  return pairs;
}

ProcessCgroups::CgroupTexts ProcessCgroups::find_cgroup_texts() const {
  const std::map<Pair, bool> pairs = find_lasting_pairs();
  // By name and family: the only path of the cgroups that do not last; none if there are several.
  std::map<Pair, std::string_view> only_path;
  for (const auto& [pair, is_lasting] : pairs) {
    const Cgroup& cgroup = cgroups_[pair.second];
    if (is_lasting) continue;
    std::string_view& path =
        only_path.try_emplace(Pair(pair.first, cgroup.family), cgroup.path).first->second;
    if (cgroup.has_several || path != cgroup.path) path = {};
  }
  CgroupTexts texts{families_.keys(), {}};
  for (const auto& [pair, is_lasting] : pairs) {
    const Cgroup& cgroup = cgroups_[pair.second];
    std::string_view& text = texts.of_pair[pair];
    text = is_lasting ? cgroup.path : only_path.at(Pair(pair.first, cgroup.family));
    if (text.empty()) text = texts.families[cgroup.family];
  }
  return texts;
}

// Returns the names that some run has in several cgroups, and whose cgroup is known in every run.
std::set<std::uint32_t> ProcessCgroups::find_divided_names(const CgroupTexts& texts) const {
  std::set<std::uint32_t> has_several, is_unknown;
  for (const std::vector<Pair>& run : runs_) {
    std::map<std::uint32_t, std::set<std::string_view>> texts_of_name;
    for (const Pair& pair : run) {
      std::set<std::string_view>& known = texts_of_name[pair.first];
      const auto text = texts.of_pair.find(pair);
      if (text != texts.of_pair.end()) known.insert(text->second);
    }
    for (const auto& [name, known] : texts_of_name) {
      if (known.empty()) is_unknown.insert(name);
      if (known.size() > 1) has_several.insert(name);
    }
  }
  for (const std::uint32_t name : is_unknown) has_several.erase(name);
  return has_several;
}

ProcessCgroups::Labels ProcessCgroups::make_labels(const CgroupTexts& texts) const {
  const std::set<std::uint32_t> divided = find_divided_names(texts);
  Labels labels;
  for (const auto& [pair, text] : texts.of_pair)
    if (divided.contains(pair.first)) labels[pair.first].try_emplace(text);
  for (auto& [name, label_of] : labels) {
    std::vector<std::string_view> paths;
    for (const auto& [path, label] : label_of) paths.push_back(path);
    std::vector<std::string> found = distinguish_paths(paths);
    for (std::size_t at = 0; at < paths.size(); ++at) label_of[paths[at]] = std::move(found[at]);
  }
  return labels;
}

std::vector<std::string> ProcessCgroups::make_keys(std::span<const std::string> names,
                                                   std::span<const std::uint64_t> pairs,
                                                   CgroupParts& parts) const {
  const CgroupTexts texts = find_cgroup_texts();
  const Labels labels = make_labels(texts);
  std::vector<std::string> keys;
  for (const std::uint64_t both : pairs) {
    const Pair pair(static_cast<std::uint32_t>(both >> 32), static_cast<std::uint32_t>(both));
    const std::string& name = names[pair.first];
    keys.push_back(name);
    const auto divided = labels.find(pair.first);
    // A pair has no text if its cgroup is unknown, or if only the opening of a window has the pair.
    const auto text = texts.of_pair.find(pair);
    if (divided == labels.end() || text == texts.of_pair.end() || name.size() > kMaxNameBytes)
      continue;
    keys.back() += " (" + divided->second.at(text->second) + ")";
    const bool is_long = text->second.size() > kMaxNameBytes;
    parts.try_emplace(keys.back(),
                      CgroupPart{name, std::string(is_long ? std::string_view() : text->second)});
  }
  return keys;
}

}  // namespace ctprof
