#include "core/stacks/debuginfod.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>

#include "core/stacks/debug_files.hpp"

namespace ctprof {

// The functions that <elfutils/debuginfod.h> declares.
struct DebuginfodClient::Library {
  void* (*begin)();
  void (*end)(void* client);
  int (*find_debuginfo)(void* client, const unsigned char* build_id, int size, char** path);
  int (*find_executable)(void* client, const unsigned char* build_id, int size, char** path);
  void (*set_progress)(void* client, int (*function)(void* client, long done, long all));
};

namespace {

// The state for the progress callback of the library; one transfer is active at a time.
struct Transfer {
  std::chrono::steady_clock::time_point deadline;
  std::uint64_t max_bytes = 0;
  const std::atomic<bool>* stop = nullptr;
  bool is_abandoned = false;
};
Transfer g_transfer;

// Progress callback: a result other than 0 aborts the transfer.
int report_progress(void*, long done, long all) {
  const bool is_stopped = g_transfer.stop && *g_transfer.stop;
  const bool is_large = (done > 0 && static_cast<std::uint64_t>(done) > g_transfer.max_bytes) ||
                        (all > 0 && static_cast<std::uint64_t>(all) > g_transfer.max_bytes);
  if (is_stopped || is_large || std::chrono::steady_clock::now() > g_transfer.deadline)
    g_transfer.is_abandoned = true;
  return g_transfer.is_abandoned ? 1 : 0;
}

template <class Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

template <class Library>
std::optional<Library> load_library() {
  void* library = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
  Library found{};
  const bool is_complete =
      library && find_symbol(library, "debuginfod_begin", found.begin) &&
      find_symbol(library, "debuginfod_end", found.end) &&
      find_symbol(library, "debuginfod_find_debuginfo", found.find_debuginfo) &&
      find_symbol(library, "debuginfod_find_executable", found.find_executable) &&
      find_symbol(library, "debuginfod_set_progressfn", found.set_progress);
  return is_complete ? std::optional(found) : std::nullopt;
}

std::string get_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Result<std::unique_ptr<DebuginfodClient>> DebuginfodClient::open(const Limits& limits) {
  const std::string action = "querying debuginfod servers: ";
  if (has_elevated_rights())
    return Error{
        action +
        "not permitted while the executable of ctprof has capabilities that its user lacks"};
  if (get_environment("DEBUGINFOD_URLS").empty())
    return Error{action +
                 "$DEBUGINFOD_URLS contains no server; set it to the addresses of the servers"};
  static const std::optional<Library> library = load_library<Library>();
  if (!library)
    return Error{action + "libdebuginfod.so.1 is not installed; install libdebuginfod1"};
  void* client = library->begin();
  if (!client) return Error{action + "libdebuginfod cannot start"};
  return std::unique_ptr<DebuginfodClient>(new DebuginfodClient(*library, client, limits));
}

DebuginfodClient::DebuginfodClient(const Library& library, void* client, const Limits& limits)
    : library_(library), client_(client), limits_(limits) {
  library_.set_progress(client_, report_progress);
}

DebuginfodClient::~DebuginfodClient() { library_.end(client_); }

sdk::Fd DebuginfodClient::fetch(const std::string& build_id, FileKind kind) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kMinBuildIdSize = 8;
  const bool is_stopped = limits_.stop && *limits_.stop;
  if (build_id.size() < kMinBuildIdSize || is_stopped || elapsed_ >= limits_.total_time)
    return sdk::Fd();
  const auto before = Clock::now();
  g_transfer = {before + std::min(limits_.time_per_file, limits_.total_time - elapsed_),
                limits_.bytes_per_file, limits_.stop, false};
  const auto find =
      kind == FileKind::Executable ? library_.find_executable : library_.find_debuginfo;
  sdk::Fd fd(find(client_, reinterpret_cast<const unsigned char*>(build_id.data()),
                  static_cast<int>(build_id.size()), nullptr));
  elapsed_ += Clock::now() - before;
  abandoned_files_ += g_transfer.is_abandoned;
  return fd;
}

std::vector<std::string> find_debuginfod_caches() {
  if (has_elevated_rights()) return {};
  std::vector<std::string> caches;
  const std::string own = get_environment("DEBUGINFOD_CACHE_PATH"),
                    xdg = get_environment("XDG_CACHE_HOME"), home = get_environment("HOME");
  if (!own.empty()) caches.push_back(own);
  if (!xdg.empty()) caches.push_back(xdg + "/debuginfod_client");
  if (!home.empty()) caches.push_back(home + "/.cache/debuginfod_client");
  return caches;
}

}  // namespace ctprof
