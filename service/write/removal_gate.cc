#include "service/write/removal_gate.h"

namespace tallyd {

RemovalGate::Held RemovalGate::Hold() {
  const std::lock_guard turn(turn_);
  return Held(mutex_);
}

RemovalGate::Alone RemovalGate::EnterAlone() {
  const std::lock_guard turn(turn_);
  return Alone(mutex_);
}

void RemovalGate::NoteRemoval(std::string_view stream) {
  const std::lock_guard lock(known_mutex_);
  ++removals_.try_emplace(std::string(stream)).first->second;
}

uint64_t RemovalGate::Removals(std::string_view stream) {
  const Alone none = EnterAlone();
  return Count(stream);
}

bool RemovalGate::HasMore(std::string_view stream, uint64_t removals) const {
  return Count(stream) != removals;
}

std::optional<RemovalGate::Alone> RemovalGate::Enter(std::string_view stream, uint64_t removals) {
  Alone alone = EnterAlone();
  if (Count(stream) != removals) return std::nullopt;
  return alone;
}

uint64_t RemovalGate::Count(std::string_view stream) const {
  const std::lock_guard lock(known_mutex_);
  const auto found = removals_.find(stream);
  return found == removals_.end() ? 0 : found->second;
}

RemovalGate::Filling::Filling(RemovalGate* gate, std::string table)
    : gate_(*gate), table_(std::move(table)) {
  const Alone alone = gate_.EnterAlone();
  const std::lock_guard lock(gate_.known_mutex_);
  gate_.filling_.insert(table_);
}

RemovalGate::Filling::~Filling() {
  const std::lock_guard lock(gate_.known_mutex_);
  gate_.filling_.erase(table_);
}

bool RemovalGate::IsFilling(std::string_view table) const {
  const std::lock_guard lock(known_mutex_);
  return filling_.contains(table);
}

}  // namespace tallyd
