// The messages and services of Bigtable's API as this server takes them, under short names.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_WIRE_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_WIRE_H_

#include "storage/bigtable/proto/bigtable_admin.pb.h"
#include "storage/bigtable/proto/bigtable_data.pb.h"
#include "storage/bigtable/proto/status.pb.h"

namespace tallyd::tablet {

namespace v2 = google::bigtable::v2;
namespace admin = google::bigtable::admin::v2;

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_WIRE_H_
