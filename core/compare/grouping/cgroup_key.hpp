// Cgroup keys: what paths that differ only in instances, ids and counters have in common.
//
// The first glob that matches a whole path replaces it. Otherwise the instance of a template unit
// becomes {I} (getty@tty1.service: getty@{I}.service; an instance with a dot, dash or underscore
// says more than a number and stays), and then the rules of name_pattern.hpp hold. A key that one
// path alone has is that path.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/compare/asked/spec.hpp"

namespace ctprof {

// The key of each path.
std::vector<std::string> cgroup_keys(std::span<const std::string> paths,
                                     const CgroupNaming& naming);

}  // namespace ctprof
