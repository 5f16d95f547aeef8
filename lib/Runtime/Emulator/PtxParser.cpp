// Module scope of PTX: directives, variables, entries and their parameters.
#include "PtxParser.h"
#include <algorithm>
#include <cstring>

namespace fa::runtime::emulator::ptx {

unsigned bytesOf(RegisterClass kind) {
  switch (kind) {
  case RegisterClass::Predicate:
    return 0;
  case RegisterClass::B16:
    return 2;
  case RegisterClass::B32:
    return 4;
  case RegisterClass::B64:
    return 8;
  case RegisterClass::B128:
    return 16;
  }
  return 0;
}

size_t bytesOfType(std::string_view type) {
  static const std::pair<std::string_view, size_t> table[] = {
      {".pred", 1}, {".b8", 1},  {".u8", 1},    {".s8", 1},     {".b16", 2},    {".u16", 2},
      {".s16", 2},  {".f16", 2}, {".bf16", 2},  {".f16x2", 4},  {".bf16x2", 4}, {".b32", 4},
      {".u32", 4},  {".s32", 4}, {".f32", 4},   {".tf32", 4},   {".b64", 8},    {".u64", 8},
      {".s64", 8},  {".f64", 8}, {".b128", 16}, {".e4m3x2", 2}, {".e5m2x2", 2}};
  for (const auto &[name, bytes] : table)
    if (name == type)
      return bytes;
  return 0;
}

size_t bytesOfTypeName(std::string_view type) { return bytesOfType("." + std::string(type)); }

Token Parser::take() {
  Token token = peek();
  if (position + 1 < tokens.size())
    ++position;
  return token;
}

bool Parser::accept(std::string_view text) {
  if (!peek().is(text))
    return false;
  take();
  return true;
}

bool Parser::expect(std::string_view text) { return accept(text) || failExpected("`" + std::string(text) + "`"); }

bool Parser::fail(const std::string &message) {
  if (failure.empty())
    failure = "ptx line " + std::to_string(peek().line) + ": " + message;
  return false;
}

bool Parser::failExpected(const std::string &what) {
  if (peek().kind == Token::Kind::End)
    return fail("expected " + what + ", but got the end of the text");
  return fail("expected " + what + ", but got `" + std::string(peek().text.substr(0, 60)) + "`");
}

bool Parser::skipPast(std::string_view text) {
  while (peek().kind != Token::Kind::End)
    if (take().is(text))
      return true;
  return failExpected("`" + std::string(text) + "`");
}

bool Parser::skipBraces() {
  int depth = 0;
  do {
    if (peek().kind == Token::Kind::End)
      return failExpected("`}`");
    Token token = take();
    depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
  } while (depth > 0);
  return true;
}

bool Parser::parseInteger(uint64_t &value, const std::string &what) {
  Operand number;
  bool negative = accept("-");
  if (peek().kind != Token::Kind::Number)
    return failExpected(what);
  if (!parseNumber(number, negative))
    return false;
  if (number.isFloat)
    return fail("expected " + what + ", but got a floating-point number");
  value = number.bits;
  return true;
}

Status Parser::run() {
  while (peek().kind != Token::Kind::End)
    if (!parseTopLevel())
      return makeError(failure, 218);
  if (module.version.empty())
    return makeError("expected PTX text that starts with `.version`, but got none", 218);
  return Status::success();
}

bool Parser::parseTopLevel() {
  if (accept(".version")) {
    module.version = take().text;
    return true;
  }
  if (accept(".target")) {
    module.target = take().text;
    while (accept(","))
      take();
    return true;
  }
  if (accept(".address_size")) {
    Token size = take();
    return size.is("64") || fail("expected .address_size 64, but got " + std::string(size.text));
  }
  if (peek().is(".section")) {
    take();
    while (peek().kind != Token::Kind::End && !peek().is("{"))
      take();
    return skipBraces();
  }
  if (accept(".pragma") || accept(".alias"))
    return skipPast(";");
  bool isExtern = false;
  while (peek().is(".visible") || peek().is(".extern") || peek().is(".weak") || peek().is(".common") ||
         peek().is(".managed"))
    isExtern |= take().is(".extern");
  if (accept(".shared"))
    return parseVariable(Variable::Space::Shared, isExtern, module.variables);
  if (accept(".global"))
    return parseVariable(Variable::Space::Global, isExtern, module.variables);
  if (accept(".const"))
    return parseVariable(Variable::Space::Const, isExtern, module.variables);
  if (accept(".entry"))
    return parseEntry();
  if (accept(".func")) { // Calls are refused where they are used; the declaration or body is skipped.
    while (peek().kind != Token::Kind::End && !peek().is(";") && !peek().is("{"))
      take();
    return accept(";") || skipBraces();
  }
  return failExpected("a directive");
}

bool Parser::parseVariable(Variable::Space space, bool isExtern, std::vector<Variable> &into) {
  Variable variable;
  variable.space = space;
  variable.isExtern = isExtern;
  variable.line = peek().line;
  size_t element = 0, vector = 1;
  uint64_t align = 0;
  while (peek().kind == Token::Kind::Word && peek().text.starts_with(".")) {
    Token word = take();
    if (word.is(".align")) {
      if (!parseInteger(align, "an alignment"))
        return false;
    } else if (word.is(".v2")) {
      vector = 2;
    } else if (word.is(".v4")) {
      vector = 4;
    } else if (size_t bytes = bytesOfType(word.text)) {
      element = bytes;
    } else if (word.is(".attribute")) {
      if (!skipPast(")"))
        return false;
    } else {
      return fail("expected a type, but got `" + std::string(word.text) + "`");
    }
  }
  if (!element)
    return failExpected("a type");
  if (align > 65536 || (align & (align - 1)))
    return fail("expected an alignment that is a power of two, but got " + std::to_string(align));
  do {
    Variable next = variable;
    if (peek().kind != Token::Kind::Word)
      return failExpected("a variable name");
    next.name = take().text;
    next.bytes = element * vector;
    next.align = align ? align : element * vector;
    while (accept("[")) {
      uint64_t count = 0;
      if (!peek().is("]") && !parseInteger(count, "an array size"))
        return false;
      if (count > (uint64_t(1) << 40) || next.bytes * count > (uint64_t(1) << 40))
        return fail("expected an array below 2^40 bytes, but got " + std::to_string(count) + " elements");
      next.bytes *= count;
      if (!expect("]"))
        return false;
    }
    if (accept("=") && !parseInitialiser(next, element))
      return false;
    into.push_back(std::move(next));
  } while (accept(","));
  return expect(";");
}

bool Parser::parseInitialiser(Variable &variable, size_t elementBytes) {
  int depth = 0;
  do {
    if (accept("{")) {
      if (++depth > 8)
        return fail("expected an initialiser nested at most 8 deep, but got more");
      continue;
    }
    if (accept("}")) {
      --depth;
      continue;
    }
    if (accept(","))
      continue;
    bool negative = accept("-");
    Operand number;
    if (peek().kind != Token::Kind::Number)
      return failExpected("a number (symbolic initialisers are not supported)");
    if (!parseNumber(number, negative))
      return false;
    if (number.isFloat && number.floatBytes == 8 && elementBytes == 4) {
      double wide;
      std::memcpy(&wide, &number.bits, 8);
      float narrow = static_cast<float>(wide);
      number.bits = 0;
      std::memcpy(&number.bits, &narrow, 4);
    }
    size_t at = variable.initialiser.size();
    variable.initialiser.resize(at + elementBytes);
    std::memcpy(variable.initialiser.data() + at, &number.bits, std::min<size_t>(elementBytes, 8));
  } while (depth > 0);
  if (variable.bytes == 0)
    variable.bytes = variable.initialiser.size();
  if (variable.initialiser.size() > variable.bytes)
    return fail("expected at most " + std::to_string(variable.bytes) + " bytes of initialiser for " + variable.name +
                ", but got " + std::to_string(variable.initialiser.size()));
  return true;
}

bool Parser::parseTriple(uint32_t values[3]) {
  for (int i = 0; i < 3; ++i) {
    uint64_t value = 0;
    if (!parseInteger(value, "a number of threads"))
      return false;
    if (value > 0x7fffffff)
      return fail("expected a number below 2^31, but got " + std::to_string(value));
    values[i] = static_cast<uint32_t>(value);
    if (!accept(",")) {
      for (int rest = i + 1; rest < 3; ++rest)
        values[rest] = 1;
      break;
    }
  }
  return true;
}

bool Parser::parseParameters(Entry &entry) {
  if (!accept("("))
    return true;
  while (!accept(")")) {
    if (!expect(".param"))
      return false;
    Variable parameter;
    parameter.space = Variable::Space::Param;
    parameter.line = peek().line;
    uint64_t align = 0;
    size_t element = 0;
    while (peek().kind == Token::Kind::Word && peek().text.starts_with(".")) {
      Token word = take();
      if (word.is(".align")) {
        if (!parseInteger(align, "an alignment"))
          return false;
      } else if (size_t bytes = bytesOfType(word.text); bytes && !element) {
        element = bytes;
      } else if (!word.is(".ptr") && !word.is(".global") && !word.is(".shared") && !word.is(".const") &&
                 !word.is(".local") && !word.is(".param")) {
        return fail("expected a parameter type, but got `" + std::string(word.text) + "`");
      }
      if (word.is(".ptr"))
        parameter.align = 8; // what follows describes the pointee
    }
    if (!element)
      return failExpected("a parameter type");
    bool isPointer = parameter.align == 8;
    if (peek().kind != Token::Kind::Word)
      return failExpected("a parameter name");
    parameter.name = take().text;
    parameter.bytes = element;
    parameter.align = align && !isPointer ? align : element;
    if (accept("[")) {
      uint64_t count = 0;
      if (!parseInteger(count, "an array size") || !expect("]"))
        return false;
      if (count > 32764)
        return fail("expected a parameter of at most 32764 bytes, but got " + std::to_string(count));
      parameter.bytes = element * count;
    }
    if (parameter.align == 0 || parameter.align > 4096 || (parameter.align & (parameter.align - 1)))
      return fail("expected an alignment that is a power of two up to 4096, but got " +
                  std::to_string(parameter.align));
    entry.parameters.push_back(std::move(parameter));
    if (!peek().is(")") && !expect(","))
      return false;
  }
  return true;
}

bool Parser::parseEntryDirectives(Entry &entry) {
  while (peek().kind == Token::Kind::Word && peek().text.starts_with(".")) {
    Token word = take();
    uint64_t value = 0;
    if (word.is(".reqntid")) {
      if (!parseTriple(entry.requiredThreads))
        return false;
      entry.hasLaunchBounds = true;
    } else if (word.is(".maxntid")) {
      if (!parseTriple(entry.maxThreads))
        return false;
      entry.hasLaunchBounds = true;
    } else if (word.is(".reqnctapercluster")) {
      if (!parseTriple(entry.requiredCluster))
        return false;
    } else if (word.is(".maxnreg")) {
      if (!parseInteger(value, "a number of registers"))
        return false;
      entry.maxRegisters = static_cast<uint32_t>(std::min<uint64_t>(value, 256));
    } else if (word.is(".minnctapersm") || word.is(".maxnctapersm") || word.is(".maxclusterrank")) {
      if (!parseInteger(value, "a number"))
        return false;
    } else if (word.is(".pragma")) {
      if (!skipPast(";"))
        return false;
    } else if (!word.is(".explicitcluster") && !word.is(".blocksareclusters")) {
      return fail("expected a directive of an entry, but got `" + std::string(word.text) + "`");
    }
  }
  return true;
}

bool Parser::parseEntry() {
  Entry next;
  next.line = peek().line;
  if (peek().kind != Token::Kind::Word)
    return failExpected("the name of an entry");
  next.name = take().text;
  for (const Entry &other : module.entries)
    if (other.name == next.name)
      return fail("expected a new entry name, but got `" + next.name + "` again");
  if (!parseParameters(next) || !parseEntryDirectives(next))
    return false;
  if (accept(";"))
    return true; // declaration
  module.entries.push_back(std::move(next));
  entry = &module.entries.back();
  return parseBody();
}

Expected<std::unique_ptr<Module>> parse(std::string text) {
  auto module = std::make_unique<Module>();
  module->text = std::move(text);
  if (Status status = Parser(*module).run(); !status)
    return status.error();
  return module;
}

} // namespace fa::runtime::emulator::ptx
