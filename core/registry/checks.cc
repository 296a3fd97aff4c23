#include "core/registry/checks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "core/base/json_scanner.hpp"
#include "core/base/text.hpp"
#include "core/registry/finding_statement.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/labels.hpp"
#include "ctprof/newtypes.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kMaxStateSize = 64 * 1024;
// The newest stage and storage that this version supports.
constexpr ctprof_stage kNewestStage = CTPROF_STAGE_ENTITY;
constexpr ctprof_storage kNewestStorage = CTPROF_STACKS;
// The number of columns that identify a row of an entity of a plugin.
constexpr std::ptrdiff_t kMaxIdentityColumns = 3;
constexpr std::array<std::string_view, 6> kFamilies{"cumulative",  "peak",  "gauge",
                                                    "categorical", "limit", "identity"};

bool is_empty(const char* text) { return !text || !*text; }

// Returns whether `text` consists of lower case letters, digits and characters of `extra_chars`,
// and begins with a letter.
bool is_name(std::string_view text, std::string_view extra_chars) {
  const auto is_allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           extra_chars.find(c) != extra_chars.npos;
  };
  return !text.empty() && text.size() <= 128 && text[0] >= 'a' && text[0] <= 'z' &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

// Returns whether `text` may represent a missing value in a file; NULL, "" and "omit" leave the key
// out.
bool represents_missing_value(const char* text) {
  return is_empty(text) || std::string_view(text) == "omit" || is_json(text);
}

// Returns the plugin's own rule of that name, or null.
const ctprof_rule* find_plugin_rule(const Plugin& plugin, std::string_view name) {
  const auto it = std::find_if(plugin.rules.begin(), plugin.rules.end(),
                               [&](const ctprof_rule& rule) { return rule.name == name; });
  return it == plugin.rules.end() ? nullptr : &*it;
}

std::string metric_subject(const char* name) { return "metric " + quote(name); }

Result<void> check_pairing(const ctprof_metric& metric, const NewtypeInfo& newtype,
                           const Plugin& plugin) {
  Pairing pair_result = Pairing::WithoutMeaning;
  if (const RuleInfo* rule = find_rule(metric.rule))
    pair_result = pairing(newtype, *rule);
  else if (const ctprof_rule* plugin_rule = find_plugin_rule(plugin, metric.rule))
    pair_result = is_listed(plugin_rule->newtypes, newtype.name)
                      ? pairing(newtype, *find_rule(plugin_rule->fallback))
                      : Pairing::WithoutMeaning;
  else
    return Error{metric_subject(metric.name) + " names the rule " + quote(metric.rule) +
                 ", which neither ctprof nor this plugin has"};
  if (pair_result == Pairing::Fits) return {};
  return Error{metric_subject(metric.name) + " pairs " + std::string(newtype.name) + " with " +
               metric.rule + ": " + std::string(sentence(pair_result))};
}

// Checks the two fields that metrics and derived metrics share.
Result<void> check_headline_and_role(const std::string& subject, const ctprof_headline* headline,
                                     const char* role) {
  if (!is_empty(role) && !is_role(role))
    return Error{subject + " claims the role " + quote(role) + ", which ctprof does not have"};
  if (!headline) return {};
  if (headline->size < kSizeV1<ctprof_headline>)
    return Error{size_error_message<ctprof_headline>(subject + "'s headline", headline->size)};
  if (is_empty(headline->label)) return Error{subject + "'s headline has no label"};
  if (headline->shown > CTPROF_SHOWN_LEVEL)
    return Error{subject + "'s headline has display number " + std::to_string(headline->shown) +
                 ", which ctprof does not know"};
  if (!std::isfinite(headline->floor) || headline->floor < 0)
    return Error{subject + "'s headline has a floor that is negative or not a number"};
  return {};
}

Result<void> check_finding(const std::string& subject, const ctprof_finding& finding,
                           bool is_of_source) {
  if (finding.size < kSizeV1<ctprof_finding>)
    return Error{size_error_message<ctprof_finding>(subject + "'s finding", finding.size)};
  if (is_of_source) return Error{subject + " has a finding, but belongs to the entity of a source"};
  if (is_empty(finding.statement)) return Error{subject + "'s finding has no statement"};
  const FindingDef def{finding.statement, finding.at_least, finding.weight, finding.next};
  const std::string fault = find_error(def);
  return fault.empty() ? Result<void>() : Error{subject + "'s finding " + fault};
}

Result<void> check_labels(const std::string& subject, const ctprof_metric& metric) {
  if (metric.storage != CTPROF_MAP)
    return Error{subject + " has labels, but its newtype " + quote(metric.newtype) +
                 " is not a map"};
  const LabelFault fault = find_label_fault(metric.labels);
  if (fault == LabelFault::None) return {};
  return Error{subject + " has the labels " + quote(metric.labels) + ": " +
               std::string(sentence(fault))};
}

}  // namespace

std::string find_unsupported_reason(const ctprof_source& source) {
  if (source.stage <= kNewestStage) return {};
  return "source " + quote(is_empty(source.name) ? "" : source.name) + " has stage number " +
         std::to_string(source.stage) + ", which this version of ctprof does not support";
}

std::string find_unsupported_reason(const ctprof_metric& metric) {
  if (metric.size < kSizeV1<ctprof_metric> || metric.storage <= kNewestStorage) return {};
  return "metric " + quote(is_empty(metric.name) ? "" : metric.name) +
         " is stored as type number " + std::to_string(metric.storage) +
         ", which this version of ctprof does not support";
}

Result<void> check_plugin(const ctprof_plugin& plugin) {
  if (is_empty(plugin.name)) return Error{"it has no name"};
  if (!plugin.open_plugin != !plugin.close_plugin)
    return Error{"it has NULL for only one of open_plugin and close_plugin"};
  if (!is_name(plugin.name, "-_"))
    return Error{"its name " + quote(plugin.name) +
                 " is not lower case letters, digits, - and _, beginning with a letter"};
  return {};
}

Result<void> check_metric(const ctprof_metric& metric, const Plugin& plugin) {
  if (is_empty(metric.name)) return Error{"a metric without a name"};
  // A function, so that the text is made only for a faulty metric: there are hundreds of correct
  // ones.
  const auto subject = [&] { return metric_subject(metric.name); };
  if (!is_name(metric.name, "._"))
    return Error{subject() +
                 ": a name is lower case letters, digits, _ and dots, beginning with a letter"};
  if (metric.entity > CTPROF_ENTITY_OF_SOURCE)
    return Error{subject() + " has entity number " + std::to_string(metric.entity) +
                 ", which ctprof does not know"};
  if (is_empty(metric.newtype) || is_empty(metric.rule))
    return Error{subject() + " lacks a newtype or a rule"};
  const NewtypeInfo* newtype = find_newtype(metric.newtype);
  if (!newtype)
    return Error{subject() + " is of the newtype " + quote(metric.newtype) +
                 ", which ctprof does not have"};
  if (metric.storage != newtype->storage)
    return Error{subject() + " stores " + metric.newtype + " as storage number " +
                 std::to_string(metric.storage) + ", which must be " +
                 std::to_string(newtype->storage)};
  if (!is_empty(metric.family) &&
      std::find(kFamilies.begin(), kFamilies.end(), metric.family) == kFamilies.end())
    return Error{subject() + " is of the family " + quote(metric.family) +
                 ", which ctprof does not have"};
  if (!represents_missing_value(metric.file_absent))
    return Error{subject() + " has " + quote(metric.file_absent) +
                 " as the text of a missing value, which is not JSON"};
  if (metric.headline || !is_empty(metric.role))
    CTPROF_TRY(check_headline_and_role(subject(), metric.headline, metric.role));
  if (!is_empty(metric.labels)) CTPROF_TRY(check_labels(subject(), metric));
  return check_pairing(metric, *newtype, plugin);
}

Result<void> check_offer(const MetricDef& metric, const SourceTable& source) {
  const bool is_recorder = source.table.stage == CTPROF_STAGE_RECORD;
  const bool is_recorded =
      metric.storage == Storage::Stacks ||
      (is_recorder && (metric.storage == Storage::U64 || metric.storage == Storage::Array));
  if (is_recorder != is_recorded)
    return Error{"source " + quote(source.name) + (is_recorder ? " records" : " does not record") +
                 " call stacks but offers " + quote(metric.name) + ", which is stored as " +
                 std::string(name(metric.storage))};
  if (metric.entity == source.entity) return {};
  return Error{"source " + quote(source.name) + " fills rows about a " +
               std::string(name(source.entity)) + " but offers " + quote(metric.name) +
               ", which is about a " + std::string(name(metric.entity))};
}

Result<void> check_entity(const ctprof_source& source) {
  const std::string subject = "source " + quote(source.name);
  if (!source.entity) return Error{subject + " has NULL for entity"};
  if (source.entity->size < kSizeV1<ctprof_entity_type>)
    return Error{
        size_error_message<ctprof_entity_type>("the entity of " + subject, source.entity->size)};
  const std::string_view name = is_empty(source.entity->name) ? "" : source.entity->name;
  if (is_entity_name(name)) return {};
  return Error{subject + " has the entity " + quote(name) +
               ": a name is at most 32 lower case letters, digits and _, beginning with a letter, "
               "and not that of an entity of ctprof"};
}

Result<void> check_source(const ctprof_source& source) {
  if (is_empty(source.name)) return Error{"a source without a name"};
  const std::string subject = "source " + quote(source.name);
  if (source.size < kSizeV1<ctprof_source>)
    return Error{size_error_message<ctprof_source>(subject, source.size)};
  if (source.tallies_count > 4096) return Error{subject + " has more than 4096 tallies"};
  const bool is_lister =
      source.stage == CTPROF_STAGE_LIST || source.stage == CTPROF_STAGE_ENTITY_LIST;
  const bool reports_exits = source.stage == CTPROF_STAGE_EXITED;
  const bool is_recorder = source.stage == CTPROF_STAGE_RECORD;
  if (!source.open_worker) return Error{subject + " has NULL for open_worker"};
  if (!source.close_worker) return Error{subject + " has NULL for close_worker"};
  if (is_lister && !source.list) return Error{subject + " has NULL for list"};
  if (reports_exits && (!source.start || !source.drain_exited || !source.stop))
    return Error{subject + " has NULL for one of start, drain_exited and stop"};
  if (is_recorder && (!source.start || !source.drain_records || !source.stop))
    return Error{subject + " has NULL for one of start, drain_records and stop"};
  if (!is_lister && !reports_exits && !is_recorder && !source.collect)
    return Error{subject + " has NULL for collect"};
  return {};
}

namespace {

// Checks the columns that identify the rows of an entity of a plugin.
Result<void> check_identity_offers(const SourceTable& source) {
  const auto is_identity = [](const OfferTable& offer) {
    return offer.is_supported && offer.metric->family == "identity";
  };
  const auto count = std::ranges::count_if(source.offers, is_identity);
  const std::string subject = "source " + quote(source.name);
  if (count < 1 || count > kMaxIdentityColumns)
    return Error{subject + " lists rows of the entity " + quote(name(source.entity)) + " with " +
                 std::to_string(count) + " columns of the family identity; one to " +
                 std::to_string(kMaxIdentityColumns) + " are required"};
  for (const OfferTable& offer : source.offers)
    if (is_identity(offer) && offer.metric->storage != Storage::U64 &&
        offer.metric->storage != Storage::String)
      return Error{subject + " identifies rows by " + quote(offer.metric->name) +
                   ", which is neither a text nor an unsigned number"};
  return {};
}

}  // namespace

Result<void> check_lister(const SourceTable& source) {
  if (source.table.stage == CTPROF_STAGE_ENTITY_LIST) return check_identity_offers(source);
  const bool reports_exits = source.table.stage == CTPROF_STAGE_EXITED;
  if (source.table.stage != CTPROF_STAGE_LIST && !reports_exits) return {};
  for (const std::string_view required_name : {kTgid, kTid, kComm, kStartTime, kExitedAt}) {
    if (required_name == kExitedAt && !reports_exits) continue;
    const auto offers = [&](const OfferTable& offer) {
      return offer.is_supported && offer.metric->name == required_name;
    };
    if (std::none_of(source.offers.begin(), source.offers.end(), offers))
      return Error{"source " + quote(source.name) + " lists threads but does not offer " +
                   quote(required_name)};
  }
  return {};
}

Result<void> check_derived(const ctprof_derived& derived, bool is_of_source) {
  if (is_empty(derived.name)) return Error{"a derived metric without a name"};
  const std::string subject = "derived metric " + quote(derived.name);
  if (derived.size < kSizeV1<ctprof_derived>)
    return Error{size_error_message<ctprof_derived>(subject, derived.size)};
  if (!is_name(derived.name, "._"))
    return Error{subject +
                 ": a name is lower case letters, digits, _ and dots, beginning with a letter"};
  if (is_of_source && derived.entity != CTPROF_ENTITY_OF_SOURCE)
    return Error{subject + " has entity number " + std::to_string(derived.entity) +
                 ", but belongs to the entity of a source"};
  if (!is_of_source && derived.entity >= kBuiltinEntities)
    return Error{subject + " has entity number " + std::to_string(derived.entity) +
                 ", which ctprof does not know"};
  if (is_empty(derived.expression)) return Error{subject + " has no expression"};
  if (derived.finding) CTPROF_TRY(check_finding(subject, *derived.finding, is_of_source));
  return check_headline_and_role(subject, derived.headline, derived.role);
}

Result<void> check_option(const ctprof_option& option, const Plugin& plugin) {
  if (is_empty(option.key)) return Error{"an option without a key"};
  const std::string subject = "option " + quote(option.key);
  if (option.size < kSizeV1<ctprof_option>)
    return Error{size_error_message<ctprof_option>(subject, option.size)};
  if (!is_name(option.key, "-_"))
    return Error{subject +
                 ": a key is lower case letters, digits, - and _, beginning with a letter"};
  const bool is_duplicate =
      std::any_of(plugin.options.begin(), plugin.options.end(),
                  [&](const PluginOption& other) { return other.key == option.key; });
  if (is_duplicate) return Error{subject + " is declared twice"};
  return {};
}

Result<void> check_rule(const ctprof_rule& rule) {
  if (is_empty(rule.name)) return Error{"a rule without a name"};
  const std::string subject = "rule " + quote(rule.name);
  if (rule.size < kSizeV1<ctprof_rule>)
    return Error{size_error_message<ctprof_rule>(subject, rule.size)};
  if (find_rule(rule.name)) return Error{subject + " has the name of a built-in rule"};
  if (rule.state_size == 0 || rule.state_size > kMaxStateSize)
    return Error{subject + " requests a state of " + std::to_string(rule.state_size) +
                 " bytes; the valid range is 1 to " + std::to_string(kMaxStateSize)};
  if (!rule.add) return Error{subject + " has NULL for add"};
  if (!rule.merge) return Error{subject + " has NULL for merge"};
  if (!rule.number && !rule.text) return Error{subject + " has NULL for both number and text"};
  if (rule.reduction > CTPROF_REDUCES_BY_KEY)
    return Error{subject + " has reduction number " + std::to_string(rule.reduction) +
                 ", which ctprof does not know"};
  if (is_empty(rule.newtypes)) return Error{subject + " accepts no newtype"};
  if (is_empty(rule.fallback) || !find_rule(rule.fallback))
    return Error{subject + " names no built-in rule as fallback for machines without this plugin"};
  return {};
}

}  // namespace ctprof
