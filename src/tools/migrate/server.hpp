// The API server under inspection, as a port: one blocking request at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/value.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/api.hpp"

namespace berth::migrate {

class Server {
 public:
  virtual ~Server() = default;
  // Blocks until the response arrives.
  virtual client::Reply Send(client::ApiRequest request) = 0;
};

// A small response as a tree. Errors are the server's messages.
Expected<config::Value> GetTree(Server& server, client::ApiRequest request);

// The text at a path of names; "" if it is absent or of another type.
std::string TextAt(const config::Value& value, std::initializer_list<std::string_view> path);

// The items of the list of this name, and their texts; empty if it is absent.
const std::vector<config::Value>& ItemsAt(const config::Value& value, std::string_view name);
std::vector<std::string> TextsAt(const config::Value& value, std::string_view name);

// Progress of a long list: the plural of its resource and the number of objects so far. May be empty.
using Progress = std::function<void(std::string_view plural, std::size_t read)>;

// Lists in pages, so that memory holds only some hundreds of objects, regardless of the cluster's size.
class Lists {
 public:
  Lists(Server& server, Progress progress) : server_(server), progress_(std::move(progress)) {}

  // Calls `each(object)` for every object of the collection at `path` that matches the field selector.
  // Objects that cannot be decoded are skipped, as in the scheduler.
  template <class T, class Each>
  Expected<void> ForEach(const std::string& path, std::string_view field_selector, Each each) {
    return Pages(path, field_selector, "application/json", [&](const std::string& body) -> Expected<Page> {
      BERTH_TRY(const api::ObjectList<T> list, decoder_.List<T>(body));
      for (const auto& object : list.items) each(*object);
      return Page{list.items.size() + list.skipped.size(), list.continue_token};
    });
  }
  // Calls `each(namespace/name)`; requests only the metadata.
  Expected<void> ForEachName(const std::string& path, const std::function<void(const std::string&)>& each);

 private:
  struct Page {
    std::size_t count = 0;
    std::string next;
  };
  Expected<void> Pages(const std::string& path, std::string_view field_selector, std::string_view accept,
                       const std::function<Expected<Page>(const std::string& body)>& take);

  Server& server_;
  Progress progress_;
  api::Decoder decoder_;
};

}  // namespace berth::migrate
