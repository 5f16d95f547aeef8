// convert-fa-launch-to-llvm: a launch in host code becomes a call of the runtime's thread pool.
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/KernelScratch.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CONVERTFALAUNCHTOLLVMPASS
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
constexpr llvm::StringLiteral launchFunction = "fa_launch_blocks";
constexpr llvm::StringLiteral packedEntryPrefix = "_fa_cpu_";

struct LaunchLowering : ConvertOpToLLVMPattern<LaunchOp> {
  LaunchLowering(const LLVMTypeConverter &types, SymbolTable &symbols)
      : ConvertOpToLLVMPattern(types), symbols(symbols) {}

  LogicalResult matchAndRewrite(LaunchOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(op.getContext());
    Value entry = LLVM::AddressOfOp::create(rewriter, loc, pointer, declareEntry(op, pointer));
    Value heavyFirst = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(op.getHeavyFirst()));
    int64_t scratchBytes = getScratchBytes(symbols.lookup(op.getKernel()));
    Value arguments = packArguments(op, adaptor.getArgs(), pointer, scratchBytes > 0, rewriter);
    Value scratch = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64IntegerAttr(scratchBytes));
    Value count = LLVM::ConstantOp::create(rewriter, loc,
                                           rewriter.getI64IntegerAttr(adaptor.getArgs().size() + (scratchBytes > 0)));
    LLVM::CallOp::create(rewriter, loc, TypeRange{}, launchFunction,
                         ValueRange{entry, adaptor.getGrid(), heavyFirst, arguments, count, scratch});
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// A declaration of the packed entry of the kernel; the entry itself is made once the kernel is in the llvm dialect.
  StringRef declareEntry(LaunchOp op, Type pointer) const {
    std::string name = (packedEntryPrefix + op.getKernel()).str();
    auto entry = symbols.lookup<LLVM::LLVMFuncOp>(name);
    if (!entry) {
      OpBuilder builder(op.getContext());
      auto type =
          LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(op.getContext()), {builder.getI64Type(), pointer});
      entry = LLVM::LLVMFuncOp::create(builder, op.getLoc(), name, type);
      symbols.insert(entry);
    }
    return entry.getSymName();
  }

  /// An array of pointers to the arguments; that of scratch memory, if any, is set by the runtime. Stack slots live in
  /// the entry block: a launch may stand in a loop.
  Value packArguments(LaunchOp op, ValueRange values, Type pointer, bool scratch,
                      ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    auto allocate = [&](Type type, int64_t count) -> Value {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(&op->getParentOfType<FunctionOpInterface>().getFunctionBody().front());
      Value size = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64IntegerAttr(count));
      return LLVM::AllocaOp::create(rewriter, loc, pointer, type, size);
    };
    Value array = allocate(pointer, std::max<int64_t>(values.size() + scratch, 1));
    for (auto [n, value] : llvm::enumerate(values)) {
      Value slot = allocate(value.getType(), 1);
      LLVM::StoreOp::create(rewriter, loc, value, slot);
      Value place =
          LLVM::GEPOp::create(rewriter, loc, pointer, pointer, array, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(n)});
      LLVM::StoreOp::create(rewriter, loc, slot, place);
    }
    return array;
  }

  SymbolTable &symbols;
};

struct ConvertFALaunchToLLVM : fa::impl::ConvertFALaunchToLLVMPassBase<ConvertFALaunchToLLVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool launches = false;
    WalkResult walk = module.walk([&](LaunchOp op) {
      launches = true;
      if (op->getParentOfType<FunctionOpInterface>() && op->getParentOfType<ModuleOp>() == module)
        return WalkResult::advance();
      op.emitError("expected a launch in a function of the module that is converted");
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    if (!launches)
      return;
    OpBuilder builder(module.getBodyRegion());
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    SymbolTable symbols(module);
    Type i64 = builder.getI64Type();
    if (failed(LLVM::lookupOrCreateFn(builder, module, launchFunction,
                                      {pointer, i64, builder.getI32Type(), pointer, i64, i64},
                                      LLVM::LLVMVoidType::get(&getContext()))))
      return signalPassFailure();
    LLVMTypeConverter types(&getContext());
    RewritePatternSet patterns(&getContext());
    patterns.add<LaunchLowering>(types, symbols);
    LLVMConversionTarget target(getContext());
    target.addIllegalOp<LaunchOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
