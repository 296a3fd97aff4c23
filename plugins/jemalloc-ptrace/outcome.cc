#include "plugins/jemalloc-ptrace/outcome.hpp"

#include <cerrno>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {

namespace {

// EFAULT: memory is not where the files indicate, because the process is just starting or executes
// another program. ENOENT: one of its files has no usable name.
Gap gap_of_unreadable(int error) {
  switch (error) {
    case EFAULT: return Gap::Busy;
    case ENOENT: return Gap::Unsupported;
    default: return gap_of_errno(error);
  }
}

}  // namespace

Gap gap_of(const FindResult& found) {
  switch (found.status) {
    case FindStatus::Found: return Gap::None;
    case FindStatus::NotJemalloc: return Gap::NotApplicable;
    case FindStatus::PidMissing: return Gap::ThreadGone;
    case FindStatus::ReadlinkFailure:
      return gap_of_errno(found.error) == Gap::Denied ? Gap::Denied : Gap::ThreadGone;
    case FindStatus::MapsReadFailure: return gap_of_errno(found.error);
    case FindStatus::ArchMismatch:
    case FindStatus::DwarfParseFailure:
    case FindStatus::DynamicTls:
    case FindStatus::TooMany: return Gap::Unsupported;
    case FindStatus::TooCostly: return found.error == EFBIG ? Gap::Unsupported : Gap::Busy;
    case FindStatus::NotAnswering: return Gap::Busy;
    case FindStatus::Unreadable: break;
  }
  return gap_of_unreadable(found.error);
}

Gap gap_of_failed_seize(const sdk::Host& host, const sdk::Thread& thread, int error) {
  if (error != EPERM) return gap_of_errno(error);
  sdk::TextFile file;
  const auto status = file.read(host, thread, "status");
  if (!status) return status.gap;
  const auto state = sdk::value_of(status.value, "State");
  const auto tracer = sdk::value_of(status.value, "TracerPid");
  if (state && (state.value.starts_with('Z') || state.value.starts_with('X')))
    return Gap::ThreadGone;
  return tracer && tracer.value != "0" ? Gap::Busy : Gap::Denied;
}

}  // namespace ctprof::jemalloc
