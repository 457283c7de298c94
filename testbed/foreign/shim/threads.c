/* The second part of virtualtime.c, which is compiled with it: threads. One of them runs at a time. It runs
 * until it waits; then the thread goes on that has waited longest among those that can. If none can, the
 * simulation is asked to. A wait for a lock ends when another thread frees it, whatever the kernel does. */

struct thread {
	struct thread *next;
	int go; /* futex: it is this thread's turn */
	int number;
	pthread_t id;
	void *(*run)(void *), *arg;
	int rounds; /* of destructors at its end */
	/* what it waits for */
	const void *on; /* a lock or the like: wake */
	struct pollfd *files;
	nfds_t n;
	int64_t until; /* on the monotonic clock; < 0 = without limit */
	int woken;
	int signal; /* another thread sent it; -1 = it was sent from outside */
};
static struct thread first, *all; /* in the order in which they began to wait */
static pthread_key_t last_word;
static int numbers, gone; /* gone: the kernel's id of a thread that is ending */

#define NEXT(f) ({ static __typeof__(&f) next; if (!next) next = (__typeof__(&f))dlsym(RTLD_NEXT, #f); next; })

static void enter(struct thread *t) {
	struct thread **p = &all;
	while (*p)
		p = &(*p)->next;
	t->next = NULL;
	*p = t;
}
static void leave(struct thread *t) {
	struct thread **p = &all;
	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
}
static void wake(const void *on, int n) {
	for (struct thread *t = all; t && n > 0; t = t->next)
		if (t->on == on && !t->woken) {
			t->woken = 1;
			n--;
		}
}

/* polls without a wait; a descriptor that is being connected is not ready */
static int arrived(struct pollfd *f, nfds_t n) {
	for (nfds_t i = 0; i < n; i++)
		if (dialling(f[i].fd))
			f[i].fd = ~f[i].fd; /* poll leaves out negative ones */
	int r = real(SYS_poll, f, n, 0);
	for (nfds_t i = 0; i < n; i++)
		if (dialling(~f[i].fd))
			f[i].fd = ~f[i].fd;
	return r;
}
/* appends the descriptors among files that are the simulation's */
static int simulated(const struct pollfd *f, nfds_t n, int *fds, int k) {
	for (; n > 0; n--, f++) {
		if (k < 64 && (dialling(f->fd) || (f->events & POLLIN && (f->fd == 0 || linked(f->fd)))))
			fds[k++] = f->fd;
		for (int i = 0; i < registered; i++)
			if (k < 64 && watched[i][0] == f->fd && (watched[i][1] == 0 || linked(watched[i][1])))
				fds[k++] = watched[i][1];
	}
	return k;
}
/* asks the simulation to go on until a thread can: returns a descriptor for which something came, or -1 */
static int64_t idle(void) {
	int fds[64], k = 0, n = 0;
	int64_t until = -1;
	struct pollfd f[64];
	for (struct thread *t = all; t; t = t->next) {
		k = simulated(t->files, t->n, fds, k);
		if (t->until >= 0 && (until < 0 || t->until < until))
			until = t->until;
		for (nfds_t i = 0; i < t->n && n < 64; i++)
			f[n++] = t->files[i];
	}
	if (k == 0 && n > 0 && until < 0) { /* nothing of the simulation's */
		if (real(SYS_poll, f, n, -1) < 0)
			me->signal = -1;
		return -1;
	}
	return ask('W', 0, until < 0 ? -1 : until - now(CLOCK_MONOTONIC), fds, k * sizeof *fds);
}
static int can_go(struct thread *t, int look, int64_t fd) {
	if (t->woken || t->signal || (t->until >= 0 && now(CLOCK_MONOTONIC) >= t->until))
		return 1;
	int fds[64];
	if (fd >= 0)
		for (int k = simulated(t->files, t->n, fds, 0); k-- > 0;)
			if (fds[k] == fd)
				return 1;
	return look && t->n && arrived(t->files, t->n) != 0;
}
static struct thread *successor(void) {
	int64_t fd = -1;
	for (int asked = 0;; asked = 1, fd = idle())
		for (struct thread *t = all; t; t = t->next)
			if (can_go(t, asked || t != me, fd)) /* the caller has looked */
				return t;
}
static void let(struct thread *t) {
	__atomic_store_n(&t->go, 1, __ATOMIC_SEQ_CST);
	real(SYS_futex, &t->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
static void await_turn(void) {
	while (!__atomic_load_n(&me->go, __ATOMIC_SEQ_CST))
		real(SYS_futex, &me->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	me->go = 0;
	for (; gone; gone = real(SYS_tgkill, real(SYS_getpid), gone, 0) == 0 ? gone : 0)
		real(SYS_sched_yield); /* its stack and memory are free again when it has ended */
}
/* lets others run until the wait is over: 0, or -EINTR */
static int park(const void *on, struct pollfd *f, nfds_t n, int64_t until, int woken) {
	int e = errno;
	me->on = on, me->files = f, me->n = n, me->until = until, me->woken = woken;
	leave(me);
	enter(me);
	struct thread *t = successor();
	if (t != me) {
		let(t);
		await_turn();
	}
	int s = me->signal;
	me->on = NULL, me->n = 0, me->signal = 0;
	if (s > 0)
		real(SYS_tgkill, real(SYS_getpid), real(SYS_gettid), s);
	errno = e;
	return s ? -EINTR : 0;
}

static int64_t after(int64_t ns) { return ns < 0 || ns > FOREVER ? -1 : now(CLOCK_MONOTONIC) + ns; }
static int64_t at(clockid_t c, const struct timespec *t) {
	int64_t ns = t->tv_sec > FOREVER / SECOND ? FOREVER : t->tv_sec * SECOND + t->tv_nsec - now(c);
	return after(ns < 0 ? 0 : ns);
}
static int over(int64_t until) { return until >= 0 && now(CLOCK_MONOTONIC) >= until; }
static int await(struct pollfd *f, nfds_t n, int64_t ns) {
	reads = 0;
	if (ns != 0) {
		spin = 1000;
		return park(NULL, f, n, after(ns), 0);
	}
	int fds[64], k = simulated(f, n, fds, 0);
	if (k)
		ask('W', 0, 0, fds, k * sizeof *fds);
	return park(NULL, NULL, 0, -1, 1);
}
int sched_yield(void) { return virtual() ? await(NULL, 0, 0), 0 : real(SYS_sched_yield); }

/* a thread's life */
static void ended(void *p) {
	if (++me->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) { /* others' destructors come first */
		pthread_setspecific(last_word, p);
		return;
	}
	leave(me);
	wake(me, INT_MAX);
	struct thread *t = successor();
	free(me);
	me = NULL;
	gone = real(SYS_gettid);
	let(t);
}
static void begin(void) {
	pthread_key_create(&last_word, ended);
	me = &first;
	me->id = pthread_self();
	me->until = -1;
	enter(me);
}
static void *born(void *p) {
	me = p;
	await_turn();
	pthread_setspecific(last_word, p);
	return me->run(me->arg);
}
int pthread_create(pthread_t *restrict id, const pthread_attr_t *restrict a, void *(*run)(void *), void *restrict arg) {
	struct thread *t = virtual() ? calloc(1, sizeof *t) : NULL;
	if (!t)
		return NEXT(pthread_create)(id, a, run, arg);
	t->run = run, t->arg = arg, t->until = -1, t->woken = 1;
	int e = NEXT(pthread_create)(id, a, born, t);
	if (e) {
		free(t);
		return e;
	}
	t->id = *id;
	t->number = ++numbers;
	enter(t);
	return 0;
}
static struct thread *thread(pthread_t id) {
	struct thread *t = virtual() ? all : NULL;
	while (t && !pthread_equal(t->id, id))
		t = t->next;
	return t;
}
static int join(pthread_t id, void **value, int64_t until) {
	for (struct thread *t; (t = thread(id)) && t != me; park(t, NULL, 0, until, 0))
		if (over(until))
			return ETIMEDOUT;
	return NEXT(pthread_join)(id, value);
}
int pthread_join(pthread_t id, void **value) { return join(id, value, -1); }
int pthread_timedjoin_np(pthread_t id, void **value, const struct timespec *t) {
	return virtual() ? join(id, value, at(CLOCK_REALTIME, t)) : NEXT(pthread_timedjoin_np)(id, value, t);
}
int pthread_clockjoin_np(pthread_t id, void **value, clockid_t c, const struct timespec *t) {
	return virtual() ? join(id, value, at(c, t)) : NEXT(pthread_clockjoin_np)(id, value, c, t);
}
int pthread_kill(pthread_t id, int s) {
	struct thread *t = s ? thread(id) : NULL;
	if (!t || t == me)
		return NEXT(pthread_kill)(id, s);
	t->signal = s;
	return 0;
}
int thrd_create(thrd_t *id, thrd_start_t run, void *arg) {
	if (ctl >= 0)
		give_up("a thread of C11 (thrd_create) is started: virtual time cannot carry that\n");
	return NEXT(thrd_create)(id, run, arg);
}
int thrd_sleep(const struct timespec *t, struct timespec *left) {
	return nanosleep(t, left) == 0 ? 0 : errno == EINTR ? -1 : -2;
}
pid_t gettid(void) { return virtual() ? 1000 + me->number : real(SYS_gettid); }

/* locks: glibc's own, which nobody else is touching, and a wait if one is taken */
#define LOCK(take, attempt, type) \
	int take(type *l) { \
		int e; \
		if (!virtual()) \
			return NEXT(take)(l); \
		while ((e = NEXT(attempt)(l)) == EBUSY) \
			park(l, NULL, 0, -1, 0); \
		return e; \
	}
static int timed(int (*attempt)(void *), void *l, int64_t until) {
	int e;
	for (; (e = attempt(l)) == EBUSY; park(l, NULL, 0, until, 0))
		if (over(until))
			return ETIMEDOUT;
	return e;
}
#define TIMED(take, take_by, attempt, type) \
	int take(type *restrict l, const struct timespec *restrict t) { \
		return virtual() ? timed((int (*)(void *))NEXT(attempt), l, at(CLOCK_REALTIME, t)) : NEXT(take)(l, t); \
	} \
	int take_by(type *restrict l, clockid_t c, const struct timespec *restrict t) { \
		return virtual() ? timed((int (*)(void *))NEXT(attempt), l, at(c, t)) : NEXT(take_by)(l, c, t); \
	}
#define UNLOCK(give, type, n) \
	int give(type *l) { \
		int e = NEXT(give)(l); \
		if (virtual()) \
			wake(l, n); \
		return e; \
	}
LOCK(pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_t)
TIMED(pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutex_trylock, pthread_mutex_t)
UNLOCK(pthread_mutex_unlock, pthread_mutex_t, 1)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t)
TIMED(pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t)
TIMED(pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, pthread_rwlock_t)
UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t, INT_MAX)

int pthread_barrier_wait(pthread_barrier_t *b) {
	if (!virtual())
		return NEXT(pthread_barrier_wait)(b);
	unsigned here = 1, all_of_them = ((unsigned *)b)[2]; /* as glibc keeps it since 2.25 */
	for (struct thread *t = all; t; t = t->next)
		here += t->on == b && !t->woken;
	if (here >= all_of_them) {
		wake(b, INT_MAX);
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	do
		park(b, NULL, 0, -1, 0);
	while (!me->woken);
	return 0;
}

UNLOCK(sem_post, sem_t, 1)
static int take(sem_t *s, int64_t until) {
	while (NEXT(sem_trywait)(s) != 0) {
		if (errno != EAGAIN || over(until))
			return result(errno != EAGAIN ? -errno : -ETIMEDOUT);
		if (park(s, NULL, 0, until, 0))
			return result(-EINTR);
	}
	return 0;
}
int sem_wait(sem_t *s) { return virtual() ? take(s, -1) : NEXT(sem_wait)(s); }
int sem_timedwait(sem_t *restrict s, const struct timespec *restrict t) {
	return virtual() ? take(s, at(CLOCK_REALTIME, t)) : NEXT(sem_timedwait)(s, t);
}
int sem_clockwait(sem_t *restrict s, clockid_t c, const struct timespec *restrict t) {
	return virtual() ? take(s, at(c, t)) : NEXT(sem_clockwait)(s, c, t);
}

UNLOCK(pthread_cond_signal, pthread_cond_t, 1)
UNLOCK(pthread_cond_broadcast, pthread_cond_t, INT_MAX)
static int await_signal(pthread_cond_t *c, pthread_mutex_t *m, int64_t until) {
	int e = pthread_mutex_unlock(m);
	if (e)
		return e;
	park(c, NULL, 0, until, 0);
	e = !me->woken && over(until) ? ETIMEDOUT : 0;
	pthread_mutex_lock(m);
	return e;
}
int pthread_cond_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m) {
	return virtual() ? await_signal(c, m, -1) : NEXT(pthread_cond_wait)(c, m);
}
int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict t) {
	clockid_t clock = c->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME; /* as glibc keeps it since 2.25 */
	return virtual() ? await_signal(c, m, at(clock, t)) : NEXT(pthread_cond_timedwait)(c, m, t);
}
int pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t clock, const struct timespec *restrict t) {
	return virtual() ? await_signal(c, m, at(clock, t)) : NEXT(pthread_cond_clockwait)(c, m, clock, t);
}

/* waits and wakes of those who call the kernel by syscall(): C++'s guards of static variables, Rust */
static long futex(int *word, int op, int value, const struct timespec *t) {
	int command = op & FUTEX_CMD_MASK;
	if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) {
		wake(word, value);
		return real(SYS_futex, word, FUTEX_WAKE | (op & FUTEX_PRIVATE_FLAG), value, NULL, NULL, 0);
	}
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
		return result(-EAGAIN);
	int64_t until = -1;
	if (t)
		until = command == FUTEX_WAIT ? after(t->tv_sec * SECOND + t->tv_nsec)
		                              : at(op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, t);
	int e = park(word, NULL, 0, until, 0);
	return result(me->woken ? 0 : e ? e : -ETIMEDOUT);
}
long syscall(long number, ...) {
	va_list v;
	va_start(v, number);
	long a = va_arg(v, long), b = va_arg(v, long), c = va_arg(v, long), d = va_arg(v, long), e = va_arg(v, long), f = va_arg(v, long);
	va_end(v);
	int command = b & FUTEX_CMD_MASK;
	if (number == SYS_getrandom)
		return getrandom((void *)a, b, c);
	if (number == SYS_gettid)
		return gettid();
	if (number == SYS_close) /* libuv */
		return close(a);
	if (number == SYS_futex && virtual() &&
	    (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET))
		return futex((int *)a, b, c, (const struct timespec *)d);
	return real(number, a, b, c, d, e, f);
}
