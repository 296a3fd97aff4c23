// The rows of a tree: its threads, processes and cgroups, and the columns that ctprof provides.
//
// Contents:   TreeRows.
// See also:   session.hpp, which passes them to sources.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ctprof/abi.h"
#include "ctprof/testing/cells.hpp"

namespace ctprof::sdk::testing::detail {

// The rows of a tree.
class TreeRows {
 public:
  explicit TreeRows(const std::filesystem::path& root) {
    for (const std::string& tgid : list(root / "proc", is_number)) {
      const auto tids = list(root / "proc" / tgid / "task", is_number);
      if (!tids.empty()) add_process(root, tgid, tids);
    }
    const auto cgroups = root / "sys/fs/cgroup";
    if (std::filesystem::exists(cgroups / "cgroup.controllers")) add_cgroups(cgroups, "");
    names_[CTPROF_HOST] = {"host"};
  }

  const std::vector<std::string>& names(ctprof_entity entity) const { return names_.at(entity); }
  // Returns the columns that ctprof provides to every source, such as "tgid"; null for others.
  const std::vector<Cell>* find_column(const std::string& name) const {
    const auto found = columns_.find(name);
    return found == columns_.end() ? nullptr : &found->second;
  }
  // The smallest thread of the tree, for probing; zero if it has none.
  std::uint64_t sample_tgid() const { return sample_of("tgid"); }
  std::uint64_t sample_tid() const { return sample_of("tid"); }

 private:
  static bool is_number(const std::string& name) {
    return !name.empty() && name.size() < 10 &&
           std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  static bool is_any(const std::string&) { return true; }

  // The names of the directories in a directory, ids in the order of their values.
  static std::vector<std::string> list(const std::filesystem::path& directory,
                                       bool (*is_listed)(const std::string&)) {
    std::vector<std::string> names;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(directory, failed))
      if (entry.is_directory() && is_listed(entry.path().filename().string()))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return std::pair(is_number(a) ? a.size() : 0, a) < std::pair(is_number(b) ? b.size() : 0, b);
    });
    return names;
  }

  static Cell read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Gap::ThreadGone;
    return std::string{std::istreambuf_iterator<char>(file), {}};
  }
  static Cell without_newline(const Cell& cell) {
    if (!cell.holds<std::string>() || !cell.get<std::string>().ends_with('\n')) return cell;
    return cell.get<std::string>().substr(0, cell.get<std::string>().size() - 1);
  }

  void add_process(const std::filesystem::path& root, const std::string& tgid,
                   const std::vector<std::string>& tids) {
    names_[CTPROF_PROCESS].push_back(tgid);
    columns_["process.tgid"].push_back(std::uint64_t{std::stoull(tgid)});
    for (const std::string& tid : tids) {
      names_[CTPROF_THREAD].push_back(tgid + "/" + tid);
      columns_["tgid"].push_back(std::uint64_t{std::stoull(tgid)});
      columns_["tid"].push_back(std::uint64_t{std::stoull(tid)});
      const auto thread = root / "proc" / tgid / "task" / tid;
      columns_["stat"].push_back(read(thread / "stat"));
      columns_["comm"].push_back(without_newline(read(thread / "comm")));
    }
  }

  void add_cgroups(const std::filesystem::path& directory, const std::string& path) {
    names_[CTPROF_CGROUP].push_back(path.empty() ? "/" : path);
    columns_["cgroup.path"].push_back(path.empty() ? "/" : path);
    for (const std::string& name : list(directory, is_any))
      add_cgroups(directory / name, path + "/" + name);
  }

  std::uint64_t sample_of(const char* name) const {
    const auto* column = find_column(name);
    return !column->empty() ? column->front().get<std::uint64_t>() : 0;
  }

  std::array<std::vector<std::string>, 4> names_;
  // A tree without rows has the columns as well.
  std::map<std::string, std::vector<Cell>> columns_{{"tgid", {}},         {"tid", {}},
                                                    {"stat", {}},         {"comm", {}},
                                                    {"process.tgid", {}}, {"cgroup.path", {}}};
};

}  // namespace ctprof::sdk::testing::detail
