#include "sandbox/controllers/revisions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::sandbox {

std::vector<Revision> RevisionsOf(ControllerContext& context, const Object& owner) {
  std::vector<Revision> revisions;
  for (auto& object : context.view.DependentsOf(owner.uid, Kinds().controller_revisions)) {
    const Document document = object->Parse();
    const json::value* data = Find(document.root(), "data");
    revisions.push_back({object, IntAt(document.root(), "revision"),
                         data != nullptr ? json::value(*data, json::storage_ptr()) : json::value()});
  }
  std::ranges::sort(revisions, {}, &Revision::number);
  return revisions;
}

json::object RevisionData(const json::object& pod_template) {
  json::object replaced = pod_template;
  replaced["$patch"] = "replace";
  return {{"spec", json::object{{"template", std::move(replaced)}}}};
}

std::optional<Revision> EnsureRevision(ControllerContext& context, const Object& owner,
                                       const json::object& spec, std::string_view hash_label) {
  const json::object& pod_template = ObjectOrEmpty(spec, "template");
  const json::value data = RevisionData(pod_template);
  std::vector<Revision> revisions = RevisionsOf(context, owner);
  const std::int64_t newest = revisions.empty() ? 0 : revisions.back().number;
  const auto same = std::ranges::find_if(revisions, [&](const Revision& r) { return r.data == data; });
  if (same != revisions.end()) {
    if (same->number == newest) return *same;
    same->number = newest + 1;
    same->object =
        context.verbs.Rewrite(PlaceOf(*same->object), same->object->uid,
                              [&](json::object& document) { document["revision"] = same->number; });
    return *same;
  }
  for (std::int64_t collision = -1; collision < 8; ++collision) {
    const std::string hash = TemplateHash(data, collision);
    const std::string name = fmt::format("{}-{}", owner.name.substr(0, 223), hash);
    if (context.store().Get(Kinds().controller_revisions, ObjectKey(owner.ns, name))) continue;
    Document document;
    json::object labels = ObjectOrEmpty(pod_template, "metadata.labels");
    labels[hash_label] = hash;
    document.root()["metadata"] = json::object{{"name", name},
                                               {"labels", std::move(labels)},
                                               {"ownerReferences", json::array{ControllerRef(owner)}}};
    document.root()["data"] = data;
    document.root()["revision"] = newest + 1;
    auto created = context.verbs.Create(Kinds().controller_revisions, owner.ns, std::move(document));
    if (!created) return std::nullopt;
    return Revision{*created, newest + 1, data};
  }
  return std::nullopt;
}

void TruncateHistory(ControllerContext& context, const Object& owner, std::int64_t limit,
                     const std::function<bool(const Revision&)>& in_use) {
  std::vector<Revision> unused;
  for (auto& revision : RevisionsOf(context, owner)) {
    if (!in_use(revision)) unused.push_back(std::move(revision));
  }
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(unused.size()) - limit; ++i) {
    // may already be gone
    (void)context.verbs.Delete(PlaceOf(*unused[static_cast<std::size_t>(i)].object), {});
  }
}

}  // namespace berth::sandbox
