#include "sandbox/controllers/housekeeping.hpp"

#include <algorithm>

#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {
namespace {

constexpr std::chrono::hours kEventLife{1};  // kube-apiserver's --event-ttl
constexpr std::chrono::seconds kEventCleanupPeriod{10};
constexpr std::string_view kNodeLeases = "kube-node-lease";
constexpr std::chrono::milliseconds kNamespaceRetry{200};
// kube-apiserver checks its namespaces once per minute. That is later than the grace period of nodes, whose
// leases need the namespace.
constexpr std::chrono::seconds kSystemNamespacePeriod{10};

// True if another controller must act before the namespace is removed.
bool HasForeignFinalizers(const Object& ns) {
  const Document document = ns.Parse();
  return !ArrayOrEmpty(document.root(), "metadata.finalizers").empty() ||
         std::ranges::any_of(ArrayOrEmpty(document.root(), "spec.finalizers"),
                             [](const json::value& name) { return name != json::value("kubernetes"); });
}

}  // namespace

Housekeeping::Housekeeping(Verbs& verbs, TimerQueue& timers) : verbs_(verbs), timers_(timers) {
  verbs_.store().Observe(*this);
  timers_.After(kEventCleanupPeriod, [this] { DropOldEvents(); });
  timers_.After(kSystemNamespacePeriod, [this] { RestoreSystemNamespace(); });
}

void Housekeeping::OnChange(const ResourceType& type, const Change& change) {
  if (&type == &Known().events && change.after && !change.before) {
    events_.push_back({verbs_.clock().Now() + kEventLife, change.after->key, change.after->uid});
  }
  const bool ending = change.after && change.after->deleting && !(change.before && change.before->deleting);
  if (&type == &Known().namespaces && ending) {
    timers_.After(Duration::zero(), [this, name = change.after->name] { EmptyNamespace(name); });
  }
}

void Housekeeping::EmptyNamespace(const std::string& name) {
  Store& store = verbs_.store();
  const ObjectPtr ns = store.Get(Known().namespaces, name);
  if (!ns || !ns->deleting) return;
  bool empty = true;
  for (const auto& type : Resources()) {
    if (!type.namespaced) continue;
    std::vector<ObjectPtr> content;
    store.ForEachAt(type, store.version(), name + "/", {}, [&](const ObjectPtr& object) {
      content.push_back(object);
      return true;
    });
    for (const auto& object : content) {
      if (!object->deleting) (void)verbs_.Delete({type, name, object->name}, {});
      empty = empty && !store.Get(type, object->key);
    }
  }
  if (empty && !HasForeignFinalizers(*ns)) {
    store.Remove(Known().namespaces, name);
  } else {
    timers_.After(kNamespaceRetry, [this, name] { EmptyNamespace(name); });
  }
}

// The other system namespaces cannot be deleted.
void Housekeeping::RestoreSystemNamespace() {
  timers_.After(kSystemNamespacePeriod, [this] { RestoreSystemNamespace(); });
  if (verbs_.store().Get(Known().namespaces, kNodeLeases)) return;
  Document document;
  document.root()["metadata"] = json::object{{"name", kNodeLeases}};
  (void)verbs_.Create(Known().namespaces, "", std::move(document));  // repeated by the next call
}

void Housekeeping::DropOldEvents() {
  const MonoTime now = verbs_.clock().Now();
  while (!events_.empty() && events_.front().end <= now) {
    const ExpiringEvent event = std::move(events_.front());
    events_.pop_front();
    const ObjectPtr object = verbs_.store().Get(Known().events, event.key);
    if (object && object->uid == event.uid) verbs_.store().Remove(Known().events, event.key);
  }
  timers_.After(kEventCleanupPeriod, [this] { DropOldEvents(); });
}

}  // namespace berth::sandbox
