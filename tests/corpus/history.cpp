#include "history.hpp"

#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/random.hpp"
#include "kubernetes/api/dump.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cluster/prepare_pod.hpp"

namespace berth {
namespace {

class History {
 public:
  History(assembly::Engine& engine, const std::string& dump, std::uint64_t seed)
      : engine_(engine), cache_(engine.cache()), random_(seed) {
    auto documents = api::SplitDocuments(dump);
    if (!documents) throw std::runtime_error(documents.error().message);
    for (const api::Document& document : documents->objects) static_cast<void>(dump_.Add(document));
    for (const auto& [key, pod] : dump_.Of<api::Pod>()) {
      if (!pod->terminal()) pods_.push_back(pod);
    }
    nodes_leave_ = OneIn(2);
  }

  void Live() {
    for (const auto& [name, node] : dump_.Of<api::Node>()) cache_.AddNode(Changed(*node));
    for (int step = 0; step < 120; ++step) {
      Step();
      if (OneIn(2)) JudgeSome();
    }
    for (const std::string& uid : other_pods_) cache_.RemovePod(uid);
    if (!nodes_leave_) return;
    for (const auto& [name, node] : dump_.Of<api::Node>()) cache_.RemoveNode(name);
  }

 private:
  bool OneIn(std::size_t n) { return random_.Below(n) == 0; }
  template <class List>
  const auto& AnyOf(const List& list) {
    return list[random_.Below(list.size())];
  }

  void Step() {
    switch (random_.Below(7)) {
      case 0:
        return ChangeObjects();
      case 1:
        return ChangeNode();
      case 2:
        return RemovePod();
      default:
        return AddPod();
    }
  }

  // Nodes that stay keep their zone: it determines the node order, which is visible in messages.
  api::NodePtr Changed(const api::Node& node) {
    auto changed = std::make_shared<api::Node>(node);
    if (nodes_leave_ && OneIn(2)) changed->metadata.labels = {};
    if (nodes_leave_ && OneIn(2))
      changed->metadata.labels.Set("topology.kubernetes.io/zone", OneIn(2) ? "a" : "");
    if (OneIn(2))
      changed->metadata.labels.Set("kubernetes.io/hostname", "h" + std::to_string(random_.Below(5)));
    if (OneIn(3)) changed->taints.clear();
    if (OneIn(4)) changed->unschedulable = !changed->unschedulable;
    return changed;
  }
  void ChangeNode() {
    if (dump_.Of<api::Node>().empty()) return;
    auto at = dump_.Of<api::Node>().begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.Below(dump_.Of<api::Node>().size())));
    if (nodes_leave_ && OneIn(3)) return cache_.RemoveNode(at->second->metadata.name);
    cache_.AddNode(Changed(*at->second));
  }

  // Adds a pod on some node with the properties of a pod of the dump.
  void AddPod() {
    if (pods_.empty() || dump_.Of<api::Node>().empty()) return;
    const api::PodPtr& original = AnyOf(pods_);
    const api::PodPtr& look = AnyOf(pods_);
    auto pod = std::make_shared<api::Pod>(*original);
    // Used ports are a set: removing the first of two pods with the same port removes the entry, in
    // kube-scheduler too.
    for (api::Container& container : pod->spec.containers) container.ports.clear();
    for (api::Container& container : pod->spec.init_containers) container.ports.clear();
    if (OneIn(2)) pod->metadata.labels = look->metadata.labels;
    if (OneIn(3)) pod->metadata.ns = look->metadata.ns;
    if (OneIn(3)) pod->spec.pod_affinity = look->spec.pod_affinity;
    if (OneIn(3)) pod->spec.pod_anti_affinity = look->spec.pod_anti_affinity;
    if (OneIn(3)) pod->spec.volumes = look->spec.volumes;
    if (OneIn(6)) pod->metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
    const bool stays = !original->spec.node_name.empty() && OneIn(2);
    auto node = dump_.Of<api::Node>().begin();
    std::advance(node, static_cast<std::ptrdiff_t>(random_.Below(dump_.Of<api::Node>().size())));
    if (!stays || OneIn(2)) pod->spec.node_name = node->second->metadata.name;
    if (!stays) {
      pod->metadata.uid = "stranger-" + std::to_string(random_.Below(40));
      other_pods_.insert(pod->metadata.uid);
    }
    cache_.AddPod(std::move(pod));
  }
  void RemovePod() {
    if (!pods_.empty()) cache_.RemovePod(AnyOf(pods_)->metadata.uid);
    if (!other_pods_.empty()) cache_.RemovePod(*other_pods_.begin());
  }

  // Each object is added unchanged, or with the content of another one of its kind, or not at all.
  void ChangeObjects() {
    api::AllKinds::ForEach([&]<class T>() {
      const auto& all = dump_.Of<T>();
      if constexpr (!std::is_same_v<T, api::Pod> && !std::is_same_v<T, api::Node>) {
        for (const auto& [key, object] : all) {
          const auto known = cache_.objects().Of<T>().Find(object->metadata.ns, object->metadata.name);
          auto changed = std::make_shared<T>(*object);
          if (OneIn(3)) {
            auto other = all.begin();
            std::advance(other, static_cast<std::ptrdiff_t>(random_.Below(all.size())));
            *changed = *other->second;
            changed->metadata.name = object->metadata.name;
            changed->metadata.ns = object->metadata.ns;
            // Two claims with one UID do not exist. Claims may be replaced by others of the same name.
            if constexpr (std::is_same_v<T, api::ResourceClaim>) {
              changed->metadata.uid = object->metadata.uid;
              if (OneIn(2)) changed->metadata.uid += "-of-an-earlier-claim";
            }
          }
          if (known != nullptr && OneIn(4)) {
            cache_.objects().Apply(ports::Change<T>{known, nullptr});
          } else {
            cache_.objects().Apply(ports::Change<T>{known, std::move(changed)});
          }
        }
      }
    });
  }

  // Evaluates some pods repeatedly, so that cached results must follow every change.
  void JudgeSome() {
    if (pods_.empty()) return;
    for (const std::size_t among : {pods_.size(), std::min<std::size_t>(pods_.size(), 2)})
      Evaluate(pods_[random_.Below(among)],
               *engine_.profiles()[random_.Below(OneIn(4) ? engine_.profiles().size() : 1)]);
  }
  // With and without the equivalence cache.
  void Evaluate(const api::PodPtr& pod, const runtime::Profile& profile) {
    const cluster::PodInfo info = cluster::PreparePod(pod, engine_.symbols());
    const algorithm::ClusterView view{cache_.nodes(), cache_.VisitingOrder(),
                                      algorithm::NamesOf(cache_.nodes())};
    const algorithm::ScheduleResult cached = cached_.Schedule(info, profile, view, {});
    const algorithm::ScheduleResult uncached = uncached_.Schedule(info, profile, view, {});
    const std::string expected = record::ToJson(*uncached.record, engine_.reasons());
    const std::string got = record::ToJson(*cached.record, engine_.reasons());
    if (got != expected || cached.row != uncached.row || cached.rejectors != uncached.rejectors)
      throw std::runtime_error("the cached decision differs:\n" + got + "\n" + expected);
  }

  assembly::Engine& engine_;
  cluster::ClusterState& cache_;
  Random random_;
  algorithm::SchedulingAlgorithm cached_{{.sample = false}, engine_.reasons(), engine_.extenders()};
  algorithm::SchedulingAlgorithm uncached_{
      {.sample = false, .equivalence_cache_bytes = 0}, engine_.reasons(), engine_.extenders()};
  api::Dump dump_;
  std::vector<api::PodPtr> pods_;
  std::set<std::string> other_pods_;
  bool nodes_leave_ = false;
};

}  // namespace

void LiveThrough(assembly::Engine& engine, const std::string& dump, std::uint64_t seed) {
  History(engine, dump, seed).Live();
}

}  // namespace berth
