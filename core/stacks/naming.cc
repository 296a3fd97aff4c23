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
struct Wanted {
  std::uint64_t address;
  std::uint32_t frame;
};

// A module's own file and its debug file; null if unavailable.
struct Files {
  const ElfFile* own = nullptr;
  const ElfFile* stripped = nullptr;
};

Files files_of(std::uint32_t number, const Module& module, const NameSources& sources) {
  if (module.kind != Module::Kind::File && module.kind != Module::Kind::Vdso) return {};
  Files files{sources.file(number), nullptr};
  const bool is_whole = files.own && is_unstripped(*files.own);
  if (!is_whole && sources.stripped) files.stripped = sources.stripped(number, files.own);
  return files;
}

// Converts an offset in a module to the address that its symbols use.
std::optional<std::uint64_t> address_in(const Module& module, const ElfFile* own,
                                        std::uint64_t offset) {
  return own ? own->code_address(offset) : std::optional(offset + module.shift);
}

std::vector<std::string> names_of(const Module& module, const Files& files,
                                  const NameSources& sources,
                                  std::span<const std::uint64_t> addresses, NameWork& work) {
  if (files.own) return names_in_file(*files.own, addresses, files.stripped, work);
  if (files.stripped) return names_in_file(*files.stripped, addresses, nullptr, work);
  if (module.kind == Module::Kind::Kernel) return names_in_kallsyms(sources.kernel(), addresses);
  if (module.kind == Module::Kind::Anonymous)
    return names_in_perf_map(sources.perf_map(module.process), addresses, work);
  return std::vector<std::string>(addresses.size());
}

// Returns the frames for which `is_wanted` is true, by module.
template <class IsWanted>
std::vector<std::vector<Wanted>> wanted_of(const StackTable& table, IsWanted is_wanted) {
  std::vector<std::vector<Wanted>> wanted(table.modules().size());
  for (std::uint32_t number = StackTable::kTruncated + 1; number < table.frames().size(); ++number)
    if (const Frame& frame = table.frames()[number]; is_wanted(number, frame))
      wanted[frame.module].push_back({frame.offset, number});
  return wanted;
}

// The frames of a module that have an address, sorted by it, and the unique addresses.
struct Batch {
  Batch(const Module& module, const ElfFile* own, std::vector<Wanted> wanted)
      : frames(std::move(wanted)) {
    std::erase_if(frames, [&](Wanted& frame) {
      const auto address = address_in(module, own, frame.address);
      frame.address = address.value_or(0);
      return !address;
    });
    std::ranges::sort(frames, {}, &Wanted::address);
    for (const Wanted& frame : frames)
      if (addresses.empty() || addresses.back() != frame.address)
        addresses.push_back(frame.address);
  }

  // Calls `function` with the number of each frame and the index of its address.
  template <class Function>
  void for_each(Function function) const {
    std::size_t at = 0;
    for (const Wanted& frame : frames) {
      while (addresses[at] != frame.address) ++at;
      function(frame.frame, at);
    }
  }

  std::vector<Wanted> frames;
  std::vector<std::uint64_t> addresses;
};

// Names the frames of modules within limits.
class Namer {
 public:
  Namer(StackTable& table, const NameSources& sources, const NameLimits& limits)
      : table_(table), sources_(sources), limits_(limits), left_(limits.steps) {}

  // Names the frames of these modules. Each has an equal share of the remaining steps, at most
  // `most`. Returns the modules that exceed it; with `keeps`, the names found so far are set
  // nevertheless.
  std::vector<std::uint32_t> name(const std::vector<std::uint32_t>& modules,
                                  const std::vector<std::vector<Wanted>>& wanted,
                                  std::uint64_t most, bool keeps) {
    std::vector<std::uint32_t> beyond;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      NameWork work(std::min(most, left_ / (modules.size() - i)));
      const std::uint64_t share = work.left();
      if (Clock::now() < end_ && !(limits_.stop && *limits_.stop))
        name(modules[i], wanted[modules[i]], work, keeps);
      else
        work.exceed();
      left_ -= share - work.left();
      if (work.is_over()) beyond.push_back(modules[i]);
    }
    return beyond;
  }
  std::uint64_t spent() const { return limits_.steps - left_; }

 private:
  using Clock = std::chrono::steady_clock;

  void name(std::uint32_t number, std::vector<Wanted> wanted, NameWork& work, bool keeps) {
    const Module& module = table_.modules()[number];
    const Files files = files_of(number, module, sources_);
    const Batch batch(module, files.own, std::move(wanted));
    auto names = names_of(module, files, sources_, batch.addresses, work);
    for (std::string& name : names) name = readable(name, work);
    if (work.is_over() && !keeps) return;
    batch.for_each([&](std::uint32_t frame, std::size_t at) {
      if (!names[at].empty()) table_.set_name(frame, names[at]);
    });
  }

  // Returns the demangled name; empty if it exceeds the remaining work.
  static std::string readable(const std::string& name, NameWork& work) {
    std::string text = demangled(name);
    const std::size_t more = text.size() - std::min(text.size(), name.size());
    return more == 0 || work.spend(more * NameWork::kStepsOfNameByte) ? text : std::string();
  }

  StackTable& table_;
  const NameSources& sources_;
  const NameLimits& limits_;
  std::uint64_t left_;
  Clock::time_point end_ = Clock::now() + limits_.time;
};

// There are at most as many addresses as frames, and each takes a few microseconds.
Inlines inlines_in(const ElfFile& file, const GoTable& table,
                   std::span<const FileAddress> addresses) {
  Inlines inlines;
  inlines.outcome = Inlines::Outcome::Told;
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (const FileAddress address : addresses) {
    auto& chain = inlines.chains.emplace_back();
    for (const std::string_view name : table.inlined_at(file, address)) {
      const auto [known, is_new] =
          numbers.emplace(name, static_cast<std::uint32_t>(inlines.names.size()));
      if (is_new) inlines.names.emplace_back(name);
      chain.push_back(known->second);
    }
  }
  return inlines;
}

// Collects the inlined functions of the frames of all modules.
class Inliner {
 public:
  Inliner(const StackTable& table, const NameSources& sources, std::chrono::nanoseconds time,
          const std::atomic<bool>* stop)
      : table_(table), sources_(sources), end_(Clock::now() + time), stop_(stop) {
    inlined_.chains.resize(table.frames().size());
  }

  void ask(std::uint32_t number, std::vector<Wanted> wanted) {
    const Module& module = table_.modules()[number];
    if (module.kind != Module::Kind::File || is_full()) return;
    if (stop_ && *stop_) return void(++result_.cut);
    const ElfFile* own = sources_.file(number);
    const auto go = own ? shared_go_table(*own) : nullptr;
    if (go && go->has_functions()) {
      const Batch batch(module, own, std::move(wanted));
      return take(batch, inlines_in(*own, *go, batch.addresses));
    }
    const ElfFile* debug = own && has_debug_information(*own) ? own : nullptr;
    if (!debug && sources_.stripped) debug = sources_.stripped(number, own);
    if (!debug) return result_.without_info.push_back(module);
    const Batch batch(module, own, std::move(wanted));
    const ElfFile* moved = sources_.moved ? sources_.moved(*debug, module.path) : nullptr;
    const auto now = Clock::now();
    const Inlines inlines = inlines_in(*debug, {moved, sources_.open_named, module.path},
                                       batch.addresses, now + (end_ - now) / 4, stop_);
    take(batch, inlines);
    note_missing(module, inlines);
  }

  WithInlines result() && {
    result_.nodes = result_.table.absorb(table_, inlined_);
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostInlined = 4 << 20;
  static constexpr std::size_t kMostNameBytes = 256 << 20;

  static bool has_debug_information(const ElfFile& file) {
    return file.section(".debug_info") || file.section(".zdebug_info");
  }
  void note_missing(const Module& module, const Inlines& inlines) {
    if (inlines.outcome == Inlines::Outcome::NoInfo) result_.without_info.push_back(module);
    if (inlines.lacks_moved) result_.without_moved.push_back(module);
    if (inlines.split_missing > 0) result_.without_split.push_back(module);
  }
  bool is_full() const { return inlined_count_ > kMostInlined || name_bytes_ > kMostNameBytes; }

  void take(const Batch& batch, const Inlines& inlines) {
    using Outcome = Inlines::Outcome;
    result_.told += inlines.outcome == Outcome::Told;
    result_.cut += inlines.outcome == Outcome::TooLarge || inlines.outcome == Outcome::Cut;
    if (inlines.outcome == Outcome::NoReader) result_.has_reader = false;
    const auto before = static_cast<std::uint32_t>(inlined_.names.size());
    for (const std::string& name : inlines.names) {
      inlined_.names.push_back(name.empty() ? "[inlined]" : demangled(name));
      name_bytes_ += inlined_.names.back().size();
    }
    batch.for_each([&](std::uint32_t frame, std::size_t at) {
      for (const std::uint32_t name : inlines.chains[at])
        inlined_.chains[frame].push_back(before + name);
      inlined_count_ += inlines.chains[at].size();
    });
  }

  const StackTable& table_;
  const NameSources& sources_;
  Clock::time_point end_;
  const std::atomic<bool>* stop_;
  InlinedFunctions inlined_;
  WithInlines result_;
  std::size_t inlined_count_ = 0;
  std::size_t name_bytes_ = 0;
};

}  // namespace

NamedFrames name_frames(StackTable& table, const NameSources& sources, const NameLimits& limits) {
  const auto is_unnamed = [&](std::uint32_t number, const Frame&) {
    return table.name(number).empty();
  };
  const auto wanted = wanted_of(table, is_unnamed);
  std::vector<std::uint32_t> modules;
  for (std::uint32_t number = 0; number < wanted.size(); ++number)
    if (!wanted[number].empty()) modules.push_back(number);
  Namer namer(table, sources, limits);
  NamedFrames named;
  const auto large = namer.name(modules, wanted, limits.first, false);
  named.beyond = namer.name(large, wanted, limits.steps_of_module, true);
  named.steps = namer.spent();
  for (std::uint32_t frame = 0; frame < table.frames().size(); ++frame)
    named.unnamed += table.name(frame).empty();
  return named;
}

WithInlines with_inlines(const StackTable& table, const NameSources& sources,
                         std::chrono::nanoseconds time, const std::atomic<bool>* stop) {
  std::vector<bool> is_done(table.modules().size());
  for (const Frame& frame : table.frames())
    if (frame.inlined != 0) is_done[frame.module] = true;
  auto wanted =
      wanted_of(table, [&](std::uint32_t, const Frame& frame) { return !is_done[frame.module]; });
  Inliner inliner(table, sources, time, stop);
  for (std::uint32_t number = 0; number < wanted.size(); ++number)
    if (!wanted[number].empty()) inliner.ask(number, std::move(wanted[number]));
  return std::move(inliner).result();
}

}  // namespace ctprof
