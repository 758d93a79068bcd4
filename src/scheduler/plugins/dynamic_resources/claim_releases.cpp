#include "scheduler/plugins/dynamic_resources/claim_releases.hpp"

#include "kubernetes/api/resource_version.hpp"

namespace berth::plugins {
namespace {

constexpr Duration kUntilRepeated = std::chrono::seconds(1);
constexpr Duration kBetweenAttempts = std::chrono::milliseconds(50);

}  // namespace

void ClaimReleases::Start(const api::ObjectMeta& claim, const std::string& pod_uid) {
  const Release release{claim.ns.str(), claim.name, claim.uid, pod_uid};
  ++pending_[KeyOf(claim.uid, pod_uid)];
  Send(release);
}

void ClaimReleases::Send(const Release& release) {
  handle_.api.ChangeClaim(
      {release.ns, release.name, {}, ports::ClaimChange::Release{release.claim_uid, release.pod_uid}},
      [weak = weak_from_this(), post = handle_.loop.poster(), release](Expected<std::string> version) {
        post([weak, release, version = std::move(version)] {
          if (const auto self = weak.lock()) self->OnDone(release, version);
        });
      });
}

void ClaimReleases::OnDone(const Release& release, const Expected<std::string>& version) {
  if (version) return AwaitDelivery(release, *version);
  switch (version.error().code) {
    case ErrorCode::kAmbiguous:
    case ErrorCode::kTimeout:
    case ErrorCode::kInternal:
    case ErrorCode::kUnavailable:
      // The removal may take effect, or have taken effect. A removal of what is gone has none.
      handle_.loop.PostAfter(kUntilRepeated, [weak = weak_from_this(), release] {
        if (const auto self = weak.lock()) self->Send(release);
      });
      return;
    default:
      End(release);
  }
}

void ClaimReleases::AwaitDelivery(const Release& release, const std::string& version) {
  const auto claim = handle_.objects.Of<api::ResourceClaim>().Find(release.ns, release.name);
  if (claim == nullptr || claim->metadata.uid != release.claim_uid ||
      api::VersionNumber(claim->metadata.resource_version) >= api::VersionNumber(version)) {
    return End(release);
  }
  handle_.loop.PostAfter(kBetweenAttempts, [weak = weak_from_this(), release, version] {
    if (const auto self = weak.lock()) self->AwaitDelivery(release, version);
  });
}

void ClaimReleases::End(const Release& release) {
  const auto found = pending_.find(KeyOf(release.claim_uid, release.pod_uid));
  if (found != pending_.end() && --found->second == 0) pending_.erase(found);
}

}  // namespace berth::plugins
