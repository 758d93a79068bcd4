// The macros of the language and its extensions: optional types, bindings, comprehensions with two variables,
// list sorting.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cel/ast.hpp"

namespace berth::cel {

// Why a macro was not expanded.
struct MacroError {
  std::int64_t id;  // of the expression at fault
  std::string message;
};

// The expansion of the call `function` with its target (null for a global call), or null if this is no macro
// or the macro does not apply. New nodes get the position of `call_id`. Sets `error` if the arguments are
// wrong or if earlier expansions have made the tree too large.
Expr* ExpandMacro(Ast& ast, std::int64_t call_id, std::string_view function, Expr* target,
                  std::span<Expr* const> args, std::optional<MacroError>& error);

}  // namespace berth::cel
