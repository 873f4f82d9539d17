#include <string>

#include "api/answer.h"
#include "api/cursor.h"
#include "api/handlers.h"
#include "ingest/text/json.h"
#include "ingest/text/json_text.h"
#include "service/query/ask/stream_fields.h"
#include "service/query/run/key_values.h"

namespace tallyd {
namespace {

Json JsonOfStream(const Schema& schema, const Stream& stream, const Store& store) {
  Json tables = Json::array();
  for (const size_t index : stream.tables) tables.push_back(schema.tables[index].name);
  return {{"name", stream.name},
          {"tables", std::move(tables)},
          {"time", stream.time_field},
          {"unit", ToString(stream.unit)},
          {"fields", store.Fields(stream.name).size()}};
}

Json JsonOfField(const FieldInfo& field, bool was_label) {
  Json types = Json::array();
  unsigned bits = field.type_bits;
  if ((bits & kLabelBit) != 0) bits |= TypeBit(ValueType::kString);
  for (unsigned bit = 1; bit <= static_cast<unsigned>(ValueType::kBytes); ++bit) {
    if (bits >> bit & 1) types.push_back(ToString(static_cast<ValueType>(bit)));
  }
  Json json = {{"name", JsonOfText(field.name)}, {"types", std::move(types)}};
  if (was_label) json["label"] = true;
  return json;
}

Result<KeyValuesQuery> ParseValuesQuery(const Request& request, const Access& access,
                                        const Stream& stream, const Store& store, uint64_t hash) {
  const Schema& schema = access.schema();
  const Params& params = request.params;
  if (Status status = params.RefuseUnknown({"field", "prefix", "limit", "cursor"}); !status) {
    return status.error();
  }
  if (Status status = params.RefuseRepeated(); !status) return status.error();
  KeyValuesQuery query;
  query.field = params.Get("field").value_or("");
  if (query.field.empty()) return Invalid("field: name the field whose values are wanted");
  const StreamFields known(schema, stream, store);
  if (!known.Knows(query.field)) return known.Unknown(query.field);
  const Result<const Table*> table = TableOfValues(schema, stream, known, query.field);
  if (!table) return table.error();
  query.table = *table;
  query.clamp = access.ClampOf((*table)->name);
  query.unit = stream.unit;
  query.prefix = params.Get("prefix").value_or("");
  const Result<std::optional<uint64_t>> limit = params.Number("limit", 1, kMaxLimit);
  if (!limit) return limit.error();
  query.limit = limit->value_or(kDefaultLimit);
  if (const auto cursor = params.Get("cursor")) {
    Result<CursorReader> reader = CursorReader::Open(*cursor, hash);
    if (!reader) return reader.error();
    std::string after;
    if (!reader->TakeText(&after) || !reader->AtEnd()) return BadCursor();
    query.after = std::move(after);
  }
  return query;
}

void AppendKeyValue(const KeyValue& value, std::string* out) {
  if (value.type == ValueType::kNull) {
    AppendJsonValue(Value(), out);
  } else if (value.type == ValueType::kString) {
    AppendJsonValue(Value::String(value.text), out);
  } else if (value.type == ValueType::kBytes) {
    AppendJsonValue(Value::Bytes(value.text), out);
  } else {
    out->append(value.text);  // Of numbers and bools the same.
  }
}

}  // namespace

Response ListStreams(const Request& request, ApiContext& context) {
  if (Status status = request.params.RefuseUnknown({}); !status) return ProblemOf(status.error());
  const Access access = context.AccessOf(*request.principal);
  Json streams = Json::array();
  for (const Stream& stream : access.schema().streams) {
    streams.push_back(JsonOfStream(access.schema(), stream, context.store));
  }
  return Response::Of(200, {{"streams", std::move(streams)}});
}

Response GetStream(const Request& request, ApiContext& context) {
  if (Status status = request.params.RefuseUnknown({}); !status) return ProblemOf(status.error());
  const Access access = context.AccessOf(*request.principal);
  const Result<const Stream*> stream = FindStream(access.schema(), request.arguments[0]);
  if (!stream) return ProblemOf(stream.error());
  return Response::Of(200, JsonOfStream(access.schema(), **stream, context.store));
}

Response ListFields(const Request& request, ApiContext& context) {
  if (Status status = request.params.RefuseUnknown({}); !status) return ProblemOf(status.error());
  const Access access = context.AccessOf(*request.principal);
  const Result<const Stream*> stream = FindStream(access.schema(), request.arguments[0]);
  if (!stream) return ProblemOf(stream.error());
  const StreamFields known(access.schema(), **stream, context.store);
  Json fields = Json::array();
  for (const FieldInfo& field : context.store.Fields((*stream)->name)) {
    fields.push_back(JsonOfField(field, known.WasLabel(field.name)));
  }
  return Response::Of(200, {{"fields", std::move(fields)}});
}

Response ListValues(const Request& request, ApiContext& context) {
  const Access access = context.AccessOf(*request.principal);
  const Result<const Stream*> stream = FindStream(access.schema(), request.arguments[0]);
  if (!stream) return ProblemOf(stream.error());
  const uint64_t hash = HashOfQuery("values", (*stream)->name, request.params);
  const Result<KeyValuesQuery> query =
      ParseValuesQuery(request, access, **stream, context.store, hash);
  if (!query) return ProblemOf(query.error());
  Result<KeyValues> values =
      ReadKeyValues(*query, context.store, context.clock.Now(), request.memory);
  if (!values) return ProblemOf(values.error());
  context.metrics.rows_read.Increment(static_cast<double>(values->rows_read));
  Json next = nullptr;
  if (values->last) {
    CursorWriter cursor(hash);
    cursor.AddText(*values->last);
    next = cursor.Finish();
  }
  // A page may have a million values, which have been spelt as in events already.
  std::string body = "{\"values\":[";
  for (const KeyValue& value : values->values) {
    if (&value != &values->values.front()) body.push_back(',');
    AppendKeyValue(value, &body);
  }
  body += "]";
  AppendMembers({{"next", std::move(next)}}, &body);
  body += "}";
  Response response = Response::Json(200, std::move(body));
  response.held = std::move(values->held);
  return response;
}

}  // namespace tallyd
