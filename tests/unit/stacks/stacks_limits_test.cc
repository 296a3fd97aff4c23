// Tests the limits on work with files that cause the maximum of work. Work is counted in steps, so
// all expected counts are exact.

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/stacks/cfi.hpp"
#include "core/stacks/frame_program.hpp"
#include "core/stacks/unwinder.hpp"
#include "tests/unit/stacks/elf_builder.hpp"
#include "tests/unit/stacks/section_builder.hpp"

namespace ctprof::tests::stacks_limits_test {
namespace {

constexpr std::uint64_t kStart = 0x4000;
constexpr std::uint64_t kLoaded = 0x7f0000000000;

// Returns an image whose table has an unusual encoding, so that all its entries are walked.
std::string image_with_walked_table(const ElfBuilder& elf) {
  std::string image = elf.image();
  image[ElfBuilder::kTable + 3] = 0x1b;
  return image;
}

std::uint64_t bytes_in_steps(const Cfi& cfi) { return cfi.get_memory_size() / 8; }

Cfa cfa_at(const std::string& image, std::uint64_t address) {
  const ElfFile file(image);
  return Cfi(file).find_rule(address).cfa;
}

// Returns a file with a function whose program has this many steps before its first address.
ElfBuilder elf_with_program(std::size_t steps) {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStart, 64, std::string(steps, '\0'));
  return elf;
}

// Processes that have mapped files; a file is selected by its index.
class MappedFiles {
 public:
  explicit MappedFiles(std::vector<ElfBuilder> files, const FrameLimits& limits)
      : files_(std::move(files)),
        modules(
            [this](std::uint64_t, const CodeRange& range, const std::string&) {
              ++opened;
              return files_[range.module - kFirstModule].open();
            },
            limits) {
    for (std::size_t i = 0; i < files_.size(); ++i)
      ranges_.push_back(modules.make_code_range(
          1, {kLoaded, kLoaded + ElfBuilder::kSize, 0, {1, i + 1}, path(i)}));
  }
  static std::string path(std::size_t file) { return "/bin/" + std::to_string(file); }
  std::uint32_t module(std::size_t file) const { return ranges_[file].module; }
  Cfa cfa(std::uint64_t process, std::size_t file, std::uint64_t offset = 0) {
    return modules.find_rule(process, ranges_[file], kStart + offset).value_or(UnwindRule{}).cfa;
  }
  std::uint64_t refused(std::size_t file) const {
    return modules.count_refused_rules(module(file));
  }

 private:
  static constexpr std::uint32_t kFirstModule = 3;  // after the modules that always exist
  std::vector<ElfBuilder> files_;
  std::vector<CodeRange> ranges_;

 public:
  Modules modules;
  std::size_t opened = 0;
};

std::string prefix_size(const std::string& entry) {
  return bytes_of(static_cast<std::uint32_t>(entry.size())) + entry;
}

// Returns a file whose .debug_frame has functions with a thousand rules each.
std::string image_with_debug_frame(std::uint64_t functions) {
  constexpr std::uint64_t kRules = 1000;
  std::string program;
  for (std::uint64_t i = 1; i < kRules; ++i) program += to_bytes({0x41, 0x0e, i % 2 == 0 ? 8 : 16});
  std::string section = prefix_size(bytes_of(std::uint32_t{0xffffffff}) +
                                    to_bytes({1, 0, 1, 0x78, 16}) + kX86InitialRules);
  for (std::uint64_t i = 0; i < functions; ++i)
    section += prefix_size(bytes_of(std::uint32_t{0}) + bytes_of(kStart + kRules * i) +
                           bytes_of(kRules) + program);
  SectionBuilder sections(ElfBuilder().image(false));
  sections.add_section(".debug_frame", SHT_PROGBITS, section);
  return sections.image();
}

// Returns the number of visited rules, or nullopt if the visit was incomplete.
std::optional<std::size_t> count_rules(const std::string& image) {
  const ElfFile file(image);
  std::size_t rules = 0;
  const bool is_whole =
      Cfi(file).visit_all_rules(UINT64_MAX, [&](FileAddress, const UnwindRule& rule) {
        rules += rule.cfa != Cfa::None;
        return true;
      });
  return is_whole ? std::optional(rules) : std::nullopt;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_limits_test)

// The rules are kept in memory while those of .eh_frame are visited.
BOOST_AUTO_TEST_CASE(limits_the_rules_of_a_second_section) {
  BOOST_TEST(count_rules(image_with_debug_frame(1)).value_or(0) == 1000u);
  // A large Go program.
  BOOST_TEST(count_rules(image_with_debug_frame(1300)).value_or(0) == 1'300'000u);
  BOOST_TEST(!count_rules(image_with_debug_frame(2100)));
}

// Reading it for each function made a CIE of 1 MiB with 20,000 functions take 25 s.
BOOST_AUTO_TEST_CASE(reads_a_cie_once) {
  constexpr std::uint64_t kFunctions = 100;
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  for (std::uint64_t i = 0; i < kFunctions; ++i) elf.add_function(kStart + 64 * i, 64, "");
  const std::string image = image_with_walked_table(elf);
  const ElfFile file(image);
  const Cfi cfi(file);
  // The zeroes after the entries are walked in words of four bytes.
  const std::uint64_t words =
      (ElfBuilder::kSize - ElfBuilder::kFrames - elf.frames().size() + 3) / 4;
  BOOST_TEST(cfi.steps() - bytes_in_steps(cfi) ==
             FrameEntries::kStepsPerCommonEntry +
                 kFunctions * FrameEntries::kStepsPerFunctionEntry +
                 /*heads*/ 1 + kFunctions + words);
}

BOOST_AUTO_TEST_CASE(refuses_long_texts_and_numbers_in_a_cie) {
  const auto cfa_with = [](const std::string& letters, const std::string& start) {
    ElfBuilder elf;
    elf.add_common_entry(start, letters);
    elf.add_function(kStart, 64, "");
    return cfa_at(elf.image(), kStart);
  };
  BOOST_CHECK(cfa_with("zR", kX86InitialRules) == Cfa::Sp);
  BOOST_CHECK(cfa_with("zR" + std::string(30, 'B'), kX86InitialRules) == Cfa::Sp);
  BOOST_CHECK(cfa_with("zR" + std::string(31, 'B'), kX86InitialRules) == Cfa::None);
  const auto defined_with = [](std::size_t filling) {
    return to_bytes({0x0c, 7}) + std::string(filling, '\x80') + to_bytes({8, 0x90, 1});
  };
  BOOST_CHECK(cfa_with("zR", defined_with(9)) == Cfa::Sp);
  BOOST_CHECK(cfa_with("zR", defined_with(16)) == Cfa::Unknown);
}

BOOST_AUTO_TEST_CASE(stops_after_too_many_entries) {
  std::string frames(4 * FrameEntries::kMaxWalkedEntries, '\0');
  FrameEntries most(FrameEntries::Format::EhFrame, frames, 0);
  most.build_table();
  BOOST_TEST(!most.is_truncated());
  FrameEntries more(FrameEntries::Format::EhFrame, frames + std::string(4, '\0'), 0);
  more.build_table();
  BOOST_TEST(more.is_truncated());
  BOOST_TEST(more.steps() == FrameEntries::kMaxWalkedEntries);
}

BOOST_AUTO_TEST_CASE(counts_the_bytes_of_programs) {
  const auto steps_of = [](const std::string& program) {
    ElfBuilder elf;
    elf.add_common_entry(kX86InitialRules);
    elf.add_function(kStart, 64, program);
    const std::string image = elf.image();
    const ElfFile file(image);
    const Cfi cfi(file);
    cfi.find_rule(kStart);
    const std::uint64_t before = cfi.steps();
    cfi.find_rule(kStart);
    return cfi.steps() - before;
  };
  const std::uint64_t least = FrameEntries::kStepsPerFunctionEntry + kX86InitialRules.size();
  BOOST_TEST(steps_of("") == least);
  BOOST_TEST(steps_of(std::string(1000, '\0')) == least + 1000);
  BOOST_TEST(steps_of(to_bytes({0x0a, 0x0b})) == least + 2 * kMaxStepsPerByte);
  // Instructions for later addresses are not run.
  BOOST_TEST(steps_of(to_bytes({0x41}) + std::string(1000, '\0')) == least + 1);
}

// The main loop of an interpreter has a long program and gets most of the samples.
BOOST_AUTO_TEST_CASE(runs_long_programs_from_checkpoints) {
  std::string program;
  for (int i = 0; i < 5000; ++i)  // another CFA after each byte of code
    program += to_bytes({0x41, 0x0e, 16 + i % 64, 0x0a, 0x0e, 8, 0x0b});
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStart, 5000, program);
  const std::string image = elf.image();
  const ElfFile file(image);
  const Cfi cfi(file);
  for (const int at : {4999, 4998, 1, 2500, 3000, 2999, 4000, 0}) BOOST_TEST_CONTEXT(at) {
      BOOST_TEST(cfi.find_rule(kStart + at).cfa_offset == (at == 0 ? 8 : 16 + (at - 1) % 64));
      BOOST_TEST(cfi.find_rule(kStart + at).cfa_offset ==
                 Cfi(file).find_rule(kStart + at).cfa_offset);
    }
  const std::uint64_t before = cfi.steps();
  cfi.find_rule(kStart + 4999);
  BOOST_TEST(cfi.steps() - before < 2048 * kMaxStepsPerByte);
  BOOST_TEST(cfi.steps() > before);
}

// A rule that depends on the address must be correct at each address.
BOOST_AUTO_TEST_CASE(keeps_no_state_that_depends_on_the_address) {
  const std::string linkage =
      to_bytes({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStart, 4096, linkage + std::string(10'000, '\0'));
  const std::string image = elf.image();
  const ElfFile file(image);
  const Cfi cfi(file);
  for (const int at : {16 + 10, 16 + 11, 32 + 10})
    BOOST_TEST(cfi.find_rule(kStart + at).cfa_offset == (at % 16 < 11 ? 8 : 16));
}

// Running call frame programs of 128 KiB for each address took more than 200 s.
BOOST_AUTO_TEST_CASE(refuses_rules_beyond_the_budget_of_a_file) {
  MappedFiles host(
      {elf_with_program(1000), elf_with_program(10)},
      {.steps_per_file = 14'000, .steps_per_process = 1 << 20, .assured_steps_per_process = 0});
  for (std::uint64_t i = 0; i < 20; ++i) BOOST_TEST_CONTEXT(i) {
      // Reading the file takes 7,681 steps, the first rule 1,101, and each other rule 1,037.
      BOOST_CHECK(host.cfa(1, 0, i) == (i < 7 ? Cfa::Sp : Cfa::Unknown));
    }
  BOOST_TEST(host.refused(0) == 13u);
  BOOST_CHECK(host.cfa(1, 1) == Cfa::Sp);
  BOOST_TEST(host.refused(1) == 0u);
}

BOOST_AUTO_TEST_CASE(refuses_rules_beyond_the_budget_of_a_process) {
  MappedFiles host(
      {elf_with_program(1000), elf_with_program(1000)},
      {.steps_per_file = 1 << 20, .steps_per_process = 14'000, .assured_steps_per_process = 0});
  for (std::uint64_t i = 0; i < 20; ++i) host.cfa(1, 0, i);
  const std::uint64_t refused = host.refused(0);
  BOOST_TEST(refused == 13u);
  BOOST_CHECK(host.cfa(1, 1) == Cfa::Unknown);  // no further file is opened
  BOOST_TEST(host.opened == 1u);
  BOOST_CHECK(host.cfa(2, 0, 30) == Cfa::Sp);  // also in files that another process mapped
  BOOST_CHECK(host.cfa(2, 1) == Cfa::Sp);
  BOOST_TEST(host.refused(0) == refused);
}

BOOST_AUTO_TEST_CASE(refuses_rules_beyond_the_total_budget) {
  MappedFiles host({elf_with_program(1000), elf_with_program(1000)},
                   {.steps = 14'000, .assured_steps_per_process = 0});
  for (std::uint64_t i = 0; i < 20; ++i) host.cfa(1, 0, i);
  BOOST_TEST(host.refused(0) == 13u);
  BOOST_CHECK(host.cfa(2, 1) == Cfa::Unknown);
  BOOST_TEST(host.refused(1) == 1u);
}

// A process that exhausts the budget of a file or the total budget leaves a reserve for others.
BOOST_AUTO_TEST_CASE(reserves_steps_for_each_process) {
  MappedFiles host({elf_with_program(1000), elf_with_program(10)},
                   {.steps_per_file = 14'000, .steps = 14'000, .assured_steps_per_process = 2'500});
  for (std::uint64_t i = 0; i < 20; ++i) host.cfa(1, 0, i);
  BOOST_TEST(host.refused(0) == 13u);
  BOOST_CHECK(host.cfa(2, 0, 30) == Cfa::Sp);
  BOOST_CHECK(host.cfa(2, 0, 31) == Cfa::Sp);
  BOOST_CHECK(host.cfa(2, 0, 32) == Cfa::Sp);
  BOOST_CHECK(host.cfa(2, 0, 33) == Cfa::Unknown);
  BOOST_CHECK(host.cfa(3, 0, 34) == Cfa::Unknown);  // the reserve, a quarter, is spent
}

BOOST_AUTO_TEST_CASE(limits_the_files_of_a_process) {
  MappedFiles host({elf_with_program(1), elf_with_program(1), elf_with_program(1)},
                   {.files_per_process = 2});
  BOOST_CHECK(host.cfa(1, 0) == Cfa::Sp);
  BOOST_CHECK(host.cfa(1, 1) == Cfa::Sp);
  BOOST_CHECK(host.cfa(1, 2) == Cfa::Unknown);
  BOOST_TEST(host.opened == 2u);
  BOOST_CHECK(host.cfa(2, 2) == Cfa::Sp);
}

// Dropping the newest file instead would let large files displace small ones.
BOOST_AUTO_TEST_CASE(drops_the_largest_file_first) {
  ElfBuilder large;
  large.add_common_entry(kX86InitialRules);
  for (std::uint64_t i = 0; i < 1000; ++i) large.add_function(kStart + i, 1, "");
  MappedFiles host({elf_with_program(1), large, elf_with_program(1)},
                   {.max_bytes = 3 * ElfBuilder::kSize});
  for (std::size_t file = 0; file < 3; ++file) BOOST_CHECK(host.cfa(1, file) == Cfa::Sp);
  MappedFiles smaller({elf_with_program(1), large, elf_with_program(1)},
                      {.max_bytes = 3 * (ElfBuilder::kSize - ElfBuilder::kFrames)});
  for (const std::size_t file : {0, 1, 2}) smaller.cfa(1, file);
  BOOST_CHECK(smaller.cfa(1, 0, 1) == Cfa::Sp);
  BOOST_CHECK(smaller.cfa(1, 1, 1) == Cfa::Unknown);
  BOOST_CHECK(smaller.cfa(1, 2, 1) == Cfa::Sp);
  BOOST_TEST(smaller.refused(1) > 0u);
}

// A refused address is not walked by frame pointers; the stack ends there and is marked.
BOOST_AUTO_TEST_CASE(ends_a_stack_where_the_budget_is_exhausted) {
  Modules modules([](std::uint64_t, const CodeRange&,
                     const std::string&) { return elf_with_program(10).open(); },
                  {.files_per_process = 0});
  Unwinder unwinder(modules);
  AddressSpace space(7);
  space.add_mapping(
      modules.make_code_range(7, {kLoaded, kLoaded + ElfBuilder::kSize, 0, {1, 2}, "/bin/made"}));
  std::vector<Frame> frames;
  const std::vector<std::uint64_t> stack{0, kLoaded + kStart + 9, 0, 0};
  const std::string_view bytes(reinterpret_cast<const char*>(stack.data()), 32);
  const Registers registers{kLoaded + kStart, 0x1000, 0x1000, 0};
  BOOST_CHECK(unwinder.walk(space, registers, {0x1000, bytes}, frames) == WalkEnd::Failed);
  BOOST_TEST(frames.size() == 1u);
  BOOST_TEST(!frames[0].is_guessed);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_limits_test
