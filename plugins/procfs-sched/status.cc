#include "plugins/procfs-sched/status.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "ctprof/gap.hpp"
#include "plugins/shared/text_formats.hpp"

namespace ctprof::procfs {
namespace {

constexpr std::uint64_t kBitsPerWord = 64;
constexpr std::size_t kInitialWords = 128;  // 8,192 CPUs: nearly all kernels' NR_CPUS

}  // namespace

sdk::ReadingOf<sdk::Char> parse_state_letter(std::string_view text) {
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text.front())))
    return Gap::Malformed;
  return text.substr(0, 1);
}

void StatusFile::fill(const sdk::Thread& thread, Values status) {
  if (thread.tid != thread.tgid) status.of<vocabulary::nr_threads>() = Gap::NotApplicable;
  put(thread.row, status);
}

sdk::Reading<sdk::Words> Affinity::read_thread_mask(std::uint64_t tid) {
  words_.resize(std::max(words_.size(), kInitialWords));
  for (;;) {
    const long bytes = ::syscall(SYS_sched_getaffinity, static_cast<pid_t>(tid),
                                 words_.size() * sizeof(words_[0]), words_.data());
    const bool is_too_small =
        bytes < 0 && errno == EINVAL && words_.size() * kBitsPerWord < kMaxCpus;
    if (bytes < 0 && !is_too_small) return gap_of_errno(errno);
    if (bytes >= 0) {
      std::size_t used_words = static_cast<std::size_t>(bytes) / sizeof(words_[0]);
      while (used_words > 0 && words_[used_words - 1] == 0) --used_words;
      return used_words > 0 ? sdk::Reading<sdk::Words>(sdk::Words(words_.data(), used_words))
                            : Gap::Malformed;
    }
    words_.resize(words_.size() * 2);
  }
}

sdk::Reading<sdk::Words> Affinity::parse_cpu_mask(const sdk::Reading<std::string_view>& list) {
  if (!list) return list.gap;
  if (!parse_cpu_list(list.value, words_)) return Gap::Malformed;
  return sdk::Words(words_);
}

}  // namespace ctprof::procfs
