#include "tools/replay/pod_cluster.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>

#include "kubernetes/api/encode.hpp"
#include "tools/replay/results.hpp"

namespace berth::replay {
namespace {

// The version to write; null: none.
api::PodPtr PodAt(const Moment& moment, const api::PodPtr& received, const std::string& wanted) {
  if (!received->spec.node_name.empty()) return received;
  const std::string& uid = received->metadata.uid;
  if (moment.cluster.IsAssumed(uid)) return moment.cluster.FindPod(uid);
  const bool concerns = received->metadata.Key() == wanted || !received->status.nominated_node_name.empty();
  return concerns ? received : nullptr;
}

}  // namespace

Expected<FoundAttempt> FindAttempt(Steps& steps, const std::string& pod, std::uint64_t number) {
  FoundAttempt found;
  while (const Steps::Step* step = steps.Next()) {
    const boost::json::value* attempts = step->body->if_contains("attempts");
    if (attempts == nullptr) continue;
    for (const boost::json::value& attempt : attempts->get_array()) {
      if (!attempt.is_object() || TextOf(attempt.get_object(), "pod") != pod) continue;
      ++found.count;
      if (number != 0 && found.count != number) continue;
      found.line = step->line;
      found.number = found.count;
      found.result = TextOf(attempt.get_object(), "result");
      found.message = TextOf(attempt.get_object(), "message");
    }
  }
  if (found.count == 0) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("pod {}: the recording has no scheduling attempt of it{}", pod,
                            steps.damage().empty() ? "" : fmt::format(", up to where {}", steps.damage())));
  }
  if (found.line == 0) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("attempt {}: expected a number from 1 to {}, the attempts of pod {}", number,
                            found.count, pod));
  }
  return found;
}

Expected<std::size_t> WriteCluster(const Moment& moment, const std::string& pod, std::FILE* out) {
  std::size_t count = 0;
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  const auto write = [&](const auto& object) {
    text += count++ == 0 ? "\n" : ",\n";
    api::AppendJson(text, object);
    std::fwrite(text.data(), 1, text.size(), out);
    text.clear();
  };
  moment.objects.ForEach([&]<class T>(const std::shared_ptr<const T>& object) {
    if constexpr (std::is_same_v<T, api::Pod>) {
      if (const api::PodPtr at = PodAt(moment, object, pod)) write(*at);
    } else {
      write(*object);
    }
  });
  text += "\n]}\n";
  std::fwrite(text.data(), 1, text.size(), out);
  if (std::fflush(out) != 0 || std::ferror(out) != 0)
    return Fail(ErrorCode::kUnavailable, fmt::format("standard output: {}", std::strerror(errno)));
  return count;
}

}  // namespace berth::replay
