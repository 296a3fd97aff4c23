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
#include "tests/unit/stacks/made_elf.hpp"
#include "tests/unit/support/user_walk.hpp"

using namespace ctprof;
using ctprof::tests::code;
using ctprof::tests::kX86Start;
using ctprof::tests::MadeElf;

namespace {

constexpr std::uint64_t kLoaded = 0x100000, kAnonymous = 0x200000;

// One function for each kind of rule, 256 bytes apart from 0x4000 on.
MadeElf program() {
  MadeElf elf;
  elf.common(kX86Start);
  std::uint64_t start = 0x4000;
  for (const std::string& rule :
       {code({0x0e, 16}), code({0x0e, 0}), code({0x86, 2, 0x0c, 6, 16}), code({0x86, 2}),
        code({0x07, 16}), code({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}),
        code({0x0f, 3, 0x77, 16, 0x06}), code({0x12, 7, 1}), code({0x11, 16, 0x7f}),
        code({0x08, 16}), code({0x0c, 10, 0})}) {
    elf.function(start, 128, rule);
    start += 256;
  }
  elf.common("", "zRS");
  elf.function(start, 16, code({0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01}));
  // Functions without rules: push, call, pop and return, leave and return, a branch backwards.
  elf.put_code(0x8000, code({0x55, 0x53, 0xe8, 0, 0, 0, 0, 0x5b, 0x5d, 0xc3}));
  elf.put_code(0x8010, code({0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0xc9, 0xc3}));
  elf.put_code(0x8020, code({0xff, 0xd0, 0x74, 0xfc, 0xff, 0xe0}));
  elf.set_entry(0x8030);
  return elf;
}

struct World {
  // All walks belong to one process, whose budget would otherwise be exhausted.
  Modules modules{
      [](std::uint64_t, const CodeRange&, const std::string&) { return program().open(); },
      {.steps_of_file = UINT64_MAX, .steps_of_process = UINT64_MAX, .steps = UINT64_MAX / 2}};
  Unwinder x86{modules, EM_X86_64};
  Unwinder arm{modules, EM_AARCH64};
  AddressSpace space{7};
  std::string image = program().image();
  ElfFile file{image};
  UnwindTable table;
  std::vector<user_walk::Code> code;

  World() {
    table = pack_rules(file, Cfi(file)).value();
    map({kLoaded, kLoaded + MadeElf::kSize, 0, {1, 2}, "/bin/made"}, &table);
    map({kAnonymous, kAnonymous + 0x10000, 0, {}, ""}, nullptr);
  }
  void map(const Mapping& mapping, const UnwindTable* of) {
    space.map(modules.range_of(7, mapping));
    code.push_back({modules.range_of(7, mapping), of, of != nullptr, of ? &file : nullptr});
  }
};

// Checks that the walk of the BPF programs stops, or finds the same frames as Unwinder.
void check_user_walk(const World& world, const Registers& registers, const StackCopy& stack,
                     std::size_t most, Ending ending, const std::vector<Frame>& frames) {
  using End = user_walk::UserWalk::End;
  user_walk::UserWalk walk(world.code, stack);
  const End end = walk.run(registers, most, true);
  if (end == End::GivesUp) return;
  if (ending != (end == End::Root ? Ending::Root : Ending::Deep)) std::abort();
  if (walk.frames() != frames) std::abort();
}

bool is_code(const Frame& frame, const Modules& modules) {
  if (modules[frame.module].kind == Module::Kind::File) return frame.offset < MadeElf::kSize;
  return frame.offset >= kAnonymous && frame.offset < kAnonymous + 0x10000;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  Registers registers;
  std::uint64_t start = 0;
  if (size < sizeof registers + sizeof start + 1) return 0;
  std::memcpy(&registers, data, sizeof registers);
  std::memcpy(&start, data + sizeof registers, sizeof start);
  const std::size_t head = sizeof registers + sizeof start + 1;
  const std::size_t most = 1 + (data[head - 1] & 0x7f);
  Unwinder& unwinder = (data[head - 1] & 0x80) == 0 ? world.x86 : world.arm;
  // A separate copy, so that sanitizers detect reads outside of it.
  const std::vector<char> stack(data + head, data + size);
  std::vector<Frame> frames;
  const std::uint64_t before = world.modules.steps();
  const StackCopy copy{start, {stack.data(), stack.size()}};
  const Ending ending = unwinder.walk(world.space, registers, copy, frames, most);
  if (&unwinder == &world.x86) check_user_walk(world, registers, copy, most, ending, frames);
  // Each frame looks up two rules, makes one guess from code, and checks each possible return
  // address with one rule. The first rule may open the file.
  constexpr std::uint64_t kRule = FrameEntries::kMostStepsOfEntry + kMostStepsOfRule;
  constexpr std::uint64_t kChecks = CodeGuess::kMostRules + 2;
  const std::uint64_t most_steps =
      Cfi::kMostStepsOfReading +
      most * (2 * kRule + 2 * kMostStepsOfGuess + kChecks * (kRule + kStepsOfInstruction));
  if (world.modules.steps() - before > most_steps) std::abort();
  if (frames.empty() || frames.size() > most) std::abort();
  const bool is_first_unknown = frames[0].module == Modules::kUnknown;
  if (!std::all_of(frames.begin() + is_first_unknown, frames.end(),
                   [](const Frame& frame) { return is_code(frame, world.modules); }))
    std::abort();
  return 0;
}
