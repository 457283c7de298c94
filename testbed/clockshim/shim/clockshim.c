/* A preloaded library (LD_PRELOAD) that gives one program a wall clock of its own:
 * the machine's clock plus an offset. The offset is an int64 in nanoseconds, in the
 * machine's byte order, at the beginning of the file in $LOCKSTORM_CLOCK_OFFSET. The
 * library reads the offset each time the program reads the clock, so a write to the
 * file makes the clock jump. Monotonic clocks do not change.
 *
 * The library must not allocate, because jemalloc asks for the time while it
 * initialises. So the library reads the machine's clock by a system call. The
 * function clock_gettime, which it replaces, would have to be looked up first.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#if !defined(__linux__) || !defined(__LP64__)
#error "written for 64-bit Linux"
#endif

#define SECOND 1000000000LL

static const int64_t none;
static const int64_t *offset = &none; /* replaced when the program starts */

static void give_up(const char *why) {
	static const char who[] = "clockshim: ";
	(void)!write(STDERR_FILENO, who, sizeof who - 1);
	(void)!write(STDERR_FILENO, why, strlen(why));
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(127);
}

__attribute__((constructor)) static void start(void) {
	const char *path = getenv("LOCKSTORM_CLOCK_OFFSET");
	if (path == NULL)
		return;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		give_up("cannot open the file that LOCKSTORM_CLOCK_OFFSET names");
	if (lseek(fd, 0, SEEK_END) < (off_t)sizeof *offset)
		give_up("the file that LOCKSTORM_CLOCK_OFFSET names is too short");
	void *page = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		give_up("cannot map the file that LOCKSTORM_CLOCK_OFFSET names");
	close(fd);
	offset = page;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	long err = syscall(SYS_clock_gettime, clock, t);
	if (err != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return (int)err;
	int64_t ahead = __atomic_load_n(offset, __ATOMIC_RELAXED);
	t->tv_sec += ahead / SECOND;
	t->tv_nsec += ahead % SECOND;
	if (t->tv_nsec < 0) {
		t->tv_sec--;
		t->tv_nsec += SECOND;
	} else if (t->tv_nsec >= SECOND) {
		t->tv_sec++;
		t->tv_nsec -= SECOND;
	}
	return 0;
}
