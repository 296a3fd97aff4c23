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
#include "core/registry/plugin_call.hpp"
#include "core/registry/plugin_directory.hpp"
#include "core/registry/process_state.hpp"

namespace ctprof {
namespace {

// An open library. The descriptor is set if the library was opened as /proc/self/fd/N.
struct Held {
  boost::dll::shared_library library;
  sdk::Fd fd;
};

// Keeps a library open permanently, because its objects may outlive any scope of the core. A
// library is kept once, but each of its descriptors is kept: the dynamic loader remembers every
// path of a library, and would mistake the next file with the same descriptor number for it.
void hold_open(Held held) {
  static auto* all = new std::vector<Held>;
  static std::mutex holding;
  const std::lock_guard lock(holding);
  const auto is_same = [&](const Held& other) {
    return other.library.native() == held.library.native();
  };
  if (held.fd || std::none_of(all->begin(), all->end(), is_same)) all->push_back(std::move(held));
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
std::string words_of(const std::exception& exception, const std::string& path) {
  const std::string text = exception.what();
  const std::string before = "dlerror system message: ";
  const auto from = text.find(before);
  if (from == text.npos) return text;
  const std::string words =
      text.substr(from + before.size(), text.rfind(')') - from - before.size());
  return words.starts_with(path + ": ") ? words.substr(path.size() + 2) : words;
}

// Returns the path from which to load a checked file. A path could be replaced between the check
// and the load; a descriptor cannot.
std::string name_for_loader(const OpenPlugin& file) {
  return runs_privileged() ? "/proc/self/fd/" + std::to_string(file.fd.get()) : file.path;
}

// Opens a library, which runs its constructors. An exception from one leaves the dynamic loader in
// an undefined state, so it ends the program.
boost::dll::shared_library opened(const std::string& name, const CallOwner& owner) {
  const KeptProcessState kept;
  constexpr const char* kFunction = "its constructors";
  const LimitedCall call(owner, kFunction);
  try {
    return boost::dll::shared_library(name, boost::dll::load_mode::rtld_now);
  } catch (const boost::system::system_error&) {
    throw;
  } catch (const std::exception& exception) {
    throw PluginThrew(thrown_in_words(owner, kFunction, exception.what()));
  } catch (const abi::__forced_unwind&) {
    if (call_hooks().thread_ends) call_hooks().thread_ends(owner, kFunction);
    throw;
  } catch (...) {
    throw PluginThrew(thrown_in_words(owner, kFunction, "an exception without a message"));
  }
}

bool is_named(const LoadOptions& options, const Plugin& plugin) {
  return !options.only || std::ranges::count(*options.only, plugin.name) > 0;
}

// Returns the part of a plugin that is needed to open it: its table without the arrays, which take
// longer to read than the table. Nothing if the plugin does not request to be opened early, or has
// options.
std::optional<Plugin> head_of(const ctprof_plugin& given, std::size_t room) {
  ctprof_plugin table{};
  std::memcpy(static_cast<void*>(&table), &given, std::min(room, sizeof table));
  if ((table.flags & CTPROF_PLUGIN_AHEAD) == 0 || table.options.count > 0) return std::nullopt;
  for (ctprof_array* array :
       {&table.sources, &table.metrics, &table.derived, &table.rules, &table.objects})
    *array = {};
  auto head = read_plugin(table, sizeof table);
  return head ? std::optional(std::move(*head)) : std::nullopt;
}

void hand_over(const ctprof_plugin& table, const std::string& path, const LoadOptions& options) {
  auto head = head_of(table, symbol_size(&table));
  if (!head || !is_named(options, *head)) return;
  head->path = path;
  head->shipped = true;
  options.ahead(*head);
}

// Opens a plugin and returns its table.
Result<const ctprof_plugin*> open_table(OpenPlugin& file, bool shipped,
                                        const LoadOptions& options) {
  const std::string name = name_for_loader(file);
  const CallOwner& owner = *call_owner(file.path);
  try {
    const boost::dll::shared_library library = opened(name, owner);
    hold_open({library, runs_privileged() ? std::move(file.fd) : sdk::Fd()});
    if (!library.has("ctprof_plugin")) return Error{"it exports no symbol 'ctprof_plugin'"};
    const auto& table = library.get<const ctprof_plugin>("ctprof_plugin");
    remember_code(&table, owner);
    if (options.ahead && shipped) hand_over(table, file.path, options);
    return &table;
  } catch (const PluginThrew&) {
    throw;
  } catch (const std::exception& exception) {
    return Error{words_of(exception, name)};
  }
}

bool knows(const LoadedPlugins& loaded, std::string_view name) {
  return std::any_of(loaded.plugins.begin(), loaded.plugins.end(),
                     [&](const Plugin& plugin) { return plugin.name == name; });
}

// Decides from the file only.
bool is_needed(const PluginFile& file, const LoadOptions& options) {
  if (options.layouts_alone) return file.layout;
  return options.recorders || options.only || !file.recorder;
}

// The result of `load_plugins`, and the state that it needs.
struct Loading {
  const LoadOptions& options;
  LoadedPlugins loaded{};
  DeclaredMetrics declared{};
};

// A file, and its table once it is open.
struct Candidate {
  std::string path;
  Result<OpenPlugin> file;
  const ctprof_plugin* table = nullptr;

  bool is_ahead() const { return file && file->file.ahead; }
  bool is_layout() const { return file && file->file.layout; }
};

void open(Candidate& candidate, bool shipped, Loading& loading) {
  const auto refuse = [&](const std::string& why) {
    loading.loaded.refused.push_back({candidate.path, why});
  };
  if (!candidate.file) return refuse(candidate.file.error().text);
  if (is_needed(candidate.file->file, loading.options)) {
    const auto table = open_table(*candidate.file, shipped, loading.options);
    table ? void(candidate.table = *table) : refuse(table.error().text);
  }
  candidate.file->fd = sdk::Fd();
}

void read(const Candidate& candidate, bool shipped, Loading& loading) {
  if (!candidate.table) return;
  LoadedPlugins& loaded = loading.loaded;
  DeclaredMetrics declares;
  auto plugin = read_plugin(*candidate.table, symbol_size(candidate.table), loading.declared,
                            shipped ? &declares : nullptr);
  if (!plugin) return loaded.refused.push_back({candidate.path, plugin.error().text});
  if (knows(loaded, plugin->name))
    return loaded.refused.push_back(
        {candidate.path, "a plugin named '" + plugin->name + "' is loaded already"});
  plugin->path = candidate.path;
  plugin->shipped = shipped;
  loaded.plugins.push_back(std::move(*plugin));
  loading.declared.add(std::move(declares));
}

void load_directory(const PluginDirectory& directory, Loading& loading) {
  for (const std::string& name : directory.names()) {
    Candidate candidate{directory.path_of(name), directory.open_file(name)};
    open(candidate, false, loading);
    read(candidate, false, loading);
  }
}

// Opens early plugins and reads layouts before the others, and sorts the results by path
// afterwards.
void load_own_directory(const PluginDirectory& directory, Loading& loading) {
  std::vector<Candidate> candidates;
  for (const std::string& name : directory.names())
    candidates.push_back({directory.path_of(name), directory.open_file(name)});
  const auto put_first = [&](bool (Candidate::*is_first)() const) {
    std::stable_partition(candidates.begin(), candidates.end(), std::mem_fn(is_first));
  };
  if (loading.options.ahead) put_first(&Candidate::is_ahead);
  for (Candidate& candidate : candidates) open(candidate, true, loading);
  put_first(&Candidate::is_layout);
  for (const Candidate& candidate : candidates) read(candidate, true, loading);
  std::ranges::sort(loading.loaded.plugins, {}, &Plugin::path);
  std::ranges::sort(loading.loaded.refused, {}, &Refusal::what);
}

std::string for_privileged(const std::string& why) {
  return "this ctprof has file capabilities and loads only plugins that only root can change, "
         "but " +
         why + ": install it as root, in directories of root's";
}

// Checks the program's directory too, because a user who can replace it decides which plugins are
// ctprof's own.
Result<PluginDirectory> open_for_privileged(const std::string& directory) {
  if (const auto program = open_trusted_directory(program_directory()); !program)
    return program.error();
  return PluginDirectory::open(directory, Trust::RootAlone);
}

std::string nothing_in(const std::string& directory) {
  return "'" + directory + "': it holds no .so file";
}

// Loads ctprof's own plugins. Returns the searched directory, with the reason if no plugin can be
// loaded from it.
std::string load_own(Loading& loading) {
  const std::string& path = loading.options.own_directory;
  if (path.empty())
    return "ctprof's own plugins: their directory cannot be found without /proc (mount it)";
  const auto directory =
      runs_privileged() ? open_for_privileged(path) : PluginDirectory::open(path, Trust::Anybody);
  if (directory) return load_own_directory(*directory, loading), nothing_in(path);
  if (runs_privileged())
    loading.loaded.refused.push_back({path, for_privileged(directory.error().text)});
  return directory.error().text;
}

Error nothing_found(const std::string& own, const LoadOptions& options) {
  std::string where = own;
  if (!runs_privileged())
    for (const std::string& directory : options.directories) where += ", " + nothing_in(directory);
  return {"no plugin was found; looked in " + where +
          "; install ctprof with its plugins, or point to them with --plugin-path DIR"};
}

// Returns why `name` was not loaded: its file was refused, or does not exist.
Error missing(const std::string& name, const LoadedPlugins& loaded) {
  for (const Refusal& refusal : loaded.refused)
    if (std::filesystem::path(refusal.what).stem() == name)
      return {"plugin '" + name + "' (" + refusal.what + "): " + refusal.reason};
  std::vector<std::string> names;
  for (const Plugin& plugin : loaded.plugins)
    if (!plugin.layout) names.push_back(plugin.name);
  return {"there is no plugin '" + name + "'" + nearest_hint(name, names)};
}

Result<void> keep_only(const std::vector<std::string>& only, bool for_capture,
                       LoadedPlugins& loaded) {
  for (const std::string& name : only)
    if (!knows(loaded, name)) return missing(name, loaded);
  std::erase_if(loaded.plugins, [&](const Plugin& plugin) {
    return !plugin.layout && !(for_capture && plugin.always && plugin.shipped) &&
           std::find(only.begin(), only.end(), plugin.name) == only.end();
  });
  loaded.refused.clear();
  return {};
}

}  // namespace

Result<LoadedPlugins> load_plugins(const LoadOptions& options) {
  Loading loading{.options = options};
  LoadedPlugins& loaded = loading.loaded;
  const std::string own = load_own(loading);
  if (!runs_privileged())
    for (const std::string& path : options.directories) {
      const auto directory = PluginDirectory::open(path, Trust::Anybody);
      if (!directory) return Error{"looking for plugins in " + directory.error().text};
      load_directory(*directory, loading);
    }
  if (!options.layouts_alone && loaded.plugins.empty() && loaded.refused.empty())
    return nothing_found(own, options);
  if (options.only)
    if (auto kept = keep_only(*options.only, options.for_capture, loaded); !kept)
      return kept.error();
  return std::move(loading.loaded);
}

bool runs_privileged() { return ::getauxval(AT_SECURE) != 0; }

std::string closed_to_privileged(const std::string& path) {
  const auto directory = open_for_privileged(path);
  if (!directory) return directory.error().text;
  for (const std::string& name : directory->names())
    if (const auto fits = directory->check_trust(name); !fits)
      return "'" + directory->path_of(name) + "'" +
             fits.error().text.substr(std::string_view("it").size());
  return {};
}

namespace {

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

Error unknown_plugin(const std::vector<Plugin>& plugins, std::string_view name) {
  std::vector<std::string> names;
  for (const Plugin& plugin : plugins) names.push_back(plugin.name);
  return {"--set: no plugin " + in_quotes(name) + " is loaded" + nearest_hint(name, names)};
}

Error unknown_option(const Plugin& plugin, std::string_view key) {
  std::vector<std::string> known;
  for (const PluginOption& option : plugin.options) known.push_back(option.key);
  return {"--set: plugin " + in_quotes(plugin.name) + " has no option " + in_quotes(key) +
          nearest_hint(key, known) +
          (known.empty() ? "; it has none" : "; it has " + joined(known))};
}

Result<void> set_option(std::vector<Plugin>& plugins, std::string_view entry) {
  const auto equals = entry.find('=');
  const auto dot = entry.substr(0, equals).find('.');
  if (equals == entry.npos || dot == entry.npos)
    return Error{"--set " + in_quotes(entry) + ": write PLUGIN.KEY=VALUE"};
  const std::string_view name = entry.substr(0, dot), key = entry.substr(dot + 1, equals - dot - 1);
  const auto plugin = std::ranges::find(plugins, name, &Plugin::name);
  if (plugin == plugins.end()) return unknown_plugin(plugins, name);
  const auto option = std::ranges::find(plugin->options, key, &PluginOption::key);
  if (option == plugin->options.end()) return unknown_option(*plugin, key);
  option->value = entry.substr(equals + 1);
  return {};
}

}  // namespace

Result<void> apply_settings(std::vector<Plugin>& plugins, std::span<const std::string> given) {
  for (const std::string& entry : given)
    if (auto done = set_option(plugins, entry); !done) return done.error();
  return {};
}

}  // namespace ctprof
