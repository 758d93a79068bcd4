#include "tools/replay/steps.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "scheduler/recording/inputs.hpp"
#include "tools/replay/results.hpp"
#include "tools/replay/step_check.hpp"

namespace berth::replay {

Expected<Steps> Steps::Open(const std::filesystem::path& directory) {
  BERTH_TRY(auto reader, recording::SegmentReader::Open(directory));
  Steps steps(std::move(reader));
  std::string first_error;
  for (auto line = steps.NextReadable(); line; line = steps.NextReadable()) {
    if (!steps.reader_.at_file_start()) continue;
    auto header = recording::ReadHeader(*line);
    if (header) {
      steps.header_ = *std::move(header);
      steps.damage_.clear();
      return steps;
    }
    if (first_error.empty()) first_error = header.error().message;
  }
  if (first_error.empty()) first_error = steps.damage_.empty() ? "the recording is empty" : steps.damage_;
  return Invalid(fmt::format("{}: {}", directory.string(), first_error));
}

std::optional<std::string_view> Steps::NextReadable() {
  while (true) {
    if (const auto line = reader_.Next()) {
      ++line_;
      return line;
    }
    const auto& damage = reader_.damage();
    if (!damage) return std::nullopt;
    damage_ = fmt::format("{}: {} at byte {}: nothing before it can be read", damage->file, damage->reason,
                          damage->offset);
    if (!reader_.SkipToNextFile()) return std::nullopt;
  }
}

bool Steps::Resume() {
  for (auto line = NextReadable(); line; line = NextReadable()) {
    if (!reader_.at_file_start()) continue;
    auto header = recording::ReadHeader(*line);
    if (!header) continue;
    header_ = *std::move(header);
    damage_.clear();
    beginning_ = true;
    return true;
  }
  return false;
}

std::optional<std::string_view> Steps::StateLine() {
  std::optional<std::string_view> line;
  do {
    line = reader_.Next();
    ++line_;
  } while (line && !line->starts_with(R"({"state":)"));
  return line;
}

const Steps::Step* Steps::Next() {
  auto text = reader_.Next();
  if (text && reader_.at_file_start() && text->starts_with(R"({"recording":)")) {
    ++line_;
    text = reader_.Next();
  }
  if (text && !beginning_ && text->starts_with(R"({"snapshot":)")) {
    ++line_;
    text = StateLine();
    --line_;
  }
  if (!text) {
    if (const auto& damage = reader_.damage()) {
      return Damaged(fmt::format("{}: {} at byte {}", damage->file, damage->reason, damage->offset));
    }
    return nullptr;
  }
  step_.line = ++line_;
  boost::system::error_code failed;
  parsed_ = std::make_shared<boost::json::value>(boost::json::parse(*text, failed));
  if (failed || !parsed_->is_object()) return Damaged(fmt::format("line {} is not an object of JSON", line_));
  step_.body = &parsed_->get_object();
  if (const std::string error = FormError(*step_.body); !error.empty())
    return Damaged(fmt::format("line {}: {}", line_, error));
  if (const auto* lost = step_.body->if_contains("lost")) {
    return Damaged(fmt::format("{} lines are missing, because the disk was too slow", lost->get_int64()));
  }
  beginning_ = beginning_ && step_.body->contains("snapshot");
  step_.object.clear();
  if (!step_.body->contains("change") || step_.body->contains("deleted")) return &step_;
  const auto object = reader_.Next();
  if (!object) return Damaged(fmt::format("line {} has no object", line_));
  ++line_;
  step_.object = *object;
  return &step_;
}

const Steps::Step* Steps::Damaged(std::string reason) {
  damage_ = std::move(reason);
  return nullptr;
}

template <class T>
Expected<ports::ClusterChange> Objects::ReadAs(const Steps::Step& step) {
  if (step.body->contains("deleted")) {
    const std::string key = TextOf(*step.body, "deleted");
    auto before = known_.Find<T>(key);
    if (before == nullptr) return Invalid(fmt::format("{} {} is not known", T::kKind, key));
    return ports::Change<T>{std::move(before), nullptr};
  }
  BERTH_TRY(T object, decoder_.Object<T>(step.object));
  if constexpr (std::is_same_v<T, api::PodGroup>) {
    // Plugins rely on it that the groups with qualified names, and no others, are those of other projects.
    if (object.metadata.name.contains('/') != step.body->contains("external"))
      return Invalid("external: expected for groups with qualified names, and for no others");
    if (const auto* external = step.body->if_contains("external"))
      BERTH_RETURN_IF_ERROR(recording::ReadExternal(*external, object));
  }
  auto after = std::make_shared<const T>(std::move(object));
  auto before = known_.Find<T>(after->metadata.Key());
  return ports::Change<T>{std::move(before), std::move(after)};
}

Expected<ports::ClusterChange> Objects::Read(const Steps::Step& step) {
  const std::string kind = TextOf(*step.body, "change");
  std::optional<Expected<ports::ClusterChange>> change;
  const auto read = [&]<class T>() {
    if (!change && kind == T::kKind) change.emplace(ReadAs<T>(step));
  };
  [&]<class... T>(api::KindList<T...>) { (read.template operator()<T>(), ...); }(api::AllKinds{});
  const std::string where = fmt::format("line {}", step.line);
  if (!change) return Invalid(fmt::format("{}: the kind \"{}\" is not known", where, kind));
  if (!*change) return std::unexpected(std::move(*change).error().In(where));
  known_.Apply(**change);
  return *std::move(change);
}

}  // namespace berth::replay
