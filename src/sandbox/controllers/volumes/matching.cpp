#include "sandbox/controllers/volumes/matching.hpp"

#include <algorithm>

#include "sandbox/controllers/fields.hpp"
#include "sandbox/controllers/node_selector.hpp"
#include "sandbox/store/selector.hpp"

namespace berth::sandbox {

std::optional<api::Quantity> Fit(const json::object& claim, const Object& volume, const json::object& spec,
                                 std::string_view class_name, const Object* node) {
  if (FindString(spec, "storageClassName") != class_name) return std::nullopt;
  const auto mode = [](const json::object& of) {
    const auto text = FindString(of, "volumeMode");
    return text.empty() ? std::string_view("Filesystem") : text;
  };
  if (mode(claim) != mode(spec)) return std::nullopt;
  const auto& offered = ArrayOrEmpty(spec, "accessModes");
  const bool modes = std::ranges::all_of(ArrayOrEmpty(claim, "accessModes"), [&](const json::value& wanted) {
    return std::ranges::find(offered, wanted) != offered.end();
  });
  if (!modes) return std::nullopt;
  if (const json::object* selector = FindObject(claim, "selector")) {
    const auto parsed = LabelSelector::FromObject(*selector);
    if (!parsed || !parsed->Matches(volume)) return std::nullopt;
  }
  const json::object* required = FindObject(spec, "nodeAffinity.required");
  if (node != nullptr && required != nullptr && !MatchesNodeSelector(*required, *node)) return std::nullopt;
  const auto wanted = api::Quantity::Parse(FindString(claim, "resources.requests.storage"));
  const auto size = api::Quantity::Parse(FindString(spec, "capacity.storage"));
  if (!size || (wanted && size->Compare(*wanted) < 0)) return std::nullopt;
  return *size;
}

json::object ZoneAffinity(const Object& node) {
  constexpr std::string_view kZone = "topology.kubernetes.io/zone";
  const std::string* zone = node.Label(kZone);
  if (zone == nullptr) return {};
  const json::object expression{
      {"key", kZone}, {"operator", "In"}, {"values", json::array{json::value(*zone)}}};
  const json::object term{{"matchExpressions", json::array{expression}}};
  return {{"required", json::object{{"nodeSelectorTerms", json::array{term}}}}};
}

}  // namespace berth::sandbox
