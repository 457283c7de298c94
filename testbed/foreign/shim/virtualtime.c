/* A preloaded library (LD_PRELOAD) that runs one program in the virtual time of a simulation. The
 * program asks the simulation, over the socket $LOCKSTORM_VIRTUAL_TIME, for each wait, each
 * connection to a node and each byte sent to a node or to standard output. The next descriptor is
 * memory with the clocks. Between two waits no virtual time passes. Bytes that nodes sent come over a
 * Unix socket that takes the place of the program's. Of several threads one runs at a time (threads.c).
 * Processes that the program starts, and threads that it starts without pthread_create, are not in virtual time: if
 * such a process waits or connects to a node, or a timer of the system is to interrupt the program, the program is
 * given up. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#if !defined(__linux__) || !defined(__LP64__)
#error "written for 64-bit Linux"
#endif

#define SECOND 1000000000LL
#define FOREVER (1LL << 61) /* nanoseconds */
#define DESCRIPTORS 1024
#define NOT_CARRIED 70 /* exit code: the program does what virtual time cannot carry */

static int ctl = -1; /* -1 = real time */
static volatile int64_t *clocks; /* monotonic, wall, and whether a process that the program started waits or connects */
static uint64_t seed;
static int forks; /* this process was started by the program */
static char nodes[DESCRIPTORS]; /* by descriptor: the node that it is connected to, from 1 */
static char dials[DESCRIPTORS]; /* by descriptor: the node that it is being connected to, from 1 */
static int refusals[DESCRIPTORS]; /* by descriptor: the error of its connect, for getsockopt */
static int watched[64][2], registered; /* by epoll_ctl: epoll and descriptor */
static __thread struct thread *me __attribute__((tls_model("initial-exec"))); /* NULL = not in virtual time */

static long (*libc)(long, ...);
static long (*find(void))(long, ...) {
	if (!libc)
		libc = dlsym(RTLD_NEXT, "syscall");
	return libc;
}
#define real find()

static void give_up(const char *why) {
	real(SYS_write, 2, why, strlen(why));
	real(SYS_exit_group, NOT_CARRIED);
}
static int linked(int fd) { return ctl >= 0 && fd >= 0 && fd < DESCRIPTORS && nodes[fd]; }
static int dialling(int fd) { return ctl >= 0 && fd >= 0 && fd < DESCRIPTORS && dials[fd]; }
static void finish(int fd);
/* whether the descriptor is a connection to a node; waits until it is connected */
static int mine(int fd) {
	if (!linked(fd) && !dialling(fd))
		return 0;
	if (!me)
		give_up("a thread that was not started by pthread_create touches a connection: virtual time cannot carry that\n");
	if (dials[fd])
		finish(fd);
	return nodes[fd];
}
static int virtual(void) { return ctl >= 0 && me; }

static void exchange(int out, void *p, size_t n) {
	for (char *b = p; n > 0;) {
		long r = real(out ? SYS_write : SYS_read, ctl, b, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			real(SYS_exit_group, 0); /* the simulation is gone */
		b += r;
		n -= r;
	}
}
static void request(char kind, int fd, int64_t arg, const void *p, size_t n) {
	if (clocks[2])
		give_up("a process that the client has started waits, or connects to a node: virtual time cannot carry that\n");
	int64_t head[4] = {kind, fd, arg, n};
	exchange(1, head, sizeof head);
	exchange(1, (void *)p, n);
}
static int64_t ask(char kind, int fd, int64_t arg, const void *p, size_t n) {
	int64_t answer;
	request(kind, fd, arg, p, n);
	exchange(0, &answer, sizeof answer);
	return answer;
}
static long result(int64_t r) {
	if (r >= 0)
		return r;
	errno = -r;
	return -1;
}

static int reads; /* of a clock since the last wait */
static int64_t spin = 1000; /* the step of a clock that is read without a wait */
/* waits until a descriptor is ready, or for so long (< 0 = without limit): 0, or -EINTR. 0 ns lets others run. */
static int await(struct pollfd *f, nfds_t n, int64_t ns);
static void begin(void);

static void forked(void) {
	ctl = -1;
	forks = 1;
}
static void stray(void) {
	if (forks && clocks)
		clocks[2] = 1;
}
static void no_timer(int set) {
	if (ctl >= 0 && set)
		give_up("a timer of the system (alarm, setitimer and the like) is set: virtual time cannot carry that\n");
}
unsigned alarm(unsigned s) {
	no_timer(s > 0);
	unsigned (*next)(unsigned) = dlsym(RTLD_NEXT, "alarm");
	return next(s);
}
int setitimer(__itimer_which_t which, const struct itimerval *restrict new, struct itimerval *restrict old) {
	no_timer(which == ITIMER_REAL && new && (new->it_value.tv_sec || new->it_value.tv_usec));
	return real(SYS_setitimer, which, new, old);
}
int timer_create(clockid_t c, struct sigevent *restrict e, timer_t *restrict id) {
	no_timer(!e || e->sigev_notify != SIGEV_SIGNAL || e->sigev_signo != SIGVTALRM); /* Ruby wakes its threads by that one */
	int (*next)(clockid_t, struct sigevent *, timer_t *) = dlsym(RTLD_NEXT, "timer_create");
	return next(c, e, id);
}
int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
	no_timer(new && (new->it_value.tv_sec || new->it_value.tv_nsec));
	return real(SYS_timerfd_settime, fd, flags, new, old);
}

static void *shared(int fd) {
	void *page = mmap(NULL, 24, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return page == MAP_FAILED ? NULL : page;
}
/* Programs that this one starts load the library too, in real time. This path leads them to the clocks' page. */
static void leave_path(void) {
	char number[12], path[40];
	int n = snprintf(number, sizeof number, "%d", (int)real(SYS_getpid)), fd = fcntl(ctl + 1, F_DUPFD_CLOEXEC, DESCRIPTORS - 100);
	snprintf(path, sizeof path, "%.*s/proc/%s/fd/%d", 11 - n, "///////////", number, fd); /* equally long in each run */
	setenv("LOCKSTORM_VIRTUAL_TIME", path, 1);
}
static void begin_apart(const char *path) {
	forks = 1;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	clocks = fd < 0 ? NULL : shared(fd);
	real(SYS_close, fd);
}
__attribute__((constructor)) static void start(int argc, char **argv, char **env) {
	char *c = getenv("LOCKSTORM_VIRTUAL_TIME"), *s = getenv("LOCKSTORM_SEED");
	if (c != NULL && *c == '/')
		begin_apart(c);
	if (c == NULL || *c == '/' || s == NULL)
		return;
	int old = personality(0xffffffff);
	if (old != -1 && !(old & ADDR_NO_RANDOMIZE) && personality(old | ADDR_NO_RANDOMIZE) != -1)
		real(SYS_execve, "/proc/self/exe", argv, env); /* addresses must repeat too; go on if that fails */
	ctl = atoi(c);
	seed = strtoull(s, NULL, 10) * 2 + 1;
	clocks = shared(ctl + 1);
	if (!clocks)
		give_up("virtual time: no clock\n");
	leave_path();
	fcntl(ctl, F_SETFD, FD_CLOEXEC);
	close(ctl + 1);
	pthread_atfork(NULL, NULL, forked);
	begin();
	ask('H', 0, 0, NULL, 0);
}

static int64_t now(clockid_t c) { return clocks[c == CLOCK_REALTIME || c == CLOCK_REALTIME_COARSE]; }

int clock_gettime(clockid_t c, struct timespec *t) {
	if (ctl < 0 || c == CLOCK_PROCESS_CPUTIME_ID || c == CLOCK_THREAD_CPUTIME_ID)
		return real(SYS_clock_gettime, c, t);
	if (me && ++reads > 10000) { /* a loop that waits for the clock */
		int64_t step = spin;
		await(NULL, 0, step);
		spin = step < 1000000 ? 2 * step : step;
	}
	int64_t at = now(c);
	t->tv_sec = at / SECOND;
	t->tv_nsec = at % SECOND;
	return 0;
}
int clock_nanosleep(clockid_t c, int flags, const struct timespec *t, struct timespec *left) {
	if (!virtual())
		return stray(), real(SYS_clock_nanosleep, c, flags, t, left) < 0 ? errno : 0;
	int64_t ns = t->tv_sec * SECOND + t->tv_nsec;
	if (flags & TIMER_ABSTIME)
		ns -= now(c);
	int64_t until = now(CLOCK_MONOTONIC) + ns;
	int e = await(NULL, 0, ns < 0 ? 0 : ns);
	if (e && left && !(flags & TIMER_ABSTIME)) {
		ns = until - now(CLOCK_MONOTONIC);
		*left = (struct timespec){ns / SECOND, ns % SECOND};
	}
	return -e;
}
int nanosleep(const struct timespec *t, struct timespec *left) {
	if (!virtual())
		return stray(), real(SYS_nanosleep, t, left);
	return result(-clock_nanosleep(CLOCK_MONOTONIC, 0, t, left));
}
int usleep(useconds_t us) {
	struct timespec t = {us / 1000000, us % 1000000 * 1000};
	return nanosleep(&t, NULL);
}
unsigned sleep(unsigned s) {
	struct timespec t = {s, 0};
	return nanosleep(&t, &t) < 0 ? t.tv_sec + 1 : 0;
}

/* Random bytes come from the trial's seed (xorshift64). */
ssize_t getrandom(void *p, size_t n, unsigned flags) {
	if (ctl < 0)
		return real(SYS_getrandom, p, n, flags);
	for (size_t i = 0; i < n; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		((unsigned char *)p)[i] = seed >> 24;
	}
	return n;
}
int getentropy(void *p, size_t n) { return getrandom(p, n, 0) == (ssize_t)n ? 0 : -1; }
void arc4random_buf(void *p, size_t n) { getrandom(p, n, 0); }
uint32_t arc4random(void) {
	uint32_t r;
	getrandom(&r, sizeof r, 0);
	return r;
}
pid_t getpid(void) { return ctl >= 0 ? 1000 : real(SYS_getpid); }
pid_t getppid(void) { return ctl >= 0 ? 999 : real(SYS_getppid); }
