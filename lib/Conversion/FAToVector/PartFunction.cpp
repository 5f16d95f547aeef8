// Parts of a kernel that are functions of their own.
#include "PartFunction.h"

using namespace mlir;

func::FuncOp mlir::fa::cpu::beginPartFunction(OpBuilder &builder, Location loc, StringRef name,
                                              ArrayRef<Type> arguments, bool cold) {
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(arguments, {}));
  function.setPrivate();
  SmallVector<StringRef> attributes{"noinline"};
  if (cold)
    attributes.push_back("cold");
  function->setAttr("passthrough", builder.getStrArrayAttr(attributes));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}
