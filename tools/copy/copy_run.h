// CopyRun: a whole copy: both ends, the state that says how far it is, stream after stream, and
// what is to be reported of it. Blocks; for one thread.
#ifndef TALLYD_TOOLS_COPY_COPY_RUN_H_
#define TALLYD_TOOLS_COPY_COPY_RUN_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/file/config.h"
#include "ingest/text/json.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/copy/cell_copy.h"
#include "tools/copy/copy_plan.h"
#include "tools/copy/copy_state.h"
#include "tools/copy/stream_copy.h"

namespace tallyd {

// kInvalid where --retry-for is wrong.
Result<PatientClient> CopyClient(const CopyLine& line, const HttpTarget& target,
                                 const std::string& token);

// The token of each side's daemon; empty: none. kInvalid where a file of one is wrong.
struct CopyTokens {
  std::string from;
  std::string to;

  static Result<CopyTokens> Read(const CommandLine& line);
};

// The streams that have tables.
std::vector<std::string> CopiedStreams(const Schema& schema);

class CopyRun {
 public:
  // All outlive it.
  CopyRun(const CommandLine& line, const Config& from, const Config& to, const CopyAsked& asked);

  // The report: every stream that was copied, and how the target compares with what was read.
  // After an error the state is kept, and the same command goes on there. The host serves the ends
  // that nobody serves.
  Result<Json> Run(const ToolHost& host, ToolProgress* progress);

 private:
  // The tables whose cells are copied, where events would not carry all.
  using CellTables = std::vector<std::string>;
  using Way = std::variant<StreamPlan, CellTables>;

  Json Identity() const;
  Status Resume(const Json& told);
  Status Begin(const CopyEnds& ends);
  Result<Way> FindWay(const CopyEnds& ends, const std::string& stream) const;
  Status CheckStores(const CopyEnds& ends);
  Status Keep(const Json& current, std::string_view chunk);
  Status CheckAge(const CopyState& kept, const std::string& stream) const;
  // All that are left; `kept` is where the first of them was interrupted, and is null after it.
  Status CopyStreams(const CopyEnds& ends, std::optional<CopyState>* kept, ToolProgress* progress);
  // The first `count` of the finished ones, which another run finished: as they are now.
  Status LookAgain(const CopyEnds& ends, size_t count, ToolProgress* progress);
  Result<Json> EventsAgain(const CopyEnds& ends, const Json& told, Json report) const;
  Result<Json> CellsAgain(const CopyEnds& ends, const Json& told, Json report) const;
  Status VerifyEvents(const CopyEnds& ends, const StreamCopy& copy, Json* report) const;
  Status VerifyCells(const CopyEnds& ends, const CellCopy& copy, Json* report) const;
  void Finish(Json told);
  Status CopyStream(const CopyEnds& ends, const std::optional<CopyState>& kept,
                    ToolProgress* progress);
  Result<Json> CopyEvents(const CopyEnds& ends, StreamPlan plan,
                          const std::optional<CopyState>& kept, ToolProgress* progress);
  Result<Json> CopyCells(const CopyEnds& ends, const std::string& stream, CellTables tables,
                         const std::optional<CopyState>& kept, ToolProgress* progress);
  std::string IdOfStream() const;
  StreamCopy::Keep Keeper(const CopyEnds& ends);

  const CommandLine& line_;
  const Config& from_;
  const Config& to_;
  CopyAsked asked_;
  const CopyStateFile file_;
  bool target_is_served_ = false;
  std::string from_store_;  // The id of the source's store; empty: not known.
  std::string to_store_;
  StoreMoment from_moment_;  // The source, as it was when the copy began.
  StoreMoment to_moment_;    // The target, as it was behind the last chunk.
  Json state_;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_COPY_RUN_H_
