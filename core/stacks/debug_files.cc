#include "core/stacks/debug_files.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/dropped_capabilities.hpp"
#include "core/base/local_file.hpp"
#include "core/base/text.hpp"
#include "core/elf/byte_cursor.hpp"
#include "core/elf/debug_link.hpp"

namespace ctprof {

struct DebugFiles::OpenedFile {
  explicit OpenedFile(sdk::Fd opened_fd, std::string opened_path = {})
      : fd(std::move(opened_fd)), path(std::move(opened_path)), file(fd.get()) {}
  sdk::Fd fd;
  std::string path;  // empty if a server sent the file
  ElfFile file;
};

namespace {

constexpr const char* kSystemDirectory = "/usr/lib/debug";
constexpr std::uint64_t kMaxLinkSize = 4096;
constexpr std::uint64_t kMaxChecksumBytesPerFile = 64 << 20;
constexpr std::uint64_t kMaxChecksumBytes = 256 << 20;

// The link to the file to which dwz moved debug information.
struct DwzLink {
  std::string path, build_id;
};

DwzLink read_dwz_link(const ElfFile& file) {
  const auto section = file.section(".gnu_debugaltlink");
  if (!section || section->sh_type == SHT_NOBITS) return {};
  const std::string bytes = file.read_bytes(section->sh_offset, section->sh_size, kMaxLinkSize);
  ByteCursor cursor(bytes);
  std::string path(cursor.text(kMaxLinkSize));
  return {std::move(path), std::string(cursor.take(bytes.size() - cursor.position()))};
}

}  // namespace

// Opens the path with O_PATH first, which has no side effect, then for reading if it is regular.
sdk::Fd open_regular(const std::string& path) {
  const sdk::Fd named(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  return is_regular(named.get(), status) ? reopen_for_reading(named.get()) : sdk::Fd();
}

bool has_elevated_rights() { return ::getauxval(AT_SECURE) != 0; }

DebugFiles::DebugFiles(std::vector<std::string> directories, bool has_elevated_rights,
                       SearchModuleDirectory module_directory, OpenFile open)
    : directories_(has_elevated_rights ? std::vector<std::string>() : std::move(directories)),
      has_elevated_rights_(has_elevated_rights),
      module_directory_(has_elevated_rights ? SearchModuleDirectory::Never : module_directory),
      open_(std::move(open)),
      checksum_budget_(kMaxChecksumBytes) {
  directories_.emplace_back(kSystemDirectory);
}

DebugFiles::~DebugFiles() = default;

const ElfFile* DebugFiles::find_debug_file(const Module& module, const ElfFile* own) {
  debug_file_ = open_by_build_id(module.build_id, ".debug");
  const auto link = own && !debug_file_ ? read_debug_link(*own) : std::nullopt;
  if (link) debug_file_ = open_linked(*link, module.path, *own);
  return debug_file_ ? &debug_file_->file : nullptr;
}

const ElfFile* DebugFiles::find_dwz_file(const ElfFile& file, const std::string& path) {
  const DwzLink link = read_dwz_link(file);
  dwz_file_ = open_by_build_id(link.build_id, ".debug");
  if (dwz_file_ || link.path.empty() || link.build_id.empty())
    return dwz_file_ ? &dwz_file_->file : nullptr;
  const std::string& referrer =
      debug_file_ && &debug_file_->file == &file ? debug_file_->path : path;
  const bool is_absolute = link.path.front() == '/';
  dwz_file_ = std::make_unique<OpenedFile>(open_named(
      is_absolute ? link.path : referrer.substr(0, referrer.rfind('/') + 1) + link.path));
  return dwz_file_->file.build_id() == link.build_id ? &dwz_file_->file : nullptr;
}

sdk::Fd DebugFiles::open_named(const std::string& path) const {
  if (has_elevated_rights_ || !path.starts_with('/')) return sdk::Fd();
  if (open_named_) return open_named_(path);
  return module_directory_ == SearchModuleDirectory::Allowed ? open(path) : sdk::Fd();
}

sdk::Fd DebugFiles::open(const std::string& path) const {
  const DroppedCapabilities lowered(has_elevated_rights_);
  return lowered ? open_(path) : sdk::Fd();
}

JitMap DebugFiles::read_jit_map(std::uint64_t process) const {
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

const ElfFile* DebugFiles::find_module_file(const Module& module) {
  module_file_ = std::make_unique<OpenedFile>(open(module.path));
  const bool is_same = !module.build_id.empty() && module_file_->file.build_id() == module.build_id;
  if (!is_same) module_file_ = open_by_build_id(module.build_id, "");
  return module_file_ ? &module_file_->file : nullptr;
}

std::unique_ptr<DebugFiles::OpenedFile> DebugFiles::open_by_build_id(
    const std::string& build_id, std::string_view ending) const {
  if (build_id.size() < 2) return nullptr;
  const std::string name = format_build_id_path(build_id);
  const std::string debuginfod_name =
      "/" + to_hex(build_id) + (ending.empty() ? "/executable" : "/debuginfo");
  for (const std::string& directory : directories_)
    for (const std::string& path :
         {(directory + name).append(ending), directory + debuginfod_name}) {
      auto found = std::make_unique<OpenedFile>(open(path), path);
      if (found->file.build_id() == build_id) return found;
    }
  if (!fetch_) return nullptr;
  auto fetched = std::make_unique<OpenedFile>(fetch_(build_id, !ending.empty()));
  return fetched->file.build_id() == build_id ? std::move(fetched) : nullptr;
}

std::unique_ptr<DebugFiles::OpenedFile> DebugFiles::open_linked(const DebugLink& link,
                                                                const std::string& path,
                                                                const ElfFile& own) {
  const std::string module_directory = path.substr(0, path.rfind('/') + 1);
  std::vector<std::string> places;
  if (module_directory_ == SearchModuleDirectory::Allowed)
    places = {module_directory, module_directory + ".debug/"};
  for (const std::string& directory : directories_) places.push_back(directory + module_directory);
  for (const std::string& place : places) {
    auto found = std::make_unique<OpenedFile>(open(place + link.name), place + link.name);
    if (found->file.is_valid() && is_match(*found, link, own)) return found;
  }
  return nullptr;
}

bool DebugFiles::is_match(const OpenedFile& found, const DebugLink& link, const ElfFile& own) {
  const std::string id = own.build_id(), found_id = found.file.build_id();
  if (!id.empty() && !found_id.empty()) return id == found_id;
  const std::uint64_t size = found.file.size();
  if (size > kMaxChecksumBytesPerFile || size > checksum_budget_) return false;
  checksum_budget_ -= size;
  return compute_link_checksum(found.file) == link.checksum;
}

NameSources make_local_sources(DebugFiles& files, const StackTable& table) {
  return {
      [&](std::uint32_t module) { return files.find_module_file(table.modules()[module]); },
      [&](std::uint64_t process) { return files.read_jit_map(process).text; },
      [] { return std::string(); },
      [&](std::uint32_t module, const ElfFile* own) {
        return files.find_debug_file(table.modules()[module], own);
      },
      [&](const ElfFile& file, const std::string& path) { return files.find_dwz_file(file, path); },
      [&](const std::string& path) { return files.open_named(path); }};
}

}  // namespace ctprof
