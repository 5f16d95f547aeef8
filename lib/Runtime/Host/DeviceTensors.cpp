// Allocation and copies of tensors on a device.
#include "fa/Runtime/Host/DeviceTensors.h"
#include <algorithm>

namespace fa::runtime {

DeviceTensors::~DeviceTensors() {
  for (const auto &[name, address] : addresses)
    if (!driver.release(address))
      break; // after a fatal error the rest fails as well
}

Status DeviceTensors::upload(const Tensors &tensors, Bindings &bindings) {
  for (const auto &[name, tensor] : tensors) {
    Expected<DeviceAddress> address = driver.allocate(std::max<size_t>(tensor.spanBytes(), 1));
    if (!address)
      return makeError("tensor '" + name + "': " + address.message(), address.error().code);
    addresses[name] = *address;
    if (Status status = driver.copyToDevice(*address, tensor.span(), tensor.spanBytes()); !status)
      return status;
    Tensor &view = bindings.tensors.at(name);
    view.base = *address;
    view.offset = tensor.firstElement();
  }
  return Status::success();
}

Status DeviceTensors::download(HostTensor &tensor) {
  return driver.copyToHost(tensor.span(), addresses.at(tensor.name()), tensor.spanBytes());
}

} // namespace fa::runtime
