// Nodes, field by field. Field numbers are those of generated.proto in k8s.io/api v0.37.
#include <algorithm>

#include "kubernetes/api/decode_common.hpp"
#include "kubernetes/api/wire/message.hpp"
#include "kubernetes/api/wire/recent.hpp"

namespace berth::api::wire {
// Not in an unnamed namespace: the readers of lists and optionals find these by argument-dependent lookup.

void Read(Message in, Taint& out) {
  ReadFields(in, At<1>("key", out.key), At<2>("value", out.value), At<3>("effect", out.effect));
}

void Read(Message in, ContainerImage& out) {
  ReadFields(in, At<1>("names", out.names), At<2>("sizeBytes", out.size_bytes));
}

void Read(Message in, NodeCondition& out) {
  ReadFields(in, At<1>("type", out.type), At<2>("status", out.status));
}

void Read(Message in, NodeAddress& out) {
  ReadFields(in, At<1>("type", out.type), At<2>("address", out.address));
}

void ReadNodeSpec(Message in, Node& out) {
  ReadFields(in, At<4>("unschedulable", out.unschedulable), Alike<5>("taints", out.taints));
}

void ReadNodeStatus(Message in, Node& out) {
  ReadFields(in, At<1>("capacity", out.capacity),
             At<2>("allocatable",
                   [&](Message& at) {
                     out.allocatable_given = true;
                     Take(at, out.allocatable);
                   }),
             At<4>("conditions", out.conditions), At<5>("addresses", out.addresses),
             At<8>("images", out.images), At<14>("declaredFeatures", out.declared_features));
}

// Covers all annotations, not only those that are kept.
std::uint64_t DigestOfAnnotations(Message metadata) {
  AnnotationsDigest digest;
  ReadFields(metadata, At<12>("annotations", [&](Message& at) {
               TakeEntry(at, [&](std::string_view key, std::string_view text) { digest.Add(key, text); });
             }));
  return digest.value();
}

void Read(Message in, Node& out) {
  ReadFields(in,
             At<1>("metadata",
                   [&](Message& at) {
                     const Message metadata = TakeMessage(at);
                     out.annotations_digest = DigestOfAnnotations(metadata);
                     Read(metadata, out.metadata);
                   }),
             At<2>("spec", [&](Message& at) { ReadNodeSpec(TakeMessage(at), out); }),
             At<3>("status", [&](Message& at) { ReadNodeStatus(TakeMessage(at), out); }));
  std::ranges::sort(out.declared_features);
}

}  // namespace berth::api::wire
