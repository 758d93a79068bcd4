#include "scheduler/framework/eviction_protection.hpp"

#include <algorithm>

namespace berth::framework {

void AddRejectors(std::span<const std::string_view> plugins, std::vector<std::string>& rejectors) {
  if (plugins.empty()) return;
  rejectors.insert(rejectors.end(), plugins.begin(), plugins.end());
  std::ranges::sort(rejectors);
  rejectors.erase(std::ranges::unique(rejectors).begin(), rejectors.end());
}

Status EvictionProtections::MayEvict(const Preemptor& preemptor, const api::Pod& victim) {
  return First([&](EvictionProtectionPlugin& plugin) { return plugin.MayEvict(preemptor, victim); });
}

Status EvictionProtections::MayEvictTogether(const Preemptor& preemptor,
                                             std::span<const api::Pod* const> victims) {
  return First([&](EvictionProtectionPlugin& plugin) { return plugin.MayEvictTogether(preemptor, victims); });
}

template <class Call>
Status EvictionProtections::First(Call&& call) {
  for (EvictionProtectionPlugin* plugin : plugins_) {
    Status status = call(*plugin);
    if (status.ok()) continue;
    status.plugin = plugin->Name();
    if (status.rejected() && std::ranges::find(rejectors_, status.plugin) == rejectors_.end())
      rejectors_.push_back(status.plugin);
    return status;
  }
  return {};
}

}  // namespace berth::framework
