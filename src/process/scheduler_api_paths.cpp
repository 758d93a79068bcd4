#include "process/scheduler_api_paths.hpp"

#include <vector>

namespace berth::process {
namespace {

using Kind = SchedulerApiPath::Kind;

// Without empty parts; an empty list if there is one.
std::vector<std::string_view> PartsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty()) return {};
    parts.push_back(part);
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

SchedulerApiPath SchedulerApiPathOf(const service::Target& target) {
  const std::vector<std::string_view> parts =
      PartsOf(std::string_view(target.path).substr(kSchedulerApiRoot.size()));
  if (parts.empty()) return {};
  const std::string_view first = parts.front();
  if (parts.size() == 1) {
    if (first == "status") return {Kind::kStatus};
    if (first == "queue") return {Kind::kQueue};
    if (first == "plugins") return {Kind::kPlugins};
    if (first == "preemptions") return {Kind::kPreemptions};
    if (first == "nodes") return {Kind::kNodes};
    if (first == "config") return {Kind::kConfig};
    return {};
  }
  if (first == "nodes" && parts.size() == 2) return {Kind::kNode, "", std::string(parts[1])};
  if (first == "config" && parts.size() == 2) {
    if (parts[1] == "reload") return {Kind::kReload};
    if (parts[1] == "rollback") return {Kind::kRollBack};
    return {};
  }
  if (first != "pods" || parts.size() > 4) return {};
  if (parts.size() == 3) return {Kind::kPod, std::string(parts[1]), std::string(parts[2])};
  if (parts.size() == 4 && parts[3] == "explanation")
    return {Kind::kExplanation, std::string(parts[1]), std::string(parts[2])};
  if (parts.size() == 4 && parts[3] == "retry")
    return {Kind::kRetry, std::string(parts[1]), std::string(parts[2])};
  return {};
}

std::optional<service::Attributes> SufficesForSchedulerApi(const service::Target& target) {
  const std::string_view view = target.Get("view");
  if (!view.empty() && view != "summary") return std::nullopt;
  const SchedulerApiPath path = SchedulerApiPathOf(target);
  if (path.kind == Kind::kPod || path.kind == Kind::kExplanation)
    return service::Attributes{"get", "", service::Attributes::Resource{"pods", path.ns, path.name}};
  if (path.kind == Kind::kNode)
    return service::Attributes{"get", "", service::Attributes::Resource{"nodes", "", path.name}};
  if (path.kind == Kind::kNodes)
    return service::Attributes{"list", "", service::Attributes::Resource{"nodes", "", ""}};
  return std::nullopt;
}

}  // namespace berth::process
