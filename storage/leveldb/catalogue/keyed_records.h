// The records of the catalogue as the database has them (storage/FORMAT.md, Meta): by key.
#ifndef TALLYD_STORAGE_LEVELDB_CATALOGUE_KEYED_RECORDS_H_
#define TALLYD_STORAGE_LEVELDB_CATALOGUE_KEYED_RECORDS_H_

#include <string>
#include <utility>
#include <vector>

#include "storage/catalogue/catalogue.h"

namespace tallyd {

std::vector<std::pair<std::string, std::string>> KeyedRecords(const CatalogueRecords& records);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CATALOGUE_KEYED_RECORDS_H_
