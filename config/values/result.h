// Result<T> and Status: how a function tells of a failure that the world outside the process caused
// (bytes from a client, the disk, a file of configuration). Programmer errors are asserts; nothing
// here is thrown across a layer.
//
//   Result<int> r = ParsePort(text);
//   if (!r) return r.error();
//
// An Error is a value: a code that says who has to act, and a sentence for that reader. Codes
// become HTTP statuses in one place (HttpStatus, api/response.cc).
#ifndef TALLYD_CONFIG_VALUES_RESULT_H_
#define TALLYD_CONFIG_VALUES_RESULT_H_

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tallyd {

enum class ErrorCode {
  kInvalid,        // The input is wrong as written: malformed, out of range, refused by the schema.
  kUnprocessable,  // Well formed, but it cannot be answered as asked (a full scan, too many
                   // ranges).
  kForbidden,      // Whoever asks may not.
  kNotFound,       // The named stream, table or row does not exist.
  kConflict,       // It contradicts what is stored.
  kTooLarge,       // It exceeds a limit.
  kUnsupported,    // A media type or encoding that is not spoken here.
  kOverloaded,     // The queue is full: try again.
  kThrottled,      // Who asks has its part of what there is, others are served: try again.
  kUnavailable,    // The store cannot serve now (reopening, shutting down): try again.
  kInDoubt,        // What adds up may have counted, or not: sent again it may count twice.
  kNoSpace,        // The disk is full.
  kCorruption,     // Stored bytes are not what was written.
  kIo,             // Any other failure of the disk.
  kCancelled,      // The caller gave up or the daemon stops.
};

class [[nodiscard]] Error {
 public:
  Error() = default;
  explicit Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // Seconds after which to try again, where whoever refused can tell; else 0.
  unsigned retry_after() const { return retry_after_; }

  // The same error with "context: " in front of its sentence.
  Error Prefixed(std::string_view context) const {
    std::string message(context);
    message.append(": ").append(message_);
    return Error(code_, std::move(message)).RetryAfter(retry_after_);
  }
  Error RetryAfter(unsigned seconds) && {
    retry_after_ = seconds;
    return std::move(*this);
  }

 private:
  ErrorCode code_ = ErrorCode::kInvalid;
  unsigned retry_after_ = 0;
  std::string message_;
};

// Found by ADL when value() is called on a failed Result, which only tests do.
[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location&) {
  throw std::runtime_error(error.message());
}

template <class T>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
 public:
  using boost::system::result<T, Error>::result;
};

using Status = Result<void>;

inline Error Invalid(std::string message) { return Error(ErrorCode::kInvalid, std::move(message)); }

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_RESULT_H_
