#include "core/stacks/frame_expression.hpp"

#include <array>
#include <cstddef>

#include "core/elf/byte_cursor.hpp"

namespace ctprof {
namespace {

enum Operation : std::uint8_t {
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s,
  kConst2u,
  kConst2s,
  kConst4u,
  kConst4s,
  kConst8u,
  kConst8s,
  kConstu,
  kConsts,
  kAnd = 0x1a,
  kMinus = 0x1c,
  kPlus = 0x22,
  kPlusConst,
  kShl,
  kGe = 0x2a,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
};

constexpr std::size_t kMaxStackDepth = 16;

// Adds with wrap-around, as processors do.
std::int64_t add_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t negate_wrapping(std::int64_t a) {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
}

// A stack machine; after an error, it stays in the failed state.
class ExpressionMachine {
 public:
  ExpressionMachine(FileAddress address, const RegisterNumbers& registers, bool& uses_address)
      : address_(address), registers_(registers), uses_address_(uses_address) {}

  void push(const FrameValue& value) {
    if (size_ == kMaxStackDepth) return fail();
    stack_[size_++] = value;
  }
  void run(ByteCursor& code) {
    while (ok_ && code.ok() && !code.at_end()) step(code.get<std::uint8_t>(), code);
  }
  bool has_top() const { return ok_ && size_ > 0; }
  const FrameValue& top() const { return stack_[size_ - 1]; }

 private:
  void fail() { ok_ = false; }
  void push_number(std::int64_t number) { push({FrameValue::Base::Constant, false, number, 0}); }

  FrameValue pop() {
    if (size_ == 0) fail();
    return ok_ ? stack_[--size_] : FrameValue{};
  }
  std::int64_t pop_number() {
    const FrameValue value = pop();
    if (value.base != FrameValue::Base::Constant || value.is_stored) fail();
    return value.offset;
  }

  void add(std::int64_t number) {
    FrameValue value = pop();
    std::int64_t& target = value.is_stored ? value.added : value.offset;
    target = add_wrapping(target, number);
    push(value);
  }
  void load() {
    FrameValue value = pop();
    if (value.is_stored || value.base == FrameValue::Base::Constant) fail();
    value.is_stored = true;
    push(value);
  }
  void push_register(std::uint64_t number, std::int64_t offset) {
    if (number == registers_.sp) return push({FrameValue::Base::Sp, false, offset, 0});
    if (number == registers_.bp) return push({FrameValue::Base::Bp, false, offset, 0});
    if (number != registers_.ra || registers_.has_link) return fail();
    uses_address_ = true;
    push_number(add_wrapping(static_cast<std::int64_t>(address_), offset));
  }

  void step(std::uint8_t operation, ByteCursor& code) {
    if (operation >= kBreg0 && operation <= kBreg31)
      return push_register(operation - kBreg0, code.read_signed_leb());
    if (operation >= kLit0 && operation <= kLit31) return push_number(operation - kLit0);
    if (operation >= kConst1u && operation <= kConsts) return push_constant(operation, code);
    calculate(operation, code);
  }

  void push_constant(std::uint8_t operation, ByteCursor& code) {
    switch (operation) {
      case kConst1u: return push_number(code.get<std::uint8_t>());
      case kConst1s: return push_number(code.get<std::int8_t>());
      case kConst2u: return push_number(code.get<std::uint16_t>());
      case kConst2s: return push_number(code.get<std::int16_t>());
      case kConst4u: return push_number(code.get<std::uint32_t>());
      case kConst4s: return push_number(code.get<std::int32_t>());
      case kConstu: return push_number(static_cast<std::int64_t>(code.read_unsigned_leb()));
      case kConsts: return push_number(code.read_signed_leb());
      default: return push_number(code.get<std::int64_t>());
    }
  }

  void calculate(std::uint8_t operation, ByteCursor& code) {
    switch (operation) {
      case kDeref: return load();
      case kPlusConst: return add(static_cast<std::int64_t>(code.read_unsigned_leb()));
      case kPlus: return add(pop_number());
      case kMinus: return add(negate_wrapping(pop_number()));
      case kAnd: return push_number(pop_number() & pop_number());
      case kGe: return compare(pop_number());
      case kShl: return shift(pop_number());
      default: return fail();
    }
  }
  void compare(std::int64_t right) { push_number(pop_number() >= right ? 1 : 0); }
  void shift(std::int64_t by) {
    const auto value = static_cast<std::uint64_t>(pop_number());
    if (by < 0 || by > 63) return fail();
    push_number(static_cast<std::int64_t>(value << by));
  }

  FileAddress address_;
  const RegisterNumbers& registers_;
  bool& uses_address_;
  std::array<FrameValue, kMaxStackDepth> stack_;
  std::size_t size_ = 0;
  bool ok_ = true;
};

}  // namespace

std::optional<FrameValue> evaluate_expression(std::string_view expression, FileAddress address,
                                              bool starts_with_cfa,
                                              const RegisterNumbers& registers,
                                              bool& uses_address) {
  ExpressionMachine machine(address, registers, uses_address);
  if (starts_with_cfa) machine.push({FrameValue::Base::Cfa, false, 0, 0});
  ByteCursor code(expression);
  machine.run(code);
  return code.ok() && machine.has_top() ? std::optional(machine.top()) : std::nullopt;
}

}  // namespace ctprof
