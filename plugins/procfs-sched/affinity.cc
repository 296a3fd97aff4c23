#include "plugins/procfs-sched/affinity.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ctprof/files.hpp"
#include "plugins/procfs-sched/numbers.hpp"

namespace ctprof::procfs {
namespace {

constexpr std::uint64_t kBits = 64;
constexpr std::size_t kFirstWords = 128;  // 8,192 CPUs: nearly all kernels' NR_CPUS

void add_range(std::uint64_t first, std::uint64_t last, std::vector<std::uint64_t>& words) {
  if (words.size() <= last / kBits) words.resize(last / kBits + 1, 0);
  for (std::uint64_t cpu = first; cpu <= last; ++cpu) words[cpu / kBits] |= std::uint64_t{1} << (cpu % kBits);
}

bool add_part(std::string_view part, std::vector<std::uint64_t>& words) {
  const bool is_range = part.find('-') != part.npos;
  const auto first = u64(sdk::take(part, '-'));
  const auto last = is_range ? u64(part) : first;
  if (!first || !last || first.value > last.value || last.value >= kMaxCpus) return false;
  add_range(first.value, last.value, words);
  return true;
}

}  // namespace

bool parse_cpu_list(std::string_view list, std::vector<std::uint64_t>& words) {
  words.clear();
  if (list.empty()) return false;
  while (!list.empty())
    if (!add_part(sdk::take(list, ','), words)) return false;
  return true;
}

sdk::Reading<sdk::Words> Affinity::of_thread(std::uint64_t tid) {
  words_.resize(std::max(words_.size(), kFirstWords));
  for (;;) {
    const long bytes =
        ::syscall(SYS_sched_getaffinity, static_cast<pid_t>(tid), words_.size() * sizeof(words_[0]), words_.data());
    const bool too_small = bytes < 0 && errno == EINVAL && words_.size() * kBits < kMaxCpus;
    if (bytes < 0 && !too_small) return gap_of_errno(errno);
    if (bytes >= 0) {
      std::size_t used = static_cast<std::size_t>(bytes) / sizeof(words_[0]);
      while (used > 0 && words_[used - 1] == 0) --used;
      return used > 0 ? sdk::Reading<sdk::Words>(sdk::Words(words_.data(), used)) : Gap::Malformed;
    }
    words_.resize(words_.size() * 2);
  }
}

sdk::Reading<sdk::Words> Affinity::of_list(const sdk::Reading<std::string_view>& list) {
  if (!list) return list.gap;
  if (!parse_cpu_list(list.value, words_)) return Gap::Malformed;
  return sdk::Words(words_);
}

}  // namespace ctprof::procfs
