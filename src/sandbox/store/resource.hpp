// The kinds of objects this API server knows, and what is particular about each.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace berth::sandbox {

struct SchemaMessage;

// A row of the table of resources; there is exactly one instance per resource, so that addresses identify
// them.
struct ResourceType {
  std::string_view group;  // empty: core
  std::string_view version;
  std::string_view plural;
  std::string_view singular;
  std::string_view kind;
  std::string_view short_names = {};  // separated by commas
  // Paths that field selectors may name besides metadata.name and metadata.namespace, separated by commas.
  std::string_view fields = {};
  bool namespaced = false;
  bool has_status = false;  // PUT and PATCH ignore status, and /status ignores the rest
  bool has_scale = false;
  bool tracks_generation = false;    // metadata.generation counts changes of the spec
  bool needs_version = false;        // an update must name the version it is based on
  bool in_all = false;               // `kubectl get all` shows it
  bool delete_shows_object = false;  // DELETE answers with the object; others answer with a Status
  std::size_t index = 0;             // in Resources()

  // "apps/v1", or "v1" for the core group.
  std::string_view group_version() const { return group_version_text; }
  // How messages name it: "leases.coordination.k8s.io", or "pods" in the core group.
  std::string_view qualified_plural() const { return qualified_text; }
  // Every stored text begins with this; items of a list leave it out: {"kind":"Pod","apiVersion":"v1",
  std::string_view text_prefix() const { return prefix_text; }

  std::string_view group_version_text = {};
  std::string_view qualified_text = {};
  std::string_view prefix_text = {};
  const SchemaMessage* schema = nullptr;  // of the kind; null: any object will do
};

// All of them; the order is that of discovery: groups and versions stand together. events.k8s.io/v1 events
// are not among them: they are a view of the core group's (see api_server/events.hpp).
std::span<const ResourceType> Resources();
// Null if there is no such resource.
const ResourceType* FindResource(std::string_view group, std::string_view version, std::string_view plural);

// The ones that the server itself has to do with.
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
