#include "tools/shadow/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/json_text.hpp"

namespace berth::shadow {
namespace {

void AppendField(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  out += fmt::format(",\"{}\":", name);
  AppendJsonString(out, text);
}

void AppendChoice(std::string& out, std::string_view name, const Choice& choice) {
  std::string fields;
  AppendField(fields, "node", choice.node);
  AppendField(fields, "message", choice.message);
  AppendField(fields, "nominated", choice.nominated);
  AppendField(fields, "devices", choice.devices);
  out += fmt::format(",\"{}\":{{{}}}", name, fields.empty() ? fields : fields.substr(1));
}

std::string Description(const Choice& choice) {
  if (choice.bound()) return choice.node;
  if (!choice.nominated.empty()) return fmt::format("no node, nominated {}", choice.nominated);
  return "no node";
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  static constexpr std::array<std::string_view, kOutcomes> kNames{
      "same",  "tie",        "unschedulable",   "sampled", "raced",   "counts",
      "worse", "infeasible", "placeable",       "devices", "message", "nomination",
      "error", "missed",     "reference_error", "group"};
  return kNames[static_cast<std::size_t>(outcome)];
}

Verdict VerdictOf(Outcome outcome) {
  if (outcome <= Outcome::kUnschedulable) return Verdict::kAgreed;
  if (outcome <= Outcome::kCounts) return Verdict::kExplained;
  return outcome <= Outcome::kError ? Verdict::kDisagreed : Verdict::kNotCompared;
}

std::string_view VerdictName(Verdict verdict) {
  static constexpr std::array<std::string_view, kVerdicts> kNames{"agreed", "explained", "disagreed",
                                                                  "not_compared"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string ToJson(const Comparison& comparison) {
  std::string out = fmt::format("{{\"time\":\"{}\",\"pod\":", FormatMicroTime(comparison.when));
  AppendJsonString(out, comparison.pod);
  AppendField(out, "profile", comparison.profile);
  AppendField(out, "outcome", OutcomeName(comparison.outcome));
  AppendField(out, "verdict", VerdictName(comparison.verdict()));
  AppendChoice(out, "reference", comparison.reference);
  AppendChoice(out, "candidate", comparison.candidate);
  AppendField(out, "plugin", comparison.plugin);
  AppendField(out, "reason", comparison.reason);
  AppendField(out, "because", comparison.because);
  AppendField(out, "atFirst", comparison.at_first);
  out += fmt::format(
      ",\"nodes\":{},\"feasible\":{},\"better\":{},\"equalBest\":{},\"referenceTotal\":{},\"candidateTotal\":"
      "{}",
      comparison.nodes, comparison.feasible, comparison.better, comparison.equal_best,
      comparison.reference_total, comparison.candidate_total);
  std::vector<std::string> parts;
  for (const ScorePart& part : comparison.parts) {
    parts.push_back(fmt::format("{{\"plugin\":\"{}\",\"weight\":{},\"reference\":{},\"candidate\":{}}}",
                                part.plugin, part.weight, part.reference, part.candidate));
  }
  if (!parts.empty()) out += fmt::format(",\"scores\":[{}]", fmt::join(parts, ","));
  if (!comparison.victims.empty())
    out += fmt::format(",\"victims\":[\"{}\"]", fmt::join(comparison.victims, "\",\""));
  return out + "}";
}

std::string ToText(const Comparison& comparison) {
  std::string text = fmt::format("{} {} {}: other scheduler {}, Berth {}", FormatTime(comparison.when),
                                 OutcomeName(comparison.outcome), comparison.pod,
                                 Description(comparison.reference), Description(comparison.candidate));
  if (comparison.reference_total != comparison.candidate_total)
    text += fmt::format("; total score {} vs. {}", comparison.reference_total, comparison.candidate_total);
  for (const ScorePart& part : comparison.parts)
    text += fmt::format(", {} {}x{} vs. {}", part.plugin, part.weight, part.reference, part.candidate);
  if (!comparison.plugin.empty()) {
    text += fmt::format("; {}: {}", comparison.plugin, comparison.reason);
  } else if (!comparison.reason.empty() && comparison.reference.bound()) {
    text += "; " + comparison.reason;
  }
  if (!comparison.because.empty()) text += "; " + comparison.because;
  if (comparison.outcome == Outcome::kDevices) {
    text += fmt::format("; the other scheduler's devices: {}, Berth's: {}", comparison.reference.devices,
                        comparison.candidate.devices);
  }
  if (comparison.outcome == Outcome::kMessage || comparison.outcome == Outcome::kPlaceable)
    text += fmt::format("; the other scheduler's message: \"{}\"", comparison.reference.message);
  if (comparison.outcome == Outcome::kMessage)
    text += fmt::format(", Berth's: \"{}\"", comparison.candidate.message);
  return text;
}

}  // namespace berth::shadow
