#include "bench/load/descheduler.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <stdexcept>
#include <string_view>

#include "base/json_text.hpp"

namespace berth::bench {
namespace {

void AddUsage(JsonObject& object, const Descheduler::Usage& usage) {
  object.AddRaw("milliCpu", std::to_string(std::llround(usage.cores * 1000)))
      .AddRaw("memory", std::to_string(std::llround(usage.memory)));
}

// The child inherits the other end of the socket.
ChildProcess StartWith(const std::string& program, int& socket) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("socketpair failed");
  socket = ends[0];
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  auto child = ChildProcess::Start({.arguments = {program, "--socket", std::to_string(ends[1])}});
  close(ends[1]);
  if (!child) throw std::runtime_error(child.error().message);
  return std::move(*child);
}

}  // namespace

Descheduler::Descheduler(const std::string& program) : child_(StartWith(program, socket_)) {}

Descheduler::~Descheduler() { close(socket_); }

std::vector<std::string> Descheduler::Call(std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent = send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("the descheduler has ended");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  received_.clear();
  while (!received_.ends_with('\n')) {
    char part[65536];
    const ssize_t size = recv(socket_, part, sizeof part, 0);
    if (size <= 0) throw std::runtime_error("the descheduler has ended");
    received_.append(part, static_cast<std::size_t>(size));
  }
  simdjson::dom::parser parser;
  std::vector<std::string> evicted;
  for (const simdjson::dom::element name : parser.parse(received_)["evicted"].get_array())
    evicted.emplace_back(name.get_string().value());
  return evicted;
}

void Descheduler::Begin(const std::vector<Node>& nodes, Source source, double thresholds, double target) {
  std::string list = "[", begin, line;
  for (const Node& node : nodes) {
    if (list.size() > 1) list += ',';
    JsonObject object(list);
    object.Add("name", node.name).AddRaw("pods", std::to_string(node.pods));
    AddUsage(object, node.allocatable);
  }
  list += ']';
  JsonObject(begin)
      .AddRaw("nodes", list)
      .Add("source", source == Source::kPrometheus ? "Prometheus" : "KubernetesMetrics")
      .AddRaw("thresholds", fmt::format("{}", thresholds * 100))
      .AddRaw("target", fmt::format("{}", target * 100));
  JsonObject(line).AddRaw("begin", begin);
  Call(std::move(line));
}

void Descheduler::Collect(const std::vector<NodeUsage>& nodes) {
  std::string usages, line;
  {
    JsonObject object(usages);
    for (const auto& [node, usage] : nodes) {
      JsonObject value(object.Key(node));
      AddUsage(value, usage);
    }
  }
  JsonObject(line).AddRaw("usage", usages);
  Call(std::move(line));
}

std::vector<std::string> Descheduler::Balance(const std::vector<Pod>& pods) {
  std::string list = "[", line;
  for (const Pod& pod : pods) {
    if (list.size() > 1) list += ',';
    JsonObject object(list);
    object.Add("name", pod.name).Add("node", pod.node).Add("deployment", pod.deployment);
    AddUsage(object, pod.usage);
  }
  list += ']';
  JsonObject(line).AddRaw("balance", list);
  return Call(std::move(line));
}

}  // namespace berth::bench
