// Decodes Kubernetes objects. One Decoder per thread: it owns the parser's buffers and reuses them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/any_object.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/api/retained_fields.hpp"

namespace berth::api {

// metav1.Status: an error response of an API server.
struct Status {
  int code = 0;
  std::string reason;  // NotFound, Conflict, Expired, ...
  std::string message;
  int retry_after_seconds = 0;
  std::vector<std::string> cause_reasons;  // details.causes[].reason, e.g. ResourceVersionTooLarge
};

// An object that could not be decoded. The other objects of its list or stream are not affected.
struct Skipped {
  std::string key;    // namespace/name as far as known
  std::string error;  // path of the field and the error
};

// Ptr: std::shared_ptr<const T>, or AnyObject.
template <class Ptr>
struct ListOf {
  std::string resource_version;
  std::string continue_token;
  std::vector<Ptr> items;
  std::vector<Skipped> skipped;
};
template <class T>
using ObjectList = ListOf<std::shared_ptr<const T>>;
using AnyList = ListOf<AnyObject>;

// Names and versions of a list's objects of any kind: views into the text that was decoded.
struct VersionList {
  struct Item {
    std::string_view ns, name, resource_version;
  };
  std::string resource_version;
  std::string continue_token;
  std::vector<Item> items;
};

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

template <class Ptr>
struct EventOf {
  WatchEventType type = WatchEventType::kError;
  Ptr object{};                  // ADDED, MODIFIED, DELETED; none if it could not be decoded
  std::string key;               // of the object, also if it could not be decoded
  std::string resource_version;  // of the object, also for BOOKMARK and for objects that could not be decoded
  bool initial_events_end = false;  // BOOKMARK with annotation k8s.io/initial-events-end
  Status status;                    // ERROR
  std::string skipped;              // why the object could not be decoded; empty if it was
};
template <class T>
using WatchEvent = EventOf<std::shared_ptr<const T>>;
using AnyEvent = EventOf<AnyObject>;

// T is any kind of objects.hpp or external_groups.hpp, as JSON. Pods and nodes are also accepted as
// Kubernetes protobuf, which is detected by its first bytes and gives equal objects, but never their text
// (see RetainedTexts). Error texts begin with the path of the field ("spec.containers[0].image: ...").
class Decoder {
 public:
  // How the objects of one kind are read.
  struct Kind;
  template <class T>
  static const Kind& KindOf();

  explicit Decoder(RetainedFields retained = {});
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  template <class T>
  Expected<T> Object(std::string_view text);
  // The body of a list response. Fails only if the list itself is malformed.
  Expected<AnyList> List(const Kind& kind, std::string_view text);
  template <class T>
  Expected<ObjectList<T>> List(std::string_view text);
  // A list of any kind, or a PartialObjectMetadataList, as JSON or as Kubernetes protobuf; only metadata is
  // read. The views are valid as long as the text, and until the decoder is used again.
  Expected<VersionList> Versions(std::string_view text);
  // One frame of a watch: a line of JSON, or one length-delimited protobuf message. Fails only if the frame
  // itself is malformed.
  Expected<AnyEvent> Event(const Kind& kind, std::string_view text);
  template <class T>
  Expected<WatchEvent<T>> Event(std::string_view text);
  // The names in an APIResourceList, without subresources ("pods/status").
  Expected<std::vector<std::string>> ResourceNames(std::string_view json);
  // The body of an error response. If it is not a Status, the result is derived from the HTTP code.
  Status ErrorStatus(std::string_view body, int http_code);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Sets the defaults that the API server sets when an object is created (v1.37): requests from limits, host
// ports of host-network pods, protocols, scheduler name, the namespace "default", allocatable from capacity,
// modes and phases of volumes. For objects that did not come from an API server, such as files written by
// hand. No admission.
void ApplyDefaults(Pod& pod);
void ApplyDefaults(Node& node);
void ApplyDefaults(PersistentVolume& volume);
void ApplyDefaults(PersistentVolumeClaim& claim);
void ApplyDefaults(StorageClass& storage_class);
void ApplyDefaults(Namespace& ns);
// All other kinds: only the namespace "default" if it is empty.
template <class T>
void ApplyDefaults(T& object) {
  if (T::kNamespaced && object.metadata.ns.empty()) object.metadata.ns = "default";
}

// A file of Kubernetes objects: JSON or YAML, one or several documents, single objects or Lists.
struct Document {
  std::string kind;
  std::string group;     // of its apiVersion; empty: the core group
  std::string json;      // one object, never a List
  std::string location;  // "document 2, items[3]"
};
struct Documents {
  std::vector<Document> objects;
  std::vector<std::string> errors;  // documents that could not be read, with their location
};
// Fails if the beginning of the text is neither JSON nor YAML.
Expected<Documents> SplitDocuments(std::string_view text);

}  // namespace berth::api
