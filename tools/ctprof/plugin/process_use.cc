#include "tools/ctprof/plugin/process_use.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/text.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

// Growth per capture, in bytes, below which it is noise of ctprof itself and of malloc.
constexpr std::size_t kNoiseBytes = 16 * 1024, kMappingNoiseBytes = 256 * 1024;

// The smallest usual limit of a process.
constexpr std::size_t kManyDescriptors = 1024;

std::size_t count_entries(const char* directory) {
  const fs::directory_iterator entries(directory);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

bool has_children() {
  for (const fs::directory_entry& thread : fs::directory_iterator("/proc/self/task")) {
    std::string child;
    if (std::ifstream(thread.path() / "children") >> child) return true;
  }
  return false;
}

std::size_t count_mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::map<int, std::string> list_descriptors() {
  std::map<int, std::string> files;
  const fs::path own_directory = fs::canonical("/proc/self/fd");  // open during the loop
  for (const fs::directory_entry& entry : fs::directory_iterator(own_directory))
    if (const fs::path file = fs::read_symlink(entry.path()); file != own_directory)
      files.emplace(std::stoi(entry.path().filename()), file.string());
  return files;
}

}  // namespace

ResourceUse::ResourceUse()
    : descriptors(count_entries("/proc/self/fd")), threads(count_entries("/proc/self/task")) {
  const struct mallinfo2 heap = ::mallinfo2();
  allocated_bytes = heap.uordblks + heap.hblkhd;
  mapped_bytes = count_mapped_bytes() - std::min(count_mapped_bytes(), heap.arena + heap.hblkhd);
}

void report_leaks(const std::vector<ResourceUse>& uses, Findings& findings) {
  const auto grows = [&](auto ResourceUse::*member, std::size_t min_growth) {
    for (std::size_t i = kWarmupRounds; i < uses.size(); ++i)
      if (uses[i].*member < uses[i - 1].*member + min_growth) return false;
    return true;
  };
  const auto growth = [&](auto ResourceUse::*member) {
    return (uses.back().*member - uses[kWarmupRounds - 1].*member) / (uses.size() - kWarmupRounds);
  };
  if (grows(&ResourceUse::descriptors, 1))
    findings.fault("it leaks " + format_count(growth(&ResourceUse::descriptors), "descriptor") +
                   " per capture");
  else if (uses.back().descriptors > kManyDescriptors)
    findings.fault("it keeps " + std::to_string(uses.back().descriptors) + " descriptors open");
  if (grows(&ResourceUse::threads, 1))
    findings.fault("it leaks " + format_count(growth(&ResourceUse::threads), "thread") +
                   " per capture");
  else if (grows(&ResourceUse::allocated_bytes, kNoiseBytes))
    findings.fault("it keeps " + std::to_string(growth(&ResourceUse::allocated_bytes)) +
                   " more bytes of memory after each capture");
  else if (grows(&ResourceUse::mapped_bytes, kMappingNoiseBytes))
    findings.fault("it maps " + std::to_string(growth(&ResourceUse::mapped_bytes)) +
                   " more bytes of memory in each capture");
  if (has_children()) findings.fault("it leaves child processes behind");
}

ProcessState::ProcessState() : descriptors(list_descriptors()) {
  for (std::size_t number = 1; number < signal_actions.size(); ++number)
    ::sigaction(static_cast<int>(number), nullptr, &signal_actions[number]);
  for (std::size_t resource = 0; resource < limits.size(); ++resource)
    ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limits[resource]);
  for (char** variable = environ; variable && *variable; ++variable)
    environment.emplace_back(*variable);
  std::ranges::sort(environment);
  itimerval timer{};
  ::getitimer(ITIMER_REAL, &timer);
  has_timer = timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
}

namespace {

// Returns whether an action is the work of the plugin: ctprof never resets one, and has handlers of
// its own.
bool is_action_of(const std::string& library, const struct sigaction& action) {
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return true;
  Dl_info found{};
  return ::dladdr(reinterpret_cast<void*>(action.sa_handler), &found) != 0 && found.dli_fname &&
         library == found.dli_fname;
}

}  // namespace

void report_changes(const ProcessState& before, const std::string& library, Findings& findings) {
  const ProcessState now;
  for (std::size_t number = 1; number < now.signal_actions.size(); ++number)
    if (now.signal_actions[number].sa_handler != before.signal_actions[number].sa_handler &&
        is_action_of(library, now.signal_actions[number]))
      findings.fault("it changes the action of signal " + std::to_string(number) +
                     ", which belongs to ctprof");
  for (std::size_t resource = 0; resource < now.limits.size(); ++resource)
    if (now.limits[resource].rlim_cur != before.limits[resource].rlim_cur ||
        now.limits[resource].rlim_max != before.limits[resource].rlim_max)
      findings.fault("it changes a resource limit of the process (number " +
                     std::to_string(resource) + " of setrlimit)");
  if (now.environment != before.environment)
    findings.fault("it changes the environment of the process, which other threads read");
  if (now.has_timer && !before.has_timer)
    findings.fault("it starts a timer that sends signals to ctprof");
  for (const auto& [descriptor, file] : before.descriptors)
    if (const auto open = now.descriptors.find(descriptor);
        open == now.descriptors.end() || open->second != file)
      findings.fault("it closes descriptor " + std::to_string(descriptor) +
                     ", which it did not open");
}

}  // namespace ctprof::cli
