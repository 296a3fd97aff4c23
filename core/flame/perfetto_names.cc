#include "core/flame/perfetto_names.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "core/base/hexadecimal.hpp"
#include "core/flame/stack_formats.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof::perfetto {
namespace {

std::int32_t get_kind_value(FrameKind kind) {
  switch (kind) {
    case FrameKind::Native:
    case FrameKind::Guessed: return kNativeKind;
    case FrameKind::Kernel: return kKernelKind;
    case FrameKind::Jit: return kJitKind;
    default: return kUnknownKind;
  }
}

void write_text(protozero::pbf_writer& names, std::uint32_t kind, std::uint64_t number,
                const std::string& text) {
  protozero::pbf_writer entry(names, kind);
  entry.add_uint64(kNumber, number + 1);
  entry.add_bytes(kText, text);
}

void write_mapping(protozero::pbf_writer& names, const StackTable& table, std::uint32_t number) {
  const Module& module = table.modules()[number];
  write_text(names, kBuildIds, number, to_hex(module.build_id));
  write_text(names, kPaths, number, make_printable_short(get_module_name(module)));
  protozero::pbf_writer mapping(names, kMappings);
  mapping.add_uint64(kNumber, number + 1);
  mapping.add_uint64(kBuildId, number + 1);
  mapping.add_uint64(kPath, number + 1);
}

void write_frame(protozero::pbf_writer& names, const StackTable& table, std::uint32_t number) {
  write_text(names, kFunctionNames, number,
             make_printable_short(get_marked_function_name(table, number)));
  protozero::pbf_writer frame(names, kFrames);
  frame.add_uint64(kNumber, number + 1);
  frame.add_uint64(kFunction, number + 1);
  if (number != StackTable::kTruncated) {
    frame.add_uint64(kMapping, table.frames()[number].module + 1);
    frame.add_uint64(kOffset, table.frames()[number].offset);
  }
  frame.add_enum(kKind, get_kind_value(get_frame_kind(table, number)));
}

}  // namespace

void write_processes(PacketBuffer& packets, const StackProfile& profile,
                     const std::vector<TaskIds>& tasks) {
  packets.add(kNeedsState, [&](protozero::pbf_writer& packet) {
    protozero::pbf_writer tree(packet, kProcessTree);
    std::map<std::uint64_t, const StackOwner*> processes;
    for (std::size_t at = 0; at < tasks.size(); ++at)
      processes.emplace(tasks[at].pid, &profile.owners[at].owner);
    for (const auto& [pid, owner] : processes) {
      protozero::pbf_writer process(tree, kProcess);
      process.add_int32(kPid, static_cast<std::int32_t>(pid));
      process.add_string(kCommandLine, make_printable_short(get_root_names(*owner).front()));
      process.add_bool(kIsName, true);
    }
    for (std::size_t at = 0; at < tasks.size(); ++at) {
      protozero::pbf_writer thread(tree, kThread);
      thread.add_int32(kTid, static_cast<std::int32_t>(tasks[at].tid));
      thread.add_string(kThreadName,
                        make_printable_short(get_root_names(profile.owners[at].owner).back()));
      thread.add_int32(kTgid, static_cast<std::int32_t>(tasks[at].pid));
    }
  });
}

void write_frames(PacketBuffer& packets, const StackTable& table) {
  packets.add(kNeedsState, [&](protozero::pbf_writer& packet) {
    protozero::pbf_writer names(packet, kInternedData);
    for (std::uint32_t module = 0; module < table.modules().size(); ++module)
      write_mapping(names, table, module);
    for (std::uint32_t frame = 0; frame < table.frames().size(); ++frame)
      write_frame(names, table, frame);
  });
}

void write_stack(PacketBuffer& packets, const StackTable& table, std::uint64_t stack) {
  packets.add(kNeedsState, [&](protozero::pbf_writer& packet) {
    protozero::pbf_writer names(packet, kInternedData);
    protozero::pbf_writer callstack(names, kCallstacks);
    callstack.add_uint64(kNumber, stack + 1);
    const auto frames = get_frames(table, stack);
    std::for_each(frames.rbegin(), frames.rend(),
                  [&](std::uint32_t frame) { callstack.add_uint64(kFrame, frame + 1); });
  });
}

}  // namespace ctprof::perfetto
