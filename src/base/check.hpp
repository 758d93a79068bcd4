// Checked invariants. A rejected pod is a Status, a failed operation an Expected<T>; a broken invariant is a
// defect of this program, and continuing could bind a pod to the wrong node. So the process ends, and a
// standby takes over.
//
//   BERTH_CHECK(row < rows_, row, rows_);
//
// BERTH_CHECK is enabled in every build, release included. BERTH_DCHECK is for checks that cost too much for
// a release; it is enabled where BERTH_DEBUG_CHECKS is defined (builds with a sanitizer, fuzzers) and not
// evaluated elsewhere. Further arguments are values for the report: integers, floating-point numbers, enums,
// ids, booleans, strings. They are evaluated only when the check fails.
//
// A failed check writes one line in klog's format ("F... file:line] "Invariant violated" check=... row=7")
// and a stack trace to the standard error stream and ends the process with kInvariantExitCode, without
// destructors and without giving the lease back: its state is not to be trusted. Any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace berth {

inline constexpr int kInvariantExitCode = 70;  // EX_SOFTWARE of sysexits.h

namespace check_internal {

// One value of a report. Trivially copyable, so that a check keeps its operands in registers until it fails.
class Value {
 public:
  enum class Kind : std::uint8_t { kSigned, kUnsigned, kDouble, kBool, kText };

  // NOLINTBEGIN(google-explicit-constructor): the macro converts whatever it is given.
  Value(bool value) : kind_(Kind::kBool), unsigned_(value) {}
  template <std::signed_integral T>
  Value(T value) : kind_(Kind::kSigned), signed_(value) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Value(T value) : kind_(Kind::kUnsigned), unsigned_(value) {}
  template <std::floating_point T>
  Value(T value) : kind_(Kind::kDouble), double_(static_cast<double>(value)) {}
  template <class T>
    requires std::is_enum_v<T>
  Value(T value) : Value(static_cast<std::underlying_type_t<T>>(value)) {}
  template <class T>
    requires requires(const T& id) {
      { id.value } -> std::convertible_to<std::uint32_t>;
    }
  Value(const T& id) : Value(id.value) {}
  Value(std::string_view text) : kind_(Kind::kText), text_(text) {}
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  Value(const T& text) : Value(static_cast<std::string_view>(text)) {}
  // NOLINTEND(google-explicit-constructor)

  Kind kind() const { return kind_; }
  std::int64_t as_signed() const { return signed_; }
  std::uint64_t as_unsigned() const { return unsigned_; }
  double as_double() const { return double_; }
  std::string_view text() const { return text_; }

 private:
  Kind kind_;
  union {
    std::int64_t signed_;
    std::uint64_t unsigned_;
    double double_;
    std::string_view text_;
  };
};

// `names`: the source text of the values, separated by commas.
[[noreturn, gnu::cold, gnu::noinline]] void Fail(const char* file, int line, const char* condition,
                                                 const char* names, std::initializer_list<Value> values);

}  // namespace check_internal
}  // namespace berth

#define BERTH_CHECK(condition, ...)                                                               \
  do {                                                                                            \
    if (!(condition)) [[unlikely]]                                                                \
      ::berth::check_internal::Fail(__FILE__, __LINE__, #condition, #__VA_ARGS__, {__VA_ARGS__}); \
  } while (false)

#ifdef BERTH_DEBUG_CHECKS
#define BERTH_DCHECK(condition, ...) BERTH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#else
#define BERTH_DCHECK(condition, ...)                              \
  do {                                                            \
    if (false) BERTH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
#endif
