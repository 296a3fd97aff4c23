// The counters in aarch64 code; tsd_code.hpp tells what is looked for.
//
//     adrp x7, page; ldr x7, [x7, #slot]    the variable's distance, from a filled slot
//     mrs  x6, tpidr_el0; add x12, x6, x7   its address
//     ldr  x5, [x12, #888]; add x13, x2, x5; str x13, [x12, #888]
//
// Instructions that are not in the list below make us forget what they write.

#include <cstring>

#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr unsigned kZeroRegister =
    31;  // as a source of additions it reads zero, as a base it is the stack
constexpr unsigned kCallClobbers = 19;  // x0 to x18

struct Word {
  std::uint32_t bits;

  std::uint32_t field(unsigned low, unsigned size) const {
    return (bits >> low) & ((1u << size) - 1);
  }
  bool like(std::uint32_t mask, std::uint32_t value) const { return (bits & mask) == value; }
  unsigned d() const { return field(0, 5); }
  unsigned n() const { return field(5, 5); }
  unsigned m() const { return field(16, 5); }
};

std::int64_t signed_field(std::uint32_t value, unsigned size) {
  const std::uint32_t sign = 1u << (size - 1);
  return static_cast<std::int64_t>(value ^ sign) - static_cast<std::int64_t>(sign);
}

class Reader {
 public:
  void step(Word w, std::uint64_t address) {
    if (w.like(0xFC000000, 0x94000000) || w.like(0xFFFFFC1F, 0xD63F0000)) return call();
    if (w.like(0x9F000000, 0x90000000)) return page(w, address);
    if (w.like(0xFFFFFFE0, 0xD53BD040)) return registers_.set(w.d(), thread_pointer());
    if (w.like(0xFF800000, 0x91000000)) return add_number(w);
    if (w.like(0xFF200000, 0x8B000000)) return add_register(w);
    if (w.like(0xFFE0FFE0, 0xAA0003E0)) return registers_.set(w.d(), registers_[w.m()]);
    if (w.like(0xFF800000, 0xD2800000)) return registers_.set(w.d(), constant(chunk(w)));
    if (w.like(0xFF800000, 0xF2800000)) return keep(w);
    if (w.like(0xFFC00000, 0xF9400000)) return load(w);
    if (w.like(0xFFC00000, 0xF9000000)) return store(w);
    if (w.like(0x0A000000, 0x08000000)) return other_memory(w);
    if (w.like(0x1C000000, 0x14000000)) return;  // branches and system instructions
    registers_.forget(w.d());
  }

  std::vector<TlsAddress> take() { return registers_.take(); }

 private:
  void call() {
    for (unsigned number = 0; number < kCallClobbers; ++number) registers_.forget(number);
  }

  void page(Word w, std::uint64_t address) {
    const std::int64_t pages = signed_field(w.field(5, 19) << 2 | w.field(29, 2), 21);
    registers_.set(
        w.d(), constant(wrapped_sum(static_cast<std::int64_t>(address & ~0xfffULL), pages * 4096)));
  }

  void add_number(Word w) {
    const std::int64_t number = static_cast<std::int64_t>(w.field(10, 12))
                                << (w.field(22, 1) != 0 ? 12 : 0);
    registers_.set(w.d(),
                   w.n() == kZeroRegister ? Value{} : sum(registers_[w.n()], constant(number)));
  }

  void add_register(Word w) {
    const bool shifted = w.field(10, 6) != 0 || w.field(22, 2) != 0;
    const Value addend = shifted || w.m() == kZeroRegister ? Value{} : registers_[w.m()];
    // An address plus something that we do not know is no place any more.
    registers_.set(w.d(), w.n() == kZeroRegister ? Value{} : sum(registers_[w.n()], addend));
  }

  static std::int64_t chunk(Word w) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(w.field(5, 16))
                                     << (16 * w.field(21, 2)));
  }

  void keep(Word w) {
    if (!registers_[w.d()].is(Value::Kind::Constant)) return registers_.forget(w.d());
    const std::uint64_t hole = ~(0xffffULL << (16 * w.field(21, 2)));
    const auto kept = static_cast<std::uint64_t>(registers_[w.d()].place.offset) & hole;
    registers_.set(w.d(), constant(static_cast<std::int64_t>(kept) | chunk(w)));
  }

  // What a 64-bit access with an offset in it reaches.
  Value target(Word w) const {
    if (w.n() == kZeroRegister) return {};
    return sum(registers_[w.n()], constant(static_cast<std::int64_t>(w.field(10, 12)) * 8));
  }

  void load(Word w) {
    const Value from = target(w);
    Value value;
    if (from.is(Value::Kind::Address)) value = loaded(from.place);
    if (from.is(Value::Kind::Constant)) value = slot(static_cast<std::uint64_t>(from.place.offset));
    registers_.set(w.d(), value);
  }

  void store(Word w) {
    const Value to = target(w);
    if (to.is(Value::Kind::Address)) registers_.stored(w.d(), to.place);
  }

  // Loads and stores of other kinds: whatever may be written is forgotten, a base that moves too.
  void other_memory(Word w) {
    registers_.forget(w.d());
    const bool pair = w.like(0x3A000000, 0x28000000);
    if (pair) registers_.forget(w.field(10, 5));
    const bool moves =
        pair ? w.field(23, 1) != 0 : w.like(0x3B200000, 0x38000000) && w.field(10, 1) != 0;
    if (moves) registers_.forget(w.n());
  }

  Registers registers_;
};

}  // namespace

std::vector<TlsAddress> places_added_to_aarch64(const Code& code) {
  Reader reader;
  for (std::size_t at = 0; at + 4 <= code.bytes.size(); at += 4) {
    Word word{};
    std::memcpy(&word.bits, code.bytes.data() + at, sizeof word.bits);
    reader.step(word, code.address + at);
  }
  return reader.take();
}

}  // namespace ctprof::jemalloc
