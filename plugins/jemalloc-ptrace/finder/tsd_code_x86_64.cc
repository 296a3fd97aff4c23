// The counters in x86_64 code; tsd_code.hpp tells what is looked for.
//
//     mov slot(%rip), %rcx                    the variable's distance, from a filled slot
//     mov %fs:0x338(%rcx), %rdx               the counter
//     add (%r8,%rsi,8), %rdx; ...; mov %rdx, %fs:0x338(%rcx)
//
// In a program the first line is `mov $-2632, %rcx`, or the whole distance is in the access.
// Instructions that are not handled below make us forget what they may write.

#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"
#include "plugins/jemalloc-ptrace/finder/x86_decode.hpp"

namespace ctprof::jemalloc {
namespace {

using Kind = Value::Kind;
using Map = X86Instruction::Map;

constexpr unsigned kRax = 0;
constexpr unsigned kRdx = 2;
constexpr unsigned kIndirectCall = 2;            // of opcode FF
constexpr std::uint32_t kCallClobbers = 0x0FC7;  // rax, rcx, rdx, rsi, rdi, r8 to r11
enum Arithmetic : unsigned { kAdd = 0, kSub = 5, kCompare = 7 };

class Reader {
 public:
  void step(const X86Instruction& i, std::uint64_t next) {
    next_ = next;
    if (i.map == Map::One) return one(i);
    if (i.map == Map::Two) return two(i);
    forget_operands(i);
  }

  std::vector<TlsAddress> take() { return registers_.take(); }

 private:
  void one(const X86Instruction& i) {
    if (i.opcode < 0x40) return arithmetic(i);
    if (i.opcode >= 0xB8 && i.opcode <= 0xBF)
      return registers_.set(i.reg, i.wide ? constant(i.immediate) : Value{});
    if ((i.opcode & 0xF0) == 0x50) return push_or_pop(i);
    switch (i.opcode) {
      case 0x81:
      case 0x83: return arithmetic_with_number(i);
      case 0x89: return move(i, false);
      case 0x8B: return move(i, true);
      case 0x8D: return registers_.set(i.reg, i.wide && i.memory ? address(i) : Value{});
      case 0xC7:
        return i.memory ? void() : registers_.set(i.rm, i.wide ? constant(i.immediate) : Value{});
      case 0xE8: return call();
      case 0x80:
      case 0x84:
      case 0x85:
      case 0x88:
      case 0xC6: return;  // they write a byte or nothing; a counter is never kept in bytes
      default: return other(i);
    }
  }

  void arithmetic(const X86Instruction& i) {
    const unsigned operation = i.opcode >> 3;
    const unsigned form = i.opcode & 7;
    if (operation == kCompare) return;
    if (form > 3) return registers_.forget(kRax);
    const bool add = operation == kAdd && i.wide && (form & 1) != 0;
    if (form > 1) return registers_.set(i.reg, add ? sum(registers_[i.reg], operand(i)) : Value{});
    if (!i.memory)
      return registers_.set(i.rm, add ? sum(registers_[i.rm], registers_[i.reg]) : Value{});
    const Value to = address(i);
    if (add && to.is(Kind::Address) && !registers_[i.reg].is(Kind::Constant))
      registers_.added_to(to.place);
  }

  void arithmetic_with_number(const X86Instruction& i) {
    const unsigned operation = i.reg & 7;
    if (i.memory || operation == kCompare) return;
    const bool known = i.wide && (operation == kAdd || operation == kSub);
    const std::int64_t number = operation == kSub ? -i.immediate : i.immediate;
    registers_.set(i.rm, known ? sum(registers_[i.rm], constant(number)) : Value{});
  }

  void move(const X86Instruction& i, bool to_register) {
    if (to_register) return registers_.set(i.reg, i.wide ? operand(i) : Value{});
    if (!i.memory) return registers_.set(i.rm, i.wide ? registers_[i.reg] : Value{});
    const Value to = address(i);
    if (i.wide && to.is(Kind::Address)) registers_.stored(i.reg, to.place);
  }

  void push_or_pop(const X86Instruction& i) {
    if (i.opcode >= 0x58) registers_.forget(i.reg);
  }

  void call() {
    for (unsigned number = 0; number < 16; ++number)
      if ((kCallClobbers >> number & 1) != 0) registers_.forget(number);
  }

  void other(const X86Instruction& i) {
    const unsigned extension = i.reg & 7;
    if (i.opcode == 0xFF && extension == kIndirectCall) return call();
    if (i.opcode == 0x98) return registers_.forget(kRax);
    if (i.opcode == 0x99) return registers_.forget(kRdx);
    if (i.opcode == 0xA8 || i.opcode == 0xA9) return;  // TEST
    if (i.opcode >= 0xA4 && i.opcode <= 0xAF)
      return call();  // on strings: fewer registers than a call
    if (i.opcode == 0xF6 || i.opcode == 0xF7) return multiply_or_test(i, extension);
    if (!i.has_modrm) return;
    const bool only_rm = (i.opcode & 0xFE) == 0xC0 || (i.opcode & 0xFC) == 0xD0 ||
                         (i.opcode & 0xFE) == 0xFE || i.opcode == 0x8F;
    if (only_rm && !i.memory) registers_.forget(i.rm);
    if (!only_rm) forget_operands(i);
  }

  void multiply_or_test(const X86Instruction& i, unsigned extension) {
    if (extension < 2) return;
    if (extension < 4 && !i.memory) return registers_.forget(i.rm);
    registers_.forget(kRax);
    registers_.forget(kRdx);
  }

  void two(const X86Instruction& i) {
    const bool branch_or_hint = (i.opcode & 0xF0) == 0x80 || (i.opcode >= 0x18 && i.opcode <= 0x1F);
    const bool whole_vectors = i.opcode == 0x10 || i.opcode == 0x11 || i.opcode == 0x28 ||
                               i.opcode == 0x29 || i.opcode == 0x6F || i.opcode == 0x7F ||
                               i.opcode == 0xEF || i.opcode == 0x57;
    if (!branch_or_hint && !whole_vectors) forget_operands(i);
  }

  void forget_operands(const X86Instruction& i) {
    registers_.forget(i.reg);
    if (i.has_modrm && !i.memory) registers_.forget(i.rm);
  }

  // Where a memory operand is.
  Value address(const X86Instruction& i) const {
    const X86Memory& memory = *i.memory;
    Value at = constant(memory.displacement);
    if (memory.rip)
      at = constant(wrapped_sum(static_cast<std::int64_t>(next_), memory.displacement));
    if (i.fs) at = sum(thread_pointer(), at);
    if (memory.base != X86Memory::kNone) at = sum(registers_[memory.base], at);
    if (memory.index != X86Memory::kNone)
      at = sum(at, memory.scale == 1 ? registers_[memory.index] : Value{});
    return at;
  }

  // What the right-hand side of a 64-bit instruction is. The thread pointer is kept where it points
  // to.
  Value operand(const X86Instruction& i) const {
    if (!i.memory) return registers_[i.rm];
    const Value at = address(i);
    if (at.is(Kind::Address)) return at.place == TlsAddress{} ? thread_pointer() : loaded(at.place);
    return i.memory->rip && at.is(Kind::Constant)
               ? slot(static_cast<std::uint64_t>(at.place.offset))
               : Value{};
  }

  Registers registers_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::vector<TlsAddress> places_added_to_x86_64(const Code& code) {
  Reader reader;
  for (std::size_t at = 0; at < code.bytes.size();) {
    const auto instruction = decode_x86_64(code.bytes.subspan(at));
    if (!instruction) break;
    at += instruction->length;
    reader.step(*instruction, code.address + at);
  }
  return reader.take();
}

}  // namespace ctprof::jemalloc
