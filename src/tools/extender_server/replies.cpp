#include "tools/extender_server/replies.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"

namespace berth::extender_server {
namespace {

void AppendFailed(std::string& out, const NodesRequest& request, const FilterVerdict& verdict,
                  bool unresolvable) {
  out += '{';
  for (const FilterVerdict::Failed& failed : verdict.failed) {
    if (failed.unresolvable != unresolvable) continue;
    if (out.back() != '{') out += ',';
    AppendGoJsonString(out, request.names[failed.node]);
    out += ':';
    AppendGoJsonString(out, failed.reason);
  }
  out += '}';
}

}  // namespace

std::string FilterResponse(const NodesRequest& request, const FilterVerdict& verdict) {
  std::string out = "{\"Nodes\":";
  if (request.whole && verdict.error.empty()) {
    std::size_t size = 1024;
    for (const std::size_t node : verdict.passed) size += request.objects[node].size() + 1;
    out.reserve(size);
    out += "{\"metadata\":{},\"items\":";
    AppendJsonList(out, verdict.passed,
                   [&](std::string& list, std::size_t node) { list += request.objects[node]; });
    out += "},\"NodeNames\":null";
  } else if (verdict.error.empty()) {
    out += "null,\"NodeNames\":";
    AppendJsonList(out, verdict.passed, [&](std::string& list, std::size_t node) {
      AppendGoJsonString(list, request.names[node]);
    });
  } else {
    out += "null,\"NodeNames\":null";
  }
  out += ",\"FailedNodes\":";
  AppendFailed(out, request, verdict, false);
  out += ",\"FailedAndUnresolvableNodes\":";
  AppendFailed(out, request, verdict, true);
  out += ",\"Error\":";
  AppendGoJsonString(out, verdict.error);
  return out += '}';
}

std::string PrioritizeResponse(const NodesRequest& request, std::span<const std::int64_t> scores) {
  std::string out;
  std::size_t node = 0;
  AppendJsonList(out, scores, [&](std::string& list, std::int64_t score) {
    list += "{\"Host\":";
    AppendGoJsonString(list, request.names[node++]);
    list += fmt::format(",\"Score\":{}}}", score);
  });
  return out;
}

std::string PreemptResponse(const PreemptRequest& request, std::span<const std::size_t> kept) {
  std::string out = "{\"NodeNameToMetaVictims\":{";
  for (const std::size_t index : kept) {
    const NodeVictims& victims = request.nodes[index];
    if (out.back() != '{') out += ',';
    AppendGoJsonString(out, victims.node);
    out += ":{\"Pods\":";
    AppendJsonList(out, victims.uids, [](std::string& list, const std::string& uid) {
      list += "{\"UID\":";
      AppendGoJsonString(list, uid);
      list += '}';
    });
    out += fmt::format(",\"NumPDBViolations\":{}}}", victims.violations);
  }
  return out += "}}";
}

std::string BindResponse(std::string_view error) {
  std::string out = "{\"Error\":";
  AppendGoJsonString(out, error);
  return out += '}';
}

}  // namespace berth::extender_server
