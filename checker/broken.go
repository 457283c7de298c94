package checker

func (w *wire) counterLost(before, after grant) (cmds []int, broken string) { return nil, "" }
