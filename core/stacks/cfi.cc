#include "core/stacks/cfi.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/stacks/byte_cursor.hpp"
#include "core/stacks/frame_program.hpp"
#include "core/stacks/unpack.hpp"

namespace ctprof {
namespace {

// Of one section.
constexpr std::uint64_t kMostSectionBytes = 64 << 20;
// Of an unpacked section: a small file can claim to have a large one. Each byte is a step.
constexpr std::uint64_t kMostUnpackedBytes = 16 << 20;
// Bytes that are read in one step.
constexpr std::uint64_t kBytesInStep = 8;
constexpr std::uint8_t kNearPointer = 0x1b;  // four bytes, signed, from where they stand

// Where .eh_frame is loaded, by the header of its table.
FileAddress eh_frame_address(std::string_view header, FileAddress address) {
  ByteCursor cursor(header, 1);
  const bool near = cursor.get<std::uint8_t>() == kNearPointer;
  cursor.skip(2);
  const FileAddress here = address + cursor.position();
  const auto distance = cursor.get<std::int32_t>();
  return near && cursor.ok() ? here + static_cast<std::uint64_t>(std::int64_t{distance}) : 0;
}

// Without section headers nothing tells the end: it is that of the segment then.
std::string loaded_bytes(const ElfFile& file, FileAddress address,
                         const std::optional<Elf64_Shdr>& section) {
  const auto place = file.place_of(address);
  if (!place) return {};
  const bool told = section && section->sh_addr == address;
  return file.bytes(place->offset, told ? section->sh_size : place->size, kMostSectionBytes);
}

}  // namespace

FrameEntries Cfi::read_eh_frame(const ElfFile& file) {
  const auto section = file.section(".eh_frame");
  const Elf64_Phdr* table = file.segment(PT_GNU_EH_FRAME);
  const std::string header =
      table ? file.bytes(table->p_offset, table->p_filesz, kMostSectionBytes) : std::string();
  const FileAddress pointed = table ? eh_frame_address(header, table->p_vaddr) : 0;
  const FileAddress address = pointed != 0 || !section ? pointed : section->sh_addr;
  if (section && section->sh_size > kMostSectionBytes) is_cut_ = true;
  FrameEntries entries(FrameEntries::Format::EhFrame, loaded_bytes(file, address, section),
                       address);
  if (pointed == 0 || !entries.take_table(header, table->p_vaddr)) entries.make_table();
  return entries;
}

std::string Cfi::unpacked(std::string_view section) {
  std::string bytes = unpacked_section(section, kMostUnpackedBytes);
  steps_ += bytes.size();
  const auto claimed = ByteCursor(section, offsetof(Elf64_Chdr, ch_size)).get<std::uint64_t>();
  if (claimed > kMostUnpackedBytes) is_cut_ = true;
  return bytes;
}

FrameEntries Cfi::read_debug_frame(const ElfFile& file) {
  const auto section = file.section(".debug_frame");
  if (!section || section->sh_type == SHT_NOBITS) return {};
  std::string bytes = file.bytes(section->sh_offset, section->sh_size, kMostSectionBytes);
  if (section->sh_size > kMostSectionBytes) is_cut_ = true;
  if ((section->sh_flags & SHF_COMPRESSED) != 0) bytes = unpacked(bytes);
  FrameEntries entries(FrameEntries::Format::DebugFrame, std::move(bytes), 0);
  entries.make_table();
  return entries;
}

Cfi::Cfi(const ElfFile& file) {
  if (!file.is_valid()) return;
  if (file.machine() == EM_AARCH64) registers_ = kArmRegisters;
  eh_frame_ = read_eh_frame(file);
  go_ = shared_go_table(file);
  if (!go_->has_functions()) debug_frame_ = read_debug_frame(file);
  steps_ += bytes() / kBytesInStep;
}

std::optional<FunctionRange> Cfi::function_at(FileAddress address) const {
  auto function = eh_frame_.find(address);
  if (!function) function = debug_frame_.find(address);
  return function ? std::optional(FunctionRange{function->start, function->size}) : std::nullopt;
}

void Cfi::drop() {
  steps_ = steps();
  eh_frame_ = {};
  debug_frame_ = {};
  go_ = nullptr;
  programs_.clear();
}

Rule Cfi::rule_at(FileAddress address) const {
  auto function = eh_frame_.find(address);
  if (!function && go_ && go_->has_functions()) return go_->rule_at(address);
  if (!function) function = debug_frame_.find(address);
  return function ? rule_in(*function, address, registers_, programs_, steps_) : Rule{};
}

}  // namespace ctprof
