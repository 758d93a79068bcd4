#include "sandbox/apiserver/protobuf.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>

#include "base/clock.hpp"
#include "base/utf8.hpp"
#include "http/base64.hpp"
#include "sandbox/store/schema/schema.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);
constexpr int kMaxDepth = 64;

// One field of a message.
struct WireField {
  std::uint32_t number = 0;
  bool is_bytes = false;
  std::uint64_t value = 0;  // varint or fixed
  std::string_view bytes;
};

// Reads fields sequentially. broken() tells malformed input from the end of the input.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<WireField> Next() {
    if (rest_.empty() || broken_) return std::nullopt;
    const std::uint64_t tag = Varint();
    WireField field;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        field.value = Varint();
        break;
      case 1:
        field.value = Fixed(8);
        break;
      case 5:
        field.value = Fixed(4);
        break;
      case 2: {
        const std::uint64_t size = Varint();
        if (size > rest_.size()) broken_ = true;
        if (broken_) break;
        field.is_bytes = true;
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        break;
      }
      default:
        broken_ = true;
    }
    if (broken_ || field.number == 0) {
      broken_ = true;
      return std::nullopt;
    }
    return field;
  }
  bool broken() const { return broken_; }

 private:
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    broken_ = true;
    return 0;
  }
  std::uint64_t Fixed(std::size_t size) {
    if (rest_.size() < size) {
      broken_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, rest_.data(), size);  // little-endian, as this machine
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
  bool broken_ = false;
};

class MessageReader {
 public:
  // False if the bytes are malformed.
  bool Read(std::string_view bytes, const SchemaMessage& message, json::object& into, int depth = 0) {
    if (depth > kMaxDepth) return false;
    WireReader reader(bytes);
    while (const auto field = reader.Next()) {
      const SchemaField* known = message.Find(field->number);
      if (known == nullptr || known->type == 'o') continue;
      if (known->inlined) {
        if (!Read(field->bytes, *known->message, into, depth + 1)) return false;
      } else if (!ReadField(*field, *known, into, depth)) {
        return false;
      }
    }
    return !reader.broken();
  }

 private:
  bool ReadField(const WireField& field, const SchemaField& known, json::object& into, int depth) {
    if (known.many == SchemaField::Many::kMap) return ReadEntry(field, known, into, depth);
    auto value = Value(field, known, depth);
    if (!value) return false;
    if (known.many == SchemaField::Many::kList) {
      ArrayAt(into, known.name).push_back(std::move(*value));
    } else if (known.zero_counts || !IsUnset(*value)) {
      into[known.name] = std::move(*value);
    }
    return true;
  }

  bool ReadEntry(const WireField& field, const SchemaField& known, json::object& into, int depth) {
    WireReader reader(field.bytes);
    std::string_view key;
    json::value value = known.type == 'm' ? json::value(json::object()) : json::value("");
    while (const auto part = reader.Next()) {
      if (part->number == 1) key = part->bytes;
      if (part->number != 2) continue;
      auto read = Value(*part, known, depth);
      if (!read) return false;
      value = std::move(*read);
    }
    if (reader.broken() || !field.is_bytes || !IsUtf8(key)) return false;
    ObjectAt(into, known.name)[key] = std::move(value);
    return true;
  }

  static bool IsUnset(const json::value& value) {
    return value.is_null() || (value.is_string() && value.get_string().empty()) ||
           (value.is_int64() && value.get_int64() == 0) || (value.is_bool() && !value.get_bool());
  }

  std::optional<json::value> Value(const WireField& field, const SchemaField& known, int depth) {
    const auto integer = static_cast<std::int64_t>(field.value);
    switch (known.type) {
      case 'i':
      case 'l':
        return field.is_bytes ? std::nullopt : std::optional<json::value>(integer);
      case 'b':
        return field.is_bytes ? std::nullopt : std::optional<json::value>(field.value != 0);
      case 'd':
        return field.is_bytes ? std::nullopt : std::optional<json::value>(std::bit_cast<double>(field.value));
      default:
        break;
    }
    if (!field.is_bytes) return std::nullopt;
    switch (known.type) {
      case 's':
        return IsUtf8(field.bytes) ? std::optional(json::value(field.bytes)) : std::nullopt;
      case 'B':
        return json::value(http::EncodeBase64(field.bytes));
      case 't':
        return Time(field.bytes, false);
      case 'T':
        return Time(field.bytes, true);
      case 'q':
        return Quantity(field.bytes);
      case 'I':
        return IntOrString(field.bytes);
      case 'm':
        break;
      default:
        return json::value(nullptr);
    }
    json::object object;
    if (!Read(field.bytes, *known.message, object, depth + 1)) return std::nullopt;
    return json::value(std::move(object));
  }

  static std::optional<json::value> Time(std::string_view bytes, bool micro) {
    WireReader reader(bytes);
    std::int64_t seconds = 0;
    std::int64_t nanos = 0;
    while (const auto field = reader.Next())
      (field->number == 1 ? seconds : nanos) = static_cast<std::int64_t>(field->value);
    if (reader.broken() || seconds < -62135596800 || seconds > 253402300799) return std::nullopt;
    if (seconds == 0 && nanos == 0) return json::value(nullptr);
    if (seconds < -9'000'000'000 || seconds > 9'000'000'000)
      return json::value(nullptr);  // outside the clock's range
    const WallTime time(std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos % 1'000'000'000));
    return json::value(micro ? FormatMicroTime(time) : FormatTime(time));
  }

  static std::optional<json::value> Quantity(std::string_view bytes) {
    WireReader reader(bytes);
    json::value text("");
    while (const auto field = reader.Next()) text = field->bytes;
    return reader.broken() || !IsUtf8(text.get_string()) ? std::nullopt : std::optional(text);
  }

  static std::optional<json::value> IntOrString(std::string_view bytes) {
    WireReader reader(bytes);
    bool is_text = false;
    json::value number(0), text("");
    while (const auto field = reader.Next()) {
      if (field->number == 1) is_text = field->value == 1;
      if (field->number == 2) number = static_cast<std::int64_t>(static_cast<std::int32_t>(field->value));
      if (field->number == 3) text = field->bytes;
    }
    return reader.broken() || !IsUtf8(text.get_string()) ? std::nullopt
                                                         : std::optional(is_text ? text : number);
  }
};

struct Envelope {
  std::string_view api_version, kind, raw;
};

std::optional<Envelope> ReadEnvelope(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return std::nullopt;
  Envelope envelope;
  WireReader reader(bytes.substr(kMagic.size()));
  while (const auto field = reader.Next()) {
    if (field->number == 2) envelope.raw = field->bytes;
    if (field->number != 1) continue;
    WireReader type(field->bytes);
    while (const auto part = type.Next())
      (part->number == 1 ? envelope.api_version : envelope.kind) = part->bytes;
  }
  const bool good = !reader.broken() && IsUtf8(envelope.kind) && IsUtf8(envelope.api_version);
  return good ? std::optional(envelope) : std::nullopt;
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
  if (!MessageReader().Read(envelope->raw, *message, document.root())) {
    return BadRequest(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: unexpected EOF",
                                  envelope->kind, envelope->api_version));
  }
  return document;
}

}  // namespace berth::sandbox
