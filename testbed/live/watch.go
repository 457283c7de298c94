package live

// watch calls changed with whether the node that the link leads to is up: now, and when that changes. The
// nodes are all those that the link may lead to.
func (l *link) watch(nodes []*node, changed func(up bool)) {
	l.watching.Lock()
	first := len(l.watchers) == 0
	l.watchers = append(l.watchers, changed)
	l.watching.Unlock()
	if first {
		for _, n := range nodes {
			n.mu.Lock()
			n.links = append(n.links, l)
			n.mu.Unlock()
		}
	}
	l.tell()
}

// tell tells the watchers whether the link's node is up.
func (l *link) tell() {
	l.watching.Lock()
	defer l.watching.Unlock()
	l.mu.Lock()
	target := l.target
	l.mu.Unlock()
	_, down := target.running()
	for _, changed := range l.watchers {
		changed(down == nil)
	}
}
