#include "kubernetes/api/wire/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kubernetes/api/decode_common.hpp"
#include "kubernetes/api/wire/message.hpp"

namespace berth::api::wire {
namespace {

constexpr std::string_view kMagic{"k8s\0", 4};

// Converts all exceptions of the readers to errors.
template <class Reader>
Expected<> Guarded(Reader&& read) {
  try {
    read();
    return {};
  } catch (const Unreadable& error) {
    return Invalid(error.Text());
  } catch (const protozero::exception& error) {
    return Invalid(Unreadable(error).Text());
  }
}

// runtime.Unknown, the message that follows "k8s\0".
struct Envelope {
  std::string_view kind;
  std::string_view raw;
};

Envelope OpenEnvelope(std::string_view text) {
  if (!IsEnvelope(text)) throw Unreadable("not Kubernetes' protobuf: it does not begin with \"k8s\\0\"");
  Envelope envelope;
  std::string_view encoding;
  ReadFields(Message(text.substr(kMagic.size())),
             At<1>("typeMeta",
                   [&](Message& at) {
                     ReadFields(TakeMessage(at),
                                At<2>("kind", [&](Message& kind) { envelope.kind = TakeBytes(kind); }));
                   }),
             At<2>("raw", [&](Message& at) { envelope.raw = TakeBytes(at); }),
             At<3>("contentEncoding", [&](Message& at) { encoding = TakeBytes(at); }));
  std::string repaired;
  if (!encoding.empty())
    throw Unreadable(fmt::format("contentEncoding: \"{}\" is not known", ValidText(encoding, repaired)));
  return envelope;
}

// The message of an object of this kind. Unlike JSON, the raw message does not contain its kind.
Message Open(std::string_view text, std::string_view kind) {
  const Envelope envelope = OpenEnvelope(text);
  std::string repaired;
  if (!envelope.kind.empty() && envelope.kind != kind)
    throw Unreadable(fmt::format("expected a {}, got a {}", kind, ValidText(envelope.kind, repaired)));
  return Message(envelope.raw);
}

// The identity of an object that cannot be decoded.
struct Identity {
  ObjectMeta meta;
  bool initial_events_end = false;
};

// Reads the identity as far as possible.
Identity ReadIdentity(Message object) {
  Identity identity;
  ObjectMeta& meta = identity.meta;
  const auto annotation = [&](std::string_view key, std::string_view text) {
    identity.initial_events_end |= key == "k8s.io/initial-events-end" && text == "true";
  };
  (void)Guarded([&] {
    ReadFields(object, At<1>("metadata", [&](Message& at) {
                 ReadFields(TakeMessage(at), At<1>("name", meta.name), At<3>("namespace", meta.ns),
                            At<6>("resourceVersion", meta.resource_version),
                            At<12>("annotations", [&](Message& entry) { TakeEntry(entry, annotation); }));
               }));
  });
  return identity;
}

// Adds the annotations with these keys of a whole object.
void ReadAnnotationsOf(Message object, const std::vector<std::string>& keys, ObjectMeta& out) {
  const auto annotation = [&](std::string_view key, std::string_view text) {
    if (std::ranges::find(keys, key) == keys.end()) return;
    if (!out.annotations) out.annotations.emplace();
    out.annotations->Set(std::string(key), std::string(text));
  };
  ReadFields(object, At<1>("metadata", [&](Message& at) {
               ReadFields(TakeMessage(at),
                          At<12>("annotations", [&](Message& entry) { TakeEntry(entry, annotation); }));
             }));
}

template <class T>
void ReadWhole(Message in, const RetainedFields& retained, T& out) {
  Read(in, out);
  if (!retained.annotations.empty()) ReadAnnotationsOf(in, retained.annotations, out.metadata);
}

// None if the object cannot be decoded; `skipped` is then the reason.
template <class T>
AnyObject ReadItem(Message item, const RetainedFields& retained, Sharing& sharing, Skipped& skipped) {
  auto object = std::make_shared<T>();
  if (auto read = Guarded([&] { ReadWhole(item, retained, *object); }); !read) {
    skipped = {ReadIdentity(item).meta.Key(), std::move(read).error().message};
    return {};
  }
  sharing.Share(*object);
  return AnyObject(std::shared_ptr<const T>(std::move(object)));
}

void ReadListMeta(Message in, auto& list) {
  ReadFields(in, At<2>("resourceVersion", list.resource_version), At<3>("continue", list.continue_token));
}

void Read(Message in, Status& out) {
  const auto cause = [&](Message& at) {
    ReadFields(TakeMessage(at), At<1>("reason", out.cause_reasons.emplace_back()));
    if (out.cause_reasons.back().empty()) out.cause_reasons.pop_back();
  };
  ReadFields(in, At<3>("message", out.message), At<4>("reason", out.reason),
             At<5>("details",
                   [&](Message& at) {
                     ReadFields(TakeMessage(at), At<4>("causes", cause),
                                At<5>("retryAfterSeconds", out.retry_after_seconds));
                   }),
             At<6>("code", out.code));
}

}  // namespace

bool IsEnvelope(std::string_view text) { return text.starts_with(kMagic); }

bool IsEvent(std::string_view frame) {
  return !frame.empty() && (frame.front() == '\x0a' || frame.front() == '\x12');
}

template <Known T>
Expected<T> ReadObject(std::string_view text, const RetainedFields& retained, Sharing& sharing) {
  T object;
  BERTH_RETURN_IF_ERROR(Guarded([&] { ReadWhole(Open(text, T::kKind), retained, object); }));
  sharing.Share(object);
  return object;
}

template <Known T>
Expected<AnyList> ReadList(std::string_view text, const RetainedFields& retained, Sharing& sharing) {
  AnyList list;
  // Only at the first item: many items that cannot be decoded may precede the first object.
  bool reserved = false;
  const auto item = [&](Message& at) {
    if (!std::exchange(reserved, true)) list.items.reserve(RunLength(at));
    Skipped skipped;
    if (auto object = ReadItem<T>(TakeMessage(at), retained, sharing, skipped)) {
      list.items.push_back(std::move(object));
    } else {
      list.skipped.push_back(std::move(skipped));
    }
  };
  BERTH_RETURN_IF_ERROR(Guarded([&] {
    ReadFields(Open(text, std::string(T::kKind) + "List"),
               At<1>("metadata", [&](Message& at) { ReadListMeta(TakeMessage(at), list); }),
               At<2>("items", item));
  }));
  return list;
}

template <Known T>
Expected<AnyEvent> ReadEvent(std::string_view frame, const RetainedFields& retained, Sharing& sharing) {
  AnyEvent event;
  const auto read = Guarded([&] {
    std::string type_name;
    std::string_view object;
    ReadFields(Message(frame), At<1>("type", type_name), At<2>("object", [&](Message& at) {
                 ReadFields(TakeMessage(at), At<1>("raw", [&](Message& raw) { object = TakeBytes(raw); }));
               }));
    const auto type = EventType(type_name);
    if (!type) throw Unreadable(fmt::format("type: \"{}\" is not a watch event type", type_name));
    event.type = *type;
    if (event.type == WatchEventType::kError) return Read(Open(object, "Status"), event.status);
    const Message message = Open(object, T::kKind);
    if (event.type != WatchEventType::kBookmark) {
      Skipped skipped;
      event.object = ReadItem<T>(message, retained, sharing, skipped);
      event.skipped = std::move(skipped.error);
      event.key = std::move(skipped.key);
    }
    if (event.object) {
      event.key = event.object.metadata().Key();
      event.resource_version = event.object.metadata().resource_version;
    } else {
      Identity identity = ReadIdentity(message);
      event.resource_version = std::move(identity.meta.resource_version);
      event.initial_events_end = event.type == WatchEventType::kBookmark && identity.initial_events_end;
    }
  });
  if (!read) return std::unexpected(read.error());
  return event;
}

Expected<VersionList> ReadVersions(std::string_view text) {
  VersionList list;
  const auto item = [&](Message& at) {
    VersionList::Item& entry = list.items.emplace_back();
    const auto into = [](std::string_view& view) {
      return [&view](Message& field) { view = TakeBytes(field); };
    };
    ReadFields(TakeMessage(at), At<1>("metadata", [&](Message& metadata) {
                 ReadFields(TakeMessage(metadata), At<1>("name", into(entry.name)),
                            At<3>("namespace", into(entry.ns)),
                            At<6>("resourceVersion", into(entry.resource_version)));
               }));
    if (entry.name.empty() || entry.resource_version.empty())
      throw Unreadable(
          fmt::format("items[{}].metadata: expected a name and a resourceVersion", list.items.size() - 1));
  };
  BERTH_RETURN_IF_ERROR(Guarded([&] {
    ReadFields(Message(OpenEnvelope(text).raw),
               At<1>("metadata", [&](Message& at) { ReadListMeta(TakeMessage(at), list); }),
               At<2>("items", item));
  }));
  if (list.resource_version.empty()) return Invalid("metadata.resourceVersion: missing");
  return list;
}

Expected<Status> ReadStatus(std::string_view text) {
  Status status;
  BERTH_RETURN_IF_ERROR(Guarded([&] { Read(Open(text, "Status"), status); }));
  return status;
}

template Expected<Pod> ReadObject<Pod>(std::string_view, const RetainedFields&, Sharing&);
template Expected<Node> ReadObject<Node>(std::string_view, const RetainedFields&, Sharing&);
template Expected<AnyList> ReadList<Pod>(std::string_view, const RetainedFields&, Sharing&);
template Expected<AnyList> ReadList<Node>(std::string_view, const RetainedFields&, Sharing&);
template Expected<AnyEvent> ReadEvent<Pod>(std::string_view, const RetainedFields&, Sharing&);
template Expected<AnyEvent> ReadEvent<Node>(std::string_view, const RetainedFields&, Sharing&);

}  // namespace berth::api::wire
