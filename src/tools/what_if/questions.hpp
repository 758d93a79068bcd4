// Questions about a changed cluster.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/explain/explanation_text.hpp"
#include "tools/what_if/scenario.hpp"

namespace berth::what_if {

// Pods that wait, with the reason and verified advice. Valid as long as the scenario.
struct Waiting {
  std::vector<explain::PodsOfText> groups = {};  // those of an owner and a reason, the largest first
  std::size_t not_explained = 0;                 // pods beyond kMostExplained kinds
};
inline constexpr std::size_t kMostExplained = 50;

// At most kMostExplained kinds of pods are evaluated. `pods`: indices in followed() of pods that wait. No
// advice undoes a change of a node that was made; other nodes are advised instead.
Waiting ExplainWaiting(Scenario& scenario, const std::vector<std::size_t>& pods,
                       const explain::TextOptions& text);

struct HowMany {
  std::string pod;                                // "Deployment shop/web", "pod shop/web"
  std::size_t fits = 0;                           // replicas that were bound
  bool limited = false;                           // the limit of pods was reached: more may fit
  std::map<std::string, std::size_t> nodes = {};  // replicas by node
  Waiting next = {};                              // why the next one does not fit
};
// Adds replicas of the first pod of the manifest until one does not fit. They preempt no other pods. The
// scenario has the replicas afterwards. `progress` receives the number of replicas so far. Errors: the pod
// belongs to a pod group, or its volumes or claims do not exist.
Expected<HowMany> AskHowMany(Scenario& scenario, const std::string& file, const explain::TextOptions& text,
                             const std::function<void(std::size_t)>& progress);

}  // namespace berth::what_if
