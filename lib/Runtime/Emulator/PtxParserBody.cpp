// Function bodies of PTX: nested scopes, registers, labels, instructions and their operands.
#include "PtxParser.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace fa::runtime::emulator::ptx {

static constexpr uint64_t maxRegisters = 1 << 20;
static constexpr int maxDepth = 64;

int Parser::declareRegister(std::string name, RegisterClass kind) {
  entry->registers.push_back({std::move(name), kind});
  return static_cast<int>(entry->registers.size()) - 1;
}

int Parser::findRegister(std::string_view name) const {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  std::string_view prefix = name.substr(0, digits);
  uint64_t number = 0;
  bool numbered = digits < name.size() &&
                  std::from_chars(name.data() + digits, name.data() + name.size(), number).ec == std::errc() &&
                  (name[digits] != '0' || name.size() - digits == 1);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (auto found = scope->names.find(name); found != scope->names.end())
      return found->second;
    if (numbered)
      if (auto range = scope->ranges.find(prefix); range != scope->ranges.end() && number < range->second.second)
        return range->second.first + static_cast<int>(number);
  }
  return -1;
}

bool Parser::parseBody() {
  if (!expect("{"))
    return false;
  entry->scopeParents.push_back(-1);
  scopes.push_back({0, {}, {}});
  while (!scopes.empty()) {
    if (peek().kind == Token::Kind::End)
      return failExpected("`}`");
    if (accept("{")) {
      if (scopes.size() >= maxDepth)
        return fail("expected at most 64 nested scopes, but got more");
      int id = static_cast<int>(entry->scopeParents.size());
      entry->scopeParents.push_back(scopes.back().id);
      scopes.push_back({id, {}, {}});
    } else if (accept("}")) {
      scopes.pop_back();
    } else if (!parseStatement()) {
      scopes.clear();
      return false;
    }
  }
  return true;
}

bool Parser::parseStatement() {
  if (accept(";"))
    return true;
  if (peek().is(".reg")) {
    take();
    return parseRegisters();
  }
  if (accept(".shared"))
    return parseVariable(Variable::Space::Shared, false, entry->variables);
  if (accept(".local"))
    return parseVariable(Variable::Space::Local, false, entry->variables);
  if (accept(".global"))
    return parseVariable(Variable::Space::Global, false, entry->variables);
  if (accept(".const"))
    return parseVariable(Variable::Space::Const, false, entry->variables);
  if (accept(".pragma"))
    return skipPast(";");
  if (peek().kind == Token::Kind::Word && peek(1).is(":")) {
    Token name = take();
    take();
    if (peek().is(".branchtargets")) {
      entry->branchTargets.push_back({name.text, scopes.back().id, {}});
      return parseBranchTargets();
    }
    for (const Label &label : entry->labels)
      if (label.scope == scopes.back().id && label.name == name.text)
        return fail("expected a new label, but got `" + std::string(name.text) + "` again");
    entry->labels.push_back({name.text, scopes.back().id, entry->instructions.size(), name.line});
    return true;
  }
  if (peek().kind == Token::Kind::Word && peek().text.starts_with("."))
    return failExpected("an instruction or a known directive");
  return parseInstruction();
}

bool Parser::parseBranchTargets() {
  take();
  do {
    if (peek().kind != Token::Kind::Word)
      return failExpected("a label");
    entry->branchTargets.back().labels.push_back(take().text);
  } while (accept(","));
  return expect(";");
}

bool Parser::parseRegisters() {
  size_t bytes = 0;
  bool predicate = false;
  while (peek().kind == Token::Kind::Word && peek().text.starts_with(".")) {
    Token word = take();
    size_t size = bytesOfType(word.text);
    if (!size)
      return fail("expected a register type, but got `" + std::string(word.text) + "`");
    predicate |= word.is(".pred");
    bytes = size;
  }
  if (!bytes)
    return failExpected("a register type");
  RegisterClass kind = predicate    ? RegisterClass::Predicate
                       : bytes <= 2 ? RegisterClass::B16
                       : bytes == 4 ? RegisterClass::B32
                       : bytes == 8 ? RegisterClass::B64
                                    : RegisterClass::B128;
  do {
    if (peek().kind != Token::Kind::Word)
      return failExpected("a register name");
    Token name = take();
    if (accept("<")) {
      uint64_t count = 0;
      if (!parseInteger(count, "a number of registers") || !expect(">"))
        return false;
      if (count > maxRegisters || entry->registers.size() + count > maxRegisters)
        return fail("expected at most 2^20 registers, but got " + std::to_string(count));
      int first = static_cast<int>(entry->registers.size());
      for (uint64_t i = 0; i < count; ++i)
        declareRegister(std::string(name.text) + std::to_string(i), kind);
      scopes.back().ranges[name.text] = {first, count};
    } else {
      if (entry->registers.size() >= maxRegisters)
        return fail("expected at most 2^20 registers, but got more");
      scopes.back().names[name.text] = declareRegister(std::string(name.text), kind);
    }
  } while (accept(","));
  return expect(";");
}

bool Parser::parseInstruction() {
  Instruction instruction;
  instruction.scope = scopes.back().id;
  if (accept("@")) {
    instruction.guardNegated = accept("!");
    if (peek().kind != Token::Kind::Word)
      return failExpected("a predicate register");
    instruction.guard = findRegister(peek().text);
    if (instruction.guard < 0)
      return failExpected("a declared predicate register");
    if (entry->registers[instruction.guard].kind != RegisterClass::Predicate)
      return failExpected("a predicate register as guard");
    take();
  }
  instruction.line = peek().line;
  if (peek().kind != Token::Kind::Word || peek().text.starts_with("."))
    return failExpected("an opcode");
  instruction.opcode = take().text;
  while (!accept(";")) {
    if (!instruction.operands.empty() && !expect(","))
      return false;
    Operand operand;
    if (!parseOperand(operand, 0))
      return false;
    instruction.operands.push_back(std::move(operand));
    if (!peek().is(",") && !peek().is(";"))
      return failExpected("`,` or `;`");
  }
  entry->instructions.push_back(std::move(instruction));
  return true;
}

bool Parser::parseOperand(Operand &operand, int depth) {
  if (depth > 4)
    return fail("expected operands nested at most 4 deep, but got more");
  if (accept("{"))
    return parseVector(operand, depth);
  if (accept("["))
    return parseAddress(operand, depth);
  operand.negated = accept("!");
  bool negative = accept("-");
  if (peek().kind == Token::Kind::Number)
    return parseNumber(operand, negative);
  if (negative)
    return failExpected("a number");
  if (peek().kind != Token::Kind::Word)
    return failExpected("an operand");
  return parseWord(operand);
}

bool Parser::parseVector(Operand &operand, int depth) {
  operand.kind = Operand::Kind::Vector;
  while (!accept("}")) {
    Operand element;
    if (!parseOperand(element, depth + 1))
      return false;
    operand.elements.push_back(std::move(element));
    if (!peek().is("}") && !expect(","))
      return false;
  }
  return true;
}

bool Parser::parseAddress(Operand &operand, int depth) {
  operand.kind = Operand::Kind::Address;
  Operand base;
  if (!parseOperand(base, depth + 1))
    return false;
  bool isBase =
      base.kind == Operand::Kind::Register || base.kind == Operand::Kind::Name || base.kind == Operand::Kind::Immediate;
  if (!isBase)
    return fail("expected a register, a variable or a number as address, but got something else");
  operand.offset = base.offset;
  operand.elements.push_back(std::move(base));
  if (accept(",")) {
    Operand coordinates;
    if (!peek().is("{"))
      return failExpected("tensor coordinates `{..}`");
    if (!parseOperand(coordinates, depth + 1))
      return false;
    operand.elements.push_back(std::move(coordinates));
  } else {
    while (peek().is("+") || peek().is("-")) {
      bool minus = take().is("-");
      uint64_t value = 0;
      if (!parseInteger(value, "an offset"))
        return false;
      operand.offset = static_cast<int64_t>(static_cast<uint64_t>(operand.offset) + (minus ? 0 - value : value));
    }
  }
  return expect("]");
}

bool Parser::parseNumber(Operand &operand, bool negative) {
  operand.kind = Operand::Kind::Immediate;
  Token token = peek();
  std::string text(token.text);
  bool floating =
      text.size() > 1 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D');
  auto badNumber = [&] { return failExpected("a number"); };
  if (floating) {
    bool wide = text[1] == 'd' || text[1] == 'D';
    uint64_t value = 0;
    auto result = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size() || text.size() != (wide ? 18u : 10u))
      return badNumber();
    operand.isFloat = true;
    operand.floatBytes = wide ? 8 : 4;
    operand.bits = negative ? value ^ (wide ? uint64_t(1) << 63 : uint64_t(1) << 31) : value;
    take();
    return true;
  }
  bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (!hex && text.find_first_of(".eE") != std::string::npos) {
    char *end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size())
      return badNumber();
    value = negative ? -value : value;
    operand.isFloat = true;
    operand.floatBytes = 8;
    std::memcpy(&operand.bits, &value, 8);
    take();
    return true;
  }
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u'))
    text.pop_back();
  int base = 10, skip = 0;
  if (hex)
    base = 16, skip = 2;
  else if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B'))
    base = 2, skip = 2;
  else if (text.size() > 1 && text[0] == '0')
    base = 8, skip = 1;
  uint64_t value = 0;
  auto result = std::from_chars(text.data() + skip, text.data() + text.size(), value, base);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size())
    return badNumber();
  operand.bits = negative ? 0 - value : value;
  take();
  return true;
}

bool Parser::parseSecondPredicate(Operand &operand) {
  if (!accept("|"))
    return true;
  if (peek().is("_")) {
    take();
    return true;
  }
  operand.reg2 = peek().kind == Token::Kind::Word ? findRegister(peek().text) : -1;
  if (operand.reg2 < 0)
    return failExpected("a declared predicate register after `|`");
  if (entry->registers[operand.reg2].kind != RegisterClass::Predicate)
    return failExpected("a predicate register after `|`");
  take();
  return true;
}

bool Parser::parseWord(Operand &operand) {
  Token word = peek();
  if (word.is("_")) {
    take();
    operand.kind = Operand::Kind::Sink;
    return parseSecondPredicate(operand);
  }
  if (int reg = findRegister(word.text); reg >= 0) {
    take();
    operand.kind = Operand::Kind::Register;
    operand.reg = reg;
    return parseSecondPredicate(operand);
  }
  if (word.text.starts_with(".") && !word.text.starts_with(".L"))
    return failExpected("an operand");
  take();
  operand.name = word.text;
  bool declaredLike = word.text.starts_with("%") && word.text.size() > 1;
  operand.kind = declaredLike ? Operand::Kind::Special : Operand::Kind::Name;
  if (operand.kind == Operand::Kind::Name)
    while (peek().is("+") || peek().is("-")) {
      bool minus = take().is("-");
      uint64_t value = 0;
      if (!parseInteger(value, "an offset"))
        return false;
      operand.offset = static_cast<int64_t>(static_cast<uint64_t>(operand.offset) + (minus ? 0 - value : value));
    }
  return true;
}

} // namespace fa::runtime::emulator::ptx
