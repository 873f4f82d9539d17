// Workspace: the buffers of one request's body, kept from request to request, so that what was
// learned of how senders spell their events, and memory that is in the cache, serve the next one.
// WorkspacePool keeps those of an I/O thread. Touched on that thread only.
#ifndef TALLYD_API_ENDPOINT_WORKSPACE_H_
#define TALLYD_API_ENDPOINT_WORKSPACE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/decode/decode.h"
#include "ingest/decode/event_batch.h"
#include "ingest/lines/line_protocol.h"
#include "ingest/points/data_points.h"
#include "ingest/points/point_reader.h"
#include "service/limits/body_budget.h"

namespace tallyd {

// What makes events of a body; one request at a time.
struct IngestWorkspace {
  EventDecoder decoder;
  LineProtocol lines;  // Of bodies that are InfluxDB's.
  RequestEvents events;
  std::string decoded;
  // Of bodies that are data points of OpenTSDB.
  PointReader point_reader;
  DataPoints points;

  size_t bytes() const {
    return decoder.bytes() + lines.bytes() + events.bytes() + decoded.capacity() +
           point_reader.bytes() + points.bytes();
  }
};

struct Workspace {
  std::string body;  // As it came off the wire.
  IngestWorkspace ingest;

  size_t bytes() const { return sizeof(Workspace) + body.capacity() + ingest.bytes(); }
};

class WorkspacePool {
 public:
  // Idle workspaces are kept as far as they take so much in all, and each at most the other: one
  // that is made anew learns anew how senders spell their events.
  static constexpr size_t kIdleBytes = 48u << 20;
  static constexpr size_t kKeptBytes = 12u << 20;

  std::unique_ptr<Workspace> Take();
  void GiveBack(std::unique_ptr<Workspace> workspace);  // Its events go.

 private:
  std::vector<std::unique_ptr<Workspace>> idle_;
  size_t idle_bytes_ = 0;
};

// The body of the request under way. It has a workspace from its first byte until it is let go of.
class RequestBody {
 public:
  // Null: what the body holds counts nowhere.
  explicit RequestBody(WorkspacePool& pool, BodyBudget* budget = nullptr)
      : charge(budget), pool_(pool) {}
  RequestBody(const RequestBody&) = delete;
  RequestBody& operator=(const RequestBody&) = delete;

  void Begin() { workspace = pool_.Take(); }
  // What it was is needed no longer: the next request finds the workspace in the cache, and whoever
  // waits keeps none from others. Idempotent.
  void LetGo() {
    bytes = {};
    charge.Clear();
    if (workspace) pool_.GiveBack(std::move(workspace));
  }

  // All of it, once it was read, with kBodyPadding readable bytes behind it.
  std::string_view bytes;
  std::unique_ptr<Workspace> workspace;
  // What of it is held, in the workspace or elsewhere.
  BodyCharge charge;

 private:
  WorkspacePool& pool_;
};

}  // namespace tallyd

#endif  // TALLYD_API_ENDPOINT_WORKSPACE_H_
