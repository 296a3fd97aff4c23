#include "core/capture/kernel_facts.hpp"

#include <fcntl.h>
#include <zlib.h>

#include <memory>
#include <string>

#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr unsigned kMostProcessors = 65536;
constexpr int kLineBytes = 4096;

// "a" or "a-b"; false when it is neither.
bool parse_range(std::string_view text, unsigned& first, unsigned& last) {
  const auto from = sdk::number<unsigned>(sdk::take(text, '-'));
  const auto to = text.empty() ? from : sdk::number<unsigned>(text);
  first = from.value, last = to.value;
  return from && to && first <= last && last < kMostProcessors;
}

}  // namespace

std::vector<unsigned> parse_cpu_list(std::string_view text) {
  std::vector<unsigned> cpus;
  while (!text.empty()) {
    unsigned first = 0, last = 0;
    if (!parse_range(sdk::take(text, ','), first, last)) return {};
    for (unsigned cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string_view kernel_option(int proc, std::string_view option) {
  sdk::Fd fd(::openat(proc, "config.gz", O_RDONLY | O_CLOEXEC));
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> config(fd ? ::gzdopen(fd.get(), "r") : nullptr, &::gzclose);
  if (!config) return "unknown";
  fd.release();
  const std::string wanted = std::string(option) + "=y";
  std::string line(kLineBytes, '\0');
  while (::gzgets(config.get(), line.data(), kLineBytes))
    if (std::string_view(line.c_str()) == wanted + "\n") return "on";
  return "off";
}

}  // namespace ctprof
