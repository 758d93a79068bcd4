// The types of Kubernetes v1.37 as text, one message after the other:
//
//   Name|<number><field>:<type> <number><field>:<type> ...
//
// A line that begins with a space goes on with the message above. Types: s string, i integer, b boolean, d
// floating point, B bytes, t metav1.Time, T metav1.MicroTime, q resource.Quantity, I IntOrString, D
// metav1.Duration, o anything, or the name of a message. [] before a type: repeated; {}: a map from strings;
// ^ without a field name: the members of that message appear as if they were this one's (Go's inlined
// structs). ? after a type: zero is a value, not "unset" (a pointer in Go). Where two groups have a message
// of one name, it is written <group>.<name>.
#pragma once

#include <string_view>

namespace berth::sandbox {

std::string_view CoreSchemaText();
std::string_view GroupSchemaText();

}  // namespace berth::sandbox
