#include "plugins/jemalloc-ptrace/refusal.hpp"

#include <cerrno>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {

Gap gap_of(const Found& found) {
  const Gap by_errno = found.error != 0 ? gap_of_errno(found.error) : Gap::Malformed;
  switch (found.attach) {
    case Attach::NotJemalloc: return Gap::NotApplicable;
    case Attach::PidMissing: return Gap::ThreadGone;
    case Attach::ReadlinkFailure: return by_errno == Gap::Denied ? Gap::Denied : Gap::ThreadGone;
    case Attach::ArchMismatch:
    case Attach::DwarfParseFailure:
    case Attach::DynamicTls: return Gap::Unsupported;
    case Attach::Found:
    case Attach::MapsReadFailure:
    case Attach::Unreadable: break;
  }
  return by_errno;
}

Gap why_refused(const sdk::Host& host, const sdk::Thread& thread, int error) {
  if (error != EPERM) return gap_of_errno(error);
  sdk::TextFile file;
  const auto status = file.read(host, thread, "status");
  if (!status) return status.gap;
  const auto state = sdk::value_of(status.value, "State");
  const auto tracer = sdk::value_of(status.value, "TracerPid");
  if (state && (state.value.starts_with('Z') || state.value.starts_with('X'))) return Gap::ThreadGone;
  return tracer && tracer.value != "0" ? Gap::Busy : Gap::Denied;
}

}  // namespace ctprof::jemalloc
