#include "tools/replay/pod_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>

#include "base/json_text.hpp"
#include "kubernetes/api/encode.hpp"
#include "kubernetes/api/external_groups.hpp"
#include "tools/replay/results.hpp"

namespace berth::replay {
namespace {

// The version to write; null: none.
api::PodPtr PodAt(const Moment& moment, const api::PodPtr& received, const std::string& wanted) {
  if (!received->spec.node_name.empty()) return received;
  const std::string& uid = received->metadata.uid;
  if (moment.cluster.IsAssumed(uid)) return moment.cluster.FindPod(uid);
  const bool concerns = received->metadata.Key() == wanted || !received->status.nominated_node_name.empty();
  return concerns ? received : nullptr;
}

// The members of a spec of Coscheduling, Volcano and batch (kubernetes/api/external_groups.hpp).
void AppendGroupSpec(std::string& out, const api::PodGroup& group, std::string_view source) {
  const api::PodGroup::External& external = *group.external;
  JsonObject spec(out);
  spec.AddNumber(source == api::Job::kSource ? "parallelism" : "minMember", group.min_count());
  if (external.permit_timeout) spec.AddNumber("scheduleTimeoutSeconds", external.permit_timeout->count());
  if (!external.min_resources.empty()) {
    JsonObject resources(spec.Key("minResources"));
    for (const auto& [name, amount] : external.min_resources) resources.Add(name, amount.Canonical());
  }
  if (!external.task_minimums.empty()) {
    JsonObject tasks(spec.Key("minTaskMember"));
    for (const auto& minimum : external.task_minimums) tasks.AddNumber(minimum.task, minimum.min_count);
  }
}

// A group of another project in the form of that project.
void AppendExternalGroup(std::string& out, const api::PodGroup& group) {
  const std::string& qualified = group.metadata.name;
  const std::size_t slash = std::min(qualified.find('/'), qualified.size() - 1);
  const std::string_view source = std::string_view(qualified).substr(0, slash);
  const bool job = source == api::Job::kSource;
  const bool volcano = source == api::VolcanoPodGroup::kSource;
  JsonObject object(out);
  object.Add("kind", job ? "Job" : "PodGroup");
  object.Add("apiVersion", job       ? "batch/v1"
                           : volcano ? "scheduling.volcano.sh/v1beta1"
                                     : "scheduling.x-k8s.io/v1alpha1");
  JsonObject(object.Key("metadata"))
      .Add("name", std::string_view(qualified).substr(slash + 1))
      .Add("namespace", group.metadata.ns.str())
      .AddUnlessEmpty("uid", group.metadata.uid);
  AppendGroupSpec(object.Key("spec"), group, source);
}

template <class T>
void AppendInAnyForm(std::string& out, const T& object) {
  if constexpr (std::is_same_v<T, api::PodGroup>) {
    if (object.external != nullptr) return AppendExternalGroup(out, object);
  }
  api::AppendJson(out, object);
}

// Of an attempt as the recorder writes it.
std::string ReasonOf(const boost::json::object& attempt) {
  std::string reason = TextOf(attempt, "message");
  const auto add = [&](std::string_view more) {
    if (!reason.empty()) reason += "; ";
    reason += more;
  };
  if (const std::string node = TextOf(attempt, "node"); !node.empty()) add(fmt::format("node {}", node));
  const std::string nominated = TextOf(attempt, "nominated");
  if (nominated.empty()) return reason;
  add(fmt::format("nominated for node {}", nominated));
  const boost::json::value* victims = attempt.if_contains("victims");
  if (victims == nullptr || !victims->is_array()) return reason;
  std::string list;
  for (const boost::json::value& victim : victims->get_array()) {
    if (!victim.is_string()) continue;
    list += list.empty() ? ", which evicts " : ", ";
    list += victim.get_string();
  }
  return reason + list;
}

}  // namespace

Expected<FoundAttempt> FindAttempt(Steps& steps, const std::string& pod, std::uint64_t number) {
  FoundAttempt found;
  // Also after damage.
  const auto next = [&] {
    const Steps::Step* step = steps.Next();
    while (step == nullptr && !steps.damage().empty() && steps.Resume()) step = steps.Next();
    return step;
  };
  while (const Steps::Step* step = next()) {
    const boost::json::value* attempts = step->body->if_contains("attempts");
    if (attempts == nullptr) continue;
    for (const boost::json::value& attempt : attempts->get_array()) {
      if (!attempt.is_object() || TextOf(attempt.get_object(), "pod") != pod) continue;
      ++found.count;
      if (number != 0 && found.count != number) continue;
      found.line = step->line;
      found.number = found.count;
      found.result = TextOf(attempt.get_object(), "result");
      found.reason = ReasonOf(attempt.get_object());
    }
  }
  if (found.count == 0) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("pod {}: the recording has no scheduling attempt of it{}", pod,
                            steps.damage().empty() ? "" : fmt::format(", up to where {}", steps.damage())));
  }
  if (found.line == 0) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("attempt {}: expected a number from 1 to {}, the attempts of pod {}", number,
                            found.count, pod));
  }
  return found;
}

Expected<std::size_t> WriteCluster(const Moment& moment, const std::string& pod, std::FILE* out) {
  std::size_t count = 0;
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  const auto write = [&](const auto& object) {
    text += count++ == 0 ? "\n" : ",\n";
    api::AppendJson(text, object);
    std::fwrite(text.data(), 1, text.size(), out);
    text.clear();
  };
  moment.objects.ForEach([&]<class T>(const std::shared_ptr<const T>& object) {
    if constexpr (std::is_same_v<T, api::Pod>) {
      if (const api::PodPtr at = PodAt(moment, object, pod)) write(*at);
    } else {
      text += count++ == 0 ? "\n" : ",\n";
      AppendInAnyForm(text, *object);
      std::fwrite(text.data(), 1, text.size(), out);
      text.clear();
    }
  });
  text += "\n]}\n";
  std::fwrite(text.data(), 1, text.size(), out);
  if (std::fflush(out) != 0 || std::ferror(out) != 0)
    return Fail(ErrorCode::kUnavailable, fmt::format("standard output: {}", std::strerror(errno)));
  return count;
}

}  // namespace berth::replay
