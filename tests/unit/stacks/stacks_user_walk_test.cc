// Compares the stack walk of BPF programs, compiled for user space, with the Unwinder: on stacks of
// this process, and on thousands of random stacks with a fixed seed.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/stacks/unwinder.hpp"
#include "core/stacks/x86_code.hpp"
#include "tests/unit/stacks/elf_builder.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/user_walk.hpp"

namespace ctprof::tests::stacks_user_walk_test {
namespace {

using user_walk::Code;
using user_walk::UserWalk;
using End = UserWalk::End;

constexpr std::uint64_t kLoaded = 0x7f0000000000, kAnonymous = 0x600000, kSp = 0x7ffd00000000;
constexpr std::uint64_t kFirst = 0x4000, kFunctionDistance = 256;

// Runs both walks over the code of one process.
class WalkPair {
 public:
  explicit WalkPair(OpenMappedFile open) : open_(open), modules_(open), unwinder_(modules_) {}

  void map(const Mapping& mapping) {
    const CodeRange range = modules_.make_code_range(7, mapping);
    space_.add_mapping(range);
    Code code{range, nullptr, modules_[range.module].kind != Module::Kind::Anonymous, nullptr};
    const PackedFile* packed = code.is_of_file ? find_packed(range, mapping.path) : nullptr;
    if (packed) code.file = &packed->file, code.table = &packed->table.value();
    code_.push_back(code);
  }

  // Returns how the kernel's walk ended. If it reached the root or the maximum depth, checks that
  // the Unwinder ended equally with the same frames.
  End compare(const Registers& registers, const StackCopy& stack,
              std::size_t most = Unwinder::kMaxFrames) {
    expected_ = unwinder_.walk(space_, registers, stack, frames_, most);
    UserWalk walk(code_, stack);
    const End end = walk.run(registers, most, true);
    if (end != End::Failed) {
      BOOST_TEST((expected_ == (end == End::Root ? WalkEnd::Root : WalkEnd::TooDeep)));
      BOOST_TEST((walk.frames() == frames_));
      UserWalk lazy_walk(code_, stack);
      BOOST_TEST((lazy_walk.run(registers, most, false) == end));
      BOOST_TEST((lazy_walk.frames() == frames_));
    }
    return end;
  }
  WalkEnd expected() const { return expected_; }
  // Returns whether a frame is in code of a file without a rule, where the Unwinder decodes the
  // code.
  bool has_frame_without_rule() const {
    return std::ranges::any_of(frames_, [&](const Frame& frame) {
      const auto packed = std::ranges::find(packed_, frame.module, &PackedFile::module);
      return packed != packed_.end() && packed->table &&
             packed->table->find_rule(frame.offset).kind == CTPROF_UNWIND_NONE;
    });
  }
  const std::vector<Frame>& frames() const { return frames_; }
  const Module& module(std::uint32_t number) const { return modules_[number]; }

 private:
  struct PackedFile {
    PackedFile(std::uint32_t number, sdk::Fd from)
        : module(number), fd(std::move(from)), table(pack_rules(file, Cfi(file))) {}

    std::uint32_t module;
    sdk::Fd fd;
    ElfFile file{fd.get()};
    std::optional<UnwindTable> table;
  };

  // Returns nullptr if the code has no table.
  const PackedFile* find_packed(const CodeRange& range, const std::string& path) {
    if (path == "[vdso]") return nullptr;
    for (const PackedFile& packed : packed_)
      if (packed.module == range.module) return packed.table ? &packed : nullptr;
    const PackedFile& packed = packed_.emplace_back(range.module, open_(7, range, path));
    return packed.table ? &packed : nullptr;
  }

  OpenMappedFile open_;
  Modules modules_;
  Unwinder unwinder_;
  AddressSpace space_{7};
  std::vector<Code> code_;
  std::deque<PackedFile> packed_;
  std::vector<Frame> frames_;
  WalkEnd expected_ = WalkEnd::Failed;
};

// --- random stacks ---

// Returns one function for each kind of rule that a table can express.
const std::vector<std::string>& expressible_programs() {
  static const std::vector<std::string> programs{
      to_bytes({0x0e, 16}),                                        // CFA = sp + 16
      to_bytes({0x0e, 0}),                                         // CFA = sp
      to_bytes({0x86, 2, 0x0c, 6, 16}),                            // CFA = bp + 16, bp saved
      to_bytes({0x86, 2}),                                         // bp saved below sp
      to_bytes({0x0e, 32, 0x86, 3}),                               // bp saved in the middle
      to_bytes({0x07, 16}),                                        // root
      to_bytes({0x0f, 3, 0x77, 16, 0x06}),                         // CFA = *(sp + 16)
      to_bytes({0x0f, 5, 0x77, 16, 0x06, 0x23, 8}),                // CFA = *(sp + 16) + 8
      to_bytes({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}),  // CFA = *(bp - 8), bp at bp
      to_bytes({0x0e, 24, 0x10, 6, 2, 0x77, 8}),                   // bp stored at sp + 8
      to_bytes({0x07, 6, 0x0e, 16})};                              // bp is undefined
  return programs;
}

ElfBuilder make_program(bool has_inexpressible_rules) {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  std::uint64_t start = kFirst;
  const auto add = [&](const std::string& rule) {
    elf.add_function(start, start % (2 * kFunctionDistance) == 0 ? kFunctionDistance : 128, rule);
    start += kFunctionDistance;
  };
  for (const std::string& rule : expressible_programs()) add(rule);
  if (has_inexpressible_rules) {
    add(to_bytes({0x11, 16, 0x7e}));  // return address elsewhere
    add(to_bytes({0x0c, 10, 0}));     // CFA in another register
  }
  elf.add_common_entry("", "zRS");
  elf.add_function(start, 16,
                   to_bytes({0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01, 0x10,
                             6, 3, 0x77, 0xf8, 0}));
  // Calls of two bytes, so that every second address follows a call.
  for (; start > kFirst; start -= 2) elf.put_code(start - 2, "\xff\xd0");
  return elf;
}

// Generates stack words, most of which are valid addresses.
class RandomWords {
 public:
  std::uint64_t code_address() {
    const std::uint64_t function = number(expressible_programs().size() + 4);
    const std::uint64_t offset = number(3) == 0 ? 0 : number(140);
    return number(12) == 0 ? kAnonymous + number(0x1000)
                           : kLoaded + kFirst + kFunctionDistance * function + offset;
  }
  std::uint64_t word(std::size_t position, std::size_t size) {
    switch (number(8)) {
      case 0: return number(2) * number(1000);
      case 1:
      case 2: return kSp + 8 * (position + number(size - position + 2));
      default: return code_address();
    }
  }
  std::uint64_t number(std::uint64_t below) { return random_() % below; }

 private:
  std::mt19937_64 random_{37};
};

struct EndCounts {
  std::size_t root = 0, deep = 0, failed = 0, reached_by_copy = 0;
};

EndCounts compare_random(bool has_inexpressible_rules) {
  const ElfBuilder elf = make_program(has_inexpressible_rules);
  WalkPair walks([elf](std::uint64_t, const CodeRange&, const std::string&) { return elf.open(); });
  walks.map({kLoaded, kLoaded + ElfBuilder::kSize, 0, {1, 2}, "/bin/made"});
  walks.map({kAnonymous, kAnonymous + 0x1000, 0, {}, ""});
  RandomWords words;
  EndCounts ends;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint64_t> stack(60);
    for (std::size_t at = 0; at < stack.size(); ++at) stack[at] = words.word(at, stack.size());
    const std::string_view bytes(reinterpret_cast<const char*>(stack.data()), 8 * stack.size());
    const Registers registers{words.code_address(), kSp, words.word(0, stack.size()), 0};
    const End end = walks.compare(registers, {kSp, bytes}, 1 + words.number(12));
    ends.root += end == End::Root;
    ends.deep += end == End::TooDeep;
    ends.failed += end == End::Failed;
    ends.reached_by_copy +=
        end == End::Failed && walks.expected() == WalkEnd::Root && !walks.has_frame_without_rule();
  }
  return ends;
}

// --- stacks of this process ---

struct CopiedStack {
  Registers registers;
  std::string stack;
};

// Copies the stack up to the top of the calling thread's stack.
[[gnu::noinline, gnu::no_sanitize_address]] void take_stack(const ucontext_t& context,
                                                            CopiedStack& taken) {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  BOOST_REQUIRE(::pthread_getattr_np(::pthread_self(), &attributes) == 0);
  ::pthread_attr_getstack(&attributes, &lowest, &size);
  ::pthread_attr_destroy(&attributes);
#ifdef __x86_64__
  const auto* all = context.uc_mcontext.gregs;
  const auto register_of = [&](int which) { return static_cast<std::uint64_t>(all[which]); };
  taken.registers = {register_of(REG_RIP), register_of(REG_RSP), register_of(REG_RBP), 0};
#endif
  const auto* from = reinterpret_cast<const char*>(taken.registers.sp);
  const char* to = static_cast<const char*>(lowest) + size;
  taken.stack.resize(static_cast<std::size_t>(to - from));
  for (std::size_t i = 0; i < taken.stack.size(); ++i) taken.stack.data()[i] = from[i];
}

CopiedStack* t_stack_copy = nullptr;

void take_at_call() {
  ucontext_t context;
  ::getcontext(&context);
  take_stack(context, *t_stack_copy);
  asm volatile("" ::: "memory");
}

int compare_and_take(const void* a, const void* b) {
  if (t_stack_copy->stack.empty()) take_at_call();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

void take_in_signal_handler(int) { take_at_call(); }
void take_interrupted(int, siginfo_t*, void* context) {
  take_stack(*static_cast<ucontext_t*>(context), *t_stack_copy);
}

[[gnu::noinline]] void deep(int depth, const std::function<void()>& then) {
  char padding[100];
  asm volatile("" ::"r"(padding) : "memory");
  depth == 0 ? then() : deep(depth - 1, then);
  asm volatile("" ::: "memory");
}

void raise_with(void (*handler)(int), void (*with_context)(int, siginfo_t*, void*)) {
  struct sigaction action {
  }, before{};
  if (with_context)
    action.sa_sigaction = with_context, action.sa_flags = SA_SIGINFO;
  else
    action.sa_handler = handler;
  ::sigaction(SIGUSR2, &action, &before);
  ::raise(SIGUSR2);
  ::sigaction(SIGUSR2, &before, nullptr);
}

// The stack of the context is a part of the thread's stack.
void take_in_context() {
  constexpr std::size_t kSize = 64 << 10;
  alignas(16) static thread_local ucontext_t before;
  alignas(16) char signal_stack[kSize];
  ucontext_t context;
  ::getcontext(&context);
  context.uc_stack.ss_sp = signal_stack;
  context.uc_stack.ss_size = kSize;
  context.uc_link = &before;
  ::makecontext(
      &context, [] { take_at_call(); }, 0);
  ::swapcontext(&before, &context);
}

CopiedStack take_in_thread(const std::function<void()>& work) {
  CopiedStack taken;
  std::thread([&] {
    t_stack_copy = &taken;
    deep(5, work);
  }).join();
  return taken;
}

End compare_own_stack(const CopiedStack& taken, std::size_t least_frames) {
  WalkPair walks([](std::uint64_t, const CodeRange&, const std::string& path) {
    return sdk::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  });
  for (const Mapping& mapping : parse_code_mappings(file_text("/proc/self/maps")))
    walks.map(mapping);
  const End end = walks.compare(taken.registers, {taken.registers.sp, taken.stack});
  BOOST_TEST(walks.frames().size() >= least_frames);
  return end;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_user_walk_test)

BOOST_AUTO_TEST_CASE(random_stacks_give_the_same_frames_as_the_unwinder) {
  const EndCounts ends = compare_random(false);
  BOOST_TEST_MESSAGE(ends.root << " to the root, " << ends.deep << " deep, " << ends.failed
                               << " given up");
  BOOST_TEST(ends.root > 1000u);
  BOOST_TEST(ends.deep > 500u);
  BOOST_TEST(ends.failed > 1000u);
  BOOST_TEST(ends.reached_by_copy == 0u);
}

BOOST_AUTO_TEST_CASE(finds_the_same_calls_as_the_decoder) {
  std::mt19937_64 random(37);
  std::size_t calls = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    std::uint64_t bytes = random();
    // Every second word contains a call opcode.
    const unsigned shift = 8 * (i % 7);
    if (i % 2 == 0)
      bytes = (bytes & ~(0xffULL << shift)) | (i % 4 == 0 ? 0xffULL : 0xe8ULL) << shift;
    const std::string_view code(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    const bool is_found = user_walk::walk_ends_with_call(bytes) != 0;
    calls += is_found;
    if (is_found != ends_with_x86_call(code)) BOOST_ERROR("bytes " << std::hex << bytes);
  }
  BOOST_TEST(calls > 10'000u);
}

BOOST_AUTO_TEST_CASE(a_walk_stops_where_a_table_has_no_rule) {
  const EndCounts ends = compare_random(true);
  BOOST_TEST(ends.root > 1000u);
  BOOST_TEST(ends.reached_by_copy > 0u);
}

#ifdef __x86_64__
BOOST_AUTO_TEST_CASE(walks_a_call_from_a_library_to_the_root) {
  const CopiedStack taken = take_in_thread([] {
    int numbers[] = {3, 1, 2};
    std::qsort(numbers, 3, sizeof *numbers, compare_and_take);
  });
  BOOST_TEST((compare_own_stack(taken, 10) == End::Root));
}

BOOST_AUTO_TEST_CASE(walks_a_signal_handler_to_the_root) {
  const CopiedStack taken = take_in_thread([] { raise_with(take_in_signal_handler, nullptr); });
  BOOST_TEST((compare_own_stack(taken, 10) == End::Root));
}

// The function returns to __start_context, which no call precedes.
BOOST_AUTO_TEST_CASE(walks_a_makecontext_function_to_the_root) {
  BOOST_TEST((compare_own_stack(take_in_thread(take_in_context), 3) == End::Root));
}

BOOST_AUTO_TEST_CASE(walks_an_interrupted_function_to_the_root) {
  const CopiedStack taken = take_in_thread([] { raise_with(nullptr, take_interrupted); });
  BOOST_TEST((compare_own_stack(taken, 8) == End::Root));
}
#endif

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_user_walk_test
