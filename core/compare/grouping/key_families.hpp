// Keys of groups: determines which names of processes, threads and cgroups form one family, and the
// name of the family. Also builds keys of single processes: "pcomm[tgid]" or the value of a text
// metric.
//
// A name is split into tokens at . - _ / : @ + [ ] and white space, which are kept. The first
// matching line gives the replacement of a token:
//
//   1a2b3c4d-...-..., a UUID with dashes or underscores, perhaps after "pod"     {U}
//   12                                                                           {N}
//   1f, c0ffee: lower-case hexadecimal with a digit, two characters or more      {H}
//   worker7                                                                      worker{N}
//   7worker                                                                      {N}worker
//
// {U} and {H} are replaced by the original text if all names of a pattern have the same text there.
// So cc1 and d3d are kept until they vary. The key of a pattern with a single name is that name.
//
// A cgroup path is replaced by the first glob that matches the whole path. Otherwise the instance
// of a template unit becomes {I} (getty@tty1.service: getty@{I}.service), and then the rules above
// apply. An instance that contains a dot, dash or underscore is kept, because it is more than a
// number.
//
// See also: row_grouper.hpp groups rows by these keys, grouping.hpp joins the runs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/compare/request/spec.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Names that are kept unchanged; each name is a key.
class LiteralNames {
 public:
  std::uint32_t add(std::string_view name);
  std::vector<std::string> keys() const;
  std::vector<std::string> patterns() const { return keys(); }

 private:
  std::unordered_map<std::string, std::uint32_t, SeededHash> known_;
};

// Names with the same pattern form a family. Only the name determines its family, so names can be
// added one by one, run after run. The key of a family depends on all its names.
class NameFamilies {
 public:
  // Returns the number of the name's family.
  std::uint32_t add(std::string_view name);
  // Returns the key of each family, by number.
  std::vector<std::string> keys() const;
  // Returns the pattern of each family, which does not depend on other names. Families of different
  // groupers are joined by their patterns.
  std::vector<std::string> patterns() const;

  // A part of a name that may be random: its position in the name, and the position of its {U} or
  // {H} in the pattern.
  struct RandomPart {
    std::uint32_t name_offset = 0, size = 0;
    std::uint32_t pattern_offset = 0;

    std::string_view text_in(std::string_view name) const { return name.substr(name_offset, size); }
  };

 private:
  struct Family {
    const std::string* pattern;
    std::string first_name;
    std::vector<RandomPart> common_parts;  // parts with the same text in all names
    bool has_one_name;
  };
  static std::string key(const Family& family);

  std::unordered_map<std::string, std::uint32_t, SeededHash> known_;  // by pattern
  std::vector<Family> families_;
};

// Returns the key of each name. Order and repetition of the names do not matter.
std::vector<std::string> name_patterns(std::span<const std::string> names);

// Cgroup paths with the same key form a family. Only the path determines its family.
class CgroupFamilies {
 public:
  explicit CgroupFamilies(CgroupNaming naming) : naming_(std::move(naming)) {}

  // Returns the number of the path's family.
  std::uint32_t add(std::string_view path);
  // Returns the key of each family, by number.
  std::vector<std::string> keys() const;
  // Returns the part of each key that does not depend on other paths: a glob, a literal path or a
  // pattern.
  std::vector<std::string> patterns() const;

 private:
  enum class KeySource : std::uint8_t { Glob, Path, Pattern };
  // The text of a pattern is the number of its name family.
  using Identity = std::pair<KeySource, std::string>;
  struct Family {
    const Identity* identity;
    std::optional<std::string> only_path;  // no value if there are several
  };
  std::uint32_t find_or_add(Identity identity, std::string_view path);

  CgroupNaming naming_;
  NameFamilies names_;
  std::map<Identity, std::uint32_t> known_;
  std::vector<Family> families_;
};

// Returns the key of each path.
std::vector<std::string> cgroup_keys(std::span<const std::string> paths,
                                     const CgroupNaming& naming);

// Returns the numbers of the column; empty if the table has no such column.
std::span<const std::uint64_t> u64_values(const Table& table, std::string_view name);

// Returns the thread column with this name if it has this storage, otherwise null.
const Column* thread_column(const Snapshot& snapshot, std::string_view name, Storage storage);

// Returns the column's numbers for living threads, which are sorted by (tgid, tid). Threads that
// exited inside a window follow them in a separate order.
std::span<const std::uint64_t> u64_values_of_living(const Snapshot& snapshot,
                                                    std::string_view name);

// Returns the row of a process's leader, or of its first thread if the leader is not listed.
// Returns the number of threads if the process has none. REQUIRES: threads are sorted by (tgid,
// tid).
std::size_t leader_row(std::uint64_t process, std::span<const std::uint64_t> tgids,
                       std::span<const std::uint64_t> tids);

// Builds keys of single processes. REQUIRES: the snapshot outlives this object.
class ProcessKeys {
 public:
  explicit ProcessKeys(const Snapshot& snapshot);

  // Returns "pcomm[tgid]" for a thread row, or for a process row and the row of its leader.
  std::string key_of_thread(std::size_t row) const;
  std::string key_of_process(std::size_t row, std::size_t leader) const;
  // Returns the metric's text for the thread's process; empty if there is none.
  std::string_view process_text_of_thread(const Column& metric, std::size_t row) const;

 private:
  std::string key(std::size_t thread, std::uint64_t tgid) const;

  const Snapshot* snapshot_;
  const Column* pcomms_;
  std::span<const std::uint64_t> tgids_, process_tgids_;
  std::unordered_map<std::uint64_t, std::size_t> row_of_;  // process rows by tgid
};

// Returns the metric's column if it is a text metric of processes, otherwise null.
const Column* find_process_text(const Snapshot& side, std::string_view metric);

// Fails if --group-by names a metric that is not a text metric of processes on any side, or
// --entity an entity that no side has.
Result<void> check_axis(std::span<const Snapshot* const> sides, const Spec& spec);

}  // namespace ctprof
