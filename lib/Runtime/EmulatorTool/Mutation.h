// Mutation of one kernel: which of its synchronisations could be dropped without any check noticing.
#pragma once
#include "Session.h"
#include <iosfwd>

namespace fa::runtime::tool {

/// Runs the kernel as it is (it must be clean), then each mutant until one of the session's seeds reports it. Returns
/// exitClean when every mutant of an executed statement was reported, exitFindings when one survived.
int runMutants(Session &session, bool json, std::ostream &out, std::ostream &err);

} // namespace fa::runtime::tool
