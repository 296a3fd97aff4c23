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

constexpr std::string_view kAllKeyword = "all";
constexpr std::string_view kMetricsPath = "/metrics";
// The kernel's buffer of exited threads holds a third of a second at the highest measured rate.
constexpr int kServeDrainMs = 200;

void note_omitted_series(const ExportOptions& options, const OmittedSeries& cut) {
  if (cut.groups > 0)
    print_note(options, "left out the " + format_count(cut.groups, "lightest group") + " with " +
                            format_count(cut.series, "series", "series") + ", because all exceed " +
                            std::to_string(options.prometheus.max_series) +
                            " series; raise --max-series, or select fewer --metrics");
}

// Selects OpenMetrics if the client accepts a version that ctprof writes, with a quality above 0.
ExpositionFormat choose_exposition(const std::string& accept) {
  const std::size_t at = accept.find("application/openmetrics-text");
  if (at == std::string::npos) return ExpositionFormat::Text;
  std::string media_type = accept.substr(at, accept.find(',', at) - at);
  std::erase(media_type, ' ');
  const bool refused = media_type.ends_with(";q=0") ||
                       media_type.find(";q=0;") != std::string::npos ||
                       media_type.ends_with(";q=0.0");
  const std::size_t version = media_type.find("version=");
  const bool known = version == std::string::npos ||
                     media_type.substr(version + 8).starts_with("1.0.0") ||
                     media_type.substr(version + 8).starts_with("0.0.1");
  return known && !refused ? ExpositionFormat::OpenMetrics : ExpositionFormat::Text;
}

HttpResponse handle_request(const HttpRequest& request, Scraper& scraper,
                            const ExportOptions& options, const std::string& token) {
  if (!is_authorized(request.authorization, token))
    return {401, "text/plain; charset=utf-8", "the token of --token-file is missing or wrong\n"};
  if (request.path != kMetricsPath)
    return {404, "text/plain; charset=utf-8", "the page is /metrics\n"};
  const ExpositionFormat form = choose_exposition(request.accept);
  const bool had_omitted_series = scraper.omitted_series().groups > 0;
  auto text = scraper.collect_text(form);
  if (!text) {
    fail(text.error());
    return {503, "text/plain; charset=utf-8", text.error().text + "\n"};
  }
  if (!had_omitted_series) note_omitted_series(options, scraper.omitted_series());
  return {200, std::string(get_content_type(form)), std::move(*text)};
}

Result<ScrapeOptions> scrape_options(ExportOptions options) {
  ScrapeOptions scrape;
  scrape.all_metrics = take_all_keyword(options);
  CTPROF_TRY_VALUE(auto spec, make_spec(options, ReportKind::Show));
  scrape.spec = std::move(spec);
  scrape.jobs = options.jobs;
  scrape.max_series = options.prometheus.max_series;
  return scrape;
}

Result<void> check_listen_options(const ExportOptions& options) {
  if (!options.arguments.empty() || !options.output.empty())
    return Error{"--listen exports the live host and cannot be combined with FILE or -o"};
  if (!options.spans.empty() || options.redact)
    return Error{
        "--listen exports the live host and cannot be combined with --since, --until or --redact"};
  if (runs_privileged())
    return Error{
        "--listen is refused with file capabilities: every client would see what only the "
        "capabilities permit; run a ctprof without them, as a user whose data may be public"};
  return {};
}

}  // namespace

bool take_all_keyword(ExportOptions& options) {
  if (!options.metrics || std::ranges::count(*options.metrics, kAllKeyword) == 0) return false;
  options.metrics.reset();
  return true;
}

int export_prometheus(const ExportOptions& parsed_options, const Target& target) {
  ExportOptions options = parsed_options;
  if (options.redact)
    return fail(
        "--redact is for files and tables; redact the file first: ctprof export FILE --redact -o "
        "PUBLIC, then ctprof export PUBLIC --to prometheus");
  const bool all = take_all_keyword(options);
  return make_and_print_report(
      options, [&](const Report& report, std::span<const std::string>, const ColumnChoice&) {
        const CounterForm counted =
            report.sides().front().window ? CounterForm::PerSecond : CounterForm::Lifetime;
        auto families = make_series(report, {all, counted});
        note_omitted_series(options, limit_series(families, options.prometheus.max_series));
        const auto written = write_to(target, options, [&](Sink& sink) {
          return write_exposition(families, ExpositionFormat::Text, sink);
        });
        return written ? report_written_file(options, target, *written) : fail(written.error());
      });
}

int serve_prometheus(const ExportOptions& options) {
  if (auto valid = check_listen_options(options); !valid) return fail(valid.error());
  const auto address = parse_loopback(options.prometheus.listen);
  if (!address) return fail(address.error());
  if (auto access = check_access(options.prometheus); !access) return fail(access.error());
  const auto token = read_token(options.prometheus.token_file);
  if (!token) return fail(token.error());
  auto scrape = scrape_options(options);
  if (!scrape) return fail(scrape.error());
  const auto registry = load_metrics(options, capture_scope(false, options.metrics.has_value()));
  if (!registry) return fail(registry.error());
  if (auto installed = install_interrupt_handlers(); !installed) return fail(installed.error());
  auto scraper = Scraper::begin(*registry, std::move(*scrape));
  if (!scraper) return fail(scraper.error());
  note_unused(options, scraper->refused());
  auto server = HttpServer::open(*address, [&](const HttpRequest& request) {
    return handle_request(request, *scraper, options, *token);
  });
  if (!server) return fail(server.error());
  print_note(options,
             address->socket.empty()
                 ? "listening at http://" + server->name() + std::string(kMetricsPath)
                 : "listening at " + server->name() + ", page " + std::string(kMetricsPath));
  while (!is_interrupted()) {
    if (auto served = server->serve(interrupted_fd(), kServeDrainMs); !served)
      return fail(served.error());
    if (auto drained = scraper->drain(); !drained) fail(drained.error());
  }
  return kSuccess;
}

}  // namespace ctprof::cli
