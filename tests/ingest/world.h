// A configuration, its mapper, and what batches of JSON become: the frame of the mapping tests.
#ifndef TALLYD_TESTS_INGEST_WORLD_H_
#define TALLYD_TESTS_INGEST_WORLD_H_

#include <fmt/format.h>

#include <deque>
#include <memory>
#include <string>

#include "config/file/config.h"
#include "ingest/decode/decode.h"
#include "ingest/map/mapper.h"
#include "storage/batch.h"
#include "tests/ingest/padded.h"
#include "tests/ingest/schema_store.h"

namespace tallyd {

inline std::string ShowValue(const Value& value) {
  std::string text = ToText(value);
  if (value.type() == ValueType::kString) return "'" + text + "'";
  if (value.type() == ValueType::kBytes) return fmt::format("<{} bytes>", text.size());
  return text;
}

// A PreviewBatch that also tells which fields were remembered.
class RecordingBatch final : public Batch {
 public:
  void Expect(size_t puts) override { expected = puts; }
  void Put(const TableInfo& table, std::string_view key, TimeUs time, const ColumnSet& set,
           std::span<const Value> values) override {
    ++puts_with_set;
    preview.Put(table, key, time, set, values);
  }
  void Put(const TableInfo& table, std::string_view key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values) override {
    ++puts_by_name;
    preview.Put(table, key, time, columns, values);
  }
  void Delete(const TableInfo&, const DeleteSpec&) override {}
  void AddField(std::string_view, std::string_view field, uint8_t types) override {
    fields[std::string(field)] |= types;
    ++added;
  }
  void NoteSpelling(std::string_view, std::string_view field) override {
    spellings.emplace_back(field);
  }
  void AddMissed(const TableInfo& table, std::string_view field, uint8_t how) override {
    missed[table.name + "." + std::string(field)] |= how;
  }
  void PutMemo(std::string_view, std::string_view, NoteOrder) override {}
  void DropMemo(std::string_view) override {}
  bool empty() const override { return preview.empty(); }

  PreviewBatch preview;
  std::map<std::string, uint8_t> fields;
  std::vector<std::string> spellings;
  std::map<std::string, uint8_t> missed;  // By "table.field".
  size_t added = 0;
  size_t puts_with_set = 0;
  size_t puts_by_name = 0;
  size_t expected = 0;
};

class World {
 public:
  static constexpr TimeUs kArrival = 1'700'000'000'000'000;

  explicit World(const std::string& tables) {
    Result<Config> config = ParseConfig(tables, "test.toml");
    if (!config) throw std::runtime_error(config.error().message());
    schema = config->schema;
    store = std::make_unique<SchemaStore>(*schema);
    for (const Stream& stream : schema->streams) {
      mappers[stream.name] = std::make_unique<Mapper>(schema, stream, *store);
    }
  }

  // Maps a body of the only, or the named, stream into a fresh batch.
  MapOutcome Map(std::string_view json, std::string_view stream = {}) {
    batch = std::make_unique<RecordingBatch>();
    bodies.emplace_back(json);
    const Status status =
        decoder.Decode(*FindBodyFormat(""), bodies.back().view(), shapes, &events);
    if (!status) throw std::runtime_error(status.error().message());
    Mapper& mapper = stream.empty() ? *mappers.begin()->second : *mappers.at(std::string(stream));
    return mapper.Map(events, arrival, batch.get());
  }

  // What the last Map put, a line per row: "METRIC server1#7 | METRIC:a=1@7 METRIC:b='x'@7".
  std::string Rows() const {
    std::string all;
    for (const PreviewTable& table : batch->preview.Tables()) {
      for (const Row& row : table.rows) {
        all += fmt::format("{} {} |", table.table.name, row.key);
        for (const RowPart& part : row.parts) {
          for (const CellView& cell : row.CellsOf(part)) {
            std::string time;
            AppendTime(part.time, TimeUnit::kMilliseconds, &time);
            all += fmt::format(" {}:{}={}@{}", table.table.families[cell.column.family].name,
                               cell.column.qualifier, ShowValue(cell.value), time);
          }
        }
        all += "\n";
      }
    }
    return all;
  }

  static std::string Errors(const MapOutcome& outcome) {
    std::string all;
    for (const EventError& error : outcome.errors.kept()) {
      all += fmt::format("{}[{}] {}\n", error.index, error.field, error.detail);
    }
    return all;
  }
  // Of one event that is to be refused: its error, or what it became.
  std::string Refusal(std::string_view json) {
    const MapOutcome outcome = Map(json);
    return outcome.errors.empty() ? "none: " + Rows() : Errors(outcome);
  }

  TimeUs arrival = kArrival;
  std::shared_ptr<const Schema> schema;
  std::unique_ptr<SchemaStore> store;
  ShapeRegistry shapes;
  std::map<std::string, std::unique_ptr<Mapper>> mappers;
  EventDecoder decoder;
  EventBatch events;
  std::deque<Padded> bodies;
  std::unique_ptr<RecordingBatch> batch;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_INGEST_WORLD_H_
