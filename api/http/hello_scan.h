// HelloScan: whether a TLS hello is there as a whole. A hello is one message of the handshake, and
// may be cut into as many records as its sender likes: whoever looks at the first record alone lets
// OpenSSL compute at a time of the client's choosing.
//
//   HelloScan scan(HelloPlace::kFirst);
//   while (scan.Of(begun) == HelloState::kIncomplete) read more to the end of `begun`;
//
// Nothing is copied but the message's first bytes; each record is looked at once.
#ifndef TALLYD_API_HTTP_HELLO_SCAN_H_
#define TALLYD_API_HTTP_HELLO_SCAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tallyd {

enum class HelloState : uint8_t {
  kIncomplete,
  kWhole,      // Or something of TLS that is no hello, which OpenSSL refuses without computing.
  kNotTls,     // Of the first bytes of a connection.
  kMalformed,  // It is longer than any hello, or something else stands in the middle of it.
};

// A hello that answers a HelloRetryRequest may have a record before it that older middle boxes want
// (RFC 8446, D.4).
enum class HelloPlace : uint8_t { kFirst, kAfterRetry };

class HelloScan {
 public:
  // With the heads of its records.
  static constexpr size_t kMostBytes = 32u << 10;

  explicit HelloScan(HelloPlace place) : place_(place) {}

  // Of all that has come, of which what was there before is the beginning.
  HelloState Of(std::string_view begun);

 private:
  static constexpr size_t kMessageHeadBytes = 4;

  HelloState OfOtherRecord(std::string_view record) const;
  // Takes the message's part from a record; whether that is the last of it.
  bool Takes(std::string_view part);
  size_t MessageBytes() const;  // REQUIRES: its head has come.

  const HelloPlace place_;
  size_t at_ = 0;        // Where the record begins that is not whole yet.
  size_t gathered_ = 0;  // What the records before it hold of the message.
  std::array<unsigned char, kMessageHeadBytes> head_{};
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_HELLO_SCAN_H_
