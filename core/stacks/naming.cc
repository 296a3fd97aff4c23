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

// Where the symbols of a module would have a place in it.
std::optional<std::uint64_t> address_in(const ElfFile* file, std::uint64_t offset) {
  return file ? file->code_address(offset) : std::optional(offset);
}

std::vector<std::string> names_of(const Module& module, const ElfFile* file,
                                  const NameSources& sources,
                                  std::span<const std::uint64_t> addresses) {
  if (file) return names_in_file(*file, addresses);
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

void name_module(StackTable& table, const Module& module, const ElfFile* file,
                 std::vector<Wanted> wanted, const NameSources& sources) {
  std::erase_if(wanted, [&](Wanted& frame) {
    const auto address = address_in(file, frame.address);
    frame.address = address.value_or(0);
    return !address;
  });
  std::ranges::sort(wanted, {}, &Wanted::address);
  std::vector<std::uint64_t> addresses;
  for (const Wanted& frame : wanted)
    if (addresses.empty() || addresses.back() != frame.address) addresses.push_back(frame.address);
  const auto names = names_of(module, file, sources, addresses);
  std::size_t at = 0;
  for (const Wanted& frame : wanted) {
    while (addresses[at] != frame.address) ++at;
    if (!names[at].empty()) table.set_name(frame.frame, demangled(names[at]));
  }
}

}  // namespace

std::size_t name_frames(StackTable& table, const NameSources& sources) {
  auto wanted = wanted_of(table);
  for (std::uint32_t number = 0; number < wanted.size(); ++number) {
    const Module module = table.modules()[number];
    const bool has_file = module.kind == Module::Kind::File || module.kind == Module::Kind::Vdso;
    if (wanted[number].empty()) continue;
    name_module(table, module, has_file ? sources.file(number) : nullptr, std::move(wanted[number]),
                sources);
  }
  std::size_t unnamed = 0;
  for (std::uint32_t frame = 0; frame < table.frames().size(); ++frame)
    unnamed += table.name(frame).empty();
  return unnamed;
}

}  // namespace ctprof
