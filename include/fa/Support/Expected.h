// A value or an error message, for the layers that use no LLVM header. Ignoring one is a compiler warning.
#pragma once
#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace fa {

/// One failure, told the way a user reads it: `expected X, but got Y`, lower case, no full stop.
/// `code` is a driver error code where one applies (0 otherwise).
struct Error {
  std::string message;
  int code = 0;
};

inline Error makeError(std::string message, int code = 0) { return {std::move(message), code}; }

template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : storage(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : storage(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return storage.index() == 0; }
  T &operator*() { return std::get<0>(storage); }
  const T &operator*() const { return std::get<0>(storage); }
  T *operator->() { return &std::get<0>(storage); }
  const T *operator->() const { return &std::get<0>(storage); }
  const Error &error() const { return std::get<1>(storage); }
  const std::string &message() const { return error().message; }

private:
  std::variant<T, Error> storage;
};

/// Success, or an error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)), failed(true) {}
  static Status success() { return {}; }
  explicit operator bool() const { return !failed; }
  const Error &error() const { return failure; }
  const std::string &message() const { return failure.message; }

private:
  Error failure;
  bool failed = false;
};

} // namespace fa
