#include "plugins/shared/walk_requests.hpp"

namespace ctprof {
namespace {

// Limits the stored paths of mapped files. When it is reached, all paths are dropped.
constexpr std::size_t kMaxPaths = 16 << 10;

std::uint64_t file_key(std::uint32_t device, std::uint64_t inode) {
  return inode ^ std::uint64_t{device} << 32;
}

}  // namespace

std::string join_remarks(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

void WalkRequests::add_path(std::uint32_t device, std::uint64_t inode, std::string_view path) {
  if (inode == 0 || path.empty()) return;
  if (paths_.size() == kMaxPaths) paths_.clear();
  paths_[file_key(device, inode)] = path;
}

void WalkRequests::add_miss(std::uint64_t tgid, const walk_miss& miss) {
  if (miss.file.device == 0 && miss.file.inode == 0) return;
  requests_.push_back({tgid, miss});
}

void WalkRequests::send_request(const sdk::Records& records, std::uint64_t number) const {
  const auto& [tgid, miss] = requests_[number];
  ctprof_table_request request{};
  request.request = number;
  if (number == 0) request.flags = CTPROF_TABLE_OF_VDSO;
  request.tgid = tgid;
  request.start = miss.start;
  request.length = miss.end - miss.start;
  request.offset = miss.offset;
  request.device_major = major_of(miss.file.device);
  request.device_minor = minor_of(miss.file.device);
  request.inode = miss.file.inode;
  request.file_size = miss.file.size;
  request.changed_s = miss.file.ctime_s;
  request.changed_ns = miss.file.ctime_ns;
  const auto path = paths_.find(file_key(miss.file.device, miss.file.inode));
  if (path != paths_.end()) request.path = {path->second.data(), path->second.size()};
  records.want_table(request);
}

void WalkRequests::exchange(const sdk::Records& records, WalkTables& tables) {
  for (; sent_requests_ < requests_.size(); ++sent_requests_) send_request(records, sent_requests_);
  ctprof_unwind_table table;
  while (records.next_table(table)) {
    if (table.request >= requests_.size()) continue;
    const walk_file& file = requests_[table.request].miss.file;
    if (table.number != 0)
      refused_tables_ += !tables.add(table, file);
    else if (++failed_attempts_[file_key(file.device, file.inode)] < kMaxAttempts)
      tables.remove_file(file);
  }
}

std::string WalkRequests::describe_refused_tables(const std::string& recorder,
                                                  std::uint64_t unlisted_walks) const {
  std::string tables, files;
  if (refused_tables_ > 0)
    tables = recorder + ": stacks through " + std::to_string(refused_tables_) +
             (refused_tables_ == 1 ? " file" : " files") +
             " are copied: the space for unwind tables is full; restart the recorder";
  if (unlisted_walks > 0)
    files = recorder + ": " + std::to_string(unlisted_walks) +
            (unlisted_walks == 1 ? " stack was" : " stacks were") +
            " copied: the list of files with unwind tables is full (" +
            std::to_string(WALK_MAX_FILES) + " files); restart the recorder";
  return join_remarks(tables, files);
}

}  // namespace ctprof
