/* The other calls that read the clock. It is compiled with a file that defines clock_gettime. */

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	if (zone != NULL)
		memset(zone, 0, sizeof(struct timezone));
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return (time_t)-1;
	if (t != NULL)
		*t = now.tv_sec;
	return now.tv_sec;
}
