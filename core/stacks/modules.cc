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
constexpr unsigned kMostAttempts = 3;
constexpr std::uint64_t kStartContextSize = 16;
constexpr std::uint64_t kLongestCall = 8, kSignalReturnSize = 9;

// Returns whether a mapping has a file name but contains code that a process generated at run time.
bool is_memory(const Mapping& mapping) {
  constexpr std::array<std::string_view, 2> kMadeUp{"/dev/zero", "/anon_hugepage"};
  for (const std::string_view start : kMadeUp)
    if (mapping.path.starts_with(start)) return true;
  return is_memory_file(mapping.path) && !mapping.is_program;
}

}  // namespace

// The kernel maps the whole vDSO image. Its section headers, which lead to its symbols, come last.
std::string_view own_vdso() {
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

Modules::Modules(OpenMapped open, const FrameLimits& limits)
    : open_(std::move(open)), limits_(limits) {
  add({Module::Kind::Unknown, {}, {}, 0});
  add({Module::Kind::Kernel, {}, {}, 0});
  vdso_ = add({Module::Kind::Vdso, "[vdso]", {}, 0});
  known_[vdso_].file = std::make_unique<ElfFile>(own_vdso());
  read(known_[vdso_]);
}

std::uint32_t Modules::add(const Module& module) {
  known_.emplace_back().module = module;
  return static_cast<std::uint32_t>(known_.size() - 1);
}

// The offset of code without a file is its address.
CodeRange Modules::range_of(std::uint64_t process, const Mapping& mapping) {
  const std::uint32_t module = module_of(process, mapping);
  const Module::Kind kind = known_[module].module.kind;
  const bool placed = kind == Module::Kind::File || kind == Module::Kind::Vdso;
  return {mapping.start, mapping.end, placed ? mapping.offset : mapping.start, module};
}

std::uint32_t Modules::module_of(std::uint64_t process, const Mapping& mapping) {
  if (mapping.path == "[vdso]") return vdso_;
  if (mapping.file.inode == 0 || is_memory(mapping))
    return number_in(anonymous_, process, {Module::Kind::Anonymous, {}, {}, process});
  const std::string path(without_deleted(mapping.path));
  return number_in(files_, mapping.file, {Module::Kind::File, path, {}, 0});
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
  if (known.module.kind != Module::Kind::File) return rule_in(known, offset);
  Spent& spent = spent_[process];
  if (!known.file && known.attempts < kMostAttempts) {
    if (!can_open(spent)) return refuse(known);
    ++spent.files;
    open(known, process, range);
    charge(known, spent);
    if (!known.file && known.attempts < kMostAttempts) return std::nullopt;
  }
  if (!known.file) return Rule{};
  if (known.is_dropped || !has_budget(known, spent)) return refuse(known);
  const Rule rule = rule_in(known, offset);
  charge(known, spent);
  return rule.cfa == Cfa::None && known.cfi.is_cut() ? refuse(known) : rule;
}

bool Modules::is_start(const Frame& frame) const {
  const ElfFile* file = known_[frame.module].file.get();
  const auto address = file && file->entry() != 0 ? file->code_address(frame.offset) : std::nullopt;
  return address && *address >= file->entry() && *address - file->entry() < kLongestStart;
}

Rule Modules::rule_in(const Known& known, std::uint64_t offset) {
  const auto address = known.file ? known.file->code_address(offset) : std::nullopt;
  return address ? known.cfi.rule_at(*address) : Rule{};
}

Rule Modules::refuse(Known& known) {
  ++known.refused;
  Rule rule;
  rule.cfa = Cfa::Unknown;
  return rule;
}

std::string Modules::code_of(Known& known, const Spent& spent, const Around& place) {
  const bool is_readable = known.file && known.file->machine() == EM_X86_64 &&
                           known.file->code_address(place.offset) && !known.is_dropped;
  const std::size_t size = place.before + place.behind;
  return is_readable && has_budget(known, spent)
             ? known.file->bytes(place.offset - place.before, size, size)
             : std::string();
}

CodeGuess Modules::guess_at(std::uint64_t process, const CodeRange& range, std::uint64_t offset) {
  Known& known = known_[range.module];
  if (known.module.kind != Module::Kind::File) return {};
  Spent& spent = spent_[process];
  const std::uint64_t before = std::min(offset, kCodeBefore);
  const std::string code = code_of(known, spent, {offset, before, kCodeBehind});
  const auto address = known.file ? known.file->code_address(offset) : std::nullopt;
  if (code.size() <= before || !address) return {};
  CodeGuess guess = guess_from_code(code, before, *address - before);
  known.code_steps += guess.steps + kLongestCall;
  charge(known, spent);
  return guess;
}

std::optional<bool> Modules::follows_call(std::uint64_t process, const CodeRange& range,
                                          std::uint64_t offset) {
  if (known_[range.module].module.kind != Module::Kind::File) return std::nullopt;
  const auto rule = rule_at(process, range, offset);
  if (rule && rule->is_signal) return true;
  Known& known = known_[range.module];
  const std::uint64_t size = std::min(offset, kLongestCall);
  const std::string code = code_of(known, spent_[process], {offset, size, kSignalReturnSize});
  if (code.size() <= size || size == 0) return std::nullopt;
  known.code_steps += kStepsOfInstruction;
  charge(known, spent_[process]);
  const std::string_view bytes(code);
  return ends_with_x86_call(bytes.substr(0, size)) || is_signal_return(bytes.substr(size));
}

bool Modules::is_start_context(std::uint32_t module, std::uint64_t offset) const {
  const ElfFile* file = known_[module].file.get();
  return file && file->machine() == EM_X86_64 && file->code_address(offset) &&
         is_start_context_code(file->bytes(offset, kStartContextSize, kStartContextSize));
}

bool Modules::has_budget(const Known& known, const Spent& spent) const {
  const bool is_assured =
      spent.steps < limits_.assured && steps_ < limits_.steps + limits_.steps / 4;
  return is_assured || (known.steps < limits_.steps_of_file &&
                        spent.steps < limits_.steps_of_process && steps_ < limits_.steps);
}

void Modules::charge(Known& known, Spent& spent) {
  const std::uint64_t steps = known.cfi.steps() + known.code_steps - known.steps;
  known.steps += steps;
  spent.steps += steps;
  steps_ += steps;
}

bool Modules::can_open(const Spent& spent) const {
  return spent.files < limits_.files_of_process && has_budget(Known(), spent) &&
         opening_ < limits_.opening;
}

void Modules::open(Known& known, std::uint64_t process, const CodeRange& range) {
  const auto before = std::chrono::steady_clock::now();
  ++known.attempts;
  known.fd = open_(process, range, known.module.path);
  if (known.fd) {
    known.file = std::make_unique<ElfFile>(known.fd.get());
    read(known);
  }
  opening_ += std::chrono::steady_clock::now() - before;
}

void Modules::read(Known& known) {
  known.module.build_id = known.file->build_id();
  known.module.shift = known.file->code_shift();
  known.cfi = Cfi(*known.file);
  bytes_ += known.cfi.bytes();
  while (bytes_ > limits_.bytes) drop_largest();
}

// The steps of the module remain counted.
void Modules::drop_largest() {
  const auto bytes_of = [](const Known& known) { return known.cfi.bytes(); };
  Known& largest = *std::ranges::max_element(known_, {}, bytes_of);
  bytes_ -= largest.cfi.bytes();
  largest.cfi.drop();
  largest.is_dropped = true;
}

}  // namespace ctprof
