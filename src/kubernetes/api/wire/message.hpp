// Reads typed fields from a protobuf message; private to this folder. Readers throw Unreadable or protozero's
// exceptions, since API servers do not send malformed messages. The entry points in wire.cpp catch them.
//
// Read(Message, T&) reads a whole message; Take(Message&, T&) reads the value of the current field. As in Go:
// fields that are not listed are skipped, the last occurrence of a scalar field wins, and repeated
// occurrences of a message field are merged. Readers exist for fixed types only, so nesting depth is bounded.
#pragma once

#include <protozero/pbf_reader.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "kubernetes/api/field_path.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::api::wire {

class Message : public protozero::pbf_reader {
 public:
  explicit Message(std::string_view bytes) : pbf_reader(bytes.data(), bytes.size()) {}
};

// A decoding error and the path of its field.
class Unreadable {
 public:
  explicit Unreadable(std::string what) : what_(std::move(what)) {}
  explicit Unreadable(const protozero::exception& error)
      : what_(std::string("not valid protobuf: ") + error.what()) {}
  Unreadable& In(std::string_view field) {
    path_.In(field);
    return *this;
  }
  Unreadable& InItem(std::size_t index) {
    path_.InItem(index);
    return *this;
  }
  std::string Text() const { return path_.Before(what_); }

 private:
  FieldPath path_;
  std::string what_;
};

// Adds a path element to any exception thrown by `read`.
template <class Place, class Reader>
inline void Within(const Place& place, Reader&& read) {
  try {
    read();
  } catch (Unreadable& error) {
    place(error);
    throw;
  } catch (const protozero::exception& error) {
    Unreadable unreadable(error);
    place(unreadable);
    throw unreadable;
  }
}

// --- fields ---
// A field: its number, its JSON name, and its target: a variable with a Take, or a callable with (Message&).
template <std::uint32_t number, class T>
struct Field {
  static constexpr std::uint32_t kNumber = number;
  std::string_view name;
  T& out;

  void operator()(Message& at) const {
    Within([&](Unreadable& error) { error.In(name); },
           [&] {
             if constexpr (std::invocable<T&, Message&>) {
               out(at);
             } else {
               Take(at, out);
             }
           });
  }
};
template <std::uint32_t number, class T>
Field<number, std::remove_reference_t<T>> At(std::string_view name, T&& out) {
  return {name, out};
}

// Reads a message with these fields; others are skipped.
template <class... Fields>
inline void ReadFields(Message in, const Fields&... fields) {
  while (in.next()) {
    if (!((in.tag() == Fields::kNumber ? (fields(in), true) : false) || ...)) in.skip();
  }
}

// --- values ---
inline std::string_view TakeBytes(Message& at) {
  if (!at.has_wire_type(protozero::pbf_wire_type::length_delimited))
    throw Unreadable("expected bytes, got a number");
  const auto bytes = at.get_view();
  return {bytes.data(), bytes.size()};
}
inline std::uint64_t TakeNumber(Message& at) {
  if (!at.has_wire_type(protozero::pbf_wire_type::varint)) throw Unreadable("expected a number");
  return at.get_uint64();
}
inline Message TakeMessage(Message& at) { return Message(TakeBytes(at)); }

// Text as Go's JSON encoder writes it: invalid UTF-8 is replaced, in `repaired`, to which the view may refer.
inline std::string_view ValidText(std::string_view bytes, std::string& repaired) {
  if (IsAscii(bytes) || IsUtf8(bytes)) return bytes;
  return repaired = ToUtf8(bytes);
}

inline void Take(Message& at, std::string& out) {
  const std::string_view bytes = TakeBytes(at);
  if (IsAscii(bytes) || IsUtf8(bytes)) {
    out.assign(bytes);
  } else {
    out = ToUtf8(bytes);
  }
}
inline void Take(Message& at, Text& out) {
  std::string repaired;
  out = ValidText(TakeBytes(at), repaired);
}
inline void Take(Message& at, bool& out) { out = TakeNumber(at) != 0; }
inline void Take(Message& at, std::int32_t& out) { out = static_cast<std::int32_t>(TakeNumber(at)); }
inline void Take(Message& at, std::int64_t& out) { out = static_cast<std::int64_t>(TakeNumber(at)); }

void Take(Message& at, Labels& out);  // one entry of a map
// Reads all consecutive entries of the map.
void Take(Message& at, ResourceList& out);

// Reads a message field.
template <class T>
void Take(Message& at, T& out) {
  Read(TakeMessage(at), out);
}

template <class T>
void Take(Message& at, std::optional<T>& out) {
  Take(at, out ? *out : out.emplace());
}

template <class T>
void Take(Message& at, CowPtr<T>& out) {
  Take(at, out ? *out : out.emplace());
}

// The number of consecutive fields with this number, from the current one on.
inline std::size_t RunLength(Message ahead) {
  const auto number = ahead.tag();
  std::size_t length = 0;
  do {
    ++length;
    ahead.skip();
  } while (ahead.next() && ahead.tag() == number);
  return length;
}

// Reads one item of a list with read(at, item).
template <class List, class Reader>
void TakeItem(Message& at, List& out, Reader&& read) {
  if (out.empty()) out.reserve(RunLength(at));
  auto& item = out.emplace_back();
  Within([&](Unreadable& error) { error.InItem(out.size() - 1); }, [&] { read(at, item); });
}
template <class T>
void Take(Message& at, std::vector<T>& out) {
  TakeItem(at, out, [](Message& item_at, T& item) { Take(item_at, item); });
}
template <class T>
void Take(Message& at, CowList<T>& out) {
  TakeItem(at, out, [](Message& item_at, T& item) { Take(item_at, item); });
}

// --- common parts of objects (read_meta.cpp) ---
// metav1.Time in Unix seconds; nullopt for the zero time.
std::optional<std::int64_t> TakeTime(Message& at);
// The same as text in JSON's format.
void TakeTime(Message& at, std::string& out);

// Calls visit(key, text) for one entry of a map of strings.
template <class Visit>
void TakeEntry(Message& at, Visit&& visit) {
  Message entry = TakeMessage(at);
  std::string_view key, text;
  while (entry.next()) {
    if (entry.tag() == 1) {
      key = TakeBytes(entry);
    } else if (entry.tag() == 2) {
      text = TakeBytes(entry);
    } else {
      entry.skip();
    }
  }
  std::string repaired_key, repaired_text;
  visit(ValidText(key, repaired_key), ValidText(text, repaired_text));
}

void Read(Message in, ObjectMeta& out);
void Read(Message in, LabelSelector& out);
void Read(Message in, NodeSelector& out);
void Read(Message in, NodeSelectorTerm& out);

// --- kinds ---
void TakeVolume(Message& at, PodSpec& out);  // one item of spec.volumes
void Read(Message in, Pod& out);
void Read(Message in, Node& out);

}  // namespace berth::api::wire
