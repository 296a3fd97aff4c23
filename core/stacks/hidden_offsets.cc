#include "core/stacks/hidden_offsets.hpp"

namespace ctprof {

bool HiddenOffsets::are_addresses(Module::Kind kind) {
  return kind != Module::Kind::File && kind != Module::Kind::Vdso;
}

std::string_view HiddenOffsets::get_placeholder_name(Module::Kind kind) {
  if (kind == Module::Kind::Kernel) return "[kernel]";
  return kind == Module::Kind::Anonymous ? "[anonymous]" : "[unknown]";
}

Frame HiddenOffsets::hide_offset(const Module& module, Frame frame) {
  if (!are_addresses(module.kind) || frame.offset == Frame::kNoOffset) return frame;
  auto& places = places_[frame.module];
  frame.offset = places.try_emplace(frame.offset, places.size()).first->second;
  return frame;
}

StackTable replace_addresses(const StackTable& table) {
  StackTable other;
  HiddenOffsets hidden;
  for (const Module& module : table.modules()) other.add_module(module);
  for (std::uint32_t number = 1; number < table.frames().size(); ++number) {
    const Frame& frame = table.frames()[number];
    const Module& module = table.modules()[frame.module];
    other.add_frame(hidden.hide_offset(module, frame));
    const bool is_unnamed =
        table.get_name(number).empty() && HiddenOffsets::are_addresses(module.kind);
    other.set_name(number, is_unnamed ? HiddenOffsets::get_placeholder_name(module.kind)
                                      : std::string_view(table.get_name(number)));
  }
  for (std::uint32_t number = 1; number < table.nodes().size(); ++number)
    other.add_node(table.nodes()[number]);
  return other;
}

}  // namespace ctprof
