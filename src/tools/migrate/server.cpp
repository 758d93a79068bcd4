#include "tools/migrate/server.hpp"

#include <fmt/format.h>

#include "http/origin.hpp"

namespace berth::migrate {
namespace {

constexpr int kPageSize = 500;

}  // namespace

Expected<config::Value> GetTree(Server& server, client::ApiRequest request) {
  const client::Reply reply = server.Send(std::move(request));
  if (!reply) return std::unexpected(reply.error().ToError());
  return yaml::ParseValue(*reply);
}

const std::vector<config::Value>& ItemsAt(const config::Value& value, std::string_view name) {
  static const std::vector<config::Value> kNone;
  const config::Value* list = value.Find(name);
  return list == nullptr ? kNone : list->items;
}

std::vector<std::string> TextsAt(const config::Value& value, std::string_view name) {
  std::vector<std::string> texts;
  for (const config::Value& item : ItemsAt(value, name)) texts.push_back(item.text);
  return texts;
}

std::string TextAt(const config::Value& value, std::initializer_list<std::string_view> path) {
  const config::Value* at = &value;
  for (const std::string_view name : path) {
    at = at->Find(name);
    if (at == nullptr) return "";
  }
  return at->kind == config::Value::Kind::kString ? at->text : "";
}

Expected<void> Lists::Pages(const std::string& path, std::string_view field_selector, std::string_view accept,
                            const std::function<Expected<Page>(const std::string& body)>& take) {
  const std::string plural = path.substr(path.rfind('/') + 1);
  std::string query = fmt::format("{}?limit={}", path, kPageSize);
  if (!field_selector.empty()) query += "&fieldSelector=" + http::EncodeQuery(field_selector);
  std::size_t read = 0;
  std::string next;
  do {
    const std::string page = next.empty() ? query : query + "&continue=" + http::EncodeQuery(next);
    const client::Reply reply = server_.Send({.path = page, .accept = std::string(accept)});
    if (!reply) return std::unexpected(reply.error().ToError());
    BERTH_TRY(const Page taken, take(*reply));
    read += taken.count;
    next = taken.next;
    if (progress_) progress_(plural, read);
  } while (!next.empty());
  return {};
}

Expected<void> Lists::ForEachName(const std::string& path,
                                  const std::function<void(const std::string&)>& each) {
  return Pages(path, "", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
               [&](const std::string& body) -> Expected<Page> {
                 BERTH_TRY(const api::VersionList list, decoder_.Versions(body));
                 for (const auto& item : list.items)
                   each(item.ns.empty() ? std::string(item.name) : fmt::format("{}/{}", item.ns, item.name));
                 return Page{list.items.size(), list.continue_token};
               });
}

}  // namespace berth::migrate
