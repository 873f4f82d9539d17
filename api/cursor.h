// Cursors: where a page ended, as opaque text that goes into a URL as it is (base64url). A cursor
// belongs to one query: it carries the hash of what was asked, and is refused elsewhere.
#ifndef TALLYD_API_CURSOR_H_
#define TALLYD_API_CURSOR_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "api/request.h"
#include "config/values/result.h"

namespace tallyd {

// The hash of everything that decides which rows come and in which order: cursor, limit, format and
// raw do not, nor does the order of different parameters.
uint64_t HashOfQuery(std::string_view route, std::string_view subject, const Params& params);

class CursorWriter {
 public:
  explicit CursorWriter(uint64_t query_hash);
  void AddInt(int64_t value);
  void AddText(std::string_view text);
  std::string Finish() const;

 private:
  std::string bytes_;
};

// Bytes that no CursorWriter made are an error, never undefined.
class CursorReader {
 public:
  static Result<CursorReader> Open(std::string_view cursor, uint64_t query_hash);
  bool TakeInt(int64_t* value);
  bool TakeText(std::string* text);
  bool AtEnd() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

Error BadCursor();

}  // namespace tallyd

#endif  // TALLYD_API_CURSOR_H_
