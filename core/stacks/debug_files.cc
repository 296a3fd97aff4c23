#include "core/stacks/debug_files.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/local_file.hpp"
#include "core/base/lowered_rights.hpp"
#include "core/base/text.hpp"
#include "core/stacks/byte_cursor.hpp"

namespace ctprof {

struct DebugFiles::Opened {
  explicit Opened(sdk::Fd opened, std::string from = {})
      : fd(std::move(opened)), path(std::move(from)), file(fd.get()) {}
  sdk::Fd fd;
  std::string path;  // empty if a server sent the file
  ElfFile file;
};

// A file name without directories, and the checksum of that file.
struct DebugFiles::Link {
  std::string name;
  std::uint32_t checksum;
};

namespace {

constexpr const char* kSystemDirectory = "/usr/lib/debug";
constexpr std::uint64_t kLongestLink = 4096;
constexpr std::uint64_t kMostChecked = 64 << 20;
constexpr std::uint64_t kMostCheckedInAll = 256 << 20;

// Parses the link: a name, padded to four bytes, and the checksum.
template <class Link>
std::optional<Link> link_in(const ElfFile& file) {
  const auto section = file.section(".gnu_debuglink");
  if (!section || section->sh_type == SHT_NOBITS) return std::nullopt;
  const std::string bytes = file.bytes(section->sh_offset, section->sh_size, kLongestLink);
  ByteCursor cursor(bytes);
  Link link{std::string(cursor.text(kLongestLink)), 0};
  cursor.skip((4 - cursor.position() % 4) % 4);
  link.checksum = cursor.get<std::uint32_t>();
  const bool is_plain = !link.name.empty() && link.name.find('/') == link.name.npos;
  return is_plain && cursor.ok() ? std::optional(link) : std::nullopt;
}

// The link to the file to which dwz moved debug information.
struct MovedLink {
  std::string path, build_id;
};

MovedLink moved_link_of(const ElfFile& file) {
  const auto section = file.section(".gnu_debugaltlink");
  if (!section || section->sh_type == SHT_NOBITS) return {};
  const std::string bytes = file.bytes(section->sh_offset, section->sh_size, kLongestLink);
  ByteCursor cursor(bytes);
  std::string path(cursor.text(kLongestLink));
  return {std::move(path), std::string(cursor.take(bytes.size() - cursor.position()))};
}

std::uint32_t checksum_of(const ElfFile& file) {
  constexpr std::uint64_t kPiece = 1 << 20;
  uLong sum = ::crc32(0, nullptr, 0);
  for (std::uint64_t at = 0; at < file.size(); at += kPiece) {
    const std::string piece = file.bytes(at, file.size() - at, kPiece);
    sum =
        ::crc32(sum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace

// Opens the path with O_PATH first, which has no side effect, then for reading if it is regular.
sdk::Fd open_regular(const std::string& path) {
  const sdk::Fd named(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  return is_regular(named.get(), status) ? open_named(named.get()) : sdk::Fd();
}

bool has_lent_rights() { return ::getauxval(AT_SECURE) != 0; }

DebugFiles::DebugFiles(std::vector<std::string> wanted, bool is_lent, Beside beside, OpenFile open)
    : directories_(is_lent ? std::vector<std::string>() : std::move(wanted)),
      is_lent_(is_lent),
      beside_(is_lent ? Beside::Never : beside),
      open_(std::move(open)),
      checksum_budget_(kMostCheckedInAll) {
  directories_.emplace_back(kSystemDirectory);
}

DebugFiles::~DebugFiles() = default;

const ElfFile* DebugFiles::stripped_from(const Module& module, const ElfFile* own) {
  debug_ = identified(module.build_id, ".debug");
  const auto link = own && !debug_ ? link_in<Link>(*own) : std::nullopt;
  if (link) debug_ = linked(*link, module.path, *own);
  return debug_ ? &debug_->file : nullptr;
}

const ElfFile* DebugFiles::moved_from(const ElfFile& file, const std::string& path) {
  const MovedLink link = moved_link_of(file);
  moved_ = identified(link.build_id, ".debug");
  if (moved_ || link.path.empty() || link.build_id.empty()) return moved_ ? &moved_->file : nullptr;
  const std::string& from = debug_ && &debug_->file == &file ? debug_->path : path;
  const bool is_absolute = link.path.front() == '/';
  moved_ = std::make_unique<Opened>(
      open_named(is_absolute ? link.path : from.substr(0, from.rfind('/') + 1) + link.path));
  return moved_->file.build_id() == link.build_id ? &moved_->file : nullptr;
}

sdk::Fd DebugFiles::open_named(const std::string& path) const {
  if (is_lent_ || !path.starts_with('/')) return sdk::Fd();
  if (open_named_) return open_named_(path);
  return beside_ == Beside::Too ? open(path) : sdk::Fd();
}

sdk::Fd DebugFiles::open(const std::string& path) const {
  const LoweredRights lowered(is_lent_);
  return lowered ? open_(path) : sdk::Fd();
}

JitMap DebugFiles::jit_map(std::uint64_t process) const {
  const std::string number = std::to_string(process);
  for (const std::string& directory : directories_) {
    if (directory == kSystemDirectory) continue;
    if (const sdk::Fd dump = open(directory + "/jit-" + number + ".dump"))
      if (JitMap map = read_jit_dump(dump.get()); !map.text.empty()) return map;
    if (const sdk::Fd map = open(directory + "/perf-" + number + ".map"))
      return read_perf_map(map.get());
  }
  return {};
}

const ElfFile* DebugFiles::file_of(const Module& module) {
  program_ = std::make_unique<Opened>(open(module.path));
  const bool is_same = !module.build_id.empty() && program_->file.build_id() == module.build_id;
  if (!is_same) program_ = identified(module.build_id, "");
  return program_ ? &program_->file : nullptr;
}

std::unique_ptr<DebugFiles::Opened> DebugFiles::identified(const std::string& build_id,
                                                           std::string_view ending) const {
  if (build_id.size() < 2) return nullptr;
  const std::string id = hex(build_id);
  const std::string name = "/.build-id/" + id.substr(0, 2) + '/' + id.substr(2);
  const std::string kept = "/" + id + (ending.empty() ? "/executable" : "/debuginfo");
  for (const std::string& directory : directories_)
    for (const std::string& path : {(directory + name).append(ending), directory + kept}) {
      auto found = std::make_unique<Opened>(open(path), path);
      if (found->file.build_id() == build_id) return found;
    }
  if (!fetch_) return nullptr;
  auto fetched = std::make_unique<Opened>(fetch_(build_id, !ending.empty()));
  return fetched->file.build_id() == build_id ? std::move(fetched) : nullptr;
}

std::unique_ptr<DebugFiles::Opened> DebugFiles::linked(const Link& link, const std::string& path,
                                                       const ElfFile& own) {
  const std::string beside = path.substr(0, path.rfind('/') + 1);
  std::vector<std::string> places;
  if (beside_ == Beside::Too) places = {beside, beside + ".debug/"};
  for (const std::string& directory : directories_) places.push_back(directory + beside);
  for (const std::string& place : places) {
    auto found = std::make_unique<Opened>(open(place + link.name), place + link.name);
    if (found->file.is_valid() && belongs(*found, link, own)) return found;
  }
  return nullptr;
}

bool DebugFiles::belongs(const Opened& found, const Link& link, const ElfFile& own) {
  const std::string id = own.build_id(), its_id = found.file.build_id();
  if (!id.empty() && !its_id.empty()) return id == its_id;
  const std::uint64_t size = found.file.size();
  if (size > kMostChecked || size > checksum_budget_) return false;
  checksum_budget_ -= size;
  return checksum_of(found.file) == link.checksum;
}

NameSources sources_here(DebugFiles& files, const StackTable& table) {
  return {
      [&](std::uint32_t module) { return files.file_of(table.modules()[module]); },
      [&](std::uint64_t process) { return files.jit_map(process).text; },
      [] { return std::string(); },
      [&](std::uint32_t module, const ElfFile* own) {
        return files.stripped_from(table.modules()[module], own);
      },
      [&](const ElfFile& file, const std::string& path) { return files.moved_from(file, path); },
      [&](const std::string& path) { return files.open_named(path); }};
}

}  // namespace ctprof
