#include "plugins/taskstats/interrupts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof::taskstats {
namespace {

using namespace std::string_view_literals;

// Of `struct rq`, only with the option. Names in BTF stand between zeros.
constexpr std::string_view kMember = "\0prev_irq_time\0"sv;

bool has_file(const sdk::Host& host, const char* path) {
  return ::faccessat(host.proc(), path, F_OK, 0) == 0;
}

}  // namespace

sdk::Reading<bool> measures_interrupts(const sdk::Host& host) {
  if (has_file(host, "pressure/cpu")) return has_file(host, "pressure/irq");
  sdk::TextFile file;
  const auto types = file.read_records(host.sys(), "kernel/btf/vmlinux");
  return types ? sdk::Reading<bool>(types.value.find(kMember) != types.value.npos)
               : sdk::Reading<bool>(types.gap);
}

}  // namespace ctprof::taskstats
