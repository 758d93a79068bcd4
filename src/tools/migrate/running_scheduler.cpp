#include "tools/migrate/running_scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.hpp"
#include "kubernetes/api/decode.hpp"

namespace berth::migrate {
namespace {

using config::Value;

constexpr std::string_view kProgram = "kube-scheduler";

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The spec of a pod, or of a workload's pod template.
const Value* PodSpecOf(const Value& object) {
  const Value* spec = object.Find("spec");
  if (spec == nullptr || spec->Find("containers") != nullptr) return spec;
  const Value* pod_template = spec->Find("template");
  return pod_template == nullptr ? nullptr : pod_template->Find("spec");
}

// Berth under its own name: "scheduler" follows the program, or the image's entry point.
bool RunsBerth(const Value& container) {
  const auto& command = ItemsAt(container, "command");
  const auto& args = ItemsAt(container, "args");
  const auto& words = command.empty() ? args : command;
  const std::size_t subcommand = command.empty() ? 0 : 1;
  const bool program = command.empty() ? TextAt(container, {"image"}).contains("berth")
                                       : FileName(command.front().text) == "berth";
  if (!program) return false;
  if (words.size() > subcommand)
    return words[subcommand].text == "scheduler" || words[subcommand].text.starts_with('-');
  return !command.empty() && !args.empty() && args.front().text == "scheduler";
}

bool RunsScheduler(const Value& container) {
  if (RunsBerth(container)) return true;

  for (const char* member : {"command", "args"}) {
    const auto& words = ItemsAt(container, member);
    if (!words.empty() && FileName(words.front().text) == kProgram) return true;
  }
  return TextAt(container, {"image"}).contains(kProgram);
}

// All arguments after the program's name; an entry point of the image may precede it.
Expected<std::vector<std::string>> ArgumentsOf(const Value& container) {
  std::vector<std::string> words = TextsAt(container, "command");
  if (words.empty()) words.emplace_back(kProgram);
  for (std::string& word : TextsAt(container, "args")) words.push_back(std::move(word));
  auto flags = words.begin() + 1;
  if (FileName(words.front()) != kProgram) {
    const auto program =
        std::ranges::find_if(words, [](const std::string& word) { return FileName(word) == kProgram; });
    if (program != words.end()) flags = program + 1;
  }
  if (flags != words.end() && *flags == "scheduler") ++flags;  // of Berth under its own name
  const auto odd =
      std::find_if(flags, words.end(), [](const std::string& word) { return word.find('\n') != word.npos; });
  if (odd != words.end() || FileName(words.front()) == "sh" || FileName(words.front()) == "bash")
    return Invalid(fmt::format("it is started by {}: only a plain command line can be read", words.front()));
  return std::vector<std::string>(flags, words.end());
}

// `object`: a pod, or a workload with a pod template.
Expected<RunningScheduler> Read(const Value& object, std::string where) {
  const Value* spec = PodSpecOf(object);
  if (spec == nullptr) return Invalid("not a pod: no containers");
  const auto& containers = ItemsAt(*spec, "containers");
  const auto found = std::ranges::find_if(containers, RunsScheduler);
  if (found == containers.end()) return Invalid("no container of it runs kube-scheduler");
  RunningScheduler scheduler;
  scheduler.where = std::move(where);
  scheduler.ns = TextAt(object, {"metadata", "namespace"});
  scheduler.image = TextAt(*found, {"image"});
  BERTH_TRY(scheduler.args, ArgumentsOf(*found));
  scheduler.pod = *spec;
  scheduler.container = *found;
  return scheduler;
}

// The key of a file in a ConfigMap volume: its name, unless `items` map it.
std::string KeyOf(const Value& config_map, const std::string& file) {
  for (const Value& item : ItemsAt(config_map, "items")) {
    if (TextAt(item, {"path"}) == file) return TextAt(item, {"key"});
  }
  return file;
}

}  // namespace

std::optional<MountedFile> RunningScheduler::Find(const std::string& path) const {
  for (const Value& mount : ItemsAt(container, "volumeMounts")) {
    const std::string at = TextAt(mount, {"mountPath"});
    const std::string sub_path = TextAt(mount, {"subPath"});
    if (at.empty() || (path != at && !path.starts_with(at.ends_with('/') ? at : fmt::format("{}/", at))))
      continue;
    std::string rest = path.substr(std::min(path.size(), at.size()));
    while (rest.starts_with('/')) rest.erase(0, 1);
    if (!sub_path.empty()) rest = rest.empty() ? sub_path : fmt::format("{}/{}", sub_path, rest);
    for (const Value& volume : ItemsAt(pod, "volumes")) {
      if (TextAt(volume, {"name"}) != TextAt(mount, {"name"})) continue;
      if (const Value* config_map = volume.Find("configMap"))
        return MountedFile{TextAt(*config_map, {"name"}), KeyOf(*config_map, rest), ""};
      if (const std::string host = TextAt(volume, {"hostPath", "path"}); !host.empty())
        return MountedFile{"", "", rest.empty() ? host : fmt::format("{}/{}", host, rest)};
    }
  }
  return std::nullopt;
}

Expected<RunningScheduler> ReadSchedulerManifest(const std::string& path) {
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto documents = api::SplitDocuments(text);
  if (!documents) return std::unexpected(std::move(documents).error().In(path));
  Error last{ErrorCode::kInvalid, "it contains no object"};
  if (!documents->errors.empty()) last.message = documents->errors.front();
  for (const api::Document& document : documents->objects) {
    auto object = yaml::ParseValue(document.json);
    auto scheduler = object ? Read(*object, path) : std::unexpected(object.error());
    if (scheduler) return scheduler;
    last = scheduler.error();
  }
  return std::unexpected(std::move(last).In(path));
}

std::optional<std::string> FlagIn(const std::vector<std::string>& args, std::string_view name) {
  const std::string flag = fmt::format("--{}", name);
  std::optional<std::string> value;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == flag && i + 1 < args.size()) {
      value = args[++i];
    } else if (args[i].starts_with(flag + "=")) {
      value = args[i].substr(flag.size() + 1);
    }
  }
  return value;
}

Expected<RunningScheduler> ReadSchedulerPod(const Value& pod) {
  const std::string name =
      "pod " + TextAt(pod, {"metadata", "namespace"}) + "/" + TextAt(pod, {"metadata", "name"});
  auto scheduler = Read(pod, name);
  if (!scheduler) return std::unexpected(std::move(scheduler).error().In(name));
  return scheduler;
}

Expected<LiveSchedulers> FindLiveSchedulers(Server& server) {
  BERTH_TRY(const Value list, GetTree(server, {.path = "/api/v1/namespaces/kube-system/pods?limit=20&"
                                                       "labelSelector=component%3Dkube-scheduler"}));
  LiveSchedulers live;
  for (const Value& pod : ItemsAt(list, "items")) {
    const std::string name = TextAt(pod, {"metadata", "name"});
    auto scheduler = Read(pod, "pod kube-system/" + name);
    if (!scheduler) return std::unexpected(std::move(scheduler).error().In("pod kube-system/" + name));
    ++live.count;
    if (!live.first) {
      live.first = std::move(*scheduler);
    } else if (live.first->args != scheduler->args) {
      live.differ = true;
    }
  }
  return live;
}

Expected<std::string> ReadFromConfigMap(Server& server, const std::string& ns, const MountedFile& file) {
  const std::string where = fmt::format("ConfigMap {}/{}", ns, file.config_map);
  auto answer =
      GetTree(server, {.path = fmt::format("/api/v1/namespaces/{}/configmaps/{}", ns, file.config_map)});
  if (!answer) return std::unexpected(std::move(answer).error().In(where));
  const Value* data = answer->Find("data");
  const Value* text = data == nullptr ? nullptr : data->Find(file.key);
  if (text == nullptr) return Fail(ErrorCode::kNotFound, fmt::format("{}: no key {}", where, file.key));
  return text->text;
}

}  // namespace berth::migrate
