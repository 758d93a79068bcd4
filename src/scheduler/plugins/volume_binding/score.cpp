// Scores nodes by the utilization of storage capacity.
#include <algorithm>
#include <cmath>

#include "base/wrap.hpp"
#include "scheduler/plugins/volume_binding/volume_binding.hpp"

namespace berth::plugins {
namespace {

using framework::Attempt;
using framework::Status;

// The requested size and the capacity of one storage class.
struct Share {
  std::string_view class_name;
  std::int64_t requested = 0;
  std::int64_t capacity = 0;
};

Share& ShareOf(std::vector<Share>& shares, std::string_view class_name) {
  const auto found = std::ranges::find(shares, class_name, &Share::class_name);
  return found != shares.end() ? *found : shares.emplace_back(Share{class_name});
}

std::int64_t RequestOf(const DelayedClaim& wanted) {
  return wanted.claim->storage ? wanted.claim->storage->Value() : 0;
}

bool IsTracked(const DelayedClaim& wanted, std::size_t row) {
  return !wanted.matched.Has(row) && wanted.capacity != nullptr && row < wanted.capacity->size() &&
         (*wanted.capacity)[row] != DelayedClaim::kUntracked;
}

// Uses existing volumes if there are any, else volumes to provision. For several claims to provision in one
// class, the capacity of the last one is used, because it is the same storage.
void Collect(const PodClaims& claims, std::size_t row, std::vector<Share>& shares) {
  shares.clear();
  for (const DelayedClaim& wanted : claims.delayed) {
    if (!wanted.matched.Has(row)) continue;
    const api::PersistentVolume& volume = *wanted.volumes[row]->object;
    Share& share = ShareOf(shares, volume.storage_class_name);
    share.requested = WrapAdd(share.requested, RequestOf(wanted));
    share.capacity = WrapAdd(share.capacity, volume.storage.Value());
  }
  if (!shares.empty()) return;
  for (const DelayedClaim& wanted : claims.delayed) {
    if (!IsTracked(wanted, row)) continue;
    const auto& class_name = wanted.claim->storage_class_name;
    Share& share = ShareOf(shares, class_name ? std::string_view(*class_name) : std::string_view());
    share.requested = WrapAdd(share.requested, RequestOf(wanted));
    share.capacity = (*wanted.capacity)[row];
  }
}

}  // namespace

Status VolumeBinding::PreScore(const Attempt&, const RowSet&) const {
  return scores_ ? Status{} : Status::Skip();
}

Status VolumeBinding::Score(const Attempt& attempt, const RowSet& feasible,
                            framework::ScoreColumn& scores) const {
  const ClaimsPtr* known = attempt.state().Read(key_);
  const bool matters =
      known != nullptr && std::ranges::any_of((*known)->delayed, [](const DelayedClaim& wanted) {
        return wanted.capacity != nullptr || !wanted.matched.Empty();
      });
  if (!scores_ || !matters) {
    scores.SetAll(0);
    return {};
  }
  constexpr std::int64_t kFull = 100;
  const auto values = scores.Overwrite();
  std::vector<Share> shares;
  feasible.ForEach([&](std::size_t row) {
    Collect(**known, row, shares);
    std::int64_t sum = 0;
    for (const Share& share : shares) {
      const bool full = share.capacity == 0 || share.requested > share.capacity;
      sum += OnShape(shape_, full ? kFull : WrapDiv(WrapMul(share.requested, kFull), share.capacity));
    }
    values[row] = shares.empty() ? 0
                                 : static_cast<std::int64_t>(std::round(static_cast<double>(sum) /
                                                                        static_cast<double>(shares.size())));
  });
  return {};
}

}  // namespace berth::plugins
