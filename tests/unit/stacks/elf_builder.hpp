// Builds a small ELF file byte by byte: one code segment, and call frame information from the test.

#pragma once

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctprof/files.hpp"

namespace ctprof::tests {

template <class T>
std::string bytes_of(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// Returns bytes written as numbers: code({0x0c, 7, 8}).
inline std::string to_bytes(std::initializer_list<int> numbers) {
  return {numbers.begin(), numbers.end()};
}

// The initial rules of every x86-64 function: CFA = rsp + 8, return address at CFA - 8.
inline const std::string kX86InitialRules = to_bytes({0x0c, 7, 8, 0x90, 1});

class ElfBuilder {
 public:
  // Addresses equal file offsets, and the whole file is one code segment.
  static constexpr std::uint64_t kTable = 0x800, kFrames = 0x1000, kNote = 0x700, kSize = 0x10000;

  explicit ElfBuilder(std::uint16_t machine = EM_X86_64) : machine_(machine) {}

  // Adds the common entry (CIE) that the following functions share.
  void add_common_entry(std::string_view program, std::string_view letters = "zR", int ra = 16) {
    common_ = frames_.size();
    std::string body =
        to_bytes({0, 0, 0, 0, 1}) + std::string(letters) + to_bytes({0, 1, 0x78, ra});
    body += to_bytes({1, 0x1b}) + std::string(program);
    frames_ += bytes_of(static_cast<std::uint32_t>(body.size())) + body;
  }

  void add_function(std::uint64_t start, std::uint32_t size, std::string_view program) {
    const std::size_t at = frames_.size();
    functions_.push_back({start, kFrames + at});
    const auto here = static_cast<std::int64_t>(kFrames + at + 8);
    std::string body = bytes_of(static_cast<std::uint32_t>(at + 4 - common_));
    body += bytes_of(static_cast<std::int32_t>(static_cast<std::int64_t>(start) - here));
    body += bytes_of(size) + to_bytes({0}) + std::string(program);
    frames_ += bytes_of(static_cast<std::uint32_t>(body.size())) + body;
  }

  std::string& frames() { return frames_; }

  // Puts bytes of code at an address.
  void put_code(std::uint64_t address, std::string_view bytes) {
    code_.emplace_back(address, bytes);
  }
  void set_entry(std::uint64_t address) { entry_ = address; }
  // Marks the part of the file below this address as data.
  void set_first_code(std::uint64_t address) { first_code_ = address; }

  std::string image(bool with_table = true) const {
    std::string file(kSize, '\0');
    std::vector<Elf64_Phdr> segments = {
        {PT_LOAD, PF_R | PF_X, first_code_, first_code_, first_code_, kSize - first_code_,
         kSize - first_code_, 4096},
        {PT_NOTE, PF_R, kNote, kNote, kNote, 20, 20, 4},
        {with_table ? PT_GNU_EH_FRAME : std::uint32_t{PT_NULL}, PF_R, kTable, kTable, kTable,
         kFrames - kTable, kFrames - kTable, 4}};
    if (first_code_ > 0)
      segments.push_back({PT_LOAD, PF_R, 0, 0, 0, first_code_, first_code_, 4096});
    put(file, 0, bytes_of(header(segments.size())));
    for (std::size_t i = 0; i < segments.size(); ++i)
      put(file, sizeof(Elf64_Ehdr) + i * sizeof(Elf64_Phdr), bytes_of(segments[i]));
    put(file, kNote,
        bytes_of(Elf64_Nhdr{4, 4, NT_GNU_BUILD_ID}) + std::string("GNU\0\xde\xad\xbe\xef", 8));
    put(file, kTable, table());
    put(file, kFrames, frames_);
    for (const auto& [address, bytes] : code_) put(file, address, bytes);
    return file;
  }

  sdk::Fd open() const { return memory_file(image()); }

  static sdk::Fd memory_file(std::string_view bytes) {
    sdk::Fd fd(::memfd_create("made", MFD_CLOEXEC));
    return ::write(fd.get(), bytes.data(), bytes.size()) < 0 ? sdk::Fd() : std::move(fd);
  }

 private:
  struct FunctionEntry {
    std::uint64_t start, entry;
  };

  static void put(std::string& file, std::uint64_t at, std::string_view bytes) {
    file.replace(at, bytes.size(), bytes);
  }

  Elf64_Ehdr header(std::size_t segments) const {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = machine_;
    header.e_entry = entry_;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<std::uint16_t>(segments);
    return header;
  }

  // Functions are in order of address, as linkers sort them, because tests add them in this order.
  std::string table() const {
    std::string table = to_bytes({1, 0x1b, 3, 0x3b});
    table += bytes_of(static_cast<std::int32_t>(kFrames - kTable - 4));
    table += bytes_of(static_cast<std::uint32_t>(functions_.size()));
    for (const FunctionEntry& place : functions_)
      table += bytes_of(static_cast<std::int32_t>(place.start - kTable)) +
               bytes_of(static_cast<std::int32_t>(place.entry - kTable));
    return table;
  }

  std::uint16_t machine_;
  std::string frames_;
  std::size_t common_ = 0;
  std::uint64_t first_code_ = 0;
  std::vector<FunctionEntry> functions_;
  std::vector<std::pair<std::uint64_t, std::string>> code_;
  std::uint64_t entry_ = 0;
};

}  // namespace ctprof::tests
