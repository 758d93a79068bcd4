#include "sandbox/store/schema/schema.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "sandbox/store/schema/schema_text.hpp"

namespace berth::sandbox {
namespace {

struct Schema {
  std::map<std::string_view, SchemaMessage> messages;

  Schema() {
    Read(CoreSchemaText());
    for (auto& [_, message] : messages) message.in_core_text = true;
    Read(GroupSchemaText());
    for (auto& [_, message] : messages) IndexFields(message);
  }

  void Read(std::string_view text) {
    SchemaMessage* message = nullptr;
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.empty()) continue;
      if (!line.starts_with(' ')) {
        const auto bar = line.find('|');
        std::string_view name = line.substr(0, bar);
        const bool atomic = name.ends_with('!');
        if (atomic) name.remove_suffix(1);
        message = &messages[name];
        message->name = name;
        message->atomic = atomic;
        line.remove_prefix(bar + 1);
      }
      while (!line.empty()) {
        const auto word = line.substr(0, line.find(' '));
        line.remove_prefix(std::min(word.size() + 1, line.size()));
        if (!word.empty()) message->fields.push_back(Field(word));
      }
    }
  }

  SchemaField Field(std::string_view word) {
    SchemaField field;
    const auto number = std::from_chars(word.data(), word.data() + word.size(), field.number);
    word.remove_prefix(static_cast<std::size_t>(number.ptr - word.data()));
    field.name = word.substr(0, word.find(':'));
    word.remove_prefix(field.name.size() + 1);
    ReadMany(word, field);
    if (word.starts_with('^')) {
      field.inlined = true;
      word.remove_prefix(1);
    }
    const auto take = [&](char mark) {
      const bool there = word.ends_with(mark);
      if (there) word.remove_suffix(1);
      return there;
    };
    field.zero_counts = take('?');
    field.atomic = take('!') || field.atomic;
    field.always_there = take('=');
    field.type = word.size() == 1 ? word[0] : 'm';
    if (field.type == 'm') field.message = &messages[word];  // filled when its line is parsed
    return field;
  }

  // [], [=], [a,b], {} or {!} before the type.
  static void ReadMany(std::string_view& word, SchemaField& field) {
    const bool list = word.starts_with('[');
    if (!list && !word.starts_with('{')) return;
    field.many = list ? SchemaField::Many::kList : SchemaField::Many::kMap;
    const auto end = word.find(list ? ']' : '}');
    std::string_view inside = word.substr(1, end - 1);
    word.remove_prefix(end + 1);
    if (inside.empty()) return;
    if (!list) {
      field.atomic = true;
    } else if (inside == "=") {
      field.list_type = SchemaField::ListType::kSet;
    } else {
      field.list_type = SchemaField::ListType::kMap;
      while (!inside.empty()) {
        field.keys.push_back(inside.substr(0, inside.find(',')));
        inside.remove_prefix(std::min(field.keys.back().size() + 1, inside.size()));
      }
    }
  }
};

}  // namespace

void IndexFields(SchemaMessage& message) {
  const auto index = [&](const auto& self, const SchemaMessage& from) -> void {
    for (const auto& field : from.fields) {
      if (field.inlined)
        self(self, *field.message);
      else
        message.by_name.emplace(field.name, &field);
    }
  };
  index(index, message);
}

const SchemaField* SchemaMessage::Find(std::string_view field) const {
  const auto found = by_name.find(field);
  return found == by_name.end() ? nullptr : found->second;
}

const SchemaField* SchemaMessage::Find(std::uint32_t number) const {
  const auto found = std::ranges::find(fields, number, &SchemaField::number);
  return found == fields.end() ? nullptr : &*found;
}

const SchemaMessage* FindSchema(std::string_view group, std::string_view kind) {
  static const Schema schema;
  const std::string qualified =
      std::string(group.empty() ? "core" : group.substr(0, group.find('.'))) + "." + std::string(kind);
  for (const std::string_view name : {std::string_view(qualified), kind}) {
    const auto found = schema.messages.find(name);
    if (found != schema.messages.end()) return &found->second;
  }
  return nullptr;
}

}  // namespace berth::sandbox
