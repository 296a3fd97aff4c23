#include "core/stacks/modules.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/stacks/x86_code.hpp"

namespace ctprof {
namespace {

// A process may exit before its file is opened; another process that maps the file may still live.
constexpr unsigned kMaxOpenAttempts = 3;
constexpr std::uint64_t kStartContextSize = 16;
constexpr std::uint64_t kMaxCallSize = 8, kSignalReturnSize = 9;

// Returns whether a mapping has a file name but contains code that a process generated at run time.
bool is_generated_code(const Mapping& mapping) {
  constexpr std::array<std::string_view, 2> kPseudoFiles{"/dev/zero", "/anon_hugepage"};
  for (const std::string_view start : kPseudoFiles)
    if (mapping.path.starts_with(start)) return true;
  return is_memory_file(mapping.path) && !mapping.is_elf_in_memory;
}

}  // namespace

// The kernel maps the whole vDSO image. Its section headers, which lead to its symbols, come last.
std::string_view get_own_vdso() {
  const auto* start = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
  Elf64_Ehdr header;
  if (!start) return {};
  std::memcpy(&header, start, sizeof header);
  const ElfFile head(
      std::string_view(start, header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize));
  std::uint64_t end =
      header.e_shoff + std::uint64_t{header.e_shnum} * std::uint64_t{header.e_shentsize};
  for (const Elf64_Phdr& segment : head.segments())
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_offset + segment.p_filesz);
  return {start, end};
}

Modules::Modules(OpenMappedFile open_mapped, const FrameLimits& limits)
    : open_(std::move(open_mapped)), limits_(limits) {
  add_module({Module::Kind::Unknown, {}, {}, 0});
  add_module({Module::Kind::Kernel, {}, {}, 0});
  vdso_ = add_module({Module::Kind::Vdso, "[vdso]", {}, 0});
  known_[vdso_].file = std::make_unique<ElfFile>(get_own_vdso());
  read_call_frames(known_[vdso_]);
}

std::uint32_t Modules::add_module(const Module& module) {
  known_.emplace_back().module = module;
  return static_cast<std::uint32_t>(known_.size() - 1);
}

// The offset of code without a file is its address.
CodeRange Modules::make_code_range(std::uint64_t process, const Mapping& mapping) {
  const std::uint32_t module = find_or_add_module(process, mapping);
  const Module::Kind kind = known_[module].module.kind;
  const bool has_file_offsets = kind == Module::Kind::File || kind == Module::Kind::Vdso;
  return {mapping.start, mapping.end, has_file_offsets ? mapping.offset : mapping.start, module};
}

std::uint32_t Modules::find_or_add_module(std::uint64_t process, const Mapping& mapping) {
  if (mapping.path == "[vdso]") return vdso_;
  if (mapping.file.inode == 0 || is_generated_code(mapping))
    return find_or_add_number(anonymous_, process, {Module::Kind::Anonymous, {}, {}, process});
  const std::string path(remove_deleted_suffix(mapping.path));
  return find_or_add_number(files_, mapping.file, {Module::Kind::File, path, {}, 0});
}

template <class Numbers>
std::uint32_t Modules::find_or_add_number(Numbers& numbers, const typename Numbers::key_type& key,
                                          const Module& module) {
  const auto known = numbers.find(key);
  if (known != numbers.end()) return known->second;
  if (known_.size() == kMaxModules) return kUnknown;
  return numbers.emplace(key, add_module(module)).first->second;
}

std::optional<UnwindRule> Modules::find_rule(std::uint64_t process, const CodeRange& range,
                                             std::uint64_t offset) {
  KnownModule& known = known_[range.module];
  if (known.module.kind != Module::Kind::File) return find_rule_in(known, offset);
  ProcessWork& work = work_by_process_[process];
  if (!known.file && known.attempts < kMaxOpenAttempts) {
    if (!can_open(work)) return refuse_rule(known);
    ++work.files;
    open(known, process, range);
    charge(known, work);
    if (!known.file && known.attempts < kMaxOpenAttempts) return std::nullopt;
  }
  if (!known.file) return UnwindRule{};
  if (known.is_dropped || !has_budget(known, work)) return refuse_rule(known);
  const UnwindRule rule = find_rule_in(known, offset);
  charge(known, work);
  return rule.cfa == Cfa::None && known.cfi.is_truncated() ? refuse_rule(known) : rule;
}

bool Modules::is_program_start(const Frame& frame) const {
  const ElfFile* file = known_[frame.module].file.get();
  const auto address = file && file->entry() != 0 ? file->code_address(frame.offset) : std::nullopt;
  return address && *address >= file->entry() && *address - file->entry() < kMaxStartFunctionSize;
}

UnwindRule Modules::find_rule_in(const KnownModule& known, std::uint64_t offset) {
  const auto address = known.file ? known.file->code_address(offset) : std::nullopt;
  return address ? known.cfi.find_rule(*address) : UnwindRule{};
}

UnwindRule Modules::refuse_rule(KnownModule& known) {
  ++known.refused;
  UnwindRule rule;
  rule.cfa = Cfa::Unknown;
  return rule;
}

std::string Modules::read_code(KnownModule& known, const ProcessWork& work,
                               const CodeWindow& place) {
  const bool is_readable = known.file && known.file->machine() == EM_X86_64 &&
                           known.file->code_address(place.offset) && !known.is_dropped;
  const std::size_t size = place.bytes_before + place.bytes_after;
  return is_readable && has_budget(known, work)
             ? known.file->read_bytes(place.offset - place.bytes_before, size, size)
             : std::string();
}

CodeGuess Modules::guess_frame(std::uint64_t process, const CodeRange& range,
                               std::uint64_t offset) {
  KnownModule& known = known_[range.module];
  if (known.module.kind != Module::Kind::File) return {};
  ProcessWork& work = work_by_process_[process];
  const std::uint64_t before = std::min(offset, kCodeBytesBefore);
  const std::string code = read_code(known, work, {offset, before, kCodeBytesAfter});
  const auto address = known.file ? known.file->code_address(offset) : std::nullopt;
  if (code.size() <= before || !address) return {};
  CodeGuess guess = guess_from_code(code, before, *address - before);
  known.code_steps += guess.steps + kMaxCallSize;
  charge(known, work);
  return guess;
}

std::optional<bool> Modules::follows_call(std::uint64_t process, const CodeRange& range,
                                          std::uint64_t offset) {
  if (known_[range.module].module.kind != Module::Kind::File) return std::nullopt;
  const auto rule = find_rule(process, range, offset);
  if (rule && rule->is_signal) return true;
  KnownModule& known = known_[range.module];
  const std::uint64_t size = std::min(offset, kMaxCallSize);
  const std::string code =
      read_code(known, work_by_process_[process], {offset, size, kSignalReturnSize});
  if (code.size() <= size || size == 0) return std::nullopt;
  known.code_steps += kStepsPerInstruction;
  charge(known, work_by_process_[process]);
  const std::string_view bytes(code);
  return ends_with_x86_call(bytes.substr(0, size)) || is_signal_return(bytes.substr(size));
}

bool Modules::is_start_context(std::uint32_t module, std::uint64_t offset) const {
  const ElfFile* file = known_[module].file.get();
  return file && file->machine() == EM_X86_64 && file->code_address(offset) &&
         is_start_context_code(file->read_bytes(offset, kStartContextSize, kStartContextSize));
}

bool Modules::has_budget(const KnownModule& known, const ProcessWork& work) const {
  const bool is_in_assured_share =
      work.steps < limits_.assured_steps_per_process && steps_ < limits_.steps + limits_.steps / 4;
  return is_in_assured_share || (known.steps < limits_.steps_per_file &&
                                 work.steps < limits_.steps_per_process && steps_ < limits_.steps);
}

void Modules::charge(KnownModule& known, ProcessWork& work) {
  const std::uint64_t steps = known.cfi.steps() + known.code_steps - known.steps;
  known.steps += steps;
  work.steps += steps;
  steps_ += steps;
}

bool Modules::can_open(const ProcessWork& work) const {
  return work.files < limits_.files_per_process && has_budget(KnownModule(), work) &&
         opening_time_ < limits_.max_opening_time;
}

void Modules::open(KnownModule& known, std::uint64_t process, const CodeRange& range) {
  const auto before = std::chrono::steady_clock::now();
  ++known.attempts;
  known.fd = open_(process, range, known.module.path);
  if (known.fd) {
    known.file = std::make_unique<ElfFile>(known.fd.get());
    read_call_frames(known);
  }
  opening_time_ += std::chrono::steady_clock::now() - before;
}

void Modules::read_call_frames(KnownModule& known) {
  known.module.build_id = known.file->build_id();
  known.module.address_bias = known.file->code_address_bias();
  known.cfi = Cfi(*known.file);
  call_frame_bytes_ += known.cfi.get_memory_size();
  while (call_frame_bytes_ > limits_.max_bytes) drop_largest();
}

// The steps of the module remain counted.
void Modules::drop_largest() {
  const auto bytes_of = [](const KnownModule& known) { return known.cfi.get_memory_size(); };
  KnownModule& largest = *std::ranges::max_element(known_, {}, bytes_of);
  call_frame_bytes_ -= largest.cfi.get_memory_size();
  largest.cfi.clear();
  largest.is_dropped = true;
}

}  // namespace ctprof
