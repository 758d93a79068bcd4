#include "sandbox/controllers/garbage_collector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace berth::sandbox {
namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

std::string_view PropagationOf(const Object& object) {
  if (HasFinalizer(object, kOrphan)) return "Orphan";
  return HasFinalizer(object, kForeground) ? "Foreground" : "Background";
}

}  // namespace

GarbageCollector::GarbageCollector(ControllerContext& context)
    : context_(context), queue_(context.timers, context.verbs.clock(), [this](const std::string& key) {
        return Reconcile(key);
      }) {
  for (const auto& type : Resources()) {
    for (const auto& [_, object] : context.store().All(type)) {
      OnChange(type, {.version = 0, .before = nullptr, .after = object, .removed = nullptr});
    }
  }
  context.store().Observe(*this);
}

void GarbageCollector::Enqueue(const ResourceType& type, const std::string& key) {
  queue_.Add(fmt::format("{}|{}", type.index, key));
}

// Runs after the view has been updated, because the view is registered first.
void GarbageCollector::OnChange(const ResourceType& type, const Change& change) {
  if (&type == &Known().events) return;
  const Object& subject = change.subject();
  if (!change.after) {
    deleting_dependents_of_.erase(subject.uid);
    for (const auto& [dependent_type, key] : context_.view.DependentsOf(subject.uid))
      Enqueue(*dependent_type, key);
    return EnqueueWaitingOwners(subject);
  }
  const bool now_deleting = subject.deleting && !(change.before && change.before->deleting);
  const std::string_view owners = OwnersText(subject);
  const std::string_view old_owners = change.before ? OwnersText(*change.before) : std::string_view();
  if (now_deleting || (owners != old_owners && !owners.empty())) Enqueue(type, subject.key);
  if (owners != old_owners && change.before) EnqueueWaitingOwners(*change.before);
}

void GarbageCollector::EnqueueWaitingOwners(const Object& dependent) {
  if (deleting_dependents_of_.empty() || OwnersText(dependent).empty()) return;
  const Document document = dependent.Parse();
  for (const auto& reference : ArrayOrEmpty(document.root(), "metadata.ownerReferences")) {
    if (!reference.is_object()) continue;
    // Owners that wait for this object are found by uid; they are in the set only while they wait.
    const std::string uid(FindString(reference.get_object(), "uid"));
    if (!deleting_dependents_of_.contains(uid)) continue;
    const auto kind = FindString(reference.get_object(), "kind");
    for (const auto& owner_type : Resources()) {
      if (owner_type.kind != kind) continue;
      Enqueue(owner_type, ObjectKey(owner_type.namespaced ? dependent.ns : "",
                                    FindString(reference.get_object(), "name")));
    }
  }
}

WorkQueue::Outcome GarbageCollector::Reconcile(const std::string& key) {
  std::size_t index = 0;
  const auto bar = key.find('|');
  std::from_chars(key.data(), key.data() + bar, index);
  const ObjectPtr object = context_.store().Get(Resources()[index], std::string_view(key).substr(bar + 1));
  if (!object) return {};
  if (object->deleting) {
    if (HasFinalizer(*object, kOrphan)) Orphan(*object);
    if (HasFinalizer(*object, kForeground)) return FinishForeground(*object);
    return {};
  }
  DeleteIfOrphaned(*object);
  return {};
}

WorkQueue::Outcome GarbageCollector::FinishForeground(const Object& owner) {
  const auto dependents = context_.view.DependentsOf(owner.uid);  // a copy: the calls below may delete some
  const bool blocked = std::ranges::any_of(dependents, [&](const auto& dependent) {
    const ObjectPtr object = context_.store().Get(*dependent.first, dependent.second);
    if (!object) return false;
    const Document document = object->Parse();
    return std::ranges::any_of(ArrayOrEmpty(document.root(), "metadata.ownerReferences"),
                               [&](const json::value& r) {
                                 return r.is_object() && FindString(r.get_object(), "uid") == owner.uid &&
                                        BoolAt(r.get_object(), "blockOwnerDeletion");
                               });
  });
  if (deleting_dependents_of_.insert(owner.uid).second) {
    for (const auto& [type, key] : dependents) Enqueue(*type, key);
  }
  if (!blocked) DropFinalizer(owner, kForeground);
  return {.objects_read = blocked ? 1 : dependents.size()};
}

void GarbageCollector::Orphan(const Object& owner) {
  const auto dependents = context_.view.DependentsOf(owner.uid);
  for (const auto& [type, key] : dependents) {
    if (const ObjectPtr object = context_.store().Get(*type, key)) DropReferences(*object, {owner.uid});
  }
  DropFinalizer(owner, kOrphan);
}

void GarbageCollector::DeleteIfOrphaned(const Object& object) {
  const Owners owners = OwnersOf(object);
  if (owners.absent.empty() && owners.waiting.empty()) return;
  if (owners.present) {  // an owner still exists
    std::vector<std::string> gone = owners.absent;
    gone.insert(gone.end(), owners.waiting.begin(), owners.waiting.end());
    return DropReferences(object, gone);
  }
  DeleteOptions options;
  options.uid = object.uid;
  options.propagation = PropagationOf(object);
  // A chain of foreground deletions continues with the dependents.
  if (!owners.waiting.empty() && !context_.view.DependentsOf(object.uid).empty())
    options.propagation = "Foreground";
  (void)context_.verbs.Delete(PlaceOf(object), options);  // the object may already be gone
}

GarbageCollector::Owners GarbageCollector::OwnersOf(const Object& object) const {
  const Document document = object.Parse();
  Owners owners;
  for (const auto& value : ArrayOrEmpty(document.root(), "metadata.ownerReferences")) {
    if (!value.is_object()) continue;
    const auto& reference = value.get_object();
    std::string uid(FindString(reference, "uid"));
    switch (StateOf(reference, object)) {
      case OwnerState::kAbsent:
        owners.absent.push_back(std::move(uid));
        break;
      case OwnerState::kWaiting:
        owners.waiting.push_back(std::move(uid));
        break;
      case OwnerState::kPresent:
        owners.present = true;
    }
  }
  return owners;
}

GarbageCollector::OwnerState GarbageCollector::StateOf(const json::object& reference,
                                                       const Object& dependent) const {
  const auto kind = FindString(reference, "kind");
  const auto group_version = FindString(reference, "apiVersion");
  const auto group = group_version.find('/') == std::string_view::npos
                         ? std::string_view()
                         : group_version.substr(0, group_version.find('/'));
  for (const auto& type : Resources()) {
    if (type.kind != kind || type.group != group) continue;
    // A cluster-scoped object cannot name the namespace of its owner, so whether that exists is undefined.
    if (type.namespaced && dependent.ns.empty()) return OwnerState::kPresent;
    const ObjectPtr owner = context_.store().Get(
        type, ObjectKey(type.namespaced ? dependent.ns : "", FindString(reference, "name")));
    if (!owner || owner->uid != FindString(reference, "uid")) return OwnerState::kAbsent;
    return owner->deleting && HasFinalizer(*owner, kForeground) ? OwnerState::kWaiting : OwnerState::kPresent;
  }
  return OwnerState::kPresent;  // of an unknown kind: it counts as existing
}

void GarbageCollector::DropReferences(const Object& object, const std::vector<std::string>& uids) {
  context_.verbs.Rewrite(PlaceOf(object), object.uid, [&](json::object& document) {
    json::object& metadata = ObjectAt(document, "metadata");
    auto& owners = ArrayAt(metadata, "ownerReferences");
    EraseIf(owners, [&](const json::value& reference) {
      return reference.is_object() &&
             std::ranges::find(uids, FindString(reference.get_object(), "uid")) != uids.end();
    });
    if (owners.empty()) metadata.erase("ownerReferences");
  });
}

void GarbageCollector::DropFinalizer(const Object& object, std::string_view finalizer) {
  const auto drop = [&](json::object& document) -> ApiResult<> {
    json::object& metadata = ObjectAt(document, "metadata");
    auto& finalizers = ArrayAt(metadata, "finalizers");
    EraseIf(finalizers, [&](const json::value& value) { return value == json::value(finalizer); });
    if (finalizers.empty()) metadata.erase("finalizers");
    return {};
  };
  (void)context_.verbs.Edit(PlaceOf(object), Part::kMain, drop);  // the object may already be gone
}

}  // namespace berth::sandbox
