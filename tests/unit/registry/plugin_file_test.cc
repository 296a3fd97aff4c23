// Tests reading the description of a plugin file without loading it: the two small plugins of the
// fuzzer, whose symbols are in different hash tables, and our own plugins.

#include <boost/test/unit_test.hpp>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/registry/plugin_file.hpp"
#include "ctprof/files.hpp"
#include "source_dir.hpp"
#include "tests/unit/support/files.hpp"

namespace plugin_file_test {
using namespace ctprof;

namespace {

Result<PluginFile> read(const std::string& path) {
  const sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST_REQUIRE(static_cast<bool>(fd), path);
  return read_plugin_file(fd.get());
}

Result<PluginFile> read_built(const std::string& name) {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  return read(std::string(directory ? directory : ".") + "/" + name + ".so");
}

// Returns a copy of a plugin that states the machine of this program, whatever machine the plugin
// was built for. The reader executes none of its code.
sdk::Fd copy_for_this_machine(const std::string& path) {
  std::string bytes = file_text(path);
  const std::string own = file_text("/proc/self/exe");
  constexpr std::size_t kAt = offsetof(ElfW(Ehdr), e_machine), kSize = sizeof(ElfW(Half));
  BOOST_TEST_REQUIRE(bytes.size() > kAt + kSize, path);
  bytes.replace(kAt, kSize, own, kAt, kSize);
  sdk::Fd copy(::memfd_create("plugin", MFD_CLOEXEC));
  BOOST_TEST_REQUIRE(static_cast<bool>(copy));
  BOOST_TEST_REQUIRE(::write(copy.get(), bytes.data(), bytes.size()) ==
                     static_cast<ssize_t>(bytes.size()));
  return copy;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plugin_file_test)

BOOST_AUTO_TEST_CASE(names_are_found_by_either_table) {
  for (const char* kind : {"gnu", "sysv"}) {
    const auto copy = copy_for_this_machine(
        std::string(CTPROF_SOURCE_DIR "/tests/fuzz/seeds/fuzz_plugin_file/tiny-") + kind + ".so");
    const auto file = read_plugin_file(copy.get());
    BOOST_TEST_REQUIRE(file.has_value(), kind << ": " << (file ? "" : file.error().text));
    const std::vector<std::string> directories{"/usr/lib/tiny", "$ORIGIN"};
    BOOST_TEST(file->library_directories == directories, boost::test_tools::per_element());
    BOOST_TEST(file->libraries.empty());
    BOOST_TEST(!file->is_layout);
  }
}

BOOST_AUTO_TEST_CASE(refuses_files_of_another_word_size) {
  const sdk::Fd copy =
      copy_for_this_machine(CTPROF_SOURCE_DIR "/tests/fuzz/seeds/fuzz_plugin_file/tiny-gnu.so");
  const char other_class = sizeof(void*) == 8 ? ELFCLASS32 : ELFCLASS64;
  BOOST_TEST_REQUIRE(::pwrite(copy.get(), &other_class, 1, EI_CLASS) == 1);
  BOOST_TEST(read_plugin_file(copy.get()).error().text == "it is built for another architecture");
}

BOOST_AUTO_TEST_CASE(reads_flags_without_loading) {
  BOOST_TEST(read_built("file-layout")->is_layout);
  BOOST_TEST(!read_built("file-layout")->opens_early);
  const auto other = read_built("procfs-sched");
  BOOST_TEST(!other->is_layout);
  BOOST_TEST(!other->is_recorder);
  BOOST_TEST(other->libraries.size() >= 1u);
  BOOST_TEST(read_built("on-cpu")->is_recorder);
}

BOOST_AUTO_TEST_CASE(refuses_files_that_are_not_plugins) {
  BOOST_TEST(read("/dev/null").error().text == "it is not a regular file");
  BOOST_TEST(read(CTPROF_SOURCE_DIR "/tests/unit/meson.build").error().text ==
             "it is not an ELF shared object");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace plugin_file_test
