// Unwinds any registers and any stack in a program with rules of every kind. Checks that no byte
// outside of the copy is read, that all frames are in existing code, and that the work stays within
// the limit of a walk.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/stacks/unwinder.hpp"
#include "tests/unit/stacks/elf_builder.hpp"
#include "tests/unit/support/user_walk.hpp"

using namespace ctprof;
using ctprof::tests::ElfBuilder;
using ctprof::tests::kX86InitialRules;
using ctprof::tests::to_bytes;

namespace {

constexpr std::uint64_t kLoaded = 0x100000, kAnonymous = 0x200000;

// One function for each kind of rule, 256 bytes apart from 0x4000 on.
ElfBuilder program() {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  std::uint64_t start = 0x4000;
  for (const std::string& rule :
       {to_bytes({0x0e, 16}), to_bytes({0x0e, 0}), to_bytes({0x86, 2, 0x0c, 6, 16}),
        to_bytes({0x86, 2}), to_bytes({0x07, 16}),
        to_bytes({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}),
        to_bytes({0x0f, 3, 0x77, 16, 0x06}), to_bytes({0x12, 7, 1}), to_bytes({0x11, 16, 0x7f}),
        to_bytes({0x08, 16}), to_bytes({0x0c, 10, 0})}) {
    elf.add_function(start, 128, rule);
    start += 256;
  }
  elf.add_common_entry("", "zRS");
  elf.add_function(start, 16,
                   to_bytes({0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01}));
  // Functions without rules: push, call, pop and return, leave and return, a branch backwards.
  elf.put_code(0x8000, to_bytes({0x55, 0x53, 0xe8, 0, 0, 0, 0, 0x5b, 0x5d, 0xc3}));
  elf.put_code(0x8010, to_bytes({0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0xc9, 0xc3}));
  elf.put_code(0x8020, to_bytes({0xff, 0xd0, 0x74, 0xfc, 0xff, 0xe0}));
  elf.set_entry(0x8030);
  return elf;
}

struct WalkFixture {
  // All walks belong to one process, whose budget would otherwise be exhausted.
  Modules modules{
      [](std::uint64_t, const CodeRange&, const std::string&) { return program().open(); },
      {.steps_per_file = UINT64_MAX, .steps_per_process = UINT64_MAX, .steps = UINT64_MAX / 2}};
  Unwinder x86{modules, EM_X86_64};
  Unwinder arm{modules, EM_AARCH64};
  AddressSpace space{7};
  std::string image = program().image();
  ElfFile file{image};
  UnwindTable table;
  std::vector<user_walk::Code> code;

  WalkFixture() {
    table = pack_rules(file, Cfi(file)).value();
    map({kLoaded, kLoaded + ElfBuilder::kSize, 0, {1, 2}, "/bin/made"}, &table);
    map({kAnonymous, kAnonymous + 0x10000, 0, {}, ""}, nullptr);
  }
  void map(const Mapping& mapping, const UnwindTable* unwind_table) {
    space.add_mapping(modules.make_code_range(7, mapping));
    code.push_back({modules.make_code_range(7, mapping), unwind_table, unwind_table != nullptr,
                    unwind_table ? &file : nullptr});
  }
};

// Checks that the walk of the BPF programs stops, or finds the same frames as Unwinder.
void check_user_walk(const WalkFixture& world, const Registers& registers, const StackCopy& stack,
                     std::size_t max_frames, WalkEnd ending, const std::vector<Frame>& frames) {
  using End = user_walk::UserWalk::End;
  user_walk::UserWalk walk(world.code, stack);
  const End end = walk.run(registers, max_frames, true);
  if (end == End::Failed) return;
  if (ending != (end == End::Root ? WalkEnd::Root : WalkEnd::TooDeep)) std::abort();
  if (walk.frames() != frames) std::abort();
}

bool is_code(const Frame& frame, const Modules& modules) {
  if (modules[frame.module].kind == Module::Kind::File) return frame.offset < ElfBuilder::kSize;
  return frame.offset >= kAnonymous && frame.offset < kAnonymous + 0x10000;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static WalkFixture world;
  Registers registers;
  std::uint64_t start = 0;
  if (size < sizeof registers + sizeof start + 1) return 0;
  std::memcpy(&registers, data, sizeof registers);
  std::memcpy(&start, data + sizeof registers, sizeof start);
  const std::size_t header_bytes = sizeof registers + sizeof start + 1;
  const std::size_t max_frames = 1 + (data[header_bytes - 1] & 0x7f);
  Unwinder& unwinder = (data[header_bytes - 1] & 0x80) == 0 ? world.x86 : world.arm;
  // A separate copy, so that sanitizers detect reads outside of it.
  const std::vector<char> stack(data + header_bytes, data + size);
  std::vector<Frame> frames;
  const std::uint64_t before = world.modules.steps();
  const StackCopy copy{start, {stack.data(), stack.size()}};
  const WalkEnd ending = unwinder.walk(world.space, registers, copy, frames, max_frames);
  if (&unwinder == &world.x86) check_user_walk(world, registers, copy, max_frames, ending, frames);
  // Each frame looks up two rules, makes one guess from code, and checks each possible return
  // address with one rule. The first rule may open the file.
  constexpr std::uint64_t kRule = FrameEntries::kMaxStepsPerEntry + kMaxStepsPerRule;
  constexpr std::uint64_t kChecks = CodeGuess::kMaxRules + 2;
  const std::uint64_t most_steps =
      Cfi::kMaxReadSteps +
      max_frames * (2 * kRule + 2 * kMaxStepsPerGuess + kChecks * (kRule + kStepsPerInstruction));
  if (world.modules.steps() - before > most_steps) std::abort();
  if (frames.empty() || frames.size() > max_frames) std::abort();
  const bool is_first_unknown = frames[0].module == Modules::kUnknown;
  if (!std::all_of(frames.begin() + is_first_unknown, frames.end(),
                   [](const Frame& frame) { return is_code(frame, world.modules); }))
    std::abort();
  return 0;
}
