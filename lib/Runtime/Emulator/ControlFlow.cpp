// Basic blocks and immediate post-dominators (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm).
#include "ControlFlow.h"
#include <algorithm>

namespace fa::runtime::emulator {

static std::vector<Block> splitBlocks(const std::vector<Flow> &flow, std::vector<uint32_t> &blockOf) {
  std::vector<char> leader(flow.size() + 1, 0);
  if (!flow.empty())
    leader[0] = 1;
  for (size_t i = 0; i < flow.size(); ++i) {
    for (uint32_t target : flow[i].targets)
      leader[target] = 1;
    if (!flow[i].targets.empty() || !flow[i].falls || flow[i].exits)
      leader[i + 1] = 1;
  }
  std::vector<Block> blocks;
  blockOf.resize(flow.size() + 1);
  for (uint32_t i = 0; i < flow.size(); ++i) {
    if (leader[i])
      blocks.push_back({i, i, {}, {}, 0});
    blocks.back().end = i + 1;
    blockOf[i] = static_cast<uint32_t>(blocks.size()) - 1;
  }
  blockOf[flow.size()] = static_cast<uint32_t>(blocks.size());
  return blocks;
}

/// Order in which the reversed graph is walked from the exit: post-order numbers, exit highest. Unreached blocks keep
/// -1.
static std::vector<int> reversePostOrder(const std::vector<Block> &blocks,
                                         const std::vector<std::vector<uint32_t>> &into, std::vector<uint32_t> &order) {
  uint32_t exit = static_cast<uint32_t>(blocks.size());
  std::vector<int> number(exit + 1, -1);
  std::vector<char> seen(exit + 1, 0);
  std::vector<std::pair<uint32_t, size_t>> stack{{exit, 0}};
  seen[exit] = 1;
  while (!stack.empty()) {
    auto &[node, next] = stack.back();
    if (next < into[node].size()) {
      uint32_t other = into[node][next++];
      if (!seen[other]) {
        seen[other] = 1;
        stack.push_back({other, 0});
      }
      continue;
    }
    number[node] = static_cast<int>(order.size());
    order.push_back(node);
    stack.pop_back();
  }
  std::reverse(order.begin(), order.end());
  return number;
}

static void computePostDominators(std::vector<Block> &blocks) {
  uint32_t exit = static_cast<uint32_t>(blocks.size());
  std::vector<std::vector<uint32_t>> into(exit + 1);
  for (uint32_t b = 0; b < exit; ++b)
    for (uint32_t s : blocks[b].successors)
      into[s].push_back(b);
  std::vector<uint32_t> order;
  std::vector<int> number = reversePostOrder(blocks, into, order);
  std::vector<int> dominator(exit + 1, -1);
  dominator[exit] = static_cast<int>(exit);
  auto meet = [&](int x, int y) {
    while (x != y) {
      while (number[x] < number[y])
        x = dominator[x];
      while (number[y] < number[x])
        y = dominator[y];
    }
    return x;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b : order) {
      if (b == exit)
        continue;
      int best = -1;
      for (uint32_t s : blocks[b].successors)
        if (number[s] >= 0 && dominator[s] >= 0)
          best = best < 0 ? static_cast<int>(s) : meet(best, static_cast<int>(s));
      changed |= best != dominator[b];
      dominator[b] = best;
    }
  }
  for (uint32_t b = 0; b < exit; ++b)
    blocks[b].postDominator = dominator[b] < 0 ? exit : static_cast<uint32_t>(dominator[b]);
}

std::vector<Block> buildBlocks(const std::vector<Flow> &flow) {
  std::vector<uint32_t> blockOf;
  std::vector<Block> blocks = splitBlocks(flow, blockOf);
  uint32_t exit = static_cast<uint32_t>(blocks.size());
  for (uint32_t b = 0; b < exit; ++b) {
    const Flow &last = flow[blocks[b].end - 1];
    auto &successors = blocks[b].successors;
    for (uint32_t target : last.targets)
      successors.push_back(blockOf[target]);
    if (last.falls)
      successors.push_back(blockOf[blocks[b].end]);
    if (last.exits)
      successors.push_back(exit);
    std::sort(successors.begin(), successors.end());
    successors.erase(std::unique(successors.begin(), successors.end()), successors.end());
    for (uint32_t s : successors)
      if (s < exit)
        blocks[s].predecessors.push_back(b);
  }
  computePostDominators(blocks);
  return blocks;
}

} // namespace fa::runtime::emulator
