// A small HTTP server for one page, on loopback: what Prometheus scrapes.
//
// Whoever can connect may be hostile: it is held to little of everything. One thread serves all
// connections, none of which can hold up another: at most kMostClients at a time, a request's head
// of kMostHead bytes within kPatienceNs, and an answer that is taken within as long. HTTP/1.0
// and 1.1, GET and HEAD; a connection is closed behind its answer. A request's body is not read. A
// request for another host's name is refused, as pages make them whose name was made to mean this
// host.
//
// Not here: what is answered (scrape.hpp).

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

// An address of this host that no other host reaches, and a port; or a Unix socket.
struct LoopbackAddress {
  std::string host;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
  bool is_v6 = false;
  std::string socket{};  // its path; empty: it is an address
};
// Whether it is "unix:PATH".
bool names_socket(const std::string& text);
// "unix:/run/ctprof.sock", "9101", ":9101", "127.0.0.1:9101", "localhost:9101", "[::1]:9101". The
// error is a sentence for any other address.
Result<LoopbackAddress> parse_loopback(const std::string& text);

struct HttpRequest {
  std::string method, path;
  std::string accept;         // of all such headers
  std::string authorization;  // of the last such header
};
struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  using Answer = std::function<HttpAnswer(const HttpRequest&)>;
  // A Unix socket can be opened by the user alone, and replaces one that nobody listens at.
  static Result<HttpServer> open(const LoopbackAddress& address, Answer answer);
  // Removes the Unix socket.
  ~HttpServer();
  HttpServer(HttpServer&&) = default;

  // The address that it listens at, with the port that it got where 0 was asked for; or unix:PATH.
  const std::string& name() const { return name_; }
  // Serves for so long at most, or until `interrupt` becomes readable.
  Result<void> serve(int interrupt, int timeout_ms);

 private:
  struct Client {
    sdk::Fd fd;
    std::uint64_t due_ns = 0;  // until then the next step is done
    std::string head, out;
    std::size_t sent = 0;
    bool is_answered = false;
  };
  HttpServer(sdk::Fd fd, std::string name, Answer answer)
      : fd_(std::move(fd)), name_(std::move(name)), answer_(std::move(answer)) {}
  static Result<HttpServer> open_socket(const std::string& path, Answer answer);
  void accept_clients();
  void attend(Client& client, short events);
  void read_head(Client& client);
  void answer(Client& client);
  void send(Client& client);

  sdk::Fd fd_;
  std::string name_;
  Answer answer_;
  std::list<Client> clients_;
  std::string socket_;  // to be removed; empty: none
};

}  // namespace ctprof::cli
