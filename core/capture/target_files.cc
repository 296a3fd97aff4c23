#include "core/capture/target_files.hpp"

#include <fcntl.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ctprof {
namespace {

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
      late_(patience),
      most_map_(most_map) {}

void TargetFiles::leave_out(const std::string& path) {
  if (left_out_.size() < kMostLeftOut && !std::ranges::count(left_out_, path))
    left_out_.push_back(path);
}

sdk::Fd TargetFiles::in_time(const OpenRequest& request, bool& is_late) {
  ChildMessage answer;
  is_left_out_ = true;
  last_ = {};
  switch (child_.ask(message_of(request), late_.patience(), answer)) {
    case ChildProcess::Outcome::Answered: break;
    case ChildProcess::Outcome::Late: is_late = true; return sdk::Fd();
    case ChildProcess::Outcome::Interrupted:
    case ChildProcess::Outcome::Failed: return sdk::Fd();
  }
  last_ = opened_in(std::move(answer));
  is_left_out_ = last_.is_too_large;
  return std::exchange(last_.fd, sdk::Fd());
}

sdk::Fd TargetFiles::open_mapped(const OpenRequest& request) {
  bool is_late = false;
  is_left_out_ = true;
  last_ = {};
  sdk::Fd fd;
  if (late_.may_ask(request.process, request.file)) fd = in_time(request, is_late);
  if (is_late) late_.add(request.process, request.file);
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
  if (!late_.may_ask(process)) return {};
  bool is_late = false;
  const auto fd = in_time({OpenRequest::Kind::PerfMap, process, owner}, is_late);
  if (is_late) late_.add(process);
  return fd ? read_perf_map(fd.get(), most_map_) : JitMap();
}

sdk::Fd TargetFiles::open_named(const std::string& path) {
  if (!late_.may_ask(0)) return sdk::Fd();
  OpenRequest request;
  request.path = path;
  bool is_late = false;
  sdk::Fd fd = in_time(request, is_late);
  if (is_late) late_.add(0);
  return fd;
}

std::string TargetFiles::kernel_symbols() {
  sdk::TextFile file;
  const auto text = file.read_records(proc_.get(), "kallsyms");
  return text ? std::string(text.value) : std::string();
}

}  // namespace ctprof
