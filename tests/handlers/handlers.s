// Lets handlers.go declare functions without bodies.
