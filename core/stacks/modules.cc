#include "core/stacks/modules.hpp"

#include <sys/auxv.h>

#include <array>
#include <string_view>
#include <utility>

namespace ctprof {
namespace {

// Of call frame information in memory: the libraries of a desktop come to 100 MiB.
constexpr std::size_t kMostFrameBytes = 512 << 20;
// A process may be gone before its file is opened; another that maps it may live.
constexpr unsigned kMostAttempts = 3;

// Files in name alone: code that a process made as it ran.
bool is_memory(std::string_view path) {
  constexpr std::array<std::string_view, 3> kMadeUp{"/memfd:", "/dev/zero", "/anon_hugepage"};
  for (const std::string_view start : kMadeUp)
    if (path.starts_with(start)) return true;
  return false;
}

// The vDSO is the same in all processes of a machine, so ours is read.
std::string_view own_vdso() {
  constexpr std::size_t kSize = 4096;  // of its head; the rest follows from that
  const auto* start = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
  if (!start) return {};
  const ElfFile head(std::string_view(start, kSize));
  std::size_t end = 0;
  for (const Elf64_Phdr& segment : head.segments())
    if (segment.p_type == PT_LOAD) end = segment.p_offset + segment.p_filesz;
  return {start, end};
}

}  // namespace

Modules::Modules(OpenMapped open) : open_(std::move(open)) {
  add({Module::Kind::Unknown, {}, {}, 0});
  add({Module::Kind::Kernel, {}, {}, 0});
  vdso_ = add({Module::Kind::Vdso, "[vdso]", {}, 0});
  known_[vdso_].file = std::make_unique<ElfFile>(own_vdso());
  read(known_[vdso_]);
}

std::uint32_t Modules::add(const Module& module) {
  known_.push_back({module, sdk::Fd(), nullptr, Cfi(), 0});
  return static_cast<std::uint32_t>(known_.size() - 1);
}

// Code of no file is at its address in every respect.
CodeRange Modules::range_of(std::uint64_t process, const Mapping& mapping) {
  const std::uint32_t module = module_of(process, mapping);
  const Module::Kind kind = known_[module].module.kind;
  const bool placed = kind == Module::Kind::File || kind == Module::Kind::Vdso;
  return {mapping.start, mapping.end, placed ? mapping.offset : mapping.start, module};
}

std::uint32_t Modules::module_of(std::uint64_t process, const Mapping& mapping) {
  if (mapping.path == "[vdso]") return vdso_;
  if (mapping.file.inode == 0 || is_memory(mapping.path))
    return number_in(anonymous_, process, {Module::Kind::Anonymous, {}, {}, process});
  return number_in(files_, mapping.file, {Module::Kind::File, mapping.path, {}, 0});
}

template <class Numbers>
std::uint32_t Modules::number_in(Numbers& numbers, const typename Numbers::key_type& key,
                                 const Module& module) {
  const auto known = numbers.find(key);
  if (known != numbers.end()) return known->second;
  if (known_.size() == kMost) return kUnknown;
  return numbers.emplace(key, add(module)).first->second;
}

std::optional<Rule> Modules::rule_at(std::uint64_t process, const CodeRange& range,
                                     std::uint64_t offset) {
  Known& known = known_[range.module];
  const bool is_file = known.module.kind == Module::Kind::File;
  if (is_file && !known.file && known.attempts < kMostAttempts) open(known, process, range);
  if (is_file && !known.file && known.attempts < kMostAttempts) return std::nullopt;
  const auto address = known.file ? known.file->code_address(offset) : std::nullopt;
  return address ? known.cfi.rule_at(*address) : Rule{};
}

void Modules::open(Known& known, std::uint64_t process, const CodeRange& range) {
  ++known.attempts;
  known.fd = open_(process, range, known.module.path);
  if (!known.fd) return;
  known.file = std::make_unique<ElfFile>(known.fd.get());
  read(known);
}

void Modules::read(Known& known) {
  known.module.build_id = known.file->build_id();
  known.module.shift = known.file->code_shift();
  if (bytes_ > kMostFrameBytes) return;
  known.cfi = Cfi(*known.file);
  bytes_ += known.cfi.bytes();
}

}  // namespace ctprof
