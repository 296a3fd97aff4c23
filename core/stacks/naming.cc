#include "core/stacks/naming.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/stacks/demangle.hpp"
#include "core/stacks/go_table.hpp"
#include "core/stacks/inlines.hpp"
#include "core/stacks/symbols.hpp"

namespace ctprof {
namespace {

// A frame, and its address in the symbols of its module.
struct FrameAddress {
  std::uint64_t address;
  std::uint32_t frame;
};

// A module's own file and its debug file; null if unavailable.
struct ModuleFiles {
  const ElfFile* own = nullptr;
  const ElfFile* debug_file = nullptr;
};

ModuleFiles find_module_files(std::uint32_t number, const Module& module,
                              const NameSources& sources) {
  if (module.kind != Module::Kind::File && module.kind != Module::Kind::Vdso) return {};
  ModuleFiles files{sources.file(number), nullptr};
  const bool has_all_symbols = files.own && has_symtab(*files.own);
  if (!has_all_symbols && sources.debug_file)
    files.debug_file = sources.debug_file(number, files.own);
  return files;
}

// Converts an offset in a module to the address that its symbols use.
std::optional<std::uint64_t> find_symbol_address(const Module& module, const ElfFile* own,
                                                 std::uint64_t offset) {
  return own ? own->code_address(offset) : std::optional(offset + module.address_bias);
}

std::vector<std::string> find_names(const Module& module, const ModuleFiles& files,
                                    const NameSources& sources,
                                    std::span<const std::uint64_t> addresses, NameWork& work) {
  if (files.own) return find_names_in_file(*files.own, addresses, files.debug_file, work);
  if (files.debug_file) return find_names_in_file(*files.debug_file, addresses, nullptr, work);
  if (module.kind == Module::Kind::Kernel)
    return find_names_in_kallsyms(sources.kernel_symbols(), addresses);
  if (module.kind == Module::Kind::Anonymous)
    return find_names_in_perf_map(sources.perf_map(module.process), addresses, work);
  return std::vector<std::string>(addresses.size());
}

// Returns the frames for which `is_wanted` is true, by module.
template <class IsWanted>
std::vector<std::vector<FrameAddress>> select_frames(const StackTable& table, IsWanted is_wanted) {
  std::vector<std::vector<FrameAddress>> selected(table.modules().size());
  for (std::uint32_t number = StackTable::kTruncated + 1; number < table.frames().size(); ++number)
    if (const Frame& frame = table.frames()[number]; is_wanted(number, frame))
      selected[frame.module].push_back({frame.offset, number});
  return selected;
}

// The frames of a module that have an address, sorted by it, and the unique addresses.
struct AddressBatch {
  AddressBatch(const Module& module, const ElfFile* own, std::vector<FrameAddress> wanted)
      : frames(std::move(wanted)) {
    std::erase_if(frames, [&](FrameAddress& frame) {
      const auto address = find_symbol_address(module, own, frame.address);
      frame.address = address.value_or(0);
      return !address;
    });
    std::ranges::sort(frames, {}, &FrameAddress::address);
    for (const FrameAddress& frame : frames)
      if (addresses.empty() || addresses.back() != frame.address)
        addresses.push_back(frame.address);
  }

  // Calls `function` with the number of each frame and the index of its address.
  template <class Function>
  void for_each(Function function) const {
    std::size_t at = 0;
    for (const FrameAddress& frame : frames) {
      while (addresses[at] != frame.address) ++at;
      function(frame.frame, at);
    }
  }

  std::vector<FrameAddress> frames;
  std::vector<std::uint64_t> addresses;
};

// Names the frames of modules within limits.
class Namer {
 public:
  Namer(StackTable& table, const NameSources& sources, const FrameNamingLimits& limits)
      : table_(table), sources_(sources), limits_(limits), remaining_steps_(limits.steps) {}

  // Names the frames of these modules. Each has an equal share of the remaining steps, at most
  // `max_steps`. Returns the modules that exceed it; with `keep_partial`, the names found so far
  // are set nevertheless.
  std::vector<std::uint32_t> name_modules(const std::vector<std::uint32_t>& modules,
                                          const std::vector<std::vector<FrameAddress>>& wanted,
                                          std::uint64_t max_steps, bool keep_partial) {
    std::vector<std::uint32_t> exceeded;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      NameWork work(std::min(max_steps, remaining_steps_ / (modules.size() - i)));
      const std::uint64_t share = work.get_remaining_steps();
      if (Clock::now() < deadline_ && !(limits_.stop && *limits_.stop))
        name_module(modules[i], wanted[modules[i]], work, keep_partial);
      else
        work.exceed();
      remaining_steps_ -= share - work.get_remaining_steps();
      if (work.is_exceeded()) exceeded.push_back(modules[i]);
    }
    return exceeded;
  }
  std::uint64_t get_spent_steps() const { return limits_.steps - remaining_steps_; }

 private:
  using Clock = std::chrono::steady_clock;

  void name_module(std::uint32_t number, std::vector<FrameAddress> wanted, NameWork& work,
                   bool keep_partial) {
    const Module& module = table_.modules()[number];
    const ModuleFiles files = find_module_files(number, module, sources_);
    const AddressBatch batch(module, files.own, std::move(wanted));
    auto names = find_names(module, files, sources_, batch.addresses, work);
    for (std::string& name : names) name = demangle_within(name, work);
    if (work.is_exceeded() && !keep_partial) return;
    batch.for_each([&](std::uint32_t frame, std::size_t at) {
      if (!names[at].empty()) table_.set_name(frame, names[at]);
    });
  }

  // Returns the demangled name; empty if it exceeds the remaining work.
  static std::string demangle_within(const std::string& name, NameWork& work) {
    std::string text = demangle(name);
    const std::size_t growth = text.size() - std::min(text.size(), name.size());
    return growth == 0 || work.spend(growth * NameWork::kStepsPerNameByte) ? text : std::string();
  }

  StackTable& table_;
  const NameSources& sources_;
  const FrameNamingLimits& limits_;
  std::uint64_t remaining_steps_;
  Clock::time_point deadline_ = Clock::now() + limits_.max_time;
};

// Needs no time limit: there are at most as many addresses as frames, and each takes some
// microseconds.
Inlines find_go_inlines(const ElfFile& file, const GoTable& table,
                        std::span<const FileAddress> addresses) {
  Inlines inlines;
  inlines.outcome = Inlines::Outcome::Complete;
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (const FileAddress address : addresses) {
    auto& chain = inlines.chains.emplace_back();
    for (const std::string_view name : table.find_inlined(file, address)) {
      const auto [known, is_new] =
          numbers.emplace(name, static_cast<std::uint32_t>(inlines.names.size()));
      if (is_new) inlines.names.emplace_back(name);
      chain.push_back(known->second);
    }
  }
  return inlines;
}

// Collects the inlined functions of the frames of all modules.
class InlineCollector {
 public:
  InlineCollector(const StackTable& table, const NameSources& sources,
                  std::chrono::nanoseconds time, const std::atomic<bool>* stop)
      : table_(table), sources_(sources), deadline_(Clock::now() + time), stop_(stop) {
    inlined_.chains.resize(table.frames().size());
  }

  void add_module(std::uint32_t number, std::vector<FrameAddress> wanted) {
    const Module& module = table_.modules()[number];
    if (module.kind != Module::Kind::File || is_full()) return;
    if (stop_ && *stop_) return void(++result_.limited_modules);
    const ElfFile* own = sources_.file(number);
    const auto go_table = own ? get_shared_go_table(*own) : nullptr;
    if (go_table && go_table->has_functions()) {
      const AddressBatch batch(module, own, std::move(wanted));
      return add_inlines(batch, find_go_inlines(*own, *go_table, batch.addresses));
    }
    const ElfFile* debug_file = own && has_debug_information(*own) ? own : nullptr;
    if (!debug_file && sources_.debug_file) debug_file = sources_.debug_file(number, own);
    if (!debug_file) return result_.without_debug_information.push_back(module);
    const AddressBatch batch(module, own, std::move(wanted));
    const ElfFile* dwz_file =
        sources_.dwz_file ? sources_.dwz_file(*debug_file, module.path) : nullptr;
    const auto now = Clock::now();
    const Inlines inlines = find_inlines(*debug_file, {dwz_file, sources_.open_named, module.path},
                                         batch.addresses, now + (deadline_ - now) / 4, stop_);
    add_inlines(batch, inlines);
    record_missing(module, inlines);
  }

  InlineExpansion take_result() && {
    result_.nodes = result_.table.merge(table_, inlined_);
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxInlined = 4 << 20;
  static constexpr std::size_t kMaxNameBytes = 256 << 20;

  static bool has_debug_information(const ElfFile& file) {
    return file.section(".debug_info") || file.section(".zdebug_info");
  }
  void record_missing(const Module& module, const Inlines& inlines) {
    if (inlines.outcome == Inlines::Outcome::NoInfo)
      result_.without_debug_information.push_back(module);
    if (inlines.lacks_dwz_file) result_.without_dwz_file.push_back(module);
    if (inlines.missing_split_units > 0) result_.without_split_units.push_back(module);
  }
  bool is_full() const { return inlined_count_ > kMaxInlined || name_bytes_ > kMaxNameBytes; }

  void add_inlines(const AddressBatch& batch, const Inlines& inlines) {
    using Outcome = Inlines::Outcome;
    result_.complete_modules += inlines.outcome == Outcome::Complete;
    result_.limited_modules +=
        inlines.outcome == Outcome::TooLarge || inlines.outcome == Outcome::Incomplete;
    if (inlines.outcome == Outcome::NoLibdw) result_.has_reader = false;
    const auto first_name = static_cast<std::uint32_t>(inlined_.names.size());
    for (const std::string& name : inlines.names) {
      inlined_.names.push_back(name.empty() ? "[inlined]" : demangle(name));
      name_bytes_ += inlined_.names.back().size();
    }
    batch.for_each([&](std::uint32_t frame, std::size_t at) {
      for (const std::uint32_t name : inlines.chains[at])
        inlined_.chains[frame].push_back(first_name + name);
      inlined_count_ += inlines.chains[at].size();
    });
  }

  const StackTable& table_;
  const NameSources& sources_;
  Clock::time_point deadline_;
  const std::atomic<bool>* stop_;
  InlinedFunctions inlined_;
  InlineExpansion result_;
  std::size_t inlined_count_ = 0;
  std::size_t name_bytes_ = 0;
};

}  // namespace

NamedFrames name_frames(StackTable& table, const NameSources& sources,
                        const FrameNamingLimits& limits) {
  const auto is_unnamed = [&](std::uint32_t number, const Frame&) {
    return table.get_name(number).empty();
  };
  const auto frames_by_module = select_frames(table, is_unnamed);
  std::vector<std::uint32_t> modules;
  for (std::uint32_t number = 0; number < frames_by_module.size(); ++number)
    if (!frames_by_module[number].empty()) modules.push_back(number);
  Namer namer(table, sources, limits);
  NamedFrames named;
  const auto large =
      namer.name_modules(modules, frames_by_module, limits.first_steps_per_module, false);
  named.limited_modules =
      namer.name_modules(large, frames_by_module, limits.steps_per_module, true);
  named.steps = namer.get_spent_steps();
  for (std::uint32_t frame = 0; frame < table.frames().size(); ++frame)
    named.unnamed_frames += table.get_name(frame).empty();
  return named;
}

InlineExpansion expand_inlines(const StackTable& table, const NameSources& sources,
                               std::chrono::nanoseconds time, const std::atomic<bool>* stop) {
  std::vector<bool> is_done(table.modules().size());
  for (const Frame& frame : table.frames())
    if (frame.inline_depth != 0) is_done[frame.module] = true;
  auto frames_by_module = select_frames(
      table, [&](std::uint32_t, const Frame& frame) { return !is_done[frame.module]; });
  InlineCollector inliner(table, sources, time, stop);
  for (std::uint32_t number = 0; number < frames_by_module.size(); ++number)
    if (!frames_by_module[number].empty())
      inliner.add_module(number, std::move(frames_by_module[number]));
  return std::move(inliner).take_result();
}

}  // namespace ctprof
