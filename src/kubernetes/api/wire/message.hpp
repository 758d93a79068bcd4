// Reading typed fields out of a protobuf message; private to this folder. A reader throws Unreadable, or what
// protozero throws: servers send nothing of the kind, and whoever calls in from outside catches it
// (wire.cpp).
//
// Read(Message, T&) reads a whole message, Take(Message&, T&) the value of the field that the message is at.
// As Go reads them: fields that are not named are passed over, of one that comes twice the later counts, and
// messages that come twice are merged. Readers know their kinds, so nothing nests deeper than these do.
#pragma once

#include <protozero/pbf_reader.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/field_path.hpp"
#include "kubernetes/api/objects.hpp"
#include "base/utf8.hpp"

namespace berth::api::wire {

class Message : public protozero::pbf_reader {
 public:
  explicit Message(std::string_view bytes) : pbf_reader(bytes.data(), bytes.size()) {}
};

// What is wrong with a message, and where.
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

// Lets what is thrown from within `read` learn that it was at this place.
template <class Place, class Reader>
inline void Within(const Place& place, Reader&& read) {
  try {
    read();
  } catch (Unreadable& error) {
    place(error);
    throw;
  } catch (const protozero::exception& error) {
    Unreadable ours(error);
    place(ours);
    throw ours;
  }
}

// --- fields ---
// A field by its number, the name that its JSON has, and where it goes: a value with a Take, or something to
// call with (Message&).
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

// A message with these fields.
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

// Text as Go's JSON would have it: what is no UTF-8 is replaced, in `repaired`, which the view may look into.
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

void Take(Message& at, Labels& out);  // an entry of a map
// All entries that stand here in a row.
void Take(Message& at, ResourceList& out);

// A message.
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

// How many fields of this number follow each other from here.
inline std::size_t RunLength(Message ahead) {
  const auto number = ahead.tag();
  std::size_t length = 0;
  do {
    ++length;
    ahead.skip();
  } while (ahead.next() && ahead.tag() == number);
  return length;
}

// One item of a list, by read(at, item).
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

// --- what objects have in common (read_meta.cpp) ---
// metav1.Time in Unix seconds; nothing if it is the zero time.
std::optional<std::int64_t> TakeTime(Message& at);
// The same as text, as it stands in JSON.
void TakeTime(Message& at, std::string& out);

// Calls visit(key, text) for one entry of a map of texts.
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
void TakeVolume(Message& at, PodSpec& out);  // an item of spec.volumes
void Read(Message in, Pod& out);
void Read(Message in, Node& out);

}  // namespace berth::api::wire
