#include "sandbox/cluster/persistence/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "kubernetes/api/decode.hpp"
#include "sandbox/apiserver/validate/validate.hpp"
#include "sandbox/controllers/fields.hpp"
#include "sandbox/kubelet/node_failure.hpp"

namespace berth::sandbox {
namespace {

constexpr std::size_t kErrorsShown = 10;

struct Item {
  const ResourceType* type = nullptr;
  Document document;
  std::string location, ns, name, uid;  // uid: empty if the object does not come from a server

  std::string key() const { return ObjectKey(ns, name); }
  Place place() const { return {*type, ns, name}; }
};

// The order of creation: dependencies first.
int Rank(const ResourceType& type) {
  static constexpr std::string_view kFirst[] = {"namespaces", "priorityclasses", "storageclasses", "nodes"};
  const auto found = std::ranges::find(kFirst, type.plural);
  return static_cast<int>(found - std::begin(kFirst));
}

class Loader {
 public:
  explicit Loader(Verbs& verbs) : verbs_(verbs) {}

  Expected<LoadReport> Load(std::string_view text) {
    auto documents = api::SplitDocuments(text);
    if (!documents) return std::unexpected(std::move(documents).error());
    errors_ = std::move(documents->errors);
    for (const auto& document : documents->objects) Read(document.location, document.kind, document.json);
    FindDuplicates();
    if (errors_.empty()) ResolveOwners();
    // Validates objects without a uid by creating them in a separate store. This covers every error that a
    // client would get.
    if (errors_.empty()) TryAll();
    if (!errors_.empty()) return Invalid(ErrorText());
    // The file may come from a process with the same seed: its uids must not be drawn again.
    if (std::ranges::any_of(items_, [](const Item& item) { return !item.uid.empty(); }))
      verbs_.MixIntoRandom(text);
    MakeNamespaces();
    std::ranges::stable_sort(items_, {}, [](const Item& item) { return Rank(*item.type); });
    for (auto& item : items_) Store(item);
    if (!errors_.empty()) return Invalid(ErrorText());
    report_.objects = items_.size();
    return report_;
  }

 private:
  std::string ErrorText() const {
    std::string text = fmt::format(
        "{}", fmt::join(errors_.begin(), errors_.begin() + std::min(errors_.size(), kErrorsShown), "\n"));
    if (errors_.size() > kErrorsShown) text += fmt::format("\nand {} more", errors_.size() - kErrorsShown);
    return text;
  }
  void AddError(const Item& item, std::string_view what) {
    errors_.push_back(fmt::format("{}: {} \"{}\": {}", item.location, item.type->kind, item.key(), what));
  }

  void Read(const std::string& location, const std::string& kind, const std::string& text) {
    auto document = Document::Parse(text, kMaxStoredNesting);  // CheckShape limits all but managedFields
    if (!document) {
      errors_.push_back(fmt::format("{}: {}", location, document.error().message));
      return;
    }
    Item item{.document = std::move(*document), .location = location, .ns = {}, .name = {}, .uid = {}};
    json::object& root = item.document.root();
    const std::string group_version(FindString(root, "apiVersion"));
    item.type = TypeOf(kind, group_version);
    if (item.type == nullptr) {
      ++report_.skipped[group_version.empty() ? kind : fmt::format("{} {}", group_version, kind)];
      return;
    }
    item.name = FindString(root, "metadata.name");
    item.uid = FindString(root, "metadata.uid");
    if (item.name.empty()) {
      errors_.push_back(fmt::format("{}: {}: metadata.name: Required value", location, kind));
      return;
    }
    if (item.type->namespaced) {
      item.ns = FindString(root, "metadata.namespace");
      if (item.ns.empty()) item.ns = "default";
      ObjectAt(root, "metadata")["namespace"] = item.ns;
    }
    // Hand-written objects are validated strictly; a server may be of a release with more fields.
    WriteOptions options;
    options.validation = item.uid.empty() ? FieldValidation::kStrict : FieldValidation::kIgnore;
    if (const auto checked = CheckShape(*item.type, root, options); !checked)
      return AddError(item, checked.error().message);
    DropNulls(root);
    ObjectAt(root, "metadata").erase("resourceVersion");
    items_.push_back(std::move(item));
  }

  static const ResourceType* TypeOf(std::string_view kind, std::string_view group_version) {
    for (const auto& type : Resources()) {
      if (type.kind != kind) continue;
      if (group_version.empty() || type.group_version() == group_version) return &type;
      if (kind == "Event" && group_version == "events.k8s.io/v1") return nullptr;
    }
    return nullptr;
  }

  void FindDuplicates() {
    std::map<std::pair<std::size_t, std::string>, const Item*> seen;
    for (const auto& item : items_) {
      const auto [found, fresh] = seen.emplace(std::pair(item.type->index, item.key()), &item);
      if (!fresh) AddError(item, fmt::format("given twice, the first time in {}", found->second->location));
    }
  }

  // Resolves owner references by uid. An owner in the file without a uid gets one. References to owners
  // outside the file are removed: the garbage collector would delete their dependents.
  void ResolveOwners() {
    std::set<std::string> uids;
    for (const auto& item : items_) {
      if (!item.uid.empty()) uids.insert(item.uid);
    }
    for (auto& item : items_) {
      if (FindArray(item.document.root(), "metadata.ownerReferences") == nullptr) continue;
      json::object& metadata = ObjectAt(item.document.root(), "metadata");
      auto& owners = ArrayAt(metadata, "ownerReferences");
      const std::size_t before = owners.size();
      EraseIf(owners, [&](const json::value& owner) {
        return !owner.is_object() || !uids.contains(std::string(FindString(owner.get_object(), "uid")));
      });
      report_.lost_owners += before - owners.size();
      if (owners.empty()) metadata.erase("ownerReferences");
    }
  }

  // Creates the objects that do not come from a server in a separate store first. So all validation errors
  // are found before anything changes.
  void TryAll() {
    sandbox::Store scratch(1);
    Random random(1);
    Verbs trial(scratch, verbs_.clock(), random);
    const auto put = [&](const Item& item) {
      Document copy;
      copy.root() = item.document.root();
      scratch.Put(*item.type, copy.root());
    };
    for (const ResourceType* type : {&Known().namespaces, &Known().priority_classes}) {
      for (const auto& [_, object] : verbs_.store().All(*type)) {
        Document copy = object->Parse();
        scratch.Put(*type, copy.root());
      }
      for (const auto& item : items_) {
        if (item.type == type) put(item);
      }
    }
    for (const auto& item : items_) {
      if (item.ns.empty() || scratch.Get(Known().namespaces, item.ns)) continue;
      Document made;
      made.root()["metadata"] = json::object{{"name", item.ns}};
      (void)trial.Create(Known().namespaces, "", std::move(made));
    }
    for (const auto& item : items_) {
      if (!item.uid.empty() || scratch.Get(*item.type, item.key())) continue;
      Document copy;
      copy.root() = item.document.root();
      DropServerFields(copy.root());
      const auto created = trial.Create(*item.type, item.ns, std::move(copy));
      if (!created) AddError(item, created.error().message);
    }
  }
  static void DropServerFields(json::object& root) {
    for (const std::string_view key : {"creationTimestamp", "generation", "managedFields", "selfLink"})
      ObjectAt(root, "metadata").erase(key);
  }

  void MakeNamespaces() {
    std::set<std::string> wanted;
    for (const auto& item : items_) {
      if (!item.ns.empty()) wanted.insert(item.ns);
    }
    for (const auto& item : items_) {
      if (item.type == &Known().namespaces) wanted.erase(item.name);
    }
    for (const auto& name : wanted) {
      if (verbs_.store().Get(Known().namespaces, name)) continue;
      Document document;
      document.root()["metadata"] = json::object{{"name", name}};
      if (verbs_.Create(Known().namespaces, "", std::move(document))) ++report_.made_namespaces;
    }
  }

  void Store(Item& item) {
    json::object& root = item.document.root();
    if (item.type == &Known().nodes) KeepFailure(root);
    if (!item.uid.empty()) {
      verbs_.store().Put(*item.type, root);
      return;
    }
    const json::object status(ObjectOrEmpty(root, "status"), json::storage_ptr());  // outlives the document
    if (const ObjectPtr present = verbs_.store().Get(*item.type, item.key())) {
      // Objects that every cluster has, such as the namespace "default": the file's content replaces them.
      verbs_.Rewrite(item.place(), present->uid, [&](json::object& document) {
        for (const auto& member : root) {
          if (member.key() != "metadata") document[member.key()] = member.value();
        }
        for (const std::string_view key : {"labels", "annotations"}) {
          if (const json::value* value = FindPath(root, fmt::format("metadata.{}", key)))
            ObjectAt(document, "metadata")[key] = *value;
        }
      });
      return;
    }
    DropServerFields(root);
    auto created = verbs_.Create(*item.type, item.ns, std::move(item.document));
    if (!created) return AddError(item, created.error().message);
    if (status.empty()) return;
    verbs_.Rewrite(item.place(), (*created)->uid, [&](json::object& document) {
      json::object& stored = ObjectAt(document, "status");
      for (const auto& member : status) stored[member.key()] = member.value();
    });
  }

  static void KeepFailure(json::object& node) {
    const json::object* ready = FindCondition(ObjectOrEmpty(node, "status"), "Ready");
    if (ready == nullptr || FindString(*ready, "status") == "True") return;
    const std::string failure = FindString(*ready, "status") == "Unknown" ? "silent" : "not-ready";
    json::object& annotations = ObjectAt(ObjectAt(node, "metadata"), "annotations");
    if (!annotations.contains(kFailure)) annotations[kFailure] = failure;
  }

  Verbs& verbs_;
  std::vector<Item> items_;
  std::vector<std::string> errors_;
  LoadReport report_;
};

}  // namespace

Expected<LoadReport> LoadObjects(Verbs& verbs, std::string_view text) { return Loader(verbs).Load(text); }

}  // namespace berth::sandbox
