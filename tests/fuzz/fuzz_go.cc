// Reads any bytes as the function table of a Go program, and as the file that contains it. Checks
// that the work is limited by the size of the table.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/stacks/go_table.hpp"

using namespace ctprof;

namespace {

constexpr FileAddress kStart = 0x1000, kEnd = 0x1400;

// Each pair in a table of values takes two bytes.
void look_up(const GoTable& table, const ElfFile& file) {
  for (FileAddress address = kStart; address < kEnd; address += 7) {
    const std::uint64_t before = table.steps();
    table.find_name(address);
    table.find_rule(address);
    if (table.steps() - before > table.get_memory_size() / 2 + 1) std::abort();
    if (table.find_inlined(file, address).size() > GoTable::kMaxInlined) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ElfFile file(bytes);
  look_up(find_go_table(file), file);
  for (const RegisterNumbers& registers : {kX86Registers, kArmRegisters}) {
    GoTable table(std::string(bytes), kStart, registers);
    table.set_text_start(kStart);
    table.set_function_data(kStart);
    table.describes_functions(file, kStart);
    look_up(table, file);
  }
  return 0;
}
