// One-shot bufferization of fa.attention: tensors at L0 only.
#include "fa/Dialect/FA/IR/FABufferization.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::bufferization;

namespace {
struct AttentionBufferization : DstBufferizableOpInterfaceExternalModel<AttentionBufferization, AttentionOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return !cast<AttentionOp>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto attention = cast<AttentionOp>(op);
    if (!attention.hasTensorSemantics())
      return success();
    rewriter.setInsertionPoint(op);
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType())) {
        buffers.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    OperationState newState(op->getLoc(), op->getName(), buffers, TypeRange(), op->getAttrs());
    newState.propertiesAttr = op->getPropertiesAsAttribute();
    newState.addRegion();
    newState.addRegion();
    auto memrefForm = cast<AttentionOp>(rewriter.create(newState));
    rewriter.inlineRegionBefore(attention.getScore(), memrefForm.getScore(), memrefForm.getScore().end());
    rewriter.inlineRegionBefore(attention.getMask(), memrefForm.getMask(), memrefForm.getMask().end());
    replaceOpWithBufferizedValues(rewriter, op, memrefForm.getOutputs());
    return success();
  }
};
} // namespace

void fa::registerBufferizationInterfaces(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, FADialect *) { AttentionOp::attachInterface<AttentionBufferization>(*context); });
}
