#include "scheduler/recording/latest_objects.hpp"

#include <utility>

namespace berth::recording {

void LatestObjects::Apply(const ports::ClusterChange& change) {
  using Change = std::pair<api::AnyObject, api::AnyObject>;
  const auto [before, after] =
      std::visit([](const auto& content) { return Change(content.before, content.after); }, change);
  ByKey& of_kind = by_kind_[change.index()];
  if (!after) {
    of_kind.erase(before.metadata().Key());
  } else {
    of_kind[after.metadata().Key()] = after;
  }
}

}  // namespace berth::recording
