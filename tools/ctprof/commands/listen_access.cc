#include "tools/ctprof/commands/listen_access.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "core/base/dropped_capabilities.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/commands/http_server.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kShortestToken = 16, kLongestToken = 4096;
constexpr std::string_view kBearer = "Bearer ";

bool has_effective_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return true;
  return std::ranges::any_of(sets, [](const auto& words) { return words.effective != 0; });
}

bool is_visible(char c) { return c > ' ' && c <= '~'; }

}  // namespace

bool has_privileges() { return ::geteuid() == 0 || has_effective_capabilities(); }

Result<void> check_access(const PrometheusOptions& options) {
  const bool is_restricted = !options.token_file.empty() || is_unix_socket(options.listen);
  if (options.is_public && is_restricted)
    return Error{
        "--public permits requests of every user and cannot be combined with --token-file or "
        "unix:PATH"};
  if (options.is_public || is_restricted || !has_privileges()) return {};
  return Error{
      "--listen: ctprof runs with privileges, and every local user could read its data; restrict "
      "access with --token-file FILE or unix:PATH, or permit it with --public"};
}

Result<std::string> read_token(const std::string& path) {
  if (path.empty()) return {boost::system::in_place_value, std::string()};
  const DroppedCapabilities lowered(::geteuid() != 0);
  const sdk::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0)
    return errno_error("reading the token", path, errno);
  if (!S_ISREG(status.st_mode)) return error("reading the token", path, "it is not a regular file");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return error("reading the token", path, "others may read it; run 'chmod 600' on it");
  std::string text(kLongestToken + 2, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return errno_error("reading the token", path, errno);
  text.resize(static_cast<std::size_t>(size));
  const std::string_view token = sdk::trimmed(text);
  if (token.size() < kShortestToken || token.size() > kLongestToken ||
      !std::ranges::all_of(token, is_visible))
    return error("reading the token", path,
                 "it must be one word of 16 to 4096 visible characters, as 'openssl rand -hex 32' "
                 "prints");
  return {boost::system::in_place_value, std::string(token)};
}

bool is_authorized(const std::string& authorization, const std::string& token) {
  if (token.empty()) return true;
  if (!authorization.starts_with(kBearer)) return false;
  const std::string_view offered_token = std::string_view(authorization).substr(kBearer.size());
  unsigned differing = offered_token.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(offered_token.size(), token.size()); ++i)
    differing |=
        static_cast<unsigned char>(offered_token[i]) ^ static_cast<unsigned char>(token[i]);
  return differing == 0;
}

}  // namespace ctprof::cli
