// All ops of the hopper dialect, one file per group.
#ifndef FA_DIALECT_HOPPER_IR_HOPPEROPS_TD
#define FA_DIALECT_HOPPER_IR_HOPPEROPS_TD
include "fa/Dialect/Hopper/IR/HopperRingOps.td"
include "fa/Dialect/Hopper/IR/HopperGemmOps.td"
include "fa/Dialect/Hopper/IR/HopperFragmentOps.td"
#endif
