// Tokens of PTX text. An opcode or directive with all its dots and double colons is one token.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace fa::runtime::emulator::ptx {

struct Token {
  enum class Kind : uint8_t { Word, Number, Text, Punctuation, End };
  Kind kind = Kind::End;
  std::string_view text;
  int line = 0;
  bool is(std::string_view other) const { return text == other && kind != Kind::Text; }
};

/// Splits `text`; the last token is End. Line directives of debug information (.loc, .file) are dropped. A byte that
/// starts no token becomes Punctuation, so that the parser reports it with its line.
std::vector<Token> tokenize(std::string_view text);

} // namespace fa::runtime::emulator::ptx
