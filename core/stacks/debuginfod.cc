#include "core/stacks/debuginfod.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>

#include "core/stacks/debug_files.hpp"

namespace ctprof {

// The functions that <elfutils/debuginfod.h> declares.
struct Debuginfod::Library {
  void* (*begin)();
  void (*end)(void* client);
  int (*find_debuginfo)(void* client, const unsigned char* build_id, int size, char** path);
  int (*find_executable)(void* client, const unsigned char* build_id, int size, char** path);
  void (*set_progress)(void* client, int (*function)(void* client, long done, long all));
};

namespace {

// The state for the progress callback of the library; one transfer is active at a time.
struct Waiting {
  std::chrono::steady_clock::time_point until;
  std::uint64_t most = 0;
  const std::atomic<bool>* stop = nullptr;
  bool is_given_up = false;
};
Waiting g_waiting;

// Progress callback: a result other than 0 aborts the transfer.
int go_on(void*, long done, long all) {
  const bool is_stopped = g_waiting.stop && *g_waiting.stop;
  const bool is_large = (done > 0 && static_cast<std::uint64_t>(done) > g_waiting.most) ||
                        (all > 0 && static_cast<std::uint64_t>(all) > g_waiting.most);
  if (is_stopped || is_large || std::chrono::steady_clock::now() > g_waiting.until)
    g_waiting.is_given_up = true;
  return g_waiting.is_given_up ? 1 : 0;
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
  const bool is_whole = library && find_symbol(library, "debuginfod_begin", found.begin) &&
                        find_symbol(library, "debuginfod_end", found.end) &&
                        find_symbol(library, "debuginfod_find_debuginfo", found.find_debuginfo) &&
                        find_symbol(library, "debuginfod_find_executable", found.find_executable) &&
                        find_symbol(library, "debuginfod_set_progressfn", found.set_progress);
  return is_whole ? std::optional(found) : std::nullopt;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Result<std::unique_ptr<Debuginfod>> Debuginfod::open(const Limits& limits) {
  const std::string what = "asking debuginfod servers: ";
  if (has_lent_rights())
    return Error{what + "the executable of ctprof has capabilities, and its user does not"};
  if (environment("DEBUGINFOD_URLS").empty())
    return Error{what + "$DEBUGINFOD_URLS names none; set it to their addresses"};
  static const std::optional<Library> library = load_library<Library>();
  if (!library) return Error{what + "libdebuginfod.so.1 is not installed; install libdebuginfod1"};
  void* client = library->begin();
  if (!client) return Error{what + "libdebuginfod cannot start"};
  return std::unique_ptr<Debuginfod>(new Debuginfod(*library, client, limits));
}

Debuginfod::Debuginfod(const Library& library, void* client, const Limits& limits)
    : library_(library), client_(client), limits_(limits) {
  library_.set_progress(client_, go_on);
}

Debuginfod::~Debuginfod() { library_.end(client_); }

sdk::Fd Debuginfod::find(const std::string& build_id, Wanted wanted) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kLeastId = 8;
  const bool is_stopped = limits_.stop && *limits_.stop;
  if (build_id.size() < kLeastId || is_stopped || spent_ >= limits_.time) return sdk::Fd();
  const auto before = Clock::now();
  g_waiting = {before + std::min(limits_.time_of_file, limits_.time - spent_),
               limits_.bytes_of_file, limits_.stop, false};
  const auto find = wanted == Wanted::Program ? library_.find_executable : library_.find_debuginfo;
  sdk::Fd fd(find(client_, reinterpret_cast<const unsigned char*>(build_id.data()),
                  static_cast<int>(build_id.size()), nullptr));
  spent_ += Clock::now() - before;
  given_up_ += g_waiting.is_given_up;
  return fd;
}

std::vector<std::string> debuginfod_caches() {
  if (has_lent_rights()) return {};
  std::vector<std::string> caches;
  const std::string own = environment("DEBUGINFOD_CACHE_PATH"), xdg = environment("XDG_CACHE_HOME"),
                    home = environment("HOME");
  if (!own.empty()) caches.push_back(own);
  if (!xdg.empty()) caches.push_back(xdg + "/debuginfod_client");
  if (!home.empty()) caches.push_back(home + "/.cache/debuginfod_client");
  return caches;
}

}  // namespace ctprof
