// Kubernetes' protobuf encoding of pods and nodes; private to api. Decoder hands over what begins like it.
//
// Whatever is read is equal to what the JSON of the same object gives. Errors say what JSON's say: the path
// of the field, and what is wrong with it. Any bytes may come.
#pragma once

#include <concepts>
#include <optional>
#include <string_view>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/sharing.hpp"

namespace berth::api::wire {

// Which kinds are read.
template <class T>
concept Known = std::same_as<T, Pod> || std::same_as<T, Node>;

// "k8s" and a zero byte begin every object and every list.
bool IsEnvelope(std::string_view text);
// Frames of a watch begin with one of an event's two fields, which begins no line of JSON.
bool IsEvent(std::string_view frame);

// See Decoder.
template <Known T>
Expected<T> ReadObject(std::string_view text, Sharing& sharing);
template <Known T>
Expected<ObjectList<T>> ReadList(std::string_view text, Sharing& sharing);
template <Known T>
Expected<WatchEvent<T>> ReadEvent(std::string_view frame, Sharing& sharing);
// A list of any kind.
Expected<VersionList> ReadVersions(std::string_view text);
// Fails if it is no Status.
Expected<Status> ReadStatus(std::string_view text);

}  // namespace berth::api::wire
