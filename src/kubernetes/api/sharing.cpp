#include "kubernetes/api/sharing.hpp"

#include <boost/unordered/unordered_flat_set.hpp>
#include <concepts>
#include <type_traits>

#include "base/expired_entry_purger.hpp"
#include "base/seeded_hash.hpp"

namespace berth::api {
namespace {

// A hash over all members that == compares. A missing member causes only collisions, not errors.
class Digest {
 public:
  template <class T>
  explicit Digest(const T& value) {
    Add(value);
  }
  std::size_t hash() const { return state_; }
  // About the memory that the value takes on the heap.
  std::size_t bytes() const { return bytes_; }

 private:
  template <class... T>
  void All(const T&... values) {
    (Add(values), ...);
  }
  void Mix(std::size_t value) {
    state_ = (state_ ^ value) * 0x9E3779B97F4A7C15;
    state_ ^= state_ >> 32;
  }

  void Add(const Text& text) {
    bytes_ += kBlock + sizeof(std::string);
    Add(text.str());
  }
  void Add(const std::string& text) {
    Mix(SeededHash()(text));
    if (text.capacity() > kInPlace) bytes_ += kBlock + text.capacity();
  }
  template <class T>
    requires std::integral<T> || std::is_enum_v<T>
  void Add(T value) {
    Mix(static_cast<std::size_t>(value));
  }
  template <class T>
  void Add(const std::optional<T>& value) {
    Mix(value.has_value());
    if (value) Add(*value);
  }
  template <class T>
  void Add(const CowPtr<T>& value) {
    Mix(value.has_value());
    if (!value) return;
    bytes_ += kBlock + sizeof(T);
    Add(*value);
  }
  void Each(const auto& items) {
    Mix(items.size());
    bytes_ += kBlock + items.size() * sizeof(*items.begin());
    for (const auto& item : items) Add(item);
  }
  template <class T>
  void Add(const std::vector<T>& items) {
    Each(items);
  }
  template <class T>
  void Add(const CowList<T>& items) {
    Each(items);
  }
  void Add(const Labels& labels) { Each(labels); }
  void Add(const ResourceList& amounts) { Each(amounts); }
  template <class A, class B>
  void Add(const std::pair<A, B>& pair) {
    All(pair.first, pair.second);
  }

  void Add(const Quantity& quantity) { Mix(quantity.Hash()); }
  void Add(const LabelSelectorRequirement& r) { All(r.key, r.op, r.values); }
  void Add(const LabelSelector& s) { All(s.match_labels, s.match_expressions); }
  void Add(const NodeSelectorRequirement& r) { All(r.key, r.op, r.values); }
  void Add(const NodeSelectorTerm& t) { All(t.match_expressions, t.match_fields); }
  void Add(const NodeSelector& s) { Add(s.terms); }
  void Add(const PreferredSchedulingTerm& t) { All(t.weight, t.preference); }
  void Add(const NodeAffinity& a) { All(a.required, a.preferred); }
  void Add(const PodAffinityTerm& t) {
    All(t.label_selector, t.namespaces, t.namespace_selector, t.topology_key, t.match_label_keys,
        t.mismatch_label_keys);
  }
  void Add(const WeightedPodAffinityTerm& t) { All(t.weight, t.term); }
  void Add(const PodAffinity& a) { All(a.required, a.preferred); }
  void Add(const TopologySpreadConstraint& c) {
    All(c.max_skew, c.topology_key, c.when_unsatisfiable, c.label_selector, c.min_domains,
        c.node_affinity_policy, c.node_taints_policy, c.match_label_keys);
  }
  void Add(const Toleration& t) { All(t.key, t.op, t.value, t.effect); }
  void Add(const ContainerPort& p) { All(p.container_port, p.host_port, p.protocol, p.host_ip); }
  void Add(const ResourceRequirements& r) { All(r.requests, r.limits); }
  void Add(const Container& c) { All(c.name, c.image, c.resources, c.ports, c.restart_always); }
  void Add(const Volume& v) { All(v.name, v.source, v.read_only, v.id, v.azure_kind); }
  void Add(const ContainerStatus& s) { All(s.name, s.allocated_resources, s.resource_requests); }
  void Add(const PodCondition& c) {
    All(c.type, c.status, c.reason, c.message, c.last_transition_time, c.observed_generation);
  }
  void Add(const OwnerReference& o) { All(o.api_version, o.kind, o.name, o.uid); }
  void Add(const Taint& t) { All(t.key, t.value, t.effect); }
  void Add(const NodeCondition& c) { All(c.type, c.status); }
  void Add(const ContainerImage& i) { All(i.names, i.size_bytes); }

  static constexpr std::size_t kBlock = 32;  // of the allocator and the reference count
  static inline const std::size_t kInPlace = std::string().capacity();
  std::size_t state_ = 0;
  std::size_t bytes_ = 0;
};

// Larger values are rarely equal, and one that nobody uses would be kept until others are added.
constexpr std::size_t kLargestShared = std::size_t{256} << 10;

// T is one of the copy-on-write types: CowPtr, CowList, Labels, ResourceList, Text.
template <class T>
class Pool {
 public:
  void Share(T& value) {
    if (value.identity() == nullptr) return;
    const Digest digest(value);
    if (digest.bytes() > kLargestShared) return;
    const auto [known, added] = values_.insert(Entry{value, digest.hash()});
    if (!added) {
      value = known->value;
    } else {
      purger_.Grown(values_, digest.bytes(), [](const Entry& entry) { return entry.value.unshared(); });
    }
  }

 private:
  struct Entry {
    T value;
    std::size_t hash = 0;  // known, so that a growing table does not read all values again
    friend bool operator==(const Entry& a, const Entry& b) { return a.hash == b.hash && a.value == b.value; }
  };
  struct Hash {
    std::size_t operator()(const Entry& entry) const { return entry.hash; }
  };

  boost::unordered_flat_set<Entry, Hash> values_;
  ExpiredEntryPurger purger_;
};

}  // namespace

struct Sharing::Pools {
  Pool<Text> words;
  Pool<CowPtr<OwnerReference>> owners;
  Pool<Labels> labels;
  Pool<CowList<std::string>> texts;
  Pool<ResourceList> amounts;
  Pool<CowPtr<ResourceRequirements>> resources;
  Pool<CowList<Container>> containers;
  Pool<CowList<ContainerStatus>> container_statuses;
  Pool<CowList<PodCondition>> pod_conditions;
  Pool<CowList<Toleration>> tolerations;
  Pool<CowList<Volume>> volumes;
  Pool<CowPtr<NodeAffinity>> node_affinities;
  Pool<CowPtr<PodAffinity>> pod_affinities;
  Pool<CowList<TopologySpreadConstraint>> spread_constraints;
  Pool<CowList<Taint>> taints;
  Pool<CowList<ContainerImage>> images;
  Pool<CowList<NodeCondition>> node_conditions;
};

Sharing::Sharing() : pools_(std::make_unique<Pools>()) {}
Sharing::~Sharing() = default;

void Sharing::ShareMeta(ObjectMeta& meta) {
  pools_->words.Share(meta.ns);
  pools_->owners.Share(meta.controller);
}

void Sharing::Share(Pod& pod) {
  PodSpec& spec = pod.spec;
  PodStatus& status = pod.status;
  ShareMeta(pod.metadata);
  pools_->words.Share(spec.node_name);
  pools_->words.Share(spec.scheduler_name);
  pools_->words.Share(spec.priority_class_name);
  pools_->words.Share(status.phase);
  pools_->words.Share(status.nominated_node_name);
  pools_->labels.Share(pod.metadata.labels);
  pools_->labels.Share(spec.node_selector);
  pools_->node_affinities.Share(spec.node_affinity);
  pools_->tolerations.Share(spec.tolerations);
  pools_->containers.Share(spec.containers);
  pools_->containers.Share(spec.init_containers);
  pools_->resources.Share(spec.resources);
  pools_->amounts.Share(spec.overhead);
  pools_->texts.Share(spec.image_volumes);
  pools_->volumes.Share(spec.volumes);
  pools_->pod_affinities.Share(spec.pod_affinity);
  pools_->pod_affinities.Share(spec.pod_anti_affinity);
  pools_->spread_constraints.Share(spec.topology_spread_constraints);
  // Conditions of pods without a node contain individual times and messages.
  if (!spec.node_name.empty()) pools_->pod_conditions.Share(status.conditions);
  pools_->container_statuses.Share(status.container_statuses);
  pools_->container_statuses.Share(status.init_container_statuses);
}

void Sharing::Share(Node& node) {
  pools_->taints.Share(node.taints);
  pools_->amounts.Share(node.allocatable);
  pools_->amounts.Share(node.capacity);
  pools_->images.Share(node.images);
  pools_->node_conditions.Share(node.conditions);
  pools_->texts.Share(node.declared_features);
}

}  // namespace berth::api
