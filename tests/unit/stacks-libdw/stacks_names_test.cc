// Compares the names found in stripped files with those of libdwfl, an independent implementation.

#include <boost/test/unit_test.hpp>

#include <elfutils/libdwfl.h>
#include <lzma.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/stacks/symbols.hpp"
#include "core/stacks/unpack.hpp"
#include "tests/unit/stacks/stacks_variants.hpp"

namespace ctprof::tests::stacks_names_test {
namespace {

using Names = std::vector<std::string>;
using Addresses = std::vector<FileAddress>;

std::string compress_xz(const std::string& text) {
  std::string packed(text.size() + 1024, '\0');
  std::size_t size = 0;
  BOOST_TEST_REQUIRE(
      ::lzma_easy_buffer_encode(
          0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
          text.size(), reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size()) == 0);
  return packed.substr(0, size);
}

// A file as seen by libdwfl, with debug information from a directory.
class Reference {
 public:
  explicit Reference(const std::string& path, std::string directory = "/nowhere")
      : directory_(std::move(directory)), callbacks_{} {
    callbacks_.find_elf = ::dwfl_build_id_find_elf;
    callbacks_.find_debuginfo = ::dwfl_standard_find_debuginfo;
    callbacks_.section_address = ::dwfl_offline_section_address;
    path_ = directory_.data();
    callbacks_.debuginfo_path = &path_;
    dwfl_ = ::dwfl_begin(&callbacks_);
    module_ = ::dwfl_report_offline(dwfl_, "", path.c_str(), -1);
    ::dwfl_report_end(dwfl_, nullptr, nullptr);
    BOOST_TEST_REQUIRE(::dwfl_module_getelf(module_, &bias_));
  }
  ~Reference() { ::dwfl_end(dwfl_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  Names names(const Addresses& addresses) const {
    Names names;
    for (const FileAddress address : addresses) {
      GElf_Off offset = 0;
      GElf_Sym symbol{};
      const char* name = ::dwfl_module_addrinfo(module_, address + bias_, &offset, &symbol, nullptr,
                                                nullptr, nullptr);
      const bool covers = name && (symbol.st_size == 0 || offset < symbol.st_size);
      names.emplace_back(covers ? name : "");
    }
    return names;
  }

 private:
  std::string directory_;
  char* path_ = nullptr;
  Dwfl_Callbacks callbacks_;
  Dwfl* dwfl_;
  Dwfl_Module* module_;
  GElf_Addr bias_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_names_test)

BOOST_AUTO_TEST_CASE(reads_a_compressed_symbol_list,
                     *boost::unit_test::precondition(has_variants)) {
  const OpenedFile packed(variant_path("packed"));
  const Addresses addresses = addresses_in(packed.file, 7);
  const Names names = find_names_in_file(packed.file, addresses);
  BOOST_TEST(names == Reference(variant_path("packed")).names(addresses),
             boost::test_tools::per_element());
  BOOST_TEST(std::ranges::count(names, "_ZN5namedL15static_functionEi") > 0);
  const OpenedFile found(variant_path("found"));
  for (const std::string& name : find_names_in_file(found.file, addresses))
    BOOST_TEST((name.empty() || name == "_start"));
}

BOOST_AUTO_TEST_CASE(limits_the_size_of_compressed_data) {
  const std::string zeroes(100000, '\0'), packed = compress_xz(zeroes);
  BOOST_TEST((unpack_xz(packed, zeroes.size()).bytes == zeroes));
  BOOST_TEST(unpack_xz(packed, zeroes.size() - 1).is_too_large);
  BOOST_TEST(unpack_xz(packed.substr(0, packed.size() - 1), 1 << 20).bytes.empty());
  BOOST_TEST(unpack_xz("no such thing", 1 << 20).bytes == "");
  BOOST_TEST(unpack_xz("", 1 << 20).bytes == "");
}

// Its header requests 4 GiB of decoder memory.
BOOST_AUTO_TEST_CASE(limits_the_memory_for_decompression) {
  constexpr std::size_t kHeader = 12;
  std::string packed = compress_xz("text");
  packed[packed.find("\x21\x01", kHeader) + 2] = 40;  // the dictionary size of LZMA2
  const std::size_t end = kHeader + (static_cast<std::size_t>(packed[kHeader]) + 1) * 4 - 4;
  const auto* header = reinterpret_cast<const std::uint8_t*>(packed.data() + kHeader);
  const std::uint32_t sum = ::lzma_crc32(header, end - kHeader, 0);
  std::memcpy(packed.data() + end, &sum, sizeof sum);
  BOOST_TEST(unpack_xz(packed, 1 << 20).bytes == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_names_test
