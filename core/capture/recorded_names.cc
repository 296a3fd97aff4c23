// Names the frames of recorded stacks, and adds notes about files without names.

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "core/capture/recorded_stacks.hpp"
#include "core/capture/recorder_notes.hpp"
#include "core/stacks/debug_files.hpp"
#include "core/stacks/jit_maps.hpp"

namespace ctprof {
namespace {

// Time from the first record until all frames are named; it bounds work that has no other limit.
constexpr std::chrono::seconds kMaxTime{8};
constexpr std::chrono::seconds kMinNameTime{1};

}  // namespace

std::string RecordedStacks::read_perf_map_of(std::uint64_t process) {
  const auto entry = owners_.find(process);
  const auto owner = entry == owners_.end() ? std::nullopt : std::optional(entry->second);
  JitMap dump, map = files_.perf_map(process, owner);
  if (const auto found = jit_dumps_.find(process); found != jit_dumps_.end()) {
    const auto& [range, file, path] = found->second;
    if (const sdk::Fd fd = files_.open(process, range, path, file, owner))
      dump = read_jit_dump(fd.get());
  }
  if (map.is_truncated || dump.is_truncated)
    truncated_maps_.push_back({Module::Kind::Anonymous, {}, {}, process});
  return dump.text + map.text;
}

NamingResult RecordedStacks::name_frames(const NameOptions& names) {
  const auto file = [this](std::uint32_t module) {
    return module < modules_by_number_.size() ? find_unchanged_file(modules_by_number_[module])
                                              : nullptr;
  };
  DebugFiles debug(names.debug_directories, has_extra_rights_,
                   DebugFiles::SearchModuleDirectory::Never);
  debug.set_open_named([this](const std::string& path) { return files_.open_by_path(path); });
  NameSources sources = make_local_sources(debug, stack_table());
  sources.file = file;
  sources.perf_map = [this](std::uint64_t process) { return read_perf_map_of(process); };
  sources.kernel_symbols = [this] { return files_.kernel_symbols(); };
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start_time_;
  const auto remaining = std::max<std::chrono::nanoseconds>(kMaxTime - elapsed, kMinNameTime);
  return name_stacks(
      window_, sources, names.find_inlined,
      {.names = {.max_time = remaining / 2, .stop = names.stop}, .inlines = remaining / 2});
}

void RecordedStacks::note_unwind_limits() {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> refused;
  std::uint64_t frames = 0;
  for (std::uint32_t module = 0; module < modules_.size(); ++module)
    if (const std::uint64_t count = modules_.count_refused_rules(module); count > 0) {
      refused.emplace_back(count, module);
      frames += count;
    }
  std::ranges::sort(refused, std::greater());
  std::vector<Module> files;
  for (const auto& [count, module] : refused) files.push_back(modules_[module]);
  if (!files.empty()) window_.meta.notes.push_back(describe_unwind_limits(files, frames));
  if (unmapped_processes_ > 0)
    window_.meta.notes.push_back(describe_unmapped_processes(unmapped_processes_));
}

void RecordedStacks::note_changed_files() {
  std::vector<Module> files;
  for (std::uint32_t module = 0; module < module_origins_.size(); ++module)
    if (module_origins_[module].is_changed) files.push_back(modules_[module]);
  if (!files.empty()) window_.meta.notes.push_back(describe_changed_files(files));
}

void RecordedStacks::note_32_bit_files() {
  std::vector<Module> files;
  for (std::uint32_t module = 0; module < modules_.size(); ++module)
    if (modules_.is_32_bit(module)) files.push_back(modules_[module]);
  if (!files.empty()) window_.meta.notes.push_back(describe_32_bit_files(files));
}

}  // namespace ctprof
