// Common parts of objects, field by field. Members that scheduling does not need are skipped.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kubernetes/api/decode_common.hpp"
#include "kubernetes/api/json_reader.hpp"
#include "kubernetes/api/recent_amounts.hpp"

namespace berth::api {

void Labels::Set(std::string key, std::string value) {
  // Servers send labels sorted, so the position is nearly always the end.
  if (empty() || std::as_const(entries_).back().first < key) {
    entries_.emplace_back(std::move(key), std::move(value));
    return;
  }
  const auto place = std::ranges::lower_bound(entries_, key, {}, &Entry::first);
  if (place != entries_.end() && place->first == key) {
    place->second = std::move(value);
  } else {
    entries_.insert(place, Entry(std::move(key), std::move(value)));
  }
}

const std::string* Labels::Find(std::string_view key) const {
  const auto place =
      std::ranges::lower_bound(entries_, key, {}, [](const Entry& e) { return std::string_view(e.first); });
  return place != entries_.end() && place->first == key ? &place->second : nullptr;
}

namespace json {
// Not in an unnamed namespace: the readers of lists and optionals find these by argument-dependent lookup.

// Quantities are strings, but handwritten files also contain numbers.
bool Read(const element& value, Quantity& out, Failure& failure) {
  std::string text;
  switch (value.type()) {
    case element_type::STRING: {
      std::string_view raw;
      if (value.get(raw) != simdjson::SUCCESS) return Expect(value, "a quantity", failure);
      const auto first = raw.find_first_not_of(" \t\n\v\f\r");
      text = first == raw.npos
                 ? ""
                 : std::string(raw.substr(first, raw.find_last_not_of(" \t\n\v\f\r") - first + 1));
      break;
    }
    case element_type::INT64:
      text = fmt::format("{}", std::int64_t(value));
      break;
    case element_type::UINT64:
      text = fmt::format("{}", std::uint64_t(value));
      break;
    case element_type::DOUBLE:
      text = fmt::format("{}", double(value));
      break;
    default:
      return Expect(value, "a quantity", failure);
  }
  auto quantity = Quantity::Parse(text);
  if (!quantity) return failure.Set(fmt::format("\"{}\": {}", text, quantity.error().message));
  out = std::move(*quantity);
  return true;
}

// A null value is an empty text, as in Go's map[string]string.
template <class Wanted, class Add>
bool ReadTexts(const element& value, Failure& failure, Wanted&& wanted, Add&& add) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return Expect(value, "an object", failure);
  for (const auto& [key, member] : object) {
    if (!wanted(key)) continue;
    std::string text;
    if (!member.is_null() && !Read(member, text, failure)) return failure.In(key);
    add(std::string(key), std::move(text));
  }
  return true;
}

bool Read(const element& value, Labels& out, Failure& failure) {
  return ReadTexts(
      value, failure, [](std::string_view) { return true; },
      [&](std::string key, std::string text) { out.Set(std::move(key), std::move(text)); });
}

bool Read(const element& value, ResourceList& out, Failure& failure) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return Expect(value, "an object", failure);
  RecentAmounts recent;
  for (const auto& [name, member] : object) {
    std::string_view amount;
    if (member.get(amount) == simdjson::SUCCESS) {
      recent.Add(name, amount);
    } else {
      recent.MarkUncacheable();
    }
  }
  if (const ResourceList* amounts = recent.Find()) {
    out = *amounts;
    return true;
  }
  out.clear();
  out.reserve(object.size());
  for (const auto& [key, member] : object) {
    // A null amount counts as present, and zero.
    Quantity& quantity = out[key];
    if (!member.is_null() && !Read(member, quantity, failure)) return failure.In(key);
  }
  recent.Store(out);
  return true;
}

bool Read(const element& value, LabelSelectorRequirement& out, Failure& failure) {
  return ReadFields(value, failure, Field{"key", out.key}, Field{"operator", out.op},
                    Field{"values", out.values});
}

bool Read(const element& value, LabelSelector& out, Failure& failure) {
  return ReadFields(value, failure, Field{"matchLabels", out.match_labels},
                    Field{"matchExpressions", out.match_expressions});
}

bool Read(const element& value, NodeSelectorRequirement& out, Failure& failure) {
  return ReadFields(value, failure, Field{"key", out.key}, Field{"operator", out.op},
                    Field{"values", out.values});
}

bool Read(const element& value, NodeSelectorTerm& out, Failure& failure) {
  return ReadFields(value, failure, Field{"matchExpressions", out.match_expressions},
                    Field{"matchFields", out.match_fields});
}

bool Read(const element& value, NodeSelector& out, Failure& failure) {
  return ReadFields(value, failure, Field{"nodeSelectorTerms", out.terms});
}

bool Read(const element& value, Taint& out, Failure& failure) {
  return ReadFields(value, failure, Field{"key", out.key}, Field{"value", out.value},
                    Field{"effect", out.effect});
}

template <class Wanted>
bool ReadAnnotations(const element& value, CowPtr<Labels>& out, Failure& failure, Wanted&& wanted) {
  return ReadTexts(value, failure, wanted, [&](std::string key, std::string text) {
    if (!out) out.emplace();
    out->Set(std::move(key), std::move(text));
  });
}

// The first owner that is the controller, as in metav1.GetControllerOf.
bool ReadOwners(const element& value, CowPtr<OwnerReference>& out, Failure& failure) {
  out.reset();
  return ReadItems(value, failure, [&](const element& item) {
    bool controls = false;
    if (out || item["controller"].get(controls) != simdjson::SUCCESS || !controls) return true;
    OwnerReference owner;
    if (!ReadFields(item, failure, Field{"apiVersion", owner.api_version}, Field{"kind", owner.kind},
                    Field{"name", owner.name}, Field{"uid", owner.uid})) {
      return false;
    }
    out = std::move(owner);
    return true;
  });
}

bool Read(const element& value, ObjectMeta& out, Failure& failure) {
  return ReadFields(
      value, failure, Field{"name", out.name}, Field{"namespace", out.ns}, Field{"uid", out.uid},
      Field{"resourceVersion", out.resource_version}, Field{"labels", out.labels},
      Field{"deletionTimestamp", out.deletion_timestamp}, Field{"generation", out.generation},
      Nested{"annotations",
             [&](const element& member, Failure& f) {
               return ReadAnnotations(member, out.annotations, f, IsInTreeAnnotation);
             }},
      Nested{"ownerReferences",
             [&](const element& member, Failure& f) { return ReadOwners(member, out.controller, f); }});
}

bool ReadAnnotationsOf(const element& object, const std::vector<std::string>& keys, ObjectMeta& out,
                       Failure& failure) {
  const auto wanted = [&](std::string_view key) { return std::ranges::find(keys, key) != keys.end(); };
  const auto annotations = [&](const element& member, Failure& f) {
    return ReadAnnotations(member, out.annotations, f, wanted);
  };
  const auto metadata = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"annotations", annotations});
  };
  return ReadFields(object, failure, Field{"metadata", metadata});
}

}  // namespace json

}  // namespace berth::api
