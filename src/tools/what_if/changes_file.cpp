#include "tools/what_if/changes_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

#include "base/files.hpp"
#include "base/invisible_characters.hpp"
#include "base/nearest.hpp"
#include "base/yaml.hpp"
#include "base/yaml_fields.hpp"
#include "tools/what_if/scenario.hpp"

namespace berth::what_if {
namespace {

using yaml::Fields;
using yaml::Value;

constexpr std::size_t kMostChanges = 1000;

class ChangesReader {
 public:
  explicit ChangesReader(std::string folder) : folder_(std::move(folder)) {}

  Expected<std::vector<Change>> Read(const Value& root) {
    Fields file(root, "", errors_);
    file.Expect("apiVersion", kChangesVersion);
    file.Expect("kind", "Changes");
    file.ForEach("changes", [&](const Value& item, const std::string& path) { ReadChange(item, path); });
    file.Finish();
    if (changes_.size() > kMostChanges)
      file.Add("changes", fmt::format("expected at most {}, got {}", kMostChanges, changes_.size()));
    if (!errors_.empty()) return std::unexpected(errors_.ToError());
    return std::move(changes_);
  }

 private:
  using Reader = void (ChangesReader::*)(const Value& value, const std::string& path);
  struct Kind {
    const char* name;
    Reader read;
  };
  static const Kind kKinds[];

  // An object with one member, which names the change.
  void ReadChange(const Value& value, const std::string& path) {
    std::vector<std::string> names;
    for (const Kind* kind = kKinds; kind->name != nullptr; ++kind) names.emplace_back(kind->name);
    if (value.kind != Value::Kind::kMap || value.members.size() != 1)
      return errors_.Add(path, fmt::format("expected an object with one of {}", fmt::join(names, ", ")));
    const auto& [name, content] = value.members.front();
    for (const Kind* kind = kKinds; kind->name != nullptr; ++kind) {
      if (name == kind->name) return (this->*kind->read)(content, path + "." + name);
    }
    const std::string nearest = Nearest(name, names);
    errors_.Add(path + "." + name, fmt::format("unknown change; expected one of {}{}", fmt::join(names, ", "),
                                               nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }

  void ReadAddNodes(const Value& value, const std::string& path) {
    Fields fields(value, path, errors_);
    AddNodes change;
    change.count = static_cast<std::size_t>(
        fields.Integer("count", 1, static_cast<std::int64_t>(Scenario::kMostNodes), 1));
    change.like = fields.Text("like");
    change.file = InFolder(folder_, fields.Text("file"));
    if (change.like.empty() == change.file.empty())
      errors_.Add(path, "expected exactly one of like (a node of the cluster) and file (a file with a Node)");
    fields.Finish();
    changes_.emplace_back(std::move(change));
  }
  void ReadRemoveNode(const Value& value, const std::string& path) {
    changes_.emplace_back(RemoveNode{TextOfValue(value, path, "the name of a node")});
  }
  void ReadCordon(const Value& value, const std::string& path) {
    changes_.emplace_back(Cordon{TextOfValue(value, path, "the name of a node"), true});
  }
  void ReadUncordon(const Value& value, const std::string& path) {
    changes_.emplace_back(Cordon{TextOfValue(value, path, "the name of a node"), false});
  }
  void ReadDrain(const Value& value, const std::string& path) {
    changes_.emplace_back(Drain{TextOfValue(value, path, "the name of a node")});
  }
  void ReadLabel(const Value& value, const std::string& path) { ReadText(value, path, ParseLabel); }
  void ReadTaint(const Value& value, const std::string& path) { ReadText(value, path, ParseTaint); }
  void ReadRequests(const Value& value, const std::string& path) { ReadText(value, path, ParseRequests); }
  void ReadPriority(const Value& value, const std::string& path) { ReadText(value, path, ParsePriority); }
  void ReadDelete(const Value& value, const std::string& path) {
    ReadText(value, path, [](const std::string& text) -> Expected<DeletePods> {
      BERTH_TRY(auto pods, ParsePods(text));
      return DeletePods{std::move(pods)};
    });
  }
  void ReadAddPods(const Value& value, const std::string& path) {
    Fields fields(value, path, errors_);
    AddPods change{.file = InFolder(folder_, fields.Text("file")), .replicas = std::nullopt};
    if (change.file.empty()) fields.Add("file", "required: a manifest");
    const std::int64_t replicas =
        fields.Integer("replicas", 0, static_cast<std::int64_t>(Scenario::kMostPods), 0);
    if (fields.Has("replicas")) change.replicas = static_cast<std::size_t>(replicas);
    fields.Finish();
    changes_.emplace_back(std::move(change));
  }

  // The texts are those of the flags.
  template <class Parse>
  void ReadText(const Value& value, const std::string& path, Parse parse) {
    const std::string text = TextOfValue(value, path, "a text");
    if (text.empty()) return;
    auto change = parse(text);
    if (!change) return errors_.Add(path, change.error().message);
    changes_.emplace_back(*std::move(change));
  }
  std::string TextOfValue(const Value& value, const std::string& path, std::string_view expected) {
    if (value.kind == Value::Kind::kString && !value.text.empty()) return value.text;
    errors_.Add(path, fmt::format("expected {}, got {}", expected,
                                  value.text.empty() ? "none" : "\"" + value.text + "\""));
    return "";
  }

  const std::string folder_;
  yaml::FieldErrors errors_;
  std::vector<Change> changes_;
};

const ChangesReader::Kind ChangesReader::kKinds[] = {
    {"addNodes", &ChangesReader::ReadAddNodes},    {"removeNode", &ChangesReader::ReadRemoveNode},
    {"cordon", &ChangesReader::ReadCordon},        {"uncordon", &ChangesReader::ReadUncordon},
    {"drain", &ChangesReader::ReadDrain},          {"labelNode", &ChangesReader::ReadLabel},
    {"taintNode", &ChangesReader::ReadTaint},      {"addPods", &ChangesReader::ReadAddPods},
    {"deletePods", &ChangesReader::ReadDelete},    {"setRequests", &ChangesReader::ReadRequests},
    {"setPriority", &ChangesReader::ReadPriority}, {nullptr, nullptr}};

}  // namespace

Expected<std::vector<Change>> ParseChanges(std::string_view text, const std::string& folder) {
  BERTH_TRY(const Value root, yaml::ParseValue(text));
  return WithInvisibleCharacter(ChangesReader(folder).Read(root), text);
}

Expected<std::vector<Change>> ReadChanges(const std::string& path) {
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto changes = ParseChanges(text, FolderOf(path));
  if (!changes) return std::unexpected(std::move(changes).error().In(path));
  return changes;
}

}  // namespace berth::what_if
