package execution

// Failure codes of executions whose agent is elsewhere. A remote's own error may bring another one.
const (
	CodeRemoteFailed   = "remote_failed"    // the remote says that it failed, or what it answers cannot be used
	CodeRemoteRejected = "remote_rejected"  // it would not take the message
	CodeRemoteCanceled = "remote_canceled"  // it canceled its task, and nobody here had asked for that
	CodeRemoteTimeout  = "remote_timeout"   // it took longer than its endpoint allows
	CodeRemoteNotFound = "remote_not_found" // there is no such agent
)
