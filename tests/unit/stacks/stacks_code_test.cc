// Tests walks through code without call frame information, which decode the code itself. The
// functions are those of musl 1.2.3, byte by byte.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stacks/code_guess.hpp"
#include "core/stacks/unwinder.hpp"
#include "core/stacks/x86_code.hpp"
#include "tests/unit/stacks/elf_builder.hpp"

namespace ctprof {

static std::ostream& operator<<(std::ostream& out, StackInstruction::Kind kind) {
  return out << static_cast<int>(kind);
}

namespace tests::stacks_code_test {
namespace {

using Kind = StackInstruction::Kind;

constexpr std::uint64_t kLoaded = 0x7f0000000000, kAnonymous = 0x600000, kSp = 0x7ffd00000000;

// Addresses of musl functions.
constexpr std::uint64_t kUsleep = 0x4000, kNanosleep = 0x4100, kClockNanosleep = 0x4200,
                        kSyscall = 0x4300, kStart = 0x5000, kClone = 0x5101, kStage2 = 0x5200,
                        kEntry = 0x5305, kVforkOfMusl = 0x5400, kSignalReturn = 0x5500,
                        kStartContext = 0x5600;
// Functions with call frame information.
constexpr std::uint64_t kMain = 0x6000;   // CFA = sp + 16
constexpr std::uint64_t kRoot = 0x6100;   // no return address
constexpr std::uint64_t kVfork = 0x6200;  // CFA = sp, the return address in rdi
// Return addresses of the calls inside these functions.
constexpr std::uint64_t kAfterCallInUsleep = kUsleep + 0x45,
                        kAfterCallInNanosleep = kNanosleep + 0x13,
                        kAfterCallInClockNanosleep = kClockNanosleep + 0x34,
                        kAfterCallInStart = kStart + 0x6e, kAfterCallInClone = kClone + 0x2f,
                        kAfterCallInStage2 = kStage2 + 0x2a, kAfterCallInEntry = kEntry + 0x16,
                        kAfterCallInMain = kMain + 8;

std::string bytes_from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

ElfBuilder make_program() {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStartContext, 26, "");
  elf.add_function(kMain, 64, to_bytes({0x0e, 16}));
  elf.add_function(kRoot, 64, to_bytes({0x07, 16}));
  elf.add_function(kVfork, 64, to_bytes({0x0e, 0, 0x09, 16, 5}));
  elf.set_entry(kEntry);
  elf.put_code(kMain + 3, bytes_from_hex("e800000000"));
  elf.put_code(
      kUsleep,
      bytes_from_hex("4883ec2864488b042528000000488944241831c089f84869c083de1b4348c1e83289c169c0"
                     "40420f0048890c2429c769c7e80300004889e74889fe4889442408e80b210000488b542418"
                     "64482b14252800000075054883c428c3e871030000"));
  elf.put_code(
      kNanosleep,
      bytes_from_hex("4883ec084889fa4889f131ff31f6e81d000000f7d84863f8e8a3e2ffff4883c408c3"));
  elf.put_code(
      kClockNanosleep,
      bytes_from_hex("83ff03746b89f84883ec084989d24989cb09f0742b4883ec084863d64989c84863f76a004c89"
                     "d14531c9bfe6000000e8eccbffff5a59f7d84883c408c30f1f004883ec084c89d6bf23000000"
                     "4531c96a004531c031c94c89dae8c2cbffff5e5ff7d84883c408c3"));
  elf.put_code(kSyscall, bytes_from_hex("4889f84d89c24889f74d89c84889d64c8b4c24084889ca0f05c3"));
  elf.put_code(
      kStart,
      bytes_from_hex("55534889fb4883ec088b471085c07440488d6f10b801000000ba02000000f00fb1571083e801"
                     "744e8b431085c07421b8da0000004889ef0f05ba3c00000031ff4889d00f05ebf9660f1f8400"
                     "00000000488d7318b80e000000bf0200000031d241ba080000000f05488b7b08ff134889c7e8"
                     "3afdffffb90100000031f64889efe80b240000eba1"));
  elf.put_code(
      kClone,
      bytes_from_hex("31c0b0384989fb4889d74c89c24d89c84c8b5424084d89d94883e6f04883ee0848890e0f0585"
                     "c0750f31ed5f41ffd189c731c0b03c0f05f4c3"));
  elf.put_code(
      kStage2,
      bytes_from_hex("41554863c641544c8d6cc2084989d4554889c5534889fb4883ec08e8a0ffffff89ef4c89ea4c"
                     "89e6ffd389c7e85ffaffff662e0f1f8400000000000f1f44000041554863c64989fd4154488d"
                     "7cc2084989d455488b324889c5e832fdffff4c89e289ee4c89ef488d0593ffffff5d415c415d"
                     "ffe0662e0f1f8400000000006690"));
  elf.put_code(kEntry, bytes_from_hex("4831ed4889e7488d350eefbfff4883e4f0e8050000000f1f440000"));
  // pop %rdx; mov $58,%eax; syscall; push %rdx; ret
  elf.put_code(kVforkOfMusl, bytes_from_hex("5ab83a0000000f0552c3"));
  elf.put_code(kStartContext, bytes_from_hex("4889dc488b3c244885ff740be8000000004889c7"));
  elf.put_code(kSignalReturn, bytes_from_hex("48c7c00f0000000f05"));
  return elf;
}

class Process {
 public:
  explicit Process(const ElfBuilder& elf = make_program()) : image_(elf.image()) {
    space_.add_mapping(modules_.make_code_range(
        7, {kLoaded, kLoaded + ElfBuilder::kSize, 0, {1, 2}, "/bin/made"}));
    space_.add_mapping(modules_.make_code_range(7, {kAnonymous, kAnonymous + 0x1000, 0, {}, ""}));
  }

  WalkEnd walk(Registers registers, const std::vector<std::uint64_t>& stack) {
    const std::string_view bytes(reinterpret_cast<const char*>(stack.data()), 8 * stack.size());
    return unwinder_.walk(space_, registers, {kSp, bytes}, frames, 127);
  }
  std::vector<std::uint64_t> offsets() const {
    std::vector<std::uint64_t> offsets;
    for (const Frame& frame : frames) offsets.push_back(frame.offset);
    return offsets;
  }
  std::size_t count_guessed() const {
    return static_cast<std::size_t>(std::ranges::count_if(frames, &Frame::is_guessed));
  }

  std::vector<Frame> frames;

 private:
  std::string image_;
  Modules modules_{[this](std::uint64_t, const CodeRange&, const std::string&) {
    return ElfBuilder::memory_file(image_);
  }};
  Unwinder unwinder_{modules_, EM_X86_64};
  AddressSpace space_{7};
};

using Offsets = std::vector<std::uint64_t>;

constexpr std::uint64_t loaded_address(std::uint64_t place) { return kLoaded + place; }

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_code_test)

BOOST_AUTO_TEST_CASE(decodes_instructions) {
  struct Case {
    const char* hex;
    Kind kind;
    std::int64_t operand;
  };
  for (const auto& [hex, kind, operand] : {
           Case{"55", Kind::PushBp, 0},
           Case{"4155", Kind::Push, 0},
           Case{"ff742408", Kind::Push, 0},
           Case{"5d", Kind::PopBp, 0},
           Case{"415d", Kind::Pop, 0},
           Case{"4883ec28", Kind::AddSp, -0x28},
           Case{"4881c418010000", Kind::AddSp, 0x118},
           Case{"4883c480", Kind::AddSp, -0x80},
           Case{"488d642410", Kind::AddSp, 0x10},
           Case{"488d65d8", Kind::SpFromBp, -0x28},
           Case{"4889ec", Kind::SpFromBp, 0},
           Case{"4889e5", Kind::BpFromSp, 0},
           Case{"488d6c2420", Kind::BpFromSp, 0x20},
           Case{"4883e4f0", Kind::ChangesSp, 0},
           Case{"488d240c", Kind::ChangesSp, 0},
           Case{"89c5", Kind::ChangesBp, 0},
           Case{"31ed", Kind::ChangesBp, 0},
           Case{"480fb6e8", Kind::ChangesBp, 0},
           Case{"4883fc10", Kind::Other, 0},  // cmp
           Case{"4989e5", Kind::Other, 0},    // mov %rsp,%r13
           Case{"c9", Kind::Leave, 0},
           Case{"f3c3", Kind::Return, 0},
           Case{"c20800", Kind::Return, 0},
           Case{"e80b210000", Kind::Call, 0},
           Case{"41ffd1", Kind::Call, 0},
           Case{"ff1512345678", Kind::Call, 0},
           Case{"7505", Kind::Branch, 5},
           Case{"0f84f0ffffff", Kind::Branch, -16},
           Case{"eba1", Kind::Jump, -0x5f},
           Case{"e910000000", Kind::Jump, 16},
           Case{"ffe0", Kind::IndirectJump, 0},
           Case{"f4", Kind::Trap, 0},
           Case{"0f0b", Kind::Trap, 0},
           Case{"0f05", Kind::Other, 0},
           Case{"64488b042528000000", Kind::Other, 0},
           Case{"48b8f0debc9a78563412", Kind::Other, 0},
           Case{"66b83412", Kind::Other, 0},
           Case{"48a1f0debc9a78563412", Kind::Other, 0},
           Case{"f00fb15710", Kind::Other, 0},
           Case{"660f3a0fc108", Kind::Other, 0},
           Case{"f6c101", Kind::Other, 0},
           Case{"f6d9", Kind::Other, 0},
           Case{"48f7c600000100", Kind::Other, 0},
           Case{"c5f877", Kind::Other, 0},                // vzeroupper
           Case{"c4e37d39c101", Kind::Other, 0},          // vextracti128
           Case{"62f17f486f4601", Kind::Other, 0},        // vmovdqu8 in EVEX
           Case{"662e0f1f840000000000", Kind::Other, 0},  // nop
       }) {
    const std::string instruction = bytes_from_hex(hex);
    const StackInstruction decoded = decode_x86(instruction + "\x90\x90");
    BOOST_TEST_CONTEXT(hex) {
      BOOST_TEST(decoded.size == instruction.size());
      BOOST_TEST(decoded.kind == kind);
      BOOST_TEST(decoded.operand == operand);
      const std::string cut = instruction.substr(0, instruction.size() - 1);
      BOOST_TEST(decode_x86(cut).kind == Kind::Invalid);
    }
  }
}

BOOST_AUTO_TEST_CASE(rejects_invalid_instructions) {
  for (const char* hex : {"", "06", "62", "0f04", "d4", "ea", "66666666666666666666666666666690"})
    BOOST_TEST(decode_x86(bytes_from_hex(hex)).kind == Kind::Invalid);
}

BOOST_AUTO_TEST_CASE(walks_a_wait_in_musl_to_its_caller) {
  Process process;
  const WalkEnd ending =
      process.walk({loaded_address(kSyscall + 0x19), kSp, 1234, 0},
                   {loaded_address(kAfterCallInClockNanosleep), 1, 2, 3,
                    loaded_address(kAfterCallInNanosleep), 4, loaded_address(kAfterCallInUsleep), 5,
                    6, 7, 8, 9, loaded_address(kAfterCallInMain), 10, loaded_address(kRoot + 8)});
  BOOST_TEST(ending == WalkEnd::Root);
  BOOST_TEST(process.offsets() ==
             (Offsets{kSyscall + 0x19, kAfterCallInClockNanosleep - 1, kAfterCallInNanosleep - 1,
                      kAfterCallInUsleep - 1, kAfterCallInMain - 1, kRoot + 7}));
  BOOST_TEST(process.count_guessed() == 5u);
  BOOST_TEST(!process.frames[0].is_guessed);
}

// In the prologue nothing is pushed yet; after it, all registers are.
BOOST_AUTO_TEST_CASE(walks_from_each_part_of_a_function) {
  for (const auto& [offset, words] : {std::pair{0x0, 0}, {0x4, 5}, {0x55, 5}, {0x59, 0}}) {
    Process process;
    std::vector<std::uint64_t> stack(static_cast<std::size_t>(words), 7);
    stack.insert(stack.end(), {loaded_address(kAfterCallInMain), 10, loaded_address(kRoot + 8)});
    BOOST_TEST_CONTEXT("at " << offset) {
      BOOST_TEST(
          process.walk({loaded_address(kUsleep + static_cast<std::uint64_t>(offset)), kSp, 1, 0},
                       stack) == WalkEnd::Root);
      BOOST_TEST(process.frames.size() == 3u);
    }
  }
}

// The function never returns, so its pushes are counted from its start. The first function of a
// thread has no frame pointer.
BOOST_AUTO_TEST_CASE(walks_to_the_start_of_a_thread) {
  Process process;
  const WalkEnd ending = process.walk({loaded_address(kMain + 8), kSp, 77, 0},
                                      {1, loaded_address(kAfterCallInStart), 2, 3, /*bp*/ 0,
                                       loaded_address(kAfterCallInClone), 4, 5});
  BOOST_TEST(ending == WalkEnd::Root);
  BOOST_TEST(process.offsets() ==
             (Offsets{kMain + 8, kAfterCallInStart - 1, kAfterCallInClone - 1}));
}

BOOST_AUTO_TEST_CASE(walks_to_the_entry_of_a_program) {
  Process process;
  const WalkEnd ending = process.walk({loaded_address(kMain + 8), kSp, 1, 0},
                                      {1, loaded_address(kAfterCallInStage2), 2, 3, 4, 5, 6,
                                       loaded_address(kAfterCallInEntry), 1, 0});
  BOOST_TEST(ending == WalkEnd::Root);
  BOOST_TEST(process.offsets() ==
             (Offsets{kMain + 8, kAfterCallInStage2 - 1, kAfterCallInEntry - 1}));
}

// As in small statically linked programs.
BOOST_AUTO_TEST_CASE(walks_from_the_first_code_of_a_file) {
  ElfBuilder elf = make_program();
  elf.set_first_code(kUsleep);
  Process process(elf);
  BOOST_TEST(process.walk({loaded_address(kUsleep + 4), kSp, 1, 0},
                          {7, 7, 7, 7, 7, loaded_address(kAfterCallInMain), 10,
                           loaded_address(kRoot + 8)}) == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kUsleep + 4, kAfterCallInMain - 1, kRoot + 7}));
}

// A word in place of the return address counts only if a call instruction precedes it.
BOOST_AUTO_TEST_CASE(rejects_a_word_that_no_call_precedes) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kSyscall + 0x19), kSp, 1, 0},
                          {loaded_address(kAfterCallInMain - 2), 1, 2, 3}) == WalkEnd::Failed);
  BOOST_TEST(process.frames.size() == 1u);
  BOOST_TEST(process.walk({loaded_address(kSyscall + 0x19), kSp, 0, 0}, {0x1234}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.walk({loaded_address(kSyscall + 0x19), kSp, 1, 0}, {}) == WalkEnd::EndOfCopy);
}

// The same applies to the word above a wrong frame pointer: a call must precede its address.
BOOST_AUTO_TEST_CASE(rejects_frame_pointers_to_words_that_no_call_precedes) {
  Process process;
  const std::vector<std::uint64_t> wrong{0, kSp + 64, loaded_address(kAfterCallInMain + 5), 0, 0};
  BOOST_TEST(process.walk({kAnonymous + 8, kSp, kSp + 8, 0}, wrong) == WalkEnd::Failed);
  const std::vector<std::uint64_t> right{0, kSp + 64, loaded_address(kAfterCallInMain), 0,
                                         loaded_address(kRoot + 8)};
  BOOST_TEST(process.walk({kAnonymous + 8, kSp, kSp + 8, 0}, right) == WalkEnd::Root);
  BOOST_TEST(process.count_guessed() == 2u);
}

// vfork(2) of musl keeps the return address in rdx, which records do not contain.
BOOST_AUTO_TEST_CASE(stops_at_a_return_address_outside_the_copy) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kVforkOfMusl + 8), kSp, 1, 0},
                          {loaded_address(kAfterCallInMain), 1, loaded_address(kRoot + 8)}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.frames.size() == 1u);
}

BOOST_AUTO_TEST_CASE(walks_through_a_signal_frame_of_musl) {
  std::vector<std::uint64_t> stack(40);
  stack[0] = 1;
  stack[1] = loaded_address(kSignalReturn);
  stack[2 + 15] = 5;                               // rbp
  stack[2 + 20] = kSp + 34 * 8;                    // rsp
  stack[2 + 21] = loaded_address(kSyscall + 0x4);  // rip
  stack[34] = loaded_address(kAfterCallInMain);
  stack[36] = loaded_address(kRoot + 8);
  Process process;
  BOOST_TEST(process.walk({loaded_address(kMain + 8), kSp, 1, 0}, stack) == WalkEnd::Root);
  BOOST_TEST(process.offsets() ==
             (Offsets{kMain + 8, kSignalReturn, kSyscall + 0x4, kAfterCallInMain - 1, kRoot + 7}));
}

// The handler has its own stack, and only that stack is copied.
BOOST_AUTO_TEST_CASE(reports_a_signal_on_another_stack) {
  std::vector<std::uint64_t> stack(40);
  stack[1] = loaded_address(kSignalReturn);
  stack[2 + 20] = kSp + (std::uint64_t{1} << 20);  // rsp
  stack[2 + 21] = loaded_address(kSyscall + 0x19);
  Process process;
  BOOST_TEST(process.walk({loaded_address(kMain + 8), kSp, 1, 0}, stack) == WalkEnd::OtherStack);
  BOOST_TEST(process.offsets() == (Offsets{kMain + 8, kSignalReturn, kSyscall + 0x19}));
  stack[2 + 20] = kSp - 4096;
  BOOST_TEST(process.walk({loaded_address(kMain + 8), kSp, 1, 0}, stack) == WalkEnd::OtherStack);
}

// The function of a context returns to the first byte of __start_context, which no call precedes.
BOOST_AUTO_TEST_CASE(walks_functions_of_makecontext_to_a_root) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kMain + 8), kSp, 1, 0},
                          {1, loaded_address(kStartContext), 2, 3}) == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kMain + 8, kStartContext}));
}

// vfork(2) of glibc keeps its return address in rdi, which the recorder may not have copied.
BOOST_AUTO_TEST_CASE(reads_a_return_address_from_a_register) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kVfork + 8), kSp, 1, loaded_address(kAfterCallInMain)},
                          {1, loaded_address(kRoot + 8)}) == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kVfork + 8, kAfterCallInMain - 1, kRoot + 7}));
  BOOST_TEST(process.count_guessed() == 0u);
  BOOST_TEST(process.walk({loaded_address(kVfork + 8), kSp, 1, 0},
                          {1, loaded_address(kRoot + 8)}) == WalkEnd::Failed);
}

BOOST_AUTO_TEST_CASE(bounds_the_work_on_code) {
  std::string branches;
  for (int i = 0; i < 4000; ++i) branches += bytes_from_hex("7400");
  const CodeGuess guess = guess_from_code(branches, 100, 0x1000);
  BOOST_TEST(guess.rules.empty());
  BOOST_TEST(guess.steps <= kMaxStepsPerGuess);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tests::stacks_code_test
}  // namespace ctprof
