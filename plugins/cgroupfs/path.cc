#include "plugins/cgroupfs/path.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "ctprof/files.hpp"

namespace ctprof::cgroupfs {
namespace {

using Names = std::vector<std::string_view>;

std::string join_names(Names::const_iterator first, Names::const_iterator last) {
  std::string path;
  for (; first != last; ++first) (path += path.empty() ? "" : "/") += *first;
  return path.empty() ? "." : path;
}

constexpr std::size_t kRootField = 3;  // id, parent, device, root

bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

// Decodes "\040" and similar sequences, which the kernel writes for blanks and backslashes.
std::string unescape_octal(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                        is_octal(text[i + 2]) && is_octal(text[i + 3]);
    plain += escape ? static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                        (text[i + 3] - '0'))
                    : text[i];
    if (escape) i += 3;
  }
  return plain;
}

// Returns the path of this process in the unified hierarchy.
std::string own_path(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "self/cgroup");
  for (std::string_view rest = text ? text.value : std::string_view{}; !rest.empty();)
    if (const auto line = sdk::take(rest, '\n'); line.starts_with("0::"))
      return std::string(line.substr(3));
  return {};
}

// Searches for the directory below the mount in which the cgroup namespace of this process begins.
class BranchSearch {
 public:
  // The namespace begins `levels` below the mount; the cgroup of this process is at `tail` below
  // that.
  BranchSearch(int mount, std::size_t levels, std::string tail)
      : mount_(mount), levels_(levels), tail_(std::move(tail)) {}

  bool find(const std::string& at, std::size_t depth) {
    if (depth == levels_) return found_ = at, contains_this_process(at + "/" + tail_);
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(open(at), &::closedir);
    while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr)
      if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
          find(at + "/" + entry->d_name, depth + 1))
        return true;
    return false;
  }
  const std::string& found_path() const { return found_; }

 private:
  DIR* open(const std::string& at) const {
    const int fd = ::openat(mount_, at.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? nullptr : ::fdopendir(fd);
  }

  bool contains_this_process(const std::string& at) {
    const auto threads = file_.read_records(mount_, (at + "/cgroup.threads").c_str());
    const std::string self = std::to_string(::getpid());
    for (std::string_view rest = threads ? threads.value : std::string_view{}; !rest.empty();)
      if (sdk::take(rest, '\n') == self) return true;
    return false;
  }

  int mount_;
  std::size_t levels_;
  std::string tail_;
  std::string found_;
  sdk::TextFile file_;
};

}  // namespace

RelativePath parse_path(std::string_view path) {
  RelativePath parsed;
  while (!path.empty()) {
    const std::string_view name = sdk::take(path, '/');
    if (name.empty() || name == ".") continue;
    if (name != "..")
      parsed.names.push_back(name);
    else if (parsed.names.empty())
      ++parsed.levels_up;
    else
      parsed.names.pop_back();
  }
  return parsed;
}

sdk::Reading<std::string> path_below_mount(std::string_view mount_root, std::string_view path,
                                           std::string_view branch) {
  const RelativePath mount = parse_path(mount_root);
  RelativePath wanted = parse_path(path);
  if (wanted.levels_up > mount.levels_up) return Gap::Unsupported;
  // Names of the branch that the path omits.
  const std::size_t unnamed = mount.levels_up - wanted.levels_up;
  if (unnamed > 0) {
    const Names known = parse_path(branch).names;
    if (known.size() != mount.levels_up || !mount.names.empty()) return Gap::Unsupported;
    wanted.names.insert(wanted.names.begin(), known.begin(),
                        known.begin() + static_cast<std::ptrdiff_t>(unnamed));
  }
  const auto [in_mount, in_path] = std::mismatch(mount.names.begin(), mount.names.end(),
                                                 wanted.names.begin(), wanted.names.end());
  if (in_mount != mount.names.end()) return Gap::Unsupported;
  return join_names(in_path, wanted.names.end());
}

std::string root_of_mount(std::string_view mountinfo, std::string_view id) {
  while (!mountinfo.empty()) {
    std::string_view line = sdk::take(mountinfo, '\n');
    if (line.substr(0, line.find(' ')) != id) continue;
    for (std::size_t field = 0; field < kRootField; ++field) sdk::take(line, ' ');
    return unescape_octal(sdk::take(line, ' '));
  }
  return {};
}

std::string mount_root(const sdk::Host& host) { return mount_root(host, host.cgroup()); }

std::string mount_root(const sdk::Host& host, int directory) {
  if (!host.live()) return "/";
  sdk::TextFile fdinfo, mountinfo;
  const auto fdinfo_text =
      fdinfo.read(host.proc(), ("self/fdinfo/" + std::to_string(directory)).c_str());
  const auto id = fdinfo_text ? sdk::value_of(fdinfo_text.value, "mnt_id") : fdinfo_text;
  const auto mounts = mountinfo.read_records(host.proc(), "self/mountinfo");
  const std::string root = id && mounts ? root_of_mount(mounts.value, id.value) : std::string();
  return root.empty() ? "/" : root;
}

std::string find_branch(const sdk::Host& host, std::string_view mount_root) {
  const RelativePath mount = parse_path(mount_root);
  const std::string path = own_path(host);
  const RelativePath own = parse_path(path);
  if (mount.levels_up == 0 || !mount.names.empty() || own.levels_up > 0) return {};
  const auto tail = path_below_mount("/", path, {});
  BranchSearch search(host.cgroup(), mount.levels_up, tail.value);
  return search.find(".", 0) ? search.found_path().substr(2) : std::string();
}

}  // namespace ctprof::cgroupfs
