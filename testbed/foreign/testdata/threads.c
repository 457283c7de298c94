/* A client that is ready once its threads have waited for each other in every way, each for as long as it says. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, steady;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_key_t key;
static sem_t s;
static int word, ends[2], destroyed;
static volatile int caught;

static long us(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
static struct timespec *in(clockid_t clock, long ms) {
	static __thread struct timespec t;
	long at = us(clock) + ms * 1000;
	t = (struct timespec){at / 1000000, at % 1000000 * 1000};
	return &t;
}
static void rest(long ms) { usleep(ms * 1000); }
static void *later(void *p) { /* after 100 ms, do what is awaited */
	pthread_setspecific(key, p);
	rest(100);
	switch (*(char *)p) {
	case 's': sem_post(&s); break;
	case 'c':
		pthread_mutex_lock(&m);
		pthread_cond_broadcast(&c);
		pthread_cond_signal(&steady);
		pthread_mutex_unlock(&m);
		break;
	case 'f':
		word = 1;
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		break;
	case 'b': pthread_barrier_wait(&barrier); break;
	case 'p': rest(write(ends[1], "x", 1) - 1); break;
	}
	return p;
}
static void *holds(void *p) {
	pthread_mutex_lock(&m);
	pthread_rwlock_rdlock(&rw);
	rest(100);
	pthread_rwlock_unlock(&rw);
	pthread_mutex_unlock(&m);
	return p;
}
static void *sleeps(void *p) {
	struct timespec t = {10, 0};
	return nanosleep(&t, &t) == -1 && errno == EINTR && t.tv_sec == 9 ? p : NULL;
}
static void catch(int signal) { caught = signal; }
static void destroy(void *p) { destroyed += p != NULL; }

/* checks that a wait in this thread has this result, after so many milliseconds */
#define WAITS(ms, want, wait) do { \
	long start = us(CLOCK_MONOTONIC), got = (wait), took = us(CLOCK_MONOTONIC) - start; \
	if (got != (want) || took < (ms) * 1000 || took > (ms) * 1000 + 20) { \
		fprintf(stderr, "%s: got %ld after %ld us\n", #wait, got, took); \
		exit(1); \
	} \
} while (0)
#define BESIDE(run, what, waits) do { \
	pthread_t t; \
	void *value = NULL; \
	pthread_create(&t, NULL, run, what); \
	rest(0); \
	waits; \
	WAITS(0, 0, pthread_join(t, &value)); \
	WAITS(0, 1, value != NULL); \
} while (0)

int main(void) {
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&steady, &a);
	pthread_key_create(&key, destroy);
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&s, 0, 0);
	signal(SIGUSR1, catch);
	if (pipe(ends))
		return 1;
	struct pollfd f = {ends[0], POLLIN, 0};
	struct timespec brief = {0, 50000000};
	char b;

	BESIDE(later, "s", WAITS(100, 0, sem_wait(&s)));
	WAITS(50, ETIMEDOUT, sem_timedwait(&s, in(CLOCK_REALTIME, 50)) == 0 ? 0 : errno);
	BESIDE(later, "s", WAITS(100, 0, sem_clockwait(&s, CLOCK_MONOTONIC, in(CLOCK_MONOTONIC, 500))));
	BESIDE(holds, "", {
		WAITS(30, ETIMEDOUT, pthread_mutex_timedlock(&m, in(CLOCK_REALTIME, 30)));
		WAITS(30, ETIMEDOUT, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, in(CLOCK_MONOTONIC, 30)));
		WAITS(40, 0, pthread_mutex_lock(&m));
	});
	BESIDE(later, "c", WAITS(100, 0, pthread_cond_wait(&c, &m)));
	WAITS(50, ETIMEDOUT, pthread_cond_timedwait(&c, &m, in(CLOCK_REALTIME, 50)));
	WAITS(50, ETIMEDOUT, pthread_cond_timedwait(&steady, &m, in(CLOCK_MONOTONIC, 50)));
	BESIDE(later, "c", WAITS(100, 0, pthread_cond_timedwait(&steady, &m, in(CLOCK_MONOTONIC, 500))));
	WAITS(50, ETIMEDOUT, pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, in(CLOCK_MONOTONIC, 50)));
	pthread_mutex_unlock(&m);
	BESIDE(holds, "", {
		WAITS(0, 0, pthread_rwlock_rdlock(&rw) || pthread_rwlock_unlock(&rw));
		WAITS(30, ETIMEDOUT, pthread_rwlock_timedwrlock(&rw, in(CLOCK_REALTIME, 30)));
		WAITS(30, ETIMEDOUT, pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, in(CLOCK_MONOTONIC, 30)));
		WAITS(40, 0, pthread_rwlock_wrlock(&rw));
	});
	pthread_rwlock_unlock(&rw);
	WAITS(0, EAGAIN, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 7, NULL, NULL, 0) == 0 ? 0 : errno);
	WAITS(50, ETIMEDOUT, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &brief, NULL, 0) == 0 ? 0 : errno);
	BESIDE(later, "f", WAITS(100, 0, syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, in(CLOCK_MONOTONIC, 500), NULL, ~0)));
	BESIDE(later, "p", WAITS(100, 1, poll(&f, 1, 500)));
	WAITS(0, 1, read(ends[0], &b, 1));
	BESIDE(later, "p", WAITS(100, 1, read(ends[0], &b, 1)));
	BESIDE(later, "b", WAITS(100, 0, pthread_barrier_wait(&barrier)));
	BESIDE(later, "", {
		WAITS(30, ETIMEDOUT, pthread_timedjoin_np(t, NULL, in(CLOCK_REALTIME, 30)));
		WAITS(30, ETIMEDOUT, pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, in(CLOCK_MONOTONIC, 30)));
		rest(40);
	});
	BESIDE(sleeps, "", { rest(500); pthread_kill(t, SIGUSR1); });
	WAITS(0, SIGUSR1, caught);
	WAITS(0, 9, destroyed);
	return write(1, "{\"ready\":true}\n", 15) < 0 || read(0, &b, 1) > 0;
}
