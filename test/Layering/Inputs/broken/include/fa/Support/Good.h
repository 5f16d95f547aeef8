// Support looking up at the runtime.
#include <vector>
#include "fa/Runtime/Driver.h"
