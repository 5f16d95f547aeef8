// Lookup of opcodes in the pattern tables.
#include "OpTable.h"
#include <unordered_map>

namespace fa::runtime::emulator {

bool Opcode::has(std::string_view qualifier) const {
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i] == qualifier)
      return true;
  return false;
}

Opcode splitOpcode(std::string_view text) {
  Opcode op;
  op.text = text;
  size_t begin = 0;
  while (begin <= text.size()) {
    size_t end = text.find('.', begin);
    if (end == std::string_view::npos)
      end = text.size();
    op.parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return op;
}

static const std::unordered_map<std::string_view, const OpPattern *> &patternIndex() {
  static const auto index = [] {
    std::unordered_map<std::string_view, const OpPattern *> map;
    for (auto patterns : {arithmeticPatterns(), bitPatterns(), conversionPatterns(), controlPatterns(),
                          memoryPatterns(), syncPatterns(), tensorPatterns()})
      for (const OpPattern &pattern : patterns)
        map.emplace(pattern.mnemonic, &pattern);
    return map;
  }();
  return index;
}

const OpPattern *findPattern(const Opcode &op) {
  std::string_view prefix = op.text;
  while (!prefix.empty()) {
    if (auto found = patternIndex().find(prefix); found != patternIndex().end())
      return found->second;
    size_t dot = prefix.rfind('.');
    if (dot == std::string_view::npos)
      return nullptr;
    prefix = prefix.substr(0, dot);
  }
  return nullptr;
}

bool readsFirst(const OpPattern *pattern) {
  for (auto patterns : {arithmeticPatterns(), bitPatterns(), conversionPatterns()})
    if (pattern >= patterns.data() && pattern < patterns.data() + patterns.size())
      return true;
  return false;
}

static bool listed(std::string_view list, std::string_view word) {
  size_t begin = 0;
  while (begin < list.size()) {
    size_t end = list.find(' ', begin);
    if (end == std::string_view::npos)
      end = list.size();
    std::string_view item = list.substr(begin, end - begin);
    if (item == word || item == "*")
      return true;
    if (item == "@int" && listed("u16 s16 u32 s32 u64 s64", word))
      return true;
    if (item == "@float" && listed("f32 f64 f16 bf16 f16x2 bf16x2", word))
      return true;
    if (item == "@bits" && listed("b16 b32 b64", word))
      return true;
    begin = end + 1;
  }
  return false;
}

std::string_view unknownQualifier(const OpPattern &pattern, const Opcode &op) {
  std::string_view rest = op.text.substr(std::min(op.text.size(), pattern.mnemonic.size()));
  while (!rest.empty()) {
    rest.remove_prefix(1);
    size_t end = std::min(rest.find('.'), rest.size());
    std::string_view word = rest.substr(0, end);
    if (!listed(pattern.qualifiers, word))
      return word.empty() ? std::string_view(".") : word;
    rest.remove_prefix(end);
  }
  return {};
}

} // namespace fa::runtime::emulator
