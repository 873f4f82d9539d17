// Names of fields, as decoders compare and find them: short, and from outside.
#ifndef TALLYD_INGEST_DECODE_FIELD_NAME_H_
#define TALLYD_INGEST_DECODE_FIELD_NAME_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tallyd {

inline uint64_t LoadWord(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Inline: a call for each short name would cost more than the comparison.
inline bool IsSameName(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.size() < sizeof(uint64_t)) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  const auto differ_at = [&a, &b](size_t i) {
    return LoadWord(a.data() + i) != LoadWord(b.data() + i);
  };
  // Overlaps the word before it. Names of one event mostly differ at their ends, if at all.
  const size_t last = a.size() - sizeof(uint64_t);
  if (differ_at(last)) return false;
  for (size_t i = 0; i < last; i += sizeof(uint64_t)) {
    if (differ_at(i)) return false;
  }
  return true;
}

// With an unknown seed, so that names cannot be made to collide on purpose.
struct FieldNameHash {
  using is_avalanching = void;
  size_t operator()(std::string_view name) const;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_FIELD_NAME_H_
