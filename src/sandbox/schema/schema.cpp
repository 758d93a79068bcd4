#include "sandbox/schema/schema.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "sandbox/schema/schema_text.hpp"

namespace berth::sandbox {
namespace {

struct Schema {
  std::map<std::string_view, SchemaMessage> messages;

  Schema() {
    for (const auto text : {CoreSchemaText(), GroupSchemaText()}) Read(text);
    for (auto& [_, message] : messages) Index(message, message);
  }

  void Read(std::string_view text) {
    SchemaMessage* message = nullptr;
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.empty()) continue;
      if (!line.starts_with(' ')) {
        const auto bar = line.find('|');
        message = &messages[line.substr(0, bar)];
        message->name = line.substr(0, bar);
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
    if (word.starts_with("[]")) field.many = SchemaField::Many::kList;
    if (word.starts_with("{}")) field.many = SchemaField::Many::kMap;
    if (field.many != SchemaField::Many::kOne) word.remove_prefix(2);
    if (word.starts_with('^')) {
      field.inlined = true;
      word.remove_prefix(1);
    }
    if (word.ends_with('?')) {
      field.zero_counts = true;
      word.remove_suffix(1);
    }
    field.type = word.size() == 1 ? word[0] : 'm';
    if (field.type == 'm') field.message = &messages[word];  // filled when its line comes
    return field;
  }

  void Index(SchemaMessage& into, const SchemaMessage& from) {
    for (const auto& field : from.fields) {
      if (field.inlined)
        Index(into, *field.message);
      else
        into.by_name.emplace(field.name, &field);
    }
  }
};

}  // namespace

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
