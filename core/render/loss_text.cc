#include "core/render/loss_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/text.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxNamedMetrics = 3;

// In the order of LossKind.
constexpr std::array<std::string_view, 9> kLossNames{"exits_not_recorded",
                                                     "dropped_exits",
                                                     "unseen_exits",
                                                     "merged_exits",
                                                     "denied",
                                                     "threads_not_in_opening",
                                                     "times_in_progress",
                                                     "metrics_not_in_opening",
                                                     "unread_rows"};

std::string list_few_metrics(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamedMetrics); ++i)
    text += (i > 0 ? ", " : "") + make_printable_short(names[i]);
  if (names.size() > kMaxNamedMetrics)
    text += " and " + format_count(names.size() - kMaxNamedMetrics, "other");
  return text;
}

// Names no remedy: a recorder with user id 0 may lack capabilities, too.
std::string describe_denied_reads(const Loss& loss) {
  std::string text =
      "no permission to read: exited threads, " + format_count(loss.metrics, "metric");
  if (loss.threads > 0)
    text += ", times of " + format_count(loss.threads, "thread") +
            " that ran when the window opened or closed";
  return text + "; see `ctprof doctor` on that host";
}

}  // namespace

std::string describe_loss(const Loss& loss) {
  switch (loss.kind) {
    case LossKind::ExitsNotRecorded:
      return "exited threads are not recorded" +
             (loss.threads > 0 ? "; " + format_count(loss.threads, "thread") + " exited" : "");
    case LossKind::DroppedExits:
      return format_count(loss.threads, "exited thread") +
             " whose last values a full buffer dropped";
    case LossKind::UnseenExits:
      return format_count(loss.threads, "exited thread") + " without any data";
    case LossKind::MergedExits:
      return format_count(loss.threads, "exited thread") + " merged into the row of another thread";
    case LossKind::Denied: return describe_denied_reads(loss);
    case LossKind::ThreadsNotInOpening:
      return "no differences for " + format_count(loss.threads, "thread") +
             ", not read when the window opened";
    case LossKind::TimesInProgress:
      return "no run, wait and blocked time of " + format_count(loss.threads, "thread") +
             " that ran or waited for a CPU when the window opened or closed; BPF programs can "
             "read these times";
    case LossKind::MetricsNotInOpening:
      return "no differences for " + list_few_metrics(loss.names) +
             ", not read when the window opened";
    case LossKind::UnreadRows:
      return format_count(loss.threads, "row") + " exited before they could be read";
  }
  return {};
}

void write_losses(JsonBuilder& json, std::span<const Loss> losses) {
  json.key("losses");
  json.open('[');
  for (const Loss& loss : losses) {
    json.open_item();
    json.text_member("kind", kLossNames[static_cast<std::size_t>(loss.kind)]);
    json.number_member("count", loss.threads);
    json.number_member("metrics", loss.metrics);
    json.text_member("text", describe_loss(loss));
    json.close('}');
  }
  json.close(']');
}

}  // namespace ctprof
