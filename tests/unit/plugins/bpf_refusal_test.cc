// Tests the reasons why the kernel refuses BPF programs: its age, missing rights, or other causes.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "ctprof/files.hpp"
#include "plugins/shared/bpf_refusal.hpp"
#include "plugins/shared/kernel.hpp"
#include "tests/unit/support/files.hpp"

namespace bpf_refusal_test {
using namespace ctprof;

namespace {

constexpr BpfPrograms kPrograms{.description = "the BPF programs of this test",
                                .capabilities = "cap_bpf",
                                .first_release = "5.10",
                                .required_release = "Linux 5.10 or newer"};

bool contains(const std::string& text, const char* part) { return text.find(part) != text.npos; }

BOOST_AUTO_TEST_SUITE(bpf_refusal_test)

BOOST_AUTO_TEST_CASE(reports_a_kernel_that_is_too_old) {
  for (const char* release : {"5.9.16", "5.4.0-42-generic", "4.19.0", "5.9"}) {
    const BpfRefusal why = explain_kernel_refusal(kPrograms, EINVAL, release);
    BOOST_TEST((why.gap == Gap::Unsupported), release);
    BOOST_TEST(why.reason ==
               "the kernel, Linux " + std::string(release) +
                   ", cannot load the BPF programs of this test (Invalid argument); Linux 5.10 "
                   "is the first version that can");
    BOOST_TEST(why.remedy.what == "Linux 5.10 or newer");
  }
  for (const char* release : {"5.10.0", "5.10-rc1", "5.100.1", "6.1.0-18-amd64", "6.18.44", "10.0"})
    for (const int error : {EINVAL, EACCES, E2BIG, ESRCH}) {
      const BpfRefusal why = explain_kernel_refusal(kPrograms, error, release);
      BOOST_TEST((why.gap == Gap::SourceFailed), release);
      BOOST_TEST(!contains(why.reason, "is the first version"), why.reason);
      BOOST_TEST(contains(why.reason, release), why.reason);
      BOOST_TEST((why.remedy.kind == CTPROF_REMEDY_NONE));
    }
}

BOOST_AUTO_TEST_CASE(reports_other_causes_than_the_age_of_the_kernel) {
  for (const char* release : {"4.19.0", "6.18.44"}) {
    BOOST_TEST((explain_kernel_refusal(kPrograms, EPERM, release).gap == Gap::Denied));
    BOOST_TEST(
        contains(explain_kernel_refusal(kPrograms, ENOSYS, release).reason, "CONFIG_BPF_SYSCALL"));
    BOOST_TEST(explain_kernel_refusal(kPrograms, ENOMEM, release).reason ==
               "the kernel could not load the BPF programs of this test (Cannot allocate memory)");
  }
}

// A temporary /sys directory with a BTF file of this size.
class TemporarySys {
 public:
  explicit TemporarySys(std::size_t bytes) {
    std::filesystem::create_directories(directory_ / "kernel/btf");
    std::ofstream(directory_ / "kernel/btf/vmlinux") << std::string(bytes, 'x');
    sys_ = sdk::Fd(::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    abi_.size = sizeof abi_;
    abi_.sys_fd = sys_.get();
    abi_.proc_fd = abi_.cgroup_fd = -1;
  }
  sdk::Host host() const { return sdk::Host(abi_); }

 private:
  TemporaryDirectory directory_;
  sdk::Fd sys_;
  ctprof_host abi_{};
};

// Runs in a child process whose address space cannot grow.
bool is_short_of_memory(const sdk::Host& host) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::ifstream pages("/proc/self/statm");
    rlim_t used = 0;
    pages >> used;
    const rlim_t most = used * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (1 << 20);
    const rlimit limit{most, most};
    ::_exit(::setrlimit(RLIMIT_AS, &limit) != 0 ? 2 : lacks_memory_for_bpf(host) ? 1 : 0);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

BOOST_AUTO_TEST_CASE(distinguishes_lack_of_memory_from_a_refusal) {
  const TemporarySys types(8 << 20);
  BOOST_TEST(!lacks_memory_for_bpf(types.host()));
  BOOST_TEST(is_short_of_memory(types.host()));
  const BpfRefusal why = explain_bpf_refusal(types.host(), kPrograms, ENOMEM);
  BOOST_TEST(why.reason ==
             "not enough memory to load the BPF programs of this test (Cannot allocate memory): "
             "raise the limit on memory (ulimit -v, or memory.max of the cgroup)");
}

// A truncated configuration does not show whether later options are set.
BOOST_AUTO_TEST_CASE(a_truncated_configuration_is_unknown) {
  const TemporaryDirectory directory;
  const auto option_state = [&](std::size_t bytes) {
    std::string text;
    for (int line = 0; line < 2000; ++line)
      text += "CONFIG_" + std::to_string(line * 2654435761U) + "=y\n";
    const gzFile file = ::gzopen((directory / "config.gz").c_str(), "w");
    ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    ::gzclose(file);
    if (bytes > 0) std::filesystem::resize_file(directory / "config.gz", bytes);
    const sdk::Fd proc(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ctprof_host abi{};
    abi.size = sizeof abi;
    abi.proc_fd = proc.get();
    return is_built_with(sdk::Host(abi), "CONFIG_ABSENT");
  };
  BOOST_TEST((option_state(0) == false));
  BOOST_TEST(!option_state(1000).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace bpf_refusal_test
