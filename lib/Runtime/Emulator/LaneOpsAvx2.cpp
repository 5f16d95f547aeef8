// The vector operations of the core for one instruction set; see LaneOps.inc.
#define FA_LANE_TABLE laneHandlersAvx2
#include "LaneOps.inc"
