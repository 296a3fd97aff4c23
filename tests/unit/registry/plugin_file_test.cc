// Tests reading the description of a plugin file without loading it: the two small plugins of the
// fuzzer, whose symbols are in different hash tables, and our own plugins.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/registry/plugin_file.hpp"
#include "ctprof/files.hpp"
#include "source_dir.hpp"

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

}  // namespace

#if defined(__x86_64__)
BOOST_AUTO_TEST_SUITE(plugin_file_test)

BOOST_AUTO_TEST_CASE(names_are_found_by_either_table) {
  for (const char* kind : {"gnu", "sysv"}) {
    const auto file = read(
        std::string(CTPROF_SOURCE_DIR "/tests/fuzz/seeds/fuzz_plugin_file/tiny-") + kind + ".so");
    BOOST_TEST_REQUIRE(file.has_value(), kind << ": " << (file ? "" : file.error().text));
    const std::vector<std::string> directories{"/usr/lib/tiny", "$ORIGIN"};
    BOOST_TEST(file->library_directories == directories, boost::test_tools::per_element());
    BOOST_TEST(file->libraries.empty());
    BOOST_TEST(!file->is_layout);
  }
}
#else
BOOST_AUTO_TEST_CASE(names_are_found_by_either_table) {
  BOOST_TEST_MESSAGE("skipped: the files are for x86-64");
}
#endif

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
