// Splits PTX text into tokens.
#include "PtxLexer.h"

namespace fa::runtime::emulator::ptx {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool startsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' || c == '.';
}
bool continuesWord(char c) { return startsWord(c) || isDigit(c); }

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    tokens.reserve(text.size() / 4 + 1);
    while (skipBlanks()) {
      Token token = next();
      if (token.is(".loc") || token.is(".file")) {
        skipLine();
        continue;
      }
      tokens.push_back(token);
    }
    tokens.push_back({Token::Kind::End, text.substr(text.size()), line});
    return tokens;
  }

private:
  char at(size_t offset) const { return position + offset < text.size() ? text[position + offset] : '\0'; }

  void skipLine() {
    while (position < text.size() && text[position] != '\n')
      ++position;
  }

  void skipBlockComment() {
    position += 2;
    while (position < text.size() && !(at(0) == '*' && at(1) == '/')) {
      line += text[position] == '\n';
      ++position;
    }
    position = position + 2 < text.size() ? position + 2 : text.size();
  }

  /// False at the end of the text.
  bool skipBlanks() {
    while (position < text.size()) {
      char c = text[position];
      if (c == '\n') {
        ++line;
        ++position;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\0') {
        ++position;
      } else if (c == '/' && at(1) == '/') {
        skipLine();
      } else if (c == '/' && at(1) == '*') {
        skipBlockComment();
      } else {
        return true;
      }
    }
    return false;
  }

  Token take(Token::Kind kind, size_t length) {
    Token token{kind, text.substr(position, length), line};
    position += length;
    return token;
  }

  Token next() {
    char c = text[position];
    size_t length = 1;
    if (startsWord(c)) {
      while (continuesWord(at(length)) || (at(length) == ':' && at(length + 1) == ':') ||
             (at(length) == ':' && length > 1 && at(length - 1) == ':'))
        ++length;
      return take(Token::Kind::Word, length);
    }
    if (isDigit(c)) {
      bool hex =
          c == '0' && (at(1) == 'x' || at(1) == 'X' || at(1) == 'f' || at(1) == 'F' || at(1) == 'd' || at(1) == 'D');
      while (isDigit(at(length)) || (at(length) >= 'a' && at(length) <= 'z') ||
             (at(length) >= 'A' && at(length) <= 'Z') || at(length) == '.' ||
             (!hex && (at(length) == '+' || at(length) == '-') && (at(length - 1) == 'e' || at(length - 1) == 'E')))
        ++length;
      return take(Token::Kind::Number, length);
    }
    if (c == '"') {
      while (at(length) != '\0' && at(length) != '"' && at(length) != '\n')
        ++length;
      return take(Token::Kind::Text, at(length) == '"' ? length + 1 : length);
    }
    return take(Token::Kind::Punctuation, 1);
  }

  std::string_view text;
  size_t position = 0;
  int line = 1;
};

} // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

} // namespace fa::runtime::emulator::ptx
