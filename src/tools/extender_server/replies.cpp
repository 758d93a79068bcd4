#include "tools/extender_server/replies.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"

namespace berth::extender_server {
namespace {

template <class List, class Append>
void AppendList(std::string& out, const List& list, Append&& append) {
  out += '[';
  for (const auto& one : list) {
    if (out.back() != '[') out += ',';
    append(one);
  }
  out += ']';
}

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
    AppendList(out, verdict.passed, [&](std::size_t node) { out += request.objects[node]; });
    out += "},\"NodeNames\":null";
  } else if (verdict.error.empty()) {
    out += "null,\"NodeNames\":";
    AppendList(out, verdict.passed, [&](std::size_t node) { AppendGoJsonString(out, request.names[node]); });
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
  AppendList(out, scores, [&](std::int64_t score) {
    out += "{\"Host\":";
    AppendGoJsonString(out, request.names[node++]);
    out += fmt::format(",\"Score\":{}}}", score);
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
    AppendList(out, victims.uids, [&](const std::string& uid) {
      out += "{\"UID\":";
      AppendGoJsonString(out, uid);
      out += '}';
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
