#include "tools/extender_conformance/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/extenders/json.hpp"
#include "scheduler/extenders/replies.hpp"

namespace berth::extender_conformance {
namespace {

using extenders::Json;

constexpr int kOk = 200;
constexpr std::int64_t kHighestScore = 10;

constexpr std::string_view kFilterFails =
    "the pod's attempt fails with this error (ignorable: the extender is skipped)";
constexpr std::string_view kScoresLost = "all of its scores are ignored";
constexpr std::string_view kNoPreemption =
    "preemption fails in this attempt (ignorable: the extender is skipped)";

// The first names of a list, for messages.
std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

void DecodingFailed(const Error& error, std::string_view consequence, Finding& finding) {
  finding.Wrong(fmt::format("Go's decoder returns: {}; {}", error.message, consequence));
}

// Whether the first value of the response is an object with this key, ignoring case.
bool HasKey(const extenders::Reply& reply, std::string_view name) {
  const auto value = extenders::FirstValue(reply.body);
  bool has = false;
  if (value && value->kind() == Json::Kind::kObject)
    value->ForEachMember([&](std::string_view key, const Json&) { has |= extenders::IsKey(key, name); });
  return has;
}

void CheckFailedNodes(const extenders::FilterReply& reply, const std::set<std::string>& requested,
                      const std::set<std::string>& passed, Finding& finding) {
  std::vector<std::string> not_requested, both, silent;
  for (const auto* map : {&reply.failed, &reply.failed_and_unresolvable}) {
    for (const auto& [node, why] : *map) {
      if (!requested.contains(node)) not_requested.push_back(node);
      if (passed.contains(node)) both.push_back(node);
    }
  }
  for (const std::string& node : requested) {
    if (!passed.contains(node) && !reply.failed.contains(node) &&
        !reply.failed_and_unresolvable.contains(node))
      silent.push_back(node);
  }
  if (!not_requested.empty())
    finding.Warn(
        fmt::format("FailedNodes contains {}, which is not in the request: the pod's event mentions it "
                    "nevertheless",
                    Listed(not_requested)));
  if (!both.empty())
    finding.Warn(fmt::format("{}: both passed and rejected; treated as passed", Listed(both)));
  if (!silent.empty())
    finding.Warn(
        fmt::format("{} left out without a reason: rejected, but the pod's event contains no reason, and "
                    "preemption does not consider it",
                    Listed(silent)));
}

}  // namespace

std::string_view ResultName(Result result) {
  constexpr std::string_view kNames[] = {"pass", "warn", "wrong"};
  return kNames[static_cast<std::size_t>(result)];
}

void Finding::Add(Result worse, std::string what) {
  result = std::max(result, worse);
  messages.push_back(std::move(what));
}

bool Arrived(const ReplyOrError& received, std::string_view consequence, Finding& finding) {
  if (!received) {
    finding.Wrong(fmt::format("{}; {}", received.error().message, consequence));
    return false;
  }
  if (received->status != kOk) {
    std::string body = received->body.substr(0, 100);
    while (!body.empty() && (body.back() == '\n' || body.back() == '\r')) body.pop_back();
    finding.Wrong(fmt::format("status {}{}{}: only 200 is an answer; {}", received->status,
                              body.empty() ? "" : ", ", body, consequence));
    return false;
  }
  return true;
}

Finding CheckFilter(const ReplyOrError& received, const std::vector<std::string>& requested, bool whole) {
  Finding finding;
  if (!Arrived(received, kFilterFails, finding)) return finding;
  const auto reply = extenders::ReadFilterReply(*received);
  if (!reply) {
    DecodingFailed(reply.error(), kFilterFails, finding);
    return finding;
  }
  if (!reply->error.empty()) {
    finding.Warn(fmt::format("Error \"{}\": {}", reply->error, kFilterFails));
    return finding;
  }
  const bool by_name = !whole && reply->node_names;
  if (!by_name && !reply->nodes) {
    if (whole && reply->node_names) {
      finding.Wrong(
          "NodeNames without Nodes: whole nodes were sent (nodeCacheCapable: false), so names are ignored "
          "and every node is rejected");
    } else if (!requested.empty() && reply->failed.empty() && reply->failed_and_unresolvable.empty()) {
      finding.Wrong("neither NodeNames nor Nodes: every node is rejected, without a reason");
    }
  } else if (!whole && !by_name) {
    finding.Warn("Nodes where names were sent: accepted, but nodeCacheCapable: true requires NodeNames");
  }
  const std::set<std::string> known(requested.begin(), requested.end());
  const auto names = by_name ? *reply->node_names : reply->nodes.value_or(std::vector<std::string>());
  std::vector<std::string> unexpected;
  std::ranges::copy_if(names, std::back_inserter(unexpected),
                       [&](const std::string& name) { return !known.contains(name); });
  if (!unexpected.empty()) {
    finding.Wrong(fmt::format("{} passed, but not in the request: {}", Listed(unexpected),
                              by_name ? kFilterFails : "the pod may be bound to it nevertheless"));
  }
  CheckFailedNodes(*reply, known, {names.begin(), names.end()}, finding);
  return finding;
}

Finding CheckPrioritize(const ReplyOrError& received, const std::vector<std::string>& requested) {
  Finding finding;
  if (!Arrived(received, kScoresLost, finding)) return finding;
  const auto scores = extenders::ReadPrioritizeReply(*received);
  if (!scores) {
    DecodingFailed(scores.error(), kScoresLost, finding);
    return finding;
  }
  std::map<std::string, int> times;
  for (const std::string& node : requested) times[node] = 0;
  std::vector<std::string> unexpected, odd, twice, missing;
  for (const extenders::HostPriority& one : *scores) {
    if (one.score < 0 || one.score > kHighestScore) odd.push_back(fmt::format("{}={}", one.host, one.score));
    const auto found = times.find(one.host);
    if (found == times.end()) {
      unexpected.push_back(one.host);
    } else if (++found->second == 2) {
      twice.push_back(one.host);
    }
  }
  for (const auto& [node, count] : times) {
    if (count == 0) missing.push_back(node);
  }
  if (!odd.empty())
    finding.Warn(fmt::format("{}: outside of 0 to 10; used unchanged, times weight times 10", Listed(odd)));
  if (!unexpected.empty())
    finding.Warn(fmt::format("scores for {}, not in the request: ignored", Listed(unexpected)));
  if (!twice.empty()) finding.Warn(fmt::format("{} more than once: the scores are added up", Listed(twice)));
  if (!missing.empty()) finding.Warn(fmt::format("no score for {}: counts as 0", Listed(missing)));
  return finding;
}

Finding CheckPreempt(const ReplyOrError& received, const std::vector<RequestedVictims>& requested) {
  Finding finding;
  if (!Arrived(received, kNoPreemption, finding)) return finding;
  const auto reply = extenders::ReadPreemptReply(*received);
  if (!reply) {
    DecodingFailed(reply.error(), kNoPreemption, finding);
    return finding;
  }
  if (!HasKey(*received, "NodeNameToMetaVictims")) {
    finding.Wrong(fmt::format(
        "no NodeNameToMetaVictims{}: every node is dropped and no pod is preempted",
        HasKey(*received, "NodeNameToVictims") ? "; NodeNameToVictims is ignored, whatever was sent" : ""));
    return finding;
  }
  const auto value = extenders::FirstValue(received->body);
  value->ForEachMember([&](std::string_view key, const Json& map) {
    if (!extenders::IsKey(key, "NodeNameToMetaVictims") || map.kind() != Json::Kind::kObject) return;
    map.ForEachMember([&](std::string_view node, const Json& victims) {
      if (victims.is_null())
        finding.Wrong(fmt::format("null instead of the victims on {}: crashes kube-scheduler", node));
    });
  });
  for (const auto& [node, victims] : *reply) {
    const auto found = std::ranges::find(requested, node, &RequestedVictims::node);
    if (found == requested.end()) {
      finding.Wrong(fmt::format("node \"{}\" is not in the request; {}", node, kNoPreemption));
      continue;
    }
    if (victims.uids.empty())
      finding.Wrong(fmt::format("no victims on \"{}\": a node that must not be used must be left out; {}",
                                node, kNoPreemption));
    for (const std::string& uid : victims.uids) {
      if (std::ranges::find(found->uids, uid) == found->uids.end())
        finding.Wrong(
            fmt::format("victim \"{}\" is not in the request for \"{}\"; {} unless the pod runs there", uid,
                        node, kNoPreemption));
    }
  }
  return finding;
}

Finding CheckRefusedBinding(const ReplyOrError& received) {
  Finding finding;
  // Any error is correct here.
  if (!received || received->status != kOk) {
    finding.Warn(
        fmt::format("{}: the pod is requeued; a response with status 200 and an Error would "
                    "provide the reason",
                    received ? fmt::format("status {}", received->status) : received.error().message));
    return finding;
  }
  const auto error = extenders::ReadBindReply(*received);
  if (!error) {
    DecodingFailed(error.error(), "the pod is requeued, without a reason", finding);
  } else if (error->empty()) {
    finding.Wrong(
        "no Error, though there is no such pod: kube-scheduler would assume that the pod is bound and uses "
        "the node's resources");
  }
  return finding;
}

Finding CheckInvalidRequest(const ReplyOrError& received) {
  Finding finding;
  if (!received || received->status != kOk) return finding;
  const auto reply = extenders::ReadFilterReply(*received);
  if (!reply || !reply->error.empty()) return finding;
  finding.Warn("status 200 and no Error: a truncated request would be treated as successful");
  return finding;
}

}  // namespace berth::extender_conformance
