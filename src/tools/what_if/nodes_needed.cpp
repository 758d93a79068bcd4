#include "tools/what_if/nodes_needed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/files.hpp"
#include "base/invisible_characters.hpp"
#include "base/yaml.hpp"
#include "base/yaml_fields.hpp"
#include "kubernetes/api/requests.hpp"

namespace berth::what_if {
namespace {

constexpr std::size_t kMostShapes = 20;
constexpr std::size_t kMostAdded = 20'000;  // nodes of one shape

// Numbers of nodes by shape.
using Counts = std::vector<std::size_t>;

class Search {
 public:
  Search(const MakeScenario& make, const std::vector<NodeShape>& shapes,
         const std::function<void(const std::string&)>& progress)
      : make_(make), shapes_(shapes), progress_(progress) {}

  Expected<NodeMix> Run() {
    Counts counts(shapes_.size());
    BERTH_TRY(const std::size_t before, WaitingWith(counts));
    BERTH_RETURN_IF_ERROR(Cover(counts));
    BERTH_TRY(target_, WaitingWith(counts));
    if (shapes_.size() > 1) BERTH_RETURN_IF_ERROR(Exchange(counts));
    BERTH_RETURN_IF_ERROR(LeaveOut(counts));
    NodeMix mix{.placed = before - target_, .waiting = target_};
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (counts[i] == 0) continue;
      mix.parts.push_back({shapes_[i].name, counts[i], shapes_[i].price});
    }
    mix.price = PriceOf(counts);
    return mix;
  }

 private:
  double PriceOf(const Counts& counts) const {
    double price = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
      price += static_cast<double>(counts[i]) * shapes_[i].price;
    return price;
  }

  Expected<api::NodePtr> NodeOf(const Scenario& scenario, std::size_t shape) {
    return scenario.ModelOf(shapes_[shape].like, shapes_[shape].file);
  }

  Expected<std::unique_ptr<Scenario>> ScenarioWith(const Counts& counts) {
    BERTH_TRY(auto scenario, make_());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      BERTH_TRY(const api::NodePtr node, NodeOf(*scenario, i));
      BERTH_RETURN_IF_ERROR(scenario->CopyNode(*node, counts[i], nullptr));
    }
    scenario->Settle();
    return scenario;
  }

  Expected<std::size_t> WaitingWith(const Counts& counts) {
    if (const auto known = known_.find(counts); known != known_.end()) return known->second;
    std::size_t nodes = 0;
    for (const std::size_t count : counts) nodes += count;
    progress_(fmt::format("evaluating {} more nodes ({} evaluations)", nodes, known_.size()));
    BERTH_TRY(const auto scenario, ScenarioWith(counts));
    return known_[counts] = scenario->Waiting().size();
  }

  // Adds the shape with the lowest price per placed pod, until no shape places another pod.
  Expected<void> Cover(Counts& counts) {
    for (;;) {
      BERTH_TRY(const std::size_t waiting, WaitingWith(counts));
      if (waiting == 0) return {};
      std::optional<Counts> best;
      double best_price = 0;
      for (std::size_t i = 0; i < shapes_.size(); ++i) {
        BERTH_TRY(const Counts more, Fill(counts, i));
        if (more == counts) continue;
        BERTH_TRY(const std::size_t left, WaitingWith(more));
        if (left >= waiting) continue;
        const double price = (PriceOf(more) - PriceOf(counts)) / static_cast<double>(waiting - left);
        if (best && price >= best_price) continue;
        best = more;
        best_price = price;
      }
      if (!best) return {};
      counts = *best;
    }
  }

  // Adds as many nodes of the shape as place further pods.
  Expected<Counts> Fill(Counts counts, std::size_t shape) {
    BERTH_TRY(const auto scenario, ScenarioWith(counts));
    BERTH_TRY(const api::NodePtr node, NodeOf(*scenario, shape));
    std::vector<std::string> added;
    std::size_t waiting = scenario->Waiting().size();
    while (waiting > 0 && added.size() < kMostAdded) {
      BERTH_TRY(const auto names, scenario->CopyNode(*node, Estimate(*scenario, *node), nullptr));
      added.insert(added.end(), names.begin(), names.end());
      scenario->Settle();
      const std::size_t left = scenario->Waiting().size();
      if (left >= waiting) break;
      waiting = left;
    }
    const auto used = static_cast<std::size_t>(std::ranges::count_if(
        added, [&](const std::string& name) { return HasFollowedPod(*scenario, name); }));
    const std::size_t all = counts[shape] + added.size();
    counts[shape] += used;
    BERTH_TRY(const std::size_t left, WaitingWith(counts));
    if (left > waiting) counts[shape] = all;  // nodes without pods count, too, for example for spreading
    return Fewest(counts, shape, waiting);
  }

  static bool HasFollowedPod(const Scenario& scenario, const std::string& node) {
    return std::ranges::any_of(scenario.followed(),
                               [&](const FollowedPod& pod) { return !pod.gone && pod.node == node; });
  }

  // The smallest number of nodes of the shape with which at most `target` pods wait; `counts` suffices.
  Expected<Counts> Fewest(Counts counts, std::size_t shape, std::size_t target) {
    std::size_t enough = counts[shape];
    std::size_t too_few = 0;  // not evaluated
    bool first = true;
    while (enough > too_few) {
      // Mostly the number is the smallest one already.
      const std::size_t middle = first ? enough - 1 : too_few + (enough - too_few) / 2;
      first = false;
      counts[shape] = middle;
      BERTH_TRY(const std::size_t left, WaitingWith(counts));
      if (left <= target) {
        enough = middle;
      } else {
        too_few = middle + 1;
      }
    }
    counts[shape] = enough;
    return counts;
  }

  // The number of nodes for the resource that needs the most of them; at least one.
  static std::size_t Estimate(const Scenario& scenario, const api::Node& node) {
    api::ResourceList sum;
    for (const std::size_t index : scenario.Waiting()) {
      for (const auto& [name, amount] : api::PodRequests(*scenario.followed()[index].pod, {}))
        sum[name] += amount;
    }
    double most = 1;
    for (const auto& [name, amount] : std::as_const(sum)) {
      if (!node.allocatable.contains(name)) continue;
      const auto offered = static_cast<double>(node.allocatable.at(name).MilliValue());
      if (offered > 0) most = std::max(most, std::ceil(static_cast<double>(amount.MilliValue()) / offered));
    }
    return static_cast<std::size_t>(std::min(most, 1000.0));
  }

  // Exchanges up to three nodes of a shape for a cheaper number of nodes of another one.
  Expected<void> Exchange(Counts& counts) {
    constexpr std::size_t kMostExchanged = 3;
    for (std::size_t from = 0; from < counts.size(); ++from) {
      for (std::size_t to = 0; to < counts.size(); ++to) {
        for (std::size_t nodes = 1; nodes <= kMostExchanged && nodes <= counts[from] && from != to; ++nodes) {
          Counts fewer = counts;
          fewer[from] -= nodes;
          BERTH_TRY(const Counts other, Fill(fewer, to));
          BERTH_TRY(const std::size_t left, WaitingWith(other));
          if (left > target_ || PriceOf(other) >= PriceOf(counts)) continue;
          counts = other;
          nodes = 0;
        }
      }
    }
    return {};
  }

  // Leaves out every node without which the same pods are placed, the most expensive ones first.
  Expected<void> LeaveOut(Counts& counts) {
    std::vector<std::size_t> order(counts.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return shapes_[i].price; });
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t i : order) {
        if (counts[i] == 0) continue;
        Counts fewer = counts;
        --fewer[i];
        BERTH_TRY(const std::size_t left, WaitingWith(fewer));
        if (left > target_) continue;
        counts = fewer;
        changed = true;
      }
    }
    return {};
  }

  const MakeScenario& make_;
  const std::vector<NodeShape>& shapes_;
  const std::function<void(const std::string&)>& progress_;
  std::map<Counts, std::size_t> known_;  // waiting pods
  std::size_t target_ = 0;               // waiting pods with the nodes of Cover
};

}  // namespace

Expected<std::vector<NodeShape>> ReadPrices(const std::string& file) {
  BERTH_TRY(const std::string text, ReadWholeFile(file));
  const auto root = yaml::ParseValue(text);
  if (!root) return std::unexpected(Error(root.error()).In(file));
  yaml::FieldErrors errors;
  yaml::Fields fields(*root, "", errors);
  std::vector<NodeShape> shapes;
  fields.ForEach("shapes", [&](const yaml::Value& value, const std::string& path) {
    yaml::Fields shape(value, path, errors);
    NodeShape one{.name = shape.Text("name"), .like = shape.Text("like"), .file = shape.Text("file")};
    one.price = shape.Real("price", 0, 1e9, 0);
    if (one.name.empty()) shape.Add("name", "required");
    if (!shape.Has("price")) shape.Add("price", "required");
    if (one.like.empty() == one.file.empty())
      errors.Add(path, "expected exactly one of like (a node of the cluster) and file (a file with a Node)");
    shape.Finish();
    shapes.push_back(std::move(one));
  });
  fields.Finish();
  if (shapes.size() > kMostShapes)
    fields.Add("shapes", fmt::format("expected at most {}, got {}", kMostShapes, shapes.size()));
  if (shapes.empty() && errors.empty())
    fields.Add("shapes", "required: a list of name, like or file, and price");
  if (!errors.empty()) return std::unexpected(WithInvisibleCharacter(errors.ToError(), text).In(file));
  return shapes;
}

Expected<NodeMix> FindNodesNeeded(const MakeScenario& make, const std::vector<NodeShape>& shapes,
                                  const std::function<void(const std::string&)>& progress) {
  return Search(make, shapes, progress).Run();
}

}  // namespace berth::what_if
