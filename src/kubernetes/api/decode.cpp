#include "kubernetes/api/decode.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/api/decode_common.hpp"
#include "kubernetes/api/json_extents.hpp"
#include "kubernetes/api/json_reader.hpp"
#include "kubernetes/api/sharing.hpp"
#include "kubernetes/api/version_list.hpp"
#include "kubernetes/api/wire/wire.hpp"

namespace berth::api {

struct Decoder::Impl {
  explicit Impl(RetainedFields retained) : retained(std::move(retained)) {}

  simdjson::dom::parser parser;
  RetainedFields retained;
  Sharing sharing;

  // Frees the memory that a whole list needed, many times its text; single objects do not need it.
  void ReleaseLargeBuffers() {
    constexpr std::size_t kKept = 1U << 20;
    if (parser.capacity() > kKept) parser = simdjson::dom::parser();
  }

  Expected<json::element> Parse(std::string_view text) {
    json::element root;
    if (const auto error = parser.parse(text.data(), text.size()).get(root)) {
      return Invalid(fmt::format("not valid JSON: {}", simdjson::error_message(error)));
    }
    return root;
  }
  // The string that this member of an object's text has; empty if there is none.
  std::string StringIn(std::string_view object, std::string_view member) {
    const auto text = json::MemberText(object, member);
    if (!text) return {};
    const auto value = Parse(*text);
    std::string_view string;
    return value && value->get(string) == simdjson::SUCCESS ? std::string(string) : std::string();
  }
  // Namespace, name and resource version of an object that cannot be parsed.
  ObjectMeta IdentityIn(std::string_view object) {
    const std::string_view metadata = json::MemberText(object, "metadata").value_or("");
    ObjectMeta meta;
    meta.ns = StringIn(metadata, "namespace");
    meta.name = StringIn(metadata, "name");
    meta.resource_version = StringIn(metadata, "resourceVersion");
    return meta;
  }
  AnyObject ReadItem(const Kind& kind, const json::element& item, Skipped& skipped);
  Expected<AnyList> ReadList(const Kind& kind, const json::element& root);
  Expected<AnyList> ReadItemByItem(const Kind& kind, std::string_view text, Error error);
  Expected<AnyEvent> ReadUnparsable(const Kind& kind, std::string_view text, Error error);
};

struct Decoder::Kind {
  // None: `failure` says why.
  AnyObject (*read)(const json::element& item, const RetainedFields& retained, Sharing& sharing,
                    json::Failure& failure);
  // Null: the kind is not read from protobuf.
  Expected<AnyList> (*list)(std::string_view text, const RetainedFields& retained, Sharing& sharing);
  Expected<AnyEvent> (*event)(std::string_view frame, const RetainedFields& retained, Sharing& sharing);
};

namespace {

using json::element;
using json::Failure;

std::string KeyOf(const element& object) {
  ObjectMeta meta;
  Failure ignored;
  element metadata;
  if (object["metadata"].get(metadata) == simdjson::SUCCESS) json::Read(metadata, meta, ignored);
  return meta.Key();
}

template <class T>
bool ReadWhole(const element& item, const RetainedFields& retained, Sharing& sharing, T& object,
               Failure& failure) {
  if (!json::Read(item, object, failure)) return false;
  if (!retained.annotations.empty() &&
      !json::ReadAnnotationsOf(item, retained.annotations, object.metadata, failure)) {
    return false;
  }
  sharing.Share(object);
  if constexpr (std::is_same_v<T, Node>) {
    if (retained.texts.nodes) object.text = json::GoText(item, true);
  } else if constexpr (std::is_same_v<T, Pod>) {
    if (object.spec.node_name.empty() ? retained.texts.waiting_pods : retained.texts.placed_pods)
      object.text = json::GoText(item, false);
  }
  return true;
}

template <class T>
AnyObject ReadAny(const element& item, const RetainedFields& retained, Sharing& sharing, Failure& failure) {
  auto object = std::make_shared<T>();
  if (!ReadWhole(item, retained, sharing, *object, failure)) return {};
  return AnyObject(std::shared_ptr<const T>(std::move(object)));
}

bool ReadStatus(const element& value, Status& out, Failure& failure) {
  return json::ReadObject(value, failure, [&](std::string_view key, const element& member) {
    std::int64_t number = 0;
    if (key == "code" && member.get(number) == simdjson::SUCCESS) out.code = static_cast<int>(number);
    if (key == "reason") return json::Read(member, out.reason, failure);
    if (key == "message") return json::Read(member, out.message, failure);
    if (key != "details") return true;
    if (member["retryAfterSeconds"].get(number) == simdjson::SUCCESS)
      out.retry_after_seconds = static_cast<int>(number);
    simdjson::dom::array causes;
    if (member["causes"].get(causes) != simdjson::SUCCESS) return true;
    for (const element& cause : causes) {
      std::string_view reason;
      if (cause["reason"].get(reason) == simdjson::SUCCESS) out.cause_reasons.emplace_back(reason);
    }
    return true;
  });
}

bool EndsInitialEvents(const element& object) {
  std::string_view flag;
  return object["metadata"]["annotations"]["k8s.io/initial-events-end"].get(flag) == simdjson::SUCCESS &&
         flag == "true";
}

std::string ResourceVersionOf(const element& object) {
  std::string_view version;
  return object["metadata"]["resourceVersion"].get(version) == simdjson::SUCCESS ? std::string(version) : "";
}

}  // namespace

Decoder::Decoder(RetainedFields retained) : impl_(std::make_unique<Impl>(std::move(retained))) {}
Decoder::~Decoder() = default;

template <class T>
Expected<T> Decoder::Object(std::string_view text) {
  if constexpr (wire::Known<T>) {
    if (wire::IsEnvelope(text)) return wire::ReadObject<T>(text, impl_->retained, impl_->sharing);
  }
  BERTH_TRY(const element root, impl_->Parse(text));
  T object;
  Failure failure;
  if (!ReadWhole(root, impl_->retained, impl_->sharing, object, failure)) return Invalid(failure.Text());
  return object;
}

AnyObject Decoder::Impl::ReadItem(const Kind& kind, const element& item, Skipped& skipped) {
  Failure failure;
  AnyObject object = kind.read(item, retained, sharing, failure);
  if (!object) skipped = {KeyOf(item), failure.Text()};
  return object;
}

Expected<AnyList> Decoder::List(const Kind& kind, std::string_view text) {
  if (kind.list != nullptr && wire::IsEnvelope(text)) return kind.list(text, impl_->retained, impl_->sharing);
  const auto root = impl_->Parse(text);
  auto list = root ? impl_->ReadList(kind, *root) : impl_->ReadItemByItem(kind, text, root.error());
  impl_->ReleaseLargeBuffers();
  return list;
}

template <class T>
Expected<ObjectList<T>> Decoder::List(std::string_view text) {
  BERTH_TRY(AnyList any, List(KindOf<T>(), text));
  ObjectList<T> list{.resource_version = std::move(any.resource_version),
                     .continue_token = std::move(any.continue_token),
                     .items = {},
                     .skipped = std::move(any.skipped)};
  list.items.reserve(any.items.size());
  for (const AnyObject& item : any.items) list.items.push_back(item.As<T>());
  return list;
}

Expected<AnyList> Decoder::Impl::ReadList(const Kind& kind, const element& root) {
  AnyList list;
  Failure failure;
  const bool fine = json::ReadObject(root, failure, [&](std::string_view key, const element& member) {
    if (key == "metadata") {
      return json::ReadObject(member, failure, [&](std::string_view inner, const element& text_member) {
        if (inner == "resourceVersion") return json::Read(text_member, list.resource_version, failure);
        if (inner == "continue") return json::Read(text_member, list.continue_token, failure);
        return true;
      });
    }
    if (key != "items") return true;
    simdjson::dom::array items;
    if (member.get(items) != simdjson::SUCCESS) return json::Expect(member, "a list", failure);
    list.items.reserve(items.size());
    for (const element& item : items) {
      Skipped skipped;
      if (AnyObject object = ReadItem(kind, item, skipped)) {
        list.items.push_back(std::move(object));
      } else {
        list.skipped.push_back(std::move(skipped));
      }
    }
    return true;
  });
  if (!fine) return Invalid(failure.Text());
  return list;
}

// One item that the parser rejects must not hide all others. Most lists never come here. Errors of the list
// itself are those of the whole text.
Expected<AnyList> Decoder::Impl::ReadItemByItem(const Kind& kind, std::string_view text, Error error) {
  const auto items_text = json::MemberText(text, "items");
  const auto items = items_text ? json::ItemTexts(*items_text) : std::nullopt;
  const auto is_object = [](std::string_view item) { return item.starts_with('{'); };
  if (!items || !std::ranges::all_of(*items, is_object)) return std::unexpected(std::move(error));
  const auto begin = static_cast<std::size_t>(items_text->data() - text.data());
  std::string without_items(text.substr(0, begin));
  without_items.append("[]").append(text.substr(begin + items_text->size()));
  const auto envelope = Parse(without_items);
  if (!envelope) return std::unexpected(std::move(error));
  BERTH_TRY(AnyList list, ReadList(kind, *envelope));
  for (const std::string_view item : *items) {
    Skipped skipped;
    const auto parsed = Parse(item);
    AnyObject object = parsed ? ReadItem(kind, *parsed, skipped) : AnyObject();
    if (object) {
      list.items.push_back(std::move(object));
    } else {
      list.skipped.push_back(parsed ? std::move(skipped)
                                    : Skipped{IdentityIn(item).Key(), parsed.error().message});
    }
  }
  return list;
}

Expected<VersionList> Decoder::Versions(std::string_view text) {
  if (wire::IsEnvelope(text)) return wire::ReadVersions(text);
  BERTH_TRY(const element root, impl_->Parse(text));
  return VersionsFromJson(root);
}

Expected<AnyEvent> Decoder::Event(const Kind& kind, std::string_view text) {
  if (kind.event != nullptr && wire::IsEvent(text)) return kind.event(text, impl_->retained, impl_->sharing);
  const auto parsed = impl_->Parse(text);
  if (!parsed) return impl_->ReadUnparsable(kind, text, parsed.error());
  const element root = *parsed;
  std::string_view type_name;
  element object;
  if (root["type"].get(type_name) != simdjson::SUCCESS) return Invalid("type: expected a string");
  if (root["object"].get(object) != simdjson::SUCCESS) return Invalid("object: missing");
  const auto type = EventType(type_name);
  if (!type) return Invalid(fmt::format("type: \"{}\" is not a watch event type", type_name));

  AnyEvent event;
  event.type = *type;
  if (event.type == WatchEventType::kError) {
    Failure failure;
    if (!ReadStatus(object, event.status, failure)) return Invalid(failure.Text());
    return event;
  }
  if (event.type == WatchEventType::kBookmark) {
    event.resource_version = ResourceVersionOf(object);
    event.initial_events_end = EndsInitialEvents(object);
    return event;
  }
  Skipped skipped;
  event.object = impl_->ReadItem(kind, object, skipped);
  event.key = event.object ? event.object.metadata().Key() : skipped.key;
  event.resource_version =
      event.object ? event.object.metadata().resource_version : ResourceVersionOf(object);
  event.skipped = std::move(skipped.error);
  return event;
}

template <class T>
Expected<WatchEvent<T>> Decoder::Event(std::string_view text) {
  BERTH_TRY(AnyEvent any, Event(KindOf<T>(), text));
  return WatchEvent<T>{.type = any.type,
                       .object = any.object.As<T>(),
                       .key = std::move(any.key),
                       .resource_version = std::move(any.resource_version),
                       .initial_events_end = any.initial_events_end,
                       .status = std::move(any.status),
                       .skipped = std::move(any.skipped)};
}

// An event whose object the parser rejects: the version is known, the object is skipped.
Expected<AnyEvent> Decoder::Impl::ReadUnparsable(const Kind& kind, std::string_view text, Error error) {
  const auto type = EventType(StringIn(text, "type"));
  const auto object = json::MemberText(text, "object");
  const bool of_object = type && *type != WatchEventType::kError && *type != WatchEventType::kBookmark;
  if (!of_object || !object || !object->starts_with('{')) return std::unexpected(std::move(error));
  const ObjectMeta meta = IdentityIn(*object);
  if (meta.resource_version.empty()) return std::unexpected(std::move(error));
  AnyEvent event;
  event.type = *type;
  event.key = meta.Key();
  event.resource_version = meta.resource_version;
  Skipped skipped{event.key, std::move(error.message)};
  // The object alone may be nested less deeply than the parser allows.
  if (const auto parsed = Parse(*object)) event.object = ReadItem(kind, *parsed, skipped);
  if (event.object) {
    event.key = event.object.metadata().Key();
  } else {
    event.skipped = std::move(skipped.error);
  }
  return event;
}

Expected<std::vector<std::string>> Decoder::ResourceNames(std::string_view text) {
  BERTH_TRY(const element root, impl_->Parse(text));
  std::vector<std::string> names;
  Failure failure;
  const auto resources = [&](const element& list, Failure& f) {
    return json::ReadItems(list, f, [&](const element& item) {
      std::string name;
      if (!json::ReadFields(item, f, json::Field{"name", name})) return false;
      if (name.find('/') == name.npos) names.push_back(std::move(name));
      return true;
    });
  };
  if (!json::ReadFields(root, failure, json::Field{"resources", resources})) return Invalid(failure.Text());
  return names;
}

Status Decoder::ErrorStatus(std::string_view body, int http_code) {
  Status status;
  Failure ignored;
  if (wire::IsEnvelope(body)) {
    if (auto read = wire::ReadStatus(body)) status = *std::move(read);
    body = {};  // not a readable text
  } else if (const auto root = impl_->Parse(body)) {
    std::string_view kind;
    if ((*root)["kind"].get(kind) == simdjson::SUCCESS && kind == "Status")
      ReadStatus(*root, status, ignored);
  }
  if (status.code == 0) status.code = http_code;
  if (status.message.empty()) {
    constexpr std::size_t kShown = 200;
    status.message = fmt::format("HTTP {}{}{}", http_code, body.empty() ? "" : ": ", body.substr(0, kShown));
  }
  return status;
}

template <class T>
const Decoder::Kind& Decoder::KindOf() {
  static constexpr Kind kKind = [] {
    Kind kind{.read = ReadAny<T>, .list = nullptr, .event = nullptr};
    if constexpr (wire::Known<T>) {
      kind.list = wire::ReadList<T>;
      kind.event = wire::ReadEvent<T>;
    }
    return kind;
  }();
  return kKind;
}

// Instantiates everything of one kind.
#define BERTH_DECODES(T)                                               \
  template const Decoder::Kind& Decoder::KindOf<T>();                  \
  template Expected<T> Decoder::Object<T>(std::string_view);           \
  template Expected<ObjectList<T>> Decoder::List<T>(std::string_view); \
  template Expected<WatchEvent<T>> Decoder::Event<T>(std::string_view);
BERTH_DECODES(Pod)
BERTH_DECODES(Node)
BERTH_DECODES(Namespace)
BERTH_DECODES(PersistentVolume)
BERTH_DECODES(PersistentVolumeClaim)
BERTH_DECODES(StorageClass)
BERTH_DECODES(CSINode)
BERTH_DECODES(CSIDriver)
BERTH_DECODES(CSIStorageCapacity)
BERTH_DECODES(VolumeAttachment)
BERTH_DECODES(Service)
BERTH_DECODES(ReplicationController)
BERTH_DECODES(ReplicaSet)
BERTH_DECODES(StatefulSet)
BERTH_DECODES(PodDisruptionBudget)
BERTH_DECODES(DeviceClass)
BERTH_DECODES(ResourceClaim)
BERTH_DECODES(ResourceSlice)
BERTH_DECODES(DeviceTaintRule)
BERTH_DECODES(PodGroup)
BERTH_DECODES(CompositePodGroup)
BERTH_DECODES(ElasticQuota)
BERTH_DECODES(NodeResourceTopology)
BERTH_DECODES(PriorityClass)
BERTH_DECODES(CoschedulingPodGroup)
BERTH_DECODES(VolcanoPodGroup)
BERTH_DECODES(Job)
#undef BERTH_DECODES

}  // namespace berth::api
