// A program and the variants that strip_names.py made of it, whose names are stored elsewhere.
// Cross builds have no variants.

#pragma once

#include <fcntl.h>

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "ctprof/files.hpp"

namespace ctprof::tests {

inline std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Precondition for cases that need the variants.
inline boost::test_tools::assertion_result has_variants(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result outcome(!environment_value("STACKS_FORMS").empty());
  outcome.message() << "STACKS_FORMS and STACKS_NAMED are not set";
  return outcome;
}

inline std::string unstripped_path() { return environment_value("STACKS_NAMED"); }
inline std::string variant_path(const std::string& name) {
  return environment_value("STACKS_FORMS") + '/' + name;
}

struct OpenedFile {
  explicit OpenedFile(const std::string& path)
      : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), file(fd.get()) {
    BOOST_TEST_REQUIRE(file.is_valid(), path);
  }
  sdk::Fd fd;
  ElfFile file;
};

// Returns addresses across the code of a file, `step` bytes apart.
inline std::vector<FileAddress> addresses_in(const ElfFile& file, std::uint64_t step) {
  std::vector<FileAddress> addresses;
  for (const Elf64_Phdr& segment : file.segments())
    for (std::uint64_t at = 0; (segment.p_flags & PF_X) != 0 && at < segment.p_filesz; at += step)
      if (segment.p_type == PT_LOAD) addresses.push_back(segment.p_vaddr + at);
  return addresses;
}

}  // namespace ctprof::tests
