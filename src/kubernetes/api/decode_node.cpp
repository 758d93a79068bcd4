// Nodes, field by field.
#include <algorithm>

#include "kubernetes/api/decode_common.hpp"
#include "kubernetes/api/json_reader.hpp"

namespace berth::api::json {
// Not in an unnamed namespace: the readers of lists and optionals find these by argument-dependent lookup.

bool Read(const element& value, ContainerImage& out, Failure& failure) {
  return ReadFields(value, failure, Field{"names", out.names}, Field{"sizeBytes", out.size_bytes});
}

bool Read(const element& value, NodeCondition& out, Failure& failure) {
  return ReadFields(value, failure, Field{"type", out.type}, Field{"status", out.status});
}

bool Read(const element& value, NodeAddress& out, Failure& failure) {
  return ReadFields(value, failure, Field{"type", out.type}, Field{"address", out.address});
}

std::uint64_t DigestOf(const element& annotations) {
  simdjson::dom::object object;
  if (annotations.get(object) != simdjson::SUCCESS) return 0;
  AnnotationsDigest digest;
  for (const auto& [key, member] : object) {
    std::string_view text;
    if (member.get(text) == simdjson::SUCCESS) digest.Add(key, text);
  }
  return digest.value();
}

bool ReadNodeSpec(const element& value, Node& out, Failure& failure) {
  return ReadFields(value, failure, Field{"unschedulable", out.unschedulable}, Field{"taints", out.taints});
}

bool ReadNodeStatus(const element& value, Node& out, Failure& failure) {
  const auto allocatable = [&](const element& member, Failure& f) {
    out.allocatable_given = true;
    return Read(member, out.allocatable, f);
  };
  return ReadFields(value, failure, Field{"allocatable", allocatable}, Field{"capacity", out.capacity},
                    Field{"images", out.images}, Field{"conditions", out.conditions},
                    Field{"addresses", out.addresses}, Field{"declaredFeatures", out.declared_features});
}

bool Read(const element& value, Node& out, Failure& failure) {
  const bool fine = ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "spec") return ReadNodeSpec(member, out, failure);
    if (key == "status") return ReadNodeStatus(member, out, failure);
    if (key != "metadata") return true;
    if (element annotations; member["annotations"].get(annotations) == simdjson::SUCCESS) {
      out.annotations_digest = DigestOf(annotations);
    }
    return Read(member, out.metadata, failure);
  });
  std::ranges::sort(out.declared_features);
  return fine;
}

}  // namespace berth::api::json
