// FillWish: a table that lacks something of its stream's past (storage/table_info.h), and the table
// that it can be filled from: one of the stream that is whole, by the judgement of whoever answers
// queries (service/query/ask/candidate.h), for a query of every event with every field that the
// table takes.
//
// Where families of the source forget by age it is whole from some time on only; what is older
// stays missing.
#ifndef TALLYD_SERVICE_FILL_FILL_WISH_H_
#define TALLYD_SERVICE_FILL_FILL_WISH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "service/live_schema.h"
#include "service/query/ask/event_query.h"
#include "storage/table_info.h"

namespace tallyd {

// How a table is filled.
enum class FillWay : uint8_t {
  kPut,    // What is missing is put beside what is there.
  kAnew,   // What is there goes first: rules that it had may have left cells that others misread.
  kAdded,  // The same, as what is there was added up already; what comes meanwhile adds itself.
};

struct FillWish {
  std::shared_ptr<const SchemaSnapshot> snapshot;  // Owns what follows.
  const Stream* stream = nullptr;
  const Table* table = nullptr;
  TablePtr stored;
  TimeUs before = 0;  // What is missing lies before it.

  const Table* source = nullptr;  // Null: there is none, and `why` tells of each table why not.
  TablePtr source_stored;
  TimeUs from = 0;  // What is missing can be filled from here on.
  FillWay way = FillWay::kPut;
  bool declined = false;  // `fill = false`.
  std::string why;

  // Of the marks and the source, below 2^63: a filling that was begun for another one is of no use.
  uint64_t Print() const;
};

// Before when the table lacks something that it takes; 0: nothing.
TimeUs LacksBefore(const Table& table, const TableInfo& stored);

// The tables that lack something, in the file's order.
std::vector<FillWish> FindFillWishes(const LiveSchema& live_schema, Store& store,
                                     const Clock& clock);

// The source of a wish of which all before `source` is set, for whoever puts what events say beside
// what is there.
void FindPutSource(Store& store, const Clock& clock, FillWish* wish);

// A query of every event of the stream, of all fields or these.
EventQuery QueryOfAll(const std::shared_ptr<const SchemaSnapshot>& snapshot, const Stream& stream,
                      Store& store, const Clock& clock, std::vector<std::string> fields = {});

}  // namespace tallyd

#endif  // TALLYD_SERVICE_FILL_FILL_WISH_H_
