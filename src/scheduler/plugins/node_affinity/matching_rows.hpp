// Node selector terms evaluated for all nodes at once, with the row sets of labels.
#pragma once

#include <vector>

#include "base/row_set.hpp"
#include "scheduler/cluster/node_selection.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

// Removes rows that do not match the term.
void RestrictToTerm(const cluster::CompiledTerm& term, const framework::Attempt& attempt, RowSet& rows);

// Removes rows that match none of the terms.
void RestrictToAnyTerm(const std::vector<cluster::CompiledTerm>& terms, const framework::Attempt& attempt,
                       RowSet& rows);

// Removes rows that do not match spec.nodeSelector and the required terms.
void RestrictToRequired(const cluster::NodeSelection& selection, const framework::Attempt& attempt,
                        RowSet& rows);

// The same for one node, which need not be in the table: for queueing hints.
bool Matches(const cluster::CompiledTerm& term, const api::Node& node, const cluster::SymbolTable& words);
bool MatchesAny(const std::vector<cluster::CompiledTerm>& terms, const api::Node& node,
                const cluster::SymbolTable& words);
// spec.nodeSelector and the required terms. An error if no valid term matches and another one is invalid.
Expected<bool> MatchesRequired(const cluster::NodeSelection& selection, const api::Node& node,
                               const cluster::SymbolTable& words);

}  // namespace berth::plugins
