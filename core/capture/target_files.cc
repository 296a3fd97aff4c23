#include "core/capture/target_files.hpp"

#include <fcntl.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ctprof {
namespace {

constexpr std::size_t kMaxUnopened = 100;

}  // namespace

TargetFiles::TargetFiles(int proc, std::chrono::milliseconds timeout, bool has_extra_rights,
                         std::uint64_t max_copied_bytes, std::size_t max_map_bytes)
    : proc_(::fcntl(proc, F_DUPFD_CLOEXEC, 0)),
      opener_(proc, has_extra_rights, max_copied_bytes),
      child_(
          [this](ChildMessage request) {
            return to_message(opener_.open(parse_request(std::move(request))));
          },
          opener_.descriptors()),
      timeouts_(timeout),
      max_map_bytes_(max_map_bytes) {}

void TargetFiles::add_unopened(const std::string& path) {
  if (unopened_files_.size() < kMaxUnopened && !std::ranges::count(unopened_files_, path))
    unopened_files_.push_back(path);
}

sdk::Fd TargetFiles::open_in_child(const OpenRequest& request, bool& has_timed_out) {
  ChildMessage answer;
  is_last_unopened_ = true;
  last_file_ = {};
  switch (child_.send_request(to_message(request), timeouts_.next_time_limit(), answer)) {
    case ChildProcess::Outcome::Answered: break;
    case ChildProcess::Outcome::TimedOut: has_timed_out = true; return sdk::Fd();
    case ChildProcess::Outcome::Interrupted:
    case ChildProcess::Outcome::Failed: return sdk::Fd();
  }
  last_file_ = parse_opened_file(std::move(answer));
  is_last_unopened_ = last_file_.is_too_large;
  return std::exchange(last_file_.fd, sdk::Fd());
}

// Prefers the current user of the process to the last known one.
OpenTimeouts::Target TargetFiles::read_target(std::uint64_t process,
                                              const std::optional<TargetOwner>& owner) const {
  OpenTimeouts::Target target{process};
  const sdk::Fd directory(
      ::openat(proc_.get(), std::to_string(process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto current = directory ? read_owner(directory.get()) : std::nullopt;
  if (current || owner) target.user = current ? current->user : owner->user;
  return target;
}

// Most recordings have no timeouts; then the user is not needed.
OpenTimeouts::Target TargetFiles::find_target(std::uint64_t process,
                                              const std::optional<TargetOwner>& owner) const {
  return timeouts_.count() == 0 ? OpenTimeouts::Target{process} : read_target(process, owner);
}

sdk::Fd TargetFiles::open_mapped(const OpenRequest& request) {
  bool has_timed_out = false;
  is_last_unopened_ = true;
  last_file_ = {};
  sdk::Fd fd;
  if (timeouts_.may_open(find_target(request.process, request.owner), request.file))
    fd = open_in_child(request, has_timed_out);
  if (has_timed_out) timeouts_.add(read_target(request.process, request.owner), request.file);
  if (is_last_unopened_) add_unopened(request.path);
  return fd;
}

sdk::Fd TargetFiles::open(std::uint64_t process, const CodeRange& range, const std::string& path,
                          FileId file, const std::optional<TargetOwner>& owner,
                          const MappedContent& content) {
  return open_mapped({OpenRequest::Kind::Mapped, process, owner, range, file, {}, content, path});
}

sdk::Fd TargetFiles::open_by_kernel_id(std::uint64_t process, const Mapping& mapping,
                                       const KernelStatus& status) {
  OpenRequest request;
  request.kind = OpenRequest::Kind::Mapped;
  request.process = process;
  request.range = {mapping.start, mapping.end, mapping.offset, 0};
  request.file = mapping.file;
  request.kernel_status = status;
  request.path = mapping.path;
  return open_mapped(request);
}

void TargetFiles::close(sdk::Fd fd) {
  fd.reset();
  opener_.release_copied(std::exchange(last_file_.copied_bytes, 0));
}

JitMap TargetFiles::perf_map(std::uint64_t process, const std::optional<TargetOwner>& owner) {
  if (!timeouts_.may_open(find_target(process, owner))) return {};
  bool has_timed_out = false;
  const auto fd = open_in_child({OpenRequest::Kind::PerfMap, process, owner}, has_timed_out);
  if (has_timed_out) timeouts_.add(read_target(process, owner));
  return fd ? read_perf_map(fd.get(), max_map_bytes_) : JitMap();
}

sdk::Fd TargetFiles::open_by_path(const std::string& path) {
  if (!timeouts_.may_open({})) return sdk::Fd();
  OpenRequest request;
  request.path = path;
  bool has_timed_out = false;
  sdk::Fd fd = open_in_child(request, has_timed_out);
  if (has_timed_out) timeouts_.add({});
  return fd;
}

std::string TargetFiles::kernel_symbols() {
  sdk::TextFile file;
  const auto text = file.read_records(proc_.get(), "kallsyms");
  return text ? std::string(text.value) : std::string();
}

}  // namespace ctprof
