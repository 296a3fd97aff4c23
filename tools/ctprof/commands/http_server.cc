#include "tools/ctprof/commands/http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/clock.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kMaxClients = 32;
constexpr std::size_t kMaxHeadBytes = 16 << 10;
constexpr std::uint64_t kTimeoutNs = 5'000'000'000;
constexpr int kBacklog = 64;

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

socklen_t fill_address(const LoopbackAddress& from, Address& to) {
  std::memset(&to, 0, sizeof to);
  if (from.is_v6) {
    to.v6.sin6_family = AF_INET6;
    to.v6.sin6_port = htons(from.port);
    ::inet_pton(AF_INET6, from.host.c_str(), &to.v6.sin6_addr);
    return sizeof to.v6;
  }
  to.v4.sin_family = AF_INET;
  to.v4.sin_port = htons(from.port);
  ::inet_pton(AF_INET, from.host.c_str(), &to.v4.sin_addr);
  return sizeof to.v4;
}

bool is_loopback(const std::string& host, bool& is_v6) {
  in_addr v4{};
  in6_addr v6{};
  is_v6 = ::inet_pton(AF_INET6, host.c_str(), &v6) == 1;
  if (is_v6) return IN6_IS_ADDR_LOOPBACK(&v6);
  return ::inet_pton(AF_INET, host.c_str(), &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 431: return "Request Header Fields Too Large";
    case 505: return "HTTP Version Not Supported";
    default: return "Service Unavailable";
  }
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Takes a line off `rest` and returns it without its line end.
std::string_view take_line(std::string_view& rest) {
  std::string_view line = sdk::take(rest, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Whether a Host header names the loopback interface: "localhost:9101", "127.0.0.1", "[::1]:9101".
// In a DNS rebinding attack, a web page's own host name resolves to this host, and its requests
// carry that name.
bool is_loopback_host_name(std::string_view host) {
  const bool is_v6 = host.starts_with('[');
  const std::size_t end = is_v6 ? host.find(']') : host.find(':');
  const std::string name = to_lower(host.substr(is_v6 ? 1 : 0, is_v6 ? end - 1 : end));
  bool is_other_v6 = false;
  return name == "localhost" || is_loopback(name, is_other_v6);
}

// Parses "GET /metrics?x HTTP/1.1" and its headers. Returns 200, or the status of the error.
int parse_request(std::string_view head, HttpRequest& request) {
  std::string_view line = take_line(head);
  request.method = sdk::take(line, ' ');
  const std::string_view target = sdk::take(line, ' ');
  request.path = target.substr(0, target.find('?'));
  if (request.method.empty() || !target.starts_with('/') || !line.starts_with("HTTP/")) return 400;
  if (line != "HTTP/1.1" && line != "HTTP/1.0") return 505;
  while (!head.empty()) {
    std::string_view header = take_line(head);
    const std::string name = to_lower(sdk::take(header, ':'));
    const std::string_view value = sdk::trimmed(header);
    if (name == "host" && !is_loopback_host_name(value)) return 403;
    if (name == "authorization") request.authorization = std::string(value);
    if (name == "accept")
      request.accept += (request.accept.empty() ? "" : ",") + std::string(value);
  }
  return 200;
}

std::size_t find_head_end(std::string_view text) {
  const std::size_t crlf_end = text.find("\r\n\r\n"), lf_end = text.find("\n\n");
  return std::min(crlf_end == text.npos ? crlf_end : crlf_end + 4,
                  lf_end == text.npos ? lf_end : lf_end + 2);
}

std::string format_response(const HttpResponse& response, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " " +
                     std::string(reason_phrase(response.status)) +
                     "\r\nContent-Type: " + response.type +
                     "\r\nContent-Length: " + std::to_string(response.body.size()) +
                     "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n";
  if (response.status == 401) text += "WWW-Authenticate: Bearer\r\n";
  if (response.status == 405) text += "Allow: GET, HEAD\r\n";
  return text + "\r\n" + (with_body ? response.body : "");
}

bool fill_address(const std::string& path, sockaddr_un& to) {
  std::memset(&to, 0, sizeof to);
  to.sun_family = AF_UNIX;
  if (path.size() >= sizeof to.sun_path) return false;
  std::memcpy(to.sun_path, path.data(), path.size());
  return true;
}

sdk::Fd create_socket(int family) {
  return sdk::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Removes a socket of this user on which no process listens: a killed server leaves one.
void remove_stale_socket(const std::string& path, const sockaddr_un& at) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode) ||
      status.st_uid != ::geteuid())
    return;
  const sdk::Fd probe = create_socket(AF_UNIX);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 &&
      errno == ECONNREFUSED)
    ::unlink(path.c_str());
}

constexpr std::string_view kUnixPrefix = "unix:";

}  // namespace

bool is_unix_socket(const std::string& text) { return text.starts_with(kUnixPrefix); }

Result<LoopbackAddress> parse_loopback(const std::string& text) {
  LoopbackAddress address{"127.0.0.1", 0, false};
  if (is_unix_socket(text)) {
    address.socket = text.substr(kUnixPrefix.size());
    if (address.socket.empty()) return Error{"--listen: 'unix:' lacks a path, as in unix:/run/x"};
    return address;
  }
  const std::size_t colon = text.rfind(':');
  const std::string_view port =
      colon == text.npos ? std::string_view(text) : std::string_view(text).substr(colon + 1);
  std::string host = colon == text.npos ? "" : text.substr(0, colon);
  const auto number = sdk::number<std::uint16_t>(port);
  if (!number)
    return Error{"--listen: '" + text + "' is not [ADDR:]PORT, such as 9101 or [::1]:9101"};
  address.port = number.value;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || host == "localhost") return address;
  if (!is_loopback(host, address.is_v6))
    return Error{"--listen: '" + text +
                 "' is not a loopback address; use 127.0.0.1:PORT, and a proxy with authentication "
                 "for other hosts"};
  address.host = host;
  return address;
}

// The socket is created with its final permissions, so no other user can ever connect.
Result<HttpServer> HttpServer::open_socket(const std::string& path, Handler handler) {
  sockaddr_un at;
  if (!fill_address(path, at)) return errno_error("listening at", path, ENAMETOOLONG);
  remove_stale_socket(path, at);
  sdk::Fd fd = create_socket(AF_UNIX);
  if (!fd) return errno_error("listening at", path, errno);
  const mode_t old_umask = ::umask(S_IXUSR | S_IRWXG | S_IRWXO);
  const bool is_bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  const int number = errno;
  ::umask(old_umask);
  if (!is_bound) return errno_error("listening at", path, number);
  HttpServer server(std::move(fd), std::string(kUnixPrefix) + path, std::move(handler));
  server.socket_ = path;
  if (::listen(server.fd_.get(), kBacklog) != 0) return errno_error("listening at", path, errno);
  return server;
}

HttpServer::~HttpServer() {
  if (fd_ && !socket_.empty()) ::unlink(socket_.c_str());
}

Result<HttpServer> HttpServer::open(const LoopbackAddress& address, Handler handler) {
  if (!address.socket.empty()) return open_socket(address.socket, std::move(handler));
  const std::string host = address.is_v6 ? "[" + address.host + "]" : address.host;
  const std::string requested_address = host + ":" + std::to_string(address.port);
  Address at;
  socklen_t size = fill_address(address, at);
  sdk::Fd fd(::socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (!fd) return errno_error("listening at", requested_address, errno);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd.get(), &at.any, size) != 0 || ::listen(fd.get(), kBacklog) != 0)
    return errno_error("listening at", requested_address, errno);
  ::getsockname(fd.get(), &at.any, &size);
  const auto port = ntohs(address.is_v6 ? at.v6.sin6_port : at.v4.sin_port);
  return HttpServer(std::move(fd), host + ":" + std::to_string(port), std::move(handler));
}

// If there are too many clients, drops the oldest: it has had the most time for its request.
void HttpServer::accept_clients() {
  for (int i = 0; i < kBacklog; ++i) {
    sdk::Fd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (clients_.size() >= kMaxClients) clients_.pop_front();
    Client& client = clients_.emplace_back();
    client.fd = std::move(fd);
    client.deadline_ns = monotonic_ns() + kTimeoutNs;
  }
}

void HttpServer::read_head(Client& client) {
  std::array<char, 4096> bytes;
  const ssize_t size = ::recv(client.fd.get(), bytes.data(), bytes.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return client.fd.reset();
  client.head.append(bytes.data(), static_cast<std::size_t>(size));
  if (find_head_end(client.head) != std::string::npos || client.head.size() > kMaxHeadBytes)
    respond(client);
}

void HttpServer::respond(Client& client) {
  HttpRequest request;
  const std::size_t end = find_head_end(client.head);
  HttpResponse result;
  result.status = end > kMaxHeadBytes
                      ? 431
                      : parse_request(std::string_view(client.head).substr(0, end), request);
  const bool is_head = request.method == "HEAD";
  if (result.status == 200 && request.method != "GET" && !is_head) result.status = 405;
  if (result.status == 200)
    result = handler_(request);
  else
    result.body = std::string(reason_phrase(result.status)) + "\n";
  client.out = format_response(result, !is_head);
  client.head.clear();
  client.has_response = true;
  client.deadline_ns = monotonic_ns() + kTimeoutNs;
  send(client);
}

void HttpServer::send(Client& client) {
  while (client.sent < client.out.size()) {
    const ssize_t size = ::send(client.fd.get(), client.out.data() + client.sent,
                                client.out.size() - client.sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size < 0) return client.fd.reset();
    client.sent += static_cast<std::size_t>(size);
  }
  // Reads what the client may still send: otherwise the kernel could reset the connection before
  // the client has read the response.
  ::shutdown(client.fd.get(), SHUT_WR);
  std::array<char, 4096> ignored_bytes;
  for (std::size_t left = kMaxHeadBytes; left > 0;) {
    const ssize_t size = ::recv(client.fd.get(), ignored_bytes.data(), ignored_bytes.size(), 0);
    if (size <= 0) break;
    left -= std::min(left, static_cast<std::size_t>(size));
  }
  client.fd.reset();
}

void HttpServer::serve_client(Client& client, short events) {
  if (events != 0) client.has_response ? send(client) : read_head(client);
  if (client.fd && monotonic_ns() >= client.deadline_ns) client.fd.reset();
}

Result<void> HttpServer::serve(int interrupt_fd, int timeout_ms) {
  std::vector<pollfd> polled{{interrupt_fd, POLLIN, 0}, {fd_.get(), POLLIN, 0}};
  for (const Client& client : clients_)
    polled.push_back(
        {client.fd.get(), static_cast<short>(client.has_response ? POLLOUT : POLLIN), 0});
  if (::poll(polled.data(), polled.size(), timeout_ms) < 0 && errno != EINTR)
    return errno_error("waiting at", name_, errno);
  std::size_t at = 2;
  for (Client& client : clients_) serve_client(client, polled[at++].revents);
  std::erase_if(clients_, [](const Client& client) { return !client.fd; });
  if (polled[1].revents != 0) accept_clients();
  return {};
}

}  // namespace ctprof::cli
