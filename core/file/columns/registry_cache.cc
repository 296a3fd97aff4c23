#include "core/file/columns/registry_cache.hpp"

#include <mutex>
#include <optional>

#include "core/file/layout/registry_part.hpp"
#include "core/registry/identity.hpp"

namespace ctprof::columns {
namespace {

// The rows layout cannot store a thread whose identity metrics have another path.
Result<void> check_places(const RegistryPart& registry) {
  for (const auto& [def, provenance] : registry.metrics)
    if ((def.name == kTid || def.name == kTgid) &&
        def.file_path != identity_metric(def.name).file_path)
      return Error{"is wrong: registry.metrics gives '" + def.name + "' another file_path"};
  return {};
}

Result<std::shared_ptr<const Definitions>> parse_definitions(const std::string& text) {
  auto registry = read_registry(text);
  if (!registry) return Error{"is wrong: " + registry.error().text};
  CTPROF_TRY(check_places(*registry));
  Definitions found;
  for (auto& [def, provenance] : registry->metrics)
    found.metrics.emplace_back(std::move(def), std::move(provenance));
  found.derived = std::move(registry->derived);
  found.unknown = std::move(registry->unknown);
  return std::make_shared<const Definitions>(std::move(found));
}

// Caches the last registry. Runs of the same host, and hosts of the same fleet, have exactly the
// same registry, and parsing it takes a large part of the time for a small file. Threads: any.
class RegistryCache {
 public:
  // A registry as text and parsed.
  struct Entry {
    std::string text;
    std::shared_ptr<const Definitions> definitions;
  };
  std::shared_ptr<const Entry> get() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  void set(std::shared_ptr<const Entry> known) {
    const std::lock_guard lock(mutex_);
    last_ = std::move(known);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Entry> last_;
};

RegistryCache& registry_cache() {
  static RegistryCache last;
  return last;
}

// Parses a header without its registry if that equals `registry`; otherwise returns nothing.
std::optional<KeptMembers> parse_without_registry(std::string_view line,
                                                  const std::string& registry) {
  constexpr std::string_view kKey = "\"registry\":", kNothing = "0";
  const std::size_t at = line.find(kKey);
  if (at == line.npos || !line.substr(at + kKey.size()).starts_with(registry)) return std::nullopt;
  const std::size_t begin = at + kKey.size();
  std::string rest(line.substr(0, begin));
  rest.append(kNothing).append(line.substr(begin + registry.size()));
  auto members = parse_line(rest);
  // A nested object may have a member of that name, too.
  if (!members || (*members)["registry"] != kNothing) return std::nullopt;
  return std::move(*members);
}

}  // namespace

Result<std::shared_ptr<const Definitions>> load_definitions(const std::string& text) {
  const auto last = registry_cache().get();
  if (last && last->text == text) return last->definitions;
  CTPROF_TRY_VALUE(auto parsed, parse_definitions(text));
  registry_cache().set(
      std::make_shared<const RegistryCache::Entry>(RegistryCache::Entry{text, parsed}));
  return parsed;
}

Result<KeptMembers> parse_header(std::string_view line) {
  if (const auto last = registry_cache().get())
    if (auto members = parse_without_registry(line, last->text)) {
      (*members)["registry"] = last->text;
      return std::move(*members);
    }
  return parse_line(line);
}

}  // namespace ctprof::columns
