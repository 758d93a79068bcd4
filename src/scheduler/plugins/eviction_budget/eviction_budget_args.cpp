#include "scheduler/plugins/eviction_budget/eviction_budget_args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/go_duration.hpp"
#include "config/duration.hpp"
#include "scheduler/plugins/args_range.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;
using Args = EvictionBudgetArgs;

Args DecodeEvictionBudget(const Value& value, const config::FeatureGates&, Problems& problems) {
  Args args;
  StructReader reader(value, "EvictionBudgetArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("minRunSeconds", args.min_run_seconds);
  reader.Each(
      "budgets",
      [&](const Value& item, const std::string& path) {
        Args::Budget& budget = args.budgets.emplace_back();
        StructReader one(item, "EvictionBudget", path, problems);
        one.Read("namespace", budget.ns);
        one.Read("evictions", budget.evictions);
        config::ReadDuration(one, "period", budget.period, problems);
        one.Finish();
      },
      "EvictionBudget");
  reader.With(
      "loops",
      [&](const Value& value, const std::string& path) {
        PreemptionLoopsArgs& loops = args.loops.emplace();
        StructReader one(value, "PreemptionLoops", path, problems);
        one.Read("evictions", loops.evictions);
        config::ReadDuration(one, "window", loops.window, problems);
        config::ReadDuration(one, "pause", loops.pause, problems);
        one.Finish();
      },
      "PreemptionLoops");
  reader.Finish();
  return args;
}

void CheckDuration(std::chrono::nanoseconds value, std::chrono::nanoseconds shortest,
                   std::chrono::nanoseconds longest, const std::string& path,
                   std::vector<std::string>& errors) {
  if (value >= shortest && value <= longest) return;
  errors.push_back(fmt::format("{}: Invalid value: \"{}\": must be from {} to {}", path,
                               FormatGoDuration(value), FormatGoDuration(shortest),
                               FormatGoDuration(longest)));
}

void CheckLoops(const PreemptionLoopsArgs& loops, const std::string& path, std::vector<std::string>& errors) {
  CheckRange(path + ".evictions", loops.evictions, PreemptionLoopsArgs::kFewestEvictions,
             PreemptionLoopsArgs::kMostEvictions, errors);
  CheckDuration(loops.window, PreemptionLoopsArgs::kShortest, PreemptionLoopsArgs::kLongest, path + ".window",
                errors);
  CheckDuration(loops.pause, PreemptionLoopsArgs::kShortest, PreemptionLoopsArgs::kLongest, path + ".pause",
                errors);
}

bool IsNamespace(const std::string& name) {
  const auto fine = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return name.size() <= 63 && std::ranges::all_of(name, fine) && name.front() != '-' && name.back() != '-';
}

void CheckNamespace(const std::string& name, const std::string& path, std::set<std::string>& known,
                    std::vector<std::string>& errors) {
  if (name.empty()) {
    errors.push_back(path + ": Required value: must be a namespace, or \"*\" for each of the others");
  } else if (name != Args::kOtherNamespaces && !IsNamespace(name)) {
    errors.push_back(fmt::format(
        "{}: Invalid value: \"{}\": must be a namespace, or \"*\" for each of the others", path, name));
  } else if (!known.insert(name).second) {
    errors.push_back(fmt::format("{}: Duplicate value: \"{}\"", path, name));
  }
}

std::vector<std::string> CheckEvictionBudget(const Args& args, const std::string& path,
                                             const config::FeatureGates&) {
  std::vector<std::string> errors;
  CheckRange(path + ".minRunSeconds", args.min_run_seconds, 0, Args::kLongestRun, errors);
  if (args.loops) CheckLoops(*args.loops, path + ".loops", errors);
  if (args.budgets.size() > Args::kMostBudgets) {
    errors.push_back(fmt::format("{}.budgets: Too many: {}: must have at most {} items", path,
                                 args.budgets.size(), Args::kMostBudgets));
    return errors;
  }
  std::set<std::string> known;
  for (std::size_t i = 0; i < args.budgets.size(); ++i) {
    const Args::Budget& budget = args.budgets[i];
    const std::string at = fmt::format("{}.budgets[{}]", path, i);
    CheckNamespace(budget.ns, at + ".namespace", known, errors);
    CheckRange(at + ".evictions", budget.evictions, 0, Args::kMostEvictions, errors);
    CheckDuration(budget.period, Args::kShortestPeriod, Args::kLongestPeriod, at + ".period", errors);
  }
  return errors;
}

Value EncodeEvictionBudget(const Args& args) {
  Value out = Value::Map();
  out.Set("minRunSeconds", Value::Number(args.min_run_seconds));
  if (args.loops) {
    Value loops = Value::Map();
    loops.Set("evictions", Value::Number(args.loops->evictions));
    loops.Set("window", Value::Text(FormatGoDuration(args.loops->window)));
    loops.Set("pause", Value::Text(FormatGoDuration(args.loops->pause)));
    out.Set("loops", std::move(loops));
  }
  if (args.budgets.empty()) return out;
  Value budgets = Value::List();
  for (const Args::Budget& budget : args.budgets) {
    Value item = Value::Map();
    item.Set("namespace", Value::Text(budget.ns));
    item.Set("evictions", Value::Number(budget.evictions));
    item.Set("period", Value::Text(FormatGoDuration(budget.period)));
    budgets.items.push_back(std::move(item));
  }
  out.Set("budgets", std::move(budgets));
  return out;
}

}  // namespace

Expected<EvictionBudgetArgs> ParseEvictionBudgetArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeEvictionBudget, CheckEvictionBudget);
}

config::ArgsCodec EvictionBudgetArgsCodec() {
  auto codec = config::MakeArgsCodec<EvictionBudgetArgs>("EvictionBudgetArgs", DecodeEvictionBudget,
                                                         CheckEvictionBudget, EncodeEvictionBudget);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
