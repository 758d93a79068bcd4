// The paths of the scheduler's API and the access that they need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "service/auth/reviews.hpp"
#include "service/target.hpp"

namespace berth::process {

inline constexpr std::string_view kSchedulerApiRoot = "/apis/berth.dev/v1alpha1/";
// The root of the paths whose access is reviewed. Kubernetes' default role system:discovery grants every
// authenticated user access to /apis/*, which is meant for lists of resources.
inline constexpr std::string_view kSchedulerApiReviewedRoot = "/berth.dev/v1alpha1/";

struct SchedulerApiPath {
  enum class Kind : std::uint8_t {
    kUnknown,
    kStatus,
    kQueue,
    kPlugins,
    kPreemptions,
    kPod,
    kExplanation,
    kRetry,  // POST
    kNode,
    kNodes,
    kConfig,
    kReload,   // POST
    kRollBack  // POST
  };
  Kind kind = Kind::kUnknown;
  std::string ns{}, name{};  // of the pod or of the node
};

// `target` is below kSchedulerApiRoot.
SchedulerApiPath SchedulerApiPathOf(const service::Target& target);

// Who may get a pod may read its summaries: they show what the pod's events show, and no names of nodes and
// of other pods. Who may get a node may read its summary, and who may list nodes the list of them: they name
// no pods. Everything else needs access to the path below kSchedulerApiReviewedRoot.
std::optional<service::Attributes> SufficesForSchedulerApi(const service::Target& target);

}  // namespace berth::process
