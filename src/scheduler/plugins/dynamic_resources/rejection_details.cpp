// Why the devices of nodes do not suffice, for explanations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/plugins/dynamic_resources/dynamic_resources.hpp"

namespace berth::plugins {

using framework::RejectionDetail;

namespace {

// Of all searches for one explanation.
constexpr std::uint64_t kMostSteps = 2'000'000;

// "metadata.name In [n1]", terms separated by " or ".
std::string SelectorText(const api::NodeSelector& selector) {
  std::vector<std::string> terms;
  for (const api::NodeSelectorTerm& term : selector.terms) {
    std::vector<std::string> requirements;
    for (const auto* list : {&term.match_fields, &term.match_expressions}) {
      for (const api::NodeSelectorRequirement& requirement : *list) {
        requirements.push_back(fmt::format("{} {}", requirement.key, requirement.op));
        if (!requirement.values.empty())
          requirements.back() += fmt::format(" [{}]", fmt::join(requirement.values, ", "));
      }
    }
    terms.push_back(fmt::format("{}", fmt::join(requirements, " and ")));
  }
  return fmt::format("{}", fmt::join(terms, " or "));
}

// Why an allocated claim cannot be used on the row; empty: it can.
std::string UnavailableText(const DeviceClaim& claim, std::size_t row) {
  const std::string key = claim.object->metadata.Key();
  if (claim.lapsed) {
    const BindingConditions conditions = ConditionsOf(*claim.object);
    return conditions.state == BindingConditions::State::kFailed
               ? fmt::format("claim {}: {}", key, conditions.failure)
               : fmt::format("claim {}: its devices did not become ready in time", key);
  }
  if (!claim.available || claim.available->Has(row)) return "";
  return fmt::format("claim {}: its devices are allocated and usable only on nodes with {}", key,
                     SelectorText(*claim.object->allocation->node_selector));
}

}  // namespace

// One explanation for all rejected nodes.
class DynamicResources::Explanation {
 public:
  Explanation(const DynamicResources& plugin, const framework::Attempt& attempt, DevicesOfPod& pod)
      : plugin_(plugin), attempt_(attempt), pod_(pod), steps_left_(std::min(kMostSteps, pod.steps_left)) {}

  void Add(cluster::Row row) {
    std::vector<std::string> lines = LinesOf(row);
    if (lines.empty()) return;
    RowSet& rows = rows_[std::move(lines)];
    rows.Resize(attempt_.nodes().rows());
    rows.Add(row);
  }
  std::vector<RejectionDetail> Take() {
    std::vector<RejectionDetail> details;
    for (auto& [lines, rows] : rows_) details.push_back({lines, std::move(rows)});
    return details;
  }

 private:
  std::vector<std::string> LinesOf(cluster::Row row) {
    const DeviceClaim* special = pod_.special();
    if (special != nullptr && !special->object->requests.empty()) {
      return {fmt::format("claim {}: an earlier attempt created it; it is deleted before the next attempt",
                          special->object->metadata.Key())};
    }
    const OnNode on_node = plugin_.Consider(*attempt_.pod().pod, pod_, attempt_.nodes(), row);
    if (on_node.kind == OnNode::Kind::kCannotFit) return MissingResources(row);
    if (on_node.variant == nullptr) return {};
    if (std::vector<std::string> lines = LinesOfDevices(*on_node.variant, row); !lines.empty()) return lines;
    std::vector<std::string> lines;
    for (const DeviceClaim& claim : pod_.claims) {
      if (std::string text = UnavailableText(claim, row); !text.empty()) lines.push_back(std::move(text));
    }
    return lines;
  }

  std::vector<std::string> MissingResources(cluster::Row row) const {
    std::vector<std::string> lines;
    for (const RequestedResource& resource : pod_.resources) {
      if (!resource.class_name.empty() || attempt_.nodes().node(row).allocatable.contains(resource.name))
        continue;
      lines.push_back(
          fmt::format("neither a device plugin nor a DeviceClass provides {} on the node", resource.name));
    }
    return lines;
  }

  // Empty if the devices suffice.
  std::vector<std::string> LinesOfDevices(DevicesOfPod::Variant& variant, cluster::Row row) {
    if (!pod_.allocates) return {};
    const auto& node = plugin_.handle_.devices.inventory().Of(attempt_.nodes(), row);
    if (!node) return {};
    const auto answer = variant.answers.find(node->picture);
    if (answer == variant.answers.end() || answer->second.kind == Outcome::kAllocated) return {};
    const auto [known, is_new] = diagnoses_.try_emplace({&variant, node->picture});
    if (is_new) {
      auto diagnosis =
          plugin_.MakeAllocator(attempt_.state(), steps_left_).Diagnose(*node, pod_.Unallocated(variant));
      steps_left_ -= std::min(steps_left_, diagnosis.steps);
      known->second = std::move(diagnosis.lines);
    }
    return known->second;
  }

  using Outcome = devices::AllocationOutcome::Kind;
  const DynamicResources& plugin_;
  const framework::Attempt& attempt_;
  DevicesOfPod& pod_;
  std::uint64_t steps_left_;
  std::map<std::pair<const DevicesOfPod::Variant*, std::uint64_t>, std::vector<std::string>> diagnoses_;
  std::map<std::vector<std::string>, RowSet> rows_;
};

std::vector<RejectionDetail> DynamicResources::RejectionDetails(const framework::Attempt& attempt,
                                                                const RowSet& rejected) const {
  const DevicesOfPodPtr* known = attempt.state().Read(key_);
  if (known == nullptr) return {};
  Explanation explanation(*this, attempt, **known);
  rejected.ForEach([&](std::size_t row) { explanation.Add(static_cast<cluster::Row>(row)); });
  return explanation.Take();
}

}  // namespace berth::plugins
