// Lets flush.go declare functions without bodies.
