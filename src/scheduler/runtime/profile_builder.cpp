// Builds a profile's plugins from the configured plugin sets: the plugins of each extension point, their
// order and weights. Rules and error texts are kube-scheduler v1.37.1's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/nearest.hpp"
#include "base/wrap.hpp"
#include "scheduler/runtime/profile.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::runtime {

using config::PluginRef;
using config::PluginSet;
using config::Point;

class ProfileBuilder {
 public:
  ProfileBuilder(const config::Profile& config, const Registry& registry, framework::Handle& handle)
      : config_(config), registry_(registry), handle_(handle) {}

  Expected<std::unique_ptr<Profile>> Build(std::unique_ptr<MetricsRecorder> metrics_recorder) {
    profile_ = std::unique_ptr<Profile>(new Profile());
    profile_->metrics_recorder_ = std::move(metrics_recorder);
    profile_->name_ = &*handle_.profile_names.insert(config_.scheduler_name).first;
    profile_->percentage_ = config_.percentage_of_nodes_to_score;
    BERTH_RETURN_IF_ERROR(Instantiate());
    BERTH_RETURN_IF_ERROR(Expand(Point::kPreEnqueue, "PreEnqueuePlugin", profile_->pre_enqueue_));
    std::vector<framework::QueueSortPlugin*> sorts;
    BERTH_RETURN_IF_ERROR(Expand(Point::kQueueSort, "QueueSortPlugin", sorts));
    BERTH_RETURN_IF_ERROR(Expand(Point::kPreFilter, "PreFilterPlugin", profile_->pre_filters_));
    BERTH_RETURN_IF_ERROR(Expand(Point::kFilter, "FilterPlugin", profile_->filters_));
    BERTH_RETURN_IF_ERROR(Expand(Point::kPostFilter, "PostFilterPlugin", profile_->post_filters_));
    BERTH_RETURN_IF_ERROR(Expand(Point::kPreScore, "PreScorePlugin", profile_->pre_scores_));
    std::vector<framework::ScorePlugin*> scores;
    BERTH_RETURN_IF_ERROR(Expand(Point::kScore, "ScorePlugin", scores));
    BERTH_RETURN_IF_ERROR(Expand(Point::kReserve, "ReservePlugin", profile_->reserves_));
    BERTH_RETURN_IF_ERROR(Expand(Point::kPermit, "PermitPlugin", profile_->permits_));
    BERTH_RETURN_IF_ERROR(Expand(Point::kPreBind, "PreBindPlugin", profile_->pre_binds_));
    BERTH_RETURN_IF_ERROR(Expand(Point::kBind, "BindPlugin", profile_->binders_));
    BERTH_RETURN_IF_ERROR(Expand(Point::kPostBind, "PostBindPlugin", profile_->post_binds_));
    BERTH_RETURN_IF_ERROR(
        Expand(Point::kPlacementGenerate, "PlacementGeneratePlugin", profile_->placement_generate_));
    std::vector<framework::PlacementScorePlugin*> placement_scores;
    BERTH_RETURN_IF_ERROR(Expand(Point::kPlacementScore, "PlacementScorePlugin", placement_scores));
    BERTH_RETURN_IF_ERROR(
        Expand(Point::kPodGroupPostFilter, "PodGroupPostFilterPlugin", profile_->group_post_filters_));
    // Extension points without a list of their own in the configuration, the first one like in
    // kube-scheduler.
    for (const auto& plugin : profile_->plugins_) {
      if (auto* feasible = framework::As<framework::PlacementFeasiblePlugin>(plugin.get()))
        profile_->placement_feasible_.push_back(feasible);
      if (auto* protection = framework::As<framework::EvictionProtectionPlugin>(plugin.get()))
        profile_->eviction_protections_.push_back(protection);
    }
    for (framework::ScorePlugin* plugin : scores)
      profile_->scores_.push_back({plugin, WeightOf(Point::kScore, plugin->Name())});
    for (framework::PlacementScorePlugin* plugin : placement_scores)
      profile_->placement_scores_.push_back({plugin, WeightOf(Point::kPlacementScore, plugin->Name())});
    if (sorts.size() != 1) {
      return Invalid(fmt::format(
          "only one queue sort plugin required for profile with scheduler name \"{}\", but got {}",
          config_.scheduler_name, sorts.size()));
    }
    profile_->sort_ = sorts.front();
    if (profile_->binders_.empty()) {
      return Invalid(fmt::format("at least one bind plugin is needed for profile with scheduler name \"{}\"",
                                 config_.scheduler_name));
    }
    BERTH_RETURN_IF_ERROR((CheckWeights<framework::ScorePlugin>(Point::kScore, "score plugins", "Score")));
    BERTH_RETURN_IF_ERROR((CheckWeights<framework::PlacementScorePlugin>(
        Point::kPlacementScore, "placement score plugins", "PlacementScore")));
    FindExtensions();
    profile_->CollectEvents();
    profile_->LinkPlugins();
    return std::move(profile_);
  }

 private:
  // Each enabled plugin has one instance for all extension points.
  Expected<void> Instantiate() {
    for (std::size_t i = 0; i < config::kPointCount; ++i) {
      for (const PluginRef& plugin : config_.plugins[i].enabled) {
        BERTH_RETURN_IF_ERROR(InstantiateOne(plugin, static_cast<Point>(i)));
      }
    }
    return {};
  }

  Expected<void> InstantiateOne(const PluginRef& plugin, Point point) {
    if (instances_.contains(plugin.name)) return {};
    const framework::Factory* factory = registry_.Find(plugin.name);
    if (factory == nullptr) {
      const std::string near = Nearest(plugin.name, registry_.Names());
      return Invalid(fmt::format("{} \"{}\" does not exist{}", TypeName(point), plugin.name,
                                 near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
    }
    const auto args = config_.plugin_args.find(plugin.name);
    const auto path = config_.args_paths.find(plugin.name);
    auto made = (*factory)({args == config_.plugin_args.end() ? nullptr : &args->second,
                            path == config_.args_paths.end() ? "" : path->second, config_.scheduler_name},
                           handle_);
    if (!made)
      return std::unexpected(
          std::move(made).error().In(fmt::format("initializing plugin \"{}\"", plugin.name)));
    instances_[plugin.name] = made->get();
    if (registry_.IsForeign(plugin.name)) profile_->foreign_.push_back(made->get());
    profile_->plugins_.push_back(std::move(*made));
    return {};
  }

  static std::string TypeName(Point point) {
    // the first extension point that kube-scheduler expands
    if (point == Point::kMultiPoint) return "PreFilterPlugin";
    std::string name(PointName(point));
    name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    return name + "Plugin";
  }

  // The order: explicit entries that multiPoint also contains, then the rest of multiPoint, then the other
  // explicit ones.
  template <class T>
  Expected<void> Expand(Point point, std::string_view type_name, std::vector<T*>& out) {
    const PluginSet& set = config_.at(point);
    std::vector<std::string_view> explicit_names;
    for (const PluginRef& plugin : set.enabled) {
      if (framework::As<T>(instances_.at(plugin.name)) == nullptr) {
        return Invalid(fmt::format("plugin \"{}\" does not extend {} plugin", plugin.name, type_name));
      }
      if (std::ranges::find(explicit_names, plugin.name) != explicit_names.end()) {
        return Invalid(fmt::format("plugin \"{}\" already registered as \"{}\"", plugin.name, type_name));
      }
      explicit_names.push_back(plugin.name);
    }
    std::vector<std::string_view> overrides;
    std::vector<std::string_view> from_multi;
    std::vector<std::string_view> seen;
    if (!set.DisablesAll()) {
      for (const PluginRef& plugin : config_.at(Point::kMultiPoint).enabled) {
        const auto instance = instances_.find(plugin.name);
        if (instance == instances_.end() || framework::As<T>(instance->second) == nullptr) continue;
        if (set.Disables(plugin.name)) continue;
        if (std::ranges::find(explicit_names, plugin.name) != explicit_names.end()) {
          overrides.push_back(plugin.name);
          continue;
        }
        if (std::ranges::find(seen, plugin.name) != seen.end()) {
          return Invalid(fmt::format("plugin \"{}\" already registered as \"{}\"", plugin.name, type_name));
        }
        seen.push_back(plugin.name);
        from_multi.push_back(plugin.name);
      }
    }
    const auto add = [&](std::string_view name) {
      out.push_back(framework::As<T>(instances_.at(std::string(name))));
    };
    const auto overridden = [&](std::string_view name) {
      return std::ranges::find(overrides, name) != overrides.end();
    };
    for (const std::string_view name : explicit_names) {
      if (overridden(name)) add(name);
    }
    for (const std::string_view name : from_multi) add(name);
    for (const std::string_view name : explicit_names) {
      if (!overridden(name)) add(name);
    }
    return {};
  }

  // The sum of all scores must be below 2^63. Computed as in kube-scheduler, where a negative weight causes a
  // wrap-around.
  template <class T>
  Expected<void> CheckWeights(Point own, std::string_view which, std::string_view type) const {
    std::int64_t total = 0;
    std::vector<std::string_view> seen;
    for (const Point point : {own, Point::kMultiPoint}) {
      for (const PluginRef& ref : config_.at(point).enabled) {
        if (framework::As<T>(instances_.at(ref.name)) == nullptr) continue;
        if (std::ranges::find(seen, ref.name) != seen.end()) continue;
        seen.push_back(ref.name);
        const std::int64_t most = (ref.weight == 0 ? 1 : ref.weight) * framework::kMaxScore;
        if (most > WrapSub(INT64_MAX, total))
          return Invalid(fmt::format("{}: total score of {} plugins could overflow", which, type));
        total += most;
      }
    }
    return {};
  }

  void FindExtensions() {
    for (framework::PreFilterPlugin* plugin : profile_->pre_filters_) {
      auto* extension = framework::As<framework::PreFilterExtensionsPlugin>(plugin);
      if (extension == nullptr) continue;
      const auto filter =
          std::ranges::find(profile_->filters_, plugin->Name(), &framework::FilterPlugin::Name);
      profile_->extensions_.push_back(
          {extension, filter == profile_->filters_.end()
                          ? SIZE_MAX
                          : static_cast<std::size_t>(filter - profile_->filters_.begin())});
    }
  }

  // The point's own list first, then multiPoint; the first entry for the plugin counts, and a weight of 0
  // means 1.
  std::int64_t WeightOf(Point own, std::string_view plugin) const {
    for (const Point point : {own, Point::kMultiPoint}) {
      for (const PluginRef& ref : config_.at(point).enabled) {
        if (ref.name == plugin) return ref.weight == 0 ? 1 : ref.weight;
      }
    }
    return 1;
  }

  const config::Profile& config_;
  const Registry& registry_;
  framework::Handle& handle_;
  std::unique_ptr<Profile> profile_;
  std::map<std::string, framework::Plugin*, std::less<>> instances_;
};

Profile::~Profile() = default;

Expected<std::unique_ptr<Profile>> Profile::Build(const config::Profile& config, const Registry& registry,
                                                  framework::Handle& handle,
                                                  std::unique_ptr<MetricsRecorder> metrics_recorder) {
  auto built = ProfileBuilder(config, registry, handle).Build(std::move(metrics_recorder));
  if (!built) {
    return std::unexpected(std::move(built).error().In(
        fmt::format("initializing profiles: creating profile for scheduler name {}", config.scheduler_name)));
  }
  (*built)->PrepareEvaluations();
  return built;
}

}  // namespace berth::runtime
