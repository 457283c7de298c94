/* The third part of virtualtime.c, which is compiled with it: sockets, and waits for descriptors. */

/* The nodes' addresses are 10.0.0.1:6379, 10.0.0.2:6379 and so on. */
static int node_of(const struct sockaddr *a) {
	const struct sockaddr_in *in = (const void *)a;
	uint32_t ip = a->sa_family == AF_INET ? ntohl(in->sin_addr.s_addr) : 0;
	return ip >> 8 == 0x0a0000 && ntohs(in->sin_port) == 6379 ? ip & 0xff : 0;
}
static void address(uint32_t last, int port, struct sockaddr *a, socklen_t *n) {
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(0x0a000000 | last)}};
	memcpy(a, &in, *n < sizeof in ? *n : sizeof in);
	*n = sizeof in;
}
static int passed(int64_t *answer) {
	char room[CMSG_SPACE(sizeof(int))];
	struct iovec v = {answer, sizeof *answer};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	long r;
	while ((r = real(SYS_recvmsg, ctl, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL)) < 0 && errno == EINTR)
		;
	if (r != sizeof *answer)
		real(SYS_exit_group, 0);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	return c ? *(int *)CMSG_DATA(c) : -1;
}
/* whether the connect of a descriptor has ended; then nodes or refusals tells how */
static int connected(int fd) {
	int64_t answer;
	request('F', fd, 0, NULL, 0);
	int sock = passed(&answer);
	if (answer == -EINPROGRESS)
		return 0;
	char node = dials[fd];
	dials[fd] = 0;
	if (answer < 0 || sock < 0) {
		refusals[fd] = answer < 0 ? -answer : EMFILE;
		return 1;
	}
	int flags = fcntl(fd, F_GETFL), own = fcntl(fd, F_GETFD);
	struct timeval patience;
	socklen_t l = sizeof patience;
	int limited = getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, &l) == 0;
	real(SYS_dup3, sock, fd, own & FD_CLOEXEC ? O_CLOEXEC : 0);
	real(SYS_close, sock);
	fcntl(fd, F_SETFL, flags);
	if (limited)
		real(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience, l);
	nodes[fd] = node;
	return 1;
}
static void finish(int fd) {
	struct pollfd p = {fd, POLLIN, 0};
	while (dialling(fd) && !connected(fd))
		await(&p, 1, -1);
}
static int refusal(int fd) {
	int e = refusals[fd];
	refusals[fd] = 0;
	return e;
}
int connect(int fd, const struct sockaddr *a, socklen_t n) {
	int node = ctl < 0 && !forks ? 0 : node_of(a);
	if (node && ctl < 0) {
		stray();
		node = 0;
	}
	if (!node || fd < 0 || fd >= DESCRIPTORS)
		return real(SYS_connect, fd, a, n);
	if (!me)
		give_up("a thread that was not started by pthread_create connects: virtual time cannot carry that\n");
	if (nodes[fd] || dials[fd])
		return result(nodes[fd] ? -EISCONN : -EALREADY);
	if (refusals[fd])
		return result(-refusal(fd));
	int64_t r = ask('C', fd, node - 1, NULL, 0);
	if (r < 0)
		return result(r);
	dials[fd] = node;
	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		return result(-EINPROGRESS);
	finish(fd);
	return result(-refusal(fd));
}
int getsockopt(int fd, int level, int name, void *restrict v, socklen_t *restrict n) {
	if (level != SOL_SOCKET || name != SO_ERROR || ctl < 0 || fd < 0 || fd >= DESCRIPTORS || !refusals[fd] || *n < sizeof(int))
		return real(SYS_getsockopt, fd, level, name, v, n);
	*(int *)v = refusal(fd);
	*n = sizeof(int);
	return 0;
}
int setsockopt(int fd, int level, int name, const void *v, socklen_t n) {
	return level == IPPROTO_TCP && !dialling(fd) && mine(fd) ? 0 : real(SYS_setsockopt, fd, level, name, v, n);
}
int getpeername(int fd, struct sockaddr *restrict a, socklen_t *restrict n) {
	if (!mine(fd))
		return real(SYS_getpeername, fd, a, n);
	address(nodes[fd], 6379, a, n);
	return 0;
}
int getsockname(int fd, struct sockaddr *restrict a, socklen_t *restrict n) {
	if (!mine(fd))
		return real(SYS_getsockname, fd, a, n);
	address(200, 40000 + fd, a, n);
	return 0;
}

ssize_t write(int fd, const void *p, size_t n) {
	if (mine(fd))
		return result(ask('S', fd, 0, p, n));
	return virtual() && fd == 1 ? result(ask('O', fd, 0, p, n)) : real(SYS_write, fd, p, n);
}
ssize_t sendto(int fd, const void *p, size_t n, int flags, const struct sockaddr *a, socklen_t l) {
	return mine(fd) ? write(fd, p, n) : real(SYS_sendto, fd, p, n, flags, a, l);
}
ssize_t send(int fd, const void *p, size_t n, int flags) { return sendto(fd, p, n, flags, NULL, 0); }
ssize_t writev(int fd, const struct iovec *v, int n) {
	if (!mine(fd) && !(virtual() && fd == 1))
		return real(SYS_writev, fd, v, n);
	size_t all = 0;
	for (int i = 0; i < n; i++)
		all += v[i].iov_len;
	char *p = malloc(all + 1);
	if (!p)
		return result(-ENOMEM);
	all = 0;
	for (int i = 0; i < n; all += v[i++].iov_len)
		memcpy(p + all, v[i].iov_base, v[i].iov_len);
	ssize_t r = write(fd, p, all);
	free(p);
	return r;
}
ssize_t sendmsg(int fd, const struct msghdr *m, int flags) {
	return mine(fd) ? writev(fd, m->msg_iov, m->msg_iovlen) : real(SYS_sendmsg, fd, m, flags);
}

/* lets a connection or standard input have what has come; waits for it if the descriptor blocks, also for
 * what another thread writes */
static int wait_for(int fd, int flags) {
	int own = mine(fd) || fd == 0;
	if (!virtual() || (!own && !all->next))
		return 0;
	struct pollfd p = {fd, POLLIN, 0};
	if (real(SYS_poll, &p, 1, 0) > 0)
		return 0;
	if (flags & MSG_DONTWAIT || fcntl(fd, F_GETFL) & O_NONBLOCK) {
		if (own)
			await(&p, 1, 0);
		return 0;
	}
	struct timeval t = {0, 0};
	socklen_t l = sizeof t;
	int64_t until = -1;
	if (fd != 0 && getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, &l) == 0 && (t.tv_sec || t.tv_usec))
		until = after(t.tv_sec * SECOND + t.tv_usec * 1000);
	do {
		if (over(until))
			return result(-EAGAIN);
		int e = await(&p, 1, until < 0 ? -1 : until - now(CLOCK_MONOTONIC));
		if (e)
			return result(e);
	} while (real(SYS_poll, &p, 1, 0) == 0);
	return 0;
}
ssize_t read(int fd, void *p, size_t n) { return wait_for(fd, 0) ? -1 : real(SYS_read, fd, p, n); }
ssize_t __read_chk(int fd, void *p, size_t n, size_t size) { return read(fd, p, n); }
ssize_t readv(int fd, const struct iovec *v, int n) { return wait_for(fd, 0) ? -1 : real(SYS_readv, fd, v, n); }
ssize_t recvfrom(int fd, void *p, size_t n, int flags, struct sockaddr *restrict a, socklen_t *restrict l) {
	return wait_for(fd, flags) ? -1 : real(SYS_recvfrom, fd, p, n, flags, a, l);
}
ssize_t recv(int fd, void *p, size_t n, int flags) { return recvfrom(fd, p, n, flags, NULL, NULL); }
ssize_t __recv_chk(int fd, void *p, size_t n, size_t size, int flags) { return recv(fd, p, n, flags); }
ssize_t recvmsg(int fd, struct msghdr *m, int flags) { return wait_for(fd, flags) ? -1 : real(SYS_recvmsg, fd, m, flags); }

int close(int fd) {
	if (dialling(fd) || mine(fd)) {
		nodes[fd] = dials[fd] = 0;
		ask('X', fd, 0, NULL, 0);
	}
	if (fd >= 0 && fd < DESCRIPTORS)
		refusals[fd] = 0;
	return real(SYS_close, fd);
}

static int polled(struct pollfd *f, nfds_t n) {
	for (nfds_t i = 0; i < n; i++)
		if (dialling(f[i].fd))
			connected(f[i].fd);
	return arrived(f, n);
}
static int waiting(struct pollfd *f, nfds_t n, int64_t ns, const sigset_t *s) {
	struct timespec t = {ns / SECOND, ns % SECOND};
	if (!virtual())
		return real(SYS_ppoll, f, n, ns < 0 ? NULL : &t, s, 8);
	int64_t until = after(ns);
	int r, e;
	for (int last = 0; (r = polled(f, n)) == 0 && !last; last = ns == 0 || over(until))
		if ((e = await(f, n, ns == 0 || until < 0 ? ns : until - now(CLOCK_MONOTONIC))) != 0)
			return result(e);
	return r;
}
int poll(struct pollfd *f, nfds_t n, int ms) { return waiting(f, n, ms < 0 ? -1 : ms * 1000000LL, NULL); }
int __poll_chk(struct pollfd *f, nfds_t n, int ms, size_t size) { return poll(f, n, ms); }
int ppoll(struct pollfd *f, nfds_t n, const struct timespec *t, const sigset_t *s) {
	return waiting(f, n, t ? t->tv_sec * SECOND + t->tv_nsec : -1, s);
}

static int selecting(int n, fd_set *r, fd_set *w, fd_set *x, int64_t ns) {
	struct pollfd f[DESCRIPTORS];
	int k = 0, hits = 0;
	for (int fd = 0; fd < n && fd < DESCRIPTORS; fd++) {
		int e = (r && FD_ISSET(fd, r) ? POLLIN : 0) | (w && FD_ISSET(fd, w) ? POLLOUT : 0) | (x && FD_ISSET(fd, x) ? POLLPRI : 0);
		if (e)
			f[k++] = (struct pollfd){fd, e, 0};
	}
	int got = waiting(f, k, ns, NULL);
	if (got < 0)
		return got;
	for (int i = 0; i < k; i++) {
		int fd = f[i].fd, in = f[i].revents & (POLLIN | POLLHUP | POLLERR), out = f[i].revents & (POLLOUT | POLLERR);
		if (r && FD_ISSET(fd, r) && !in)
			FD_CLR(fd, r);
		if (w && FD_ISSET(fd, w) && !out)
			FD_CLR(fd, w);
		if (x && FD_ISSET(fd, x) && !(f[i].revents & POLLPRI))
			FD_CLR(fd, x);
		hits += (r && FD_ISSET(fd, r)) + (w && FD_ISSET(fd, w)) + (x && FD_ISSET(fd, x));
	}
	return hits;
}
int select(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x, struct timeval *restrict t) {
	if (!virtual())
		return real(SYS_select, n, r, w, x, t);
	return selecting(n, r, w, x, t ? t->tv_sec * SECOND + t->tv_usec * 1000 : -1);
}
int pselect(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x, const struct timespec *restrict t, const sigset_t *restrict s) {
	return selecting(n, r, w, x, t ? t->tv_sec * SECOND + t->tv_nsec : -1);
}

int epoll_ctl(int ep, int op, int fd, struct epoll_event *e) {
	if (virtual() && (fd == 0 || mine(fd))) {
		int i = 0;
		while (i < registered && (watched[i][0] != ep || watched[i][1] != fd))
			i++;
		if (op == EPOLL_CTL_DEL && i < registered) {
			registered--;
			watched[i][0] = watched[registered][0];
			watched[i][1] = watched[registered][1];
		} else if (op == EPOLL_CTL_ADD && i == registered && registered < 64) {
			watched[registered][0] = ep;
			watched[registered++][1] = fd;
		}
	}
	return real(SYS_epoll_ctl, ep, op, fd, e);
}
int epoll_pwait(int ep, struct epoll_event *e, int max, int ms, const sigset_t *s) {
	if (!virtual())
		return real(SYS_epoll_pwait, ep, e, max, ms, s, 8);
	struct pollfd p = {ep, POLLIN, 0};
	int64_t ns = ms < 0 ? -1 : ms * 1000000LL, until = after(ns);
	int r, w;
	for (int last = 0; (r = real(SYS_epoll_pwait, ep, e, max, 0, NULL, 8)) == 0 && !last; last = ns == 0 || over(until))
		if ((w = await(&p, 1, ns == 0 || until < 0 ? ns : until - now(CLOCK_MONOTONIC))) != 0)
			return result(w);
	return r;
}
int epoll_wait(int ep, struct epoll_event *e, int max, int ms) { return epoll_pwait(ep, e, max, ms, NULL); }
