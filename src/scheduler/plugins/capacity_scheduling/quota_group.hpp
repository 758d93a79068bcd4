// Quota groups, as Koordinator's ElasticQuotas describe them by labels and annotations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/elastic_quota.hpp"
#include "kubernetes/api/pod.hpp"

namespace berth::plugins {

// Names of groups with a meaning of their own; the root has no object of its own here.
inline constexpr std::string_view kRootGroup = "koordinator-root-quota";
inline constexpr std::string_view kDefaultGroup = "koordinator-default-quota";
inline constexpr std::string_view kSystemGroup = "koordinator-system-quota";
// Annotations of quotas that ToQuotaGroup reads.
inline constexpr std::string_view kSharedWeight = "quota.scheduling.koordinator.sh/shared-weight";
inline constexpr std::string_view kNamespaces = "quota.scheduling.koordinator.sh/namespaces";

struct QuotaGroup {
  // Each level and each group above a pod costs time per attempt; all groups cost time per change.
  static constexpr std::size_t kDeepest = 16;  // levels below the root
  static constexpr std::size_t kMostGroups = 5000;
  static constexpr std::size_t kMostNamespaces = 1000;  // of one group

  using Amounts = std::map<std::string, std::int64_t, std::less<>>;  // milli-cores, bytes, and counts

  std::string ns, name;  // of the object; groups are identified by the name
  std::string parent;    // empty: the root
  bool is_parent = false;
  bool lends = true;
  // `max` lists the resources that the group limits; the others have the same resources. `min` is at most
  // `max`; amounts are at least 0. The weight is `max` if the annotation is missing, invalid or zero.
  Amounts min, max, weight;
  std::vector<std::string> namespaces;  // whose pods without a label belong to the group
  // Why no pod of the group may be scheduled, with the field; empty: nothing is wrong.
  std::string invalid;

  bool special() const { return name == kDefaultGroup || name == kSystemGroup; }
};

QuotaGroup ToQuotaGroup(const api::ElasticQuota& object);

// The problem of each group; empty: it has a place in the tree. The groups must not be special; they have the
// order of their precedence: of several with one name the first counts, and so of too many. A problem is also
// that of every group below.
std::vector<std::string> FindProblems(std::span<const QuotaGroup> groups);

// The value of the label that names a pod's group; empty: none.
std::string_view GroupLabelOf(const api::Pod& pod);
// False: the pod is not evicted for its group, and counts against the group's minimum.
bool IsPreemptible(const api::Pod& pod);
// What a pod requests by resource, in the units of QuotaGroup: kube-scheduler's amounts, each at most 2^46 so
// that sums over pods do not overflow.
QuotaGroup::Amounts GroupRequestOf(const api::Pod& pod);

}  // namespace berth::plugins
