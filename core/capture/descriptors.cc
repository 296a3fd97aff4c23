#include "core/capture/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "ctprof/files.hpp"

namespace ctprof {
namespace {

// Files open besides the workers' directories: one or two per worker, and a reserve.
constexpr rlim_t kOtherFiles = 128;
// The same for a single worker.
constexpr rlim_t kFilesOfOneWorker = 64;

// Raises the soft limit to `requested` or to the hard limit. Returns the new limit.
rlim_t raise_limit(rlim_t requested) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return requested;
  if (limit.rlim_cur >= requested) return limit.rlim_cur;
  limit.rlim_cur = std::min(requested, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

Error too_few_descriptors(rlim_t limit, std::size_t free, std::size_t minimum) {
  const std::string needed_limit = std::to_string(limit - free + minimum);
  return {"a capture opens " + std::to_string(minimum) + " files at a time, and the limit of " +
          std::to_string(limit) + " leaves " + std::to_string(free) + ": raise it to " +
          needed_limit + " at least (ulimit -n " + needed_limit + ")"};
}

}  // namespace

Result<void> check_descriptors(std::size_t minimum) {
  const rlim_t limit = raise_limit(kOtherFiles + kFilesOfOneWorker);
  std::vector<sdk::Fd> descriptors;
  while (descriptors.size() < minimum) {
    const int fd = descriptors.empty() ? ::open("/", O_PATH | O_CLOEXEC)
                                       : ::fcntl(descriptors.front().get(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0 && errno == EMFILE) return too_few_descriptors(limit, descriptors.size(), minimum);
    if (fd < 0) return errno_error("opening", "/", errno);
    descriptors.emplace_back(fd);
  }
  return {};
}

DescriptorShare share_descriptors(unsigned workers, std::uint32_t directories) {
  const rlim_t limit = raise_limit(rlim_t{workers} * directories + kOtherFiles);
  if (limit >= kOtherFiles + directories)
    return {static_cast<unsigned>(std::min<rlim_t>(workers, (limit - kOtherFiles) / directories)),
            directories};
  const rlim_t spare = limit > kFilesOfOneWorker ? limit - kFilesOfOneWorker : 0;
  return {1, static_cast<std::uint32_t>(std::min<rlim_t>(spare, directories))};
}

}  // namespace ctprof
