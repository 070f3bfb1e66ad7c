/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * tandem.h: a program tells Tandem's scheduler how long its threads are, relative to each other.
 *
 * Threads that have more to do than others of the same program run on the fastest CPUs then (`tandem run --longest`; see
 * docs/live.md). Any number will do that is larger for longer threads, such as the number of rounds that each will do:
 *
 *	static void *work(void *argument)
 *	{
 *		struct part *part = argument;
 *
 *		tandem_hint(part->rounds);
 *		...
 *
 * Whoever creates the threads can say it in advance, so that each begins where it belongs; tandem_hint_next() is then called
 * before each pthread_create().
 *
 * Only this header is needed, in C99 or C++, on Linux. Where Tandem does not run a call costs a system call or two, and at most
 * once a second a third one; a call never takes longer than a second. A process keeps one connection. A hint is a request: that it was taken does not mean that it had
 * an effect, and programs do the same with and without.
 */
#ifndef TANDEM_H
#define TANDEM_H

/* For syscall() and clock_gettime(): with -std=c99 this header has to be the first one, or this be defined before. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where Tandem listens. TANDEM_SOCKET in the environment names another place, for tests. */
#define TANDEM_SOCKET "/run/tandem/control.sock"

/* The largest length. */
#define TANDEM_MAX_LENGTH ((uint64_t)1 << 53)

/* Milliseconds that a call takes at most, whatever whoever listens does. For tests it may be another number. */
#ifndef TANDEM_PATIENCE
#define TANDEM_PATIENCE 1000
#endif

/* The connection of this process. */
struct tandem_connection {
	/* The process of whom a thread is asking: one question, then its answer. 0: nobody is. */
	pid_t busy;
	/* -1: none. */
	int fd;
	/* Whose it is: a child of fork() makes its own. */
	pid_t owner;
	/* The second in which connecting failed last; 0: it has not. */
	int64_t failed;
};

static inline struct tandem_connection *tandem_connection_(void)
{
	static struct tandem_connection connection = { 0, -1, 0, 0 };

	return &connection;
}

/* Milliseconds after some beginning: never 0. */
static inline int64_t tandem_now_(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_MONOTONIC, &now) ? 1 : (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

static inline void tandem_hang_up_(struct tandem_connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

/* Has sending and connecting give up at @end. */
static inline void tandem_limit_(int fd, int64_t end)
{
	int64_t left = end - tandem_now_();
	struct timeval patience;

	/* 0 would be for ever. */
	if (left < 1)
		left = 1;
	patience.tv_sec = (time_t)(left / 1000);
	patience.tv_usec = (suseconds_t)(left % 1000 * 1000);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* Connects, unless that failed a moment ago. 0, or an error as a negative number. */
static inline int tandem_connect_(struct tandem_connection *connection, int64_t end)
{
	const char *path = getenv("TANDEM_SOCKET");
	struct sockaddr_un address;
	pid_t self = getpid();
	int64_t now;
	int fd, err;

	if (connection->fd >= 0 && connection->owner == self)
		return 0;
	/* The parent's: its answers are not for this process. */
	tandem_hang_up_(connection);
	/* One is none too early: 0 would be no failure. */
	now = 1 + tandem_now_() / 1000;
	if (connection->owner == self && connection->failed == now)
		return -ENOENT;
	connection->owner = self;
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	if (!path)
		path = TANDEM_SOCKET;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	tandem_limit_(fd, end);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		err = -errno;
		close(fd);
		connection->failed = now;
		return err;
	}
	connection->fd = fd;
	return 0;
}

/* Waits until something has come, but not beyond @end. 0, or an error as a negative number. */
static inline int tandem_await_(int fd, int64_t end)
{
	struct pollfd ready;
	int64_t left;
	int count;

	ready.fd = fd;
	ready.events = POLLIN;
	for (;;) {
		left = end - tandem_now_();
		if (left <= 0)
			return -ETIMEDOUT;
		count = poll(&ready, 1, (int)left);
		if (count > 0)
			return 0;
		if (count < 0 && errno != EINTR)
			return -errno;
	}
}

/* Asks, and waits for `ok`: until @end in all, however slowly the answer comes. */
static inline int tandem_ask_(struct tandem_connection *connection, const char *line, size_t length, int64_t end)
{
	char answer[512];
	size_t got = 0;
	ssize_t more;
	int err;

	tandem_limit_(connection->fd, end);
	/* A signal for a program that has hung up would be for this whole process. */
	more = send(connection->fd, line, length, MSG_NOSIGNAL);
	if (more < 0 || (size_t)more != length)
		return more < 0 ? -errno : -EIO;
	do {
		err = tandem_await_(connection->fd, end);
		if (err)
			return err;
		more = recv(connection->fd, answer + got, sizeof(answer) - got, 0);
		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0)
			return more < 0 ? -errno : -EPIPE;
		got += (size_t)more;
	} while (answer[got - 1] != '\n' && got < sizeof(answer));
	return got == 3 && !memcmp(answer, "ok\n", 3) ? 0 : -EPERM;
}

/* Writes a number at @at, in decimal; where it ends. */
static inline char *tandem_write_(char *at, uint64_t number)
{
	char digits[20];
	int count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (count)
		*at++ = digits[--count];
	return at;
}

/* Waits until no other thread asks: 0, or -EBUSY at @end. */
static inline int tandem_wait_(struct tandem_connection *connection, int64_t end)
{
	struct timespec moment;
	pid_t self = getpid(), busy;

	moment.tv_sec = 0;
	moment.tv_nsec = 100000;
	for (;;) {
		busy = __atomic_load_n(&connection->busy, __ATOMIC_RELAXED);
		/* What another process was at when this one was forked off it, nobody will finish here. */
		if (busy != self &&
		    __atomic_compare_exchange_n(&connection->busy, &busy, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return 0;
		if (tandem_now_() >= end)
			return -EBUSY;
		nanosleep(&moment, NULL);
	}
}

/* Asks for a length: with "hint " for the calling thread, with "hint-next " for the next one that it creates. */
static inline int tandem_say_(const char *word, uint64_t relative_length)
{
	struct tandem_connection *connection = tandem_connection_();
	int err, before = errno;
	char line[64], *at = line + strlen(word);
	int64_t end;

	if (relative_length < 1 || relative_length > TANDEM_MAX_LENGTH)
		return -EINVAL;
	memcpy(line, word, strlen(word));
	at = tandem_write_(at, (uint64_t)syscall(SYS_gettid));
	*at++ = ' ';
	at = tandem_write_(at, relative_length);
	*at++ = '\n';
	/* Who does not answer, or drips, keeps a thread for so long, no longer. */
	end = tandem_now_() + TANDEM_PATIENCE;
	err = tandem_wait_(connection, end);
	if (err) {
		errno = before;
		return err;
	}
	err = tandem_connect_(connection, end);
	if (!err) {
		err = tandem_ask_(connection, line, (size_t)(at - line), end);
		/* Who was refused may ask again; any other end is that of the connection. */
		if (err && err != -EPERM)
			tandem_hang_up_(connection);
	}
	__atomic_store_n(&connection->busy, 0, __ATOMIC_RELEASE);
	errno = before;
	return err;
}

/*
 * Says how long the calling thread is, relative to other threads of its program: 1 to TANDEM_MAX_LENGTH. It may be called
 * again, by any number of threads at once.
 *
 * 0: it was taken. Otherwise a negative number, and nothing has happened: -EINVAL, no such length; -EPERM, it was refused;
 * -EBUSY, other threads are just asking and do not come to an end; -ETIMEDOUT, no answer within a second; any other, above all -ENOENT and -ECONNREFUSED: Tandem
 * does not run. errno stays as it is.
 */
static inline int tandem_hint(uint64_t relative_length)
{
	return tandem_say_("hint ", relative_length);
}

/*
 * Says how long the next thread is that the calling one creates. As tandem_hint(); another call before that replaces it.
 * -EPERM, too, where Tandem does not see who creates a thread: without sched_ext.
 */
static inline int tandem_hint_next(uint64_t relative_length)
{
	return tandem_say_("hint-next ", relative_length);
}

#ifdef __cplusplus
}
#endif

#endif /* TANDEM_H */
