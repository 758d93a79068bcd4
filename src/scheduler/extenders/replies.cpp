#include "scheduler/extenders/replies.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>

#include "scheduler/extenders/json.hpp"

namespace berth::extenders {
namespace {

// The position of a value in Go's types, for error texts: the innermost struct and the path of fields. Go
// continues after a value of the wrong type and reports the first error.
class Place {
 public:
  struct TypeError {
    std::string text;
  };
  explicit Place(TypeError& type_error) : error_(&type_error) {}

  Place In(std::string_view type, std::string_view field) const {
    Place inner = *this;
    inner.struct_ = type;
    inner.path_ = path_.empty() ? std::string(field) : fmt::format("{}.{}", path_, field);
    return inner;
  }
  void Mismatch(const Json& value, std::string_view type) const {
    Mismatch(std::string(value.KindName()), type);
  }
  void Mismatch(const std::string& what, std::string_view type) const {
    if (!error_->text.empty()) return;
    const std::string where =
        path_.empty() ? "Go value" : fmt::format("Go struct field {}.{}", struct_, path_);
    error_->text = fmt::format("json: cannot unmarshal {} into {} of type {}", what, where, type);
  }

 private:
  TypeError* error_;
  std::string_view struct_;
  std::string path_;
};

// Readers merge into the existing value, as Go does for duplicate keys. Null leaves strings and numbers
// unchanged and clears all other types.
// numbers as they are and empties everything else.

void Read(const Json& value, std::string& out, const Place& place) {
  if (value.is_null()) return;
  if (value.kind() != Json::Kind::kString) return place.Mismatch(value, "string");
  out = value.String();
}

void Read(const Json& value, std::int64_t& out, const Place& place) {
  if (value.is_null()) return;
  if (value.kind() != Json::Kind::kNumber) return place.Mismatch(value, "int64");
  const std::string_view text = value.text();
  std::int64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc{} || end != text.data() + text.size())
    return place.Mismatch(fmt::format("number {}", text), "int64");
  out = number;
}

template <class T, class ReadOne>
void ReadList(const Json& value, std::vector<T>& out, const Place& place, std::string_view type,
              ReadOne&& read_one) {
  if (value.is_null()) return out.clear();
  if (value.kind() != Json::Kind::kArray) return place.Mismatch(value, type);
  std::size_t count = 0;
  value.ForEachItem([&](const Json& item) {
    if (count == out.size()) out.emplace_back();
    read_one(item, out[count++]);
  });
  out.resize(count);
}

template <class T, class ReadOne>
void ReadMap(const Json& value, std::map<std::string, T>& out, const Place& place, std::string_view type,
             ReadOne&& read_one) {
  if (value.is_null()) return out.clear();
  if (value.kind() != Json::Kind::kObject) return place.Mismatch(value, type);
  value.ForEachMember([&](std::string_view key, const Json& member) {
    T one{};
    read_one(member, one);
    out.insert_or_assign(Unquoted(key), std::move(one));
  });
}

// A pointer field: null resets it.
template <class T, class ReadOne>
void ReadPointer(const Json& value, std::optional<T>& out, ReadOne&& read_one) {
  if (value.is_null()) return out.reset();
  if (!out) out.emplace();
  read_one(value, *out);
}

struct Member {
  std::string_view name;
  std::function<void(const Json&, const Place&)> read;
};

void ReadStruct(const Json& value, const Place& place, std::string_view full_type,
                std::initializer_list<Member> members) {
  if (value.is_null()) return;
  if (value.kind() != Json::Kind::kObject) return place.Mismatch(value, full_type);
  const std::string_view type = full_type.substr(full_type.find('.') + 1);
  value.ForEachMember([&](std::string_view key, const Json& content) {
    for (const Member& member : members) {
      if (!IsKey(key, member.name)) continue;
      return member.read(content, place.In(type, member.name));
    }
  });
}

// Reads only the name of a Node.
void ReadNode(const Json& value, std::string& name, const Place& place) {
  ReadStruct(value, place, "v1.Node",
             {{"metadata", [&](const Json& metadata, const Place& inner) {
                 ReadStruct(
                     metadata, inner, "v1.ObjectMeta",
                     {{"name", [&](const Json& text, const Place& where) { Read(text, name, where); }}});
               }}});
}

void ReadNodeList(const Json& value, std::vector<std::string>& names, const Place& place) {
  ReadStruct(value, place, "v1.NodeList",
             {{"items", [&](const Json& items, const Place& inner) {
                 ReadList(items, names, inner, "[]v1.Node",
                          [&](const Json& item, std::string& name) { ReadNode(item, name, inner); });
               }}});
}

void ReadTexts(const Json& value, std::map<std::string, std::string>& out, const Place& place) {
  ReadMap(value, out, place, "v1.FailedNodesMap",
          [&](const Json& text, std::string& one) { Read(text, one, place); });
}

void ReadVictims(const Json& value, MetaVictims& out, const Place& place) {
  const auto read_pod = [](const Json& pod, std::string& uid, const Place& where) {
    ReadStruct(pod, where, "v1.MetaPod",
               {{"UID", [&](const Json& text, const Place& inner) { Read(text, uid, inner); }}});
  };
  ReadStruct(value, place, "v1.MetaVictims",
             {{"Pods",
               [&](const Json& pods, const Place& inner) {
                 ReadList(pods, out.uids, inner, "[]*v1.MetaPod", [&](const Json& pod, std::string& uid) {
                   if (pod.is_null()) uid.clear();
                   read_pod(pod, uid, inner);
                 });
               }},
              {"NumPDBViolations",
               [&](const Json& number, const Place& inner) { Read(number, out.violations, inner); }}});
}

template <class T, class Body>
Expected<T> ReadReply(const Reply& reply, Body&& body) {
  BERTH_TRY(const Json value, FirstValue(reply.body, reply.cut_short));
  T out{};
  Place::TypeError type_error;
  body(value, out, Place(type_error));
  if (!type_error.text.empty()) return Invalid(std::move(type_error.text));
  return out;
}

}  // namespace

Expected<FilterReply> ReadFilterReply(const Reply& reply) {
  return ReadReply<FilterReply>(reply, [](const Json& value, FilterReply& out, const Place& place) {
    ReadStruct(value, place, "v1.ExtenderFilterResult",
               {{"Nodes",
                 [&](const Json& nodes, const Place& inner) {
                   ReadPointer(nodes, out.nodes, [&](const Json& list, std::vector<std::string>& names) {
                     ReadNodeList(list, names, inner);
                   });
                 }},
                {"NodeNames",
                 [&](const Json& names, const Place& inner) {
                   ReadPointer(names, out.node_names, [&](const Json& list, std::vector<std::string>& into) {
                     ReadList(list, into, inner, "[]string",
                              [&](const Json& name, std::string& text) { Read(name, text, inner); });
                   });
                 }},
                {"FailedNodes",
                 [&](const Json& failed, const Place& inner) { ReadTexts(failed, out.failed, inner); }},
                {"FailedAndUnresolvableNodes",
                 [&](const Json& failed, const Place& inner) {
                   ReadTexts(failed, out.failed_and_unresolvable, inner);
                 }},
                {"Error", [&](const Json& text, const Place& inner) { Read(text, out.error, inner); }}});
  });
}

Expected<std::vector<HostPriority>> ReadPrioritizeReply(const Reply& reply) {
  using List = std::vector<HostPriority>;
  return ReadReply<List>(reply, [](const Json& value, List& out, const Place& place) {
    ReadList(value, out, place, "v1.HostPriorityList", [&](const Json& item, HostPriority& one) {
      ReadStruct(
          item, place, "v1.HostPriority",
          {{"Host", [&](const Json& text, const Place& inner) { Read(text, one.host, inner); }},
           {"Score", [&](const Json& number, const Place& inner) { Read(number, one.score, inner); }}});
    });
  });
}

Expected<std::map<std::string, MetaVictims>> ReadPreemptReply(const Reply& reply) {
  using Map = std::map<std::string, MetaVictims>;
  return ReadReply<Map>(reply, [](const Json& value, Map& out, const Place& place) {
    ReadStruct(value, place, "v1.ExtenderPreemptionResult",
               {{"NodeNameToMetaVictims", [&](const Json& map, const Place& inner) {
                   ReadMap(map, out, inner, "map[string]*v1.MetaVictims",
                           [&](const Json& victims, MetaVictims& one) { ReadVictims(victims, one, inner); });
                 }}});
  });
}

Expected<std::string> ReadBindReply(const Reply& reply) {
  return ReadReply<std::string>(reply, [](const Json& value, std::string& out, const Place& place) {
    ReadStruct(value, place, "v1.ExtenderBindingResult",
               {{"Error", [&](const Json& text, const Place& inner) { Read(text, out, inner); }}});
  });
}

}  // namespace berth::extenders
