#include "sandbox/apiserver/protobuf.hpp"

#include <fmt/format.h>

#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/clock.hpp"
#include "base/utf8.hpp"
#include "http/base64.hpp"
#include "sandbox/store/schema/schema.hpp"

namespace berth::sandbox {
namespace {

using Message = protozero::pbf_reader;

constexpr std::string_view kMagic("k8s\0", 4);
constexpr int kMaxDepth = 64;

// A value that its field cannot have; protozero throws its own exceptions for malformed messages.
struct MalformedProtobuf final : protozero::exception {
  const char* what() const noexcept override { return "malformed"; }
};

std::string_view Bytes(Message& at) {
  if (!at.has_wire_type(protozero::pbf_wire_type::length_delimited)) throw MalformedProtobuf();
  const auto view = at.get_view();
  return {view.data(), view.size()};
}
Message Submessage(Message& at) {
  const auto bytes = Bytes(at);
  return {bytes.data(), bytes.size()};
}
std::string_view Text(Message& at) {
  const auto bytes = Bytes(at);
  if (!IsUtf8(bytes)) throw MalformedProtobuf();
  return bytes;
}
std::int64_t Integer(Message& at) {
  if (!at.has_wire_type(protozero::pbf_wire_type::varint)) throw MalformedProtobuf();
  return at.get_int64();
}
double Double(Message& at) {
  if (!at.has_wire_type(protozero::pbf_wire_type::fixed64)) throw MalformedProtobuf();
  return at.get_double();
}

json::value Time(Message in, bool micro) {
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
  while (in.next()) {
    if (in.tag() == 1) {
      seconds = Integer(in);
    } else if (in.tag() == 2) {
      nanos = Integer(in);
    } else {
      in.skip();
    }
  }
  if (seconds < -62135596800 || seconds > 253402300799) throw MalformedProtobuf();
  if (seconds == 0 && nanos == 0) return nullptr;
  if (seconds < -9'000'000'000 || seconds > 9'000'000'000) return nullptr;  // outside the clock's range
  const WallTime time(std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos % 1'000'000'000));
  return json::value(micro ? FormatMicroTime(time) : FormatTime(time));
}

json::value Quantity(Message in) {
  std::string_view text;
  while (in.next()) {
    if (in.tag() == 1) {
      text = Text(in);
    } else {
      in.skip();
    }
  }
  return json::value(text);
}

json::value IntOrString(Message in) {
  bool is_text = false;
  std::int64_t number = 0;
  std::string_view text;
  while (in.next()) {
    if (in.tag() == 1) {
      is_text = Integer(in) == 1;
    } else if (in.tag() == 2) {
      number = static_cast<std::int32_t>(Integer(in));
    } else if (in.tag() == 3) {
      text = Text(in);
    } else {
      in.skip();
    }
  }
  return is_text ? json::value(text) : json::value(number);
}

// A runtime.RawExtension: any JSON value as text. Null if there is none.
json::value Extension(Message in) {
  std::string_view raw;
  while (in.next()) {
    if (in.tag() == 1) {
      raw = Bytes(in);
    } else {
      in.skip();
    }
  }
  if (raw.empty()) return nullptr;
  auto value = ParseJson(raw);
  if (!value) throw MalformedProtobuf();
  return std::move(*value);
}

json::value Value(Message& at, const SchemaField& known, int depth);

bool IsUnset(const json::value& value, const SchemaField& known) {
  if (known.type == 'o') return value.is_null();
  if (known.zero_counts) return false;
  return value.is_null() || (value.is_string() && value.get_string().empty()) ||
         (value.is_int64() && value.get_int64() == 0) || (value.is_bool() && !value.get_bool());
}

// Reads one entry of a map.
void ReadEntry(Message in, const SchemaField& known, json::object& into, int depth) {
  std::string_view key;
  json::value value = known.type == 'm' ? json::value(json::object()) : json::value("");
  while (in.next()) {
    if (in.tag() == 1) {
      key = Text(in);
    } else if (in.tag() == 2) {
      value = Value(in, known, depth);
    } else {
      in.skip();
    }
  }
  ObjectAt(into, known.name)[key] = std::move(value);
}

void ReadMessage(Message in, const SchemaMessage& message, json::object& into, int depth = 0) {
  if (depth > kMaxDepth) throw MalformedProtobuf();
  while (in.next()) {
    const SchemaField* known = message.Find(in.tag());
    if (known == nullptr || (known->type == 'o' && known->many != SchemaField::Many::kOne)) {
      in.skip();  // managedFields among them: the server computes its own
    } else if (known->inlined) {
      ReadMessage(Submessage(in), *known->message, into, depth + 1);
    } else if (known->many == SchemaField::Many::kMap) {
      ReadEntry(Submessage(in), *known, into, depth);
    } else if (auto value = Value(in, *known, depth); known->many == SchemaField::Many::kList) {
      ArrayAt(into, known->name).push_back(std::move(value));
    } else if (!IsUnset(value, *known)) {
      into[known->name] = std::move(value);
    }
  }
}

json::value Value(Message& at, const SchemaField& known, int depth) {
  switch (known.type) {
    case 'i':
    case 'l':
      return Integer(at);
    case 'b':
      return Integer(at) != 0;
    case 'd':
      return Double(at);
    case 's':
      return json::value(Text(at));
    case 'B':
      return json::value(http::EncodeBase64(Bytes(at)));
    case 't':
      return Time(Submessage(at), false);
    case 'T':
      return Time(Submessage(at), true);
    case 'q':
      return Quantity(Submessage(at));
    case 'I':
      return IntOrString(Submessage(at));
    case 'o':
      return Extension(Submessage(at));
    case 'm':
      break;
    default:
      at.skip();
      return nullptr;
  }
  json::object object;
  ReadMessage(Submessage(at), *known.message, object, depth + 1);
  return object;
}

struct Envelope {
  std::string_view api_version, kind, raw;
};

void ReadTypeMeta(Message in, Envelope& envelope) {
  while (in.next()) {
    if (in.tag() == 1) {
      envelope.api_version = Text(in);
    } else if (in.tag() == 2) {
      envelope.kind = Text(in);
    } else {
      in.skip();
    }
  }
}

// nullopt if it is malformed.
std::optional<Envelope> ReadEnvelope(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  try {
    Envelope envelope;
    Message in(bytes.data(), bytes.size());
    while (in.next()) {
      if (in.tag() == 1) {
        ReadTypeMeta(Submessage(in), envelope);
      } else if (in.tag() == 2) {
        envelope.raw = Bytes(in);
      } else {
        in.skip();
      }
    }
    return envelope;
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

// False if the bytes are malformed.
bool ReadRoot(std::string_view bytes, const SchemaMessage& message, json::object& into) {
  try {
    ReadMessage(Message(bytes.data(), bytes.size()), message, into);
    return true;
  } catch (const protozero::exception&) {
    return false;
  }
}

}  // namespace

ApiResult<Document> DecodeProtobuf(std::string_view bytes) {
  const auto envelope = ReadEnvelope(bytes);
  if (!envelope)
    return BadRequest(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  const auto slash = envelope->api_version.find('/');
  const auto group =
      slash == std::string_view::npos ? std::string_view() : envelope->api_version.substr(0, slash);
  const SchemaMessage* message = FindSchema(group, envelope->kind);
  if (message == nullptr) {
    return UnsupportedMediaType(
        fmt::format("this server does not read {} {} as protobuf; send JSON (kubectl apply -f does)",
                    envelope->api_version, envelope->kind));
  }
  Document document;
  document.root()["kind"] = envelope->kind;
  document.root()["apiVersion"] = envelope->api_version;
  if (!ReadRoot(envelope->raw, *message, document.root())) {
    return BadRequest(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: unexpected EOF",
                                  envelope->kind, envelope->api_version));
  }
  return document;
}

}  // namespace berth::sandbox
