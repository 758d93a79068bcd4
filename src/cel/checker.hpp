// Resolves names and overloads and derives the types of all expressions.
#pragma once

#include <string>
#include <vector>

#include "cel/ast.hpp"
#include "cel/cel.hpp"

namespace berth::cel {

// What an identifier or a call denotes.
struct Reference {
  bool present = false;
  std::string name;                        // of an identifier
  std::vector<const Overload*> overloads;  // of a call
};

// Types and references by expression id.
struct CheckedTypes {
  std::vector<TypePtr> types;  // null: none
  std::vector<Reference> references;

  const TypePtr& TypeOf(const Expr* expr) const { return types[static_cast<std::size_t>(expr->id)]; }
  const Reference& ReferenceOf(const Expr* expr) const {
    return references[static_cast<std::size_t>(expr->id)];
  }
};

// Rewrites `ast`: identifiers and functions get their qualified names. Errors have cel-go's texts and
// positions.
CheckedTypes Check(Ast& ast, const Environment& environment, ErrorList& errors);

// The checks of literals that Kubernetes' environment adds: durations, timestamps, regular expressions,
// homogeneous lists and maps, format strings.
void Validate(const Ast& ast, const CheckedTypes& checked, ErrorList& errors);

}  // namespace berth::cel
