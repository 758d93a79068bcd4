#include "tools/what_if/changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "base/nearest.hpp"
#include "kubernetes/api/quantity.hpp"
#include "kubernetes/api/requests.hpp"

namespace berth::what_if {
namespace {

struct OwnerWord {
  const char* word;
  const char* kind;  // empty: a pod
};
constexpr OwnerWord kOwnerWords[] = {
    {"pod", ""},
    {"pods", ""},
    {"po", ""},
    {"deployment", "Deployment"},
    {"deployments", "Deployment"},
    {"deploy", "Deployment"},
    {"statefulset", "StatefulSet"},
    {"statefulsets", "StatefulSet"},
    {"sts", "StatefulSet"},
    {"replicaset", "ReplicaSet"},
    {"replicasets", "ReplicaSet"},
    {"rs", "ReplicaSet"},
    {"job", "Job"},
    {"jobs", "Job"},
    {"replicationcontroller", "ReplicationController"},
    {"rc", "ReplicationController"},
};

const OwnerWord* FindWord(const std::string& word) {
  const auto* found = std::ranges::find_if(kOwnerWords, [&](const auto& one) { return word == one.word; });
  return found == std::end(kOwnerWords) ? nullptr : found;
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(at); end != text.npos; end = text.find(at, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// Splits "NODE:rest" at the first colon. `rest` empty: the text has not this form.
std::pair<std::string, std::string> SplitNode(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == text.npos) return {};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

constexpr const char* kEffects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

Expected<void> CheckEffect(const std::string& text, const std::string& effect) {
  if (std::ranges::find(kEffects, effect) != std::end(kEffects)) return {};
  const std::vector<std::string> known(std::begin(kEffects), std::end(kEffects));
  const std::string nearest = Nearest(effect, known);
  return Invalid(fmt::format("{}: effect \"{}\": expected {}{}", text, effect, fmt::join(known, ", "),
                             nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

// Of a container's request. The scheduler ignores other names, or no node has them: a misspelled one would
// answer another question.
Expected<void> CheckResource(const std::string& text, const std::string& part, const std::string& resource) {
  const api::ResourceClass kind = api::ClassOf(resource);
  if (kind != api::ResourceClass::kIgnored && kind != api::ResourceClass::kPods) return {};
  const std::vector<std::string> known = {"cpu", "memory", "ephemeral-storage"};
  const std::string nearest = Nearest(resource, known);
  return Invalid(
      fmt::format("{}: \"{}\": resource \"{}\": expected {}, hugepages-SIZE or a name with a domain such as "
                  "nvidia.com/gpu{}",
                  text, part, resource, fmt::join(known, ", "),
                  nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

struct TextOfChange {
  std::string operator()(const AddNodes& change) const {
    return fmt::format("add {} node{} like {}", change.count, change.count == 1 ? "" : "s",
                       change.like.empty() ? "that of " + change.file : change.like);
  }
  std::string operator()(const RemoveNode& change) const { return "remove node " + change.node; }
  std::string operator()(const Cordon& change) const {
    return (change.unschedulable ? "cordon " : "uncordon ") + change.node;
  }
  std::string operator()(const Drain& change) const { return "drain " + change.node; }
  std::string operator()(const SetLabel& change) const {
    return change.value ? fmt::format("label {} {}={}", change.node, change.key, *change.value)
                        : fmt::format("remove label {} of {}", change.key, change.node);
  }
  std::string operator()(const SetTaint& change) const {
    const api::Taint& taint = change.taint;
    return fmt::format("{} {}{}{}{} {} {}", change.remove ? "remove taint" : "taint", taint.key,
                       taint.value.empty() ? "" : "=" + taint.value, taint.effect.empty() ? "" : ":",
                       taint.effect, change.remove ? "of" : "on", change.node);
  }
  std::string operator()(const AddPods& change) const {
    return fmt::format("add the pods of {}{}", change.file,
                       change.replicas ? fmt::format(", {} replicas", *change.replicas) : "");
  }
  std::string operator()(const DeletePods& change) const { return "delete " + change.pods.text; }
  std::string operator()(const SetRequests& change) const {
    std::vector<std::string> parts;
    for (const auto& [resource, amount] : change.requests) parts.push_back(resource + "=" + amount);
    return fmt::format("set requests of {} to {}", change.pods.text, fmt::join(parts, ","));
  }
  std::string operator()(const SetPriority& change) const {
    return fmt::format("set priority of {} to {}", change.pods.text, change.priority);
  }
};

}  // namespace

std::string TextOf(const Change& change) { return std::visit(TextOfChange(), change); }

Expected<SetLabel> ParseLabel(const std::string& text) {
  const auto [node, rest] = SplitNode(text);
  const std::size_t equals = rest.find('=');
  SetLabel change{.node = node, .key = rest.substr(0, equals), .value = std::nullopt};
  const bool removes = equals == rest.npos && rest.ends_with('-');
  if (removes) change.key.pop_back();
  if (change.key.empty() || (!removes && equals == rest.npos))
    return Invalid(fmt::format("{}: expected NODE:key=value, or NODE:key- to remove a label", text));
  if (!removes) change.value = rest.substr(equals + 1);
  return change;
}

Expected<SetTaint> ParseTaint(const std::string& text) {
  auto [node, rest] = SplitNode(text);
  SetTaint change{.node = node, .taint = {}, .remove = rest.ends_with('-')};
  if (change.remove) rest.pop_back();
  const std::size_t colon = rest.find(':');
  const std::string before = rest.substr(0, colon);
  change.taint.key = before.substr(0, before.find('='));
  if (before.find('=') != before.npos) change.taint.value = before.substr(before.find('=') + 1);
  if (colon != rest.npos) change.taint.effect = rest.substr(colon + 1);
  if (change.taint.key.empty() || (colon == rest.npos && !change.remove)) {
    return Invalid(fmt::format(
        "{}: expected NODE:key=value:Effect or NODE:key:Effect; with - at the end the taint is removed",
        text));
  }
  if (colon != rest.npos) BERTH_RETURN_IF_ERROR(CheckEffect(text, change.taint.effect));
  return change;
}

Expected<PodSelection> ParsePods(const std::string& text) {
  const std::vector<std::string> parts = Split(text, '/');
  PodSelection pods{.text = text, .ns = "", .owner = "", .name = parts.back()};
  const bool empty = std::ranges::any_of(parts, [](const std::string& part) { return part.empty(); });
  if (empty || parts.size() > 3)
    return Invalid(
        fmt::format("\"{}\": expected [NAMESPACE/]KIND/NAME such as shop/deployment/web, or a pod's "
                    "name",
                    text));
  if (parts.size() == 1) return pods;
  const std::string& word = parts[parts.size() - 2];
  const OwnerWord* known = FindWord(ToAsciiLower(word));
  if (known == nullptr && parts.size() == 2) {  // namespace and name of a pod
    pods.ns = word;
    return pods;
  }
  if (known == nullptr) {
    std::vector<std::string> words;
    for (const OwnerWord& one : kOwnerWords) words.emplace_back(one.word);
    const std::string nearest = Nearest(word, words);
    return Invalid(
        fmt::format("\"{}\": kind \"{}\": expected pod, deployment, statefulset, replicaset, job "
                    "or replicationcontroller{}",
                    text, word, nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }
  pods.owner = known->kind;
  if (parts.size() == 3) pods.ns = parts.front();
  return pods;
}

Expected<SetRequests> ParseRequests(const std::string& text) {
  const auto [pods, rest] = SplitNode(text);
  if (rest.empty())
    return Invalid(fmt::format("{}: expected PODS:resource=quantity,..., for example web:cpu=2", text));
  SetRequests change;
  BERTH_TRY(change.pods, ParsePods(pods));
  for (const std::string& part : Split(rest, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == part.npos)
      return Invalid(fmt::format("{}: \"{}\": expected resource=quantity, for example cpu=2", text, part));
    BERTH_RETURN_IF_ERROR(CheckResource(text, part, part.substr(0, equals)));
    const auto amount = api::Quantity::Parse(part.substr(equals + 1));
    if (!amount || amount->Compare({}) < 0) {
      return Invalid(
          fmt::format("{}: \"{}\": expected a quantity that is not negative, for example cpu=500m "
                      "or memory=4Gi",
                      text, part));
    }
    change.requests[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return change;
}

Expected<SetPriority> ParsePriority(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  SetPriority change;
  const char* const begin = text.data() + (colon == text.npos ? text.size() : colon + 1);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, change.priority);
  if (error != std::errc() || stop != end || begin == end)
    return Invalid(fmt::format("{}: expected PODS:PRIORITY, for example shop/deployment/web:1000", text));
  BERTH_TRY(change.pods, ParsePods(text.substr(0, colon)));
  return change;
}

}  // namespace berth::what_if
