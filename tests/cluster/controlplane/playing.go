package controlplane

// failure is what Must panics with.
type failure struct{ error }

// Must ends the function that Played calls, unless err is nil.
func Must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Played calls play, whose steps may call Must, and returns the error that ended it.
func Played(play func()) (err error) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
			err = problem.error
		default:
			panic(problem)
		}
	}()
	play()
	return nil
}
