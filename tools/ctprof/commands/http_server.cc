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

constexpr std::size_t kMostClients = 32;
constexpr std::size_t kMostHead = 16 << 10;
constexpr std::uint64_t kPatienceNs = 5'000'000'000;
constexpr int kBacklog = 64;

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

socklen_t fill(const LoopbackAddress& from, Address& to) {
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

std::string_view reason_of(int status) {
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

std::string lower(std::string_view text) {
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
bool names_this_host(std::string_view host) {
  const bool is_v6 = host.starts_with('[');
  const std::size_t end = is_v6 ? host.find(']') : host.find(':');
  const std::string name = lower(host.substr(is_v6 ? 1 : 0, is_v6 ? end - 1 : end));
  bool is_other_v6 = false;
  return name == "localhost" || is_loopback(name, is_other_v6);
}

// Parses "GET /metrics?x HTTP/1.1" and its headers. Returns 200, or the status of the error.
int parse(std::string_view head, HttpRequest& request) {
  std::string_view line = take_line(head);
  request.method = sdk::take(line, ' ');
  const std::string_view target = sdk::take(line, ' ');
  request.path = target.substr(0, target.find('?'));
  if (request.method.empty() || !target.starts_with('/') || !line.starts_with("HTTP/")) return 400;
  if (line != "HTTP/1.1" && line != "HTTP/1.0") return 505;
  while (!head.empty()) {
    std::string_view header = take_line(head);
    const std::string name = lower(sdk::take(header, ':'));
    const std::string_view value = sdk::trimmed(header);
    if (name == "host" && !names_this_host(value)) return 403;
    if (name == "authorization") request.authorization = std::string(value);
    if (name == "accept")
      request.accept += (request.accept.empty() ? "" : ",") + std::string(value);
  }
  return 200;
}

std::size_t end_of_head(std::string_view text) {
  const std::size_t usual = text.find("\r\n\r\n"), plain = text.find("\n\n");
  return std::min(usual == text.npos ? usual : usual + 4, plain == text.npos ? plain : plain + 2);
}

std::string response(const HttpAnswer& answer, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " " +
                     std::string(reason_of(answer.status)) + "\r\nContent-Type: " + answer.type +
                     "\r\nContent-Length: " + std::to_string(answer.body.size()) +
                     "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n";
  if (answer.status == 401) text += "WWW-Authenticate: Bearer\r\n";
  if (answer.status == 405) text += "Allow: GET, HEAD\r\n";
  return text + "\r\n" + (with_body ? answer.body : "");
}

bool fill(const std::string& path, sockaddr_un& to) {
  std::memset(&to, 0, sizeof to);
  to.sun_family = AF_UNIX;
  if (path.size() >= sizeof to.sun_path) return false;
  std::memcpy(to.sun_path, path.data(), path.size());
  return true;
}

sdk::Fd new_socket(int family) {
  return sdk::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Removes a socket of this user on which no process listens: a killed server leaves one.
void remove_stale(const std::string& path, const sockaddr_un& at) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode) ||
      status.st_uid != ::geteuid())
    return;
  const sdk::Fd probe = new_socket(AF_UNIX);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 &&
      errno == ECONNREFUSED)
    ::unlink(path.c_str());
}

constexpr std::string_view kUnix = "unix:";

}  // namespace

bool names_socket(const std::string& text) { return text.starts_with(kUnix); }

Result<LoopbackAddress> parse_loopback(const std::string& text) {
  LoopbackAddress address{"127.0.0.1", 0, false};
  if (names_socket(text)) {
    address.socket = text.substr(kUnix.size());
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
Result<HttpServer> HttpServer::open_socket(const std::string& path, Answer answer) {
  sockaddr_un at;
  if (!fill(path, at)) return errno_error("listening at", path, ENAMETOOLONG);
  remove_stale(path, at);
  sdk::Fd fd = new_socket(AF_UNIX);
  if (!fd) return errno_error("listening at", path, errno);
  const mode_t before = ::umask(S_IXUSR | S_IRWXG | S_IRWXO);
  const bool is_bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  const int number = errno;
  ::umask(before);
  if (!is_bound) return errno_error("listening at", path, number);
  HttpServer server(std::move(fd), std::string(kUnix) + path, std::move(answer));
  server.socket_ = path;
  if (::listen(server.fd_.get(), kBacklog) != 0) return errno_error("listening at", path, errno);
  return server;
}

HttpServer::~HttpServer() {
  if (fd_ && !socket_.empty()) ::unlink(socket_.c_str());
}

Result<HttpServer> HttpServer::open(const LoopbackAddress& address, Answer answer) {
  if (!address.socket.empty()) return open_socket(address.socket, std::move(answer));
  const std::string host = address.is_v6 ? "[" + address.host + "]" : address.host;
  const std::string wanted = host + ":" + std::to_string(address.port);
  Address at;
  socklen_t size = fill(address, at);
  sdk::Fd fd(::socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (!fd) return errno_error("listening at", wanted, errno);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd.get(), &at.any, size) != 0 || ::listen(fd.get(), kBacklog) != 0)
    return errno_error("listening at", wanted, errno);
  ::getsockname(fd.get(), &at.any, &size);
  const auto port = ntohs(address.is_v6 ? at.v6.sin6_port : at.v4.sin_port);
  return HttpServer(std::move(fd), host + ":" + std::to_string(port), std::move(answer));
}

// If there are too many clients, drops the oldest: it has had the most time for its request.
void HttpServer::accept_clients() {
  for (int i = 0; i < kBacklog; ++i) {
    sdk::Fd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (clients_.size() >= kMostClients) clients_.pop_front();
    Client& client = clients_.emplace_back();
    client.fd = std::move(fd);
    client.due_ns = monotonic_ns() + kPatienceNs;
  }
}

void HttpServer::read_head(Client& client) {
  std::array<char, 4096> bytes;
  const ssize_t size = ::recv(client.fd.get(), bytes.data(), bytes.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return client.fd.reset();
  client.head.append(bytes.data(), static_cast<std::size_t>(size));
  if (end_of_head(client.head) != std::string::npos || client.head.size() > kMostHead)
    answer(client);
}

void HttpServer::answer(Client& client) {
  HttpRequest request;
  const std::size_t end = end_of_head(client.head);
  HttpAnswer said;
  said.status =
      end > kMostHead ? 431 : parse(std::string_view(client.head).substr(0, end), request);
  const bool is_head = request.method == "HEAD";
  if (said.status == 200 && request.method != "GET" && !is_head) said.status = 405;
  if (said.status == 200)
    said = answer_(request);
  else
    said.body = std::string(reason_of(said.status)) + "\n";
  client.out = response(said, !is_head);
  client.head.clear();
  client.is_answered = true;
  client.due_ns = monotonic_ns() + kPatienceNs;
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
  std::array<char, 4096> unread;
  for (std::size_t left = kMostHead; left > 0;) {
    const ssize_t size = ::recv(client.fd.get(), unread.data(), unread.size(), 0);
    if (size <= 0) break;
    left -= std::min(left, static_cast<std::size_t>(size));
  }
  client.fd.reset();
}

void HttpServer::attend(Client& client, short events) {
  if (events != 0) client.is_answered ? send(client) : read_head(client);
  if (client.fd && monotonic_ns() >= client.due_ns) client.fd.reset();
}

Result<void> HttpServer::serve(int interrupt, int timeout_ms) {
  std::vector<pollfd> polled{{interrupt, POLLIN, 0}, {fd_.get(), POLLIN, 0}};
  for (const Client& client : clients_)
    polled.push_back(
        {client.fd.get(), static_cast<short>(client.is_answered ? POLLOUT : POLLIN), 0});
  if (::poll(polled.data(), polled.size(), timeout_ms) < 0 && errno != EINTR)
    return errno_error("waiting at", name_, errno);
  std::size_t at = 2;
  for (Client& client : clients_) attend(client, polled[at++].revents);
  std::erase_if(clients_, [](const Client& client) { return !client.fd; });
  if (polled[1].revents != 0) accept_clients();
  return {};
}

}  // namespace ctprof::cli
