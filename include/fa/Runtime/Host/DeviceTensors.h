// Copies of host tensors in the memory of a device.
#pragma once
#include "fa/Runtime/Host/HostTensor.h"
#include <map>
#include <string>

namespace fa::runtime {

/// The tensors of one run, by argument name.
using Tensors = std::map<std::string, HostTensor>;

/// Device memory for host tensors; released when this goes out of scope. The driver must outlive it.
class DeviceTensors {
public:
  explicit DeviceTensors(Driver &driver) : driver(driver) {}
  DeviceTensors(const DeviceTensors &) = delete;
  DeviceTensors &operator=(const DeviceTensors &) = delete;
  ~DeviceTensors();

  /// Copies each tensor with the gaps between its rows, and rebases the view of that name in `bindings`.
  Status upload(const Tensors &tensors, Bindings &bindings);
  /// Copies one tensor back.
  Status download(HostTensor &tensor);

private:
  Driver &driver;
  std::map<std::string, DeviceAddress> addresses;
};

} // namespace fa::runtime
