// Kubernetes' protobuf encoding of pods and nodes; private to api. Decoder passes texts with the protobuf
// prefix here.
//
// Results equal those of the same object in JSON. Errors have JSON's form: the path of the field and the
// error. Any input bytes are safe.
#pragma once

#include <concepts>
#include <optional>
#include <string_view>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/sharing.hpp"

namespace berth::api::wire {

// The kinds that can be decoded from protobuf.
template <class T>
concept Known = std::same_as<T, Pod> || std::same_as<T, Node>;

// Whether the text begins with "k8s" and a zero byte, as every object and every list does.
bool IsEnvelope(std::string_view text);
// Whether the frame begins with one of the two fields of a watch event; no line of JSON begins with these
// bytes.
bool IsEvent(std::string_view frame);

// See Decoder.
template <Known T>
Expected<T> ReadObject(std::string_view text, const RetainedFields& retained, Sharing& sharing);
template <Known T>
Expected<AnyList> ReadList(std::string_view text, const RetainedFields& retained, Sharing& sharing);
template <Known T>
Expected<AnyEvent> ReadEvent(std::string_view frame, const RetainedFields& retained, Sharing& sharing);
// A list of any kind.
Expected<VersionList> ReadVersions(std::string_view text);
// Fails if the text is not a Status.
Expected<Status> ReadStatus(std::string_view text);

}  // namespace berth::api::wire
