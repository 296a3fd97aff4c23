// A small HTTP server for one page on the loopback interface. Prometheus scrapes it.
//
// Clients may be hostile, so every resource of a client is limited. One thread serves all
// connections, and none can block another: at most kMaxClients connections, a request head of at
// most kMaxHeadBytes bytes that must arrive within kTimeoutNs, and a response that the client must
// read within the same time. HTTP/1.0 and 1.1, GET and HEAD. The server closes the connection after
// the response and does not read request bodies. It refuses requests whose Host header names
// another host, which protects against DNS rebinding.
//
// See also: the content of responses (scrape.hpp).

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {

// A loopback address with a port, or a Unix socket.
struct LoopbackAddress {
  std::string host;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
  bool is_v6 = false;
  std::string socket{};  // path; empty: use the address
};
// Whether the text is "unix:PATH".
bool is_unix_socket(const std::string& text);
// Parses "unix:/run/ctprof.sock", "9101", ":9101", "127.0.0.1:9101", "localhost:9101",
// "[::1]:9101". The error is one sentence for any other text.
Result<LoopbackAddress> parse_loopback(const std::string& text);

struct HttpRequest {
  std::string method, path;
  std::string accept;         // all Accept headers, joined by commas
  std::string authorization;  // the last Authorization header
};
struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // Only the user can open a Unix socket. It replaces a socket on which no process listens.
  static Result<HttpServer> open(const LoopbackAddress& address, Handler handler);
  // Removes the Unix socket.
  ~HttpServer();
  HttpServer(HttpServer&&) = default;

  // The listening address, with the port that the kernel assigned if 0 was specified; or unix:PATH.
  const std::string& name() const { return name_; }
  // Serves for at most `timeout_ms`, or until `interrupt_fd` becomes readable.
  Result<void> serve(int interrupt_fd, int timeout_ms);

 private:
  struct Client {
    sdk::Fd fd;
    std::uint64_t deadline_ns = 0;  // deadline of the current step
    std::string head, out;
    std::size_t sent = 0;
    bool has_response = false;
  };
  HttpServer(sdk::Fd fd, std::string name, Handler handler)
      : fd_(std::move(fd)), name_(std::move(name)), handler_(std::move(handler)) {}
  static Result<HttpServer> open_socket(const std::string& path, Handler handler);
  void accept_clients();
  void serve_client(Client& client, short events);
  void read_head(Client& client);
  void respond(Client& client);
  void send(Client& client);

  sdk::Fd fd_;
  std::string name_;
  Handler handler_;
  std::list<Client> clients_;
  std::string socket_;  // path to remove in the destructor; empty: none
};

}  // namespace ctprof::cli
