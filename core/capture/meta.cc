#include "core/capture/meta.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/base/clock.hpp"
#include "core/base/version.hpp"
#include "core/file/file.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

std::string read(int root, const char* path) {
  sdk::TextFile file;
  const auto text = file.read(root, path);
  return std::string(text ? sdk::trimmed(text.value) : std::string_view{});
}

// The effective set of this process, from the host's own /proc whatever root is read.
std::string effective_capabilities() {
  sdk::TextFile file;
  const auto status = file.read(AT_FDCWD, "/proc/self/status");
  const auto value =
      status ? sdk::value_of(status.value, "CapEff") : sdk::Reading<std::string_view>(status.gap);
  return std::string(value ? value.value : std::string_view{});
}

bool is_identity(const MetricDef& metric) {
  const auto& all = identity_metrics();
  return std::any_of(all.begin(), all.end(),
                     [&](const MetricDef& def) { return def.name == metric.name; });
}

bool could_be_ours(const Probed& probed, const MetricDef& metric) {
  const ProbedField* field = probed.find(metric.name);
  if (metric.hidden || !field) return false;
  return is_identity(metric) ||
         std::any_of(field->offers.begin(), field->offers.end(), [](const ProbedOffer& offer) {
           return offer.plugin->shipped && offer.verdict == Gap::None;
         });
}

std::vector<std::string> taken_by(const PlannedSource& planned, const Probed& probed) {
  std::vector<std::string> metrics;
  for (std::size_t i = 0; i < planned.chosen.size(); ++i) {
    const MetricDef& metric = planned.source->offers[i].metric;
    if (planned.chosen[i] && could_be_ours(probed, metric)) metrics.push_back(metric.name);
  }
  return metrics;
}

}  // namespace

Moment now() { return {realtime_ns(), boottime_ns()}; }

Meta begin_meta(const Roots& roots, bool with_hostname) {
  Meta meta;
  meta.format = kFileFormat;
  meta.tool = kVersion;
  meta.boot_id = read(roots.proc_fd.get(), "sys/kernel/random/boot_id");
  if (with_hostname)
    if (std::string name = read(roots.proc_fd.get(), "sys/kernel/hostname"); !name.empty())
      meta.hostname = std::move(name);
  meta.user_hz = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  meta.live = roots.live;
  meta.euid = ::geteuid();
  meta.capabilities = effective_capabilities();
  meta.cgroup_mount = roots.cgroup;
  meta.cgroup_root = roots.cgroup_root;
  meta.start = now();
  return meta;
}

std::vector<Takeover> takeovers(const Probed& probed, const Plan& plan) {
  std::vector<Takeover> all;
  for (const PlannedSource& planned : plan.sources) {
    const auto metrics =
        planned.plugin->shipped ? std::vector<std::string>{} : taken_by(planned, probed);
    if (metrics.empty()) continue;
    auto known = std::find_if(all.begin(), all.end(), [&](const Takeover& takeover) {
      return takeover.plugin == planned.plugin->name;
    });
    if (known == all.end()) known = all.insert(known, {planned.plugin->name, {}});
    known->metrics.insert(known->metrics.end(), metrics.begin(), metrics.end());
  }
  return all;
}

}  // namespace ctprof
