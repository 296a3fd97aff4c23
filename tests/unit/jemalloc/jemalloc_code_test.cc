// Tests finding the counters in the code of malloc and free: Debian's builds of three versions for
// two machines, and code without counters.

#include <boost/test/unit_test.hpp>

#include <elf.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/x86/x86_decoder.hpp"
#include "plugins/jemalloc-ptrace/finder/stripped_program.hpp"
#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"
#include "source_dir.hpp"

namespace jemalloc_code_test {
using namespace ctprof;
using namespace ctprof::jemalloc;
using Bytes = std::vector<std::uint8_t>;

namespace {

struct RecordedCode {
  std::uint64_t address = 0;
  Bytes bytes;
  Code code() const { return {address, bytes}; }
};

Bytes bytes_of(const std::string& hex) {
  Bytes bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return bytes;
}

// Returns recorded code by "version machine function".
const std::map<std::string, RecordedCode>& recorded() {
  static const auto all = [] {
    std::map<std::string, RecordedCode> functions;
    std::ifstream file(CTPROF_SOURCE_DIR "/tests/unit/jemalloc/jemalloc_code.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string version, machine, function, address, code;
      if (line.starts_with('#') || !(words >> version >> machine >> function >> address >> code))
        continue;
      functions[version + ' ' + machine + ' ' + function] = {std::stoull(address, nullptr, 16),
                                                             bytes_of(code)};
    }
    return functions;
  }();
  return all;
}

std::optional<CounterPlaces> counters_of(const std::string& version, const std::string& machine) {
  const auto& malloc = recorded().at(version + ' ' + machine + " malloc");
  const auto& free = recorded().at(version + ' ' + machine + " free");
  return find_counters(machine == "x86_64" ? EM_X86_64 : EM_AARCH64, malloc.code(), free.code());
}

struct Expected {
  const char* version;
  const char* machine;
  TlsAddress allocated;
  TlsAddress deallocated;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(jemalloc_code_test)

// Each prefix extends its own register: REX.R `reg`, REX.X the index, REX.B the base or `rm`.
BOOST_AUTO_TEST_CASE(decodes_each_operand_of_an_instruction) {
  struct Case {
    std::vector<std::uint8_t> bytes;
    unsigned reg, base, index, scale;
    std::int64_t displacement, immediate;
  };
  constexpr unsigned kNone = X86Memory::kNone;
  const std::vector<Case> cases{
      {{0x4b, 0x8d, 0x04, 0xd1}, 0, 9, 10, 8, 0, 0},                       // REX.XB
      {{0x4e, 0x8b, 0x1c, 0xe5, 0x10, 0, 0, 0}, 11, kNone, 12, 8, 16, 0},  // REX.RX
      {{0x42, 0x8b, 0x44, 0x28, 0xf8}, 0, 0, 13, 1, -8, 0},                // REX.X
      {{0x48, 0x8b, 0x04, 0x24}, 0, 4, kNone, 1, 0, 0},                    // the stack
      {{0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff}, 0, kNone, kNone, 1, -8, 0},
      {{0x49, 0x83, 0x44, 0x92, 0x7f, 0x80}, 0, 10, 2, 4, 127, -128},  // REX.B
      {{0xc4, 0xa1, 0x7a, 0x6f, 0x04, 0xd1}, 0, 1, 10, 8, 0, 0}};      // VEX.X
  for (std::size_t at = 0; at < cases.size(); ++at) {
    BOOST_TEST_CONTEXT("case " << at) {
      const Case& expected = cases[at];
      const auto found = decode_x86_64(expected.bytes);
      BOOST_REQUIRE((found && found->memory));
      BOOST_TEST(found->length == expected.bytes.size());
      BOOST_TEST(found->reg == expected.reg);
      BOOST_TEST(found->memory->base == expected.base);
      BOOST_TEST(found->memory->index == expected.index);
      BOOST_TEST(found->memory->scale == expected.scale);
      BOOST_TEST(found->memory->displacement == expected.displacement);
      BOOST_TEST(found->immediate == expected.immediate);
    }
  }
}

// The slots come from the thread-local relocations of the files, the offsets from mallctl or the
// source of the version.
BOOST_AUTO_TEST_CASE(finds_counters_of_each_version_and_machine) {
  const Expected all[] = {
      {"5.2.1", "x86_64", {0xaef98, 16}, {0xaef98, 24}},
      {"5.2.1", "aarch64", {0x84df8, 16}, {0x84df8, 24}},
      {"5.3.0", "x86_64", {0xccf78, 824}, {0xccf78, 840}},
      {"5.3.0", "aarch64", {0x9fce0, 888}, {0x9fce0, 904}},
      {"5.3.0-3", "x86_64", {0xcdf78, 824}, {0xcdf78, 840}},
      {"5.3.0-3", "aarch64", {0x9fcf0, 888}, {0x9fcf0, 904}},
      {"5.3.1", "x86_64", {0xe1f60, 936}, {0xe1f60, 952}},
      {"5.3.1", "aarch64", {0xafc40, 1008}, {0xafc40, 1024}},
  };
  for (const Expected& expected : all)
    BOOST_TEST_CONTEXT(expected.version << ' ' << expected.machine) {
      const auto found = counters_of(expected.version, expected.machine);
      BOOST_REQUIRE(found);
      BOOST_TEST((found->allocated == expected.allocated));
      BOOST_TEST((found->deallocated == expected.deallocated));
    }
}

BOOST_AUTO_TEST_CASE(finds_counters_of_a_program_without_a_slot) {
  const auto found = counters_of("5.3.0-program", "x86_64");
  BOOST_REQUIRE(found);
  BOOST_TEST((found->allocated == TlsAddress{0, -1808}));
  BOOST_TEST((found->deallocated == TlsAddress{0, -1792}));
}

BOOST_AUTO_TEST_CASE(finds_counters_with_offsets_in_the_instruction) {
  // mov %fs:-1808,%rdx; add (%rdi),%rdx; mov %rdx,%fs:-1808   and   add %rsi,%fs:-1800
  const Bytes malloc = bytes_of(
      "64488b1425f0f8ffff480317644889142"
      "5f0f8ffff");
  const Bytes free = bytes_of("6448013425f8f8ffff");
  const auto found = find_counters(EM_X86_64, {0, malloc}, {0, free});
  BOOST_REQUIRE(found);
  BOOST_TEST(found->allocated.offset == -1808);
  BOOST_TEST(found->deallocated.offset == -1800);
}

BOOST_AUTO_TEST_CASE(rejects_accesses_that_are_not_counters) {
  const auto places = [](const char* hex) { return find_added_places_x86_64({0, bytes_of(hex)}); };
  BOOST_TEST(places("64488304250001000001").empty());  // addq $1,%fs:0x100: adds a constant
  BOOST_TEST(places("6448290c2500010000").empty());    // sub %rcx,%fs:0x100
  BOOST_TEST(places("64018c2500010000").empty());      // 32-bit access
  BOOST_TEST(places("64488b142500010000480317"
                    "644889142508010000")
                 .empty());  // stored to another address
  BOOST_TEST(places("64488b142500010000"
                    "644889142500010000")
                 .empty());                        // no addition
  BOOST_TEST(places("48013c2500010000").empty());  // not thread-local
}

// A call may change registers, so their values are unknown afterwards.
BOOST_AUTO_TEST_CASE(calls_invalidate_registers) {
  BOOST_TEST(find_added_places_x86_64({0, bytes_of("48c7c100ffffff"
                                                   "6448017908")})
                 .size() == 1u);
  BOOST_TEST(find_added_places_x86_64({0, bytes_of("48c7c100ffffff"
                                                   "e800000000"
                                                   "6448017908")})
                 .empty());
}

BOOST_AUTO_TEST_CASE(rejects_code_with_two_pairs_of_counters) {
  const Bytes malloc = bytes_of(
      "6448013425f8f8ffff"
      "6448013425f8f0ffff");  // adds to -1800 and -3848
  const Bytes free = bytes_of(
      "644801342500f9ffff"
      "644801342500f1ffff");  // adds to -1792 and -3840
  BOOST_TEST(!find_counters(EM_X86_64, {0, malloc}, {0, free}));
}

BOOST_AUTO_TEST_CASE(has_no_result_for_other_machines) {
  const auto& malloc = recorded().at("5.3.0 x86_64 malloc");
  BOOST_TEST(find_added_places(EM_RISCV, malloc.code()).empty());
  BOOST_TEST(find_added_places(EM_AARCH64, malloc.code()).empty());
}

// Truncated code gives no result that differs from that of the whole code.
BOOST_AUTO_TEST_CASE(truncated_code_gives_no_wrong_result) {
  for (const auto& [name, function] : recorded()) BOOST_TEST_CONTEXT(name) {
      const std::uint16_t machine = name.find("x86_64") != name.npos ? EM_X86_64 : EM_AARCH64;
      const auto whole = find_added_places(machine, function.code());
      for (std::size_t size = 0; size < function.bytes.size(); ++size) {
        const Bytes part(function.bytes.begin(),
                         function.bytes.begin() + static_cast<std::ptrdiff_t>(size));
        for (const TlsAddress& place : find_added_places(machine, {function.address, part}))
          BOOST_TEST((std::find(whole.begin(), whole.end(), place) != whole.end()));
      }
    }
}

BOOST_AUTO_TEST_CASE(decodes_lengths_of_instructions) {
  const struct {
    const char* hex;
    std::size_t length;
  } all[] = {
      {"90", 1},
      {"f30f1efa", 4},
      {"55", 1},
      {"4157", 2},
      {"64488b042500000000", 9},
      {"48b80102030405060708", 10},
      {"66b80102", 4},
      {"e901020304", 5},
      {"0f8401020304", 6},
      {"7405", 2},
      {"c7840801020304aabbccdd", 11},
      {"66c70001aa", 5},
      {"f6c101", 3},
      {"48f7d8", 3},
      {"f7c101020304", 6},
      {"488d0401", 4},
      {"488d042501020304", 8},
      {"0fb60401", 4},
      {"660f3a0fc108", 6},
      {"660f3800c1", 5},
      {"c5f877", 3},
      {"c5f96fc1", 4},
      {"c4e3790fc108", 6},
      {"f0480fb111", 5},
      {"c8010203", 4},
      {"6690", 2},
      {"662e0f1f840000000000", 10},
      {"678d0401", 4},
      {"67a101020304", 6},
      {"62f1fe486f07", 6},  // EVEX: vmovdqu64 (%rdi), %zmm0
      {"62f37d4803c108", 7},
      {"8fe878c2c008", 6},  // XOP: vprotd $8, %xmm0, %xmm0
      {"8f00", 2},          // pop (%rax)
  };
  for (const auto& one : all) BOOST_TEST_CONTEXT(one.hex) {
      const Bytes bytes = bytes_of(one.hex);
      const auto instruction = decode_x86_64(bytes);
      BOOST_REQUIRE(instruction);
      BOOST_TEST(instruction->length == one.length);
      BOOST_TEST(!decode_x86_64(std::span(bytes).first(bytes.size() - 1)));
    }
}

BOOST_AUTO_TEST_CASE(stops_at_invalid_instructions) {
  BOOST_TEST(!decode_x86_64({}));
  BOOST_TEST(!decode_x86_64(bytes_of("06")));                                // not in 64 bits
  BOOST_TEST(!decode_x86_64(bytes_of("66666666666666666666666666666690")));  // longer than any
}

// Confirms the table of versions with the offsets found in the code.
BOOST_AUTO_TEST_CASE(the_table_agrees_with_the_code) {
  for (const KnownVersion& version : known_versions()) BOOST_TEST_CONTEXT(version.text) {
      const auto found = counters_of(std::string(version.text.substr(0, 5)),
                                     version.machine == EM_X86_64 ? "x86_64" : "aarch64");
      BOOST_REQUIRE(found);
      BOOST_TEST(found->allocated.offset == version.fields.allocated);
      BOOST_TEST(found->deallocated.offset == version.fields.deallocated);
    }
}

BOOST_AUTO_TEST_CASE(finds_the_empty_cache) {
  std::vector<std::uint64_t> image(100, 0);
  BOOST_TEST(!find_empty_cache(image));
  for (std::size_t pair = 0; pair < 24; ++pair) image[7 + 2 * pair] = 1;
  BOOST_TEST(find_empty_cache(image).value_or(-1) == 56);
  image[7 + 2 * 23 + 1] = 5;
  BOOST_TEST(!find_empty_cache(image));
  BOOST_TEST(!find_empty_cache({}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace jemalloc_code_test
