#include "core/capture/target_files.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/local_file.hpp"

namespace ctprof {
namespace {

// Each costs a process and the time that it was waited for.
constexpr std::size_t kMostHeldUp = 5;
constexpr std::size_t kMostLeftOut = 100;

}  // namespace

TargetFiles::TargetFiles(int proc, std::chrono::milliseconds patience, bool is_lent,
                         std::uint64_t most_copied, std::size_t most_map)
    : proc_(::fcntl(proc, F_DUPFD_CLOEXEC, 0)),
      opener_(proc, is_lent, most_copied),
      child_(
          [this](ChildMessage request) {
            return message_of(opener_.open(request_in(std::move(request))));
          },
          opener_.descriptors()),
      patience_(patience),
      most_map_(most_map) {}

// Disks of the host and what we run on ourselves always answer.
bool TargetFiles::may_wait_for(const FileId& file) const {
  if (silent_.contains(file.device)) return false;
  return held_up_ < kMostHeldUp || major(file.device) != 0 || file.device == root_device();
}

void TargetFiles::leave_out(const std::string& path) {
  if (left_out_.size() < kMostLeftOut && !std::ranges::count(left_out_, path))
    left_out_.push_back(path);
}

sdk::Fd TargetFiles::in_time(const OpenRequest& request) {
  ChildMessage answer;
  is_left_out_ = true;
  last_ = {};
  switch (child_.ask(message_of(request), patience_, answer)) {
    case ChildProcess::Outcome::Answered: break;
    case ChildProcess::Outcome::Late: ++held_up_; return sdk::Fd();
    case ChildProcess::Outcome::Interrupted:
    case ChildProcess::Outcome::Failed: return sdk::Fd();
  }
  last_ = opened_in(std::move(answer));
  is_left_out_ = last_.is_too_large;
  return std::exchange(last_.fd, sdk::Fd());
}

sdk::Fd TargetFiles::open_mapped(const OpenRequest& request) {
  const std::size_t before = held_up_;
  is_left_out_ = true;
  last_ = {};
  sdk::Fd fd;
  if (may_wait_for(request.file)) fd = in_time(request);
  if (held_up_ > before) silent_.insert(request.file.device);
  if (is_left_out_) leave_out(request.path);
  return fd;
}

sdk::Fd TargetFiles::open(std::uint64_t process, const CodeRange& range, const std::string& path,
                          FileId file, const std::optional<TargetOwner>& owner,
                          const MappedContent& content) {
  return open_mapped(
      {OpenRequest::Kind::Mapped, process, owner, range, file, false, content, path});
}

sdk::Fd TargetFiles::open_stored(std::uint64_t process, const Mapping& mapping) {
  OpenRequest request;
  request.kind = OpenRequest::Kind::Mapped;
  request.process = process;
  request.range = {mapping.start, mapping.end, mapping.offset, 0};
  request.file = mapping.file;
  request.may_be_of_layer = true;
  request.path = mapping.path;
  return open_mapped(request);
}

void TargetFiles::close(sdk::Fd fd) {
  fd.reset();
  opener_.give_back(std::exchange(last_.copied, 0));
}

JitMap TargetFiles::perf_map(std::uint64_t process, const std::optional<TargetOwner>& owner) {
  if (held_up_ >= kMostHeldUp) return {};
  const auto fd = in_time({OpenRequest::Kind::PerfMap, process, owner});
  return fd ? read_perf_map(fd.get(), most_map_) : JitMap();
}

sdk::Fd TargetFiles::open_named(const std::string& path) {
  if (held_up_ >= kMostHeldUp) return sdk::Fd();
  OpenRequest request;
  request.path = path;
  return in_time(request);
}

std::string TargetFiles::kernel_symbols() {
  sdk::TextFile file;
  const auto text = file.read_records(proc_.get(), "kallsyms");
  return text ? std::string(text.value) : std::string();
}

}  // namespace ctprof
