// Tests walks over hand-written stacks: how they end, and difficult cases of real stacks.

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "core/stacks/unwinder.hpp"
#include "tests/unit/stacks/elf_builder.hpp"

namespace ctprof {

static std::ostream& operator<<(std::ostream& out, WalkEnd ending) {
  return out << static_cast<int>(ending);
}

namespace tests::stacks_walk_test {
namespace {

constexpr std::uint64_t kLoaded = 0x7f0000000000, kAnonymous = 0x600000, kSp = 0x7ffd00000000;
constexpr FileId kFile{1, 2};

// Functions of the file, by their addresses in it.
constexpr std::uint64_t kLeaf = 0x4000;              // CFA = sp + 16
constexpr std::uint64_t kNext = 0x4040;              // adjacent: CFA = bp + 16, bp saved
constexpr std::uint64_t kWithFramePointer = 0x4100;  // CFA = bp + 16, bp saved
constexpr std::uint64_t kEpilogue = 0x4200;          // CFA = sp + 8, bp at CFA - 16
constexpr std::uint64_t kRoot = 0x4300;              // no return address
constexpr std::uint64_t kSignal = 0x4400;            // the kernel's signal frame
constexpr std::uint64_t kConstantSp = 0x4500;        // CFA = sp
constexpr std::uint64_t kStoredSp = 0x4600;          // CFA = *(sp + 16) + 8
constexpr std::uint64_t kNoRules = 0x5000;

ElfBuilder make_program() {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kLeaf, 64, to_bytes({0x0e, 16}));
  elf.add_function(kNext, 64, to_bytes({0x86, 2, 0x0c, 6, 16}));
  elf.add_function(kWithFramePointer, 64, to_bytes({0x86, 2, 0x0c, 6, 16}));
  elf.add_function(kEpilogue, 64, to_bytes({0x86, 2}));
  elf.add_function(kRoot, 64, to_bytes({0x07, 16}));
  elf.add_common_entry("", "zRS");
  elf.add_function(kSignal, 16,
                   to_bytes({0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01, 0x10,
                             6, 3, 0x77, 0xf8, 0}));
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kConstantSp, 64, to_bytes({0x0e, 0}));
  elf.add_function(kStoredSp, 64, to_bytes({0x0f, 5, 0x77, 16, 0x06, 0x23, 8}));
  elf.put_code(kRoot + 3, to_bytes({0xe8, 0, 0, 0, 0}));  // guesses need a preceding call
  return elf;
}

// A process with this program at kLoaded, and anonymous code at kAnonymous.
class Process {
 public:
  explicit Process(const ElfBuilder& elf = make_program(), std::uint16_t machine = EM_X86_64)
      : modules_([elf](std::uint64_t, const CodeRange&, const std::string&) { return elf.open(); }),
        unwinder_(modules_, machine) {
    space_.add_mapping(
        modules_.make_code_range(7, {kLoaded, kLoaded + ElfBuilder::kSize, 0, kFile, "/bin/made"}));
    space_.add_mapping(modules_.make_code_range(7, {kAnonymous, kAnonymous + 0x1000, 0, {}, ""}));
  }

  WalkEnd walk(Registers registers, const std::vector<std::uint64_t>& stack,
               std::size_t most = Unwinder::kMaxFrames) {
    const std::string_view bytes(reinterpret_cast<const char*>(stack.data()), 8 * stack.size());
    return unwinder_.walk(space_, registers, {kSp, bytes}, frames, most);
  }
  WalkEnd place(const std::vector<std::uint64_t>& addresses) {
    return unwinder_.make_frames(space_, addresses, frames);
  }
  std::vector<std::uint64_t> offsets() const {
    std::vector<std::uint64_t> offsets;
    for (const Frame& frame : frames) offsets.push_back(frame.offset);
    return offsets;
  }

  std::vector<Frame> frames;

 private:
  Modules modules_;
  Unwinder unwinder_;
  AddressSpace space_{7};
};

using Offsets = std::vector<std::uint64_t>;

constexpr std::uint64_t loaded_address(std::uint64_t function, std::uint64_t offset = 8) {
  return kLoaded + function + offset;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_walk_test)

BOOST_AUTO_TEST_CASE(walks_to_the_root) {
  Process process;
  const WalkEnd ending =
      process.walk({loaded_address(kLeaf), kSp, kSp + 32, 0},
                   {0, loaded_address(kWithFramePointer), 0, 0, /*bp*/ 99, loaded_address(kRoot)});
  BOOST_TEST(ending == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kLeaf + 8, kWithFramePointer + 7, kRoot + 7}));
  for (const Frame& frame : process.frames) BOOST_TEST(!frame.is_guessed);
}

BOOST_AUTO_TEST_CASE(a_return_address_of_zero_is_the_root) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kLeaf), kSp, 0, 0}, {0, 0}) == WalkEnd::Root);
  BOOST_TEST(process.frames.size() == 1u);
}

BOOST_AUTO_TEST_CASE(reads_a_stored_stack_pointer) {
  Process process;
  const WalkEnd ending = process.walk({loaded_address(kStoredSp), kSp, 0, 0},
                                      {0, 0, /*sp + 16*/ kSp + 32, 0, loaded_address(kRoot)});
  BOOST_TEST(ending == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kStoredSp + 8, kRoot + 7}));
}

BOOST_AUTO_TEST_CASE(stops_at_the_end_of_the_copy) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kLeaf), kSp, 0, 0}, {0}) == WalkEnd::EndOfCopy);
  BOOST_TEST(process.walk({loaded_address(kLeaf), kSp, 0, 0}, {}) == WalkEnd::EndOfCopy);
  BOOST_TEST(process.walk({loaded_address(kWithFramePointer), kSp, kSp + 0x8000, 0}, {1, 2, 3}) ==
             WalkEnd::EndOfCopy);
  BOOST_TEST(process.frames.size() == 1u);
}

BOOST_AUTO_TEST_CASE(invalid_registers_give_a_lost_stack) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kWithFramePointer), kSp, 0x1234, 0}, {1, 2, 3}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.walk({loaded_address(kWithFramePointer), kSp, UINT64_MAX, 0}, {1, 2, 3}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.walk({loaded_address(kNoRules), kSp, UINT64_MAX - 7, 0}, {1, 2, 3}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.walk({loaded_address(kNoRules), kSp, kSp + 4, 0}, {1, 2, 3}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.walk({0x10, kSp, kSp, 0}, {1, 2, 3}) == WalkEnd::Failed);
  BOOST_TEST(process.offsets() == Offsets{0x10});
}

// The slot of bp is already below sp, so the register contains the caller's value.
BOOST_AUTO_TEST_CASE(keeps_bp_after_it_was_popped) {
  Process process;
  const WalkEnd ending =
      process.walk({loaded_address(kEpilogue), kSp, kSp + 16, 0},
                   {loaded_address(kWithFramePointer), 0, /*bp*/ 0, loaded_address(kRoot)});
  BOOST_TEST(ending == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kEpilogue + 8, kWithFramePointer + 7, kRoot + 7}));
}

BOOST_AUTO_TEST_CASE(handles_a_return_address_at_a_first_byte) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kLeaf), kSp, 0, 0}, {0, loaded_address(kRoot, 0)}) ==
             WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kLeaf + 8, kRoot}));
}

// The caller of a signal frame was interrupted at exactly this address, even at a first byte.
BOOST_AUTO_TEST_CASE(walks_through_a_signal_frame) {
  std::vector<std::uint64_t> stack(30);
  stack[15] = kSp + 224;                 // rbp
  stack[20] = kSp + 176;                 // rsp
  stack[21] = loaded_address(kNext, 0);  // rip
  stack[29] = loaded_address(kRoot);
  Process process;
  BOOST_TEST(process.walk({loaded_address(kSignal), kSp, 0, 0}, stack) == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kSignal + 8, kNext, kRoot + 7}));
}

BOOST_AUTO_TEST_CASE(follows_frame_pointers_without_rules) {
  Process process;
  const WalkEnd ending = process.walk({loaded_address(kLeaf), kSp, kSp + 24, 0},
                                      {0, kAnonymous + 8, 0, kSp + 48, kAnonymous + 16, 0,
                                       /*bp*/ 0, loaded_address(kRoot)});
  BOOST_TEST(ending == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kLeaf + 8, kAnonymous + 7, kAnonymous + 15, kRoot + 7}));
  BOOST_TEST(!process.frames[1].is_guessed);
  BOOST_TEST(process.frames[2].is_guessed);
  BOOST_TEST(process.frames[3].is_guessed);
}

// C libraries clear bp when they start a thread, and functions without a frame leave it zero.
BOOST_AUTO_TEST_CASE(a_zero_bp_ends_only_a_chain_of_frame_pointers) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kNoRules), kSp, 0, 0}, {1, 2, 3}) == WalkEnd::Failed);
  BOOST_TEST(process.frames.size() == 1u);
  BOOST_TEST(process.walk({kAnonymous, kSp, kSp, 0}, {0, kAnonymous + 16}) == WalkEnd::Root);
  BOOST_TEST(process.frames.size() == 2u);
  BOOST_TEST(process.walk({kAnonymous, kSp, kSp, 0}, {0, 0}) == WalkEnd::Root);
  BOOST_TEST(process.walk({kAnonymous, kSp, kSp, 0}, {kSp + 16, 0}) == WalkEnd::Failed);
  BOOST_TEST(process.frames.size() == 1u);
}

// The perf trampolines of Python call back into the interpreter and keep no frame pointer.
BOOST_AUTO_TEST_CASE(walks_trampolines_of_python) {
  std::string image = make_program().image();
  image.replace(kWithFramePointer + 3, 5, "\xe8\0\0\0\0", 5);
  Modules modules([&](std::uint64_t, const CodeRange&, const std::string&) {
    return ElfBuilder::memory_file(image);
  });
  Unwinder unwinder(modules);
  AddressSpace space(7);
  space.add_mapping(
      modules.make_code_range(7, {kLoaded, kLoaded + ElfBuilder::kSize, 0, kFile, "/bin/made"}));
  space.add_mapping(modules.make_code_range(7, {kAnonymous, kAnonymous + 0x1000, 0, {}, ""}));
  std::vector<Frame> frames;
  const auto walk = [&](std::uint64_t caller) {
    const std::vector<std::uint64_t> stack{0,      kAnonymous + 6, 0,
                                           caller, /*bp*/ 0,       loaded_address(kRoot)};
    const std::string_view bytes(reinterpret_cast<const char*>(stack.data()), 8 * stack.size());
    return unwinder.walk(space, {loaded_address(kLeaf), kSp, kSp + 32, 0}, {kSp, bytes}, frames);
  };
  BOOST_TEST(walk(loaded_address(kWithFramePointer)) == WalkEnd::Root);
  BOOST_REQUIRE(frames.size() == 4u);
  BOOST_TEST(frames[1].offset == kAnonymous + 5);
  BOOST_TEST(frames[2].offset == kWithFramePointer + 7);
  BOOST_TEST(frames[2].is_guessed);
  BOOST_TEST(frames[3].offset == kRoot + 7);
  walk(loaded_address(kWithFramePointer, 16));  // no call precedes it: along bp
  BOOST_REQUIRE(frames.size() >= 3u);
  BOOST_TEST(frames[2].offset == kRoot + 7);
}

// bp points to a word that is not a return address, so no frame is added.
BOOST_AUTO_TEST_CASE(a_guess_outside_code_adds_no_frame) {
  Process process;
  BOOST_TEST(process.walk({kAnonymous, kSp, kSp, 0}, {kSp + 16, 0xdead}) == WalkEnd::Failed);
  BOOST_TEST(process.frames.size() == 1u);
}

BOOST_AUTO_TEST_CASE(refuses_a_stack_that_does_not_grow) {
  Process process;
  BOOST_TEST(process.walk({loaded_address(kLeaf), kSp, 0, 0},
                          {0, loaded_address(kConstantSp), loaded_address(kConstantSp)}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.frames.size() == 2u);
}

BOOST_AUTO_TEST_CASE(limits_the_number_of_frames) {
  Process process;
  const std::vector<std::uint64_t> stack(2000, loaded_address(kLeaf));
  BOOST_TEST(process.walk({loaded_address(kLeaf), kSp, 0, 0}, stack) == WalkEnd::TooDeep);
  BOOST_TEST(process.frames.size() == Unwinder::kMaxFrames);
  BOOST_TEST(process.walk({loaded_address(kLeaf), kSp, 0, 0}, stack, 3) == WalkEnd::TooDeep);
  BOOST_TEST(process.frames.size() == 3u);
}

// A leaf that saved no registers, called with a signed return address; its caller saved both.
BOOST_AUTO_TEST_CASE(walks_stacks_of_aarch64) {
  ElfBuilder elf(EM_AARCH64);
  elf.add_common_entry(to_bytes({0x0c, 31, 0}), "zR", 30);
  elf.add_function(kLeaf, 64, "");
  elf.add_function(kWithFramePointer, 64, to_bytes({0x0e, 16, 0x9d, 2, 0x9e, 1, 0x0d, 29}));
  elf.add_function(kEpilogue, 64, to_bytes({0x0e, 16}));
  elf.add_function(kRoot, 64, to_bytes({0x07, 30}));
  constexpr std::uint64_t kSignature = 0x00aa000000000000;
  Process process(elf, EM_AARCH64);
  const WalkEnd ending = process.walk(
      {loaded_address(kLeaf), kSp, kSp, loaded_address(kWithFramePointer) | kSignature},
      {0, loaded_address(kRoot) | kSignature});
  BOOST_TEST(ending == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kLeaf + 8, kWithFramePointer + 7, kRoot + 7}));
  // A caller without a saved return address is impossible, as lr has changed since.
  BOOST_TEST(process.walk({loaded_address(kLeaf), kSp, kSp, loaded_address(kEpilogue)}, {0, 0}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.frames.size() == 2u);
}

// The kernel follows bp into arbitrary data.
BOOST_AUTO_TEST_CASE(addresses_from_the_kernel_end_before_data) {
  Process process;
  BOOST_TEST(process.place({loaded_address(kLeaf), loaded_address(kWithFramePointer),
                            loaded_address(kRoot)}) == WalkEnd::Root);
  BOOST_TEST(process.offsets() == (Offsets{kLeaf + 8, kWithFramePointer + 7, kRoot + 7}));
  BOOST_TEST(process.place({loaded_address(kLeaf), loaded_address(kWithFramePointer)}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.frames.size() == 2u);
  BOOST_TEST(process.place({loaded_address(kLeaf), 0x2a, loaded_address(kRoot)}) ==
             WalkEnd::Failed);
  BOOST_TEST(process.offsets() == (Offsets{kLeaf + 8}));
  BOOST_TEST(process.place({0x2a, loaded_address(kRoot)}) == WalkEnd::Failed);
  BOOST_TEST(process.offsets() == (Offsets{0x2a}));
  BOOST_TEST(process.place({loaded_address(kNoRules)}) == WalkEnd::Failed);
  BOOST_TEST(process.place({}) == WalkEnd::Root);
}

// A file that cannot be opened may be opened later; until then frame pointers are used.
BOOST_AUTO_TEST_CASE(retries_files_that_cannot_be_opened) {
  unsigned refused = 0;
  Modules modules([&](std::uint64_t, const CodeRange&, const std::string&) {
    return ++refused < 3 ? sdk::Fd() : make_program().open();
  });
  Unwinder unwinder(modules);
  AddressSpace space(7);
  space.add_mapping(
      modules.make_code_range(7, {kLoaded, kLoaded + ElfBuilder::kSize, 0, kFile, "/bin/made"}));
  std::vector<Frame> frames;
  for (const WalkEnd expected : {WalkEnd::Failed, WalkEnd::Failed, WalkEnd::Root})
    BOOST_TEST(unwinder.walk(space, {loaded_address(kRoot), kSp, 1, 0}, {kSp, {}}, frames) ==
               expected);
  BOOST_TEST(modules[frames[0].module].build_id == "\xde\xad\xbe\xef");
}

BOOST_AUTO_TEST_CASE(caches_rules) {
  RuleCache cache;
  const auto key = [](std::uint32_t i) { return RuleCache::make_key(i % 7, i * 16ULL); };
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    UnwindRule rule;
    rule.key = key(i);
    rule.cfa_offset = static_cast<std::int32_t>(i);
    cache.insert(rule);
  }
  BOOST_TEST(cache.size() == 100'000u);
  for (std::uint32_t i = 0; i < 100'000; ++i)
    if (const UnwindRule* rule = cache.find(key(i));
        !rule || rule->cfa_offset != static_cast<int>(i))
      BOOST_FAIL("rule " << i << " is lost");
  BOOST_TEST(!cache.find(key(100'000)));
}

BOOST_AUTO_TEST_CASE(clears_a_full_cache_of_rules) {
  RuleCache cache;
  UnwindRule rule;
  for (std::uint64_t i = 0; i <= RuleCache::kMaxRules; ++i) {
    rule.key = RuleCache::make_key(0, i);
    cache.insert(rule);
  }
  BOOST_TEST(cache.size() == 1u);
  BOOST_TEST(cache.find(rule.key));
  BOOST_TEST(!cache.find(RuleCache::make_key(0, 0)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tests::stacks_walk_test
}  // namespace ctprof
