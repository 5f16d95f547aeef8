// Checks of an AttentionSpec and its IR. The IR is written as text: it is what --dump-ir=input shows and what a user
// would write by hand.
#include "fa/Execution/AttentionSpec.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace fa::execution {
namespace {

std::optional<int64_t> parseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// A hexadecimal float64 literal of MLIR: exact, whatever the value.
std::string literal(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  char text[24];
  std::snprintf(text, sizeof text, "0x%016llX", static_cast<unsigned long long>(bits));
  return text;
}

std::string size(int64_t value, bool dynamic) { return dynamic ? "?" : std::to_string(value); }

/// Writes the module of one spec.
class Writer {
public:
  explicit Writer(const AttentionSpec &spec) : spec(spec) {}

  std::string write() {
    const std::string q = tensorType(spec.heads, spec.seqQ, spec.depth),
                      o = tensorType(spec.heads, spec.seqQ, spec.depthV);
    const std::string k = tensorType(spec.kvHeads, spec.seqKv, spec.depth);
    const std::string v = tensorType(spec.kvHeads, spec.seqKv, spec.depthV);
    argument("q", q);
    argument("k", k);
    argument("v", v);
    if (!spec.bias.empty())
      argument("bias", biasType());
    if (spec.alibi)
      argument("slopes", "memref<" + std::to_string(spec.heads) + "xf32>", ", fa.fill = \"alibi\"");
    argument("o", o);
    std::string outputs = "%o", outputTypes = o;
    if (spec.lse) {
      const std::string lse = "memref<" + std::to_string(spec.batch) + "x" + std::to_string(spec.heads) + "x" +
                              size(spec.seqQ, spec.dynamicLengths) + "x" + score + openLayout(3, "?") + ">";
      argument("lse", lse);
      outputs += ", %lse";
      outputTypes += ", " + lse;
    }
    std::string body;
    if (spec.alibi == Corner::BottomRight)
      body += "  %dim = arith.constant 2 : index\n  %seq_q = memref.dim %q, %dim : " + q +
              "\n  %seq_kv = memref.dim %k, %dim : " + k + "\n";
    body += "  fa.attention ins(%q, %k, %v : " + q + ", " + k + ", " + v + ")\n    outs(" + outputs + " : " +
            outputTypes + ")";
    if (spec.scale)
      body += "\n    scale(" + literal(*spec.scale) + ")";
    if (const std::string masks = maskList(); !masks.empty())
      body += "\n    masks [" + masks + "]";
    body += scoreRegion();
    return "func.func @attention(" + arguments + ") {\n" + body + "\n  return\n}\n";
  }

private:
  const AttentionSpec &spec;
  const std::string score = spec.dtype == DType::F64 ? "f64" : "f32";
  const std::string element = std::string(nameOf(spec.dtype));
  std::string arguments;

  void argument(const std::string &name, const std::string &type, const std::string &attributes = "") {
    arguments +=
        (arguments.empty() ? "%" : ",\n    %") + name + ": " + type + " {fa.name = \"" + name + "\"" + attributes + "}";
  }

  std::string tensorType(int64_t heads, int64_t length, int64_t depth) const {
    const bool dynamic = spec.dynamicLengths;
    std::string type = "memref<" + std::to_string(spec.batch) + "x" + std::to_string(heads) + "x" +
                       size(length, dynamic) + "x" + std::to_string(depth) + "x" + element;
    if (spec.layout == Layout::Bshd) {
      // In memory [batch, sequence, heads, depth].
      const int64_t row = heads * depth;
      type += ", strided<[" + size(std::max<int64_t>(length, 1) * row, dynamic) + ", " + std::to_string(depth) + ", " +
              std::to_string(row) + ", 1]>";
    }
    return type + openLayout(4, spec.layout == Layout::Rows ? "1" : "?") + ">";
  }

  /// Strides and offset that are known at launch only; nothing for the fixed layouts.
  std::string openLayout(size_t rank, const std::string &innermost) const {
    if (spec.layout != Layout::Rows && spec.layout != Layout::Strided)
      return "";
    std::string strides;
    for (size_t d = 1; d < rank; ++d)
      strides += "?, ";
    return ", strided<[" + strides + innermost + "], offset: ?>";
  }

  std::string biasType() const {
    std::string type = "memref<";
    for (size_t d = 0; d < spec.bias.size(); ++d)
      type += size(spec.bias[d], spec.dynamicLengths && d + 2 >= spec.bias.size() && spec.bias[d] != 1) + "x";
    return type + element + openLayout(spec.bias.size(), "?") + ">";
  }

  std::string maskList() const {
    std::string masks;
    if (spec.causal)
      masks += std::string("#fa.causal<") + nameOf(*spec.causal) + ">";
    const auto bound = [](std::optional<int64_t> value) { return value ? std::to_string(*value) : "none"; };
    if (spec.window)
      masks += std::string(masks.empty() ? "" : ", ") + "#fa.window<left = " + bound(spec.window->left) +
               ", right = " + bound(spec.window->right) + ", " + nameOf(spec.window->corner) + ">";
    return masks;
  }

  std::string scoreRegion() const {
    if (!spec.softcap && spec.bias.empty() && !spec.alibi)
      return "";
    std::string current = "%s", body;
    const auto line = [&](const std::string &text) { body += "      " + text + "\n"; };
    if (spec.softcap) {
      line("%cap = arith.constant " + literal(*spec.softcap) + " : f64");
      if (score == "f32")
        line("%cap_score = arith.truncf %cap : f64 to f32");
      const std::string cap = score == "f32" ? "%cap_score" : "%cap";
      line("%ratio = arith.divf %s, " + cap + " : " + score);
      line("%tanh = math.tanh %ratio : " + score);
      line("%capped = arith.mulf %tanh, " + cap + " : " + score);
      current = "%capped";
    }
    if (!spec.bias.empty()) {
      const char *names[] = {"%b", "%h", "%i", "%j"};
      std::string indices;
      line("%first = arith.constant 0 : index");
      for (size_t d = 0; d < spec.bias.size(); ++d)
        indices += (d ? ", " : "") + std::string(spec.bias[d] == 1 ? "%first" : names[d + 4 - spec.bias.size()]);
      line("%bias_raw = memref.load %bias[" + indices + "] : " + biasType());
      if (element != score)
        line("%bias_value = arith.extf %bias_raw : " + element + " to " + score);
      line("%biased = arith.addf " + current + (element != score ? ", %bias_value : " : ", %bias_raw : ") + score);
      current = "%biased";
    }
    if (spec.alibi)
      current = alibi(line, current);
    line("fa.yield " + current + " : " + score);
    return "\n    score (%s: " + score + ", %b: index, %h: index, %i: index, %j: index) {\n" + body + "    }";
  }

  template <typename Line> std::string alibi(const Line &line, const std::string &current) const {
    std::string position = "%i";
    if (spec.alibi == Corner::BottomRight) {
      line("%shift = arith.subi %seq_kv, %seq_q : index");
      line("%position = arith.addi %i, %shift : index");
      position = "%position";
    }
    line("%delta = arith.subi " + position + ", %j : index");
    line("%delta_int = arith.index_cast %delta : index to i64");
    line("%distance_int = math.absi %delta_int : i64");
    line("%distance = arith.sitofp %distance_int : i64 to " + score);
    line("%slope_raw = memref.load %slopes[%h] : memref<" + std::to_string(spec.heads) + "xf32>");
    if (score == "f64")
      line("%slope = arith.extf %slope_raw : f32 to f64");
    line(std::string("%penalty = arith.mulf ") + (score == "f64" ? "%slope" : "%slope_raw") + ", %distance : " + score);
    line("%alibi = arith.subf " + current + ", %penalty : " + score);
    return "%alibi";
  }
};

} // namespace

Expected<Corner> parseCorner(const std::string &text) {
  if (text == "top_left")
    return Corner::TopLeft;
  if (text == "bottom_right")
    return Corner::BottomRight;
  return makeError("expected a corner top_left or bottom_right, but got '" + text + "'");
}

const char *nameOf(Corner corner) { return corner == Corner::TopLeft ? "top_left" : "bottom_right"; }

Expected<Window> parseWindow(const std::string &text, std::optional<Corner> fallback) {
  const std::vector<std::string> pieces = split(text, ',');
  if (pieces.size() < 2 || pieces.size() > 3)
    return makeError("expected --window=LEFT,RIGHT or LEFT,RIGHT,CORNER, but got '" + text + "'");
  Window window;
  for (size_t n = 0; n < 2; ++n) {
    std::optional<int64_t> bound = parseInteger(pieces[n]);
    if (pieces[n] != "none" && (!bound || *bound < 0))
      return makeError(std::string("expected the ") + (n ? "right" : "left") +
                       " bound of --window to be a number of keys, or `none` for unlimited, but got '" + pieces[n] +
                       "'");
    (n ? window.right : window.left) = bound;
  }
  if (pieces.size() == 2) {
    if (!fallback)
      return makeError("expected --window=LEFT,RIGHT,CORNER with CORNER top_left or bottom_right, because --seq-q and "
                       "--seq-kv differ, but got '" +
                       text + "'");
    window.corner = *fallback;
    return window;
  }
  Expected<Corner> corner = parseCorner(pieces[2]);
  if (!corner)
    return makeError("--window: " + corner.message());
  window.corner = *corner;
  return window;
}

Expected<std::vector<int64_t>> AttentionSpec::parseBias(const std::string &text) const {
  const std::vector<std::string> pieces = split(text, 'x');
  const int64_t full[] = {batch, heads, seqQ, seqKv};
  const char letters[] = "BHQK";
  if (pieces.size() > 4)
    return makeError("expected at most 4 sizes in --bias, but got '" + text + "'");
  std::vector<int64_t> shape;
  for (size_t d = 0; d < pieces.size(); ++d) {
    const size_t dim = d + 4 - pieces.size();
    const std::optional<int64_t> number = parseInteger(pieces[d]);
    if (pieces[d] == std::string(1, letters[dim]))
      shape.push_back(full[dim]);
    else if (number && (*number == 1 || *number == full[dim]))
      shape.push_back(*number);
    else
      return makeError("expected size " + std::to_string(d) + " of --bias to be 1, " + std::to_string(full[dim]) +
                       " or " + letters[dim] + ", but got '" + pieces[d] + "'");
  }
  return shape;
}

Status AttentionSpec::validate() const {
  const std::pair<const char *, int64_t> counts[] = {
      {"--batch", batch}, {"--heads", heads}, {"--kv-heads", kvHeads}, {"--seq-q", seqQ}, {"--seq-kv", seqKv}};
  constexpr int64_t limit = int64_t{1} << 40;
  for (const auto &[flag, value] : counts)
    if (value < 0 || value > limit)
      return makeError(std::string("expected ") + flag + " between 0 and 2^40, but got " + std::to_string(value));
  for (const auto &[flag, value] : {std::pair("--depth", depth), std::pair("--depth-v", depthV)})
    if (value < 1 || value > (1 << 20))
      return makeError(std::string("expected ") + flag + " between 1 and 2^20, but got " + std::to_string(value));
  if (kvHeads == 0 ? heads != 0 : heads % kvHeads != 0)
    return makeError("expected --heads to be a multiple of --kv-heads, but got " + std::to_string(heads) + " and " +
                     std::to_string(kvHeads));
  if (dtype != DType::F64 && dtype != DType::F32 && dtype != DType::F16 && dtype != DType::BF16)
    return makeError("expected --dtype f64, f32, f16 or bf16, but got " + std::string(nameOf(dtype)));
  if (scale && !std::isfinite(*scale))
    return makeError("expected a finite --scale, but got " + formatNumber(*scale));
  if (softcap && !(std::isfinite(*softcap) && *softcap > 0))
    return makeError("expected a --softcap above 0 (leave the flag out for no cap), but got " + formatNumber(*softcap));
  return Status::success();
}

std::map<std::string, std::vector<int64_t>> AttentionSpec::openShapes() const {
  if (!dynamicLengths)
    return {};
  std::map<std::string, std::vector<int64_t>> shapes{{"q", {batch, heads, seqQ, depth}},
                                                     {"k", {batch, kvHeads, seqKv, depth}}};
  if (!bias.empty())
    shapes["bias"] = bias;
  return shapes;
}

std::string AttentionSpec::describe() const {
  std::string text = std::string(nameOf(dtype));
  if (kvHeads != heads)
    text += ", " + std::to_string(heads) + " query heads over " + std::to_string(kvHeads);
  if (causal)
    text += std::string(", causal ") + nameOf(*causal);
  const auto bound = [](std::optional<int64_t> value) { return value ? std::to_string(*value) : "none"; };
  if (window)
    text += ", window " + bound(window->left) + " to the left and " + bound(window->right) + " to the right, " +
            nameOf(window->corner);
  text += scale ? ", scale " + formatNumber(*scale) : ", scale 1/sqrt(" + std::to_string(depth) + ")";
  if (softcap)
    text += ", softcap " + formatNumber(*softcap);
  if (!bias.empty())
    text += ", bias " + formatShape(bias);
  if (alibi)
    text += std::string(", ALiBi ") + nameOf(*alibi);
  if (layout == Layout::Bshd)
    text += ", layout bshd";
  if (layout == Layout::Rows || layout == Layout::Strided)
    text += ", strides left open";
  if (dynamicLengths)
    text += ", lengths left open";
  return text;
}

std::string AttentionSpec::toIR() const { return Writer(*this).write(); }

} // namespace fa::execution
