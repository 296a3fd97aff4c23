#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace ctprof::jemalloc {

namespace {

// Once a capture has spent this much time on files, each further file gets a smaller budget.
constexpr std::chrono::nanoseconds kOrdinaryBudgetAfter = std::chrono::seconds(3);
constexpr std::chrono::nanoseconds kHeadersOnlyAfter = std::chrono::seconds(6);

}  // namespace

FileBudget::FileBudget(const Allowance& allowance, NowFunction now)
    : now_(now),
      bytes_left_(allowance.bytes),
      start_(now()),
      end_(start_ + allowance.time),
      is_full_(allowance.bytes >= kFullFileAllowance.bytes) {}

bool FileBudget::charge(std::uint64_t bytes) {
  if (is_spent_ || bytes > bytes_left_ || now_() > end_) {
    is_spent_ = true;
    return false;
  }
  bytes_left_ -= bytes;
  return true;
}

Allowance CaptureBudget::next_allowance() const {
  const std::chrono::nanoseconds spent(spent_ns_.load());
  if (spent < kOrdinaryBudgetAfter) return kFullFileAllowance;
  return spent < kHeadersOnlyAfter ? kOrdinaryFileAllowance : kHeadersOnlyAllowance;
}

namespace {

constexpr std::uint64_t kMaxSegments = 128;
constexpr std::uint64_t kMaxSections = 65536;
constexpr std::uint64_t kMaxSectionNames = 1 << 20;
constexpr std::size_t kMaxSectionNameSize = 64;
constexpr std::uint64_t kMaxDynamic = 1024;

const Elf64_Phdr* find_segment(const std::vector<Elf64_Phdr>& segments, std::uint32_t type) {
  const auto found = std::find_if(segments.begin(), segments.end(),
                                  [=](const Elf64_Phdr& s) { return s.p_type == type; });
  return found == segments.end() ? nullptr : &*found;
}

}  // namespace

ElfFile::ElfFile(int fd, std::shared_ptr<FileBudget> budget) : fd_(fd), budget_(std::move(budget)) {
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    size_ = static_cast<std::uint64_t>(status.st_size);
  read_header();
  if (kind_ != ElfKind::Elf64 || header_.e_phentsize != sizeof(Elf64_Phdr))
    return;  // a package has no segments
  segments_ = table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum, kMaxSegments);
  if (const auto* dynamic = find_segment(segments_, PT_DYNAMIC))
    dynamic_ =
        table<Elf64_Dyn>(dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn), kMaxDynamic);
}

void ElfFile::read_header() {
  if (!read(0, &header_, sizeof header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
    return;
  const bool is_supported =
      header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB;
  kind_ = is_supported ? ElfKind::Elf64 : ElfKind::OtherClass;
}

const Elf64_Phdr* ElfFile::find_tls() const { return find_segment(segments_, PT_TLS); }
const Elf64_Phdr* ElfFile::find_first_load() const { return find_segment(segments_, PT_LOAD); }

// A position-independent program is marked in DT_FLAGS_1. Programs of linkers older than that flag
// have the debugger's entry DT_DEBUG.
bool ElfFile::is_program() const {
  const bool has_pie_flag = (find_dynamic_value(DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0;
  return header_.e_type == ET_EXEC || has_pie_flag || find_dynamic_value(DT_DEBUG).has_value();
}

std::optional<std::uint64_t> ElfFile::find_dynamic_value(std::int64_t tag) const {
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == tag) return entry.d_un.d_val;
  }
  return std::nullopt;
}

std::vector<Elf64_Shdr> ElfFile::sections() const {
  if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shoff == 0) return {};
  return table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum, kMaxSections);
}

std::vector<NamedSection> ElfFile::named_sections() const {
  const auto headers = sections();
  if (header_.e_shstrndx >= headers.size()) return {};
  const auto names = table<char>(headers[header_.e_shstrndx].sh_offset,
                                 headers[header_.e_shstrndx].sh_size, kMaxSectionNames);
  if (!budget_->charge(headers.size() * sizeof(NamedSection))) return {};
  const std::string_view text(names.data(), names.size());
  std::vector<NamedSection> named;
  for (const Elf64_Shdr& header : headers) {
    const std::string_view name =
        text.substr(std::min<std::size_t>(header.sh_name, text.size()), kMaxSectionNameSize);
    named.push_back({std::string(name.substr(0, name.find('\0'))), header});
  }
  return named;
}

std::optional<std::uint64_t> ElfFile::find_file_offset(std::uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  return std::nullopt;
}

bool ElfFile::read(std::uint64_t offset, void* buffer, std::size_t size) const {
  return offset <= size_ && size <= size_ - offset && budget_->charge(size) &&
         read_charged(offset, buffer, size);
}

bool ElfFile::read_charged(std::uint64_t offset, void* buffer, std::size_t size) const {
  auto* position = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t size_read = ::pread(fd_, position, size, static_cast<off_t>(offset));
    if (size_read < 0 && errno == EINTR) continue;
    if (size_read <= 0) return false;
    position += size_read;
    offset += static_cast<std::uint64_t>(size_read);
    size -= static_cast<std::size_t>(size_read);
  }
  return true;
}

std::size_t ElfFile::count_fitting_items(std::uint64_t offset, std::uint64_t count,
                                         std::size_t size) const {
  if (offset >= size_) return 0;
  return static_cast<std::size_t>(std::min(count, (size_ - offset) / size));
}

}  // namespace ctprof::jemalloc
