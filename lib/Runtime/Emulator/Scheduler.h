// Runs the CTAs of one cluster after another on one host thread.
#pragma once
#include "Machine.h"
#include "Races.h"

namespace fa::runtime::emulator {

class ClusterRunner {
public:
  explicit ClusterRunner(Launch &launch);
  /// Executes cluster number `index` of the grid to its end, or until the launch stops.
  void run(uint64_t index);
  LocalCounters counters;
  std::vector<TimelineEvent> timeline() { return std::move(cluster.timeline); }

private:
  void setUp(uint64_t index);
  void setUpCta(Cta &cta, uint64_t index, uint32_t rank);
  void setUpWarp(Cta &cta, Warp &warp);
  uint32_t specialValue(const Cta &cta, Special kind, uint32_t thread) const;
  bool round();
  void runWarp(Warp &warp);
  uint64_t takeTurn(Warp &warp, uint32_t quantum);
  bool lookTwice(Warp &warp, const Instr &instr, uint32_t mask);
  bool everythingDone() const;
  void reportDeadlock();
  void reportEndless(Warp &warp);
  void finish();

  Launch &launch;
  Cluster cluster;
  std::unique_ptr<RaceDetector> races;
  size_t registerBytes;                                                 ///< of one warp
  std::vector<std::unique_ptr<uint8_t[]>> registerFiles, sharedWindows; ///< per CTA of the cluster
  std::vector<uint32_t> predicateFiles;
  unsigned idleRounds = 0;
  uint64_t lastEvent = 0; ///< tick of the last change of state
};

} // namespace fa::runtime::emulator
