// A body with the readable bytes behind it that decoders ask for. They are hostile on purpose:
// digits, which a careless reader would take for the end of a number.
#ifndef TALLYD_TESTS_INGEST_PADDED_H_
#define TALLYD_TESTS_INGEST_PADDED_H_

#include <memory>
#include <string_view>

#include "ingest/decode/decode.h"

namespace tallyd {

class Padded {
 public:
  explicit Padded(std::string_view text)
      : size_(text.size()), bytes_(std::make_unique<char[]>(text.size() + kBodyPadding)) {
    text.copy(bytes_.get(), size_);
    std::fill_n(bytes_.get() + size_, kBodyPadding, '7');
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<char[]> bytes_;  // Exactly as long as promised, so that a sanitizer sees more.
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_INGEST_PADDED_H_
