// NodeLabel restricted pods to nodes with or without certain labels. NodeAffinity does the same with an
// affinity that it adds to every pod.
#include <fmt/format.h>

#include <algorithm>

#include "config/versions/version.hpp"

namespace berth::config {
namespace {

constexpr std::string_view kOld = "NodeLabel";
constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

Value Expression(const std::string& label, bool present) {
  Value expression = Value::Map();
  expression.Set("key", Value::Text(label));
  expression.Set("operator", Value::Text(present ? "Exists" : "DoesNotExist"));
  return expression;
}

Value TermOf(Value expressions) {
  Value term = Value::Map();
  term.Set("matchExpressions", std::move(expressions));
  return term;
}

struct Labels {
  std::vector<std::string> present, absent, preferred_present, preferred_absent;
};

Value AffinityOf(const Labels& labels, bool filters, bool scores) {
  Value affinity = Value::Map();
  Value required = Value::List();
  for (const std::string& label : labels.present) required.items.push_back(Expression(label, true));
  for (const std::string& label : labels.absent) required.items.push_back(Expression(label, false));
  if (filters && !required.items.empty()) {
    Value terms = Value::List();
    terms.items.push_back(TermOf(std::move(required)));
    affinity.Set(kRequired, Value::Map()).Set("nodeSelectorTerms", std::move(terms));
  }
  Value preferred = Value::List();
  const auto prefer = [&](const std::string& label, bool present) {
    Value one = Value::List();
    one.items.push_back(Expression(label, present));
    Value& item = preferred.items.emplace_back(Value::Map());
    item.Set("weight", Value::Number(1));
    item.Set("preference", TermOf(std::move(one)));
  };
  for (const std::string& label : labels.preferred_present) prefer(label, true);
  for (const std::string& label : labels.preferred_absent) prefer(label, false);
  if (scores && !preferred.items.empty()) affinity.Set(kPreferred, std::move(preferred));
  return affinity;
}

Labels Read(const PluginConfigEntry* entry, Document& document) {
  Labels labels;
  if (entry == nullptr || !entry->args) return labels;
  Problems problems;
  StructReader reader(*entry->args, "NodeLabelArgs", "", problems);
  reader.Take("kind");
  reader.Take("apiVersion");
  reader.Read("presentLabels", labels.present);
  reader.Read("absentLabels", labels.absent);
  reader.Read("presentLabelsPreference", labels.preferred_present);
  reader.Read("absentLabelsPreference", labels.preferred_absent);
  reader.Finish();
  if (!problems.empty())
    document.errors.push_back(
        fmt::format("decoding .{}: decoding args for plugin NodeLabel: {}", entry->path, problems.Text()));
  return labels;
}

// Replaces NodeLabel by NodeAffinity where the defaults are disabled.
bool Rename(PluginSet& set) {
  if (!set.Enables(kOld)) return false;
  const bool has_affinity =
      set.Enables("NodeAffinity") || (!set.DisablesAll() && !set.Disables("NodeAffinity"));
  if (has_affinity) {
    std::erase_if(set.enabled, [](const PluginRef& plugin) { return plugin.name == kOld; });
  } else {
    for (PluginRef& plugin : set.enabled) {
      if (plugin.name == kOld) plugin.name = "NodeAffinity";
    }
  }
  return true;
}

}  // namespace

void ReplaceNodeLabel(ProfileDocument& profile, Document& document) {
  const bool filters = Rename(profile.at(Point::kFilter));
  const bool scores = Rename(profile.at(Point::kScore));
  const Labels labels = Read(profile.FindConfig(kOld), document);
  std::erase_if(profile.plugin_config, [](const PluginConfigEntry& entry) { return entry.name == kOld; });
  Value affinity = AffinityOf(labels, filters, scores);
  if (affinity.members.empty()) return;
  Value& args = profile.ArgsOf("NodeAffinity");
  if (args.Find("addedAffinity") != nullptr) {
    document.errors.push_back(fmt::format(
        "{}: NodeLabel becomes NodeAffinity's addedAffinity, which the file has already: join them by hand",
        profile.PathOf(Point::kFilter)));
    return;
  }
  args.Set("addedAffinity", std::move(affinity));
  document.Note(fmt::format("{}: NodeLabel is replaced by NodeAffinity with an addedAffinity{}",
                            profile.PathOf(filters ? Point::kFilter : Point::kScore),
                            scores ? "; its preferences count with NodeAffinity's weight" : ""));
}

}  // namespace berth::config
