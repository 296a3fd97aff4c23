// Finds debug files that contain what was stripped from a module, and the files of modules that
// were recorded at another time or on another host.
//
//   <directory>/.build-id/ab/cdef.debug             debug file of the file with build id abcdef
//   <directory>/.build-id/ab/cdef                   the file itself
//   <directory>/abcdef/debuginfo, .../executable    the same two, in the layout of debuginfod
//   /bin/x.debug, /bin/.debug/, <directory>/bin/    targets of the link in /bin/x (.gnu_debuglink)
//   <directory>/perf-<pid>.map, jit-<pid>.dump      output of a just-in-time compiler
//
// A file that was found is used only if it belongs to the module: by the build id or, if either has
// none, by the checksum in the link, which is computed for up to 64 MiB per file and 256 MiB in
// total. Only regular files are opened, because opening a device or a pipe may have an effect.
//
// Threads: not thread-safe.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/elf/debug_link.hpp"
#include "core/elf/elf_file.hpp"
#include "core/stacks/jit_maps.hpp"
#include "core/stacks/naming.hpp"
#include "core/stacks/stack_table.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Returns whether the executable gave the process rights that its user does not have (AT_SECURE).
bool has_elevated_rights();

// Opens a regular file for pread(2); returns nothing if there is none.
using OpenFile = std::function<sdk::Fd(const std::string& path)>;
// Opens a regular file in the calling thread, which waits for the file system.
sdk::Fd open_regular(const std::string& path);

// Fetches the debug file of a build id, or the file itself; returns nothing if no source has it.
using FetchFile = std::function<sdk::Fd(const std::string& build_id, bool is_debug_file)>;

class DebugFiles {
 public:
  // States whether a link may lead to files in the directory of the module's file. That directory
  // may be on an unresponsive file system, which a recording must not wait for.
  enum class SearchModuleDirectory : std::uint8_t { Never, Allowed };

  // Searches `directories`, then /usr/lib/debug. With elevated rights, it searches only the latter
  // and no directories of modules, because those rights must not open files that a user names. It
  // then also opens files there without capabilities, because a file can name the debug information
  // of another one. `open` opens each file: it returns a regular file or nothing.
  explicit DebugFiles(std::vector<std::string> directories,
                      bool is_privileged = has_elevated_rights(),
                      SearchModuleDirectory module_directory = SearchModuleDirectory::Allowed,
                      OpenFile open = open_regular);
  ~DebugFiles();

  // Each returned pointer is valid until the next call of the same function; null: not found.

  // Finds the debug file of a module. `own` is the module's own file, or null if it is unavailable.
  const ElfFile* find_debug_file(const Module& module, const ElfFile* own);
  // Finds the file to which dwz moved debug information that several files share: by its build id,
  // otherwise at the path in the link, relative to the directory of the file. `path` is the path of
  // the module.
  const ElfFile* find_dwz_file(const ElfFile& file, const std::string& path);
  // Opens a file that another file names by path (dwz files, .dwo files); returns nothing if that
  // is disabled.
  sdk::Fd open_named(const std::string& path) const;
  // Sets the function that open_named() uses if SearchModuleDirectory::Never was chosen.
  void set_open_named(OpenFile open) { open_named_ = std::move(open); }
  // Reads the functions that a process generated from the directories that the user named. They
  // have no build id: the user states that they belong to this process.
  JitMap read_jit_map(std::uint64_t process) const;
  // Sets the source of files that no directory has. It must live as long as this object.
  void set_fetch(FetchFile fetch) { fetch_ = std::move(fetch); }
  // Finds the file of a module: at its path if it still has the build id, otherwise by the build
  // id. It opens paths from the table: call it only with the user's own rights.
  const ElfFile* find_module_file(const Module& module);

 private:
  struct OpenedFile;

  std::unique_ptr<OpenedFile> open_linked(const DebugLink& link, const std::string& path,
                                          const ElfFile& own);
  std::unique_ptr<OpenedFile> open_by_build_id(const std::string& build_id,
                                               std::string_view ending) const;
  bool is_match(const OpenedFile& found, const DebugLink& link, const ElfFile& own);
  // Opens a file without elevated capabilities.
  sdk::Fd open(const std::string& path) const;

  std::vector<std::string> directories_;
  bool has_elevated_rights_;
  SearchModuleDirectory module_directory_;
  OpenFile open_;
  FetchFile fetch_;
  OpenFile open_named_;
  std::uint64_t checksum_budget_;
  std::unique_ptr<OpenedFile> debug_file_, dwz_file_, module_file_;
};

// Returns name sources for a table after the recording: they read files as they are on this host
// now. The kernel's symbols of the recording are no longer available. Both arguments must outlive
// the result.
NameSources make_local_sources(DebugFiles& files, const StackTable& table);

}  // namespace ctprof
