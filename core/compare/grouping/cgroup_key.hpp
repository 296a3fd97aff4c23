// Cgroup keys: what paths that differ only in instances, ids and counters have in common.
//
// The first glob that matches a whole path replaces it. Otherwise the instance of a template unit
// becomes {I} (getty@tty1.service: getty@{I}.service; an instance with a dot, dash or underscore
// says more than a number and stays), and then the rules of name_pattern.hpp hold. A key that one
// path alone has is that path.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/grouping/name_pattern.hpp"

namespace ctprof {

// Paths of one key are a family; as with names (name_pattern.hpp), the path alone settles which.
class CgroupFamilies {
 public:
  explicit CgroupFamilies(CgroupNaming naming) : naming_(std::move(naming)) {}

  // The family of the path, by its number.
  std::uint32_t add(std::string_view path);
  // What each family is called, by number.
  std::vector<std::string> keys() const;

 private:
  enum class Origin : std::uint8_t { Glob, Path, Pattern };
  using Identity = std::pair<Origin, std::string>;  // a pattern's is the number of its name family
  struct Family {
    const Identity* identity;
    std::optional<std::string> only_path;  // none: it has several
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

}  // namespace ctprof
