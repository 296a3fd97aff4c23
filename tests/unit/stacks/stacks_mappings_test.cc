// Tests the mappings of processes: parsing maps, and the module of a mapping.

#include <boost/test/unit_test.hpp>

#include <string>

#include "core/stacks/address_space.hpp"
#include "core/stacks/modules.hpp"

namespace ctprof::tests::stacks_mappings_test {

BOOST_AUTO_TEST_SUITE(stacks_mappings_test)

BOOST_AUTO_TEST_CASE(limits_the_number_of_modules) {
  Modules modules([](std::uint64_t, const CodeRange&, const std::string&) { return sdk::Fd(); });
  const auto module_of = [&](std::uint64_t inode) {
    return modules.make_code_range(7, {0x1000, 0x2000, 0, {1, inode}, "/bin/made"}).module;
  };
  const std::uint32_t first = module_of(1);
  for (std::uint64_t inode = 2; inode < 2 * Modules::kMaxModules; ++inode) module_of(inode);
  BOOST_TEST(modules.size() == Modules::kMaxModules);
  BOOST_TEST(module_of(1) == first);
  BOOST_TEST(module_of(2 * Modules::kMaxModules - 1) == Modules::kUnknown);
}

// Code of a file is located by file offset, other code by address. A memfd counts as a file if it
// is a program.
BOOST_AUTO_TEST_CASE(finds_the_module_of_a_mapping) {
  Modules modules([](std::uint64_t, const CodeRange&, const std::string&) { return sdk::Fd(); });
  const auto range_of = [&](std::uint64_t process, const FileId& file, const char* path,
                            bool is_program = false) {
    return modules.make_code_range(process, {0x1000, 0x2000, 0x300, file, path, is_program});
  };
  const CodeRange file = range_of(7, {1, 2}, "/bin/made");
  BOOST_TEST(file.offset == 0x300u);
  BOOST_TEST(range_of(8, {1, 2}, "/elsewhere/made").module == file.module);
  BOOST_TEST(range_of(7, {1, 3}, "/bin/made").module != file.module);
  const CodeRange anonymous = range_of(7, {}, "");
  BOOST_TEST(anonymous.offset == 0x1000u);
  BOOST_TEST(range_of(7, {5, 6}, "/memfd:jit (deleted)").module == anonymous.module);
  BOOST_TEST(range_of(8, {}, "").module != anonymous.module);
  const CodeRange program = range_of(7, {5, 7}, "/memfd:made (deleted)", true);
  BOOST_TEST(program.offset == 0x300u);
  BOOST_TEST(modules[program.module].path == "/memfd:made");
  BOOST_TEST(range_of(7, {1, 2, 1}, "/bin/made").module != file.module);  // modified since
  BOOST_TEST((modules[range_of(7, {}, "[vdso]").module].kind == Module::Kind::Vdso));
}

BOOST_AUTO_TEST_CASE(mappings_replace_overlapping_parts) {
  AddressSpace space(1);
  space.add_mapping({0x1000, 0x5000, 0, 5});
  space.add_mapping({0x2000, 0x3000, 0x70, 6});
  BOOST_TEST(space.size() == 3u);
  BOOST_TEST(space.find(0x1fff)->module == 5u);
  BOOST_TEST(space.find(0x2000)->module == 6u);
  BOOST_TEST(space.find(0x3000)->module == 5u);
  BOOST_TEST(space.find(0x3000)->offset == 0x2000u);
  BOOST_TEST(!space.find(0x5000));
  BOOST_TEST(!space.find(0xfff));
  space.add_mapping({0x800, 0x9000, 0, 7});
  BOOST_TEST(space.size() == 1u);
}

BOOST_AUTO_TEST_CASE(parses_maps) {
  const auto mappings = parse_code_mappings(
      "55d0a0000000-55d0a0001000 r--p 00000000 fd:01 77                         /usr/bin/a b\n"
      "55d0a0001000-55d0a0002000 r-xp 00001000 fd:01 77                         /usr/bin/a b\n"
      "nonsense r-xp\n"
      "2-1 r-xp 00001000 fd:01 77\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7ffd3bdf6000-7ffd3bdf8000 r-xp 00000000 00:00 0                          [vdso]\n");
  BOOST_REQUIRE(mappings.size() == 3u);
  BOOST_TEST(mappings[0].start == 0x55d0a0001000u);
  BOOST_TEST(mappings[0].offset == 0x1000u);
  BOOST_TEST(mappings[0].path == "/usr/bin/a b");
  BOOST_TEST(mappings[0].file.inode == 77u);
  BOOST_TEST(mappings[1].path.empty());
  BOOST_TEST(mappings[2].path == "[vdso]");
}

// To use huge pages, a program copies its code into anonymous memory at the same addresses.
BOOST_AUTO_TEST_CASE(code_in_a_gap_of_a_file_belongs_to_the_file) {
  const std::string before = "10000-11000 r--p 00000000 fd:01 77   /bin/a\n",
                    after = "14000-15000 r--p 00004000 fd:01 77   /bin/a\n";
  const auto mappings_with = [&](const std::string& lines) {
    return parse_code_mappings(before + lines + after);
  };
  const auto whole = mappings_with("11000-14000 r-xp 00000000 00:00 0 \n");
  BOOST_REQUIRE(whole.size() == 1u);
  BOOST_TEST(whole[0].path == "/bin/a");
  BOOST_TEST(whole[0].offset == 0x1000u);
  BOOST_TEST(whole[0].file.inode == 77u);
  const auto pieces = mappings_with(
      "11000-12000 r-xp 00000000 00:00 0 \n12000-14000 r-xp 00000000 00:0f 9 /anon_hugepage "
      "(deleted)\n");
  BOOST_REQUIRE(pieces.size() == 2u);
  BOOST_TEST(pieces[1].offset == 0x2000u);
  BOOST_TEST(pieces[1].path == "/bin/a");
  const auto of_another_size = mappings_with("11000-13000 r-xp 00000000 00:00 0 \n");
  BOOST_REQUIRE(of_another_size.size() == 1u);
  BOOST_TEST(of_another_size[0].file.inode == 0u);
  const auto after_last_mapping =
      parse_code_mappings(before + "11000-14000 r-xp 00000000 00:00 0 \n");
  BOOST_REQUIRE(after_last_mapping.size() == 1u);
  BOOST_TEST(after_last_mapping[0].file.inode == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_mappings_test
