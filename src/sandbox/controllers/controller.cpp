#include "sandbox/controllers/controller.hpp"

#include <fmt/format.h>

namespace berth::sandbox {

Controller::Controller(ControllerContext& context, const ResourceType& type, std::string_view name)
    : context_(context),
      type_(type),
      name_(name),
      queue_(context.timers, context.verbs.clock(), [this](const std::string& key) -> Outcome {
        const ObjectPtr object = context_.store().Get(type_, key);
        if (object) return Reconcile(object);
        OnGone(key);
        return {};
      }) {
  context.store().Observe(*this);
  context.view.Observe(*this);
}

void Controller::EnqueueAll() {
  for (const auto& [_, object] : context_.store().All(type_)) {
    Controller::OnChange(type_, {.version = 0, .before = nullptr, .after = object, .removed = nullptr});
  }
}

void Controller::OnChange(const ResourceType& type, const Change& change) {
  if (&type != &type_) return;
  if (change.after) {
    const Document document = change.after->Parse();
    const json::object* selector = FindObject(document.root(), "spec.selector");
    if (&type == &Kinds().services && selector != nullptr) {  // a plain map
      const json::object as_selector{{"matchLabels", *selector}};
      selectors_.Set(*change.after, selector->empty() ? nullptr : &as_selector);
    } else {
      selectors_.Set(*change.after, selector);
    }
  } else {
    selectors_.Remove(*change.removed);
  }
  queue_.Add(change.subject().key);
}

void Controller::OnPod(const PodFacts* before, const PodFacts* after) {
  const auto note = [&](const PodFacts& pod) {
    if (pod.owner_kind == type_.kind) queue_.Add(ObjectKey(pod.object->ns, pod.owner_name));
  };
  if (before != nullptr) note(*before);
  if (after != nullptr && (before == nullptr || after->owner_uid != before->owner_uid)) note(*after);
  if (after == nullptr || !after->owner_uid.empty() || !AdoptsPods()) return;
  if (before != nullptr && before->owner_uid.empty() && before->object->labels == after->object->labels)
    return;
  for (const auto& key : selectors_.Matching(*after->object)) queue_.Add(key);
}

void Controller::Emit(const Object& about, std::string_view type, std::string_view reason,
                      const std::string& message) {
  context_.events.Record(about, type, reason, message, name_);
}

ObjectPtr Controller::WriteStatus(const Object& object, const json::object& status) {
  ObjectPtr current = context_.store().Get(*object.type, object.key);
  if (!current || current->uid != object.uid) return nullptr;
  if (ObjectOrEmpty(current->Parse().root(), "status") == status) return current;
  return context_.verbs.Rewrite(PlaceOf(object), object.uid,
                                [&](json::object& document) { document["status"] = status; });
}

// --- ownership of pods ---

std::vector<const PodFacts*> Controller::ClaimPods(const Object& owner, const LabelSelector& selector) {
  for (const PodFacts* pod : context_.view.PodsOf(owner.uid)) {
    if (!selector.Matches(*pod->object) && !owner.deleting) Release(owner, *pod->object);
  }
  if (!owner.deleting && AdoptsPods()) {
    for (const PodFacts* pod : context_.view.OrphansIn(owner.ns)) {
      if (pod->active() && selector.Matches(*pod->object)) Adopt(owner, *pod->object);
    }
  }
  return context_.view.PodsOf(owner.uid);
}

void Controller::Release(const Object& owner, const Object& pod) {
  const ObjectPtr kept = context_.store().Get(Known().pods, pod.key);
  context_.verbs.Rewrite(PlaceOf(*kept), kept->uid, [&](json::object& document) {
    json::object& metadata = ObjectAt(document, "metadata");
    auto& owners = ArrayAt(metadata, "ownerReferences");
    EraseIf(owners, [&](const json::value& reference) {
      return reference.is_object() && FindString(reference.get_object(), "uid") == owner.uid;
    });
    if (owners.empty()) metadata.erase("ownerReferences");
  });
}

void Controller::Adopt(const Object& owner, const Object& pod) {
  const ObjectPtr kept = context_.store().Get(Known().pods, pod.key);
  context_.verbs.Rewrite(PlaceOf(*kept), kept->uid, [&](json::object& document) {
    json::object& metadata = ObjectAt(document, "metadata");
    ArrayAt(metadata, "ownerReferences").push_back(ControllerRef(owner));
    if (!PodFinalizer().empty() && !HasFinalizer(*kept, PodFinalizer()))
      ArrayAt(metadata, "finalizers").push_back(json::value(PodFinalizer()));
  });
}

// --- creation and deletion of pods ---

ApiResult<ObjectPtr> Controller::CreatePod(const Object& owner, const PodPlan& plan) {
  Document document;
  json::object& pod = document.root();
  json::object& metadata = ObjectAt(pod, "metadata");
  if (plan.name.empty())
    metadata["generateName"] = owner.name + "-";
  else
    metadata["name"] = plan.name;
  for (const std::string_view key : {"labels", "annotations", "finalizers"}) {
    if (const json::value* value = FindPath(plan.pod_template, fmt::format("metadata.{}", key)))
      metadata[key] = *value;
  }
  metadata["ownerReferences"] = json::array{ControllerRef(owner)};
  pod["spec"] = ObjectOrEmpty(plan.pod_template, "spec");
  if (plan.adjust) plan.adjust(pod);
  auto created = context_.verbs.Create(Known().pods, owner.ns, std::move(document));
  if (created)
    Emit(owner, "Normal", "SuccessfulCreate", fmt::format("Created pod: {}", (*created)->name));
  else if (created.error().causes.empty() || created.error().causes[0].reason != "NamespaceTerminating")
    Emit(owner, "Warning", "FailedCreate", fmt::format("Error creating: {}", created.error().message));
  return created;
}

void Controller::DeletePod(const Object& owner, const Object& pod) {
  DeleteOptions options;
  options.uid = pod.uid;
  const std::string name = pod.name;
  if (context_.verbs.Delete(PlaceOf(pod), options))
    Emit(owner, "Normal", "SuccessfulDelete", fmt::format("Deleted pod: {}", name));
}

Place PlaceOf(const Object& object) { return {*object.type, object.ns, object.name}; }

}  // namespace berth::sandbox
