// Recursive-descent parser over the tokens; see PtxModule.h for the result.
#pragma once
#include "PtxLexer.h"
#include "fa/Runtime/Emulator/PtxModule.h"
#include <unordered_map>

namespace fa::runtime::emulator::ptx {

class Parser {
public:
  explicit Parser(Module &module) : module(module), tokens(tokenize(module.text)) {}
  Status run();

private:
  // Tokens.
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(position + ahead, tokens.size() - 1)]; }
  Token take();
  bool accept(std::string_view text);
  bool expect(std::string_view text);
  bool fail(const std::string &message);
  bool failExpected(const std::string &what);
  bool skipPast(std::string_view text);
  bool skipBraces();
  bool parseInteger(uint64_t &value, const std::string &what);

  // Module scope (PtxParser.cpp).
  bool parseTopLevel();
  bool parseEntry();
  bool parseParameters(Entry &entry);
  bool parseEntryDirectives(Entry &entry);
  bool parseTriple(uint32_t values[3]);
  bool parseVariable(Variable::Space space, bool isExtern, std::vector<Variable> &into);
  bool parseInitialiser(Variable &variable, size_t elementBytes);

  // Function bodies (PtxParserBody.cpp).
  bool parseBody();
  bool parseStatement();
  bool parseRegisters();
  bool parseInstruction();
  bool parseBranchTargets();
  bool parseOperand(Operand &operand, int depth);
  bool parseVector(Operand &operand, int depth);
  bool parseAddress(Operand &operand, int depth);
  bool parseNumber(Operand &operand, bool negative);
  bool parseWord(Operand &operand);
  bool parseSecondPredicate(Operand &operand);
  int declareRegister(std::string name, RegisterClass kind);
  int findRegister(std::string_view name) const;

  struct Scope {
    int id = 0;
    std::unordered_map<std::string_view, int> names;                       ///< whole names
    std::unordered_map<std::string_view, std::pair<int, uint64_t>> ranges; ///< `%r<100>`: prefix -> first, count
  };

  Module &module;
  std::vector<Token> tokens;
  size_t position = 0;
  std::string failure;
  Entry *entry = nullptr;
  std::vector<Scope> scopes;
};

/// Bytes of a type directive such as `.f32` (without modifiers); 0 when it is none. `.pred` counts as 1.
size_t bytesOfType(std::string_view type);

} // namespace fa::runtime::emulator::ptx
