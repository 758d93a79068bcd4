#include "scheduler/framework/eviction_protection.hpp"

#include <algorithm>

namespace berth::framework {

Status EvictionProtections::MayEvict(const Preemptor& preemptor, const api::Pod& victim) {
  return First([&](EvictionProtectionPlugin& plugin) { return plugin.MayEvict(preemptor, victim); });
}

Status EvictionProtections::MayEvictTogether(const Preemptor& preemptor,
                                             std::span<const api::Pod* const> victims) {
  return First([&](EvictionProtectionPlugin& plugin) { return plugin.MayEvictTogether(preemptor, victims); });
}

void EvictionProtections::AddRejectorsTo(std::vector<std::string>& rejectors) const {
  if (rejectors_.empty()) return;
  rejectors.insert(rejectors.end(), rejectors_.begin(), rejectors_.end());
  std::ranges::sort(rejectors);
  rejectors.erase(std::ranges::unique(rejectors).begin(), rejectors.end());
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
