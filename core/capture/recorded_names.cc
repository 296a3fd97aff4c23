// Names the frames of recorded stacks, and adds notes about files without names.

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "core/capture/recorded_stacks.hpp"
#include "core/capture/recorded_words.hpp"
#include "core/stacks/debug_files.hpp"
#include "core/stacks/jit_maps.hpp"

namespace ctprof {
namespace {

// Time from the first record until all frames are named; it bounds work that has no other limit.
constexpr std::chrono::seconds kMostTime{8};
constexpr std::chrono::seconds kLeastNameTime{1};

}  // namespace

std::string RecordedStacks::perf_map(std::uint64_t process) {
  const auto known = owners_.find(process);
  const auto owner = known == owners_.end() ? std::nullopt : std::optional(known->second);
  JitMap dump, map = files_.perf_map(process, owner);
  if (const auto found = jit_dumps_.find(process); found != jit_dumps_.end()) {
    const auto& [range, file, path] = found->second;
    if (const sdk::Fd fd = files_.open(process, range, path, file, owner))
      dump = read_jit_dump(fd.get());
  }
  if (map.is_cut || dump.is_cut) cut_maps_.push_back({Module::Kind::Anonymous, {}, {}, process});
  return dump.text + map.text;
}

StackNames RecordedStacks::name_all(const NameOptions& names) {
  const auto file = [this](std::uint32_t module) {
    return module < origins_.size() ? unchanged_file(origins_[module]) : nullptr;
  };
  DebugFiles debug(names.debug_directories, is_lent_, DebugFiles::Beside::Never);
  debug.open_named_by([this](const std::string& path) { return files_.open_named(path); });
  NameSources sources = sources_here(debug, table());
  sources.file = file;
  sources.perf_map = [this](std::uint64_t of) { return perf_map(of); };
  sources.kernel = [this] { return files_.kernel_symbols(); };
  const std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - begun_;
  const auto left = std::max<std::chrono::nanoseconds>(kMostTime - spent, kLeastNameTime);
  return name_stacks(window_, sources, names.inlines,
                     {.names = {.time = left / 2, .stop = names.stop}, .inlines = left / 2});
}

void RecordedStacks::note_refused() {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> refused;
  std::uint64_t places = 0;
  for (std::uint32_t module = 0; module < modules_.size(); ++module)
    if (const std::uint64_t count = modules_.refused(module); count > 0) {
      refused.emplace_back(count, module);
      places += count;
    }
  std::ranges::sort(refused, std::greater());
  std::vector<Module> files;
  for (const auto& [count, module] : refused) files.push_back(modules_[module]);
  if (!files.empty()) window_.meta.notes.push_back(refused_in_words(files, places));
  if (unmapped_ > 0) window_.meta.notes.push_back(unmapped_in_words(unmapped_));
}

void RecordedStacks::note_changed() {
  std::vector<Module> files;
  for (std::uint32_t module = 0; module < files_of_modules_.size(); ++module)
    if (files_of_modules_[module].is_changed) files.push_back(modules_[module]);
  if (!files.empty()) window_.meta.notes.push_back(changed_in_words(files));
}

void RecordedStacks::note_32_bit() {
  std::vector<Module> files;
  for (std::uint32_t module = 0; module < modules_.size(); ++module)
    if (modules_.is_32_bit(module)) files.push_back(modules_[module]);
  if (!files.empty()) window_.meta.notes.push_back(of_32_bit_in_words(files));
}

}  // namespace ctprof
