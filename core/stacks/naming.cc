#include "core/stacks/naming.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/stacks/demangle.hpp"
#include "core/stacks/symbols.hpp"

namespace ctprof {
namespace {

// A frame, and its address as its module's symbols count.
struct Wanted {
  std::uint64_t address;
  std::uint32_t frame;
};

// A module's own file and what was stripped from it, as far as somebody has them.
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

// Where the symbols of a module would have a place in it.
std::optional<std::uint64_t> address_in(const Module& module, const ElfFile* own,
                                        std::uint64_t offset) {
  return own ? own->code_address(offset) : std::optional(offset + module.shift);
}

std::vector<std::string> names_of(const Module& module, const Files& files,
                                  const NameSources& sources,
                                  std::span<const std::uint64_t> addresses) {
  if (files.own) return names_in_file(*files.own, addresses, files.stripped);
  if (files.stripped) return names_in_file(*files.stripped, addresses);
  if (module.kind == Module::Kind::Kernel) return names_in_kallsyms(sources.kernel(), addresses);
  if (module.kind == Module::Kind::Anonymous)
    return names_in_perf_map(sources.perf_map(module.process), addresses);
  return std::vector<std::string>(addresses.size());
}

// By module and address, those without a name.
std::vector<std::vector<Wanted>> wanted_of(const StackTable& table) {
  std::vector<std::vector<Wanted>> wanted(table.modules().size());
  for (std::uint32_t frame = StackTable::kTruncated + 1; frame < table.frames().size(); ++frame)
    if (table.name(frame).empty())
      wanted[table.frames()[frame].module].push_back({table.frames()[frame].offset, frame});
  return wanted;
}

void name_module(StackTable& table, std::uint32_t number, std::vector<Wanted> wanted,
                 const NameSources& sources) {
  const Module& module = table.modules()[number];
  const Files files = files_of(number, module, sources);
  std::erase_if(wanted, [&](Wanted& frame) {
    const auto address = address_in(module, files.own, frame.address);
    frame.address = address.value_or(0);
    return !address;
  });
  std::ranges::sort(wanted, {}, &Wanted::address);
  std::vector<std::uint64_t> addresses;
  for (const Wanted& frame : wanted)
    if (addresses.empty() || addresses.back() != frame.address) addresses.push_back(frame.address);
  const auto names = names_of(module, files, sources, addresses);
  std::size_t at = 0;
  for (const Wanted& frame : wanted) {
    while (addresses[at] != frame.address) ++at;
    if (!names[at].empty()) table.set_name(frame.frame, demangled(names[at]));
  }
}

}  // namespace

std::size_t name_frames(StackTable& table, const NameSources& sources) {
  auto wanted = wanted_of(table);
  for (std::uint32_t number = 0; number < wanted.size(); ++number)
    if (!wanted[number].empty()) name_module(table, number, std::move(wanted[number]), sources);
  std::size_t unnamed = 0;
  for (std::uint32_t frame = 0; frame < table.frames().size(); ++frame)
    unnamed += table.name(frame).empty();
  return unnamed;
}

}  // namespace ctprof
