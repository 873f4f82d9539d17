#include "api/endpoint/workspace.h"

namespace tallyd {

std::unique_ptr<Workspace> WorkspacePool::Take() {
  if (idle_.empty()) return std::make_unique<Workspace>();
  std::unique_ptr<Workspace> workspace = std::move(idle_.back());
  idle_.pop_back();
  idle_bytes_ -= workspace->bytes();
  return workspace;
}

void WorkspacePool::GiveBack(std::unique_ptr<Workspace> workspace) {
  workspace->ingest.events.Clear();
  const size_t bytes = workspace->bytes();
  if (bytes > kKeptBytes || idle_bytes_ + bytes > kIdleBytes) return;
  idle_bytes_ += bytes;
  idle_.push_back(std::move(workspace));
}

}  // namespace tallyd
