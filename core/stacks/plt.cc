#include "core/stacks/plt.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/name_work.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kMaxSlots = 1 << 20;
constexpr std::uint64_t kMaxStubSize = 16;

template <class T>
T read_value(std::string_view code, std::size_t at) {
  T value{};
  if (at + sizeof value <= code.size()) std::memcpy(&value, code.data() + at, sizeof value);
  return value;
}

// The functions that the slots of a file refer to.
class PltSlots {
 public:
  PltSlots(const ElfFile& file, NameWork& work) : file_(file), sections_(file.sections()) {
    for (const char* name : {".rela.plt", ".rela.dyn"}) {
      const auto section = file.section(name);
      const bool is_list = section && section->sh_type == SHT_RELA &&
                           section->sh_link < sections_.size() && work.spend(section->sh_size);
      if (is_list) add_relocations(*section, name == std::string_view(".rela.plt"));
    }
  }

  // Returns the name of the function that a stub calls; empty if the code is not a stub.
  std::string find_called_function(std::string_view code, FileAddress address) const {
    constexpr std::string_view kEndbr64("\xf3\x0f\x1e\xfa", 4), kBndPrefix("\xf2", 1),
        kIndirectJump("\xff\x25", 2), kPush("\x68", 1);
    std::size_t at = code.starts_with(kEndbr64) ? kEndbr64.size() : 0;
    if (code.substr(at).starts_with(kPush)) {
      const auto number = read_value<std::uint32_t>(code, at + kPush.size());
      return number < plt_relocations_.size() ? read_symbol_name(plt_relocations_[number])
                                              : std::string();
    }
    if (code.substr(at).starts_with(kBndPrefix)) at += kBndPrefix.size();
    if (!code.substr(at).starts_with(kIndirectJump)) return {};
    at += kIndirectJump.size();
    const auto distance = std::int64_t{read_value<std::int32_t>(code, at)};
    const auto slot =
        slots_.find(address + at + sizeof(std::int32_t) + static_cast<std::uint64_t>(distance));
    return slot == slots_.end() ? std::string() : read_symbol_name(slot->second);
  }

 private:
  // A symbol: the section number of its list, and its number in the list.
  struct SymbolReference {
    std::uint32_t list = 0;
    std::uint32_t symbol = 0;
  };

  void add_relocations(const Elf64_Shdr& section, bool is_numbered) {
    const auto relocations = file_.read_table<Elf64_Rela>(
        section.sh_offset, section.sh_size / sizeof(Elf64_Rela), kMaxSlots);
    for (const Elf64_Rela& relocation : relocations) {
      const SymbolReference function{section.sh_link,
                                     static_cast<std::uint32_t>(ELF64_R_SYM(relocation.r_info))};
      const auto type = ELF64_R_TYPE(relocation.r_info);
      if (is_numbered) plt_relocations_.push_back(function);
      if (function.symbol != 0 && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT))
        slots_.emplace(relocation.r_offset, function);
    }
  }

  std::string read_symbol_name(const SymbolReference& function) const {
    const Elf64_Shdr& list = sections_[function.list];
    if (function.symbol == 0 || list.sh_link >= sections_.size()) return {};
    const auto symbol = file_.read_table<Elf64_Sym>(
        list.sh_offset + std::uint64_t{function.symbol} * sizeof(Elf64_Sym), 1, 1);
    if (symbol.empty()) return {};
    return file_.read_text(sections_[list.sh_link].sh_offset + symbol.front().st_name,
                           kMaxFunctionNameSize);
  }

  const ElfFile& file_;
  std::vector<Elf64_Shdr> sections_;
  std::unordered_map<FileAddress, SymbolReference, SeededHash> slots_;
  std::vector<SymbolReference> plt_relocations_;
};

void fill_section_names(const ElfFile& file, const Elf64_Shdr& section,
                        std::span<const FileAddress> addresses, std::vector<std::string>& names,
                        std::optional<PltSlots>& slots, NameWork& work) {
  const std::uint64_t stub_size =
      section.sh_entsize == kMaxStubSize / 2 ? section.sh_entsize : kMaxStubSize;
  const auto first = std::ranges::lower_bound(addresses, section.sh_addr);
  for (auto i = static_cast<std::size_t>(first - addresses.begin());
       i < addresses.size() && addresses[i] - section.sh_addr < section.sh_size; ++i) {
    if (!names[i].empty() || work.is_exceeded()) continue;
    if (!slots) slots.emplace(file, work);
    const std::uint64_t offset = (addresses[i] - section.sh_addr) / stub_size * stub_size;
    const std::string code = file.read_bytes(section.sh_offset + offset, stub_size, stub_size);
    const std::string name = slots->find_called_function(code, section.sh_addr + offset);
    if (!name.empty() && work.spend(name.size() * NameWork::kStepsPerNameByte))
      names[i] = name + "@plt";
  }
}

}  // namespace

void fill_plt_names(const ElfFile& file, std::span<const FileAddress> addresses,
                    std::vector<std::string>& names, NameWork& work) {
  if (file.machine() != EM_X86_64) return;
  std::optional<PltSlots> slots;
  for (const char* name : {".plt", ".plt.sec", ".plt.got"})
    if (const auto section = file.section(name); section && section->sh_type != SHT_NOBITS)
      fill_section_names(file, *section, addresses, names, slots, work);
}

}  // namespace ctprof
