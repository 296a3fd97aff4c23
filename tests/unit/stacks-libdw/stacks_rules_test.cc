// Compares the rules of real libraries and programs with those of libdw, an independent
// implementation, at addresses across their code.

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/stacks/cfi.hpp"
#include "ctprof/files.hpp"

namespace ctprof::stacks_rules_test {
namespace {

#ifdef __aarch64__
constexpr RegisterNumbers kRegisters = kArmRegisters;
#else
constexpr RegisterNumbers kRegisters = kX86Registers;
#endif

// A file as seen by libdw.
class Reference {
 public:
  explicit Reference(int fd) : elf_(::elf_begin(fd, ELF_C_READ, nullptr)) {
    cfi_ = ::dwarf_getcfi_elf(elf_);
  }
  ~Reference() {
    ::dwarf_cfi_end(cfi_);
    ::elf_end(elf_);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  // Returns nullptr if no entry covers the address.
  std::unique_ptr<Dwarf_Frame, void (*)(void*)> frame(FileAddress address) const {
    Dwarf_Frame* frame = nullptr;
    ::dwarf_cfi_addrframe(cfi_, address, &frame);
    return {frame, &std::free};
  }

 private:
  Elf* elf_;
  Dwarf_CFI* cfi_;
};

// Compares a DWARF expression with our rule. If our rule loads the CFA from the stack (AtSp, AtBp),
// the expression must be the same load plus the same constant. For other rules, expressions
// are not compared: only Cfa::None is wrong.
bool agrees_with_expression(const Dwarf_Op* operations, std::size_t count, const UnwindRule& rule) {
  const bool is_at_sp = rule.cfa == Cfa::AtSp;
  if (!is_at_sp && rule.cfa != Cfa::AtBp) return rule.cfa != Cfa::None;
  const std::uint64_t base = is_at_sp ? kRegisters.sp : kRegisters.bp;
  const auto added = count == 3 ? static_cast<std::int64_t>(operations[2].number) : 0;
  return (count == 2 || (count == 3 && operations[2].atom == DW_OP_plus_uconst)) &&
         operations[0].atom == DW_OP_breg0 + base && operations[1].atom == DW_OP_deref &&
         rule.cfa_offset == static_cast<std::int64_t>(operations[0].number) &&
         rule.cfa_added == added;
}

bool has_same_cfa(Dwarf_Frame* frame, const UnwindRule& rule) {
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (::dwarf_frame_cfa(frame, &operations, &count) != 0) return rule.cfa == Cfa::Unknown;
  if (count != 1 || operations[0].atom != DW_OP_bregx)
    return agrees_with_expression(operations, count, rule);
  const Cfa cfa = operations[0].number == kRegisters.sp   ? Cfa::Sp
                  : operations[0].number == kRegisters.bp ? Cfa::Bp
                                                          : Cfa::Unknown;
  return rule.cfa == cfa && (cfa == Cfa::Unknown ||
                             rule.cfa_offset == static_cast<std::int64_t>(operations[0].number2));
}

bool is_same(Dwarf_Frame* frame, std::uint64_t number, RegisterLocation saved,
             std::int64_t offset) {
  Dwarf_Op memory[3];
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (::dwarf_frame_register(frame, static_cast<int>(number), memory, &operations, &count) != 0)
    return saved == RegisterLocation::Unknown;
  if (count == 0)
    return saved == (operations == memory ? RegisterLocation::Undefined : RegisterLocation::Same);
  const bool is_plain = count == 1 || (count == 2 && operations[1].atom == DW_OP_plus_uconst);
  const bool is_at_cfa = operations[0].atom == DW_OP_call_frame_cfa && is_plain;
  if (!is_at_cfa) return saved != RegisterLocation::AtCfa;
  const auto expected = count > 1 ? static_cast<std::int64_t>(operations[1].number) : 0;
  return saved == RegisterLocation::AtCfa && offset == expected;
}

bool is_same(Dwarf_Frame* frame, const UnwindRule& rule) {
  if (!frame || rule.cfa == Cfa::None) return !frame && rule.cfa == Cfa::None;
  if (rule.cfa == Cfa::Unknown) return has_same_cfa(frame, rule);
  return has_same_cfa(frame, rule) && is_same(frame, kRegisters.bp, rule.bp, rule.bp_offset) &&
         is_same(frame, kRegisters.ra, rule.ra, rule.ra_offset);
}

struct Tally {
  std::size_t rules = 0, unequal = 0;
};

Tally compare_rules(const std::string& path) {
  constexpr std::uint64_t kStep = 7;
  const sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ElfFile file(fd.get());
  const Cfi cfi(file);
  const Reference reference(fd.get());
  Tally tally;
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    for (std::uint64_t at = 0; at < segment.p_filesz; at += kStep) {
      const FileAddress address = segment.p_vaddr + at;
      const UnwindRule rule = cfi.find_rule(address);
      tally.rules += rule.cfa != Cfa::None;
      if (is_same(reference.frame(address).get(), rule)) continue;
      if (++tally.unequal < 5)
        BOOST_TEST_MESSAGE(path << ": another rule at 0x" << std::hex << address << std::dec);
    }
  }
  BOOST_TEST_MESSAGE(path << ": " << tally.rules << " rules, " << tally.unequal << " unequal");
  return tally;
}

// Returns the files of this process, and OpenSSL's, which contains much hand-written code.
std::vector<std::string> own_files() {
  ::dlopen("libcrypto.so.3", RTLD_LAZY);
  std::vector<std::string> paths{"/proc/self/exe"};
  const auto note = [](dl_phdr_info* info, std::size_t, void* to) {
    const std::string path = info->dlpi_name;
    if (path.starts_with('/')) static_cast<std::vector<std::string>*>(to)->push_back(path);
    return 0;
  };
  ::dl_iterate_phdr(note, &paths);
  return paths;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_rules_test)

BOOST_AUTO_TEST_CASE(rules_of_own_program_and_libraries_equal_those_of_libdw) {
  ::elf_version(EV_CURRENT);
  for (const std::string& path : own_files()) {
    const Tally tally = compare_rules(path);
    BOOST_TEST(tally.rules > 0u);
    BOOST_TEST(tally.unequal == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::stacks_rules_test
