// Keys of groups: which names of processes, threads and cgroups count as one family, and what it
// is called; and keys of single processes, "pcomm[tgid]" or the value of a text metric.
//
// A name is cut into tokens at . - _ / : @ + [ ] and white space, which are kept. The first line
// that fits a token says what replaces it:
//
//   1a2b3c4d-...-..., a UUID with dashes or underscores, perhaps after "pod"     {U}
//   12                                                                           {N}
//   1f, c0ffee: lower-case hexadecimal with a digit, two characters or more      {H}
//   worker7                                                                      worker{N}
//   7worker                                                                      {N}worker
//
// {U} and {H} are undone if all names of a pattern have the same text there: cc1 and d3d are kept
// until they vary. The key of a pattern with a single name is that name.
//
// A cgroup path is replaced by the first glob that matches all of it. Otherwise the instance of a
// template unit becomes {I} (getty@tty1.service: getty@{I}.service; an instance with a dot, dash or
// underscore is more than a number and is kept), and then the rules above apply.
//
// Not here: which rows are grouped by them (group_book.hpp), which names are looked at together
// (grouping.hpp).

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
#include "core/compare/asked/spec.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Names that are kept as they are, each a key of its own.
class LiteralNames {
 public:
  std::uint32_t add(std::string_view name);
  std::vector<std::string> keys() const;
  std::vector<std::string> patterns() const { return keys(); }

 private:
  std::unordered_map<std::string, std::uint32_t, SeededHash> known_;
};

// Names of one pattern are a family. The name alone decides which family it belongs to, so names
// can be added one by one, run after run. What a family is called depends on all its names.
class NameFamilies {
 public:
  // Returns the number of the name's family.
  std::uint32_t add(std::string_view name);
  // What each family is called, by number.
  std::vector<std::string> keys() const;
  // The pattern of each, which no other names change: what families of different books are joined
  // by.
  std::vector<std::string> patterns() const;

  // A part of a name that may be random: where it is in the name, and where its {U} or {H} is in
  // the pattern.
  struct RandomPart {
    std::uint32_t from = 0, size = 0;
    std::uint32_t at = 0;

    std::string_view in(std::string_view name) const { return name.substr(from, size); }
  };

 private:
  struct Family {
    const std::string* pattern;
    std::string first_name;
    std::vector<RandomPart> common;  // with the same text in all names
    bool one_name;
  };
  static std::string key(const Family& family);

  std::unordered_map<std::string, std::uint32_t, SeededHash> known_;  // by pattern
  std::vector<Family> families_;
};

// The key of each name. Order and repetition do not matter.
std::vector<std::string> name_patterns(std::span<const std::string> names);

// Cgroup paths of one key are a family. As with names, the path alone decides which.
class CgroupFamilies {
 public:
  explicit CgroupFamilies(CgroupNaming naming) : naming_(std::move(naming)) {}

  // Returns the number of the path's family.
  std::uint32_t add(std::string_view path);
  // What each family is called, by number.
  std::vector<std::string> keys() const;
  // What no other paths change: a glob, a path that is kept, or a pattern.
  std::vector<std::string> patterns() const;

 private:
  enum class Origin : std::uint8_t { Glob, Path, Pattern };
  using Identity = std::pair<Origin, std::string>;  // a pattern's is the number of its name family
  struct Family {
    const Identity* identity;
    std::optional<std::string> only_path;  // none if there are several
  };
  std::uint32_t meet(Identity identity, std::string_view path);

  CgroupNaming naming_;
  NameFamilies names_;
  std::map<Identity, std::uint32_t> known_;
  std::vector<Family> families_;
};

// The key of each path.
std::vector<std::string> cgroup_keys(std::span<const std::string> paths,
                                     const CgroupNaming& naming);

// The column's numbers; empty if the table has no such column.
std::span<const std::uint64_t> numbers(const Table& table, std::string_view name);

// The column of threads if it is stored so; else null.
const Column* thread_column(const Snapshot& snapshot, std::string_view name, Storage storage);

// The numbers of the threads that live, which are in (tgid, tid) order. Those that ended in a
// window stand behind them, in an order of their own.
std::span<const std::uint64_t> numbers_of_living(const Snapshot& snapshot, std::string_view name);

// The row of a process's leader, or of its first thread if the leader is not listed. The number of
// threads if it has none. REQUIRES: threads in (tgid, tid) order.
std::size_t leader_row(std::uint64_t process, std::span<const std::uint64_t> tgids,
                       std::span<const std::uint64_t> tids);

// REQUIRES: the snapshot outlives this.
class ProcessKeys {
 public:
  explicit ProcessKeys(const Snapshot& snapshot);

  // "pcomm[tgid]" for a row of threads, or for a row of processes and its leader's row.
  std::string of_thread(std::size_t row) const;
  std::string of_process(std::size_t row, std::size_t leader) const;
  // The metric's text for the thread's process; empty if there is none.
  std::string_view text_of_thread(const Column& metric, std::size_t row) const;

 private:
  std::string key(std::size_t thread, std::uint64_t tgid) const;

  const Snapshot* snapshot_;
  const Column* pcomms_;
  std::span<const std::uint64_t> tgids_, process_tgids_;
  std::unordered_map<std::uint64_t, std::size_t> row_of_;  // of processes, by tgid
};

// The metric's column if it is a text of processes, or null.
const Column* find_process_text(const Snapshot& side, std::string_view metric);

// Fails if --group-by names a metric that is not a text of processes on any side.
Result<void> check_axis(std::span<const Snapshot* const> sides, const Spec& spec);

}  // namespace ctprof
