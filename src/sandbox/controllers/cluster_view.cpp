#include "sandbox/controllers/cluster_view.hpp"

#include <algorithm>
#include <charconv>

#include "sandbox/controllers/fields.hpp"
#include "sandbox/store/time_after.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

void ReadContainers(const json::object& status, PodFacts& facts) {
  for (const auto& value : ArrayOrEmpty(status, "containerStatuses")) {
    if (!value.is_object()) continue;
    facts.restarts += IntAt(value.get_object(), "restartCount");
    const auto code = IntAt(value.get_object(), "state.terminated.exitCode");
    if (facts.exit_code == 0) facts.exit_code = code;
  }
}

// The latest end of the included containers and `last`; nullopt: none, or one of them has not ended.
template <class Includes>
std::optional<WallTime> LatestEnd(std::optional<WallTime> last, const json::array& containers,
                                  Includes&& includes) {
  for (const auto& value : containers) {
    if (!value.is_object() || !includes(value.get_object())) continue;
    const auto end = TimeOf(FindString(value.get_object(), "state.terminated.finishedAt"));
    if (!end) return std::nullopt;
    last = std::max(last.value_or(*end), *end);
  }
  return last;
}

// The end of the last container and of the last sidecar; nullopt: a sidecar has not ended, or a container has
// not and there is no sidecar. If only a container has not ended, the end of the sidecars counts, as in
// kube-controller-manager.
std::optional<WallTime> EndOfContainers(const json::object& pod, const json::object& status) {
  const auto all = [](const json::object&) { return true; };
  const auto is_sidecar = [&](const json::object& container) {
    const auto name = FindString(container, "name");
    return std::ranges::any_of(ArrayOrEmpty(pod, "spec.initContainers"), [&](const json::value& value) {
      return value.is_object() && FindString(value.get_object(), "name") == name &&
             FindString(value.get_object(), "restartPolicy") == "Always";
    });
  };
  const auto last = LatestEnd(std::nullopt, ArrayOrEmpty(status, "containerStatuses"), all);
  return LatestEnd(last, ArrayOrEmpty(status, "initContainerStatuses"), is_sidecar);
}

// The deletion timestamp is the end of the grace period.
std::optional<WallTime> StartOfDeletion(const json::object& pod) {
  const auto end = TimeOf(FindString(pod, "metadata.deletionTimestamp"));
  if (!end) return std::nullopt;
  const std::int64_t since_1970 =
      std::chrono::floor<std::chrono::seconds>(std::max(*end, WallTime{})).time_since_epoch().count();
  const std::int64_t grace = IntAt(pod, "metadata.deletionGracePeriodSeconds");
  return *end - std::chrono::seconds(std::clamp<std::int64_t>(grace, 0, since_1970));
}

// As kube-controller-manager determines it for Jobs.
WallTime FinishedAt(const json::object& pod, const json::object& status, const PodFacts& facts) {
  if (const auto end = EndOfContainers(pod, status)) return *end;
  const json::object* ready = FindCondition(status, "Ready");
  if (ready != nullptr && FindString(*ready, "status") == "False" && facts.ready_since != WallTime{})
    return facts.ready_since;
  return StartOfDeletion(pod).value_or(facts.created);
}

PodFacts PodFactsOf(const ObjectPtr& object) {
  PodFacts facts;
  facts.object = object;
  const Document document = object->Parse();
  const json::object& pod = document.root();
  if (const json::object* owner = ControllerOf(pod)) {
    facts.owner_kind = FindString(*owner, "kind");
    facts.owner_name = FindString(*owner, "name");
    facts.owner_uid = FindString(*owner, "uid");
  }
  facts.created = TimeOf(FindString(pod, "metadata.creationTimestamp")).value_or(WallTime{});
  const json::object& status = ObjectOrEmpty(pod, "status");
  if (const json::object* ready = FindCondition(status, "Ready")) {
    facts.ready = FindString(*ready, "status") == "True";
    facts.ready_since = TimeOf(FindString(*ready, "lastTransitionTime")).value_or(WallTime{});
  }
  ReadContainers(status, facts);
  if (facts.terminal() || object->deleting) {
    facts.finished = FinishedAt(pod, status, facts);
  } else {
    facts.finished = facts.created;
  }
  const json::value* cost = Find(ObjectOrEmpty(pod, "metadata.annotations"), kDeletionCost);
  if (cost != nullptr && cost->is_string()) {
    const std::string_view text = cost->get_string();
    std::from_chars(text.data(), text.data() + text.size(), facts.deletion_cost);
  }
  return facts;
}

std::vector<const PodFacts*> Listed(const std::unordered_map<std::string, ClusterView::Pods>& index,
                                    const std::string& key) {
  const auto found = index.find(key);
  if (found == index.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace

bool PodFacts::Available(std::int64_t min_ready_seconds, WallTime now, Duration* wait) const {
  if (!ready) return false;
  const WallTime due = TimeAfter(ready_since, min_ready_seconds);
  if (min_ready_seconds == 0 || due <= now) return true;
  if (wait != nullptr && (*wait == Duration::zero() || due - now < *wait)) *wait = due - now;
  return false;
}

ClusterView::ClusterView(Store& store) : store_(store) {
  for (const auto& type : Resources()) {
    for (const auto& [_, object] : store.All(type)) {
      OnChange(type, {.version = object->version, .before = nullptr, .after = object, .removed = nullptr});
    }
  }
  store.Observe(*this);
}

void ClusterView::OnChange(const ResourceType& type, const Change& change) {
  if (&type == &Known().events) return;
  TrackOwners(type, change);
  if (&type == &Known().pods) TrackPod(change);
}

void ClusterView::TrackOwners(const ResourceType& type, const Change& change) {
  const Object* before = change.before.get();
  const Object* after = change.after.get();
  if (before != nullptr && (after == nullptr || after->uid != before->uid)) uids_.erase(before->uid);
  if (after != nullptr && (before == nullptr || after->uid != before->uid)) uids_[after->uid] = &type;
  const std::string_view old_owners = before != nullptr ? OwnersText(*before) : std::string_view();
  const std::string_view new_owners = after != nullptr ? OwnersText(*after) : std::string_view();
  if (old_owners == new_owners) return;
  const Dependent dependent{&type, change.subject().key};
  if (!old_owners.empty()) {
    for (const auto& uid : OwnerUids(*before)) {
      const auto found = dependents_.find(uid);
      if (found == dependents_.end()) continue;
      found->second.erase(dependent);
      if (found->second.empty()) dependents_.erase(found);
    }
  }
  if (!new_owners.empty()) {
    for (const auto& uid : OwnerUids(*after)) dependents_[uid].insert(dependent);
  }
}

void ClusterView::TrackPod(const Change& change) {
  const auto place = pods_.find(change.subject().key);
  PodFacts before;
  const bool existed = place != pods_.end();
  if (existed) {
    Link(place->second, false);
    before = std::move(place->second);
    if (!change.after) pods_.erase(place);
  }
  const PodFacts* after = nullptr;
  if (change.after) {
    PodFacts& facts = pods_[change.after->key];
    facts = PodFactsOf(change.after);
    Link(facts, true);
    after = &facts;
  }
  for (PodObserver* observer : observers_) observer->OnPod(existed ? &before : nullptr, after);
}

void ClusterView::Link(const PodFacts& pod, bool add) {
  const auto change = [&](auto& index, const std::string& key) {
    if (add) {
      index[key].insert(&pod);
      return;
    }
    const auto found = index.find(key);
    found->second.erase(&pod);
    if (found->second.empty()) index.erase(found);
  };
  change(by_node_, pod.node());
  if (pod.owner_uid.empty())
    change(orphans_, pod.object->ns);
  else
    change(by_owner_, pod.owner_uid);
}

const PodFacts* ClusterView::Pod(std::string_view key) const {
  const auto found = pods_.find(key);
  return found == pods_.end() ? nullptr : &found->second;
}

std::vector<const PodFacts*> ClusterView::PodsOf(const std::string& uid) const {
  return Listed(by_owner_, uid);
}
std::vector<const PodFacts*> ClusterView::OrphansIn(const std::string& ns) const {
  return Listed(orphans_, ns);
}
std::vector<const PodFacts*> ClusterView::PodsOn(const std::string& node) const {
  return Listed(by_node_, node);
}
std::size_t ClusterView::CountOn(const std::string& node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? 0 : found->second.size();
}

void ClusterView::ForEachIn(std::string_view ns, const std::function<void(const PodFacts&)>& visit) const {
  const std::string prefix = std::string(ns) + "/";
  for (auto it = pods_.lower_bound(prefix); it != pods_.end() && it->first.starts_with(prefix); ++it) {
    visit(it->second);
  }
}

const std::set<ClusterView::Dependent>& ClusterView::DependentsOf(const std::string& uid) const {
  static const std::set<Dependent> none;
  const auto found = dependents_.find(uid);
  return found == dependents_.end() ? none : found->second;
}

std::vector<ObjectPtr> ClusterView::DependentsOf(const std::string& uid, const ResourceType& type) const {
  std::vector<ObjectPtr> objects;
  const auto& all = DependentsOf(uid);
  for (auto it = all.lower_bound({&type, ""}); it != all.end() && it->first == &type; ++it) {
    if (ObjectPtr object = store_.Get(type, it->second)) objects.push_back(std::move(object));
  }
  return objects;
}

std::string_view OwnersText(const Object& object) {
  static constexpr std::string_view kKey = "\"ownerReferences\":[";
  const std::string_view text = object.text;
  const auto begin = text.find(kKey);
  if (begin == std::string_view::npos) return {};
  bool quoted = false;
  for (auto i = begin + kKey.size(); i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == ']' && !quoted) {
      return text.substr(begin, i - begin);
    }
  }
  return {};
}

std::vector<std::string> OwnerUids(const Object& object) {
  const Document document = object.Parse();
  std::vector<std::string> uids;
  for (const auto& owner : ArrayOrEmpty(document.root(), "metadata.ownerReferences")) {
    if (owner.is_object()) uids.emplace_back(FindString(owner.get_object(), "uid"));
  }
  return uids;
}

void SelectorTable::Set(const Object& object, const json::object* selector) {
  auto parsed = selector != nullptr ? LabelSelector::FromObject(*selector) : LabelSelector();
  if (selector == nullptr || !parsed) return Remove(object);
  by_namespace_[object.ns][object.key] = std::move(*parsed);
}

void SelectorTable::Remove(const Object& object) {
  const auto ns = by_namespace_.find(object.ns);
  if (ns == by_namespace_.end()) return;
  ns->second.erase(object.key);
  if (ns->second.empty()) by_namespace_.erase(ns);
}

std::vector<std::string> SelectorTable::Matching(const Object& pod) const {
  std::vector<std::string> keys;
  const auto ns = by_namespace_.find(pod.ns);
  if (ns == by_namespace_.end()) return keys;
  for (const auto& [key, selector] : ns->second) {
    if (selector.Matches(pod)) keys.push_back(key);
  }
  return keys;
}

const LabelSelector* SelectorTable::Find(const std::string& ns, const std::string& key) const {
  const auto table = by_namespace_.find(ns);
  if (table == by_namespace_.end()) return nullptr;
  const auto found = table->second.find(key);
  return found == table->second.end() ? nullptr : &found->second;
}

}  // namespace berth::sandbox
