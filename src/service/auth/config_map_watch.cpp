#include "service/auth/config_map_watch.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "http/loop.hpp"
#include "kubernetes/client/backoff.hpp"
#include "observability/log/log.hpp"

namespace berth::service {
namespace {

namespace json = boost::json;

constexpr client::BackoffOptions kPauses{.initial = std::chrono::seconds(1),
                                         .factor = 2,
                                         .jitter = 1,
                                         .cap = std::chrono::seconds(30),
                                         .reset_after = std::chrono::minutes(2)};
constexpr int kWatchSeconds = 480;
constexpr Duration kShortWatch = std::chrono::seconds(1);

Expected<json::value> Parse(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error) return Invalid("JSON: " + error.message());
  if (!value.is_object()) return Invalid("JSON: expected an object");
  return value;
}

const json::object* Object(const json::object& parent, std::string_view key) {
  const json::value* found = parent.if_contains(json::string_view(key));
  return found == nullptr ? nullptr : found->if_object();
}

std::string Version(const json::object& object) {
  const json::object* metadata = Object(object, "metadata");
  if (metadata == nullptr) return {};
  const json::value* version = metadata->if_contains("resourceVersion");
  return version != nullptr && version->is_string() ? std::string(std::string_view(version->get_string()))
                                                    : "";
}

ConfigMapData DataOf(const json::object& config_map) {
  ConfigMapData data;
  const json::object* given = Object(config_map, "data");
  if (given == nullptr) return data;
  for (const auto& [key, value] : *given) {
    if (value.is_string()) data.emplace(key, std::string_view(value.get_string()));
  }
  return data;
}

}  // namespace

Expected<ConfigMapData> ParseConfigMap(std::string_view text) {
  BERTH_TRY(const json::value value, Parse(text));
  return DataOf(value.get_object());
}

struct ConfigMapWatch::Impl {
  void List() {
    call = api.Send({.path = path, .timeout = std::chrono::seconds(30)}, [this](client::Reply reply) {
      call = 0;
      if (!reply) return Retry(reply.error().message);
      const auto list = Parse(*reply);
      if (!list) return Retry(list.error().message);
      version = Version(list->get_object());
      const json::value* items = list->get_object().if_contains("items");
      if (items != nullptr && items->is_array()) {
        for (const json::value& item : items->get_array()) {
          if (item.is_object()) on_change(DataOf(item.get_object()));
        }
      }
      Watch();
    });
  }

  void Watch() {
    watched_since = loop.Now();
    silent = true;
    call = api.Watch(
        {.path = fmt::format("{}&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}&watch=true",
                             path, version, kWatchSeconds),
         .timeout = std::chrono::seconds(kWatchSeconds + 60),
         .idle_timeout = std::chrono::seconds(kWatchSeconds + 60)},
        {.on_line = [this](std::string_view line) { return OnEvent(line); }}, [this](client::Reply reply) {
          call = 0;
          if (!reply) return Retry(reply.error().message);
          if (loop.Now() - watched_since < kShortWatch) return Retry("the watch ended at once");
          silent ? List() : Watch();
        });
  }

  // False ends the watch: a new list is required.
  bool OnEvent(std::string_view line) {
    const auto event = Parse(line);
    if (!event) return false;
    const json::value* type = event->get_object().if_contains("type");
    const json::object* object = Object(event->get_object(), "object");
    if (type == nullptr || !type->is_string() || object == nullptr) return false;
    const std::string_view what = type->get_string();
    if (what == "ERROR") return false;
    silent = false;
    if (std::string seen = Version(*object); !seen.empty()) version = std::move(seen);
    if (what == "ADDED" || what == "MODIFIED") on_change(DataOf(*object));
    return true;
  }

  void Retry(const std::string& why) {
    if (logged_errors.First(why)) {
      log::Warning("Failed to watch the authentication configuration", {{"configMap", name}, {"err", why}});
    }
    timer = loop.After(pauses.Next(loop.Now(), random), [this] {
      timer = http::Loop::TimerId::kNone;
      List();
    });
  }

  http::Loop& loop;
  client::Api& api;
  Random& random;
  const std::string name;
  const std::string path;
  const std::function<void(const ConfigMapData&)> on_change;
  std::string version{};
  MonoTime watched_since{};
  bool silent = true;  // the current watch has delivered no event, not even a bookmark
  client::Backoff pauses{kPauses};
  client::Api::CallId call = 0;
  http::Loop::TimerId timer = http::Loop::TimerId::kNone;
  log::Once logged_errors{16};
};

ConfigMapWatch::ConfigMapWatch(http::Loop& loop, client::Api& api, Random& random, std::string name_space,
                               std::string name, std::function<void(const ConfigMapData&)> on_change)
    : impl_(new Impl{
          loop, api, random, name_space + "/" + name,
          fmt::format("/api/v1/namespaces/{}/configmaps?fieldSelector=metadata.name%3D{}", name_space, name),
          std::move(on_change)}) {}

ConfigMapWatch::~ConfigMapWatch() {
  if (impl_->call != 0) impl_->api.Cancel(impl_->call);
  impl_->loop.Cancel(impl_->timer);
}

void ConfigMapWatch::Start() { impl_->List(); }

}  // namespace berth::service
