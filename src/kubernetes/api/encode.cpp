#include "kubernetes/api/encode.hpp"

#include "base/check.hpp"
#include "kubernetes/api/api_versions.hpp"
#include "kubernetes/api/encode_kinds.hpp"

namespace berth::api {
namespace json {

// --- common parts of objects ---

void Write(Writer& to, const Labels& value) { WriteMap(to, value); }

void Write(Writer& to, const ResourceList& value) { WriteMap(to, value); }

void Write(Writer& to, const OwnerReference& value) {
  const bool controller = true;
  WriteFields(to, Member{"apiVersion", value.api_version}, Member{"kind", value.kind},
              Member{"name", value.name}, Member{"uid", value.uid}, Member{"controller", controller});
}

void Write(Writer& to, const ObjectMeta& value) {
  Members members(to);
  AddMetadata(members, value);
}

void AddMetadata(Members& members, const ObjectMeta& value) {
  const auto owners = [&](Writer& to) {
    to.out() += '[';
    Write(to, *value.controller);
    to.out() += ']';
  };
  members.Add(Member{"name", value.name})
      .Add(Member{"namespace", value.ns})
      .Add(Member{"uid", value.uid})
      .Add(Member{"resourceVersion", value.resource_version})
      .Add(Member{"generation", value.generation})
      .Add(Member{"labels", value.labels})
      .Add(Member{"annotations", value.annotations})
      .Add(Member{"deletionTimestamp", value.deletion_timestamp});
  if (value.controller) members.Add(Required{"ownerReferences", owners});
}

void Write(Writer& to, const LabelSelectorRequirement& value) {
  WriteFields(to, Member{"key", value.key}, Member{"operator", value.op}, Member{"values", value.values});
}

void Write(Writer& to, const LabelSelector& value) {
  WriteFields(to, Member{"matchLabels", value.match_labels},
              Member{"matchExpressions", value.match_expressions});
}

void Write(Writer& to, const NodeSelectorRequirement& value) {
  WriteFields(to, Member{"key", value.key}, Member{"operator", value.op}, Member{"values", value.values});
}

void Write(Writer& to, const NodeSelectorTerm& value) {
  WriteFields(to, Member{"matchExpressions", value.match_expressions},
              Member{"matchFields", value.match_fields});
}

void Write(Writer& to, const NodeSelector& value) {
  WriteFields(to, Member{"nodeSelectorTerms", value.terms});
}

void Write(Writer& to, const Taint& value) {
  WriteFields(to, Member{"key", value.key}, Member{"value", value.value}, Member{"effect", value.effect});
}

}  // namespace json

template <class T>
void AppendJson(std::string& out, const T& object) {
  json::Writer to(out);
  json::Members members(to);
  const std::string kind(T::kKind);
  const std::string version(kApiVersion<T>);
  members.Add(json::Required{"kind", kind}).Add(json::Required{"apiVersion", version});
  json::AddMembers(members, object);
}

// Instantiates AppendJson for every kind.
template <class Kinds>
struct ForKinds;
template <class... T>
struct ForKinds<KindList<T...>> {
  static constexpr auto kAll = std::tuple(&AppendJson<T>...);
};
template struct ForKinds<AllKinds>;

}  // namespace berth::api
