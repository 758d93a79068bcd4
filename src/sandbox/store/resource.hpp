// The resources that this API server supports, and the properties of each.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace berth::sandbox {

struct SchemaMessage;

// An entry of the resource table. There is exactly one instance per resource, so its address identifies the
// resource.
struct ResourceType {
  std::string_view group;  // empty: core
  std::string_view version;
  std::string_view plural;
  std::string_view singular;
  std::string_view kind;
  std::string_view short_names = {};  // separated by commas
  // Paths that field selectors may use besides metadata.name and metadata.namespace, separated by commas.
  std::string_view fields = {};
  bool namespaced = false;
  bool has_status = false;  // PUT and PATCH ignore status, and /status ignores the rest
  bool has_scale = false;
  bool tracks_generation = false;    // metadata.generation counts changes of the spec
  bool needs_version = false;        // an update must contain the version that it is based on
  bool in_all = false;               // included in `kubectl get all`
  bool delete_shows_object = false;  // DELETE returns the object; for other resources it returns a Status
  std::size_t index = 0;             // in Resources()

  // "apps/v1", or "v1" for the core group.
  std::string_view group_version() const { return group_version_text; }
  // The name in messages: "leases.coordination.k8s.io", or "pods" in the core group.
  std::string_view qualified_plural() const { return qualified_text; }
  // The beginning of every stored text, which list items omit: {"kind":"Pod","apiVersion":"v1",
  std::string_view text_prefix() const { return prefix_text; }

  std::string_view group_version_text = {};
  std::string_view qualified_text = {};
  std::string_view prefix_text = {};
  const SchemaMessage* schema = nullptr;  // of the kind; null: objects are not validated
};

// All resources in the order of discovery, by group and version. events.k8s.io/v1 events are not included:
// they are a view of core events (see api_server/events.hpp).
std::span<const ResourceType> Resources();
// Null if there is no such resource.
const ResourceType* FindResource(std::string_view group, std::string_view version, std::string_view plural);

// The resources that the server itself uses.
struct KnownResources {
  const ResourceType& pods;
  const ResourceType& nodes;
  const ResourceType& namespaces;
  const ResourceType& events;
  const ResourceType& leases;
  const ResourceType& priority_classes;
  const ResourceType& disruption_budgets;
};
const KnownResources& Known();

}  // namespace berth::sandbox
