#include "tools/ctprof/commands/export_prometheus.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/registry/loader.hpp"
#include "core/render/terminal_text.hpp"
#include "core/tables/exposition.hpp"
#include "core/tables/group_series.hpp"
#include "tools/ctprof/commands/http_server.hpp"
#include "tools/ctprof/commands/listen_access.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/commands/scrape.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

constexpr std::string_view kAll = "all";
constexpr std::string_view kPage = "/metrics";
// The kernel's buffer of exited threads holds a third of a second at the highest measured rate.
constexpr int kServeDrainMs = 200;

// Returns whether --metrics contains "all", which is not a metric, and then removes the selection.
bool take_all(Options& options) {
  if (!options.metrics || std::ranges::count(*options.metrics, kAll) == 0) return false;
  options.metrics.reset();
  return true;
}

void note_cut(const Options& options, const SeriesCut& cut) {
  if (cut.groups > 0)
    note(options, "left out the " + count(cut.groups, "lightest group") + ", " +
                      count(cut.series, "series", "series") + ": more than " +
                      std::to_string(options.tables.most_series) +
                      " (--max-series N, or fewer --metrics)");
}

// Selects OpenMetrics if the client accepts a version that ctprof writes, with a quality above 0.
Exposition form_for(const std::string& accept) {
  const std::size_t at = accept.find("application/openmetrics-text");
  if (at == std::string::npos) return Exposition::Text;
  std::string entry = accept.substr(at, accept.find(',', at) - at);
  std::erase(entry, ' ');
  const bool refused = entry.ends_with(";q=0") || entry.find(";q=0;") != std::string::npos ||
                       entry.ends_with(";q=0.0");
  const std::size_t version = entry.find("version=");
  const bool known = version == std::string::npos ||
                     entry.substr(version + 8).starts_with("1.0.0") ||
                     entry.substr(version + 8).starts_with("0.0.1");
  return known && !refused ? Exposition::OpenMetrics : Exposition::Text;
}

HttpAnswer answer(const HttpRequest& request, Scraper& scraper, const Options& options,
                  const std::string& token) {
  if (!is_authorized(request.authorization, token))
    return {401, "text/plain; charset=utf-8", "the token of --token-file is missing or wrong\n"};
  if (request.path != kPage) return {404, "text/plain; charset=utf-8", "the page is /metrics\n"};
  const Exposition form = form_for(request.accept);
  const bool had_cut = scraper.cut().groups > 0;
  auto text = scraper.text(form);
  if (!text) {
    fail(text.error());
    return {503, "text/plain; charset=utf-8", text.error().text + "\n"};
  }
  if (!had_cut) note_cut(options, scraper.cut());
  return {200, std::string(content_type(form)), std::move(*text)};
}

Result<ScrapeOptions> scrape_options(Options options) {
  ScrapeOptions scrape;
  scrape.all_metrics = take_all(options);
  auto spec = spec_of(options, ReportKind::Show);
  if (!spec) return spec.error();
  scrape.spec = std::move(*spec);
  scrape.jobs = options.jobs;
  scrape.most_series = options.tables.most_series;
  return scrape;
}

Result<void> check_listen(const Options& options) {
  if (!options.arguments.empty() || !options.output.empty())
    return Error{"--listen shows the live host: it takes no FILE and no -o"};
  if (!options.spans.empty() || options.redact)
    return Error{"--listen shows the live host: it takes no --since, --until or --redact"};
  if (runs_privileged())
    return Error{
        "--listen is refused with file capabilities: every client would see what only the "
        "capabilities permit; run a ctprof without them, as a user whose data may be public"};
  return {};
}

}  // namespace

int export_prometheus(const Options& given, const Target& target) {
  Options options = given;
  if (options.redact)
    return fail(
        "--redact is for files and tables; redact the file first: ctprof export FILE --redact -o "
        "PUBLIC, then ctprof export PUBLIC --to prometheus");
  const bool all = take_all(options);
  return report_on(options, [&](const Report& report, std::span<const std::string>,
                                const ColumnChoice&) {
    const Counted counted = report.sides().front().window ? Counted::PerSecond : Counted::Lifetime;
    auto families = series_of(report, {all, counted});
    note_cut(options, cut_series(families, options.tables.most_series));
    const auto written = write_to(target, options, [&](Sink& sink) {
      return write_exposition(families, Exposition::Text, sink);
    });
    return written ? tell_written(options, target, *written) : fail(written.error());
  });
}

int listen_prometheus(const Options& options) {
  if (auto sound = check_listen(options); !sound) return fail(sound.error());
  const auto address = parse_loopback(options.tables.listen);
  if (!address) return fail(address.error());
  if (auto access = check_access(options); !access) return fail(access.error());
  const auto token = read_token(options.tables.token_file);
  if (!token) return fail(token.error());
  auto scrape = scrape_options(options);
  if (!scrape) return fail(scrape.error());
  const auto registry = load_metrics(options, Load::Capture);
  if (!registry) return fail(registry.error());
  if (auto taken = take_interrupts(); !taken) return fail(taken.error());
  auto scraper = Scraper::begin(*registry, std::move(*scrape));
  if (!scraper) return fail(scraper.error());
  note_unused(options, scraper->refused());
  auto server = HttpServer::open(*address, [&](const HttpRequest& request) {
    return answer(request, *scraper, options, *token);
  });
  if (!server) return fail(server.error());
  note(options, address->socket.empty()
                    ? "listening at http://" + server->name() + std::string(kPage)
                    : "listening at " + server->name() + ", page " + std::string(kPage));
  while (!is_interrupted()) {
    if (auto served = server->serve(interrupted_fd(), kServeDrainMs); !served)
      return fail(served.error());
    if (auto drained = scraper->drain(); !drained) fail(drained.error());
  }
  return kFine;
}

}  // namespace ctprof::cli
