// The vector operations of the core for one instruction set; see LaneOps.inc.
#define FA_LANE_TABLE laneHandlersSse2
#include "LaneOps.inc"
