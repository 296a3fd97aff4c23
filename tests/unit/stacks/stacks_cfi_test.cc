// Tests the rules that hand-written call frame information gives, valid and invalid.

#include <boost/test/unit_test.hpp>

#include <string>

#include "core/stacks/cfi.hpp"
#include "tests/unit/stacks/elf_builder.hpp"

namespace ctprof {

static std::ostream& operator<<(std::ostream& out, Cfa cfa) { return out << static_cast<int>(cfa); }
static std::ostream& operator<<(std::ostream& out, RegisterLocation saved) {
  return out << static_cast<int>(saved);
}

namespace tests::stacks_cfi_test {
namespace {

constexpr std::uint64_t kStart = 0x4000;

UnwindRule find_rule(const std::string& image, std::uint64_t address) {
  const ElfFile file(image);
  return Cfi(file).find_rule(address);
}

// Returns the rule of a function of 64 bytes with this program.
UnwindRule rule_of_program(const std::string& program, std::uint64_t offset = 0,
                           const std::string& start = kX86InitialRules) {
  ElfBuilder elf;
  elf.add_common_entry(start);
  elf.add_function(kStart, 64, program);
  return find_rule(elf.image(), kStart + offset);
}

void check_cfa(const UnwindRule& rule, Cfa cfa, int offset) {
  BOOST_TEST(rule.cfa == cfa);
  BOOST_TEST(rule.cfa_offset == offset);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_cfi_test)

// push %rbp; mov %rsp,%rbp; ...; leave; ret
BOOST_AUTO_TEST_CASE(follows_a_function_with_a_frame_pointer) {
  const std::string program =
      to_bytes({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 20, 0x0c, 7, 8});
  const UnwindRule first = rule_of_program(program, 0);
  check_cfa(first, Cfa::Sp, 8);
  BOOST_TEST(first.ra == RegisterLocation::AtCfa);
  BOOST_TEST(first.ra_offset == -8);
  BOOST_TEST(first.bp == RegisterLocation::Same);
  check_cfa(rule_of_program(program, 1), Cfa::Sp, 16);
  const UnwindRule inside = rule_of_program(program, 10);
  check_cfa(inside, Cfa::Bp, 16);
  BOOST_TEST(inside.bp == RegisterLocation::AtCfa);
  BOOST_TEST(inside.bp_offset == -16);
  check_cfa(rule_of_program(program, 24), Cfa::Sp, 8);
  check_cfa(rule_of_program(program, 23), Cfa::Bp, 16);
}

BOOST_AUTO_TEST_CASE(uncovered_addresses_have_no_rule) {
  BOOST_TEST(rule_of_program("", 64).cfa == Cfa::None);
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStart, 64, "");
  BOOST_TEST(find_rule(elf.image(), kStart - 1).cfa == Cfa::None);
  BOOST_TEST(find_rule("no ELF file", kStart).cfa == Cfa::None);
}

BOOST_AUTO_TEST_CASE(remembers_and_restores_states) {
  const std::string program = to_bytes({0x0e, 32, 0x0a, 0x41, 0x0e, 8, 0x41, 0x0b});
  check_cfa(rule_of_program(program, 0), Cfa::Sp, 32);
  check_cfa(rule_of_program(program, 1), Cfa::Sp, 8);
  check_cfa(rule_of_program(program, 2), Cfa::Sp, 32);
}

BOOST_AUTO_TEST_CASE(a_restored_register_has_its_initial_rule) {
  const std::string program = to_bytes({0x86, 2, 0x41, 0xc6});
  BOOST_TEST(rule_of_program(program, 0).bp == RegisterLocation::AtCfa);
  BOOST_TEST(rule_of_program(program, 1).bp == RegisterLocation::Same);
}

// CFA = rsp + 8 + ((rip & 15) >= 11) << 3: eight bytes more after the PLT stub pushed its number.
BOOST_AUTO_TEST_CASE(plt_expressions_are_constant_per_address) {
  const std::string program =
      to_bytes({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  check_cfa(rule_of_program(program, 16 + 10), Cfa::Sp, 8);
  check_cfa(rule_of_program(program, 16 + 11), Cfa::Sp, 16);
}

// A main function that realigns its stack: CFA = *(rbp - 8), rbp = *rbp.
BOOST_AUTO_TEST_CASE(reads_the_cfa_of_a_realigned_function_from_memory) {
  const UnwindRule rule =
      rule_of_program(to_bytes({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}));
  check_cfa(rule, Cfa::AtBp, -8);
  BOOST_TEST(rule.bp == RegisterLocation::AtBp);
  BOOST_TEST(rule.bp_offset == 0);
}

// SHA-256 of OpenSSL: CFA = *(rsp + 152) + 8.
BOOST_AUTO_TEST_CASE(reads_a_stored_stack_pointer) {
  const UnwindRule rule = rule_of_program(to_bytes({0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 8}));
  check_cfa(rule, Cfa::AtSp, 152);
  BOOST_TEST(rule.cfa_added == 8);
  const auto of_added = [](std::string_view added) {
    const std::string expression =
        to_bytes({0x77, 8, 0x06, 0x0a}) + std::string(added) + to_bytes({0x22});
    return rule_of_program(to_bytes({0x0f, static_cast<int>(expression.size())}) + expression);
  };
  BOOST_TEST(of_added("\xff\x7f").cfa_added == 32767);
  BOOST_TEST(of_added(std::string_view("\x00\x80", 2)).cfa == Cfa::Unknown);
}

// __restore_rt: CFA = *(rsp + 160), rip at rsp + 168, rbp at rsp + 120.
BOOST_AUTO_TEST_CASE(reads_the_rules_of_a_signal_frame) {
  ElfBuilder elf;
  elf.add_common_entry("", "zRS");
  elf.add_function(kStart, 16,
                   to_bytes({0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01, 0x10,
                             6, 3, 0x77, 0xf8, 0}));
  const UnwindRule rule = find_rule(elf.image(), kStart);
  check_cfa(rule, Cfa::AtSp, 160);
  BOOST_TEST(rule.ra == RegisterLocation::AtSp);
  BOOST_TEST(rule.ra_offset == 168);
  BOOST_TEST(rule.bp == RegisterLocation::AtSp);
  BOOST_TEST(rule.bp_offset == 120);
  BOOST_TEST(rule.is_signal);
}

BOOST_AUTO_TEST_CASE(an_undefined_return_address_is_the_root) {
  BOOST_TEST(rule_of_program(to_bytes({0x07, 16})).ra == RegisterLocation::Undefined);
}

// paciasp; stp x29, x30, [sp, #-32]!; mov x29, sp
BOOST_AUTO_TEST_CASE(reads_rules_of_aarch64_with_signed_return_addresses) {
  ElfBuilder elf(EM_AARCH64);
  elf.add_common_entry(to_bytes({0x0c, 31, 0}), "zRB", 30);
  elf.add_function(kStart, 64,
                   to_bytes({0x41, 0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x42, 0x0d, 29}));
  const UnwindRule first = find_rule(elf.image(), kStart + 1);
  check_cfa(first, Cfa::Sp, 0);
  BOOST_TEST(first.ra == RegisterLocation::Same);
  const UnwindRule saved = find_rule(elf.image(), kStart + 8);
  check_cfa(saved, Cfa::Bp, 32);
  BOOST_TEST(saved.ra == RegisterLocation::AtCfa);
  BOOST_TEST(saved.ra_offset == -24);
  BOOST_TEST(saved.bp_offset == -32);
}

// Without a table, this file has no section headers either, so no entry is found. With a table of
// an unusual encoding, all entries are walked.
BOOST_AUTO_TEST_CASE(walks_entries_without_a_usable_table) {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStart + 64, 64, to_bytes({0x0e, 48}));
  elf.add_function(kStart, 64, to_bytes({0x0e, 32}));
  std::string image = elf.image();
  image[ElfBuilder::kTable + 3] = 0x1b;
  check_cfa(find_rule(image, kStart + 3), Cfa::Sp, 32);
  check_cfa(find_rule(image, kStart + 70), Cfa::Sp, 48);
  BOOST_TEST(find_rule(elf.image(false), kStart).cfa == Cfa::None);
}

BOOST_AUTO_TEST_CASE(unsupported_rules_are_unknown) {
  BOOST_TEST(rule_of_program(to_bytes({0x0c, 10, 0})).cfa == Cfa::Unknown);          // r10
  BOOST_TEST(rule_of_program(to_bytes({0x0f, 1, 0x96})).cfa == Cfa::Unknown);        // DW_OP_nop
  BOOST_TEST(rule_of_program(to_bytes({0x0f, 2, 0x06, 0x06})).cfa == Cfa::Unknown);  // empty stack
  BOOST_TEST(rule_of_program(to_bytes({0x0f, 2, 0x33, 0x22})).cfa == Cfa::Unknown);  // one operand
  // A register with a constant value.
  BOOST_TEST(rule_of_program(to_bytes({0x16, 6, 1, 0x30})).bp == RegisterLocation::Unknown);
  BOOST_TEST(rule_of_program(to_bytes({0x09, 16, 3})).ra == RegisterLocation::Unknown);  // in rbx
}

BOOST_AUTO_TEST_CASE(invalid_programs_give_unknown_rules) {
  BOOST_TEST(rule_of_program(to_bytes({0x0e})).cfa == Cfa::Unknown);       // its operand is missing
  BOOST_TEST(rule_of_program(to_bytes({0x0f, 100})).cfa == Cfa::Unknown);  // mostly missing
  BOOST_TEST(rule_of_program(to_bytes({0x0b})).cfa == Cfa::Unknown);       // nothing to restore
  BOOST_TEST(rule_of_program(std::string(17, 0x0a)).cfa == Cfa::Unknown);
  BOOST_TEST(rule_of_program(to_bytes({0x3f})).cfa == Cfa::Unknown);  // unknown instruction
  BOOST_TEST(rule_of_program(to_bytes({0x0e, 0x80, 0x80, 0x80, 0x80, 0x40})).cfa == Cfa::Unknown);
}

BOOST_AUTO_TEST_CASE(ignores_entries_with_invalid_sizes) {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStart, 64, "");
  std::string longer = elf.image();
  longer.replace(ElfBuilder::kFrames + 4 + 20, 4,
                 "\xf0\xff\xff\x7f");  // the length of the function
  BOOST_TEST(find_rule(longer, kStart).cfa == Cfa::None);
  std::string elsewhere = elf.image();
  for (std::size_t at = ElfBuilder::kTable + 12; at < ElfBuilder::kTable + 20; ++at) {
    elsewhere[at] = '\x7f';
    BOOST_TEST(find_rule(elsewhere, kStart).cfa == Cfa::None);
  }
  for (std::size_t size = 0; size < ElfBuilder::kFrames + 60; size += 7)
    find_rule(elf.image().substr(0, size), kStart);
}

BOOST_AUTO_TEST_CASE(reads_build_ids_and_file_offsets) {
  const std::string image = ElfBuilder().image();
  const ElfFile file(image);
  BOOST_TEST(file.build_id() == "\xde\xad\xbe\xef");
  BOOST_TEST(file.code_address(0x123).value() == 0x123u);
  BOOST_TEST(!file.code_address(ElfBuilder::kSize).has_value());
  BOOST_TEST(file.read_text(ElfBuilder::kNote + 12, 100) == "GNU");
  std::string long_note = image;
  long_note.replace(ElfBuilder::kNote, 4, "\xff\xff\xff\xff");
  BOOST_TEST(ElfFile(long_note).build_id().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tests::stacks_cfi_test
}  // namespace ctprof
