// Tests the table of stacks: equal stacks are stored once, tables merge, and frames get names.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/number_index.hpp"
#include "core/stacks/address_space.hpp"
#include "core/stacks/demangle.hpp"
#include "core/stacks/naming.hpp"
#include "core/stacks/symbols.hpp"
#include "ctprof/files.hpp"
#include "tests/unit/support/files.hpp"

// The test finds this function by name in its own program.
extern "C" __attribute__((noinline)) void ctprof_named_function() { asm volatile("nop"); }

namespace ctprof::tests::stacks_table_test {
namespace {

using Names = std::vector<std::string>;
using Addresses = std::vector<std::uint64_t>;
using Numbers = std::vector<std::uint32_t>;

// Returns the file offset of an address in this program.
std::uint64_t own_offset(std::uint64_t address) {
  for (const Mapping& mapping : parse_code_mappings(file_text("/proc/self/maps")))
    if (address >= mapping.start && address < mapping.end)
      return address - mapping.start + mapping.offset;
  return 0;
}

Module file_module(const std::string& path) { return {Module::Kind::File, path, "id", 0}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_table_test)

// Items with equal hashes, or with hashes that differ only in bits that the index does not use.
BOOST_AUTO_TEST_CASE(an_index_distinguishes_items_with_equal_hashes) {
  constexpr std::uint64_t kBothHalves = 0x100000001;
  const auto hash_of = [](std::uint32_t number) { return number % 10 * kBothHalves; };
  NumberIndex index;
  const auto find = [&](std::uint32_t wanted) {
    return index.find(hash_of(wanted), [&](std::uint32_t number) { return number == wanted; });
  };
  for (std::uint32_t number = 0; number < 1000; ++number) {
    BOOST_TEST(find(number) == NumberIndex::kNone);
    index.add(hash_of(number), number);
  }
  for (std::uint32_t number = 0; number < 1000; ++number) BOOST_TEST(find(number) == number);
  BOOST_TEST(find(1000) == NumberIndex::kNone);
}

BOOST_AUTO_TEST_CASE(stores_a_million_different_stacks_once) {
  StackTable table;
  const std::uint32_t module = table.add_module(file_module("/bin/a"));
  const auto stack_of = [&](std::uint64_t number) {
    return std::vector<Frame>{{number & 0x3ff, module}, {number >> 10, module}};
  };
  constexpr std::uint64_t kStacks = 1 << 20;
  for (const bool is_again : {false, true}) {
    bool is_same = true;
    for (std::uint64_t number = 0; number < kStacks; ++number) {
      const std::uint32_t node = table.add_stack(stack_of(number), WalkEnd::Root);
      is_same = is_same && node != StackTable::kNoStack && table.get_stack_frames(node).size() == 2;
    }
    BOOST_TEST(is_same);
    BOOST_TEST(table.nodes().size() == 1 + 1024 + kStacks, "is_again " << is_again);
  }
}

BOOST_AUTO_TEST_CASE(stores_equal_stacks_once) {
  StackTable table;
  const std::uint32_t module = table.add_module(file_module("/bin/a"));
  BOOST_TEST(table.add_module(file_module("/bin/a")) == module);
  const std::vector<Frame> leaf_first{{3, module}, {2, module}, {1, module}};
  const std::uint32_t node = table.add_stack(leaf_first, WalkEnd::Root);
  BOOST_TEST(table.add_stack(leaf_first, WalkEnd::Root) == node);
  BOOST_TEST(table.nodes().size() == 4u);
  BOOST_TEST(table.nodes()[node].parent == table.add_stack({&leaf_first[1], 2}, WalkEnd::Root));
  std::vector<std::uint64_t> offsets;
  for (const std::uint32_t frame : table.get_stack_frames(node))
    offsets.push_back(table.frames()[frame].offset);
  BOOST_TEST(offsets == (Addresses{3, 2, 1}));
}

BOOST_AUTO_TEST_CASE(marks_stacks_that_did_not_reach_their_root) {
  StackTable table;
  const std::uint32_t module = table.add_module(file_module("/bin/a"));
  const std::vector<Frame> frames{{3, module}};
  const std::uint32_t whole = table.add_stack(frames, WalkEnd::Root);
  for (const WalkEnd ending : {WalkEnd::EndOfCopy, WalkEnd::TooDeep, WalkEnd::Failed}) {
    const std::uint32_t cut = table.add_stack(frames, ending);
    BOOST_TEST(cut != whole);
    BOOST_TEST(table.get_name(table.get_stack_frames(cut).back()) == "[truncated]");
  }
}

BOOST_AUTO_TEST_CASE(a_guessed_frame_differs_from_a_certain_one) {
  StackTable table;
  const std::uint32_t module = table.add_module(file_module("/bin/a"));
  const std::vector<Frame> certain{{3, module, false}}, guessed{{3, module, true}};
  BOOST_TEST(table.add_stack(certain, WalkEnd::Root) != table.add_stack(guessed, WalkEnd::Root));
}

BOOST_AUTO_TEST_CASE(merges_two_tables) {
  StackTable merged_table, other_node;
  merged_table.add_module(file_module("/bin/other"));
  const std::uint32_t here = merged_table.add_module(file_module("/bin/a"));
  const std::uint32_t there = other_node.add_module(file_module("/bin/a"));
  const std::vector<Frame> frames{{2, here}, {1, here}}, same{{2, there}, {1, there}},
      longer{{9, there}, {2, there}, {1, there}};
  const std::uint32_t node = merged_table.add_stack(frames, WalkEnd::Root);
  const std::uint32_t second = other_node.add_stack(longer, WalkEnd::Root);
  const std::uint32_t first = other_node.add_stack(same, WalkEnd::Root);
  other_node.set_name(other_node.nodes()[first].frame, "two");
  const Numbers now = merged_table.merge(other_node);
  BOOST_TEST(now[StackTable::kTop] == StackTable::kTop);
  BOOST_TEST(now[first] == node);
  BOOST_TEST(merged_table.nodes()[now[second]].parent == node);
  BOOST_TEST(merged_table.get_name(merged_table.nodes()[node].frame) == "two");
  BOOST_TEST(merged_table.modules().size() == 2u);
}

// Windows of one file may contain code of two programs at the same place: for a path without a
// build id, and for a JIT compiler.
BOOST_AUTO_TEST_CASE(merges_tables_with_different_names_for_one_place) {
  const std::vector<Module> without_id{{Module::Kind::File, "/bin/a", "", 0},
                                       {Module::Kind::Anonymous, "", "", 42}};
  for (const Module& module : without_id) {
    std::vector<StackTable> tables(3);
    std::vector<std::uint32_t> nodes;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const std::vector<Frame> frames{{1, tables[i].add_module(module)}};
      nodes.push_back(tables[i].add_stack(frames, WalkEnd::Root));
      tables[i].set_name(tables[i].nodes()[nodes[i]].frame, i == 1 ? "beta" : "alpha");
    }
    StackTable all;
    Names names;
    Numbers merged;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      merged.push_back(all.merge(tables[i])[nodes[i]]);
      names.push_back(all.get_name(all.nodes()[merged[i]].frame));
    }
    BOOST_TEST(names == (Names{"alpha", "beta", "alpha"}));
    BOOST_TEST(merged[0] == merged[2]);
    BOOST_TEST(all.modules().size() == 2u);
    BOOST_TEST(all.modules()[1].path == module.path);
  }
}

// A full table refuses new stacks, also when it absorbs another table; existing stacks remain.
BOOST_AUTO_TEST_CASE(a_full_table_refuses_new_stacks) {
  StackTable table;
  const std::uint32_t module = table.add_module(file_module("/bin/a"));
  std::uint32_t last = StackTable::kTop;
  std::uint64_t offset = 0;
  for (std::uint32_t node = last; node != StackTable::kNoStack; ++offset) {
    last = node;
    const Frame frame{offset, module};
    node = table.add_stack({&frame, 1}, WalkEnd::Root);
  }
  BOOST_TEST(table.frames().size() == offset);
  const Frame known{0, module};
  BOOST_TEST(table.add_stack({&known, 1}, WalkEnd::Root) == 1u);
  StackTable other;
  const std::vector<Frame> frames{{0, other.add_module(file_module("/bin/b"))}};
  const std::uint32_t other_node = other.add_stack(frames, WalkEnd::Root);
  BOOST_TEST(table.merge(other)[other_node] == StackTable::kNoStack);
}

BOOST_AUTO_TEST_CASE(finds_names_in_perf_maps) {
  const std::string map =
      "0x7f10 20 LFoo;::bar\n"
      "7f40 10 ~old\n"
      "7f40 8 ~new one\n"
      "nonsense\n"
      "7f80 zz broken\n"
      "7f90 0 of no size\n"
      "7fff";
  const Names expected{"", "LFoo;::bar", "LFoo;::bar", "", "~new one", "~old", "", ""};
  BOOST_TEST(find_names_in_perf_map(map, Addresses{0x7f0f, 0x7f10, 0x7f2f, 0x7f30, 0x7f47, 0x7f48,
                                                   0x7f81, 0x7f90}) == expected);
}

BOOST_AUTO_TEST_CASE(finds_names_in_kallsyms) {
  const std::string list =
      "ffffffff81000000 T _text\n"
      "ffffffff81000100 D data\n"
      "ffffffff81000200 t inner\n"
      "ffffffffc0000000 t in_module\t[ext4]\n";
  const Names expected{"", "_text", "_text", "inner", "", "in_module [ext4]"};
  BOOST_TEST(find_names_in_kallsyms(
                 list, Addresses{0x1000, 0xffffffff81000000, 0xffffffff810001ff, 0xffffffff81000200,
                                 0xffffffff82000000, 0xffffffffc0000001}) == expected);
  BOOST_TEST(find_names_in_kallsyms("0000000000000000 T _text\n", Addresses{0x10}) == Names{""});
}

// An address after a small function inside a large one belongs to the large one.
BOOST_AUTO_TEST_CASE(finds_names_of_nested_functions) {
  const std::string map = "1000 1000 outer\n1100 10 inner\n1200 10 other\n";
  BOOST_TEST(find_names_in_perf_map(map, Addresses{0x1050, 0x1105, 0x1150, 0x1250, 0x2000}) ==
             (Names{"outer", "inner", "outer", "outer", ""}));
}

BOOST_AUTO_TEST_CASE(names_frames_of_this_program) {
  const sdk::Fd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const ElfFile file(self.get());
  StackTable table;
  const std::uint32_t module = table.add_module(file_module("self"));
  const std::uint32_t jit = table.add_module({Module::Kind::Anonymous, "", "", 42});
  const std::uint64_t offset = own_offset(reinterpret_cast<std::uint64_t>(&ctprof_named_function));
  const std::vector<Frame> frames{{offset, module}, {0x501, jit}, {5, module}};
  const std::uint32_t node = table.add_stack(frames, WalkEnd::Root);
  const NameSources sources{
      [&](std::uint32_t) { return &file; },
      [](std::uint64_t process) { return "500 8 made_by_" + std::to_string(process); },
      [] { return std::string(); }};
  BOOST_TEST(name_frames(table, sources, {.max_time = std::chrono::seconds(0)}).unnamed_frames ==
             3u);
  const std::size_t unnamed =
      name_frames(table, sources, {.max_time = std::chrono::hours(24)}).unnamed_frames;
  const Numbers stack = table.get_stack_frames(node);
  BOOST_TEST(table.get_name(stack[0]) == "ctprof_named_function");
  BOOST_TEST(table.get_name(stack[1]) == "made_by_42");
  BOOST_TEST(table.get_name(stack[2]).empty());
  BOOST_TEST(unnamed == 1u);
}

// A build without libiberty leaves all names unchanged.
bool is_without_demangler() {
  const bool without = demangle("_Z1fv") == "_Z1fv";
  if (without) BOOST_TEST_MESSAGE("no libiberty: nothing is demangled");
  return without;
}

BOOST_AUTO_TEST_CASE(demangles_names) {
  if (is_without_demangler()) return;
  BOOST_TEST(demangle("_ZN6ctprof4Walk3runEm") == "ctprof::Walk::run");
  BOOST_TEST(demangle("_ZN4core3fmt5write17h0123456789abcdefE") == "core::fmt::write");
  BOOST_TEST(demangle("_RNvNtCs1234_7mycrate3foo3bar") == "mycrate::foo::bar");
  BOOST_TEST(demangle("_RINvCs1234_7mycrate4callNtB2_4TypeE") == "mycrate::call::<mycrate::Type>");
  BOOST_TEST(demangle("_RNvC5cratau9bcher_kva") == "crata::b\u00fccher");
}

// Returns a number in base 36 or 62, as both mangling schemes encode it: "_" is 0, "0_" is 1.
std::string mangled_number(std::size_t number, const std::string& digits) {
  std::string text = "_";
  for (std::size_t rest = number; rest > 0; rest = (rest - 1) / digits.size())
    text.insert(text.begin(), digits[(rest - 1) % digits.size()]);
  return text;
}

// Each type contains the previous one twice; 30 doublings would give a text of 10 GB.
BOOST_AUTO_TEST_CASE(does_not_demangle_names_that_would_be_too_long) {
  if (is_without_demangler()) return;
  const std::string digits = "0123456789", upper_case = "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                    lower_case = "abcdefghijklmnopqrstuvwxyz";
  const auto cxx = [&](int doublings) {
    std::string name = "_Z1fI1aIiiE";
    for (std::size_t i = 0; i < static_cast<std::size_t>(doublings); ++i) {
      const std::string before = "S" + mangled_number(2 * i + 2, digits + upper_case);
      name += "1bI" + before + before + "E";
    }
    return name + "Evv";
  };
  const auto rust = [&](int doublings) {
    std::string name = "_RINvC1a1f", last = "l";
    for (int i = 0; i <= doublings; ++i) {
      const std::size_t at = name.size() - 2;
      name += "T" + last + last + "E";
      last = "B" + mangled_number(at, digits + lower_case + upper_case);
    }
    return name + "E";
  };
  BOOST_TEST(demangle(cxx(2)).size() > 30u);
  BOOST_TEST(demangle(rust(2)).size() > 30u);
  BOOST_TEST(demangle(cxx(30)) == cxx(30));
  BOOST_TEST(demangle(rust(30)) == rust(30));
  // This identifier is too long after decoding.
  const char* const decoded = "_RINVCs7321_7Mycrtcau3aliiTB_ly";
  BOOST_TEST(demangle(decoded) == decoded);
}

BOOST_AUTO_TEST_CASE(keeps_names_that_are_not_mangled) {
  for (const char* name : {"", "main", "_start", "_Z", "_R", "_ZN", "_Rxyz", "~LazyCompile"})
    BOOST_TEST(demangle(name) == name);
  const std::string long_name = "_Z" + std::string(5000, 'x');
  BOOST_TEST(demangle(long_name) == long_name);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_table_test
