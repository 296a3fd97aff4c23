// Files that hold what was stripped from others, or that are others which a table of stacks knows
// from another time or machine.
//
//   <directory>/.build-id/ab/cdef.debug             what was stripped from the file of id abcdef
//   <directory>/.build-id/ab/cdef                   that file itself
//   <directory>/abcdef/debuginfo, .../executable    the same two, as debuginfod keeps them
//   /bin/x.debug, /bin/.debug/, <directory>/bin/    where the link in /bin/x (.gnu_debuglink) leads
//   <directory>/perf-<pid>.map, jit-<pid>.dump      what a just-in-time compiler wrote
//
// What is found counts only if it belongs to the file: by the build id; where one of them has none,
// by the checksum in the link, which is read up to 64 MiB in a file and 256 MiB in all. Only
// regular files are ever opened: with a device or a pipe that may have an effect.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stacks/elf_file.hpp"
#include "core/stacks/jit_maps.hpp"
#include "core/stacks/naming.hpp"
#include "core/stacks/stack_table.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Whether the executable gave rights to the process that its user does not have (AT_SECURE).
bool has_lent_rights();

// Opens a regular file to be read with pread(2); nothing where there is none.
using OpenFile = std::function<sdk::Fd(const std::string& path)>;
// Does so in the calling thread, which waits for the file system.
sdk::Fd open_regular(const std::string& path);

// Gets the debug file of a build id, or the file itself; nothing if no source has either.
using FetchFile = std::function<sdk::Fd(const std::string& build_id, bool is_stripped)>;

class DebugFiles {
 public:
  // Whether a link leads also to what lies beside a module's file. That may be on a file system
  // that does not answer, which whoever records cannot wait for.
  enum class Beside : std::uint8_t { Never, Too };

  // Looks in `wanted`, then in /usr/lib/debug. With lent rights, in the latter alone, and beside no
  // file: they are not for opening what a user points at. Files there are opened without
  // capabilities then, for a file can name the debug information of another one.
  // `open` opens each of them: a regular file, or nothing.
  explicit DebugFiles(std::vector<std::string> wanted, bool is_lent = has_lent_rights(),
                      Beside beside = Beside::Too, OpenFile open = open_regular);
  ~DebugFiles();

  // Each of these lives until the next call of the same function; null: there is none.

  // What was stripped from a module; `own` is its own file, or null where nobody has it.
  const ElfFile* stripped_from(const Module& module, const ElfFile* own);
  // What dwz moved out of the debug information of a file, for it was the same in several: by its
  // build id, else where the link leads, seen from the file's directory. `path`: of the module.
  const ElfFile* moved_from(const ElfFile& file, const std::string& path);
  // Opens what files name by a path (what dwz moved, .dwo files); nothing where that is not wanted.
  sdk::Fd open_named(const std::string& path) const;
  // How that is done where Beside::Never was chosen.
  void open_named_by(OpenFile open) { open_named_ = std::move(open); }
  // Functions that a process generated, by the directories that the user named. They have no build
  // id: the user knows that they are of that process.
  JitMap jit_map(std::uint64_t process) const;
  // Where files come from that no directory has. It lives as long as this.
  void fetch_from(FetchFile fetch) { fetch_ = std::move(fetch); }
  // The file of a module: where it was, if it still has that build id, or by the id. It opens what
  // the table names: call it with the user's own rights alone.
  const ElfFile* file_of(const Module& module);

 private:
  struct Opened;
  struct Link;

  std::unique_ptr<Opened> linked(const Link& link, const std::string& path, const ElfFile& own);
  std::unique_ptr<Opened> identified(const std::string& build_id, std::string_view ending) const;
  bool belongs(const Opened& found, const Link& link, const ElfFile& own);
  // Without capabilities that are lent.
  sdk::Fd open(const std::string& path) const;

  std::vector<std::string> directories_;
  bool is_lent_;
  Beside beside_;
  OpenFile open_;
  FetchFile fetch_;
  OpenFile open_named_;
  std::uint64_t checksum_budget_;
  std::unique_ptr<Opened> debug_, moved_, program_;
};

// Where frames of a table get names once all else is gone: of files as they are on this machine
// now. What the kernel told is not to be had any more. Both live longer than what is returned.
NameSources sources_here(DebugFiles& files, const StackTable& table);

}  // namespace ctprof
