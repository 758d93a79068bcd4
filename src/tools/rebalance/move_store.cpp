#include "tools/rebalance/move_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <ranges>
#include <tuple>

#include "base/json_text.hpp"
#include "http/loop.hpp"
#include "kubernetes/api/timestamp.hpp"
#include "kubernetes/client/api.hpp"

namespace berth::rebalance {
namespace {

namespace json = boost::json;

constexpr const char* kKey = "moves.json";
constexpr std::chrono::seconds kStoreTimeout{15};
// A ConfigMap holds at most 1 MiB.
constexpr std::size_t kMostBytes = 512 << 10;

std::string MoveText(const MoveHistory::Entry& move) {
  std::string text;
  JsonObject(text)
      .Add("at", api::FormatTimestamp(
                     std::chrono::duration_cast<std::chrono::seconds>(move.at.time_since_epoch()).count()))
      .Add("workload", move.workload)
      .Add("from", move.from)
      .Add("to", move.to);
  return text;
}

const json::value* Find(const json::value& value, std::string_view key) {
  return value.is_object() ? value.get_object().if_contains(key) : nullptr;
}

std::string_view TextAt(const json::value& value, std::string_view key) {
  const json::value* found = Find(value, key);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

}  // namespace

std::string MovesText(const Moves& moves) {
  std::vector<std::string> lines;
  std::size_t size = 0;
  for (const MoveHistory::Entry& move : moves | std::views::reverse) {
    std::string line = MoveText(move);
    size += line.size() + 2;
    if (size > kMostBytes) break;
    lines.push_back(std::move(line));
  }
  std::ranges::reverse(lines);
  return fmt::format("[{}]", fmt::join(lines, ",\n"));
}

Expected<Moves> ParseMoves(std::string_view text, WallTime now) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_array()) return Invalid("expected a JSON array of moves");
  Moves moves;
  for (const json::value& item : value.get_array()) {
    const auto at = api::ParseTimestamp(TextAt(item, "at"));
    MoveHistory::Entry move{{},
                            std::string(TextAt(item, "workload")),
                            std::string(TextAt(item, "from")),
                            std::string(TextAt(item, "to"))};
    if (!at || move.workload.empty() || move.from.empty() || move.to.empty())
      return Invalid(fmt::format("move {}: expected at, workload, from and to", moves.size() + 1));
    const auto latest = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    move.at = WallTime(std::chrono::seconds(std::clamp<std::int64_t>(*at, 0, latest)));
    moves.push_back(std::move(move));
  }
  return moves;
}

Expected<Moves> ConfigMapMoveStore::Take(std::string_view config_map) {
  boost::system::error_code error;
  const json::value value = json::parse(config_map, error);
  if (error) return Invalid("the ConfigMap is not JSON: " + error.message());
  if (const json::value* metadata = Find(value, "metadata")) version_ = TextAt(*metadata, "resourceVersion");
  const json::value* data = Find(value, "data");
  const json::value* moves = data != nullptr ? Find(*data, kKey) : nullptr;
  if (moves == nullptr || !moves->is_string()) return Moves();
  return ParseMoves(moves->get_string(), clock_.WallNow());
}

// Sync also waits for what Read and Write have posted.
ConfigMapMoveStore::~ConfigMapMoveStore() {
  loop_.Sync([this] {
    if (call_ != 0) api_.Cancel(call_);
  });
}

void ConfigMapMoveStore::Read(ReadDone done) {
  client::ApiRequest request;
  request.path = fmt::format("/api/v1/namespaces/{}/configmaps/{}", name_.ns, name_.name);
  request.timeout = kStoreTimeout;
  loop_.Post([this, request = std::move(request), done = std::move(done)]() mutable {
    call_ = api_.Send(std::move(request), [this, done = std::move(done)](client::Reply reply) mutable {
      call_ = 0;
      version_.clear();
      if (reply) return done(Take(*reply));
      if (reply.error().code == ErrorCode::kNotFound) return done(Moves());
      done(std::unexpected(reply.error().ToError()));
    });
  });
}

std::string ConfigMapMoveStore::Body(std::string_view moves) const {
  std::string metadata, data, body;
  {
    JsonObject object(metadata);
    object.Add("name", name_.name).Add("namespace", name_.ns);
    if (!version_.empty()) object.Add("resourceVersion", version_);
  }
  JsonObject(data).Add(kKey, moves);
  JsonObject(body)
      .Add("apiVersion", "v1")
      .Add("kind", "ConfigMap")
      .AddRaw("metadata", metadata)
      .AddRaw("data", data);
  return body;
}

void ConfigMapMoveStore::Write(const Moves& moves, WriteDone done) {
  loop_.Post([this, text = MovesText(moves), done = std::move(done)]() mutable {
    client::ApiRequest request;
    request.path = fmt::format("/api/v1/namespaces/{}/configmaps", name_.ns);
    request.method = version_.empty() ? "POST" : "PUT";
    if (!version_.empty()) request.path += "/" + name_.name;
    request.body = Body(text);
    request.timeout = kStoreTimeout;
    request.refused = client::RefusedUnlessOpen(fence_);
    call_ = api_.Send(std::move(request), [this, done = std::move(done)](client::Reply reply) mutable {
      call_ = 0;
      if (!reply) return done(std::unexpected(reply.error().ToError()));
      // The response repeats what was sent.
      std::ignore = Take(*reply);
      done({});
    });
  });
}

}  // namespace berth::rebalance
