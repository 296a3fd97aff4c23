#include "core/registry/loader.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"
#include "core/registry/output_file.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/registry/plugin_directory.hpp"
#include "core/registry/process_state_guard.hpp"

namespace ctprof {
namespace {

// An open library. The descriptor is set if the library was opened as /proc/self/fd/N.
struct OpenLibrary {
  boost::dll::shared_library library;
  sdk::Fd fd;
};

// Keeps a library open until the process exits, because its objects may outlive any scope of the
// core. A library is kept once, but each of its descriptors is kept: the dynamic loader remembers
// every path of a library, and would mistake the next file with the same descriptor number for it.
void keep_library_open(OpenLibrary library) {
  static auto* libraries = new std::vector<OpenLibrary>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto is_same = [&](const OpenLibrary& other) {
    return other.library.native() == library.library.native();
  };
  if (library.fd || std::none_of(libraries->begin(), libraries->end(), is_same))
    libraries->push_back(std::move(library));
}

// Returns the size of a symbol as its library declares it, an upper bound for the table's own size
// field.
std::size_t symbol_size(const void* address) {
  Dl_info info;
  void* symbol = nullptr;
  const int found = ::dladdr1(address, &info, &symbol, RTLD_DL_SYMENT);
  return found != 0 && symbol ? static_cast<const ElfW(Sym)*>(symbol)->st_size : 0;
}

// Extracts the dynamic linker's message from the exception, without the leading path.
std::string extract_loader_message(const std::exception& exception, const std::string& path) {
  const std::string text = exception.what();
  const std::string prefix = "dlerror system message: ";
  const auto message_start = text.find(prefix);
  if (message_start == text.npos) return text;
  const std::string message =
      text.substr(message_start + prefix.size(), text.rfind(')') - message_start - prefix.size());
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

// Returns the path from which to load a checked file. A path could be replaced between the check
// and the load; a descriptor cannot.
std::string path_for_loader(const OpenPlugin& file) {
  return runs_privileged() ? "/proc/self/fd/" + std::to_string(file.fd.get()) : file.path;
}

// Opens a library, which runs its constructors. An exception from one leaves the dynamic loader in
// an undefined state, so it ends the program.
boost::dll::shared_library open_library(const std::string& name, const CallOwner& owner) {
  const ProcessStateGuard state_guard;
  constexpr const char* kFunction = "its constructors";
  const LimitedCall call(owner, kFunction);
  try {
    return boost::dll::shared_library(name, boost::dll::load_mode::rtld_now);
  } catch (const boost::system::system_error&) {
    throw;
  } catch (const std::exception& exception) {
    throw PluginException(format_exception_message(owner, kFunction, exception.what()));
  } catch (const abi::__forced_unwind&) {
    if (call_hooks().on_thread_exit) call_hooks().on_thread_exit(owner, kFunction);
    throw;
  } catch (...) {
    throw PluginException(
        format_exception_message(owner, kFunction, "an exception without a message"));
  }
}

bool is_selected(const LoadOptions& options, const Plugin& plugin) {
  return !options.selected_plugins ||
         std::ranges::count(*options.selected_plugins, plugin.name) > 0;
}

// Returns the part of a plugin that is needed to open it: its table without the arrays, which take
// longer to read than the table. Nothing if the plugin does not request to be opened early, or has
// options.
std::optional<Plugin> read_plugin_head(const ctprof_plugin& table_in_library,
                                       std::size_t table_size) {
  ctprof_plugin table{};
  std::memcpy(static_cast<void*>(&table), &table_in_library, std::min(table_size, sizeof table));
  if ((table.flags & CTPROF_PLUGIN_AHEAD) == 0 || table.options.count > 0) return std::nullopt;
  for (ctprof_array* array :
       {&table.sources, &table.metrics, &table.derived, &table.rules, &table.objects})
    *array = {};
  auto head = read_plugin(table, sizeof table);
  return head ? std::optional(std::move(*head)) : std::nullopt;
}

void report_early_plugin(const ctprof_plugin& table, const std::string& path,
                         const LoadOptions& options) {
  auto head = read_plugin_head(table, symbol_size(&table));
  if (!head || !is_selected(options, *head)) return;
  head->path = path;
  head->is_shipped = true;
  options.on_early_plugin(*head);
}

// Opens a plugin and returns its table.
Result<const ctprof_plugin*> open_table(OpenPlugin& file, bool shipped,
                                        const LoadOptions& options) {
  const std::string name = path_for_loader(file);
  const CallOwner& owner = *call_owner(file.path);
  try {
    const boost::dll::shared_library library = open_library(name, owner);
    keep_library_open({library, runs_privileged() ? std::move(file.fd) : sdk::Fd()});
    if (!library.has("ctprof_plugin")) return Error{"it exports no symbol 'ctprof_plugin'"};
    const auto& table = library.get<const ctprof_plugin>("ctprof_plugin");
    register_code(&table, owner);
    if (options.on_early_plugin && shipped) report_early_plugin(table, file.path, options);
    return &table;
  } catch (const PluginException&) {
    throw;
  } catch (const std::exception& exception) {
    return Error{extract_loader_message(exception, name)};
  }
}

bool is_loaded(const LoadedPlugins& loaded, std::string_view name) {
  return std::any_of(loaded.plugins.begin(), loaded.plugins.end(),
                     [&](const Plugin& plugin) { return plugin.name == name; });
}

// Returns whether the options require the plugin, by the flags in its file, without loading it.
bool is_needed(const PluginFile& file, const LoadOptions& options) {
  if (options.load_only_layouts) return file.is_layout;
  return options.load_recorders || options.selected_plugins || !file.is_recorder;
}

// The result of `load_plugins`, and the state that it needs.
struct LoadState {
  const LoadOptions& options;
  LoadedPlugins result{};
  DeclaredMetrics declared_metrics{};
};

// A file, and its table once it is open.
struct Candidate {
  std::string path;
  std::string name;
  Result<OpenPlugin> file;
  const ctprof_plugin* table = nullptr;

  bool opens_early() const { return file && file->file.opens_early; }
  bool is_layout() const { return file && file->file.is_layout; }
};

void open_candidate(Candidate& candidate, bool shipped, LoadState& state) {
  const auto refuse = [&](const std::string& reason) {
    state.result.refusals.push_back({candidate.path, reason});
  };
  if (!candidate.file) {
    if (!shipped && is_output_file(candidate.path)) return;
    return refuse(candidate.file.error().text);
  }
  if (is_needed(candidate.file->file, state.options)) {
    const auto table = open_table(*candidate.file, shipped, state.options);
    table ? void(candidate.table = *table) : refuse(table.error().text);
  }
  candidate.file->fd = sdk::Fd();
}

void read_candidate(const Candidate& candidate, bool shipped, LoadState& state) {
  if (!candidate.table) return;
  LoadedPlugins& loaded = state.result;
  DeclaredMetrics new_declarations;
  auto plugin = read_plugin(*candidate.table, symbol_size(candidate.table), state.declared_metrics,
                            shipped ? &new_declarations : nullptr);
  if (!plugin) return loaded.refusals.push_back({candidate.path, plugin.error().text});
  if (is_loaded(loaded, plugin->name))
    return loaded.refusals.push_back(
        {candidate.path, "a plugin named '" + plugin->name + "' is already loaded"});
  plugin->path = candidate.path;
  plugin->is_shipped = shipped;
  loaded.plugins.push_back(std::move(*plugin));
  state.declared_metrics.add(std::move(new_declarations));
}

void load_directory(const PluginDirectory& directory, LoadState& state) {
  for (const std::string& name : directory.names()) {
    Candidate candidate{directory.path_of(name), name, directory.open_file(name)};
    open_candidate(candidate, false, state);
    read_candidate(candidate, false, state);
  }
}

// Opens early plugins and reads layouts before the others, and sorts the results by path
// afterwards. Only one file is open at a time, so that the limit of descriptors does not limit the
// number of plugins.
void load_shipped_directory(const PluginDirectory& directory, LoadState& state) {
  std::vector<Candidate> candidates;
  for (const std::string& name : directory.names()) {
    candidates.push_back({directory.path_of(name), name, directory.open_file(name)});
    if (candidates.back().file) candidates.back().file->fd = sdk::Fd();
  }
  const auto move_to_front = [&](bool (Candidate::*belongs_first)() const) {
    std::stable_partition(candidates.begin(), candidates.end(), std::mem_fn(belongs_first));
  };
  if (state.options.on_early_plugin) move_to_front(&Candidate::opens_early);
  for (Candidate& candidate : candidates) {
    candidate.file = directory.open_file(candidate.name);
    open_candidate(candidate, true, state);
  }
  move_to_front(&Candidate::is_layout);
  for (const Candidate& candidate : candidates) read_candidate(candidate, true, state);
  std::ranges::sort(state.result.plugins, {}, &Plugin::path);
  std::ranges::sort(state.result.refusals, {}, &Refusal::subject);
}

std::string privileged_refusal_message(const std::string& reason) {
  return "this ctprof has file capabilities and loads only plugins that only root can change, "
         "but " +
         reason + ": install the plugin as root, in directories that belong to root";
}

// Checks the program's directory too, because a user who can replace it decides which plugins are
// ctprof's own.
Result<PluginDirectory> open_directory_for_privileged(const std::string& directory) {
  CTPROF_TRY(open_trusted_directory(program_directory()));
  return PluginDirectory::open(directory, Trust::RootOnly);
}

}  // namespace

Result<PluginDirectory> open_shipped_directory(const std::string& path) {
  return runs_privileged() ? open_directory_for_privileged(path)
                           : PluginDirectory::open(path, Trust::AnyUser);
}

namespace {

std::string no_library_message(const std::string& directory) {
  return "'" + directory + "': it contains no .so file";
}

// Loads ctprof's own plugins. Returns the searched directory, with the reason if no plugin can be
// loaded from it.
std::string load_shipped_plugins(LoadState& state) {
  const std::string& path = state.options.shipped_directory;
  if (path.empty())
    return "the directory of ctprof's own plugins, which cannot be found without /proc (mount "
           "/proc)";
  const auto directory = open_shipped_directory(path);
  if (directory) return load_shipped_directory(*directory, state), no_library_message(path);
  if (runs_privileged())
    state.result.refusals.push_back({path, privileged_refusal_message(directory.error().text)});
  return directory.error().text;
}

Error no_plugin_error(const std::string& searched_directory, const LoadOptions& options) {
  std::string searched_directories = searched_directory;
  if (!runs_privileged())
    for (const std::string& directory : options.directories)
      searched_directories += ", " + no_library_message(directory);
  return {"no plugin was found; looked in " + searched_directories +
          "; install ctprof with its plugins, or point to them with --plugin-path DIR"};
}

// Returns why `name` was not loaded: its file was refused, or does not exist.
Error missing_plugin_error(const std::string& name, const LoadedPlugins& loaded) {
  for (const Refusal& refusal : loaded.refusals)
    if (std::filesystem::path(refusal.subject).stem() == name)
      return {"plugin '" + name + "' (" + refusal.subject + "): " + refusal.reason};
  std::vector<std::string> names;
  for (const Plugin& plugin : loaded.plugins)
    if (!plugin.is_layout) names.push_back(plugin.name);
  return {"no plugin has the name '" + name + "'" + suggest_nearest(name, names)};
}

Result<void> keep_selected(const std::vector<std::string>& selected, bool is_for_capture,
                           LoadedPlugins& loaded) {
  for (const std::string& name : selected)
    if (!is_loaded(loaded, name)) return missing_plugin_error(name, loaded);
  std::erase_if(loaded.plugins, [&](const Plugin& plugin) {
    return !plugin.is_layout && !(is_for_capture && plugin.runs_always && plugin.is_shipped) &&
           std::find(selected.begin(), selected.end(), plugin.name) == selected.end();
  });
  loaded.refusals.clear();
  return {};
}

}  // namespace

Result<LoadedPlugins> load_plugins(const LoadOptions& options) {
  LoadState state{.options = options};
  LoadedPlugins& loaded = state.result;
  const std::string searched_directory = load_shipped_plugins(state);
  if (!runs_privileged())
    for (const std::string& path : options.directories) {
      const auto directory = PluginDirectory::open(path, Trust::AnyUser);
      if (!directory) return Error{"looking for plugins in " + directory.error().text};
      load_directory(*directory, state);
    }
  if (!options.load_only_layouts && loaded.plugins.empty() && loaded.refusals.empty())
    return no_plugin_error(searched_directory, options);
  if (options.selected_plugins)
    CTPROF_TRY(keep_selected(*options.selected_plugins, options.is_for_capture, loaded));
  return std::move(state.result);
}

bool runs_privileged() { return ::getauxval(AT_SECURE) != 0; }

std::string find_privileged_refusal(const std::string& path) {
  const auto directory = open_directory_for_privileged(path);
  if (!directory) return directory.error().text;
  for (const std::string& name : directory->names())
    if (const auto fits = directory->check_trust(name); !fits)
      return "'" + directory->path_of(name) + "'" +
             fits.error().text.substr(std::string_view("it").size());
  return {};
}

namespace {

Error unknown_plugin_error(const std::vector<Plugin>& plugins, std::string_view name) {
  std::vector<std::string> names;
  for (const Plugin& plugin : plugins) names.push_back(plugin.name);
  return {"--set: no plugin " + quote(name) + " is loaded" + suggest_nearest(name, names)};
}

Error unknown_option_error(const Plugin& plugin, std::string_view key) {
  std::vector<std::string> known_options;
  for (const PluginOption& option : plugin.options) known_options.push_back(option.key);
  return {"--set: plugin " + quote(plugin.name) + " has no option " + quote(key) +
          suggest_nearest(key, known_options) +
          (known_options.empty() ? "; it has none" : "; it has " + join_texts(known_options))};
}

Result<void> set_option(std::vector<Plugin>& plugins, std::string_view entry) {
  const auto equals = entry.find('=');
  const auto dot = entry.substr(0, equals).find('.');
  if (equals == entry.npos || dot == entry.npos)
    return Error{"--set " + quote(entry) + ": write PLUGIN.KEY=VALUE"};
  const std::string_view name = entry.substr(0, dot), key = entry.substr(dot + 1, equals - dot - 1);
  const auto plugin = std::ranges::find(plugins, name, &Plugin::name);
  if (plugin == plugins.end()) return unknown_plugin_error(plugins, name);
  const auto option = std::ranges::find(plugin->options, key, &PluginOption::key);
  if (option == plugin->options.end()) return unknown_option_error(*plugin, key);
  option->value = entry.substr(equals + 1);
  return {};
}

}  // namespace

Result<void> apply_settings(std::vector<Plugin>& plugins, std::span<const std::string> entries) {
  for (const std::string& entry : entries) CTPROF_TRY(set_option(plugins, entry));
  return {};
}

}  // namespace ctprof
