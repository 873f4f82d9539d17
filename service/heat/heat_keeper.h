// HeatKeeper: a thread that saves the heat map about once a minute. It begins in the constructor;
// Stop ends it and saves a last time, before the store closes. What cannot be saved is logged, and
// tried again a minute later.
#ifndef TALLYD_SERVICE_HEAT_HEAT_KEEPER_H_
#define TALLYD_SERVICE_HEAT_HEAT_KEEPER_H_

#include "config/values/repeating_thread.h"
#include "service/heat/heat_map.h"

namespace tallyd {

class HeatKeeper {
 public:
  // All outlive it.
  HeatKeeper(HeatMap* heat, Store* store, const Clock* clock);
  ~HeatKeeper() { Stop(); }
  HeatKeeper(const HeatKeeper&) = delete;
  HeatKeeper& operator=(const HeatKeeper&) = delete;

  void Stop();  // Idempotent.

 private:
  void Save();

  HeatMap& heat_;
  Store& store_;
  const Clock& clock_;
  RepeatingThread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_HEAT_HEAT_KEEPER_H_
