#include "core/stacks/hidden_offsets.hpp"

namespace ctprof {

bool HiddenOffsets::are_addresses(Module::Kind kind) {
  return kind != Module::Kind::File && kind != Module::Kind::Vdso;
}

std::string_view HiddenOffsets::name_of(Module::Kind kind) {
  if (kind == Module::Kind::Kernel) return "[kernel]";
  return kind == Module::Kind::Anonymous ? "[anonymous]" : "[unknown]";
}

Frame HiddenOffsets::of(const Module& module, Frame frame) {
  if (!are_addresses(module.kind) || frame.offset == Frame::kNowhere) return frame;
  auto& places = places_[frame.module];
  frame.offset = places.try_emplace(frame.offset, places.size()).first->second;
  return frame;
}

StackTable without_addresses(const StackTable& table) {
  StackTable other;
  HiddenOffsets hidden;
  for (const Module& module : table.modules()) other.add_module(module);
  for (std::uint32_t number = 1; number < table.frames().size(); ++number) {
    const Frame& frame = table.frames()[number];
    const Module& module = table.modules()[frame.module];
    other.add_frame(hidden.of(module, frame));
    const bool is_unnamed = table.name(number).empty() && HiddenOffsets::are_addresses(module.kind);
    other.set_name(number, is_unnamed ? HiddenOffsets::name_of(module.kind)
                                      : std::string_view(table.name(number)));
  }
  for (std::uint32_t number = 1; number < table.nodes().size(); ++number)
    other.add_node(table.nodes()[number]);
  return other;
}

}  // namespace ctprof
