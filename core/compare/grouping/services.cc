#include "core/compare/grouping/services.hpp"

#include <algorithm>
#include <cstddef>

namespace ctprof {
namespace {

constexpr std::size_t kIdSize = 64, kShortId = 12;  // of a container, in hexadecimal digits

bool is_id_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

std::string_view remove_suffix(std::string_view part, std::string_view suffix) {
  return part.ends_with(suffix) ? part.substr(0, part.size() - suffix.size()) : part;
}

// Returns "docker-0123456789ab" for docker-<id>.scope and for <id> below docker; empty if the part
// is not a container.
std::string find_container(std::string_view part, std::string_view parent) {
  const std::string_view name = remove_suffix(part, ".scope");
  if (name.size() < kIdSize) return {};
  const std::string_view id = name.substr(name.size() - kIdSize);
  if (!std::ranges::all_of(id, is_id_digit)) return {};
  std::string_view runtime = name.substr(0, name.size() - kIdSize);
  if (!runtime.empty() && !runtime.ends_with('-')) return {};
  if (runtime.empty() && !parent.starts_with("pod")) runtime = parent;
  std::string text(remove_suffix(runtime, "-"));
  return (text.empty() ? "" : text + "-") + std::string(id.substr(0, kShortId));
}

bool is_uid_digit(char c) { return is_id_digit(c) || c == '-' || c == '_'; }

// Returns "pod1a2b_3c4d" for kubepods-burstable-pod1a2b_3c4d.slice and for pod1a2b_3c4d; empty if
// the part is not a pod.
std::string find_pod(std::string_view part) {
  const std::string_view name = remove_suffix(part, ".slice");
  const auto at = name.starts_with("pod") ? 0 : name.find("-pod");
  if (at == name.npos || (at == 0 && !name.starts_with("pod"))) return {};
  const std::string_view pod = name.substr(at == 0 ? 0 : at + 1);
  const bool has_id = pod.size() > 3 && std::ranges::all_of(pod.substr(3), is_uid_digit);
  return has_id ? std::string(pod) : std::string();
}

bool is_unit(std::string_view part) {
  return part.ends_with(".service") || part.ends_with(".scope");
}

}  // namespace

std::string find_service(std::string_view cgroup) {
  std::string pod, container, unit;
  std::string_view rest = cgroup, parent;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (const std::string found = find_container(part, parent); !found.empty())
      container = found, unit.clear();
    else if (is_unit(part))
      unit = part;
    else if (const std::string found_pod = find_pod(part); !found_pod.empty())
      pod = found_pod, unit.clear();
    parent = part;
  }
  std::string text;
  for (const std::string& one : {pod, container, unit})
    if (!one.empty()) text += (text.empty() ? "" : "/") + one;
  return text.empty() ? std::string(cgroup) : text;
}

}  // namespace ctprof
