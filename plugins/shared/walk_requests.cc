#include "plugins/shared/walk_requests.hpp"

namespace ctprof {
namespace {

// Limits the stored paths of mapped files. When it is reached, all paths are dropped.
constexpr std::size_t kMostPaths = 16 << 10;

std::uint64_t key_of(std::uint32_t device, std::uint64_t inode) {
  return inode ^ std::uint64_t{device} << 32;
}

}  // namespace

std::string joined_remarks(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

void WalkRequests::note_path(std::uint32_t device, std::uint64_t inode, std::string_view path) {
  if (inode == 0 || path.empty()) return;
  if (paths_.size() == kMostPaths) paths_.clear();
  paths_[key_of(device, inode)] = path;
}

void WalkRequests::note(std::uint64_t tgid, const walk_miss& miss) {
  if (miss.file.device == 0 && miss.file.inode == 0) return;
  requests_.push_back({tgid, miss});
}

void WalkRequests::ask(const sdk::Records& records, std::uint64_t number) const {
  const auto& [tgid, miss] = requests_[number];
  ctprof_table_request to{};
  to.request = number;
  if (number == 0) to.flags = CTPROF_TABLE_OF_VDSO;
  to.tgid = tgid;
  to.start = miss.start;
  to.length = miss.end - miss.start;
  to.offset = miss.offset;
  to.device_major = major_of(miss.file.device);
  to.device_minor = minor_of(miss.file.device);
  to.inode = miss.file.inode;
  to.file_size = miss.file.size;
  to.changed_s = miss.file.changed_s;
  to.changed_ns = miss.file.changed_ns;
  const auto path = paths_.find(key_of(miss.file.device, miss.file.inode));
  if (path != paths_.end()) to.path = {path->second.data(), path->second.size()};
  records.want_table(to);
}

void WalkRequests::exchange(const sdk::Records& records, WalkTables& tables) {
  for (; asked_ < requests_.size(); ++asked_) ask(records, asked_);
  ctprof_unwind_table table;
  while (records.next_table(table)) {
    if (table.request >= requests_.size()) continue;
    const walk_file& file = requests_[table.request].miss.file;
    if (table.number != 0)
      refused_ += !tables.add(table, file);
    else if (++failed_[key_of(file.device, file.inode)] < kMostAttempts)
      tables.forget(file);
  }
}

std::string WalkRequests::remark(const std::string& recorder) const {
  if (refused_ == 0) return {};
  return recorder + ": stacks through " + std::to_string(refused_) +
         (refused_ == 1 ? " file" : " files") +
         " are copied: the space for unwind tables is full; restart the recorder";
}

}  // namespace ctprof
