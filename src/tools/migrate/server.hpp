// The API server that is looked at, as a port: one question after the other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kubernetes/api/decode.hpp"
#include "base/result.hpp"
#include "kubernetes/client/api.hpp"
#include "config/value.hpp"

namespace berth::migrate {

class Server {
 public:
  virtual ~Server() = default;
  // Waits for the answer.
  virtual client::Reply Ask(client::ApiRequest request) = 0;
};

// A small answer as a tree. Errors are the server's own sentences.
Expected<config::Value> AskForTree(Server& server, client::ApiRequest request);

// The text at a path of names, "" where there is none or where it is no text.
std::string TextAt(const config::Value& value, std::initializer_list<std::string_view> path);

// How far a long list has been read: the plural of its resource and the number of objects so far. May be
// empty.
using Progress = std::function<void(std::string_view plural, std::size_t read)>;

// Lists in pages, so that however large the cluster is only some hundreds of its objects are here at a time.
class Lists {
 public:
  Lists(Server& server, Progress progress) : server_(server), progress_(std::move(progress)) {}

  // Calls `each(object)` for every object of the collection at `path` that the field selector lets through.
  // Objects that cannot be understood are passed over, as the scheduler passes them over.
  template <class T, class Each>
  Expected<void> ForEach(const std::string& path, std::string_view field_selector, Each each) {
    return Pages(path, field_selector, "application/json", [&](const std::string& body) -> Expected<Page> {
      BERTH_TRY(const api::ObjectList<T> list, decoder_.List<T>(body));
      for (const auto& object : list.items) each(*object);
      return Page{list.items.size() + list.skipped.size(), list.continue_token};
    });
  }
  // Calls `each(namespace/name)`; nothing but metadata is sent.
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
