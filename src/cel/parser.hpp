// Parses an expression and expands its macros.
#pragma once

#include <string_view>

#include "cel/ast.hpp"

namespace berth::cel {

// Names of operators as functions, as in the type checker and in error messages.
namespace operators {
inline constexpr std::string_view kConditional = "_?_:_";
inline constexpr std::string_view kAnd = "_&&_";
inline constexpr std::string_view kOr = "_||_";
inline constexpr std::string_view kNot = "!_";
inline constexpr std::string_view kEquals = "_==_";
inline constexpr std::string_view kNotEquals = "_!=_";
inline constexpr std::string_view kAdd = "_+_";
inline constexpr std::string_view kNegate = "-_";
inline constexpr std::string_view kIndex = "_[_]";
inline constexpr std::string_view kOptionalIndex = "_[?_]";
inline constexpr std::string_view kOptionalSelect = "_?._";
inline constexpr std::string_view kIn = "@in";
inline constexpr std::string_view kNotStrictlyFalse = "@not_strictly_false";
}  // namespace operators

inline constexpr std::string_view kMapInsert = "cel.@mapInsert";

// Fills `ast`; errors are added to `errors`, and the tree must not be used then. Texts and positions are
// cel-go's, except for syntax errors: only the first one is reported, and its text may differ.
void Parse(Ast& ast, ErrorList& errors);

}  // namespace berth::cel
