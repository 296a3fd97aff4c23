#include "core/flame/stack_profile.hpp"

#include <array>
#include <charconv>

#include "core/stacks/address_space.hpp"

namespace ctprof {
namespace {

std::string format_hexadecimal(std::uint64_t value) {
  std::array<char, 16> digits;
  const char* end = std::to_chars(digits.begin(), digits.end(), value, 16).ptr;
  return "0x" + std::string(digits.cbegin(), end);
}

std::string_view get_file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

const Module* find_module(const StackTable& table, std::uint32_t frame) {
  if (frame == StackTable::kTruncated) return nullptr;
  return &table.modules()[table.frames()[frame].module];
}

}  // namespace

std::vector<std::string_view> get_root_names(const StackOwner& owner) {
  std::vector<std::string_view> roots;
  if (!owner.process.empty()) roots.push_back(owner.process);
  if (!owner.thread.empty()) roots.push_back(owner.thread);
  if (roots.empty())
    roots.push_back(owner.cgroup.empty() ? std::string_view("[unknown]") : owner.cgroup);
  return roots;
}

FrameKind get_frame_kind(const StackTable& table, std::uint32_t frame) {
  const Module* module = find_module(table, frame);
  if (!module) return FrameKind::Truncated;
  const Frame& code = table.frames()[frame];
  if (code.is_guessed) return FrameKind::Guessed;
  if (module->kind == Module::Kind::Unknown && code.offset == Frame::kNoOffset)
    return FrameKind::Truncated;
  if (module->kind == Module::Kind::Kernel) return FrameKind::Kernel;
  return module->kind == Module::Kind::Anonymous ? FrameKind::Jit : FrameKind::Native;
}

std::string_view get_module_name(const Module& module) {
  switch (module.kind) {
    case Module::Kind::Kernel: return "[kernel]";
    case Module::Kind::Vdso: return "[vdso]";
    case Module::Kind::Anonymous: return "[jit]";
    case Module::Kind::File: return remove_deleted_suffix(module.path);
    case Module::Kind::Unknown: break;
  }
  return {};
}

std::string_view get_frame_module(const StackTable& table, std::uint32_t frame) {
  const Module* module = find_module(table, frame);
  return module ? get_module_name(*module) : std::string_view();
}

std::string get_function_name(const StackTable& table, std::uint32_t frame) {
  const std::string& name = table.get_name(frame);
  if (!name.empty()) return name;
  const std::string place = format_hexadecimal(table.frames()[frame].offset);
  const std::string_view module = get_file_name(get_frame_module(table, frame));
  return module.empty() ? place : std::string(module) + "+" + place;
}

std::string get_marked_function_name(const StackTable& table, std::uint32_t frame) {
  const bool is_guessed = get_frame_kind(table, frame) == FrameKind::Guessed;
  return get_function_name(table, frame) + (is_guessed ? " (guessed)" : "");
}

}  // namespace ctprof
