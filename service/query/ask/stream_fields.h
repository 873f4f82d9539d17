// The fields that a stream is known to have: those that events brought (the store's catalogue) and
// those that the configuration names. What is in neither is a mistake of whoever asks.
#ifndef TALLYD_SERVICE_QUERY_ASK_STREAM_FIELDS_H_
#define TALLYD_SERVICE_QUERY_ASK_STREAM_FIELDS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/table_rules.h"
#include "storage/store.h"

namespace tallyd {

class StreamFields {
 public:
  StreamFields(const Schema& schema, const Stream& stream, const Store& store);

  // Also a compact name, which is no field but may be asked for.
  bool Knows(std::string_view name) const {
    return type_bits_.contains(name) || compact_.contains(name);
  }
  // Whether events brought it as an integer or a float.
  bool IsNumber(std::string_view name) const;
  // The types that events brought it with (FieldInfo::type_bits); 0: they did not bring it.
  uint8_t TypesOf(std::string_view name) const;
  // Whether events brought it.
  bool WasSeen(std::string_view name) const { return TypesOf(name) != 0; }
  // Whether it was a label of an event, and whether it never was anything else. Of a stream that
  // lists its labels all text of a listed field counts as one, whenever it came.
  bool WasLabel(std::string_view name) const;
  bool IsLabelAlone(std::string_view name) const;
  // Whether it was a label whenever it was text.
  bool IsLabelAsText(std::string_view name) const;
  // Whether events brought it with a value that its text does not tell: text that spells a number
  // is read back as one, any other as a string.
  bool ReadsAsAnother(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }  // In byte order.
  // The same names: of the spellings of one compact name the one seen last comes last.
  const Spellings& spellings() const { return spellings_; }
  // The compact names of the fields that some table keeps by them.
  const std::set<std::string, std::less<>>& compact_names() const { return compact_; }
  // The spellings of a compact name that events brought, of fields that some table keeps by it, the
  // one seen last at the end. `name` is any of them, or the compact name.
  std::vector<std::string> SpellingsOf(std::string_view name) const;
  // The known fields that a name or glob matches, in byte order; a compact name matches itself.
  std::vector<std::string> Matching(std::string_view pattern) const;
  // 400 with the nearest names.
  Error Unknown(std::string_view name) const;

 private:
  uint8_t OfLabels(std::string_view name) const;

  std::string stream_;
  std::map<std::string, uint8_t, std::less<>> type_bits_;
  std::vector<std::string> names_;
  Spellings spellings_;
  std::set<std::string, std::less<>> listed_;  // Of the stream's events all text there is a label.
  std::set<std::string, std::less<>> compact_;
  std::set<std::string, std::less<>> compacted_;  // Of names_, those that some table keeps so.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_STREAM_FIELDS_H_
