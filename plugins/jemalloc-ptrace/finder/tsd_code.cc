#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

#include <elf.h>

#include <cstring>

#include "core/x86/x86_decoder.hpp"

namespace ctprof::jemalloc {

// --- x86_64 ---
//
//     mov slot(%rip), %rcx                    the variable's offset, from a relocated slot
//     mov %fs:0x338(%rcx), %rdx               the counter
//     add (%r8,%rsi,8), %rdx; ...; mov %rdx, %fs:0x338(%rcx)
//
// In a program the first line is `mov $-2632, %rcx`, or the access itself contains the whole
// offset. Instructions that CodeReader does not handle make the registers that they may write
// unknown.

namespace x86_64 {
namespace {

using Kind = Value::Kind;
using Map = X86Instruction::Map;

constexpr unsigned kRax = 0;
constexpr unsigned kRdx = 2;
constexpr unsigned kIndirectCall = 2;            // field reg of opcode FF
constexpr std::uint32_t kCallClobbers = 0x0FC7;  // rax, rcx, rdx, rsi, rdi, r8 to r11
enum Arithmetic : unsigned { kAdd = 0, kSub = 5, kCompare = 7 };

class CodeReader {
 public:
  void step(const X86Instruction& i, std::uint64_t next) {
    next_address_ = next;
    if (i.map == Map::OneByte) return step_one_byte_opcode(i);
    if (i.map == Map::TwoByte) return step_two_byte_opcode(i);
    forget_operands(i);
  }

  std::vector<TlsAddress> take() { return registers_.take_places(); }

 private:
  void step_one_byte_opcode(const X86Instruction& i) {
    if (i.opcode < 0x40) return arithmetic(i);
    if (i.opcode >= 0xB8 && i.opcode <= 0xBF)
      return registers_.set(i.reg, i.is_64_bit ? make_constant(i.immediate) : Value{});
    if ((i.opcode & 0xF0) == 0x50) return push_or_pop(i);
    switch (i.opcode) {
      case 0x81:
      case 0x83: return arithmetic_with_number(i);
      case 0x89: return move(i, false);
      case 0x8B: return move(i, true);
      case 0x8D:
        return registers_.set(i.reg, i.is_64_bit && i.memory ? compute_address(i) : Value{});
      case 0xC7:
        return i.memory ? void()
                        : registers_.set(i.rm, i.is_64_bit ? make_constant(i.immediate) : Value{});
      case 0xE8: return call();
      case 0x80:
      case 0x84:
      case 0x85:
      case 0x88:
      case 0xC6: return;  // they write a byte or nothing; a counter is never stored as bytes
      default: return step_other_opcode(i);
    }
  }

  void arithmetic(const X86Instruction& i) {
    const unsigned operation = i.opcode >> 3;
    const unsigned form = i.opcode & 7;
    if (operation == kCompare) return;
    if (form > 3) return registers_.set_unknown(kRax);
    const bool add = operation == kAdd && i.is_64_bit && (form & 1) != 0;
    if (form > 1)
      return registers_.set(i.reg, add ? add_values(registers_[i.reg], read_operand(i)) : Value{});
    if (!i.memory)
      return registers_.set(i.rm, add ? add_values(registers_[i.rm], registers_[i.reg]) : Value{});
    const Value to = compute_address(i);
    if (add && to.is(Kind::Address) && !registers_[i.reg].is(Kind::Constant))
      registers_.add_place(to.place);
  }

  void arithmetic_with_number(const X86Instruction& i) {
    const unsigned operation = i.reg & 7;
    if (i.memory || operation == kCompare) return;
    const bool is_known = i.is_64_bit && (operation == kAdd || operation == kSub);
    const std::int64_t number = operation == kSub ? -i.immediate : i.immediate;
    registers_.set(i.rm, is_known ? add_values(registers_[i.rm], make_constant(number)) : Value{});
  }

  void move(const X86Instruction& i, bool is_load) {
    if (is_load) return registers_.set(i.reg, i.is_64_bit ? read_operand(i) : Value{});
    if (!i.memory) return registers_.set(i.rm, i.is_64_bit ? registers_[i.reg] : Value{});
    const Value to = compute_address(i);
    if (i.is_64_bit && to.is(Kind::Address)) registers_.handle_store(i.reg, to.place);
  }

  void push_or_pop(const X86Instruction& i) {
    if (i.opcode >= 0x58) registers_.set_unknown(i.reg);
  }

  void call() {
    for (unsigned number = 0; number < 16; ++number)
      if ((kCallClobbers >> number & 1) != 0) registers_.set_unknown(number);
  }

  void step_other_opcode(const X86Instruction& i) {
    const unsigned extension = i.reg & 7;
    if (i.opcode == 0xFF && extension == kIndirectCall) return call();
    if (i.opcode == 0x98) return registers_.set_unknown(kRax);
    if (i.opcode == 0x99) return registers_.set_unknown(kRdx);
    if (i.opcode == 0xA8 || i.opcode == 0xA9) return;  // TEST
    if (i.opcode >= 0xA4 && i.opcode <= 0xAF)
      return call();  // string instructions: they write fewer registers than a call
    if (i.opcode == 0xF6 || i.opcode == 0xF7) return multiply_or_test(i, extension);
    if (!i.has_modrm) return;
    const bool writes_only_rm = (i.opcode & 0xFE) == 0xC0 || (i.opcode & 0xFC) == 0xD0 ||
                                (i.opcode & 0xFE) == 0xFE || i.opcode == 0x8F;
    if (writes_only_rm && !i.memory) registers_.set_unknown(i.rm);
    if (!writes_only_rm) forget_operands(i);
  }

  void multiply_or_test(const X86Instruction& i, unsigned extension) {
    if (extension < 2) return;
    if (extension < 4 && !i.memory) return registers_.set_unknown(i.rm);
    registers_.set_unknown(kRax);
    registers_.set_unknown(kRdx);
  }

  void step_two_byte_opcode(const X86Instruction& i) {
    const bool is_branch_or_hint =
        (i.opcode & 0xF0) == 0x80 || (i.opcode >= 0x18 && i.opcode <= 0x1F);
    const bool is_vector_only = i.opcode == 0x10 || i.opcode == 0x11 || i.opcode == 0x28 ||
                                i.opcode == 0x29 || i.opcode == 0x6F || i.opcode == 0x7F ||
                                i.opcode == 0xEF || i.opcode == 0x57;
    if (!is_branch_or_hint && !is_vector_only) forget_operands(i);
  }

  void forget_operands(const X86Instruction& i) {
    registers_.set_unknown(i.reg);
    if (i.has_modrm && !i.memory) registers_.set_unknown(i.rm);
  }

  // Returns the address of a memory operand.
  Value compute_address(const X86Instruction& i) const {
    const X86Memory& memory = *i.memory;
    Value at = make_constant(memory.displacement);
    if (memory.is_rip_relative)
      at = make_constant(
          add_wrapping(static_cast<std::int64_t>(next_address_), memory.displacement));
    if (i.uses_fs) at = add_values(make_thread_pointer(), at);
    if (memory.base != X86Memory::kNone) at = add_values(registers_[memory.base], at);
    if (memory.index != X86Memory::kNone)
      at = add_values(at, memory.scale == 1 ? registers_[memory.index] : Value{});
    return at;
  }

  // Returns the value of the right-hand side of a 64-bit instruction. The word at the thread
  // pointer contains the thread pointer itself.
  Value read_operand(const X86Instruction& i) const {
    if (!i.memory) return registers_[i.rm];
    const Value at = compute_address(i);
    if (at.is(Kind::Address))
      return at.place == TlsAddress{} ? make_thread_pointer() : make_loaded(at.place);
    return i.memory->is_rip_relative && at.is(Kind::Constant)
               ? make_slot(static_cast<std::uint64_t>(at.place.offset))
               : Value{};
  }

  Registers registers_;
  std::uint64_t next_address_ = 0;
};

}  // namespace
}  // namespace x86_64

std::vector<TlsAddress> find_added_places_x86_64(const Code& code) {
  x86_64::CodeReader reader;
  for (std::size_t at = 0; at < code.bytes.size();) {
    const auto instruction = decode_x86_64(code.bytes.subspan(at));
    if (!instruction || (instruction->has_short_address && instruction->memory)) break;
    at += instruction->length;
    reader.step(*instruction, code.address + at);
  }
  return reader.take();
}

// --- aarch64 ---
//
//     adrp x7, page; ldr x7, [x7, #slot]    the variable's offset, from a relocated slot
//     mrs  x6, tpidr_el0; add x12, x6, x7   its address
//     ldr  x5, [x12, #888]; add x13, x2, x5; str x13, [x12, #888]
//
// For instructions that are not in the list below, the registers that they write become unknown.

namespace aarch64 {
namespace {

// As a source of additions it reads zero, as a base it is the stack pointer.
constexpr unsigned kZeroRegister = 31;
constexpr unsigned kCallClobbers = 19;  // x0 to x18

struct Word {
  std::uint32_t bits;

  std::uint32_t field(unsigned low, unsigned size) const {
    return (bits >> low) & ((1u << size) - 1);
  }
  bool matches(std::uint32_t mask, std::uint32_t value) const { return (bits & mask) == value; }
  unsigned destination() const { return field(0, 5); }
  unsigned first_source() const { return field(5, 5); }
  unsigned second_source() const { return field(16, 5); }
};

std::int64_t signed_field(std::uint32_t value, unsigned size) {
  const std::uint32_t sign = 1u << (size - 1);
  return static_cast<std::int64_t>(value ^ sign) - static_cast<std::int64_t>(sign);
}

class CodeReader {
 public:
  void step(Word w, std::uint64_t address) {
    if (w.matches(0xFC000000, 0x94000000) || w.matches(0xFFFFFC1F, 0xD63F0000)) return call();
    if (w.matches(0x9F000000, 0x90000000)) return set_page_address(w, address);
    if (w.matches(0xFFFFFFE0, 0xD53BD040))
      return registers_.set(w.destination(), make_thread_pointer());
    if (w.matches(0xFF800000, 0x91000000)) return add_number(w);
    if (w.matches(0xFF200000, 0x8B000000)) return add_register(w);
    if (w.matches(0xFFE0FFE0, 0xAA0003E0))
      return registers_.set(w.destination(), registers_[w.second_source()]);
    if (w.matches(0xFF800000, 0xD2800000))
      return registers_.set(w.destination(), make_constant(read_chunk(w)));
    if (w.matches(0xFF800000, 0xF2800000)) return set_wide_constant_part(w);
    if (w.matches(0xFFC00000, 0xF9400000)) return load(w);
    if (w.matches(0xFFC00000, 0xF9000000)) return store(w);
    if (w.matches(0x0A000000, 0x08000000)) return other_memory(w);
    if (w.matches(0x1C000000, 0x14000000)) return;  // branches and system instructions
    registers_.set_unknown(w.destination());
  }

  std::vector<TlsAddress> take() { return registers_.take_places(); }

 private:
  void call() {
    for (unsigned number = 0; number < kCallClobbers; ++number) registers_.set_unknown(number);
  }

  void set_page_address(Word w, std::uint64_t address) {
    const std::int64_t pages = signed_field(w.field(5, 19) << 2 | w.field(29, 2), 21);
    registers_.set(
        w.destination(),
        make_constant(add_wrapping(static_cast<std::int64_t>(address & ~0xfffULL), pages * 4096)));
  }

  void add_number(Word w) {
    const std::int64_t number = static_cast<std::int64_t>(w.field(10, 12))
                                << (w.field(22, 1) != 0 ? 12 : 0);
    registers_.set(w.destination(),
                   w.first_source() == kZeroRegister
                       ? Value{}
                       : add_values(registers_[w.first_source()], make_constant(number)));
  }

  void add_register(Word w) {
    const bool is_shifted = w.field(10, 6) != 0 || w.field(22, 2) != 0;
    const Value addend =
        is_shifted || w.second_source() == kZeroRegister ? Value{} : registers_[w.second_source()];
    // An address plus an unknown value is not a known place.
    registers_.set(w.destination(), w.first_source() == kZeroRegister
                                        ? Value{}
                                        : add_values(registers_[w.first_source()], addend));
  }

  static std::int64_t read_chunk(Word w) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(w.field(5, 16))
                                     << (16 * w.field(21, 2)));
  }

  void set_wide_constant_part(Word w) {
    if (!registers_[w.destination()].is(Value::Kind::Constant))
      return registers_.set_unknown(w.destination());
    const std::uint64_t kept_bits_mask = ~(0xffffULL << (16 * w.field(21, 2)));
    const auto kept_bits =
        static_cast<std::uint64_t>(registers_[w.destination()].place.offset) & kept_bits_mask;
    registers_.set(w.destination(),
                   make_constant(static_cast<std::int64_t>(kept_bits) | read_chunk(w)));
  }

  // Returns the target of a 64-bit access with an immediate offset.
  Value find_target(Word w) const {
    if (w.first_source() == kZeroRegister) return {};
    return add_values(registers_[w.first_source()],
                      make_constant(static_cast<std::int64_t>(w.field(10, 12)) * 8));
  }

  void load(Word w) {
    const Value from = find_target(w);
    Value value;
    if (from.is(Value::Kind::Address)) value = make_loaded(from.place);
    if (from.is(Value::Kind::Constant))
      value = make_slot(static_cast<std::uint64_t>(from.place.offset));
    registers_.set(w.destination(), value);
  }

  void store(Word w) {
    const Value to = find_target(w);
    if (to.is(Value::Kind::Address)) registers_.handle_store(w.destination(), to.place);
  }

  // Handles other loads and stores: all registers that they may write become unknown, including a
  // base that is updated.
  void other_memory(Word w) {
    registers_.set_unknown(w.destination());
    const bool is_pair = w.matches(0x3A000000, 0x28000000);
    if (is_pair) registers_.set_unknown(w.field(10, 5));
    const bool updates_base =
        is_pair ? w.field(23, 1) != 0 : w.matches(0x3B200000, 0x38000000) && w.field(10, 1) != 0;
    if (updates_base) registers_.set_unknown(w.first_source());
  }

  Registers registers_;
};

}  // namespace
}  // namespace aarch64

std::vector<TlsAddress> find_added_places_aarch64(const Code& code) {
  aarch64::CodeReader reader;
  for (std::size_t at = 0; at + 4 <= code.bytes.size(); at += 4) {
    aarch64::Word word{};
    std::memcpy(&word.bits, code.bytes.data() + at, sizeof word.bits);
    reader.step(word, code.address + at);
  }
  return reader.take();
}

// --- both machines ---

namespace {

// Returns whether the counters are adjacent (5.0 to 5.2), or separated by the event's threshold
// (since 5.3).
bool are_counter_pair(const TlsAddress& allocated, const TlsAddress& deallocated) {
  if (allocated.slot != deallocated.slot) return false;
  const auto distance =
      static_cast<std::uint64_t>(deallocated.offset) - static_cast<std::uint64_t>(allocated.offset);
  return distance == 8 || distance == 16;
}

}  // namespace

std::vector<TlsAddress> find_added_places(std::uint16_t machine, const Code& code) {
  switch (machine) {
    case EM_X86_64: return find_added_places_x86_64(code);
    case EM_AARCH64: return find_added_places_aarch64(code);
    default: return {};
  }
}

std::optional<CounterPlaces> find_counters(std::uint16_t machine, const Code& malloc,
                                           const Code& free) {
  const auto malloc_places = find_added_places(machine, malloc);
  const auto free_places = find_added_places(machine, free);
  std::optional<CounterPlaces> found;
  for (const TlsAddress& allocated : malloc_places)
    for (const TlsAddress& deallocated : free_places) {
      if (!are_counter_pair(allocated, deallocated)) continue;
      if (found) return std::nullopt;
      found = CounterPlaces{allocated, deallocated};
    }
  return found;
}

}  // namespace ctprof::jemalloc
