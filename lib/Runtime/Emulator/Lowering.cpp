// The order of work of a lowering: match, lay out variables, build the flow graph, assign slots, lower each
// instruction.
#include "Lowering.h"
#include "Handlers.h"
#include "fa/Runtime/Emulator/Memory.h"
#include <algorithm>
#include <unordered_set>

namespace fa::runtime::emulator {

using ptx::Operand;
using ptx::Variable;

void Lowering::fail(const ptx::Instruction &instruction, const std::string &message) {
  if (failure.empty())
    failure = "ptx line " + std::to_string(instruction.line) + ": " + message;
}

static const char *kindName(const Operand &operand) {
  switch (operand.kind) {
  case Operand::Kind::Register:
    return "a register";
  case Operand::Kind::Immediate:
    return "a number";
  case Operand::Kind::Name:
    return "a name";
  case Operand::Kind::Special:
    return "a special or undeclared register";
  case Operand::Kind::Sink:
    return "`_`";
  case Operand::Kind::Vector:
    return "a vector";
  case Operand::Kind::Address:
    return "an address";
  }
  return "nothing";
}

/// What an operand role accepts, and its name in errors.
static bool accepts(char role, const Operand &operand, const char *&expected) {
  using Kind = Operand::Kind;
  Kind kind = operand.kind;
  switch (role) {
  case 'd':
  case 'D':
    expected = "a register";
    return (kind == Kind::Register && !operand.negated) || kind == Kind::Sink;
  case 'p':
    expected = "a predicate register";
    return (kind == Kind::Register && !operand.negated) || kind == Kind::Sink;
  case 'V':
  case 'R':
    expected = "a register or a vector of registers";
    return (kind == Kind::Register && !operand.negated) || kind == Kind::Vector || kind == Kind::Sink;
  case 'W':
    expected = "a register, `_` or an address";
    return (kind == Kind::Register && !operand.negated) || kind == Kind::Sink ||
           (kind == Kind::Address && operand.elements.size() == 1);
  case 'a':
    expected = "a value";
    return (kind == Kind::Register || kind == Kind::Immediate || kind == Kind::Name || kind == Kind::Special) &&
           !operand.negated;
  case 'q':
    expected = "a predicate";
    return kind == Kind::Register || kind == Kind::Immediate;
  case 'v':
    expected = "a value or a vector";
    return kind != Kind::Address && kind != Kind::Sink && !operand.negated;
  case 'm':
    expected = "an address `[..]`";
    return kind == Kind::Address && operand.elements.size() == 1;
  case 't':
    expected = "a tensor address `[map, {..}]`";
    return kind == Kind::Address && operand.elements.size() == 2;
  case 'i':
    expected = "a number";
    return kind == Kind::Immediate && !operand.isFloat;
  case 'l':
    expected = "a label";
    return kind == Kind::Name;
  case '*':
    return true;
  }
  return false;
}

bool Lowering::checkOperands(const ptx::Instruction &instruction, const OpPattern &pattern, const Opcode &op) {
  size_t most = 0, least = 0;
  bool optional = false;
  for (char role : pattern.operands) {
    if (role == '?') {
      optional = true;
      continue;
    }
    ++most;
    least += !optional;
  }
  size_t count = instruction.operands.size();
  if (count < least || count > most) {
    std::string wanted = least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
    fail(instruction,
         "expected " + wanted + " operands for " + std::string(op.text) + ", but got " + std::to_string(count));
    return false;
  }
  size_t index = 0;
  for (char role : pattern.operands) {
    if (role == '?')
      continue;
    if (index == count)
      break;
    const Operand &operand = instruction.operands[index++];
    const char *expected = "";
    if (!accepts(role, operand, expected)) {
      fail(instruction, "expected " + std::string(expected) + " as operand " + std::to_string(index) + " of " +
                            std::string(op.text) + ", but got " + kindName(operand));
      return false;
    }
    if (operand.kind == Operand::Kind::Vector && (role == 'V' || role == 'R'))
      for (const Operand &element : operand.elements)
        if (element.kind != Operand::Kind::Register && element.kind != Operand::Kind::Sink) {
          fail(instruction,
               "expected registers in the vector of " + std::string(op.text) + ", but got " + kindName(element));
          return false;
        }
  }
  return true;
}

void Lowering::collectAccess(const ptx::Instruction &instruction, const OpPattern &pattern, Access &access) {
  auto read = [&](auto &self, const Operand &operand) -> void {
    if (operand.reg >= 0)
      access.reads.push_back(operand.reg);
    for (const Operand &element : operand.elements)
      self(self, element);
  };
  auto write = [&](auto &self, const Operand &operand, bool alsoRead) -> void {
    for (int reg : {operand.reg, operand.reg2})
      if (reg >= 0) {
        access.writes.push_back(reg);
        if (alsoRead || instruction.guard >= 0)
          access.keeps.push_back(reg);
      }
    for (const Operand &element : operand.elements)
      self(self, element, alsoRead);
  };
  if (instruction.guard >= 0)
    access.reads.push_back(instruction.guard);
  size_t index = 0;
  for (char role : pattern.operands) {
    if (role == '?')
      continue;
    if (index == instruction.operands.size())
      break;
    const Operand &operand = instruction.operands[index++];
    bool isState = role == 'W' && operand.kind != Operand::Kind::Address;
    if (role == 'd' || role == 'D' || role == 'p' || role == 'V' || role == 'R' || isState)
      write(write, operand, role == 'R');
    else
      read(read, operand);
  }
}

bool Lowering::matchOpcodes() {
  for (const ptx::Instruction &instruction : entry.instructions) {
    Opcode op = splitOpcode(instruction.opcode);
    const OpPattern *pattern = findPattern(op);
    if (!pattern) {
      fail(instruction, "expected a known opcode, but got `" + std::string(op.text) + "`");
      return false;
    }
    if (std::string_view word = unknownQualifier(*pattern, op); !word.empty()) {
      fail(instruction, "expected a known form of " + std::string(pattern->mnemonic) + ", but got qualifier `" +
                            std::string(word) + "` in `" + std::string(op.text) + "`");
      return false;
    }
    if (!checkOperands(instruction, *pattern, op))
      return false;
    Access access;
    collectAccess(instruction, *pattern, access);
    opcodes.push_back(std::move(op));
    patterns.push_back(pattern);
    accesses.push_back(std::move(access));
  }
  accesses.emplace_back(); // the final exit
  return true;
}

void Lowering::layoutParameters() {
  size_t offset = 0;
  for (const Variable &parameter : entry.parameters) {
    offset = (offset + parameter.align - 1) / parameter.align * parameter.align;
    kernel.info.parameters.push_back({parameter.name, offset, parameter.bytes, parameter.align});
    variables[parameter.name] = {offset, true};
    offset += parameter.bytes;
  }
  kernel.info.parameterBytes = offset;
}

static void collectNames(const Operand &operand, std::unordered_set<std::string_view> &names) {
  if (operand.kind == Operand::Kind::Name)
    names.insert(operand.name);
  for (const Operand &element : operand.elements)
    collectNames(element, names);
}

bool Lowering::layoutShared() {
  std::unordered_set<std::string_view> names;
  for (const ptx::Instruction &instruction : entry.instructions)
    for (const Operand &operand : instruction.operands)
      collectNames(operand, names);
  std::vector<const Variable *> used;
  for (const auto *list : {&module.variables, &entry.variables})
    for (const Variable &variable : *list)
      if (variable.space == Variable::Space::Shared && (list == &entry.variables || names.count(variable.name)))
        used.push_back(&variable);
  uint64_t offset = window::sharedBase;
  for (const Variable *variable : used) {
    if (!variable->bytes || variable->isExtern)
      continue;
    offset = (offset + variable->align - 1) / variable->align * variable->align;
    if (offset + variable->bytes > (1u << 24)) {
      failure =
          "ptx line " + std::to_string(variable->line) + ": expected shared variables within 227 KB, but got more";
      return false;
    }
    variables[variable->name] = {offset, false};
    kernel.sharedVariables.push_back(
        {variable->name, static_cast<uint32_t>(offset), static_cast<uint32_t>(variable->bytes)});
    offset += variable->bytes;
  }
  kernel.staticSharedEnd = static_cast<uint32_t>(offset);
  kernel.info.staticSharedBytes = offset - window::sharedBase;
  for (const Variable *variable : used)
    if (!variable->bytes || variable->isExtern)
      kernel.dynamicSharedAlign = std::max<uint32_t>(kernel.dynamicSharedAlign, static_cast<uint32_t>(variable->align));
  uint32_t align = kernel.dynamicSharedAlign;
  uint32_t dynamic = (kernel.staticSharedEnd + align - 1) / align * align;
  for (const Variable *variable : used)
    if (!variable->bytes || variable->isExtern) {
      variables[variable->name] = {dynamic, false};
      kernel.sharedVariables.push_back({variable->name, dynamic, 0});
    }
  uint64_t local = 0;
  for (const Variable &variable : entry.variables) {
    if (variable.space == Variable::Space::Local) {
      local = (local + variable.align - 1) / variable.align * variable.align;
      variables[variable.name] = {local, false};
      local += variable.bytes;
    } else if (variable.space != Variable::Space::Shared) {
      failure = "ptx line " + std::to_string(variable.line) +
                ": expected .global and .const variables at module scope, but got `" + variable.name +
                "` in a function";
      return false;
    }
  }
  if (local > (1u << 20)) {
    failure = "ptx line " + std::to_string(entry.line) + ": expected at most 1 MiB of local memory a thread, but got " +
              std::to_string(local);
    return false;
  }
  kernel.localBytes = static_cast<uint32_t>((local + 15) / 16 * 16);
  for (const Program::Global &global : globals)
    if (!variables.count(global.name))
      variables[global.name] = {global.address, false};
  return true;
}

int32_t Lowering::labelTarget(OpContext &context, std::string_view name, int scope) {
  for (int at = scope; at >= 0; at = entry.scopeParents[at])
    for (const ptx::Label &label : entry.labels)
      if (label.scope == at && label.name == name)
        return static_cast<int32_t>(label.position);
  fail(context.ptx, "expected a label in scope, but got `" + std::string(name) + "`");
  return 0;
}

const ptx::BranchTargets *Lowering::findTargets(std::string_view name, int scope) const {
  for (int at = scope; at >= 0; at = entry.scopeParents[at])
    for (const ptx::BranchTargets &targets : entry.branchTargets)
      if (targets.scope == at && targets.name == name)
        return &targets;
  return nullptr;
}

bool Lowering::buildFlow() {
  Instr unused;
  for (size_t i = 0; i < entry.instructions.size(); ++i) {
    const ptx::Instruction &instruction = entry.instructions[i];
    OpContext context{*this, instruction, opcodes[i], unused};
    std::string_view word = opcodes[i].parts[0];
    Flow next;
    bool guarded = instruction.guard >= 0;
    if (word == "bra") {
      next.targets.push_back(labelTarget(context, instruction.operands[0].name, instruction.scope));
      next.falls = guarded;
    } else if (word == "brx") {
      const ptx::BranchTargets *targets = findTargets(instruction.operands[1].name, instruction.scope);
      if (!targets) {
        fail(instruction,
             "expected a .branchtargets list, but got `" + std::string(instruction.operands[1].name) + "`");
        return false;
      }
      for (std::string_view label : targets->labels)
        next.targets.push_back(labelTarget(context, label, instruction.scope));
      next.falls = guarded;
    } else if (word == "ret" || word == "exit") {
      next.exits = true;
      next.falls = guarded;
    }
    if (failed())
      return false;
    flow.push_back(std::move(next));
  }
  flow.push_back({{}, false, true});
  blocks = buildBlocks(flow);
  return true;
}

void Lowering::lowerInstructions() {
  std::unordered_map<std::string_view, uint32_t> opcodeIndex;
  std::vector<char> isJoin(flow.size(), 0);
  kernel.code.resize(flow.size());
  for (const Block &block : blocks) {
    uint32_t last = block.end - 1;
    if (flow[last].targets.empty())
      continue;
    if (block.postDominator < blocks.size()) {
      kernel.code[last].join = static_cast<int32_t>(blocks[block.postDominator].begin);
      isJoin[blocks[block.postDominator].begin] = 1;
    }
  }
  for (size_t i = 0; i < entry.instructions.size() && !failed(); ++i) {
    const ptx::Instruction &instruction = entry.instructions[i];
    Instr &out = kernel.code[i];
    out.line = instruction.line;
    if (instruction.guard >= 0) {
      out.guard = slotOf[instruction.guard];
      out.guardXor = instruction.guardNegated ? ~0u : 0;
    }
    OpContext context{*this, instruction, opcodes[i], out};
    patterns[i]->lower(context);
    if (!failed() && !out.handler)
      fail(instruction, "expected a supported form of " + std::string(patterns[i]->mnemonic) + ", but got `" +
                            std::string(opcodes[i].text) + "`");
    auto [found, isNew] = opcodeIndex.emplace(opcodes[i].text, static_cast<uint32_t>(kernel.opcodes.size()));
    if (isNew)
      kernel.opcodes.emplace_back(opcodes[i].text);
    kernel.opcodeOf.push_back(found->second);
  }
  Instr &last = kernel.code.back();
  last.handler = handleExit;
  last.flags = flag::Always;
  last.line = entry.instructions.empty() ? entry.line : entry.instructions.back().line;
  kernel.opcodeOf.push_back(static_cast<uint32_t>(kernel.opcodes.size()));
  kernel.opcodes.emplace_back("(end)");
  for (size_t i = 0; i < flow.size(); ++i)
    if (isJoin[i])
      kernel.code[i].flags |= flag::JoinPoint;
}

Expected<Kernel> Lowering::run() {
  kernel.name = kernel.info.name = entry.name;
  for (int i = 0; i < 3; ++i) {
    kernel.info.requiredThreads[i] = entry.requiredThreads[i];
    kernel.info.requiredCluster[i] = entry.requiredCluster[i];
  }
  const uint32_t *bounds = entry.requiredThreads[0] ? entry.requiredThreads : entry.maxThreads;
  if (bounds[0])
    kernel.info.maxThreads = static_cast<uint32_t>(
        std::min<uint64_t>(1024, uint64_t(bounds[0]) * std::max(1u, bounds[1]) * std::max(1u, bounds[2])));
  kernel.hasLaunchBounds = entry.hasLaunchBounds;
  kernel.maxRegisters = entry.maxRegisters;
  kernel.info.instructions = entry.instructions.size();
  layoutParameters();
  if (matchOpcodes() && layoutShared() && buildFlow()) {
    assignSlots();
    lowerInstructions();
    if (!failed())
      recordTouches();
  }
  if (failed())
    return makeError(failure, InvalidPtx);
  return std::move(kernel);
}

const Kernel *Program::find(const std::string &name) const {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

} // namespace fa::runtime::emulator
