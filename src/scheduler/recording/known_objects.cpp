#include "scheduler/recording/known_objects.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>
#include <variant>

#include "base/append_format.hpp"
#include "kubernetes/api/encode.hpp"
#include "scheduler/recording/inputs.hpp"

namespace berth::recording {
namespace {

const api::PodGroup* ExternalOf(const ports::ClusterChange& change) {
  const auto* group = std::get_if<ports::Change<api::PodGroup>>(&change);
  return group != nullptr && group->after->external != nullptr ? group->after.get() : nullptr;
}

}  // namespace

void AppendChangeHead(std::string& out, const ports::ClusterChange& change) {
  std::visit([&]<class T>(const ports::Change<T>&) { AppendFormat(out, R"("change":"{}")", T::kKind); },
             change);
  if (const api::PodGroup* group = ExternalOf(change)) {
    out += R"(,"external":)";
    AppendExternal(out, *group);
  }
}

// The API's form of a group of another project lacks what AppendExternal writes, and has no counts below 1.
void AppendObject(std::string& out, const ports::ClusterChange& change) {
  if (const api::PodGroup* group = ExternalOf(change)) {
    api::PodGroup plain = *group;
    plain.gang = {};
    plain.external = nullptr;
    api::AppendJson(out, plain);
  } else {
    std::visit([&](const auto& content) { api::AppendJson(out, *content.after); }, change);
  }
  out += '\n';
}

void KnownObjects::Apply(const ports::ClusterChange& change) {
  if (const auto* node = std::get_if<ports::Change<api::Node>>(&change)) ApplyToRows(*node);
  latest_.Apply(change);
}

void KnownObjects::ApplyToRows(const ports::Change<api::Node>& change) {
  if (change.after == nullptr) {
    const auto known = row_of_.find(change.before->metadata.name);
    if (known == row_of_.end()) return;
    free_rows_.push_back(known->second);
    row_of_.erase(known);
  } else if (!row_of_.contains(change.after->metadata.name)) {
    const auto next = static_cast<std::uint32_t>(row_of_.size());  // without free rows
    const std::uint32_t row = free_rows_.empty() ? next : free_rows_.back();
    if (!free_rows_.empty()) free_rows_.pop_back();
    row_of_[change.after->metadata.name] = row;
  }
}

void KnownObjects::AppendRows(std::string& out, const std::vector<api::NodePtr>& nodes) const {
  std::vector<std::uint32_t> rows;
  for (const api::NodePtr& node : nodes) {
    if (const auto known = row_of_.find(node->metadata.name); known != row_of_.end())
      rows.push_back(known->second);
  }
  AppendFormat(out, R"({{"snapshot":true,"rows":[{}],"free":[{}]}})", fmt::join(rows, ","),
               fmt::join(free_rows_, ","));
  out += '\n';
}

void KnownObjects::AppendTo(std::string& out, const std::vector<api::NodePtr>& nodes,
                            const std::function<void()>& flush) const {
  const auto append = [&](const ports::ClusterChange& change) {
    out += '{';
    AppendChangeHead(out, change);
    out += R"(,"t":[]})";
    out += '\n';
    AppendObject(out, change);
    flush();
  };
  for (const api::NodePtr& node : nodes) append(ports::Change<api::Node>{nullptr, node});
  const auto append_object = [&]<class T>(const std::shared_ptr<const T>& object) {
    append(ports::Change<T>{nullptr, object});
  };
  api::AllKinds::ForEach([&]<class T>() {
    if constexpr (!std::is_same_v<T, api::Pod> && !std::is_same_v<T, api::Node>)
      latest_.ForEach<T>(append_object);
  });
  latest_.ForEach<api::Pod>(append_object);
}

}  // namespace berth::recording
