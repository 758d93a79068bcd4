#include "plugins/node_affinity/matching_rows.hpp"

namespace berth::plugins {
namespace {

using api::SelectorOp;
using framework::Attempt;
using framework::CompiledField;
using framework::CompiledRequirement;

// The rows with one of the labels that decide the requirement.
void AddDeciding(const CompiledRequirement& requirement, const Attempt& attempt, RowSet& out) {
  const framework::NodeTable& nodes = attempt.nodes();
  const framework::Vocabulary& words = nodes.vocabulary();
  switch (requirement.op) {
    case SelectorOp::kIn:
    case SelectorOp::kNotIn:
      for (const framework::LabelId label : requirement.labels) {
        if (const RowGroup* rows = nodes.WithLabel(label)) rows->AddTo(out);
      }
      return;
    case SelectorOp::kExists:
    case SelectorOp::kDoesNotExist:
      if (const RowSet* rows = nodes.WithKey(requirement.key)) out |= *rows;
      return;
    case SelectorOp::kGt:
    case SelectorOp::kLt:
      for (const framework::LabelId label : words.LabelsOf(requirement.key)) {
        const auto number = words.NumberOf(label);
        if (!number) continue;
        const bool matches =
            requirement.op == SelectorOp::kGt ? *number > requirement.bound : *number < requirement.bound;
        if (const RowGroup* rows = matches ? nodes.WithLabel(label) : nullptr) rows->AddTo(out);
      }
      return;
  }
}

void Restrict(const CompiledRequirement& requirement, const Attempt& attempt, RowSet& rows) {
  auto deciding = attempt.Scratch();
  AddDeciding(requirement, attempt, *deciding);
  if (requirement.op == SelectorOp::kNotIn || requirement.op == SelectorOp::kDoesNotExist) {
    rows -= *deciding;
  } else {
    rows &= *deciding;
  }
}

void Restrict(const CompiledField& field, const Attempt& attempt, RowSet& rows) {
  if (!field.is_name) {
    // Every other field reads as empty text, on every node.
    if (field.value_empty == field.negated) rows.Clear();
    return;
  }
  const framework::Row row = attempt.nodes().Find(field.name);
  if (field.negated) {
    if (row != framework::kNoRow) rows.Remove(row);
    return;
  }
  const bool present = row != framework::kNoRow && rows.Has(row);
  rows.Clear();
  if (present) rows.Add(row);
}

}  // namespace

void RestrictToTerm(const framework::CompiledTerm& term, const Attempt& attempt, RowSet& rows) {
  if (term.never) {
    rows.Clear();
    return;
  }
  for (const CompiledRequirement& requirement : term.labels) Restrict(requirement, attempt, rows);
  for (const CompiledField& field : term.fields) Restrict(field, attempt, rows);
}

void RestrictToAnyTerm(const std::vector<framework::CompiledTerm>& terms, const Attempt& attempt,
                       RowSet& rows) {
  if (terms.size() == 1) return RestrictToTerm(terms.front(), attempt, rows);
  auto any = attempt.Scratch();
  auto one = attempt.Scratch();
  for (const framework::CompiledTerm& term : terms) {
    one->Clear();
    *one |= rows;
    RestrictToTerm(term, attempt, *one);
    *any |= *one;
  }
  rows &= *any;
}

}  // namespace berth::plugins
