// Why the kernel did not take BPF programs: too old, closed, or neither.

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <string>

#include "plugins/shared/bpf_refusal.hpp"

namespace bpf_refusal_test {
using namespace ctprof;

namespace {

constexpr BpfPrograms kPrograms{.what = "the BPF programs of this test",
                                .capabilities = "cap_bpf",
                                .first = "5.10",
                                .newer = "Linux 5.10 or newer"};

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

BOOST_AUTO_TEST_SUITE(bpf_refusal_test)

BOOST_AUTO_TEST_CASE(only_a_kernel_that_is_too_old_is_called_that) {
  for (const char* release : {"5.9.16", "5.4.0-42-generic", "4.19.0", "5.9"}) {
    const BpfRefusal why = why_not_taken(kPrograms, EINVAL, release);
    BOOST_TEST((why.gap == Gap::Unsupported), release);
    BOOST_TEST(why.why ==
               "the kernel, Linux " + std::string(release) +
                   ", does not take the BPF programs of this test (Invalid argument); Linux 5.10 "
                   "was the first that does");
    BOOST_TEST(why.remedy.what == "Linux 5.10 or newer");
  }
  for (const char* release : {"5.10.0", "5.10-rc1", "5.100.1", "6.1.0-18-amd64", "6.18.44", "10.0"})
    for (const int error : {EINVAL, EACCES, E2BIG, ESRCH}) {
      const BpfRefusal why = why_not_taken(kPrograms, error, release);
      BOOST_TEST((why.gap == Gap::SourceFailed), release);
      BOOST_TEST(!has(why.why, "was the first"), why.why);
      BOOST_TEST(has(why.why, release), why.why);
      BOOST_TEST((why.remedy.kind == CTPROF_REMEDY_NONE));
    }
}

BOOST_AUTO_TEST_CASE(whatever_is_not_the_kernels_age_is_not_called_that) {
  for (const char* release : {"4.19.0", "6.18.44"}) {
    BOOST_TEST((why_not_taken(kPrograms, EPERM, release).gap == Gap::Denied));
    BOOST_TEST(has(why_not_taken(kPrograms, ENOSYS, release).why, "CONFIG_BPF_SYSCALL"));
    BOOST_TEST(why_not_taken(kPrograms, ENOMEM, release).why ==
               "the kernel could not load the BPF programs of this test (Cannot allocate memory)");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace bpf_refusal_test
